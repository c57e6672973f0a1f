"""What debaters and judge of a problem with one answer are shown, in both dialects.

Values of `argue`: `task`, `own` (the debater's last call, None at first) and `others` (their last calls). Of `judge`:
`task` and `votes`, the last call of every debater.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.tasks.answering import answer_form
from motet.types import Message
from motet.workflows.answering import transcript
from motet.workflows.answering_prompts import listed, select, solve, user


def argue_chat(values: Mapping[str, Any]) -> list[Message]:
    task, own = values["task"], values["own"]
    opening = Message("user", solve(task))
    if own is None:
        return [opening]
    others = listed([call.text for call in values["others"]])
    ask = (
        f"Others solved the same problem:\n\n{others}\n\nWhere they differ from you, find out who is mistaken, "
        f"and say why. Then give your answer, the old one or a better one. {answer_form(task)}"
    )
    return [opening, Message("assistant", own), Message("user", ask)]


def argue_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS debater`, later `WORDS (said OTHER)* debater OWN debater`."""
    own = values["own"]
    heard = [] if own is None else [*(("said", call) for call in values["others"]), ("debater", own)]
    return transcript(values["task"], heard, "debater")


def judge_chat(values: Mapping[str, Any]) -> list[Message]:
    texts = [vote.text for vote in values["votes"]]
    return user(select({"task": values["task"], "texts": texts}, who="After a debate, the debaters"))


def judge_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS (debater SAID)* judge`."""
    return transcript(values["task"], [("debater", vote) for vote in values["votes"]], "judge")


PROMPTS = {
    "argue": {"chat": argue_chat, "compact": argue_compact},
    "judge": {"chat": judge_chat, "compact": judge_compact},
}
