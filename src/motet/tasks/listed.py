"""A task set out of plain lists, for tasks of one's own."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from motet.errors import TaskError


class TaskList:
    """Tasks given as one list per split. Lists are copied, so a later change of one changes nothing.

    Raises `TaskError` without a split, for an empty one, and for a task that stands in two splits.

    >>> tasks = TaskList("letters", train=["a", "b"], test=["c"])
    >>> tasks.splits, tasks.size("train"), tasks.task("test", 0)
    (('train', 'test'), 2, 'c')
    """

    def __init__(self, name: str, **splits: Sequence[Any]) -> None:
        self.name, self._tasks = name, {split: tuple(tasks) for split, tasks in splits.items()}
        self.splits = tuple(self._tasks)
        where: dict[str, object] = {"task_set": name}
        if not self.splits:
            raise TaskError("no split", where=where, fix="give lists of tasks, such as train=[...], test=[...]")
        home: dict[Any, str] = {}
        for split, tasks in self._tasks.items():
            if not tasks:
                raise TaskError(f"split {split!r} is empty", where=where, fix="give it a task or leave it out")
            for task in tasks:
                if not isinstance(task, Hashable):
                    what = f"a task of kind {type(task).__name__} cannot be hashed"
                    raise TaskError(what, where=where | {"split": split}, fix="make it a frozen dataclass")
                if home.setdefault(task, split) != split:
                    raise TaskError(f"{task!r} is in {home[task]!r} and in {split!r}", where=where, fix="keep one")

    def size(self, split: str) -> int:
        return len(self._of(split))

    def task(self, split: str, index: int) -> Any:
        tasks = self._of(split)
        if not 0 <= index < len(tasks):
            where: dict[str, object] = {"task_set": self.name, "split": split}
            raise TaskError(f"no task {index}", where=where, fix=f"use an index below {len(tasks)}")
        return tasks[index]

    def _of(self, split: str) -> tuple[Any, ...]:
        if split not in self._tasks:
            known = ", ".join(self.splits)
            raise TaskError(f"no split {split!r}", where={"task_set": self.name}, fix=f"use one of {known}")
        return self._tasks[split]
