"""The table at the end of a run: the team, its parts, and its parts put together wrongly, at base and after training.

Every line meets the same tasks, prompts, budget and random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from motet.config import nearest
from motet.errors import ConfigError
from motet.evaluate.casting import alone, recast, swap
from motet.evaluate.evaluator import Tasks, play_tasks, repeat, tries_within
from motet.evaluate.result import NAMES, Checkpoint, Decoding, Evaluation, best_of, summarise
from motet.evaluate.variants import Ablated, Variant, shuffled, variants_of
from motet.policies.cast import Cast
from motet.tasks.plan_path import PlanPathTask
from motet.tasks.walkers import WALKERS
from motet.tasks.walkers import play as walk
from motet.types import Episode

DECODINGS: tuple[Decoding, ...] = ("sampled", "greedy")


@dataclass(frozen=True, slots=True)
class Side:
    """What stays the same on every line: the workflow, the tasks, who serves, and the counters.

    `speaker` is the role whose words are shuffled and whose base policy is tried; None: `planner`, or nothing without
    one. `variants` names the lines wanted, or `all`. `max_tries` bounds n of best-of-n.
    """

    workflow: Any
    tasks: Tasks
    engines: Any
    settings: Any
    split: str = "test"
    seed: int = 0
    speaker: str | None = None
    max_tries: int = 16
    variants: tuple[str, ...] = ("all",)

    @property
    def roles(self) -> list[str]:
        return list(self.workflow.roles)

    def wants(self, name: str) -> bool:
        return "all" in self.variants or name in self.variants

    def play(self, cast: Cast, decoding: Decoding, workflow: Any = None) -> list[Episode]:
        return play_tasks(
            workflow or self.workflow,
            self.tasks,
            cast,
            self.engines,
            self.settings,
            decoding=decoding,
            split=self.split,
            seed=self.seed,
        )


@dataclass(slots=True)
class FinalTable:
    """The lines of the table, and the team's own episodes by (checkpoint, decoding), for the report."""

    evaluations: list[Evaluation] = field(default_factory=list)
    episodes: dict[tuple[Checkpoint, Decoding], list[Episode]] = field(default_factory=dict)


def check_lines(wanted: Sequence[str], workflow: Any) -> None:
    """Refuse a line that no evaluation of this workflow has, before anything is played.

    >>> from motet.workflows.planner_executor import PlannerExecutor
    >>> check_lines(["team", "planer_alone"], PlannerExecutor())
    Traceback (most recent call last):
    motet.errors.ConfigError: no evaluation is called 'planer_alone' [key=variants]. To fix it: did you mean \
'planner_alone'? Known: all, base_planner, executor_alone, planner_alone, shuffled_plans, single, swapped, team, walkers
    """
    own = [variant.name for variant in variants_of(workflow)]
    fixed = [name for name in NAMES if not name.endswith("_alone")]
    for name in own:
        if name not in NAMES:
            raise ConfigError(
                f"a variant is called {name!r}",
                where={"workflow": type(workflow).__name__},
                fix=f"call it one of {', '.join(name for name in NAMES if name.endswith('_alone'))}",
            )
    known = ["all", "walkers", *fixed, *own]
    for name in wanted:
        if name not in known:
            raise ConfigError(f"no evaluation is called {name!r}", where={"key": "variants"}, fix=nearest(name, known))


def walker_lines(tasks: Tasks, *, split: str = "test", seed: int = 0) -> list[Evaluation]:
    """Walkers that need no model, on the same tasks under the same budget; none where the tasks cannot be walked.

    They have no decoding and no checkpoint: their lines say `sampled` and `base`, with no token and no call.
    """
    grids = [task for _, task, _ in tasks]
    if not all(isinstance(task, PlanPathTask) for task in grids):
        return []
    lines = []
    for name in WALKERS:
        ends = [walk(name, task, seed) for task in grids]
        line = Evaluation.of_counts(
            f"walker_{name}", "sampled", "base", split, [end.at_goal for end in ends], tokens=0, calls=0
        )
        lines.append(replace(line, team_reward=sum(end.progress for end in ends) / len(ends)))
    return lines


def final_evaluation(
    side: Side,
    casts: Mapping[Checkpoint, Cast],
    *,
    decodings: Sequence[Decoding] = DECODINGS,
    progress: Callable[[Evaluation], None] | None = None,
) -> FinalTable:
    """Play every line of the final table.

    `casts` holds the team at each checkpoint, `base` and `final` as a rule and `peak` where it differs; their policies
    are loaded in `side.engines`. `progress` is called with each line as it is done.
    Per checkpoint and decoding: team, single, the variants of the workflow (planner_alone,
    executor_alone), shuffled_plans, swapped, and base_planner where the checkpoint is not the base itself.
    Raises `ConfigError` without a cast or a task,
    or where two checkpoints share a trainable policy's name.
    """
    if not casts or not side.tasks:
        raise ConfigError("a final evaluation needs at least one checkpoint and one task")
    _check_names(casts)
    table = FinalTable()
    if side.wants("walkers"):
        for line in walker_lines(side.tasks, split=side.split, seed=side.seed):
            _add(table, line, progress)
    for checkpoint, cast in casts.items():
        for decoding in decodings:
            for line in _lines(side, casts, checkpoint, cast, decoding, table):
                _add(table, line, progress)
    return table


def _check_names(casts: Mapping[Checkpoint, Cast]) -> None:
    """Two checkpoints under one policy name would be the same weights twice."""
    seen: dict[str, str] = {}
    for checkpoint, cast in casts.items():
        for name in (name for name, spec in cast.policies.items() if spec.trainable):
            if seen.setdefault(name, checkpoint) != checkpoint:
                raise ConfigError(
                    f"{seen[name]} and {checkpoint} share the policy {name!r}",
                    fix=f"load one of them under a name of its own, for example {name}@{seen[name]}",
                )


def _add(table: FinalTable, line: Evaluation, progress: Callable[[Evaluation], None] | None) -> None:
    table.evaluations.append(line)
    if progress is not None:
        progress(line)


def _lines(
    side: Side,
    casts: Mapping[Checkpoint, Cast],
    checkpoint: Checkpoint,
    cast: Cast,
    decoding: Decoding,
    table: FinalTable,
) -> Iterator[Evaluation]:
    def count(name: str, episodes: list[Episode], role: str | None = None) -> Evaluation:
        return summarise(episodes, name=name, decoding=decoding, checkpoint=checkpoint, split=side.split, role=role)

    team_episodes = side.play(cast, decoding)
    table.episodes[checkpoint, decoding] = team_episodes
    team = count("team", team_episodes)
    yield team

    solos: list[tuple[Evaluation, Variant, list[Episode]]] = []
    for variant in variants_of(side.workflow):
        if side.wants(variant.name) or side.wants("single"):
            episodes = side.play(cast, decoding, Ablated.of(side.workflow, variant))
            solos.append((count(variant.name, episodes, variant.role), variant, episodes))
    yield from (line for line, _, _ in solos if side.wants(line.name))
    if side.wants("single"):
        yield _single(side, cast, decoding, team, solos, count)

    speaker = side.speaker or ("planner" if "planner" in side.roles else None)
    if speaker and len(side.roles) > 1 and len(side.tasks) > 1 and side.wants("shuffled_plans"):
        lines = {speaker: shuffled(team_episodes, speaker)}
        yield count("shuffled_plans", side.play(cast, decoding, Ablated(side.workflow, lines)))
    if speaker and checkpoint != "base" and "base" in casts and side.wants("base_planner"):
        yield count("base_planner", side.play(recast(cast, {speaker: (casts["base"], speaker)}), decoding))
    if len(side.roles) > 1 and side.wants("swapped"):
        yield count("swapped", side.play(swap(cast), decoding))


def _single(
    side: Side,
    cast: Cast,
    decoding: Decoding,
    team: Evaluation,
    solos: list[tuple[Evaluation, Variant, list[Episode]]],
    count: Callable[..., Evaluation],
) -> Evaluation:
    """The single agent: the role that does best alone on these very tasks, a choice that favours it.

    A workflow without variants has no role that plays alone: there one policy fills every place, and again the best is
    taken. Under sampled decoding the line also carries best-of-n, n as many tries as the team's tokens pay for.
    """
    if solos:
        line, variant, episodes = max(solos, key=lambda solo: solo[0].success)
        workflow, player = Ablated.of(side.workflow, variant), cast
        single = replace(line, name="single")
    else:
        workflow = side.workflow
        played = [(role, side.play(alone(cast, role), decoding)) for role in side.roles]
        lines = [(count("single", one, role), one) for role, one in played]
        single, episodes = max(lines, key=lambda pair: pair[0].success)
        player = alone(cast, single.role or side.roles[0])
    if decoding != "sampled":
        return single
    num = tries_within(team.tokens_per_task, single.tokens_per_task, max_tries=side.max_tries)
    tries = repeat(
        workflow,
        side.tasks,
        player,
        side.engines,
        side.settings,
        num_tries=num,
        split=side.split,
        seed=side.seed,
        first=episodes,
    )
    return replace(single, best_of=best_of(tries))
