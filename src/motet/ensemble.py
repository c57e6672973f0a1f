"""Teams of several checkpoints and runs side by side in one engine, for evaluation and for looking at a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from motet.build import Prepared, held_out, prepare
from motet.config import load
from motet.engines.local import LocalEngine, Served
from motet.engines.openai import Endpoint, OpenAIEngine
from motet.engines.voice import HfVoice
from motet.errors import CheckpointError
from motet.evaluate.evaluator import Tasks
from motet.evaluate.final import FinalTable, Side, final_evaluation
from motet.evaluate.result import Checkpoint
from motet.parts import Parts, Wardrobe, by_name, make_engine, make_remote
from motet.policies import checkpoint
from motet.policies.cast import Cast
from motet.record import checkpoints
from motet.runs import RunFolder
from motet.tracking import Callback


class Ensemble:
    """Collects teams, each under names of its own, then serves them all from one engine.

    A policy that learned is called `name@checkpoint`, and `name@checkpoint@run` where it comes from another run; one
    that did not learn is the same at every checkpoint and keeps its name.
    """

    def __init__(self, own: Mapping[Path, Wardrobe] | None = None) -> None:
        self._wardrobes = dict(own or {})
        self.served: dict[str, Served] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.voices: dict[str, HfVoice] = {}

    def team(self, folder: RunFolder, prepared: Prepared, moment: Checkpoint, *, run: str = "") -> Cast:
        """Load the team of a run as it was at `moment`, and return its cast. Loading a team twice costs nothing."""
        wardrobe = self._wardrobes.setdefault(folder.path.resolve(), Wardrobe(prepared.settings))
        path = checkpoint_path(folder, moment)
        names = {}
        for policy, spec in prepared.cast.policies.items():
            names[policy] = "@".join([policy, *([moment] if spec.trainable else []), *([run] if run else [])])
            if names[policy] in self.served:
                continue
            served = wardrobe.dress(spec, names[policy])
            if path is not None and spec.trainable and served is not None:
                checkpoint.load_policy(path, policy, served)
        self.served |= wardrobe.served
        self.voices |= wardrobe.voices
        self.endpoints |= wardrobe.endpoints
        return renamed(prepared.cast, names)

    def engine(self, threads: int) -> LocalEngine:
        return make_engine(self.served, self.voices, threads)

    def remote(self) -> OpenAIEngine | None:
        """What speaks for the policies that are served elsewhere."""
        return make_remote(self.endpoints)


def renamed(cast: Cast, names: dict[str, str]) -> Cast:
    """`cast` with its policies under other names."""
    return replace(
        cast,
        policies={names[name]: replace(spec, name=names[name]) for name, spec in cast.policies.items()},
        seats={seat: names[name] for seat, name in cast.seats.items()},
    )


def checkpoint_path(folder: RunFolder, moment: Checkpoint) -> Path | None:
    """Where a run's team of that moment lies; None for `base`, which is made anew from the settings."""
    if moment == "base":
        return None
    found = checkpoints(folder, "peak" if moment == "peak" else "iteration")
    if not found:
        raise CheckpointError(
            f"run '{folder.name}' has no checkpoint '{moment}'",
            where={"folder": folder.checkpoints},
            fix="set train.eval_every for a peak" if moment == "peak" else "let the run reach a checkpoint",
        )
    return found[-1]


@dataclass(frozen=True, eq=False)
class Opened:
    """A run that can be played again: what needs no weights, one engine, and its team at each moment asked for."""

    prepared: Prepared
    engine: LocalEngine
    casts: Mapping[Checkpoint, Cast]
    remote: OpenAIEngine | None = None

    @property
    def engines(self) -> dict[str, Any]:
        return by_name(self.engine, self.remote)

    def side(self, num_tasks: int, split: str, variants: Sequence[str]) -> Side:
        """The unchanging side of an evaluation on the first tasks of a split."""
        return Side(
            self.prepared.workflow,
            held_out(self.prepared.task_sets, split, num_tasks),
            self.engines,
            self.prepared.rollout,
            split=split,
            seed=self.prepared.settings.seed,
            variants=tuple(variants),
        )


def reopen(folder: RunFolder) -> Prepared:
    """What a run was made of, out of its config.yaml; no model is loaded."""
    settings = folder.read_config()
    return replace(prepare(load(settings.model_dump(mode="json"))), settings=settings)


def open_run(folder: RunFolder, moments: Sequence[Checkpoint]) -> Opened:
    """Load the team of a run at the given moments."""
    prepared = reopen(folder)
    ensemble = Ensemble()
    casts = {moment: ensemble.team(folder, prepared, moment) for moment in moments}
    return Opened(prepared, ensemble.engine(prepared.settings.threads), casts, ensemble.remote())


def evaluate_run(parts: Parts, folder: RunFolder, callback: Callback) -> tuple[FinalTable, Tasks]:
    """The evaluation that the settings ask for, of a run that has just ended, and the tasks it was made on."""
    settings = parts.prepared.settings
    wanted: list[Checkpoint] = [m for m in settings.evaluate.checkpoints if m != "peak" or checkpoints(folder, "peak")]
    ensemble = Ensemble()
    casts = {moment: ensemble.team(folder, parts.prepared, moment) for moment in wanted}
    opened = Opened(parts.prepared, ensemble.engine(settings.threads), casts, parts.remote)
    side = opened.side(settings.evaluate.num_tasks, settings.evaluate.split, settings.evaluate.variants)
    try:
        table = final_evaluation(
            side,
            opened.casts,
            decodings=settings.evaluate.decodings,
            progress=lambda one: callback.on_note(
                f"evaluated {one.checkpoint} {one.name}, {one.decoding}: {one.success:.3f}"
            ),
        )
    finally:
        opened.engine.close()
    return table, side.tasks
