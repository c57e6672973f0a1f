"""Tree sampling: K candidates of one observation, one goes on."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import MotetError, RewardError, WorkflowError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.runner import RolloutSettings, run_batch
from motet.types import Outcome, Reward, Sampling


@dataclass(frozen=True)
class Target:
    id: str
    goal: int = 7


class Digits:
    """Planner and executor each say a digit; the state is the list of what was said."""

    roles = {"planner": 1, "executor": 1}
    prompts: dict = {}

    async def run(self, task, cast):
        said: list[int] = []
        for _ in range(2):
            plan = await cast.planner.act(f"P {said}", score=lambda text: Reward(team=int(text) / 10, notes=int(text)))
            said = [*said, plan.notes]
            move = await cast.executor.act(
                f"E {said}", score=lambda text: Reward(local=1 - abs(int(text) - 5) / 10, notes=int(text))
            )
            said = [*said, move.notes]
        return Outcome(success=said[-1] == 5, team=said[0] / 10, metrics={"sum": float(sum(said))})


def digit(policy, prompt, index, uniform):
    return str(int(uniform * 10))


def run(workflow=None, reply=digit, tasks=None, phase="train", cast=None, engine=None, seed=0, **settings):
    workflow = workflow or Digits()
    engine = engine or ScriptedEngine(reply)
    return run_batch(
        workflow,
        tasks or [("toy", Target("t-0"), 0)],
        cast or Cast.per_role(workflow.roles, PolicySpec("base")),
        {"local": engine},
        RolloutSettings(**{"width": 4, **settings}),
        phase=phase,
        ticket=3,
        seed=seed,
        split="train",
    )


def test_four_calls_of_four_candidates_each_choosing_the_best():
    (episode,) = run()
    assert [str(call.key) for call in episode.calls] == [
        "planner[0] turn 0",
        "executor[0] turn 0",
        "planner[0] turn 1",
        "executor[0] turn 1",
    ]
    for call in episode.calls:
        digits = [int(candidate.text) for candidate in call.candidates]
        best = max(digits) if call.key.role == "planner" else min(digits, key=lambda d: abs(d - 5))
        assert int(call.text) == best
        assert call.chosen == next(i for i, d in enumerate(digits) if abs(d - 5) == abs(best - 5)) or best == max(digits)
