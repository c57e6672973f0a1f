"""Orchestrator and workers: strategies, whole solutions side by side, and one who writes the answer from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from motet.tasks.answering import answer_reward, assess
from motet.tasks.base import Answerable
from motet.types import Outcome, Prompt, Reward
from motet.workflows.answering import check_count, notes_of, outcome, settle_by_choice
from motet.workflows.base import Workflow
from motet.workflows.orchestrator_workers_prompts import PROMPTS
from motet.workflows.strategies import estimated_worth, plan_form, read_strategies


class OrchestratorWorkers(Workflow):
    """The orchestrator proposes at most `workers` strategies; each goes to a worker, who solves the whole problem by
    it; the synthesizer sees all strategies and solutions and writes the answer that counts.
    """

    roles: ClassVar[Mapping[str, int]] = {"orchestrator": 1, "worker": 3, "synthesizer": 1}
    prompts: ClassVar[Mapping[str, Any]] = PROMPTS
    needs = (Answerable,)
    workers: int = 3

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("orchestrator_workers", "workers", self.workers, 1)
        vars(self)["roles"] = {**type(self).roles, "worker": self.workers}

    async def run(self, task: Any, cast: Any) -> Outcome:
        plan = await cast.orchestrator.act(Prompt("plan", task=task, num=self.workers))
        ways = read_strategies(plan.text, self.workers).ways
        works = await cast.gather(
            *(
                cast.worker[slot].act(Prompt("work", task=task, way=way), read=partial(assess, task))
                for slot, way in enumerate(ways)
            )
        )
        prompt = Prompt("write", task=task, ways=ways, works=works)
        final = await cast.synthesizer.act(prompt, read=partial(assess, task), score=answer_reward)
        worth = final.notes["worth"]
        counts = times_taken(notes_of(final), [work.notes["answer"] for work in works])
        worths = [work.notes["worth"] for work in works]
        for slot, work in enumerate(works):
            settle_by_choice(work, slot, worths, counts)
        self._settle_plan(plan, ways, works, worth)
        return outcome(worth, strategies=len(ways), any_right=max(worths))

    def _settle_plan(self, plan: Any, ways: Sequence[str], works: Sequence[Any], final: float) -> None:
        """local: `plan_form`. team: `estimated_worth` by the mean worth of each worker's candidates; with one candidate
        `final`."""
        means = [sum(notes["worth"] for notes in notes_of(work)) / len(notes_of(work)) for work in works]
        read = [read_strategies(candidate.text, self.workers) for candidate in plan.record.candidates]
        teams = [estimated_worth(one.ways, ways, means) for one in read] if len(read) > 1 else [final]
        rewards = [Reward(team=team, local=plan_form(one, self.workers)) for team, one in zip(teams, read)]
        plan.settle(rewards, estimate=True)

    def max_calls(self, task: Any) -> int:
        return sum(self.roles.values())


def times_taken(finals: Sequence[Mapping[str, Any]], answers: Sequence[str | None]) -> list[float]:
    """How often each of `answers` is the one that a final solution gives; of several alike each gets its part.

    >>> times_taken([{"answer": "7"}, {"answer": "8"}, {"answer": None}], ["7", "7", "8"])
    [0.5, 0.5, 1.0]
    """
    said = [notes["answer"] for notes in finals if notes["answer"] is not None]
    return [said.count(answer) / answers.count(answer) for answer in answers]
