"""Planner and executor: each turn one proposes a walk, the other sees the proposal and moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError
from motet.tasks.plan_path import PlanPathTask, State
from motet.tasks.plan_path_moves import parse_moves
from motet.tasks.plan_path_rewards import judge_plan, judge_walk
from motet.types import Outcome, Prompt
from motet.workflows.base import Workflow
from motet.workflows.planner_executor_prompts import PROMPTS


class PlannerExecutor(Workflow):
    """Plan-Path by two roles. The next turn starts where the executor stands.

    `view`: "full", both see everything; "stale_map", the planner sees the out-of-date map and the goal, the executor
    the true walls and no goal. `follow` is the weight of following the proposal in
    the executor's local reward.
    """

    roles: ClassVar[Mapping[str, int]] = {"planner": 1, "executor": 1}
    prompts = PROMPTS
    needs = (PlanPathTask,)
    view: Literal["full", "stale_map"] = "full"
    follow: float = 0.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.view not in ("full", "stale_map"):
            where: dict[str, object] = {"workflow": "planner_executor"}
            raise ConfigError(f"view is {self.view!r}", where=where, fix="set view to full or stale_map")
        if not 0.0 <= self.follow <= 1.0:
            raise ConfigError(f"follow is {self.follow!r}", fix="set follow between 0 and 1")

    async def run(self, task: PlanPathTask, cast: Any) -> Outcome:
        state = task.start()
        for _ in range(task.max_turns):
            seen = self.sees("planner", state)
            call = await cast.planner.act(
                Prompt("propose", **seen), score=partial(judge_plan, state, walls=seen["walls"])
            )
            plan = parse_moves(call.text)
            seen = self.sees("executor", state)
            call = await cast.executor.act(
                Prompt("execute", **seen, plan=plan), score=partial(judge_walk, state, plan=plan, follow=self.follow)
            )
            state = state.after(parse_moves(call.text))
            if state.is_over:
                break
        return Outcome(state.at_goal, state.progress, {"moves": task.max_moves - state.moves_left})

    def max_calls(self, task: PlanPathTask) -> int:
        return 2 * task.max_turns

    def sees(self, role: str, state: State) -> dict[str, Any]:
        """What `role` is shown of `state`: the cells it takes for walls, and the goal or None."""
        task = state.task
        if self.view == "full":
            return {"state": state, "walls": task.walls, "goal": task.goal}
        if role == "planner":
            return {"state": state, "walls": task.map_walls, "goal": task.goal}
        return {"state": state, "walls": task.walls, "goal": None}
