"""One scripted episode of a workflow, by role: what each says is a list, taken in turn, or a function."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import pytest

from motet.credit.assign import rows
from motet.credit.settings import CreditSettings
from motet.engines.scripted import CharacterVoice, ScriptedEngine
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.runner import run_batch
from motet.rollout.settings import RolloutSettings
from motet.types import Sampling

LONG = {"train": Sampling(max_tokens=10_000), "eval": Sampling(max_tokens=10_000)}


class Script(ScriptedEngine):
    """`said[role]` is a list of what the role's calls say in order (a list of texts: one for each candidate), or
    fn(prompt, index) -> text. A call beyond the list says its last. `prompts[role]` collects what was shown."""

    def __init__(self, said, dialect):
        super().__init__(self._reply_for, voice=CharacterVoice(dialect))
        self.said, self.prompts = said, defaultdict(list)

    def _reply_for(self, role, prompt, index, uniform):
        if index == 0:
            self.prompts[role].append(prompt)
        said = self.said[role]
        if callable(said):
            return said(prompt, index)
        here = said[min(len(self.prompts[role]), len(said)) - 1]
        return here if isinstance(here, str) else here[index % len(here)]


@pytest.fixture
def staged():
    """staged(workflow, task, said, width=1, ...) -> episode, calls by (role, slot), prompts by role."""

    def stage(workflow, task, said, *, width=1, dialect="compact", phase="train", rule="tree", **settings):
        engine = Script(said, dialect)
        cast = Cast.per_role(workflow.roles, PolicySpec("base", engine="scripted"), **LONG)
        episodes = run_batch(
            workflow, [("set", task, 0)], cast, {"scripted": engine},
            RolloutSettings(rule=rule, width=width, score_timeout_s=60.0, **settings),
            phase=phase, ticket=0, seed=0, split="train",
        )  # fmt: skip
        episode = episodes[0]
        calls = {(call.key.role, call.key.slot, call.key.turn): call for call in episode.calls}
        team = {
            key: [round(c.reward.team, 4) for c in call.candidates] for key, call in calls.items() if phase == "train"
        }
        local = {
            key: [round(c.reward.local, 4) for c in call.candidates] for key, call in calls.items() if phase == "train"
        }
        return SimpleNamespace(
            episodes=episodes, outcome=episode.outcome, calls=calls, prompts=engine.prompts, team=team, local=local
        )

    return stage


@pytest.fixture
def unequal():
    """unequal(episodes) -> {role: (groups with unequal team rewards, with unequal local rewards)}."""

    def count(episodes):
        report = rows(episodes, CreditSettings()).report
        return {name: (role.unequal_team, role.unequal_local) for name, role in report.roles.items()}

    return count
