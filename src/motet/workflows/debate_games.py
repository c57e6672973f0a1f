"""Debate over a game: every turn debaters propose moves, read one another and propose again; a judge moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from motet.tasks.games import Game
from motet.types import Message, Outcome, Prompt
from motet.workflows import planner_executor_prompts as plain

ARGUE = (
    "You are debater {number} of {num}. Propose the next moves {shown.aim} to the judge, who {shown.does}. "
    "Check the other proposals against {shown.board} and keep yours only where it is better."
)
JUDGE = "You are the judge. Check the proposals against {shown.board}, then make the next moves {shown.aim}."


async def play(task: Game, cast: Any, debaters: int, rounds: int) -> Outcome:
    """One episode. In each of `rounds` all debaters speak side by side; from the second on each has read the last
    proposals of all. The judge sees the last proposals and makes the moves; the next turn starts where it stands.

    A proposal is worth what it would bring if it were made as it stands.
    """
    position = task.start()
    for _ in range(task.max_turns):
        plans = [position.read("")] * debaters
        for _ in range(rounds):
            seen = {"position": position, "part": "plan", "view": "full", "plans": tuple(plans)}
            calls = await cast.gather(*(
                seat.act(Prompt("propose", **seen, slot=slot), score=partial(position.judge, part="plan"))
                for slot, seat in enumerate(cast.debater)
            ))  # fmt: skip
            plans = [position.read(call.text) for call in calls]
        seen = {"position": position, "part": "move", "view": "full", "plans": tuple(plans)}
        call = await cast.judge.act(Prompt("move", **seen), score=partial(position.judge, part="move"))
        position = position.after(position.read(call.text))
        if position.is_over:
            break
    return Outcome(position.at_goal, position.progress, {"moves": position.num_moves})


def max_calls(task: Game, debaters: int, rounds: int) -> int:
    """The most calls that an episode can have."""
    return task.max_turns * (debaters * rounds + 1)


def compact(role: str, values: Mapping[str, Any]) -> str:
    """`STABLE role NOW PROPOSALS HERE`: a debater's own proposal comes last; in the first round all are blank."""
    shown = plain.shown_in("compact", values)
    told = [values["position"].tell(plan, "compact") for plan in values["plans"]]
    if "slot" in values:
        told.append(told.pop(values["slot"]))
    return " ".join(words for words in (shown.stable, role, shown.now, *told, shown.here) if words)


def chat(role: str, values: Mapping[str, Any]) -> list[Message]:
    """The rules; then the board, the proposals, what this role does, and the output format."""
    shown, plans = plain.shown_in("chat", values), values["plans"]
    lines = [shown.now]
    for number, plan in enumerate(plans, 1):
        name = "You proposed" if number - 1 == values.get("slot") else f"Debater {number} proposes"
        if plan != values["position"].read(""):
            lines.append(f"{name} {values['position'].tell(plan, 'chat')}.")
    ask = ARGUE if role == "debater" else JUDGE
    ask = ask.format(number=values.get("slot", 0) + 1, num=len(plans), shown=shown)
    return [Message("system", shown.stable), Message("user", "\n".join([*lines, "", ask, shown.answer_form]))]


def _dialects(role: str) -> dict[str, Any]:
    return {"compact": lambda values: compact(role, values), "chat": lambda values: chat(role, values)}


PROMPTS = {"propose": _dialects("debater"), "move": _dialects("judge")}
"""Their names are those of no prompt of `workflows/debate_prompts.py`."""
