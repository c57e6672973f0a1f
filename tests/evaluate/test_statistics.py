"""Intervals against textbook numbers and against brute force."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.evaluate.statistics import (
    StatisticsError,
    best_of_n,
    mean_interval,
    newcombe,
    paired_bootstrap,
    pass_at_k,
    t_quantile,
    unpaired_bootstrap,
    wilson,
)

few = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize(
    ("successes", "num", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_wilson_gives_the_published_bounds(successes, num, low, high):
    assert wilson(successes, num) == pytest.approx((low, high), abs=6e-5)


def test_wilson_bounds_are_the_rates_whose_score_test_just_rejects():
    z = 1.959963984540054
    for bound in wilson(170, 200):
        assert abs(0.85 - bound) / math.sqrt(bound * (1 - bound) / 200) == pytest.approx(z)


def test_wilson_widens_with_confidence_and_narrows_with_tasks():
    assert wilson(8, 10, 0.99)[0] < wilson(8, 10, 0.95)[0] < wilson(80, 100, 0.95)[0] < 0.8


@few
@given(st.integers(1, 400).flatmap(lambda num: st.tuples(st.integers(0, num), st.just(num))))
def test_wilson_holds_the_rate_lies_in_the_unit_interval_and_mirrors(pair):
    successes, num = pair
    low, high = wilson(successes, num)
    assert 0.0 <= low <= successes / num <= high <= 1.0
    assert wilson(num - successes, num) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(
    "call", [lambda: wilson(0, 0), lambda: wilson(3, 2), lambda: wilson(-1, 2), lambda: wilson(1, 2, 1.0)]
)
def test_wilson_refuses_counts_and_confidence_without_meaning(call):
    with pytest.raises(StatisticsError):
        call()


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [((56, 70, 48, 80), 0.0524, 0.3339), ((9, 10, 3, 10), 0.1705, 0.8090), ((10, 10, 0, 10), 0.6075, 1.0)],
)
def test_newcombe_gives_the_published_bounds(counts, low, high):
    assert newcombe(*counts)[1:] == pytest.approx((low, high), abs=6e-5)


def test_newcombe_swapped_is_negated():
    d, low, high = newcombe(56, 70, 48, 80)
    assert newcombe(48, 80, 56, 70) == pytest.approx((-d, -high, -low))


@pytest.mark.parametrize(
    ("probability", "degrees", "value"),
    [
        (0.975, 1, 12.7062047),
        (0.975, 2, 4.30265273),
        (0.975, 3, 3.18244631),
        (0.95, 5, 2.01504837),
        (0.995, 10, 3.16927267),
        (0.975, 1000, 1.96233909),
    ],
)
def test_t_quantiles_are_the_table(probability, degrees, value):
    assert t_quantile(probability, degrees) == pytest.approx(value, rel=1e-8)
    assert t_quantile(1 - probability, degrees) == pytest.approx(-value, rel=1e-8)


def test_mean_interval_by_hand():
    # mean 2, s = 1, n = 3: 4.3027 / sqrt(3) = 2.4841
    assert mean_interval([1.0, 2.0, 3.0]) == pytest.approx((2.0, 2.0 - 2.48414, 2.0 + 2.48414), abs=1e-5)


def test_one_seed_has_no_interval():
    with pytest.raises(StatisticsError, match="run at least two seeds"):
        mean_interval([0.5])


def test_paired_bootstrap_sees_that_tasks_are_paired():
    a = [1.0] * 60 + [0.0] * 40
    b = [1.0] * 50 + [0.0] * 50
    paired, unpaired = paired_bootstrap(a, b), unpaired_bootstrap(a, b)
    assert paired.value == pytest.approx(0.1) and unpaired.value == pytest.approx(0.1)
    assert paired.low > 0.0 > unpaired.low
    # the std of ten ones in a hundred, resampled: sqrt(.1 * .9 / 100) = 0.03
    assert paired.low == pytest.approx(0.1 - 1.96 * 0.03, abs=0.011)
    assert paired.high == pytest.approx(0.1 + 1.96 * 0.03, abs=0.011)


def test_bootstraps_repeat_by_seed_and_differ_between_seeds():
    a, b = [i / 37 % 1 for i in range(50)], [i / 23 % 1 for i in range(50)]
    assert paired_bootstrap(a, b, seed=3) == paired_bootstrap(a, b, seed=3)
    assert paired_bootstrap(a, b, seed=3) != paired_bootstrap(a, b, seed=4)
    assert unpaired_bootstrap(a, b, seed=3) == unpaired_bootstrap(a, b, seed=3)


def test_paired_bootstrap_refuses_lists_that_do_not_pair():
    with pytest.raises(StatisticsError, match="2 values against 1"):
        paired_bootstrap([1, 0], [1])


@pytest.mark.parametrize("scores", [[0, 0, 1, 1, 1], [0.2, 0.9, 0.4, 0.4, 0.0]])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_best_of_n_is_the_mean_over_all_subsets(scores, n):
    subsets = list(itertools.combinations(scores, n))
    assert best_of_n(scores, n) == pytest.approx(sum(map(max, subsets)) / len(subsets))


@few
@given(st.integers(1, 30).flatmap(lambda num: st.tuples(st.just(num), st.integers(0, num), st.integers(1, num))))
def test_pass_at_k_is_best_of_k_for_zeros_and_ones(case):
    num, successes, k = case
    assert pass_at_k(num, successes, k) == pytest.approx(best_of_n([1.0] * successes + [0.0] * (num - successes), k))


def test_pass_at_k_refuses_more_tries_than_were_made():
    with pytest.raises(StatisticsError, match="pass@5 from 4 tries"):
        pass_at_k(4, 2, 5)
