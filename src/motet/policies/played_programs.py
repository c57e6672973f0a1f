"""Cheap lessons of `mini_code`: the first turn of coder and tester alone, on problems whose golden tests nobody needs.

Drawing a task of `mini_code` proves that its tests tell its function from all others, and playing a whole episode runs
programs. A first turn reads the shown pairs alone, so here neither is done, and a lesson costs a hundredth.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from motet.errors import TaskError
from motet.tasks.code_tasks import CodeTask
from motet.tasks.mini_code import draw_some, make_task
from motet.tasks.mini_code_functions import functions
from motet.types import Outcome, Prompt
from motet.workflows.coder_tester import CoderTester, read_test


class QuickPrograms:
    """Task set: functions of the training families of `mini_code` with the pairs that a task shows, and no other test.

    >>> task = QuickPrograms().task("train", 3)
    >>> task == QuickPrograms().task("train", 3), len(task.tests) == task.num_public
    (True, True)
    """

    splits = ("train",)

    def __init__(self, examples: int = 4, name: str = "quick_programs") -> None:
        self.examples, self.name = examples, name

    def size(self, split: str) -> int | None:
        return None

    def task(self, split: str, index: int) -> CodeTask:
        if split not in self.splits:
            raise TaskError(f"no split {split!r}", where={"task_set": self.name}, fix="use train")
        rng = Random(f"quick {index} {self.examples}")
        families = functions()[split]
        while True:
            function = rng.choice(families[rng.choice(sorted(families))])
            shown = draw_some(function, self.examples - function.takes_list, rng, [])
            if shown:
                return make_task(f"{function.id}-{split[:2]}{index}", function, (shown, []), False)


class FirstTurn(CoderTester):
    """Coder and tester speak once; nothing is run, and nobody wins."""

    runs_programs = False

    async def run(self, task: CodeTask, cast: Any) -> Outcome:
        values: dict[str, Any] = {"task": task, "codes": (), "tests": (), "mismatches": ()}
        await cast.gather(
            cast.coder.act(Prompt("code", **values)),
            cast.tester.act(Prompt("test", **values), read=partial(read_test, task)),
        )
        return Outcome(False, 0.0)
