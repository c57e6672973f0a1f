"""A game with known values: the planner sees a secret digit, the executor only what the planner says and must repeat.

`planner` reads the secret, `executor` the plan; both `@base` policies say "0", which is nobody's secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.evaluate.final import Side
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.settings import RolloutSettings
from motet.types import Outcome, Reward
from motet.workflows.base import Workflow


@dataclass(frozen=True)
class Secret:
    id: str
    digit: str


class Relay(Workflow):
    roles = {"planner": 1, "executor": 1}
    rounds: int = 2

    async def run(self, task: Any, cast: Any) -> Outcome:
        def judge(text: str) -> Reward:
            return Reward(team=float(text == task.digit), notes=text)

        move = None
        for _ in range(self.rounds):
            plan = await cast.planner.act(f"secret {task.digit}", score=judge)
            move = await cast.executor.act(f"plan {plan.text}", score=judge)
            if move.notes == task.digit:
                break
        return Outcome(move.notes == task.digit, float(move.notes == task.digit))


def reply(policy: str, prompt: str, index: int, uniform: float) -> str:
    if policy.endswith("@base"):
        return "0"
    word = {"planner": "secret ", "executor": "plan "}[policy]
    return prompt.removeprefix(word) if prompt.startswith(word) else ""


def make_cast(suffix: str = "") -> Cast:
    specs = {role: PolicySpec(role + suffix, engine="scripted") for role in Relay.roles}
    return Cast.explicit(Relay.roles, specs.values(), {role: spec.name for role, spec in specs.items()})


@pytest.fixture
def casts() -> dict[str, Cast]:
    return {"base": make_cast("@base"), "final": make_cast()}


@pytest.fixture
def side() -> Side:
    tasks = [("secrets", Secret(f"t{digit}", digit), 0) for digit in "1234"]
    return Side(Relay(), tasks, {"scripted": ScriptedEngine(reply)}, RolloutSettings())
