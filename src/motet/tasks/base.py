"""What a task and a task set are, what a task can do, and which tasks a batch draws."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol, runtime_checkable

from motet.errors import ConfigError, MotetError, TaskError
from motet.tasks.finding import find, refuse_unknown
from motet.types import Reward

BUILTIN = {
    "plan_path": "motet.tasks.plan_path:PlanPath",
    "sudoku": "motet.tasks.sudoku:Sudoku",
    "sokoban": "motet.tasks.sokoban:Sokoban",
    "jsonl": "motet.tasks.jsonl:JsonlTasks",
    "arithmetic": "motet.tasks.arithmetic:Arithmetic",
    "aime24": "motet.tasks.math_sets:AIME24",
    "aime25": "motet.tasks.math_sets:AIME25",
    "amc23": "motet.tasks.math_sets:AMC23",
    "math500": "motet.tasks.math_sets:MATH500",
    "olympiadbench": "motet.tasks.math_sets:OlympiadBench",
    "gsm8k": "motet.tasks.math_sets:GSM8K",
    "dapo_math": "motet.tasks.math_sets:DapoMath",
    "polaris": "motet.tasks.math_sets:Polaris",
    "humaneval": "motet.tasks.code_sets:HumanEval",
    "mbpp": "motet.tasks.code_sets:MBPP",
    "apps": "motet.tasks.code_sets:APPS",
    "code_contests": "motet.tasks.code_sets:CodeContests",
    "livecodebench_v5": "motet.tasks.code_sets:LiveCodeBenchV5",
    "livecodebench_v6": "motet.tasks.code_sets:LiveCodeBenchV6",
    "deepcoder": "motet.tasks.code_sets:DeepCoder",
    "stdin_problems": "motet.tasks.code_sets:StdinProblems",
    "mini_code": "motet.tasks.mini_code:MiniCode",
}

SOURCES = {
    "reasoning_gym": "motet.tasks.reasoning_gym_sets:ReasoningGym",
    "verifiers": "motet.tasks.verifiers_sets:Verifiers",
}
"""`source:name` is a task set that another package makes; the name is the first argument of the class."""

ENDLESS = 2**31
"""Indices drawn from an endless split lie below this."""


class Task(Protocol):
    """One frozen problem: a frozen dataclass whose fields become JSON by `dataclasses.asdict`."""

    @property
    def id(self) -> str: ...


class TaskSet(Protocol):
    """A seeded source of tasks with named, disjoint splits. `task` is a pure function of (settings, split, index)."""

    name: str
    splits: tuple[str, ...]

    def task(self, split: str, index: int) -> Any: ...
    def size(self, split: str) -> int | None: ...


@runtime_checkable
class Answerable(Protocol):
    """A task that is solved by one answer. `question` is the problem in words; `check` gives the worth, in [0, 1], of
    the answer that stands in `text`: 1 is success. What else it may tell has defaults, `motet.tasks.answering`.
    """

    @property
    def question(self) -> str: ...
    def check(self, text: str) -> float: ...


@runtime_checkable
class Playable(Protocol):
    """A task that is played move by move. A state is a value: `after` gives a new one and leaves the old."""

    def start(self) -> Any: ...


@runtime_checkable
class Programmable(Protocol):
    """A task that is solved by a program: pairs of input and expected output."""

    @property
    def tests(self) -> Sequence[tuple[str, str]]: ...


@runtime_checkable
class Judged(Protocol):
    """A task that judges what each role says, given what was said before."""

    def judge(self, role: str, text: str, **seen: Any) -> Reward: ...


def draw(
    task_sets: Sequence[tuple[TaskSet, float]], seed: int, split: str, ticket: int, num: int
) -> list[tuple[str, Any, int]]:
    """The tasks of one batch: (name of the task set, task, copy), in order of position.

    What stands at a position depends on (task_sets, seed, split, ticket, position) alone, so a longer batch begins
    with the shorter one. A task set is drawn with the probability weight / sum of weights; its task uniformly, with
    replacement. A task id that is drawn again in the same batch gets copies 0, 1, 2 ...

    Raises `ConfigError` for weights that are not positive or names that are not unique, `TaskError` where a set lacks
    the split.

    >>> from motet.tasks.plan_path import PlanPath
    >>> batch = draw([(PlanPath(), 1.0)], seed=0, split="train", ticket=3, num=4)
    >>> batch[:2] == draw([(PlanPath(), 1.0)], seed=0, split="train", ticket=3, num=2), batch[0][0], batch[0][2]
    (True, 'plan_path', 0)
    """
    check_sets(task_sets)
    _check_split(task_sets, split)
    total = sum(weight for _, weight in task_sets)
    drawn: list[tuple[str, Any]] = []
    for position in range(num):
        left = _uniform(seed, split, ticket, position, "set") * total
        for chosen, weight in task_sets:  # noqa: B007  the last set takes what rounding leaves
            left -= weight
            if left < 0:
                break
        size = size_of(chosen, split)
        index = int(_uniform(seed, split, ticket, position, "task") * (ENDLESS if size is None else size))
        drawn.append((chosen.name, task_of(chosen, split, index)))
    return numbered(drawn)


def numbered(drawn: Iterable[tuple[str, Any]]) -> list[tuple[str, Any, int]]:
    """(name of the task set, task, copy): a task id that comes again, from whichever set, gets copies 0, 1, 2 ...

    >>> from types import SimpleNamespace as Task
    >>> [copy for _, _, copy in numbered([("a", Task(id="t")), ("b", Task(id="t")), ("b", Task(id="u"))])]
    [0, 1, 0]
    """
    copies: dict[str, int] = {}
    found = []
    for name, task in drawn:
        copies[task.id] = copies.get(task.id, -1) + 1
        found.append((name, task, copies[task.id]))
    return found


def task_of(task_set: TaskSet, split: str, index: int) -> Any:
    """One task of a set. What the set raises, and a task without a text as id, is a `TaskError` with its place."""
    where: dict[str, object] = {"task_set": task_set.name, "split": split, "index": index}
    try:
        task = task_set.task(split, index)
    except MotetError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskError(f"the task set raised {type(error).__name__}: {error}", where=where) from error
    if not isinstance(getattr(task, "id", None), str):
        raise TaskError("a task has no text as id", where=where, fix="give every task an `id` of its own, a str")
    return task


def size_of(task_set: TaskSet, split: str) -> int | None:
    """How many tasks a split has, None for an endless one. Raises `TaskError` for an empty split."""
    try:
        size = task_set.size(split)
    except MotetError:
        raise
    except (Exception, SystemExit) as error:
        where: dict[str, object] = {"task_set": task_set.name, "split": split}
        raise TaskError(f"the size of a split raised {type(error).__name__}: {error}", where=where) from error
    if size is not None and size < 1:
        raise TaskError(
            f"split {split!r} is empty", where={"task_set": task_set.name}, fix="give it a task or leave the split out"
        )
    return size


def check_sets(task_sets: Sequence[tuple[TaskSet, float]]) -> None:
    """Refuse no task set at all, two of one name, and a weight that is not above 0."""
    names = [task_set.name for task_set, _ in task_sets]
    if not names or len(set(names)) < len(names):
        raise ConfigError(
            f"task sets are named {', '.join(names) or 'nothing'}",
            fix="give at least one, and each a name of its own (settings: {name: ...})",
        )
    for task_set, weight in task_sets:
        if not weight > 0:
            raise ConfigError(f"weight is {weight}", where={"task_set": task_set.name}, fix="set a weight above 0")


def _check_split(task_sets: Sequence[tuple[TaskSet, float]], split: str) -> None:
    for task_set, _ in task_sets:
        if split not in task_set.splits:
            known = ", ".join(task_set.splits)
            raise TaskError(f"no split {split!r}", where={"task_set": task_set.name}, fix=f"use one of {known}")


def _uniform(*parts: object) -> float:
    """In [0, 1), 53 bits of a hash of `parts`."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def find_task_set(name: str) -> Any:
    """What makes the task set of a built-in name, of `reasoning_gym:<name>` or `verifiers:<id>`, of an entry point of
    group `motet.tasks`, or of `package.module:Class`.

    >>> find_task_set("plan_pth")
    Traceback (most recent call last):
    motet.errors.ConfigError: no task set called 'plan_pth'. To fix it: did you mean 'plan_path'?
    """
    source, _, rest = name.partition(":")
    if rest and source in SOURCES:
        return partial(find("task set", source, SOURCES, "motet.tasks"), rest)
    return find("task set", name, BUILTIN, "motet.tasks")


def make_task_set(name: str, **settings: Any) -> TaskSet:
    """The task set `name` with its settings; an unknown or missing setting is refused by name.

    >>> make_task_set("plan_path", siz=8)
    Traceback (most recent call last):
    motet.errors.ConfigError: unknown setting 'siz' [task_set=plan_path]. To fix it: did you mean 'size'?
    """
    found = find_task_set(name)
    where: dict[str, object] = {"task_set": name}
    try:
        taken = inspect.signature(found).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name!r} makes no task set", where=where, fix="name a class or a function") from error
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        refuse_unknown(settings, taken, where)
    for key, parameter in taken.items():
        is_named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if is_named and parameter.default is parameter.empty and key not in settings:
            raise ConfigError(f"setting {key!r} is missing", where=where, fix=f"set {key}")
    try:
        made: TaskSet = found(**settings)
    except MotetError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskError(f"making the task set raised {type(error).__name__}: {error}", where=where) from error
    return made


def check_shape(made: Any, where: dict[str, object]) -> None:
    """Raise `TaskError` for what is no task set at all; `motet.testing.check_task` looks closer."""
    missing = [part for part in ("name", "splits", "task", "size") if not hasattr(made, part)]
    if missing:
        raise TaskError(f"no task set: it has no `{missing[0]}`", where=where, fix="see motet.testing.check_task")
