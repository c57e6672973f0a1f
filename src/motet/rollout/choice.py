"""Which of K candidates goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from motet.credit.rewards import mix
from motet.rollout.counters import choice_uniform
from motet.rollout.settings import RolloutSettings
from motet.types import Candidate, Reward


def has_reward(reward: Reward | None) -> bool:
    """Whether a reward carries a number, and not notes alone.

    >>> has_reward(Reward(notes=[1])), has_reward(Reward(local=0.0))
    (False, True)
    """
    return reward is not None and (reward.team is not None or reward.local is not None)


def with_reward(candidate: Candidate, reward: Reward) -> Candidate:
    """The candidate with a reward (written out: this runs for every candidate)."""
    return Candidate(candidate.text, candidate.token_ids, candidate.sampling_logprobs, candidate.finish, reward)


def choose(rewards: Sequence[Reward | None], settings: RolloutSettings, key: int, role: str = "") -> int:
    """The index that goes on: by the rule where every candidate has a reward, else uniform by counter.

    greedy:   argmax of the mixed reward r, ties to the lowest index
    softmax:  index i with probability exp(r_i / temperature) / sum_j exp(r_j / temperature)
    random:   each with probability 1/K
    Under `lookahead` the worth comes after the choice, which is therefore random. One uniform of the call's choice
    stream is used, so the choice depends on the call's name and the rewards alone.

    >>> choose([Reward(team=0.2), Reward(team=0.9), Reward(team=0.9)], RolloutSettings(alpha=1.0), key=0)
    1
    """
    num = len(rewards)
    if num == 1:
        return 0
    if settings.choose == "random" or settings.rule == "lookahead" or not all(has_reward(r) for r in rewards):
        return min(int(choice_uniform(key) * num), num - 1)
    alpha = settings.alpha_of(role)
    mixed = [mix(r.team, r.local, alpha, settings.mix) for r in rewards if r is not None]
    if settings.choose == "greedy":
        return mixed.index(max(mixed))
    top = max(mixed)
    weights = [math.exp((value - top) / settings.choose_temperature) for value in mixed]
    threshold, total = choice_uniform(key) * sum(weights), 0.0
    for index, weight in enumerate(weights):
        total += weight
        if threshold < total:
            return index
    return num - 1
