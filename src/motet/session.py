"""One run from start to result: folder, lock, models, the loop, the evaluation at the end, the report."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from motet.build import Prepared
from motet.config import Settings, settings_hash
from motet.ensemble import evaluate_run
from motet.errors import CheckpointError, ConfigError
from motet.evaluate.final import FinalTable, check_lines
from motet.evaluate.result import make_result
from motet.evaluate.scenes import pick
from motet.loop import train
from motet.parts import Parts, assemble, reproducible
from motet.record import Progressed, Record
from motet.report import write_report
from motet.rollout.lookahead import cost_before_start
from motet.runs import RunFolder, create, hardware, latest, versions, write_result
from motet.tasks.base import draw
from motet.tracking import Callback, Callbacks

NUM_DRAWN = 10
"""Episodes drawn in the report."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run came to. `result` is that of result.json, None where the run was stopped before its end."""

    folder: RunFolder
    iterations: int
    train_seconds: float
    stopped: bool
    result: dict[str, Any] | None = None


def start(
    prepared: Prepared,
    *,
    runs: Path = Path("runs"),
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    should_stop: Callable[[], bool] | None = None,
) -> RunReport:
    """Train to the end, or until Ctrl-C or `should_stop()` after an iteration; then evaluate and write the report.

    A new run gets a folder of its own under `runs`; with `resume` the newest run of the same name goes on, bit for bit
    as if it had not stopped. Raises `MotetError` for anything that went wrong, with the folder left as it is.
    """
    check_lines(prepared.settings.evaluate.variants, prepared.workflow)
    if resume:
        folder = latest(runs, prepared.settings.name)
        prepared = _as_before(prepared, folder.read_config())
    with reproducible(prepared.settings), stop_on_interrupt(should_stop) as is_stopping:
        parts = assemble(prepared)
        try:
            if not resume:
                folder = create(runs, prepared.settings.name)
                folder.write_config(prepared.settings)
            with folder.lock(), writes(folder):
                return _run(parts, folder, resume, callbacks, is_stopping)
        finally:
            parts.close()


@contextmanager
def writes(folder: RunFolder) -> Iterator[None]:
    """A disk that is full or may not be written ends the run with the file and the way back."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"a file could not be read or written: {error.strerror or error}",
            where={"file": error.filename or folder.path},
            fix="make room, or give the rights to it; --resume goes on from the last checkpoint",
        ) from error


def _run(
    parts: Parts, folder: RunFolder, resume: bool, callbacks: Sequence[Callback], is_stopping: Callable[[], bool]
) -> RunReport:
    settings = parts.prepared.settings
    record = Record(folder, settings.train.keep)
    callback = Callbacks([record.metrics, *callbacks])
    progress = record.resume(parts) if resume else Progressed()
    callback.on_start(about(parts, folder, progress))
    if resume and (moved := folder.moved()):
        callback.on_note(f"not the machine this run began on, so bits may differ from here: {', '.join(moved)}")
    try:
        progress = train(parts, progress, record, callback, is_stopping)
        folder.write_config(settings, engine=parts.engine.resolved(), **remote_part(parts))
        if progress.stopped and progress.iteration < settings.train.iterations:
            callback.on_note(
                f"stopped after iteration {progress.iteration}; checkpoint saved in {folder.checkpoints}. "
                f"Go on with --resume"
            )
            return RunReport(folder, progress.iteration, progress.seconds, stopped=True)
        record.save(parts, progress)
        result = finish(parts, folder, progress, callback)
        return RunReport(folder, progress.iteration, progress.seconds, stopped=False, result=result)
    finally:
        callback.on_end({"folder": str(folder.path), "iteration": progress.iteration})


def finish(parts: Parts, folder: RunFolder, progress: Progressed, callback: Callback) -> dict[str, Any]:
    """The evaluation at the end, result.json, and report.html with the first episodes of the last team drawn."""
    settings = parts.prepared.settings
    table, tasks = evaluate_run(parts, folder, callback) if settings.evaluate.at_end else (FinalTable(), [])
    result = make_result(
        table.evaluations,
        train_seconds=progress.seconds,
        seed=settings.seed,
        settings_hash=settings_hash(settings),
        versions=versions(),
        hardware=hardware(),
        **remote_part(parts),
    )
    write_result(folder, result)
    draw_report(folder, table, {task.id: task for _, task, _ in tasks})
    return result


def remote_part(parts: Parts) -> dict[str, Any]:
    """`remote` of config.yaml and result.json: what served the policies that have no weights here, and what it cost."""
    return {} if parts.remote is None else {"remote": parts.remote.resolved()}


def draw_report(folder: RunFolder, table: FinalTable, tasks: Mapping[str, Any]) -> None:
    """report.html, with episodes of the last team drawn: sampled ones if there are any."""
    if not table.episodes:
        write_report(folder)
        return
    moment, decoding = max(table.episodes, key=lambda key: (key[0] == "final", key[0] == "peak", key[1] == "sampled"))
    shown = [(tasks[one.task_id], one) for one in pick(table.episodes[moment, decoding], NUM_DRAWN)]
    write_report(
        folder,
        shown,
        shown_as=f"The team at {moment}, {decoding}: the first tasks it did not solve, four at most where it solved "
        "enough, and the first it solved, in task order.",
    )


def about(parts: Parts, folder: RunFolder, progress: Progressed) -> dict[str, Any]:
    """What is said at the start of every run: where it lies, what was chosen, and who speaks with which weights."""
    settings = parts.prepared.settings
    lines = [
        f"run {folder.path}  settings {settings_hash(settings)}",
        f"{settings.threads} threads, {settings.dtype} on {settings.device}, seed {settings.seed}",
    ]
    if settings.sampling.rule == "lookahead":
        sampling = settings.sampling
        num_trees = sampling.trees + sampling.max_extra_trees
        lines.append(cost_before_start(longest_episode(parts.prepared), sampling.width, num_trees))
    for policy, chosen in parts.learner.resolved().items():
        lines.append(f"{policy}: {chosen['kind']}, {chosen['trainable_parameters']:,} weights learn")
        lines += [f"{policy}: {note}" for note in chosen["notes"]]  # type: ignore[attr-defined]
    for policy, served in remote_part(parts).get("remote", {}).items():
        lines.append(
            f"{policy}: {served['model']} at {served['host']}; its answers are drawn by a generator of its own, so "
            "this run does not repeat bit for bit"
        )
    return {
        "iterations": settings.train.iterations,
        "iteration": progress.iteration,
        "lines": lines,
        "cast": parts.prepared.cast.table(),
    }


def longest_episode(prepared: Prepared) -> int | None:
    """The most calls of an episode, over the first tasks that will be drawn; None where the workflow cannot tell."""
    settings = prepared.settings
    first = draw(prepared.task_sets, settings.seed, "train", 0, settings.sampling.trees)
    found = [prepared.workflow.max_calls(task) for _, task, _ in first]
    return None if None in found else max(num for num in found if num is not None)


def _as_before(prepared: Prepared, before: Settings) -> Prepared:
    """The run as it was started: what the machine gave then is used again, anything else must be as it was.

    More iterations may be asked for where the learning rate does not depend on their number.
    """
    now = prepared.settings.model_copy(
        update={key: getattr(before, key) for key in ("threads", "dtype", "device", "name", "description")}
    )
    settings = before
    if now.update.schedule == "constant":
        settings = before.model_copy(
            update={"train": before.train.model_copy(update={"iterations": now.train.iterations})}
        )
    changed = sorted(_differences(settings.model_dump(mode="json"), now.model_dump(mode="json")))
    if changed:
        raise ConfigError(
            f"the run to resume has other settings: {', '.join(changed)}",
            fix="resume with the settings it was started with, or start a new run without --resume",
        )
    return replace(prepared, settings=settings)


def _differences(left: Any, right: Any, key: str = "") -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in {**left, **right}:
            yield from _differences(left.get(name), right.get(name), f"{key}.{name}" if key else str(name))
    elif left != right:
        yield f"{key} ({json.dumps(left)} then, {json.dumps(right)} now)"


@contextmanager
def stop_on_interrupt(should_stop: Callable[[], bool] | None = None) -> Iterator[Callable[[], bool]]:
    """Ctrl-C once: the iteration is finished and saved. Ctrl-C twice: at once, and the last checkpoint stands.

    Only the main thread receives signals; elsewhere `should_stop` alone decides.
    """
    asked = threading.Event()
    stopping = lambda: asked.is_set() or (should_stop is not None and should_stop())
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)
