"""What planner and executor are told, in both dialects, of whatever game they play.

Values: `position`, `part` and `view` (what of the game this role sees) and, for the executor, `plan` (the moves that
were proposed). The game words itself (`Position.show`); what is stable over an episode comes first, so that prompts
share prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.tasks.games import Shown
from motet.types import Message

ASKS = {
    "planner": "You are the planner. Propose the next moves to the executor, who {shown.does}.",
    "executor": "You are the executor. Check the proposal against {shown.board}, then make the next moves.",
    "solver": "Make the next moves {shown.aim}.",
}


def compact(called: str, values: Mapping[str, Any]) -> str:
    """`STABLE role NOW [PLAN] HERE`: the answer goes on from the last word."""
    shown = shown_in("compact", values)
    plan = values["position"].tell(values["plan"], "compact") if "plan" in values else ""
    return " ".join(words for words in (shown.stable, called, shown.now, plan, shown.here) if words)


def chat(role: str, values: Mapping[str, Any]) -> list[Message]:
    """The rules; then the board with its facts, the proposal, what this role does, and the output format."""
    shown = shown_in("chat", values)
    lines = [shown.now]
    if "plan" in values:
        lines.append(f"The planner proposes {values['position'].tell(values['plan'], 'chat')}.")
    lines += ["", ASKS[role].format(shown=shown), shown.answer_form]
    return [Message("system", shown.stable), Message("user", "\n".join(lines))]


def shown_in(dialect: Any, values: Mapping[str, Any]) -> Shown:
    """What the game shows to the role of these values."""
    shown: Shown = values["position"].show(dialect, part=values["part"], view=values["view"])
    return shown


def dialects(role: str) -> dict[str, Any]:
    return {"compact": lambda values: compact(role, values), "chat": lambda values: chat(role, values)}


PROMPTS = {"propose": dialects("planner"), "execute": dialects("executor")}
