"""Voting: several voters answer side by side; an aggregator, or their majority, says which answer counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from motet.tasks.answering import assess
from motet.tasks.base import Answerable
from motet.types import Outcome, Prompt
from motet.workflows.answering import (
    Notes,
    check_count,
    judge_choice,
    majority,
    outcome,
    read_choice,
    settle_answers,
    settle_by_choice,
    times_chosen,
)
from motet.workflows.base import Workflow
from motet.workflows.voting_prompts import PROMPTS


class Voting(Workflow):
    """`voters` answer the problem, the aggregator names one of the answers by its number, and that one counts.

    `prompt_each`: each voter has a prompt of its own, with its number; else all answer the very same prompt.
    """

    roles: ClassVar[Mapping[str, int]] = {"voter": 3, "aggregator": 1}
    prompts: ClassVar[Mapping[str, Any]] = PROMPTS
    needs = (Answerable,)
    voters: int = 3
    prompt_each: bool = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("voting", "voters", self.voters, 2)
        vars(self)["roles"] = {**type(self).roles, "voter": self.voters}

    async def run(self, task: Any, cast: Any) -> Outcome:
        votes = await cast.gather(
            *(voter.act(self._asked(task, slot), read=partial(assess, task)) for slot, voter in enumerate(cast.voter))
        )
        worths = [vote.notes["worth"] for vote in votes]
        index = await self.settled(task, cast, votes, worths)
        return outcome(worths[index], voters_right=sum(worths) / len(worths), any_right=max(worths))

    def _asked(self, task: Any, slot: int) -> Prompt:
        return Prompt("vote", task=task, number=slot + 1 if self.prompt_each else 0, num=self.voters)

    async def settled(self, task: Any, cast: Any, votes: Sequence[Any], worths: Sequence[float]) -> int:
        """Ask which answer counts, settle the voters, return its index."""
        prompt = Prompt("select", task=task, votes=votes)
        choice = await cast.aggregator.act(prompt, score=partial(judge_choice, worths))
        counts = times_chosen(choice, len(votes))
        for slot, vote in enumerate(votes):
            settle_by_choice(vote, slot, worths, counts)
        return read_choice(choice.text, len(votes)).picked

    def max_calls(self, task: Any) -> int:
        return sum(self.roles.values())


class VotingMajority(Voting):
    """Voting without an aggregator: the most frequent answer counts, of several as frequent the first."""

    roles: ClassVar[Mapping[str, int]] = {"voter": 3}

    async def settled(self, task: Any, cast: Any, votes: Sequence[Any], worths: Sequence[float]) -> int:
        answers = [vote.notes["answer"] for vote in votes]
        for slot, vote in enumerate(votes):
            settle_answers(vote, partial(_worth_with, slot, answers, worths), estimate=False)
        return majority(answers)


def _worth_with(slot: int, answers: Sequence[str | None], worths: Sequence[float], notes: Notes) -> float:
    """The worth of the majority's answer, had `slot` said this."""
    said = [notes["answer"] if place == slot else answer for place, answer in enumerate(answers)]
    return float([notes["worth"] if place == slot else worth for place, worth in enumerate(worths)][majority(said)])
