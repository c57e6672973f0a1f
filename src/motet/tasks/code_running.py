"""What a program is worth: the share of a task's golden tests that it passes, run in the sandbox of this process."""

from __future__ import annotations

import ast
import asyncio
import json
import math
import re
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from motet.errors import TaskError
from motet.sandbox import Limits, shared
from motet.sandbox.inside import plain
from motet.tasks.code_tests import sandbox_tests
from motet.tasks.small_programs import expression_of
from motet.tasks.small_runs import Value, small_runs

if TYPE_CHECKING:
    from motet.tasks.code_tasks import CodeTask

TIME_FACTOR = 3.0
"""Sources set their time limits for compiled languages as well; a Python program gets so many times as long."""

_GOT = re.compile(r"got (.*), expected .*", re.DOTALL)
_PRINTED = re.compile(r"printed (.*), expected .*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Result:
    """How one test went: `status` as `motet.sandbox.TestResult` has it, or `skipped` after one that ran out of time.

    `got` is what the program gave instead of what was expected, as text; empty where it gave nothing.
    """

    status: str
    got: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"


@dataclass(frozen=True, slots=True)
class Tried:
    """A program against all golden tests: whether it `builds` (0 or 1), the share of tests in which it `runs` to a
    result, right or wrong, and the `share` that it passes."""

    builds: float
    runs: float
    share: float

    @property
    def solved(self) -> bool:
        return self.share == 1.0


NO_PROGRAM = Tried(0.0, 0.0, 0.0)


def limits_of(task: CodeTask, most: Limits) -> Limits:
    """The bounds of one test of `task`: three times the source's own time limit, where it has one, and never above
    `most`, the sandbox's own.

    >>> from motet.tasks.code_tasks import CodeTask
    >>> task = CodeTask("t", "", "stdin", (("1", "1"),), time_limit_s=1.5)
    >>> found = limits_of(task, Limits(wall_s=20, cpu_s=10))
    >>> found.wall_s, found.cpu_s, limits_of(replace(task, time_limit_s=0), Limits(wall_s=2)).wall_s
    (4.5, 5, 2)
    """
    if not task.time_limit_s:
        return most
    allowed = TIME_FACTOR * task.time_limit_s
    return replace(most, wall_s=min(most.wall_s, allowed), cpu_s=min(most.cpu_s, math.ceil(allowed)))


def results(task: CodeTask, program: str, *, stop_early: bool = False) -> tuple[Result, ...]:
    """One result for each golden test, in order; with `stop_early`, none after the first that did not pass.

    After a test that ran out of time the rest is `skipped`: a program that hangs would hang in each. A one-line program
    (`motet.tasks.small_programs`) shares its cell with others. Raises `SandboxError` where the sandbox fails: that is
    no result and no reward.
    """
    small = _small(task, program)
    if small is not None:
        return _compared(task, small.result())
    return _run(task, program, stop_early)


async def aresults(task: CodeTask, program: str, *, stop_early: bool = False) -> tuple[Result, ...]:
    """`results` for an event loop: several programs run side by side."""
    small = _small(task, program)
    if small is not None:
        values = await asyncio.wrap_future(small)
        return _compared(task, values)
    return await asyncio.to_thread(_run, task, program, stop_early)


def tried(task: CodeTask, program: str | None) -> Tried:
    """How a program does on the golden tests; all 0 for None."""
    return NO_PROGRAM if program is None else _tried(program, results(task, program))


async def atried(task: CodeTask, program: str | None) -> Tried:
    """`tried` for an event loop."""
    return NO_PROGRAM if program is None else _tried(program, await aresults(task, program))


def worth(task: CodeTask, program: str | None) -> float:
    """The share of the golden tests that `program` passes, in [0, 1]; 0 for None. Only 1 is success."""
    return tried(task, program).share


def solves(task: CodeTask, program: str | None) -> bool:
    """Whether `program` passes every golden test; stops at the first that it does not."""
    return program is not None and all(one.passed for one in results(task, program, stop_early=True))


def builds(program: str) -> bool:
    """Whether the text is Python at all; nothing is run.

    >>> builds("x = 1"), builds("x ="), builds("\\x00")
    (True, False, False)
    """
    try:
        ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what the parser says of text that is no Python
        return False
    return True


def _tried(program: str, found: Sequence[Result]) -> Tried:
    if not found:
        raise TaskError("a task without golden tests", fix="leave it out, or give it one")
    ran = sum(one.status in ("passed", "wrong") for one in found)
    return Tried(float(builds(program)), ran / len(found), sum(one.passed for one in found) / len(found))


def _small(task: CodeTask, program: str) -> Future[tuple[Value, ...]] | None:
    """The values of a one-line program under way, or None for any other program or task."""
    if task.kind != "call" or task.function != "f":
        return None
    expression = expression_of(program)
    arguments = [json.loads(given) for given, _ in task.tests]
    if expression is None or not all(len(given) == 1 for given in arguments):
        return None
    return small_runs().submit(expression, [json.dumps(given[0]) for given in arguments])


def _compared(task: CodeTask, values: Sequence[Value]) -> tuple[Result, ...]:
    return tuple(_one(value, json.loads(wanted)) for value, (_, wanted) in zip(values, task.tests))


def _one(value: Value, wanted: Any) -> Result:
    if value.status != "value":
        return Result(value.status, value.text)
    got = json.loads(value.text)
    return Result("passed" if plain.same(got, wanted) else "wrong", value.text)


def _run(task: CodeTask, program: str, stop_early: bool) -> tuple[Result, ...]:
    sandbox, tests = shared(), sandbox_tests(task)
    limits = limits_of(task, sandbox.limits)
    found: list[Result] = []
    while len(found) < len(tests):
        some = sandbox.run_tests(program, tests[len(found) :], limits=limits, stop_early=True)
        found += [Result(one.status, _given(one.detail)) for one in some]
        if found[-1].status == "timeout" and not stop_early:
            found += [Result("skipped")] * (len(tests) - len(found))
        if stop_early and not found[-1].passed:
            break
    return tuple(found)


def _given(detail: str) -> str:
    """What the program gave, out of the words on a test that it failed; for show, and not to be trusted."""
    match = _GOT.fullmatch(detail) or _PRINTED.fullmatch(detail)
    return match[1] if match else detail.rstrip().rsplit("\n", 1)[-1]
