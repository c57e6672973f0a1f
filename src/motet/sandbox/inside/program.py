"""Runs the program in its cell, in one of three ways. From here on nothing that happens in this process is trusted.

`script`: as `python main.py`. `calls`: defines the program's functions, then answers calls to them over the line.
`check`: runs a task's own tests, with the functions under test being calls to another cell.
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
_MEMORY = 512 << 10


def prepare(job: dict[str, Any]) -> None:
    """Put the standard input and the files in place, before the limits apply."""
    stdin = os.memfd_create("stdin")
    with open(os.dup(stdin), "wb") as file:
        file.write(job["stdin"].encode("utf-8", "surrogatepass"))
    os.lseek(stdin, 0, os.SEEK_SET)
    os.dup2(stdin, 0)
    os.close(stdin)
    for name, text in {**job["files"], "main.py": job["source"]}.items():
        if os.path.dirname(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)


def run(job: dict[str, Any], line: int) -> None:
    """Run the job; the process ends here."""
    code = 1
    try:
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)
        sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
        if job["mode"] == "script":
            os.close(line)
        sys.path.insert(0, os.getcwd())
        code = {"script": _script, "calls": _calls, "check": _check}[job["mode"]](job, line)
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


def _execute(source: str, namespace: dict[str, Any], filename: str = "main.py") -> int:
    """Run `source`; its exit code, with the traceback on standard error as Python writes it."""
    try:
        exec(compile(source, filename, "exec"), namespace)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException as problem:
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
    except BaseException as problem:
        _show(problem)
        return {"error": f"{type(problem).__name__}: {problem}"[:2000], "kind": type(problem).__name__}


def _check(job: dict[str, Any], line: int) -> int:
    """Run the task's tests here; the program itself is in another cell and only plain values come from it."""
    namespace = _module("__main__")
    code = _execute(job["setup"], namespace, "setup.py")
    if code:
        frames.send(line, {"fault": "the setup of the tests failed"})
        return code
    for name in job["functions"] or called(job["source"], namespace):
        namespace[name] = _remote(name, line)
    return _execute(job["source"], namespace, "tests.py")


def called(source: str, known: dict[str, Any]) -> list[str]:
    """Names that `source` calls and that neither it nor `known` nor the builtins define, in order.

    >>> called("assert set(f(1)) == {g(2)}", {"g": None})
    ['f']
    """
    tree = ast.parse(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {argument.arg for argument in ast.walk(tree) if isinstance(argument, ast.arg)}
    own |= {(n.asname or n.name).split(".")[0] for i in ast.walk(tree) if isinstance(i, (ast.Import, ast.ImportFrom))
            for n in i.names}  # fmt: skip
    uses = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [name for name in dict.fromkeys(uses) if name not in own and name not in known and not hasattr(builtins, name)]


def _remote(name: str, line: int) -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        request = {
            "function": name,
            "arguments": [plain.encode(value) for value in arguments],
            "named": {key: plain.encode(value) for key, value in named.items()},
        }
        frames.send(line, request)
        answer = frames.receive(line)
        if "error" in answer:
            kind = getattr(builtins, str(answer.get("kind")), None)
            known = isinstance(kind, type) and issubclass(kind, Exception)
            raise (kind if known else RuntimeError)(answer["error"])  # type: ignore[misc]
        return plain.decode(answer.get("value"))

    call.__name__ = name
    return call
