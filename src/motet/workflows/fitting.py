"""Which of the shipped workflows play a task, by what the task can do."""

from __future__ import annotations

from typing import Any

from motet.tasks.base import Answerable, Programmable
from motet.tasks.games import Game

GAMES = ("single", "planner_executor", "tool_planner", "debate")
ANSWERS = (
    "single",
    "reasoner_tool",
    "evaluator_optimizer",
    "voting",
    "voting_majority",
    "orchestrator_workers",
    "debate",
)
PROGRAMS = ("single", "coder_tester", "evaluator_optimizer", "voting", "orchestrator_workers")


def players(task: Any) -> tuple[str, ...]:
    """The names of the shipped workflows that are made for such a task; none for a task of another kind.

    >>> from motet.tasks.arithmetic import ArithmeticTask
    >>> players(ArithmeticTask("t", 37, "+", 45))[:2], players("text")
    (('single', 'reasoner_tool'), ())
    """
    if isinstance(task, Game):
        return GAMES
    if isinstance(task, Programmable):
        return PROGRAMS
    return ANSWERS if isinstance(task, Answerable) else ()


def who_plays(task: Any) -> str:
    """`; take single, ... or debate`, as the end of a refusal; "" where nobody does.

    >>> from motet.tasks.plan_path import PlanPath
    >>> who_plays(PlanPath().task("train", 0)), who_plays("text")
    ('; take single, planner_executor, tool_planner or debate', '')
    """
    names = players(task)
    return f"; take {', '.join(names[:-1])} or {names[-1]}" if names else ""
