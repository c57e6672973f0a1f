"""A programming problem with its tests. `check` runs an answer's program, in the sandbox of this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from motet.tasks import code_answers, code_running

Kind = Literal["stdin", "call", "check"]


@dataclass(frozen=True, slots=True)
class CodeTask:
    """A problem that a Python program solves.

    What a test pair holds depends on `kind`:

    `stdin`   what the program reads, and what it must print
    `call`    the arguments as a JSON list, and the value that `function` must return, as JSON
    `check`   test code, and ""; it runs after `setup` and raises where the program is wrong

    The first `num_public` tests may be shown. `function` is an expression of the program's namespace, `starter` the
    text that a program begins with, `reference` a program that passes, `time_limit_s` that of
    the source (0: none given), `words` the problem in the words of the tiny models.

    >>> CodeTask("t", "Add.", "call", (("[1, 2]", "3"),), function="add").calls()
    [('add', [1, 2], 3)]
    """

    id: str
    question: str
    kind: Kind
    tests: tuple[tuple[str, str], ...]
    num_public: int = 0
    function: str = ""
    starter: str = ""
    setup: str = ""
    reference: str = ""
    time_limit_s: float = 0.0
    words: str = ""

    @property
    def public_tests(self) -> tuple[tuple[str, str], ...]:
        return self.tests[: self.num_public]

    def calls(self) -> list[tuple[str, list[Any], Any]]:
        """(function, arguments, expected value) of every test of a `call` task."""
        return [(self.function, json.loads(given), json.loads(wanted)) for given, wanted in self.tests]

    @property
    def answer_form(self) -> str:
        return code_answers.answer_form(self)

    def check(self, text: str) -> float:
        """The share of the golden tests that the program in `text` passes; 1 is success, and nothing less is.

        Raises `SandboxError` where the sandbox fails.
        """
        return code_running.worth(self, code_answers.program_in(self, text))

    def answer_in(self, text: str) -> str | None:
        """The program in `text`, comments and layout aside, or None."""
        program = code_answers.program_in(self, text)
        return None if program is None else code_answers.normal_form(program)

    def form(self, text: str) -> float:
        """1 for a program that is Python, else 0."""
        program = code_answers.program_in(self, text)
        return float(program is not None and code_running.builds(program))
