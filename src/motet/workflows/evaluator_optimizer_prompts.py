"""What generator and evaluator are shown, in both dialects: one conversation that both of them see.

Values: `task` and `talk`, the calls so far, answers and verdicts in turn. A chat holds each of them as an assistant's
message, so that both roles share the prefix and a reader with the same tokenizer gets the ids that were sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.tasks.answering import answer_form
from motet.types import Message
from motet.workflows.answering import transcript
from motet.workflows.answering_prompts import solve

REVIEW = (
    "Now be the reviewer of the solution above. Check every step of it. If its answer is not right, say in one or two "
    "sentences what went wrong, and do not tell the right answer. End with your verdict alone in a box, "
    r"\boxed{verdict}, where the verdict is Correct or Incorrect."
)
"""Says no verdict itself: a reviewer that repeats what it was told has given none."""
REVISE = (
    "The review above was not content with that solution. Solve the problem again with its remarks in mind, "
    "and take another way than before."
)


def chat(values: Mapping[str, Any]) -> list[Message]:
    task = values["task"]
    messages = [Message("user", solve(task))]
    for place, call in enumerate(values["talk"]):
        is_answer = place % 2 == 0
        asked = REVIEW if is_answer else f"{REVISE} {answer_form(task)}"
        messages += [Message("assistant", call), Message("user", asked)]
    return messages


def compact(values: Mapping[str, Any]) -> list[Message]:
    """`WORDS (generator SAID evaluator VERDICT)* generator`, or `... generator SAID evaluator`."""
    names, talk = ("generator", "evaluator"), values["talk"]
    heard = [(names[place % 2], call) for place, call in enumerate(talk)]
    return transcript(values["task"], heard, names[len(talk) % 2])


PROMPTS = {name: {"chat": chat, "compact": compact} for name in ("generate", "evaluate")}
