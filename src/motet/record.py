"""What a run writes while it goes on: episodes, checkpoints, and the way back to exactly where it was.

A checkpoint holds weights, optimisers, schedules and versions (`policies.checkpoint`) and, as its state, the iteration
and the sizes of the files at that moment. Tasks and samples come from counters, so nothing else is needed to go on.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from motet.config import settings_hash
from motet.errors import CheckpointError
from motet.parts import Parts
from motet.policies import checkpoint
from motet.rollout.records import write_episodes
from motet.runs import RunFolder
from motet.tracking import MetricsFile
from motet.types import Episode


@dataclass
class Progressed:
    """How far a run has come: what a checkpoint holds beside weights and optimisers.

    `seconds` is wall time from the first sample to the last update, evaluation left out; a resumed run goes on from
    those of its checkpoint. `best`: when validation was best.
    """

    iteration: int = 0
    seconds: float = 0.0
    best: dict[str, float] = field(default_factory=dict)
    stopped: bool = False


class Record:
    """The files of one run. `metrics` is a callback that writes metrics.jsonl."""

    def __init__(self, folder: RunFolder, keep: int) -> None:
        self._folder, self._keep = folder, keep
        self.metrics = MetricsFile(folder.metrics)
        if not folder.episodes.exists():
            write_episodes(folder.episodes, [])

    def write_episodes(self, episodes: Sequence[Episode]) -> None:
        write_episodes(self._folder.episodes, episodes, append=True)

    def save(self, parts: Parts, progress: Progressed) -> None:
        """Save the iteration reached, and let go of what no later resume or evaluation can need."""
        self._save("iteration", parts, progress)
        checkpoint.prune(self._folder.checkpoints, self._keep)
        for path in checkpoints(self._folder, "peak"):
            if number(path) != progress.best.get("iteration"):
                shutil.rmtree(path)

    def keep_best(self, parts: Parts, progress: Progressed, validation: Mapping[str, Any]) -> None:
        """Save a peak where validation success, averaged over decodings, is above all before."""
        found = [value for key, value in validation.items() if key.startswith("validation/success/")]
        success = sum(found) / len(found)
        if success > progress.best.get("success", -1.0):
            progress.best = {"iteration": progress.iteration, "success": success}
            self._save("peak", parts, progress)

    def resume(self, parts: Parts) -> Progressed:
        """Load the newest checkpoint and cut the files back to it. Raises `CheckpointError` where there is none."""
        found = checkpoints(self._folder, "iteration")
        if not found:
            raise CheckpointError(
                "this run has no checkpoint to resume from",
                where={"folder": self._folder.path},
                fix="start it anew, and set train.checkpoint_every",
            )
        state = checkpoint.read_manifest(found[-1])["state"]
        try:
            progress = Progressed(**{**state["progress"], "stopped": False})
            sizes = {self._folder.metrics: state["metrics_bytes"], self._folder.episodes: state["episodes_bytes"]}
        except (KeyError, TypeError) as error:
            raise CheckpointError(
                "the checkpoint does not tell how far the run was",
                where={"path": found[-1]},
                fix="delete it, and resume from the one before",
            ) from error
        for path, size in sizes.items():
            _check_size(path, size)
        checkpoint.load(found[-1], parts.learner, settings_hash=self._hash(parts))
        for path, size in sizes.items():
            with path.open("r+b") as file:
                file.truncate(size)
        parts.publish()
        return progress

    def _save(self, kind: str, parts: Parts, progress: Progressed) -> None:
        state = {
            "progress": asdict(progress),
            "metrics_bytes": self._folder.metrics.stat().st_size,
            "episodes_bytes": self._folder.episodes.stat().st_size,
        }
        path = self._folder.checkpoints / f"{kind}-{progress.iteration:06d}"
        checkpoint.save(path, parts.learner, state, settings_hash=self._hash(parts))

    @staticmethod
    def _hash(parts: Parts) -> str:
        """Settings without the number of iterations, which a resumed run may raise."""
        settings = parts.prepared.settings
        return settings_hash(settings.model_copy(update={"train": settings.train.model_copy(update={"iterations": 0})}))


def _check_size(path: Path, size: int) -> None:
    """Refuse a file that lost something since the checkpoint: what comes after it would not be the same run."""
    found = path.stat().st_size if path.is_file() else 0
    if found < size:
        raise CheckpointError(
            f"{path.name} has {found} bytes, at the checkpoint it had {size}",
            where={"path": path},
            fix="put the file back, or start a new run",
        )


def checkpoints(folder: RunFolder, kind: str) -> list[Path]:
    """The checkpoints of one kind (`iteration` or `peak`), oldest first."""
    return sorted(path for path in folder.checkpoints.glob(f"{kind}-*") if path.name.rpartition("-")[2].isdigit())


def number(path: Path) -> int:
    """The iteration a checkpoint's name tells.

    >>> number(Path("peak-000040"))
    40
    """
    return int(path.name.rpartition("-")[2])
