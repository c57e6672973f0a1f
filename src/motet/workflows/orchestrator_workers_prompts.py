"""What orchestrator, workers and synthesizer are shown, in both dialects.

Values of `plan`: `task`, `num` (the most ways). Of `work`: `task`, `way`. Of `write`: `task`, `ways`, `works` (calls).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.tasks.answering import answer_form
from motet.types import Message
from motet.workflows.answering import transcript
from motet.workflows.answering_prompts import listed, problem, solve, user


def plan_chat(values: Mapping[str, Any]) -> list[Message]:
    num = values["num"]
    return user(
        f"{problem(values['task'])}\n\nDo not solve it. Propose at most {num} ways to solve it that differ in kind; "
        "each goes to a worker who solves the whole problem by it. One or two sentences for each, in this form:\n"
        "STRATEGY 1: the first way\nSTRATEGY 2: the second way"
    )


def plan_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS orchestrator`; the answer is `way ... way ...`."""
    return transcript(values["task"], (), "orchestrator")


def work_chat(values: Mapping[str, Any]) -> list[Message]:
    way = values["way"]
    how = f"Solve the whole problem by this strategy, step by step: {way}\n\n" if way else "Solve it step by step."
    return user(solve(values["task"], how.strip()))


def work_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS way WAY worker`."""
    return transcript(values["task"], [("way", values["way"])] if values["way"] else [], "worker")


def write_chat(values: Mapping[str, Any]) -> list[Message]:
    task = values["task"]
    works = listed([call.text for call in values["works"]], values["ways"])
    return user(
        f"{problem(task)}\n\nWorkers solved it by different strategies:\n\n{works}\n\nCompare them, settle where they "
        f"differ, and write the final solution. {answer_form(task)}"
    )


def write_compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS (way WAY worker SAID)* synthesizer`."""
    heard = [pair for way, call in zip(values["ways"], values["works"]) for pair in (("way", way), ("worker", call))]
    return transcript(values["task"], heard, "synthesizer")


PROMPTS = {
    "plan": {"chat": plan_chat, "compact": plan_compact},
    "work": {"chat": work_chat, "compact": work_compact},
    "write": {"chat": write_chat, "compact": write_compact},
}
