"""What coder and tester are shown, in both dialects. Golden tests that are not public never stand in a prompt.

Values: `task`, `codes` and `tests` (the calls so far) and `mismatches`, the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from motet.tasks.answering import answer_form, words_of
from motet.tasks.code_cases import got_words
from motet.tasks.code_tasks import CodeTask
from motet.types import Message
from motet.workflows.answering_prompts import problem, user
from motet.workflows.programs import shorten

_LONGEST = 2_000
_GIVEN = {
    "stdin": "the input as the program reads it",
    "call": "the arguments of the function, one JSON value a line",
}
_WANTED = {"stdin": "what it must print", "call": "the value that it must return, as JSON"}
CODE = "You are the coder: write the program. A tester checks it with a test of its own, and may be mistaken."
CODE_AGAIN = (
    "You are the coder. Your last program and a test did not agree, or there was none. Find out which of the two is "
    "wrong, and write the whole program again, better or as it was."
)
TEST = "You are the tester: write one test that a wrong program would fail. A coder writes the program meanwhile."
TEST_AGAIN = (
    "You are the tester. Your last test and the program did not agree, or there was none. If the test was wrong, "
    "correct it; else write another that a wrong program would fail."
)


def case_form(task: CodeTask) -> str:
    """How a test must look, for a model that reads prose."""
    kind = "stdin" if task.kind == "stdin" else "call"
    return (
        "Work out the right result step by step; the input must not be one of the examples. End with the test alone:\n"
        f"**Test Input:**\n```\n({_GIVEN[kind]})\n```\n**Test Output:**\n```\n({_WANTED[kind]})\n```"
    )


def chat(role: str, values: Mapping[str, Any]) -> list[Message]:
    """The problem, the last program and the mismatches, the role's own job, the form of its answer."""
    task, codes = values["task"], values["codes"]
    first, again, form = (
        (CODE, CODE_AGAIN, answer_form(task)) if role == "coder" else (TEST, TEST_AGAIN, case_form(task))
    )
    parts = [problem(task)]
    if codes:
        program = codes[-1].notes["program"]
        shown = "There was no program." if program is None else f"```python\n{shorten(program.strip(), _LONGEST)}\n```"
        parts.append(f"The coder's last program:\n{shown}")
        parts += [told(place, mismatch) for place, mismatch in enumerate(values["mismatches"], start=1)]
        parts += [] if values["tests"][-1].notes["case"] is not None else ["The tester's last answer held no test."]
    return user("\n\n".join([*parts, f"{again if codes else first} {form}"]))


def told(place: int, mismatch: Any) -> str:
    """A test that the program of its turn did not pass."""
    given, wanted = (shorten(text.strip(), _LONGEST) for text in mismatch.case)
    got = shorten(mismatch.got.strip(), _LONGEST) or f"nothing ({mismatch.status})"
    return f"Mismatch {place}:\nTest input:\n{given}\nThe tester expects:\n{wanted}\nThe program then gave:\n{got}"


def compact(role: str, values: Mapping[str, Any]) -> list[Message]:
    """`WORDS role`, and from the second turn on `WORDS coder SAID tester SAID did GOT role`: the last turn alone.

    GOT is what the program gave on the test, `none` where there is nothing that the words can tell.
    """
    parts = [Message("user", words_of(values["task"]))]
    if values["codes"]:
        code, test, mismatches = values["codes"][-1], values["tests"][-1], values["mismatches"]
        got = got_words(mismatches[-1].got) if mismatches and test.notes["case"] is not None else "none"
        parts += [Message("user", " coder "), Message("assistant", code)]
        parts += [Message("user", " tester "), Message("assistant", test), Message("user", f" did {got}")]
    return [*parts, Message("user", f" {role} ")]


PROMPTS = {
    name: {"chat": partial(chat, role), "compact": partial(compact, role)}
    for name, role in (("code", "coder"), ("test", "tester"))
}
