"""Planner and executor: each turn one proposes a walk, the other sees the proposal and moves."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError
from motet.tasks.plan_path import PlanPathTask, State
from motet.tasks.plan_path_moves import Moves, parse_moves
from motet.tasks.plan_path_rewards import judge_plan, judge_walk
from motet.types import Episode, Outcome, Prompt
from motet.workflows.base import Workflow
from motet.workflows.planner_executor_prompts import PROMPTS

View = Literal["full", "stale_map"]


class PlannerExecutor(Workflow):
    """Plan-Path by two roles.

    `view`: "full", both see everything; "stale_map", the planner sees an out-of-date map (and the walls bumped into so
    far) and the goal, the executor the true walls and no goal. `solo`: "planner" walks its proposals as they stand,
    "executor" gets empty proposals. `plans` replaces what the planner says, by (task id, turn): see `shuffled_plans`.
    `follow` is the weight of following the plan in the executor's local reward.
    """

    roles: ClassVar[Mapping[str, int]] = {"planner": 1, "executor": 1}
    prompts = PROMPTS
    needs = (PlanPathTask,)
    view: View = "full"
    solo: Literal["planner", "executor"] | None = None
    plans: Mapping[tuple[str, int], str] | None = None
    follow: float = 0.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, known in {"view": ("full", "stale_map"), "solo": ("planner", "executor", None)}.items():
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name} is {getattr(self, name)!r}", where={"workflow": "planner_executor"}, fix=f"one of {known}"
                )

    async def run(self, task: PlanPathTask, cast: Any) -> Outcome:
        state = task.start()
        for turn in range(task.max_turns):
            plan = await self._plan(state, turn, cast)
            if self.solo == "planner":
                state = state.after(plan)
            else:
                score = partial(judge_walk, state, plan=plan, follow=self.follow)
                call = await cast.executor.act(
                    Prompt("execute", **self.sees("executor", state), plan=plan), score=score
                )
                state = state.after(call.notes)
            if state.is_over:
                break
        return Outcome(state.at_goal, state.progress, {"moves": task.max_moves - state.moves_left})

    async def _plan(self, state: State, turn: int, cast: Any) -> Moves:
        if self.solo == "executor":
            return Moves()
        if self.plans is not None:
            return parse_moves(self.plans[state.task.id, turn])
        seen = self.sees("planner", state)
        call = await cast.planner.act(Prompt("propose", **seen), score=partial(judge_plan, state, walls=seen["walls"]))
        return call.notes

    def sees(self, role: str, state: State) -> dict[str, Any]:
        """What `role` is shown of `state`: its walls, and the goal or None."""
        task = state.task
        if self.view == "full":
            return {"state": state, "walls": task.walls, "goal": task.goal}
        if role == "planner":
            return {"state": state, "walls": tuple(sorted({*task.map_walls, *state.bumps})), "goal": task.goal}
        return {"state": state, "walls": task.walls, "goal": None}


def shuffled_plans(episodes: Sequence[Episode], max_turns: int, seed: int = 0) -> dict[tuple[str, int], str]:
    """The setting `plans` that gives every task what the planner said in another task's episode, at the same turn.

    Tasks are put in a random ring and each takes from the next one, so no task keeps its own plans. An episode that
    ended earlier starts over at its first plan. Raises `ConfigError` with fewer than two tasks.
    """
    said = {e.task_id: [call.text for call in e.calls if call.key.role == "planner"] for e in episodes}
    said = {task_id: plans for task_id, plans in said.items() if plans}
    if len(said) < 2:
        raise ConfigError(f"plans of {len(said)} tasks cannot be shuffled", fix="evaluate on at least two tasks")
    ring = sorted(said)
    random.Random(seed).shuffle(ring)
    takes = dict(zip(ring, ring[1:] + ring[:1]))
    return {
        (task, turn): said[takes[task]][turn % len(said[takes[task]])] for task in ring for turn in range(max_turns)
    }
