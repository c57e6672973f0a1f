"""What one role alone is shown of a task with an answer, in both dialects.

Values: `task`, `talk` (its own answers so far) and `called`, the word by which the compact prompt calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.tasks.answering import answer_form
from motet.types import Message
from motet.workflows.answering import transcript
from motet.workflows.answering_prompts import solve

AGAIN = "Check your solution step by step. Then give your answer, the old one or a better one."


def answer_chat(values: Mapping[str, Any]) -> list[Message]:
    task = values["task"]
    messages = [Message("user", solve(task))]
    for call in values["talk"]:
        messages += [Message("assistant", call), Message("user", f"{AGAIN} {answer_form(task)}")]
    return messages


def answer_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS (solver SAID)* solver`."""
    called = values["called"]
    return transcript(values["task"], [(called, call) for call in values["talk"]], called)


ANSWER = {"chat": answer_chat, "compact": answer_compact}
