"""The Python front door: `motet.train(workflow, tasks, model=..., callbacks=..., **settings)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.build import prepare
from motet.config import load
from motet.errors import ConfigError
from motet.tasks.base import TaskSet
from motet.tracking import Callback, Progress
from motet.workflows.base import Workflow, check_roles

if TYPE_CHECKING:
    from motet.session import RunReport

Tasks = str | TaskSet | Sequence[str | TaskSet | tuple[str | TaskSet, float]]


def train(
    workflow: str | Workflow | type[Workflow],
    tasks: Tasks,
    *,
    model: str = "tiny-m",
    callbacks: Sequence[Callback] | None = None,
    name: str = "run",
    runs: str | Path = "runs",
    resume: bool = False,
    should_stop: Callable[[], bool] | None = None,
    overrides: Sequence[str] = (),
    **settings: Any,
) -> RunReport:
    """Train a team and return what the run came to; the same run as `motet train`, with the same folder.

    workflow: a built-in name, an import path, a `Workflow` subclass or an instance. tasks: one task set or several, by
    name or as objects, each alone or with a weight. settings: sections of a recipe as mappings, such as
    `train={"iterations": 50}` or `cast="shared"`; overrides: `key=value` texts as on the command line. callbacks:
    who is told (`motet.tracking.Listener`); None shows progress. Works where an event loop runs already.
    Raises `ConfigError` before any model is loaded, and every other `MotetError` as it happens.

    >>> train("planner_executor", "plan_path", sampling={"widht": 4})
    Traceback (most recent call last):
    motet.errors.ConfigError: unknown key 'sampling.widht' [line=defaults]. To fix it: did you mean 'width'? Known: \
choose, choose_temperature, max_extra_trees, max_failed_frac, max_parallel, max_prompt_tokens, overlong, rule, \
score_timeout_s, trees, width
    """
    given = workflow() if isinstance(workflow, type) else workflow
    sets, weights = _split(tasks)
    data = {
        **settings,
        "name": name,
        "model": model,
        "workflow": _described(given),
        "tasks": [{**_described(one), "weight": weight} for one, weight in zip(sets, weights)],
    }
    if not isinstance(given, str):
        check_roles(given)
    prepared = prepare(
        load(data, overrides),
        workflow=None if isinstance(given, str) else given,
        task_sets=[None if isinstance(one, str) else one for one in sets],
    )
    from motet.session import start

    listening = [Progress()] if callbacks is None else callbacks
    return start(prepared, runs=Path(runs), resume=resume, callbacks=listening, should_stop=should_stop)


def _split(tasks: Tasks) -> tuple[list[str | TaskSet], list[float]]:
    several: Sequence[Any] = tasks if isinstance(tasks, Sequence) and not isinstance(tasks, str) else [tasks]
    pairs = [one if isinstance(one, tuple) else (one, 1.0) for one in several]
    if not pairs:
        raise ConfigError("there is no task set to train on", fix="give at least one")
    for _, weight in pairs:
        if isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise ConfigError(f"a weight is {weight!r}", fix="give a number beside the task set, or the task set alone")
    return [one for one, _ in pairs], [float(weight) for _, weight in pairs]


def _described(given: Any) -> dict[str, Any]:
    """Name and settings for config.yaml. An object is named by its import path, so that `motet eval` finds it again."""
    if isinstance(given, str):
        return {"name": given, "settings": {}}
    kind = type(given)
    found = getattr(given, "settings", {})
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        found = dataclasses.asdict(found)
    settings = dict(found) if isinstance(found, Mapping) else {}
    return {"name": f"{kind.__module__}:{kind.__qualname__}", "settings": settings}
