"""The tests of a programming task in the sandbox's own terms."""

from __future__ import annotations

from motet.sandbox import CallTest, CheckTest, StdinTest
from motet.tasks.code_tasks import CodeTask
from motet.tasks.code_tests import sandbox_tests


def test_each_kind_of_pair_becomes_a_test_of_its_kind() -> None:
    stdin = CodeTask("a", "q", "stdin", (("1 2\n", "3\n"), ("0 0\n", "0\n")))
    assert sandbox_tests(stdin) == [StdinTest("1 2\n", "3\n"), StdinTest("0 0\n", "0\n")]
    call = CodeTask("b", "q", "call", (('[1, "x"]', "[3]"),), function="Solution().add")
    assert sandbox_tests(call) == [CallTest("Solution().add", [1, "x"], [3])]
    check = CodeTask("c", "q", "check", (("assert add(1, 2) == 3", ""),), function="add", setup="import math")
    assert sandbox_tests(check) == [CheckTest("assert add(1, 2) == 3", "import math", ("add",))]
