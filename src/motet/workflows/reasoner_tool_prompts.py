"""What reasoner and tool are shown, in both dialects.

Values: `task` and `turns`, one (reasoner's call, tool's call, what the tool's program printed) for each turn so far. A
long text of the history keeps its beginning and its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.tasks.answering import answer_form
from motet.types import Message
from motet.workflows.answering import transcript
from motet.workflows.answering_prompts import problem, user
from motet.workflows.programs import shorten

KEPT = 1_000
"""Characters of one text of the history that a chat prompt shows."""


def history(values: Mapping[str, Any]) -> str:
    """The turns so far in prose, "" at the first."""
    parts = []
    for place, (reasoner, tool, printed) in enumerate(values["turns"], start=1):
        parts.append(
            f"--- Turn {place}, reasoner ---\n{shorten(reasoner.text, KEPT)}\n\n"
            f"--- Turn {place}, programmer ---\n{shorten(tool.text, KEPT)}\n\n"
            f"--- Turn {place}, the program's output ---\n{printed}"
        )
    return "\n\n".join(["", "What was tried so far:", *parts]) if parts else ""


def reason_chat(values: Mapping[str, Any]) -> list[Message]:
    how = "Reason step by step."
    if values["turns"]:
        how = "The two do not agree. Find out which of them is mistaken, then keep or mend the reasoning, step by step."
    return user(f"{problem(values['task'])}{history(values)}\n\n{how} {answer_form(values['task'])}")


def program_chat(values: Mapping[str, Any]) -> list[Message]:
    how = "Write a Python program that computes the answer and prints it alone, as its last line."
    if values["turns"]:
        how = "The two do not agree. Find the mistake and write the program anew; it prints the answer alone, last."
    ask = f"{how} Use the standard library only, read no input, and put the program in one block:\n```python\n...\n```"
    return user(f"{problem(values['task'])}{history(values)}\n\n{ask}")


def compact(role: str, values: Mapping[str, Any]) -> list[Message]:
    """`WORDS (reasoner SAID tool SAID)* role`."""
    heard = [pair for reasoner, tool, _ in values["turns"] for pair in (("reasoner", reasoner), ("tool", tool))]
    return transcript(values["task"], heard, role)


PROMPTS = {
    "reason": {"chat": reason_chat, "compact": lambda values: compact("reasoner", values)},
    "program": {"chat": program_chat, "compact": lambda values: compact("tool", values)},
}
