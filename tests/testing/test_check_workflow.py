"""`check_workflow` passes sound workflows and names what is wrong with the others."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace

import pytest

from motet.errors import WorkflowError
from motet.tasks.plan_path import PlanPath
from motet.testing.check_workflow import check_workflow
from motet.types import Outcome, Prompt, Reward
from motet.workflows.base import Workflow
from motet.workflows.planner_executor import PlannerExecutor

TASK = SimpleNamespace(id="t-0")


def half(text):
    return Reward(local=0.5, notes=len(text))


class Sound(Workflow):
    roles = {"a": 1, "voter": 2}
    prompts = {"ask": {"chat": lambda v: v["x"], "compact": lambda v: v["x"].upper()}}

    async def run(self, task, cast):
        one = await cast.a.act(Prompt("ask", x="go"), score=half)
        hits = await cast.effect("search", lambda: [1, 2])
        votes = await cast.gather(*(voter.act(f"{hits} {one.notes}", score=half) for voter in cast.voter))
        return Outcome(True, 1.0 / (1 + len(votes)))


def test_a_sound_workflow_passes_every_check():
    assert check_workflow(Sound(), TASK) == ["fits", "dialects", "plays", "worth", "pure", "replay", "evaluation"]


def test_the_built_in_workflow_passes_on_its_task():
    task = PlanPath().task("train", 0)
    assert check_workflow(PlannerExecutor(), task, texts=["R R D", "U", "L D D R"])[-1] == "evaluation"


class Unscored(Sound):
    async def run(self, task, cast):
        await cast.gather(*(voter.act("x") for voter in cast.voter))
        await cast.a.act("x")
        return Outcome(True, 1.0)


def test_rules_that_need_no_score_are_checked_without_it():
    names = ["fits", "dialects", "plays", "pure", "replay", "evaluation"]
    assert check_workflow(Unscored(), TASK, rule="independent") == names
    assert check_workflow(Unscored(), TASK, rule="lookahead") == names


class Counts(Sound):
    counter = itertools.count()

    async def run(self, task, cast):
        await cast.gather(*(voter.act(f"{next(self.counter)}", score=half) for voter in cast.voter))
        await cast.a.act("x", score=half)
        return Outcome(True, 1.0)


class NoisyScore(Sound):
    async def run(self, task, cast):
        await cast.gather(*(voter.act("x", score=lambda text: Reward(local=random.random())) for voter in cast.voter))
        await cast.a.act("x", score=half)
        return Outcome(True, 1.0)


class HiddenEffect(Sound):
    """What it does outside `effect` shows in the outcome."""

    runs = itertools.count()

    async def run(self, task, cast):
        outcome = await super().run(task, cast)
        return Outcome(True, outcome.team, {"runs": float(next(self.runs))})


class Endless(Sound):
    async def run(self, task, cast):
        while True:
            await cast.a.act("x", score=half)


class Silent(Sound):
    async def run(self, task, cast):
        await cast.a.act("x", score=half)
        return Outcome(True, 1.0)


class Greedy(Sound):
    async def run(self, task, cast):
        await cast.gather(*(voter.act("x", score=half) for voter in cast.voter))
        await cast.a.act("x", score=lambda text: Reward(local=float(len(text))))
        return Outcome(True, 1.0)


class Picky(Sound):
    def fits(self, task):
        return "it plays something else"


class NoChat(Sound):
    prompts = {"ask": {"compact": lambda v: v["x"], "other": lambda v: v["x"]}}


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        (Unscored, r"worth: a trainable call was neither scored nor settled"),
        (Counts, r"pure: .*one at a time.*pure: .*the second time.*replay: the observation of voter"),
        (NoisyScore, r"pure: .*replay: the reward is"),
        (HiddenEffect, r"replay: the outcome is"),
        (Endless, r"more than 300 calls"),
        (Silent, r"plays: the role 'voter' never spoke"),
        (Greedy, r"local reward is .*role=a"),
        (Picky, r"fits: it plays something else"),
        (NoChat, r"dialects: the prompt 'ask' has no dialect 'chat'"),
    ],
)
def test_what_is_wrong_is_named(workflow, message):
    with pytest.raises(WorkflowError, match=message) as caught:
        check_workflow(workflow(), TASK, max_calls=300)
    assert caught.value.where["workflow"] == workflow.__name__
