"""Debate: debaters answer, read one another and answer again; a judge names the one whose answer counts, or moves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from motet.tasks.answering import assess
from motet.tasks.base import Answerable
from motet.tasks.games import Game
from motet.types import Outcome, Prompt
from motet.workflows import debate_games
from motet.workflows.answering import (
    check_count,
    judge_choice,
    outcome,
    read_choice,
    settle_by_choice,
    times_chosen,
)
from motet.workflows.base import Workflow
from motet.workflows.debate_prompts import PROMPTS


class Debate(Workflow):
    """In each of `rounds` all `debaters` speak side by side; from the second on each has read the last answers of the
    others and its own. The judge sees the last answers alone and names one by its number. Of a game the judge makes the
    moves, after such rounds in every turn.
    """

    roles: ClassVar[Mapping[str, int]] = {"debater": 2, "judge": 1}
    prompts: ClassVar[Mapping[str, Any]] = {**PROMPTS, **debate_games.PROMPTS}
    debaters: int = 2
    rounds: int = 2

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("debate", "debaters", self.debaters, 2)
        check_count("debate", "rounds", self.rounds, 1)
        vars(self)["roles"] = {**type(self).roles, "debater": self.debaters}

    def fits(self, task: Any) -> str | None:
        if isinstance(task, (Game, Answerable)):
            return None
        return f"Debate plays tasks that are Game or Answerable; {type(task).__name__} is neither"

    async def run(self, task: Any, cast: Any) -> Outcome:
        if isinstance(task, Game):
            return await debate_games.play(task, cast, self.debaters, self.rounds)
        return await self._answer(task, cast)

    async def _answer(self, task: Answerable, cast: Any) -> Outcome:
        spoken: list[list[Any]] = []
        for _ in range(self.rounds):
            last = spoken[-1] if spoken else [None] * self.debaters
            acts = (seat.act(self._asked(task, last, slot), read=partial(assess, task))
                    for slot, seat in enumerate(cast.debater))  # fmt: skip
            spoken.append(await cast.gather(*acts))
        votes = spoken[-1]
        worths = [vote.notes["worth"] for vote in votes]
        verdict = await cast.judge.act(Prompt("judge", task=task, votes=votes), score=partial(judge_choice, worths))
        counts = times_chosen(verdict, len(votes))
        for said in spoken:
            for slot, call in enumerate(said):
                settle_by_choice(call, slot, worths, counts)
        chosen = worths[read_choice(verdict.text, len(votes)).picked]
        first = [call.notes["worth"] for call in spoken[0]]
        return outcome(chosen, first_right=sum(first) / len(first), last_right=sum(worths) / len(worths))

    def _asked(self, task: Any, last: list[Any], slot: int) -> Prompt:
        others = [call for place, call in enumerate(last) if place != slot]
        return Prompt("argue", task=task, own=last[slot], others=others)

    def max_calls(self, task: Any) -> int:
        if isinstance(task, Game):
            return debate_games.max_calls(task, self.debaters, self.rounds)
        return self.rounds * self.debaters + 1
