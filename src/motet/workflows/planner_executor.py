"""Planner and executor: each turn one proposes moves, the other sees the proposal and moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError
from motet.tasks.games import Game
from motet.types import Outcome, Prompt
from motet.workflows.base import Workflow
from motet.workflows.planner_executor_prompts import PROMPTS


class PlannerExecutor(Workflow):
    """Any game by two roles. The next turn starts where the executor stands.

    `view`: "full", both see everything; "stale_map" (Plan-Path), the planner sees the out-of-date map and the goal, the
    executor the true walls and no goal. `follow` is the weight of following the proposal in the executor's local
    reward.
    """

    roles: ClassVar[Mapping[str, int]] = {"planner": 1, "executor": 1}
    prompts = PROMPTS
    needs = (Game,)
    view: Literal["full", "stale_map"] = "full"
    follow: float = 0.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.view not in ("full", "stale_map"):
            where: dict[str, object] = {"workflow": "planner_executor"}
            raise ConfigError(f"view is {self.view!r}", where=where, fix="set view to full or stale_map")
        if not 0.0 <= self.follow <= 1.0:
            raise ConfigError(f"follow is {self.follow!r}", fix="set follow between 0 and 1")

    async def run(self, task: Game, cast: Any) -> Outcome:
        position = task.start()
        for _ in range(task.max_turns):
            seen: dict[str, Any] = {"part": "plan", "view": self.view}
            call = await cast.planner.act(
                Prompt("propose", position=position, **seen), score=partial(position.judge, **seen)
            )
            seen = {"part": "move", "view": self.view, "plan": position.read(call.text)}
            call = await cast.executor.act(
                Prompt("execute", position=position, **seen), score=partial(position.judge, **seen, follow=self.follow)
            )
            position = position.after(position.read(call.text))
            if position.is_over:
                break
        return Outcome(position.at_goal, position.progress, {"moves": position.num_moves})

    def max_calls(self, task: Game) -> int:
        return 2 * task.max_turns

    def fits(self, task: Any) -> str | None:
        """None, or why not: no game, or a game without this view."""
        reason = super().fits(task)
        if reason is None and self.view not in task.views:
            return f"{type(task).__name__} has no view {self.view!r}; it has {', '.join(task.views)}"
        return reason
