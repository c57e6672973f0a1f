"""Evaluator and optimizer: one writes an answer, the other accepts it or sends it back, in one shared conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from motet.tasks.answering import assess
from motet.tasks.base import Answerable, Programmable
from motet.types import Outcome, Prompt, Reward
from motet.workflows.answering import check_count, notes_of, outcome, settle_by_fate
from motet.workflows.base import Workflow
from motet.workflows.evaluator_optimizer_prompts import PROMPTS

_BOXED = re.compile(r"\\boxed\s*\{\s*(?:\\text\s*\{\s*)?(correct|incorrect)\s*\}", re.IGNORECASE)
_WORDS = {"yes": True, "accept": True, "no": False, "reject": False}


def read_verdict(text: str) -> bool | None:
    r"""True for accepted, False for rejected, None where no verdict can be read, which counts as not accepted.

    The last `\boxed{Correct}` or `\boxed{Incorrect}` in any case of letters; without one, the first word of a text
    where it is one of the compact words yes, accept, no, reject.

    >>> [read_verdict(text) for text in (r"\boxed{correct}", r"Not \boxed{Correct} but \boxed{Incorrect}", "no 3 7")]
    [True, False, False]
    >>> [read_verdict(text) for text in ("yes", "Yes, right.", r"\boxed{7}", "")]
    [True, None, None, None]
    """
    boxed = _BOXED.findall(text)
    if boxed:
        return str(boxed[-1]).lower() == "correct"
    words = text.split()
    return _WORDS.get(words[0]) if words else None


class EvaluatorOptimizer(Workflow):
    """The generator answers, the evaluator says Correct or Incorrect; at Incorrect, and where its verdict cannot be
    read, the generator answers anew. It ends at Correct or after the rounds; the last answer counts.

    `max_rounds`: 0 takes 3, and 2 for a task that is solved by a program.
    """

    roles: ClassVar[Mapping[str, int]] = {"generator": 1, "evaluator": 1}
    prompts: ClassVar[Mapping[str, Any]] = PROMPTS
    needs = (Answerable,)
    max_rounds: int = 0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("evaluator_optimizer", "max_rounds", self.max_rounds, 0)

    def rounds(self, task: Any) -> int:
        """The most answers an episode on `task` can have."""
        return self.max_rounds or (2 if isinstance(task, Programmable) else 3)

    async def run(self, task: Any, cast: Any) -> Outcome:
        answers: list[Any] = []
        verdicts: list[Any] = []
        talk: tuple[Any, ...] = ()
        for _ in range(self.rounds(task)):
            answers.append(
                await cast.generator.act(Prompt("generate", task=task, talk=talk), read=partial(assess, task))
            )
            talk = (*talk, answers[-1])
            verdicts.append(await cast.evaluator.act(Prompt("evaluate", task=task, talk=talk)))
            talk = (*talk, verdicts[-1])
            if read_verdict(verdicts[-1].text):
                break
        final = answers[-1].notes["worth"]
        is_full = len(answers) == self.rounds(task)
        for place, (answer, verdict) in enumerate(zip(answers, verdicts)):
            settle_by_fate(answer, final)
            settle_verdict(verdict, answer, final, is_last=is_full and place == len(answers) - 1)
        return outcome(final, rounds=len(answers), accepted=float(bool(read_verdict(verdicts[-1].text))))

    def max_calls(self, task: Any) -> int:
        return 2 * self.rounds(task)


def settle_verdict(verdict: Any, answer: Any, final: float, *, is_last: bool) -> None:
    """Rewards of all candidates of a verdict on `answer`, whose episode ended with an answer worth `final`.

    local   1 where the verdict can be read and is true, else 0
    team    what the team gets by it:
            accepted        the worth of the answer, for the episode ends there
            not accepted    `final` where the episode did go on; else what another try can be expected to be worth,
                            the mean over all candidates of the answer's call
            last round      1 where it is true, else 0: no answer can follow, and what is left is whether the team knows
    """
    worth = answer.notes["worth"]
    tries = [notes["worth"] for notes in notes_of(answer)]
    went_on = not read_verdict(verdict.text)
    onward = final if went_on else sum(tries) / len(tries)
    rewards = [_judged(candidate.text, worth, onward, is_last) for candidate in verdict.record.candidates]
    verdict.settle(rewards, estimate=not is_last)


def _judged(text: str, worth: float, onward: float, is_last: bool) -> Reward:
    accepts = read_verdict(text)
    truth = float(accepts is not None and accepts == (worth == 1.0))
    team = truth if is_last else worth if accepts else onward
    return Reward(team=min(1.0, team), local=truth, notes={"accepts": accepts})
