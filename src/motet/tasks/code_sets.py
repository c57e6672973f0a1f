"""Programming problems: HumanEval, MBPP, APPS, CodeContests, LiveCodeBench, DeepCoder, or rows of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from motet.errors import ConfigError
from motet.tasks import code_readers
from motet.tasks.code_tasks import CodeTask
from motet.tasks.finding import near
from motet.tasks.math_sets import chosen_sources
from motet.tasks.rows import LeftOut, Place, Row, RowTasks


@dataclass(frozen=True, slots=True)
class CodeSchema:
    """The hub id of each split, and what makes a task of a row."""

    home: dict[str, str]
    read: Callable[[Row, Place], CodeTask]


def _live(last: int) -> dict[str, str]:
    """LiveCodeBench grows by files: a release is all files up to its own."""
    files = "+".join(["test.jsonl", *(f"test{number}.jsonl" for number in range(2, last + 1))])
    return {"test": f"hub:livecodebench/code_generation_lite@{files}"}


_DEEP = "hub:agentica-org/DeepCoder-Preview-Dataset"
SCHEMAS = {
    "humaneval": CodeSchema({"test": "hub:openai/openai_humaneval::test"}, code_readers.human_eval),
    "mbpp": CodeSchema(
        {split: f"hub:google-research-datasets/mbpp:sanitized:{split}" for split in ("train", "validation", "test")},
        code_readers.mbpp,
    ),
    "apps": CodeSchema({split: f"hub:codeparrot/apps@{split}.jsonl" for split in ("train", "test")}, code_readers.apps),
    "code_contests": CodeSchema(
        {
            "train": "hub:deepmind/code_contests::train",
            "validation": "hub:deepmind/code_contests::valid",
            "test": "hub:deepmind/code_contests::test",
        },
        code_readers.code_contests,
    ),
    "livecodebench_v5": CodeSchema(_live(5), code_readers.live_code_bench),
    "livecodebench_v6": CodeSchema(_live(6), code_readers.live_code_bench),
    "deepcoder": CodeSchema(
        {"train": f"{_DEEP}:primeintellect:train", "test": f"{_DEEP}:lcbv5:test"}, code_readers.deep_coder
    ),
    "stdin_problems": CodeSchema({}, code_readers.stdin_problems),
}
Which = Literal["all", "public", "private"]
WHICH = ("all", "public", "private")


class CodeSet(RowTasks):
    """One of the sets of `SCHEMAS`; splits and sources as for `MathSet`.

    `which`: `all` tests, the `public` ones, or the `private` ones (the rest). `max_tests` keeps the first so many of
    them, 0 all. A row without any test that counts is left out and counted in `left_out`.

    Raises `ConfigError` for a wrong setting, `TaskError` naming file, line and key for a row.
    """

    def __init__(
        self,
        schema: str,
        *,
        train: str = "",
        validation: str = "",
        test: str = "",
        which: str = "all",
        max_tests: int = 0,
        validation_rows: int = 0,
        drop_overlap: bool = False,
        make: str = "",
        name: str = "",
    ) -> None:
        self.schema, self._which, self._max_tests = SCHEMAS[schema], which, max_tests
        where: dict[str, object] = {"task_set": name or schema}
        if which not in WHICH:
            raise ConfigError(f"'which' is {which!r}", where=where, fix=near(which, WHICH))
        if max_tests < 0:
            raise ConfigError(f"'max_tests' is {max_tests}", where=where, fix="set 0 for all, or a number above")
        sources = chosen_sources(self.schema.home, {"train": train, "validation": validation, "test": test}, where)
        super().__init__(
            name or schema,
            sources,
            self._task,
            make=make,
            validation_rows=validation_rows,
            drop_overlap=drop_overlap,
            same=lambda task: (task.question, task.tests),
        )

    def _task(self, row: Row, place: Place) -> CodeTask:
        task = self.schema.read(row, place)
        tests, num_public = task.tests, task.num_public
        if self._which == "public":
            tests = tests[:num_public]
        elif self._which == "private":
            tests, num_public = tests[num_public:], 0
        if self._max_tests:
            tests = tests[: self._max_tests]
        if not tests:
            raise LeftOut(f"no {self._which} tests")
        return replace(task, id=f"{self.name}/{task.id}", tests=tests, num_public=min(num_public, len(tests)))


HumanEval = partial(CodeSet, "humaneval")
MBPP = partial(CodeSet, "mbpp")
APPS = partial(CodeSet, "apps")
CodeContests = partial(CodeSet, "code_contests")
LiveCodeBenchV5 = partial(CodeSet, "livecodebench_v5")
LiveCodeBenchV6 = partial(CodeSet, "livecodebench_v6")
DeepCoder = partial(CodeSet, "deepcoder")
StdinProblems = partial(CodeSet, "stdin_problems")
