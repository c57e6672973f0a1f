"""Builds episodes from numbers alone."""

import pytest

from motet.types import Call, CallKey, Candidate, Episode, Outcome, Reward


def make_call(
    role, rewards, *, slot=0, turn=0, visit=0, prompt=(1,), chosen=0, policy=None, trainable=True, finish="eos"
):
    """A call whose candidates have the rewards given: a number is team and local alike, a pair is (team, local),
    None is no reward. Candidate i has the one token 100 + i."""
    candidates = []
    for index, given in enumerate(rewards):
        pair = given if isinstance(given, tuple) else (given, given)
        reward = None if given is None else Reward(team=pair[0], local=pair[1])
        candidates.append(Candidate(f"answer {index}", (100 + index,), (-0.5,), finish, reward))
    key = CallKey(role, slot, turn, visit)
    return Call(key, policy or role, 3, "tok", tuple(prompt), tuple(candidates), chosen, trainable=trainable)


def make_episode(calls, *, task="t0", copy=0, branch=0, ticket=0, team=None, error=None, task_set="grids"):
    outcome = None if team is None else Outcome(team == 1.0, team)
    return Episode(task_set, task, "train", "train", ticket, copy, branch, tuple(calls), outcome, error=error)


@pytest.fixture
def call():
    return make_call


@pytest.fixture
def episode():
    return make_episode
