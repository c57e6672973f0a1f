"""Runs the program in its cell, in one of three ways. From here on nothing that happens in this process is trusted.

`script`: as `python main.py`. `calls`: defines the program's functions, then answers calls to them over the line.
`check` and `compare`: the other side of `calls`, in a cell without the program: runs a task's own tests, or makes calls
and compares what comes back. Only plain values come from the program, so nothing of it can reach the comparison.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import os
import sys
import threading
import types
from typing import Any

from motet.sandbox.inside import frames, plain

_exit = os._exit


def prepare(job: dict[str, Any]) -> None:
    """Put the standard input and the files in place, before the limits apply."""
    stdin = os.memfd_create("stdin")
    with open(os.dup(stdin), "wb") as file:
        file.write(job["stdin"].encode("utf-8", "surrogatepass"))
    os.lseek(stdin, 0, os.SEEK_SET)
    os.dup2(stdin, 0)
    os.close(stdin)
    files = {**job["files"], "main.py": job["source"]}
    if "/dev/stdin" in job["source"]:  # where /dev/stdin is, see backends.py
        files[".stdin"] = job["stdin"]
    for name, text in files.items():
        if os.path.dirname(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)


def run(job: dict[str, Any], line: int) -> None:
    """Run the job; the process ends here."""
    code = 1
    try:
        sys.stdin = os.fdopen(0, encoding="utf-8", errors="replace", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
        if job["mode"] == "script":
            os.close(line)
        sys.path.insert(0, os.getcwd())
        code = _MODES[job["mode"]](job, line)
        _finish()
    finally:
        _exit(code & 0xFF)


def _finish() -> None:
    """What an interpreter does at its end, as far as a program can see it."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _module(name: str) -> dict[str, Any]:
    module = types.ModuleType(name)
    module.__dict__.update(__builtins__=builtins, __file__="main.py")
    sys.modules[name] = module
    return module.__dict__


def _execute(source: str | types.CodeType, namespace: dict[str, Any]) -> int:
    """Run `source`; its exit code, with the traceback on standard error as Python writes it."""
    try:
        exec(compile(source, "main.py", "exec") if isinstance(source, str) else source, namespace)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as problem:  # noqa: BLE001  as an interpreter does
        _show(problem)
        return 1
    return 0


def _show(problem: BaseException) -> None:
    """Print the traceback without this file's own frame."""
    trace = problem.__traceback__
    problem.__traceback__ = trace.tb_next if trace is not None else None
    sys.excepthook(type(problem), problem, problem.__traceback__)


def _script(job: dict[str, Any], line: int) -> int:
    return _execute(job["source"], _module("__main__"))


def _calls(job: dict[str, Any], line: int) -> int:
    """Define, then answer {"function", "arguments"} with {"value"} or {"error", "kind"} until the line closes."""
    namespace = _module("__program__")
    code = _execute(job["source"], namespace)
    if code:
        return code
    frames.send(line, {"defined": True})
    while True:
        try:
            request = frames.receive(line)
        except frames.FrameError:
            return 0
        frames.send(line, _answer(request, namespace))


def _answer(request: dict[str, Any], namespace: dict[str, Any]) -> dict[str, Any]:
    try:
        function = eval(request["function"], namespace)
        arguments = [plain.decode(form) for form in request["arguments"]]
        named = {name: plain.decode(form) for name, form in request["named"].items()}
        return {"value": plain.encode(function(*arguments, **named))}
    except BaseException as problem:  # noqa: BLE001  the answer says what was raised
        _show(problem)
        return {"error": f"{type(problem).__name__}: {problem}"[:2000], "kind": type(problem).__name__}


def _check(job: dict[str, Any], line: int) -> int:
    """Run the task's tests; exit code 0 says that they passed. Tests that cannot run at all are told as a fault."""
    namespace = _module("__main__")
    try:
        tests = compile(job["source"], "tests.py", "exec")
        exec(compile(job["setup"], "setup.py", "exec"), namespace)
    except BaseException as problem:  # noqa: BLE001  told as a fault, raised on the other side
        _show(problem)
        frames.send(line, {"fault": f"the task's own tests do not run: {type(problem).__name__}: {problem}"})
        return 1
    for name in job["functions"] or called(job["source"], namespace):
        namespace[name] = _remote(name, line)
    return _execute(tests, namespace)


def _compare(job: dict[str, Any], line: int) -> int:
    """Make each call in turn and tell {"test": index, "status", "detail"} of it."""
    for index, call in enumerate(job["calls"]):
        try:
            answer = _ask(call["function"], call["arguments"], call["named"], line)
        except frames.FrameError:
            return 0
        status, detail = _compared(answer, call["expected"], call["tolerance"])
        frames.send(line, {"test": index, "status": status, "detail": detail})
    return 0


def _compared(answer: Any, expected: Any, tolerance: float) -> tuple[str, str]:
    if not isinstance(answer, dict) or "value" not in answer:
        return "error", str(answer.get("error") if isinstance(answer, dict) else "no answer")[:2000]
    try:
        got, wanted = plain.decode(answer["value"]), plain.decode(expected)
        same = plain.same(got, wanted, tolerance)
        return ("passed", "") if same else ("wrong", f"got {got!r:.200}, expected {wanted!r:.200}")
    except (plain.PlainError, RecursionError, ValueError) as problem:
        return "error", f"no plain value came back: {problem}"


def called(source: str, known: dict[str, Any]) -> list[str]:
    """Names that `source` calls and that neither it nor `known` nor the builtins define, in order.

    >>> called("assert set(f(1)) == {g(2)}", {"g": None})
    ['f']
    """
    nodes = list(ast.walk(ast.parse(source)))
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
    uses = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [name for name in dict.fromkeys(uses) if name not in own | set(known) and not hasattr(builtins, name)]


def _ask(function: str, arguments: list[Any], named: dict[str, Any], line: int) -> Any:
    frames.send(line, {"function": function, "arguments": arguments, "named": named})
    return frames.receive(line)


def _remote(name: str, line: int) -> Any:
    """A stand-in for the program's function `name`: a call to the other cell. Raises by name what the other raised."""

    def call(*arguments: Any, **named: Any) -> Any:
        forms = {key: plain.encode(value) for key, value in named.items()}
        answer = _ask(name, [plain.encode(value) for value in arguments], forms, line)
        if "value" in answer:
            return plain.decode(answer["value"])
        kind = getattr(builtins, str(answer.get("kind")), None)
        known = isinstance(kind, type) and issubclass(kind, Exception)
        raise (kind if known else RuntimeError)(str(answer.get("error")))  # type: ignore[misc]

    call.__name__ = name
    return call


_MODES = {"script": _script, "calls": _calls, "check": _check, "compare": _compare}
