"""A program is worth the share of the golden tests that it passes; a fault of the sandbox is worth nothing at all."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from motet.errors import SandboxError
from motet.sandbox import Limits, Ran, shared
from motet.tasks import code_running, small_runs
from motet.tasks.code_running import NO_PROGRAM, Tried, aresults, atried, results, solves, tried, worth
from motet.tasks.code_tasks import CodeTask
from motet.tasks.small_runs import SmallRuns, Value

DOUBLE = CodeTask("d", "Double x.", "call", (("[3]", "6"), ("[[1]]", "[1, 1]"), ("[0]", "0")), function="f", words="w")
ECHO = CodeTask("e", "Echo.", "stdin", (("1\n", "1\n"), ("2\n", "2\n")), reference="print(input())")


@pytest.fixture(autouse=True)
def _sandbox() -> None:
    try:
        shared().ready()
    except SandboxError as problem:
        pytest.skip(problem.what)


@pytest.mark.parametrize("head", ["", "import math\n"])  # the second is no one-line program: it has cells of its own
def test_the_worth_is_the_share_of_golden_tests_alike_on_both_ways(head: str) -> None:
    program = head + "def f(x): return {}"
    assert worth(DOUBLE, program.format("x * 2")) == 1.0
    assert tried(DOUBLE, program.format("x + x")) == Tried(1.0, 1.0, 1.0)
    assert tried(DOUBLE, program.format("x + 3")) == Tried(1.0, 2 / 3, 1 / 3)
    assert [one.status for one in results(DOUBLE, program.format("x + 3"))] == ["passed", "error", "wrong"]
    assert results(DOUBLE, program.format("x + 3"))[2].got == "3"
    assert [one.status for one in results(DOUBLE, program.format("x + 4"), stop_early=bool(head))][:1] == ["wrong"]
    assert solves(DOUBLE, program.format("x * 2")) and not solves(DOUBLE, program.format("x"))
    assert asyncio.run(atried(DOUBLE, program.format("x * 2"))).solved


@pytest.mark.parametrize(
    "expression",
    [
        *("x * 2", "x", "x > 2", "(x, x)", "[a for a in x]", "(a for a in x)", "x / 2", "x // 0", "sum(x)", "x[0]"),
        *("max(x)", "sorted(x)", "a", "x * 9999 * 9999", "x[::-1]", "[x, [x]]", "-x", "len(x)", "abs(x)", "2"),
        "sum(a for a in x for a in x) if 1 in x else x",
    ],
)
def test_a_one_line_program_gets_the_same_verdicts_in_company_as_in_cells_of_its_own(expression: str) -> None:
    program = f"def f(x): return {expression}"
    tests = (("[3]", "6"), ("[[1, 2]]", "[1, 2]"), ("[[]]", "[]"), ("[0]", "0"), ("[4]", "true"), ("[5]", "[5, 5]"))
    task = replace(DOUBLE, tests=tests)
    apart = [one.status for one in results(task, "import math\n" + program)]
    assert [one.status for one in results(task, program)] == apart


def test_text_that_is_no_program_is_worth_nothing_and_nothing_is_run() -> None:
    assert (worth(DOUBLE, None), tried(DOUBLE, None), solves(DOUBLE, None)) == (0.0, NO_PROGRAM, False)
    assert tried(ECHO, "print(") == Tried(0.0, 0.0, 0.0)
    assert ECHO.check("1") == 0.0 and ECHO.answer_in("1") is None  # words count where the task has words
    assert ECHO.check("```python\nprint(input())\n```") == 1.0
    assert DOUBLE.check("x * n2") == 1.0 and DOUBLE.answer_in("x * n2") == "def f(x):\n    return x * 2"
    assert (DOUBLE.form("x * n2"), DOUBLE.form("x *"), ECHO.form("```\nprint(\n```")) == (1.0, 0.0, 0.0)


def test_a_program_that_runs_out_of_time_is_not_run_on_the_rest() -> None:
    task = replace(ECHO, tests=(("1\n", "1\n"), ("2\n", "2\n"), ("3\n", "3\n")), time_limit_s=0.2)
    program = "n = int(input())\nif n == 2: __import__('time').sleep(60)\nprint(n)"
    started = time.monotonic()
    assert [one.status for one in results(task, program)] == ["passed", "timeout", "skipped"]
    assert time.monotonic() - started < 15


def test_many_small_programs_share_cells_and_each_gets_its_own_verdict() -> None:
    async def many() -> list[Any]:
        return await asyncio.gather(*(aresults(DOUBLE, f"def f(x): return x * {number}") for number in range(300)))

    right = [number for number, found in enumerate(asyncio.run(many())) if all(one.passed for one in found)]
    assert right == [2]


def test_a_program_that_breaks_the_cell_costs_its_company_nothing() -> None:
    ran: list[int] = []

    class Breaks:
        """A sandbox in which the expression `bad` breaks every cell it is in."""

        def run(self, driver: str, *, stdin: str, limits: Limits) -> Ran:
            jobs = json.loads(stdin)
            ran.append(len(jobs))
            if any(expression == "bad" for expression, _ in jobs):
                return Ran("timeout", -9, "", "", 1.0)
            return Ran("ok", 0, json.dumps([[["value", "1"] for _ in values] for _, values in jobs]), "", 0.1)

    values = SmallRuns(Breaks())._run([("good", ("1",)), ("bad", ("1", "2")), ("x", ("1",))])  # type: ignore[arg-type]
    assert values == [(Value("value", "1"),), (Value("timeout"), Value("timeout")), (Value("value", "1"),)]
    assert ran == [3, 1, 1, 1]


class Broken:
    backend, limits = "bubblewrap", Limits()

    def __init__(self, stdout: str | None = None) -> None:
        self.stdout = stdout

    def run(self, *_: Any, **__: Any) -> Ran:
        if self.stdout is not None:
            return Ran("ok", 0, self.stdout, "", 0.1)
        raise SandboxError("the keeper is gone")

    run_tests = run


@pytest.mark.parametrize("stdout", [None, "", "[]", "[[1]]", '[["value"]]', "{}", '[[["value", "1"]]]'])
def test_a_fault_of_the_sandbox_is_an_error_and_never_a_reward(stdout: str | None, monkeypatch) -> None:
    monkeypatch.setattr(small_runs, "shared", lambda: Broken(stdout))
    monkeypatch.setattr(code_running, "shared", lambda: Broken())
    runs = SmallRuns()
    monkeypatch.setattr(code_running, "small_runs", lambda: runs)
    for program in ("def f(x): return x * 5", "import math\ndef f(x): return x * 5"):
        for run in (lambda p: worth(DOUBLE, p), lambda p: asyncio.run(atried(DOUBLE, p))):
            with pytest.raises(SandboxError):
                run(program)


def test_values_are_kept_and_a_cell_is_not_asked_twice() -> None:
    runs = SmallRuns()
    first: Future[tuple[Value, ...]] = runs.submit("x + 1", ["1", "2"])
    assert first.result() == (Value("value", "2"), Value("value", "3"))
    runs._sandbox = Broken()  # type: ignore[assignment]
    assert runs.submit("x + 1", ["2", "1"]).result() == (Value("value", "3"), Value("value", "2"))
    with pytest.raises(SandboxError):
        runs.submit("x + 1", ["4"]).result()
