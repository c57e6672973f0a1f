"""Checks a task set of one's own against the contract that the rest of the package relies on."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from motet.errors import TaskError
from motet.tasks.base import Playable, TaskSet
from motet.types import Reward

ODD_TEXTS = ("", " ", "0", "no idea", "#### []", "[" * 50, "\u00e9\u4e2d\x00", "9" * 400, "x " * 500)
"""What a model may say. A score must answer each with a number in [0, 1]."""


def check_task(
    task_set: TaskSet,
    *,
    num: int = 20,
    score: Callable[[Any, str], Reward | float] | None = None,
    texts: Sequence[str] = (),
) -> list[str]:
    """Check `num` tasks of every split; the names of the checks that ran, or a `TaskError` that lists all that failed.

    splits    named, at least one, no name twice; `size` gives a positive number or None
    pure      the same (split, index) gives an equal task, in any order of asking
    value     a task is a frozen dataclass, hashable, and survives JSON
    ids       no two different tasks share an id
    disjoint  no task of one split occurs in another, its id aside
    start     (tasks that can be played) `start()` gives equal, hashable values each time
    rewards   `check`, and `score(task, text)` if given, answer `texts` and a set of odd texts with numbers in [0, 1],
    twice the same

    >>> from motet.tasks.plan_path import PlanPath
    >>> from motet.tasks.plan_path_rewards import judge_walk
    >>> check_task(PlanPath(), num=3, score=lambda task, text: judge_walk(task.start(), text))
    ['splits', 'pure', 'value', 'ids', 'disjoint', 'start', 'rewards']
    """
    problems = _splits(task_set)
    passed = ["splits"]
    if not problems:
        tasks = {
            split: [task_set.task(split, i) for i in range(_num(task_set, split, num))] for split in task_set.splits
        }
        every = [task for found in tasks.values() for task in found]
        problems += _pure(task_set, tasks)
        problems += [text for task in every for text in _value(task)]
        problems += _ids(every) + _disjoint(tasks)
        passed += ["pure", "value", "ids", "disjoint"]
        if any(isinstance(task, Playable) for task in every):
            problems += [text for task in every for text in _start(task)]
            passed.append("start")
        scores = [score] if score else []
        if any(callable(getattr(task, "check", None)) for task in every):
            scores.append(lambda task, text: task.check(text))
        for one in scores:
            problems += [text for task in every[:: max(1, len(every) // 10)] for text in _rewards(task, one, texts)]
        passed += ["rewards"] if scores else []
    if problems:
        shown = [*problems[:10], *([f"and {len(problems) - 10} more"] if len(problems) > 10 else [])]
        raise TaskError("; ".join(shown), where={"task_set": getattr(task_set, "name", type(task_set).__name__)})
    return passed


def _num(task_set: TaskSet, split: str, num: int) -> int:
    size = task_set.size(split)
    return num if size is None else min(num, size)


def _splits(task_set: TaskSet) -> list[str]:
    problems = []
    if not isinstance(getattr(task_set, "name", None), str):
        problems.append("splits: the task set has no name")
    splits = tuple(getattr(task_set, "splits", ()))
    if not splits or len(set(splits)) < len(splits):
        problems.append(f"splits: {splits} names no split, or one twice")
    for split in splits:
        size = task_set.size(split)
        if size is not None and (not isinstance(size, int) or size < 1):
            problems.append(f"splits: size({split!r}) is {size!r}, neither None nor a positive number")
    return problems


def _pure(task_set: TaskSet, tasks: dict[str, list[Any]]) -> list[str]:
    again = {(s, i): task_set.task(s, i) for s in reversed(tasks) for i in reversed(range(len(tasks[s])))}
    return [
        f"pure: task({split!r}, {index}) differs when asked again"
        for split, found in tasks.items()
        for index, task in enumerate(found)
        if again[split, index] != task
    ]


def _value(task: Any) -> list[str]:
    name = getattr(task, "id", repr(task)[:40])
    if not dataclasses.is_dataclass(task) or isinstance(task, type):
        return [f"value: {name} is no dataclass"]
    problems = []
    if not task.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        problems.append(f"value: {name} is not frozen")
    if not isinstance(getattr(task, "id", None), str):
        problems.append(f"value: {name} has no text as id")
    try:
        hash(task)
    except TypeError as error:
        problems.append(f"value: {name} cannot be hashed: {error}")
    try:
        json.dumps(dataclasses.asdict(task), allow_nan=False)
    except (TypeError, ValueError) as error:
        problems.append(f"value: {name} is no JSON: {error}")
    return problems


def _content(task: Any) -> str:
    if not dataclasses.is_dataclass(task) or isinstance(task, type):
        return repr(task)
    return repr(sorted((k, v) for k, v in dataclasses.asdict(task).items() if k != "id"))


def _ids(every: list[Any]) -> list[str]:
    seen: dict[str, str] = {}
    return [
        f"ids: {task.id} names two different tasks"
        for task in every
        if isinstance(getattr(task, "id", None), str) and seen.setdefault(task.id, _content(task)) != _content(task)
    ]


def _disjoint(tasks: dict[str, list[Any]]) -> list[str]:
    seen: dict[str, str] = {}
    problems = []
    for split, found in tasks.items():
        for index, task in enumerate(found):
            first = seen.setdefault(_content(task), split)
            if first != split:
                problems.append(f"disjoint: task({split!r}, {index}) occurs in split {first!r} as well")
    return problems


def _start(task: Any) -> list[str]:
    one, two = task.start(), task.start()
    problems = [] if one == two else [f"start: two starts of {task.id} differ, so a state is no value"]
    try:
        hash(one)
    except TypeError as error:
        problems.append(f"start: the state of {task.id} cannot be hashed: {error}")
    return problems


def _rewards(task: Any, score: Callable[[Any, str], Reward | float], texts: Sequence[str]) -> list[str]:
    problems = []
    for text in (*texts, *ODD_TEXTS):
        try:
            got, again = score(task, text), score(task, text)
        except Exception as error:  # noqa: BLE001  whatever a user's score raises is what this check is about
            problems.append(f"rewards: {task.id} raises {type(error).__name__} ({error}) for {text[:20]!r}")
            continue
        if got != again:
            problems.append(f"rewards: {task.id} scores {text[:20]!r} differently the second time")
        values = [got.team, got.local] if isinstance(got, Reward) else [got]
        for value in values:
            if value is not None and not (isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= 1):
                problems.append(f"rewards: {task.id} gives {value!r} for {text[:20]!r}, outside [0, 1]")
    return problems
