"""What `motet eval` and `motet play` do: open a run, cast its team as asked, play held-out tasks, count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from motet.build import nth_held_out
from motet.config import nearest
from motet.ensemble import Ensemble, Opened, reopen
from motet.errors import ConfigError
from motet.evaluate.casting import PolicyFlag, mixed, parse_policy, parse_swap, swap
from motet.evaluate.evaluator import evaluate
from motet.evaluate.final import check_lines, final_evaluation
from motet.evaluate.result import Checkpoint, Decoding, Evaluation
from motet.evaluate.variants import solo
from motet.parts import reproducible
from motet.play import play
from motet.policies.cast import Cast
from motet.runs import RunFolder, find
from motet.types import Episode

CHECKPOINTS = ("base", "peak", "final")
DECODINGS: dict[str, tuple[Decoding, ...]] = {
    "sampled": ("sampled",),
    "greedy": ("greedy",),
    "both": ("sampled", "greedy"),
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a run; the words are those of the command line (`swaps` like "planner=executor")."""

    swaps: tuple[str, ...] = ()
    single: str | None = None
    policies: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    checkpoint: str = "final"
    decoding: str = "both"
    num_tasks: int = 0
    split: str = "test"


def assess(run: str, question: Question, *, runs: Path = Path("runs")) -> list[Evaluation]:
    """The team as it is, and beside it what was asked for: swapped, one role alone, places filled from other runs.

    All lines meet the same tasks with the same random numbers. Raises `ConfigError` for words that mean nothing and
    `CheckpointError` for a run or checkpoint that is not there.
    """
    moment, decodings = _word(question.checkpoint, CHECKPOINTS), DECODINGS[_word(question.decoding, DECODINGS)]
    flags = [parse_policy(text) for text in question.policies]
    pairs = [parse_swap(text) for text in question.swaps]
    with opened(find(runs, run), [cast(Checkpoint, moment), "base"], flags, runs) as (team, others):
        num = question.num_tasks or team.prepared.settings.evaluate.num_tasks
        side = team.side(num, question.split, question.variants or ("team",))
        if question.variants:
            check_lines(question.variants, team.prepared.workflow)
            return final_evaluation(side, team.casts, decodings=decodings).evaluations
        now = team.casts[cast(Checkpoint, moment)]
        lines: list[tuple[str, Any, Cast, str | None]] = [("team", side.workflow, now, None)]
        if pairs:
            lines.append(("swapped", side.workflow, swap(now, pairs), None))
        if question.single:
            lines.append(("single", *solo(side.workflow, now, question.single), question.single))
        if flags:
            lines.append(
                (_name(flags), side.workflow, mixed(now, dict(zip(flags, others))), " ".join(question.policies))
            )
        return [
            evaluate(
                workflow,
                side.tasks,
                players,
                side.engines,
                side.settings,
                decoding=decoding,
                name=name,
                checkpoint=cast(Checkpoint, moment),
                split=side.split,
                seed=side.seed,
                role=role,
            )
            for decoding in decodings
            for name, workflow, players, role in lines
        ]


def play_one(
    run: str, *, seed: int, checkpoint: str, decoding: str, split: str, runs: Path = Path("runs"), console: Any = None
) -> Episode:
    """Play task number `seed` of a split and draw it on `console` (default: the terminal)."""
    moment = cast(Checkpoint, _word(checkpoint, CHECKPOINTS))
    chosen = cast(Decoding, _word(decoding, ("sampled", "greedy")))
    with opened(find(runs, run), [moment], (), runs) as (team, _):
        task = nth_held_out(team.prepared.task_sets, split, seed)
        return play(
            team.prepared.workflow,
            task,
            team.casts[moment],
            team.engines,
            team.prepared.rollout,
            decoding=chosen,
            split=split,
            seed=seed,
            console=console,
        )


@contextmanager
def opened(
    folder: RunFolder, moments: Sequence[Checkpoint], flags: Sequence[PolicyFlag], runs: Path
) -> Iterator[tuple[Opened, list[Cast]]]:
    """The team of a run at each moment, and the teams that `flags` name, all behind one engine."""
    prepared = reopen(folder)
    with reproducible(prepared.settings):
        ensemble = Ensemble()
        casts: Mapping[Checkpoint, Cast] = {moment: ensemble.team(folder, prepared, moment) for moment in moments}
        others = []
        for flag in flags:
            other = find(runs, flag.run) if flag.run else folder
            label = flag.run and other.name
            others.append(ensemble.team(other, reopen(other) if flag.run else prepared, flag.checkpoint, run=label))
        engine = ensemble.engine(prepared.settings.threads)
        try:
            yield Opened(prepared, engine, casts, ensemble.remote()), others
        finally:
            engine.close()


def _name(flags: Sequence[PolicyFlag]) -> str:
    """The name that result.json has for a mixed team: `base_planner` where it is that, else `team`."""
    is_base_planner = len(flags) == 1 and (flags[0].role, flags[0].source, flags[0].run) == ("planner", "planner", "")
    return "base_planner" if is_base_planner and flags[0].checkpoint == "base" else "team"


def _word(given: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    if given not in known:
        raise ConfigError(f"'{given}' is none of {', '.join(known)}", fix=nearest(given, known))
    return given
