"""One role alone, several turns: the baseline that a team has to beat."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from motet.tasks.answering import assess
from motet.tasks.base import Answerable
from motet.tasks.games import Game
from motet.types import Outcome, Prompt
from motet.workflows.answering import check_count, outcome, settle_by_fate
from motet.workflows.base import Workflow
from motet.workflows.planner_executor_prompts import chat, compact
from motet.workflows.single_prompts import ANSWER


class Single(Workflow):
    """A game by one role, at the team's budget of turns and moves; or a problem by one role, in `turns` answers, of
    which the last one counts: it ends early where the role stays with its answer.

    `called` is the word by which the compact prompt calls the role: a model trained as `planner` knows no other.
    """

    roles: ClassVar[Mapping[str, int]] = {"solver": 1}
    prompts: ClassVar[Mapping[str, Any]] = {
        "solve": {
            "compact": lambda values: compact(values["called"], values),
            "chat": lambda values: chat("solver", values),
        },
        "answer": ANSWER,
    }
    called: str = "solver"
    turns: int = 1

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("single", "turns", self.turns, 1)

    def fits(self, task: Any) -> str | None:
        if isinstance(task, (Game, Answerable)):
            return None
        return f"Single plays tasks that are Game or Answerable; {type(task).__name__} is neither"

    def max_calls(self, task: Any) -> int:
        return int(task.max_turns) if isinstance(task, Game) else self.turns

    async def run(self, task: Any, cast: Any) -> Outcome:
        return await (self._play(task, cast) if isinstance(task, Game) else self._answer(task, cast))

    async def _answer(self, task: Answerable, cast: Any) -> Outcome:
        """Answers, each with the earlier ones before it."""
        answers: list[Any] = []
        for _ in range(self.turns):
            prompt = Prompt("answer", task=task, talk=tuple(answers), called=self.called)
            answers.append(await cast.solver.act(prompt, read=partial(assess, task)))
            said = [call.notes["answer"] for call in answers[-2:]]
            if len(said) == 2 and said[0] is not None and said[0] == said[1]:
                break
        final = answers[-1].notes["worth"]
        for call in answers:
            settle_by_fate(call, final)
        return outcome(final, answers=len(answers), first_right=answers[0].notes["worth"])

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
