"""A toy task and one function that plays a workflow on it with scripted replies."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.runner import RolloutSettings, run_batch


@dataclass(frozen=True)
class Toy:
    id: str
    goal: int = 7


def one_digit(policy, prompt, index, uniform):
    return str(int(uniform * 10))


@pytest.fixture
def digit():
    """A random digit by counter."""
    return one_digit


@pytest.fixture
def toys():
    """toys(n): n tasks, one copy each."""
    return lambda num: [("toy", Toy(f"t-{index}"), 0) for index in range(num)]


@pytest.fixture
def play(toys):
    """play(workflow, reply or engine, **settings): the episodes of a batch, width 4, ticket 3."""

    def run(workflow, reply=one_digit, *, tasks=None, phase="train", cast=None, seed=0, ticket=3, **settings):
        if not hasattr(workflow, "prompts"):
            workflow.prompts = {}
        engine = reply if isinstance(reply, ScriptedEngine) else ScriptedEngine(reply)
        return run_batch(
            workflow,
            toys(1) if tasks is None else tasks,
            cast or Cast.per_role(workflow.roles, PolicySpec("base")),
            {"local": engine},
            RolloutSettings(**{"width": 4, "alpha": 0.5, **settings}),
            phase=phase,
            ticket=ticket,
            seed=seed,
            split="train",
        )

    return run
