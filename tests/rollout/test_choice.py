from __future__ import annotations

import math

import pytest

from motet.errors import ConfigError, CreditError
from motet.rollout.choice import choose
from motet.rollout.settings import RolloutSettings
from motet.types import Reward


def locals_(*values):
    return [Reward(local=value) for value in values]


def test_greedy_takes_the_largest_mixed_reward_and_the_lowest_index_of_a_tie():
    rewards = [Reward(team=1.0, local=0.0), Reward(team=0.0, local=1.0), Reward(team=0.5, local=0.75)]
    assert choose(rewards, RolloutSettings(alpha=0.75), 0) == 0  # 0.75, 0.25, 0.5625
    assert choose(rewards, RolloutSettings(alpha=0.25), 0) == 1  # 0.25, 0.75, 0.6875
    assert choose(rewards, RolloutSettings(alpha=0.5), 0) == 2  # 0.5, 0.5, 0.625
    assert choose(locals_(0.2, 0.9, 0.9), RolloutSettings(), 5) == 1


def test_a_role_has_an_alpha_of_its_own():
    rewards = [Reward(team=1.0, local=0.0), Reward(team=0.0, local=1.0)]
    settings = RolloutSettings(alpha=1.0, role_alpha={"tester": 0.0})
    assert [choose(rewards, settings, 0, role) for role in ("coder", "tester", "test")] == [0, 1, 0]


def test_random_is_uniform_over_calls_and_blind_to_reward():
    settings = RolloutSettings(choose="random")
    counts = [0, 0, 0, 0]
    for key in range(4000):
        counts[choose(locals_(1, 0, 0, 0), settings, key)] += 1
    assert all(abs(count - 1000) < 130 for count in counts)
    assert [choose(locals_(1, 0, 0, 0), settings, k) for k in range(50)] == [
        choose([None] * 4, RolloutSettings(), k) for k in range(50)
    ]


def test_softmax_has_the_probabilities_of_the_formula():
    settings = RolloutSettings(choose="softmax", choose_temperature=0.5)
    num = 6000
    counts = [0, 0]
    for key in range(num):
        counts[choose(locals_(1.0, 0.5), settings, key)] += 1
    expected = math.exp(2.0) / (math.exp(2.0) + math.exp(1.0))  # 0.7311
    assert abs(counts[0] / num - expected) < 0.02


def test_a_call_that_is_scored_later_is_chosen_at_random_by_counter():
    picks = {choose([Reward(notes="a")] * 3, RolloutSettings(), key) for key in range(30)}
    assert picks == {0, 1, 2}


def test_lookahead_chooses_before_the_worth_is_known():
    settings = RolloutSettings(rule="lookahead")
    assert {choose(locals_(1, 0, 0), settings, key) for key in range(30)} == {0, 1, 2}


def test_local_only_reward_under_alpha_1_is_refused_and_not_replaced():
    with pytest.raises(CreditError, match="team"):
        choose(locals_(0.1, 0.2), RolloutSettings(alpha=1.0), 0)


@pytest.mark.parametrize(
    "bad",
    [
        {"rule": "beam"},
        {"choose": "best"},
        {"width": 0},
        {"max_parallel": 0},
        {"score_timeout_s": 0.0},
        {"max_failed_frac": 1.0},
        {"choose_temperature": 0.0},
        {"overlong": "cut"},
    ],
)
def test_settings_without_meaning_are_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        RolloutSettings(**bad)


def test_alpha_above_1_is_refused_for_the_convex_mix():
    with pytest.raises(CreditError, match="alpha"):
        RolloutSettings(alpha=1.5)
