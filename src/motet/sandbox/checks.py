"""Runs a program against tests so that it cannot fake a pass.

    program's cell  <-- arguments, plain values -->  this process (passes bytes on, reads none)  <-->  tester's cell

Expected values and the tests' code never enter the program's cell; what the program returns reaches the tester's cell
as plain values, built anew there; and a test passes only when the tester's cell says so through its watchman or its own
line. So an early `sys.exit(0)`, a printed verdict, a patched `assert` or an `__eq__` that always agrees changes
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Protocol

from motet.errors import SandboxError
from motet.sandbox.cells import Cell
from motet.sandbox.inside import frames, plain
from motet.sandbox.jobs import make_job
from motet.sandbox.limits import Limits, Ran
from motet.sandbox.session import Watch, Watched, begun, judge


@dataclass(frozen=True, slots=True)
class StdinTest:
    """A whole run: what the program reads and what it must print, compared by `same_output`."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class CallTest:
    """One call. `function` is an expression of the program's namespace: `"add"`, `"Solution().add"`.

    `arguments`, `named` and `expected` are plain values; a tuple equals a list of the same items. Numbers may be off by
    `tolerance`, absolute or relative.
    """

    function: str
    arguments: Sequence[Any]
    expected: Any
    named: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class CheckTest:
    """A task's own test code: it passes if it runs to its end without an exception.

    `setup` runs before it, in the same cell (imports, helper functions of the task's own text; not the program).
    `functions` are the names that stand for the program's functions; by default those that `source` calls and nobody
    defines. Name them where one has the name of a builtin: a program must not choose to replace `set` in the tests.
    """

    source: str
    setup: str = ""
    functions: tuple[str, ...] = ()


Test = StdinTest | CallTest | CheckTest
TestStatus = Literal["passed", "wrong", "error", "timeout", "memory", "output"]


@dataclass(frozen=True, slots=True)
class TestResult:
    """How one test went, and a few words on why; `detail` may quote the program and is not to be trusted."""

    __test__ = False  # pytest: no test class

    status: TestStatus
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"


class Cells(Protocol):
    """What this module needs of a `Sandbox`."""

    @property
    def backend(self) -> str: ...
    def cells(self, number: int, limits: Limits) -> AbstractContextManager[list[Cell]]: ...
    def run(self, program: str, *, stdin: str, limits: Limits) -> Ran: ...


def run_tests(
    sandbox: Cells, program: str, tests: Sequence[Test], limits: Limits, stop_early: bool
) -> tuple[TestResult, ...]:
    """One result for each test, in order; with `stop_early`, none after the first that did not pass.

    `limits` hold for each test. Neighbouring call tests share a process until it fails or runs out of time.
    """
    results: list[TestResult] = []
    while len(results) < len(tests):
        rest = tests[len(results) :]
        first = rest[0]
        if isinstance(first, StdinTest):
            results.append(_run_stdin(sandbox, program, first, limits))
        elif isinstance(first, CheckTest):
            results += _converse(sandbox, program, [first], limits, stop_early)
        else:
            calls = next((i for i, test in enumerate(rest) if not isinstance(test, CallTest)), len(rest))
            results += _converse(sandbox, program, rest[:calls], limits, stop_early)
        if stop_early and not results[-1].passed:
            break
    return tuple(results)


def _run_stdin(sandbox: Cells, program: str, test: StdinTest, limits: Limits) -> TestResult:
    ran = sandbox.run(program, stdin=test.stdin, limits=limits)
    if ran.status != "ok":
        return TestResult(ran.status, ran.stderr[-2000:])
    if same_output(ran.stdout, test.stdout):
        return TestResult("passed")
    return TestResult("wrong", f"printed {ran.stdout[:200]!r}, expected {test.stdout[:200]!r}")


def same_output(got: str, wanted: str) -> bool:
    """Whether two outputs agree: line by line and word by word, blank space aside; numbers by value, exactly.

    >>> same_output("1 2.50\\n\\n", "1  2.5"), same_output("1\\n2", "1 2"), same_output("0.3333", "0.333")
    (True, False, False)
    """
    lines = [[line.split() for line in text.strip().splitlines()] for text in (got, wanted)]
    shape = [[len(words) for words in rows] for rows in lines]
    if shape[0] != shape[1]:
        return False
    pairs = zip(*([word for words in rows for word in words] for rows in lines))
    return all(a == b or _same_number(a, b) for a, b in pairs)


def _same_number(a: str, b: str) -> bool:
    if max(len(a), len(b)) > 400:
        return False
    try:
        one, other = Decimal(a), Decimal(b)
    except InvalidOperation:
        return False
    return one.is_finite() and other.is_finite() and one == other


_QUESTION_BYTES = 64 << 20
"""The longest call that a task's tests may make, arguments included; larger ones end the test as `output`."""


class _Conversation:
    """A program's cell and a tester's cell, with this process passing messages between them."""

    def __init__(self, program: Cell, tester: Cell, limits: Limits, stop_early: bool) -> None:
        self.results: list[TestResult] = []
        self.fault = ""
        self.defined = self._silent = self._done = False
        self._stop_early, self._asked = stop_early, b""
        self.program = Watched(program, limits, self._from_program, self._program_silent, limits.output_kb << 10)
        self.tester = Watched(tester, limits, self._from_tester, self._tester_silent, _QUESTION_BYTES)
        self.watch = Watch([self.program, self.tester], limits.wall_s)

    def _from_program(self, body: bytes) -> None:
        """The first message says that the program is defined; then each answers one question, or is nothing."""
        if not self.defined:
            self.defined = True
            if self._done:
                self.program.end("done")
            elif self._asked:
                self._ask()
        elif self._asked:
            self._asked = b""
            self.tester.say(body, self.watch.late)

    def _from_tester(self, body: bytes) -> None:
        message = frames.parse(body)
        if self.tester.cause:  # ended, but it had gone on
            return
        if "fault" in message:
            self.fault = str(message["fault"])
            self.tester.end("fault")
        elif "test" in message:
            self.results.append(TestResult(message["status"], message["detail"]))
            self.watch.extend()
            if self._stop_early and message["status"] != "passed":
                self.tester.end("done")
        else:
            self._asked = body
            if self._silent:
                self.tester.end("program")
            elif self.defined:
                self._ask()

    def _ask(self) -> None:
        self.program.say(self._asked, self.watch.late)

    def _program_silent(self) -> None:
        """The program answers no more. That matters only to a tester that waits for an answer, or will ask again."""
        self._silent = True
        if self._asked:
            self.tester.end("program")

    def _tester_silent(self) -> None:
        """No question will come. A program that is still being defined goes on: whether it can be is part of a test."""
        self._done = True
        if self.defined:
            self.program.end("done")


def _converse(sandbox: Cells, program: str, tests: Sequence[Any], limits: Limits, stop_early: bool) -> list[TestResult]:
    """Results of the first tests: of all, or of those up to the one at which the program ended or time ran out."""
    define, ask = make_job("calls", program, limits), _tester_job(tests, limits)
    both, walled = begun(lambda: _talk(sandbox, define, ask, limits, stop_early)), sandbox.backend != "none"
    if both.fault:
        raise SandboxError(both.fault, fix="correct the tests of the task")
    if isinstance(tests[0], CheckTest):
        return [_check_result(both, walled)]
    results = both.results
    if len(results) < len(tests) and both.tester.cause != "done":
        results.append(_why_ended(both, walled))
    return results


def _talk(
    sandbox: Cells, define: dict[str, Any], ask: dict[str, Any], limits: Limits, stop_early: bool
) -> _Conversation:
    """The whole conversation of two fresh cells, both ended."""
    with sandbox.cells(2, limits) as (first, second):
        both = _Conversation(first, second, limits, stop_early)
        second.hand_over(ask)
        first.hand_over(define)
        both.watch.until_ended()
        return both


def _tester_job(tests: Sequence[Any], limits: Limits) -> dict[str, Any]:
    if isinstance(tests[0], CheckTest):
        test = tests[0]
        return make_job("check", test.source, limits, setup=test.setup, functions=list(test.functions))
    try:
        calls = [
            {
                "function": test.function,
                "arguments": [plain.encode(value) for value in test.arguments],
                "named": {name: plain.encode(value) for name, value in test.named.items()},
                "expected": plain.encode(test.expected),
                "tolerance": test.tolerance,
            }
            for test in tests
        ]
    except (plain.PlainError, RecursionError) as problem:
        raise SandboxError(f"a test holds no plain value: {problem}", fix="correct the tests of the task") from None
    return make_job("compare", "", limits, calls=calls)


def _check_result(both: _Conversation, walled: bool) -> TestResult:
    """Passed only if the program could be defined and the tester's own process ended by itself, with code 0."""
    tester = judge(both.tester, walled=walled)
    if both.tester.cause or not both.defined or tester.status == "memory":
        return _why_ended(both, walled)
    if tester.status == "ok":
        return TestResult("passed")
    last = tester.stderr.rstrip().rsplit("\n", 1)[-1]
    return TestResult("wrong" if last.startswith("AssertionError") else "error", tester.stderr[-2000:])


def _why_ended(both: _Conversation, walled: bool) -> TestResult:
    """What the ends of both cells say, the program's first, for a test that the tester could not finish."""
    for one in (both.program, both.tester):
        ran = judge(one, walled=walled)
        if ran.status != "ok" and ran.status != "error":
            return TestResult(ran.status, one.note or ran.stderr[-2000:])
    said = bytes(both.program.stderr).decode("utf-8", "replace")
    return TestResult("error", said[-2000:] or "the program ended before it answered")
