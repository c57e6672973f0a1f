"""One role alone, several turns: the baseline that a team has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from motet.tasks.plan_path import PlanPathTask
from motet.tasks.plan_path_moves import parse_moves
from motet.tasks.plan_path_rewards import judge_walk
from motet.types import Outcome, Prompt
from motet.workflows.base import Workflow
from motet.workflows.planner_executor_prompts import chat, compact


class Single(Workflow):
    """Plan-Path by one role, at the team's budget of turns and moves.

    `called` is the word by which the compact prompt calls the role: a model trained as `planner` knows no other.
    """

    roles: ClassVar[Mapping[str, int]] = {"solver": 1}
    prompts: ClassVar[Mapping[str, Any]] = {
        "solve": {
            "compact": lambda values: compact(values["called"], values),
            "chat": lambda values: chat("solver", values),
        }
    }
    needs = (PlanPathTask,)
    called: str = "solver"

    def max_calls(self, task: PlanPathTask) -> int:
        return task.max_turns

    async def run(self, task: PlanPathTask, cast: Any) -> Outcome:
        state = task.start()
        for _ in range(task.max_turns):
            prompt = Prompt("solve", state=state, walls=task.walls, goal=task.goal, called=self.called)
            call = await cast.solver.act(prompt, score=partial(judge_walk, state))
            state = state.after(parse_moves(call.text))
            if state.is_over:
                break
        return Outcome(state.at_goal, state.progress, {"moves": task.max_moves - state.moves_left})
