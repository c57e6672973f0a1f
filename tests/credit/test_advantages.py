"""Hand-computed advantages, edge by edge, and what every estimator keeps."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.credit.advantages import ESTIMATORS, are_equal, estimate
from motet.errors import CreditError

few = settings(max_examples=40, deadline=None)
HAND = [
    # (1, 0, 0, 0): mean 1/4, squares 9/16 + 3/16 = 3/4, population std sqrt(3)/4, sample std 1/2
    ([1, 0, 0, 0], "grpo", {}, [math.sqrt(3)] + [-1 / math.sqrt(3)] * 3),
    ([1, 0, 0, 0], "grpo", {"std": "sample"}, [1.5, -0.5, -0.5, -0.5]),
    ([1, 0, 0, 0], "mean_only", {}, [0.75, -0.25, -0.25, -0.25]),
    ([1, 0, 0, 0], "rloo", {}, [1.0, -1 / 3, -1 / 3, -1 / 3]),
    ([1, 0, 0, 0], "max_rl", {}, [3.0, -1.0, -1.0, -1.0]),
    ([1, 0, 0, 0], "reinforce", {}, [1.0, 0.0, 0.0, 0.0]),
    # (1, 1, 0, 0): mean 1/2, population std 1/2, sample std 1/sqrt(3)
    ([1, 1, 0, 0], "grpo", {}, [1, 1, -1, -1]),
    ([1, 1, 0, 0], "grpo", {"std": "sample"}, [math.sqrt(3) / 2] * 2 + [-math.sqrt(3) / 2] * 2),
    ([1, 1, 0, 0], "max_rl", {}, [1, 1, -1, -1]),
    ([1, 1, 0, 0], "rloo", {}, [2 / 3, 2 / 3, -2 / 3, -2 / 3]),
    # (0.9, 0.5, 0.1): mean 1/2, squares 0.32, population sqrt(8/75), sample 0.4
    ([0.9, 0.5, 0.1], "grpo", {}, [0.4 / math.sqrt(8 / 75), 0.0, -0.4 / math.sqrt(8 / 75)]),
    ([0.9, 0.5, 0.1], "grpo", {"std": "sample"}, [1.0, 0.0, -1.0]),
    ([0.9, 0.5, 0.1], "max_rl", {}, [0.8, 0.0, -0.8]),
    ([0.9, 0.5, 0.1], "rloo", {}, [0.6, 0.0, -0.6]),
    # a group of two
    ([0.2, 0.6], "grpo", {}, [-1, 1]),
    ([0.2, 0.6], "grpo", {"std": "sample"}, [-math.sqrt(0.5), math.sqrt(0.5)]),
    ([0.2, 0.6], "rloo", {}, [-0.4, 0.4]),
    ([0.2, 0.6], "max_rl", {}, [-0.5, 0.5]),
]


@pytest.mark.parametrize(("rewards", "estimator", "options", "expected"), HAND)
def test_advantages_by_hand(rewards, estimator, options, expected):
    assert estimate(rewards, estimator, epsilon=0.0, **options) == pytest.approx(expected, abs=1e-12)


def test_the_defaults_are_population_std_and_epsilon_1e_8():
    assert estimate([1, 0, 0, 0])[0] == pytest.approx((3 / 4) / (math.sqrt(3) / 4 + 1e-8), rel=1e-15)
    assert f"{estimate([1, 0, 0, 0])[0]:.6f}" == "1.732051"


def test_epsilon_is_added_to_the_std_and_not_to_the_variance():
    assert estimate([1, 0], "grpo", epsilon=0.5) == [0.5, -0.5]


@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if name != "reinforce"])
@pytest.mark.parametrize("rewards", [[0.1] * 3, [0.0] * 4, [1.0] * 5, [0.7 * 3.0 / 3.0, 0.7], [0.1 + 0.2, 0.3]])
def test_equal_rewards_give_exactly_zero(estimator, rewards):
    assert estimate(rewards, estimator, epsilon=0.0) == [0.0] * len(rewards)


def test_equal_means_closer_than_rounding_can_tell_apart():
    assert are_equal([0.3, 0.3 + 9e-13]) and not are_equal([0.3, 0.3 + 2e-12])


@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if name != "reinforce"])
def test_a_group_of_one_gives_zero_or_its_reward_as_set(estimator):
    assert estimate([0.4], estimator) == [0.0]
    assert estimate([0.4], estimator, singleton="raw") == [0.4]
    assert estimate([0.0], estimator, singleton="raw") == [0.0]


def test_reinforce_compares_nothing():
    assert estimate([0.4], "reinforce") == [0.4]
    assert estimate([0.4, 0.4], "reinforce") == [0.4, 0.4]


def test_max_rl_weighs_a_rare_success_by_the_inverse_of_its_rate():
    assert estimate([1] + [0] * 9, "max_rl")[0] == pytest.approx(9.0)
    assert estimate([1] * 9 + [0], "max_rl")[0] == pytest.approx(1 / 9)


@pytest.mark.parametrize("rewards", [[-0.1, 1.0], [-1.0, -1.0], [-0.5]])
def test_max_rl_refuses_negative_rewards(rewards):
    with pytest.raises(CreditError, match=r"max_rl was given the negative reward -.*task=t3"):
        estimate(rewards, "max_rl", where={"task": "t3"})


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_no_number_is_refused_with_its_place(estimator, bad):
    with pytest.raises(CreditError, match=r"reward 1 of the group is .*task=t3"):
        estimate([0.5, bad], estimator, where={"task": "t3"})


@pytest.mark.parametrize(
    ("rewards", "options", "message"),
    [
        ([], {}, "without members"),
        ([1.0], {"estimator": "ppo"}, "unknown estimator 'ppo'.*grpo, mean_only"),
        ([1.0], {"std": "unbiased"}, "unknown std 'unbiased'.*population, sample"),
        ([1.0], {"singleton": "nan"}, "unknown singleton 'nan'.*zero, raw"),
        ([1.0], {"epsilon": -1e-6}, "epsilon is"),
    ],
)
def test_settings_without_meaning_are_refused(rewards, options, message):
    with pytest.raises(CreditError, match=message):
        estimate(rewards, **options)


def test_the_input_is_left_alone():
    rewards = [0.5, 0.0]
    estimate(rewards, "grpo")
    assert rewards == [0.5, 0.0]


grid = st.lists(st.integers(0, 32).map(lambda n: n / 32), min_size=2, max_size=12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@few
@given(rewards=grid, data=st.data())
def test_permuted_rewards_permute_the_advantages_bit_for_bit(estimator, rewards, data):
    order = data.draw(st.permutations(range(len(rewards))))
    plain = estimate(rewards, estimator)
    assert estimate([rewards[i] for i in order], estimator) == [plain[i] for i in order]


@pytest.mark.parametrize("estimator", ["grpo", "mean_only", "rloo"])
@few
@given(rewards=grid, shift=st.floats(-4.0, 4.0))
def test_a_shift_of_all_rewards_changes_nothing(estimator, rewards, shift):
    assert estimate([r + shift for r in rewards], estimator) == pytest.approx(estimate(rewards, estimator), abs=1e-6)


@pytest.mark.parametrize(
    ("estimator", "power"), [("grpo", 0), ("max_rl", 0), ("mean_only", 1), ("rloo", 1), ("reinforce", 1)]
)
@few
@given(rewards=grid, scale=st.floats(0.1, 10.0))
def test_a_factor_on_all_rewards_scales_as_stated(estimator, power, rewards, scale):
    expected = [a * scale**power for a in estimate(rewards, estimator, epsilon=0.0)]
    assert estimate([r * scale for r in rewards], estimator, epsilon=0.0) == pytest.approx(expected, abs=1e-9)


@few
@given(rewards=grid)
def test_rloo_is_k_over_k_minus_one_times_mean_only(rewards):
    size = len(rewards)
    assert estimate(rewards, "rloo") == pytest.approx([a * size / (size - 1) for a in estimate(rewards, "mean_only")])


@few
@given(rewards=grid)
def test_sample_is_population_shrunk_by_the_square_root_of_k_minus_one_over_k(rewards):
    size = len(rewards)
    population = estimate(rewards, "grpo", epsilon=0.0)
    factor = math.sqrt((size - 1) / size)
    assert estimate(rewards, "grpo", std="sample", epsilon=0.0) == pytest.approx([a * factor for a in population])


@few
@given(rewards=grid)
def test_population_advantages_have_mean_zero_and_square_mean_one(rewards):
    advantages = estimate(rewards, "grpo", epsilon=0.0)
    squares = math.fsum(a * a for a in advantages) / len(advantages)
    assert math.fsum(advantages) == pytest.approx(0.0, abs=1e-9)
    assert squares == pytest.approx(0.0 if are_equal(rewards) else 1.0)
