"""One role alone, several turns: the baseline that a team has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from motet.tasks.games import Game
from motet.types import Outcome, Prompt
from motet.workflows.base import Workflow
from motet.workflows.planner_executor_prompts import chat, compact


class Single(Workflow):
    """A game by one role, at the team's budget of turns and moves.

    `called` is the word by which the compact prompt calls the role: a model trained as `planner` knows no other.
    """

    roles: ClassVar[Mapping[str, int]] = {"solver": 1}
    prompts: ClassVar[Mapping[str, Any]] = {
        "solve": {
            "compact": lambda values: compact(values["called"], values),
            "chat": lambda values: chat("solver", values),
        }
    }
    needs = (Game,)
    called: str = "solver"

    def max_calls(self, task: Any) -> int:
        return int(task.max_turns)

    async def run(self, task: Any, cast: Any) -> Outcome:
        return await self._play(task, cast)

    async def _play(self, task: Game, cast: Any) -> Outcome:
        """Moves until the game is over or the turns are."""
        position = task.start()
        for _ in range(task.max_turns):
            prompt = Prompt("solve", position=position, part="move", view="full", called=self.called)
            call = await cast.solver.act(prompt, score=partial(position.judge, part="move"))
            position = position.after(position.read(call.text))
            if position.is_over:
                break
        return Outcome(position.at_goal, position.progress, {"moves": position.num_moves})
