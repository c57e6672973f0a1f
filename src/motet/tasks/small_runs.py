"""Runs one-line programs in the sandbox, many in one cell: thousands a minute where a cell each gives some dozens a
second.

Only expressions that `motet.tasks.small_programs` allows come here. They have no side effect, so programs that share a
cell cannot change or read one another's results, and the wall is around all of them as around any program. What
is asked for while a cell works goes into the next one. A cell that breaks a bound (time, memory) is not held against
its company: each of its programs is then run again in a cell of its own, and only that is its verdict.

Results are kept by (expression, argument): an allowed expression is a pure function.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from motet.errors import SandboxError
from motet.sandbox import Limits, Sandbox, shared

MAX_KEPT = 200_000
MAX_TOGETHER = 256
_LIMITS = Limits(wall_s=10.0, cpu_s=5.0, memory_mb=256, output_kb=2048)
_DRIVER = """
import json, sys
NAMES = {name: getattr(__builtins__, name) for name in ("sum", "max", "min", "len", "sorted", "abs")}
def run(code, argument):
    try:
        value = eval(code, {"__builtins__": {}, **NAMES, "x": json.loads(argument)})
        text = json.dumps(value, default=lambda iterator: repr(list(iterator)))
    except Exception as problem:
        return ["error", type(problem).__name__]
    return ["value", text] if len(text) <= 2000 else ["output", ""]
def run_all(expression, arguments):
    code = compile(expression, "main.py", "eval")
    return [run(code, argument) for argument in arguments]
print(json.dumps([run_all(*job) for job in json.load(sys.stdin)]))
"""


@dataclass(frozen=True, slots=True)
class Value:
    """What a one-line program gave.

    `status` `value`: `text` is the value as JSON (a tuple as a list; an iterator as a text, which equals nothing that
    is expected). `error`: `text` is the name of what was raised. Else `timeout`, `memory` or `output`.
    """

    status: str
    text: str = ""


class SmallRuns:
    """Takes programs from any thread and runs what has come together; `submit` returns at once."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, tuple[str, ...], Future[tuple[Value, ...]]]] = []
        self._kept: OrderedDict[tuple[str, str], Value] = OrderedDict()
        self._works = False

    def submit(self, expression: str, arguments: Sequence[str]) -> Future[tuple[Value, ...]]:
        """The values of an allowed `expression` for each argument (JSON), in order.

        The future raises `SandboxError` where the sandbox fails: never a value. Cancelling it cancels nothing.
        """
        future: Future[tuple[Value, ...]] = Future()
        with self._lock:
            known = [self._kept.get((expression, argument)) for argument in arguments]
            found = tuple(value for value in known if value is not None)
            if len(found) == len(arguments):
                future.set_result(found)
                return future
            self._waiting.append((expression, tuple(arguments), future))
            if not self._works:
                self._works = True
                threading.Thread(target=self._work, name="motet-small-runs", daemon=True).start()
        return future

    def _work(self) -> None:
        """Serve until nothing waits."""
        while True:
            with self._lock:
                jobs, self._waiting = self._waiting[:MAX_TOGETHER], self._waiting[MAX_TOGETHER:]
                if not jobs:
                    self._works = False
                    return
            asked = dict.fromkeys((expression, arguments) for expression, arguments, _ in jobs)
            try:
                results = dict(zip(asked, self._run(list(asked))))
            except BaseException as error:  # noqa: BLE001  handed to whoever waits, who raises it
                for _, _, future in jobs:
                    if future.set_running_or_notify_cancel():
                        future.set_exception(error)
                continue
            self._keep(results)
            for expression, arguments, future in jobs:
                if future.set_running_or_notify_cancel():
                    future.set_result(results[expression, arguments])

    def _keep(self, results: dict[tuple[str, tuple[str, ...]], tuple[Value, ...]]) -> None:
        with self._lock:
            for (expression, arguments), values in results.items():
                for argument, value in zip(arguments, values):
                    if value.status in ("value", "error"):  # what a bound cut off may do better another time
                        self._kept[expression, argument] = value
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)

    def _run(self, jobs: list[tuple[str, tuple[str, ...]]]) -> list[tuple[Value, ...]]:
        """The values of every job, out of one cell; out of one each where that did not end well."""
        ran = (self._sandbox or shared()).run(_DRIVER, stdin=json.dumps(jobs), limits=_LIMITS)
        if ran.ok:
            return _read(ran.stdout, jobs)
        if len(jobs) > 1:
            return [self._run([job])[0] for job in jobs]
        return [tuple(Value(ran.status) for _ in jobs[0][1])]


def _read(stdout: str, jobs: list[tuple[str, tuple[str, ...]]]) -> list[tuple[Value, ...]]:
    try:
        told: list[list[list[Any]]] = json.loads(stdout)
        results = [tuple(Value(str(status), str(text)) for status, text in values) for values in told]
        if [len(values) for values in results] == [len(arguments) for _, arguments in jobs]:
            return results
    except (ValueError, TypeError):
        pass
    raise SandboxError("a cell of one-line programs told something else than their values")


@lru_cache(maxsize=1)
def small_runs() -> SmallRuns:
    """The one of this process, on the shared sandbox."""
    return SmallRuns()
