"""Pieces of the chat prompts of tasks that can be answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from motet.tasks.answering import answer_form
from motet.types import Message

PER_ROLE = "Only the answer is judged, so check it before you give it."


def problem(task: Any) -> str:
    """What stands first in every chat prompt, so that prompts of all roles begin alike."""
    return f"Problem:\n{task.question}"


def solve(task: Any, how: str = "Solve the problem step by step.") -> str:
    """The problem, how to go about it, and what the answer must look like."""
    return f"{problem(task)}\n\n{how} {answer_form(task)}"


def listed(texts: Sequence[str], headings: Sequence[str] = ()) -> str:
    """Numbered texts, from 1, each under a line of its own.

    >>> print(listed(["7", "8"], ["ones first", ""]))
    --- Solution 1 (ones first) ---
    7
    <BLANKLINE>
    --- Solution 2 ---
    8
    """
    notes = [f" ({text})" if text else "" for text in (*headings, *[""] * (len(texts) - len(headings)))]
    shown = [f"--- Solution {place} {note.strip()}".rstrip() + f" ---\n{text.strip()}"
             for place, (note, text) in enumerate(zip(notes, texts), start=1)]  # fmt: skip
    return "\n\n".join(shown)


def user(text: str) -> list[Message]:
    return [Message("user", text)]


def select(values: Mapping[str, Any], *, who: str) -> str:
    """Several solutions, one of which is to be named by its number. `values` holds `task` and `texts`."""
    texts = values["texts"]
    return (
        f"{problem(values['task'])}\n\n{who} gave these solutions:\n\n{listed(texts)}\n\n"
        f"Decide which of them is right and best. Name it by its number from 1 to {len(texts)} in a box, "
        r"\boxed{number}. Do not write a solution of your own."
    )
