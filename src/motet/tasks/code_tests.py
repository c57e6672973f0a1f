"""The tests of a `CodeTask` in the sandbox's own terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.sandbox import CallTest, CheckTest, StdinTest

if TYPE_CHECKING:
    from motet.tasks.code_tasks import CodeTask


def sandbox_tests(task: CodeTask) -> list[StdinTest | CallTest | CheckTest]:
    """One test for each pair of `task.tests`, in order; `Sandbox.run_tests(program, sandbox_tests(task))` judges.

    >>> from motet.tasks.code_tasks import CodeTask
    >>> sandbox_tests(CodeTask("t", "Echo.", "stdin", (("1", "1"),)))
    [StdinTest(stdin='1', stdout='1')]
    """
    if task.kind == "stdin":
        return [StdinTest(given, wanted) for given, wanted in task.tests]
    if task.kind == "call":
        return [CallTest(function, arguments, wanted) for function, arguments, wanted in task.calls()]
    functions = (task.function,) if task.function else ()
    return [CheckTest(source, task.setup, functions) for source, _ in task.tests]
