"""What voters and aggregator are shown, in both dialects.

Values of `vote`: `task`, and `number` (from 1 where each voter has a prompt of its own, else 0) of `num` voters.
Values of `select`: `task` and `votes`, the calls of the voters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.types import Message
from motet.workflows.answering import transcript
from motet.workflows.answering_prompts import select, solve, user


def vote_chat(values: Mapping[str, Any]) -> list[Message]:
    if not values["number"]:
        return user(solve(values["task"]))
    how = (
        f"You are solver {values['number']} of {values['num']}, and each solves the problem alone. "
        "Take a way of your own, step by step."
    )
    return user(solve(values["task"], how))


def vote_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS voter`, or `WORDS i voter`."""
    return transcript(values["task"], (), f"{values['number']} voter" if values["number"] else "voter")


def select_chat(values: Mapping[str, Any]) -> list[Message]:
    texts = [vote.text for vote in values["votes"]]
    return user(select({"task": values["task"], "texts": texts}, who="Several solvers"))


def select_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS voter SAID voter SAID aggregator`."""
    return transcript(values["task"], [("voter", vote) for vote in values["votes"]], "aggregator")


PROMPTS = {
    "vote": {"chat": vote_chat, "compact": vote_compact},
    "select": {"chat": select_chat, "compact": select_compact},
}
