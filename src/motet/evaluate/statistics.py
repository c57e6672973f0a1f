"""Intervals and estimators for evaluation. Pure Python, deterministic; two-sided, `confidence` in (0, 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from motet.errors import MotetError


class StatisticsError(MotetError):
    """A statistic was asked of data that do not have it."""


class Estimate(NamedTuple):
    """A value and its interval."""

    value: float
    low: float
    high: float


def _check(condition: bool, what: str, fix: str) -> None:
    if not condition:
        raise StatisticsError(what, fix=fix)


def _check_confidence(confidence: float) -> None:
    _check(0.0 < confidence < 1.0, f"confidence is {confidence!r}", "take a number between 0 and 1, such as 0.95")


def _check_counts(successes: int, num: int) -> None:
    _check(num > 0, "a proportion of nothing", "evaluate at least one task")
    _check(0 <= successes <= num, f"{successes} successes of {num}", "count successes in 0..num")


def wilson(successes: int, num: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a success rate: (low, high).

    p = successes / num, z the normal quantile of (1 + confidence) / 2:
    center = (p + z^2 / 2n) / (1 + z^2 / n),  half = z / (1 + z^2 / n) * sqrt(p (1 - p) / n + z^2 / 4n^2).
    It stays within [0, 1] and has a width at 0 and at num successes. `StatisticsError` for num 0.
    Source: Wilson, 1927, JASA 22.

    >>> [round(bound, 4) for bound in wilson(85, 100)]
    [0.7672, 0.9069]
    >>> [round(bound, 4) for bound in wilson(0, 10)]
    [0.0, 0.2775]
    """
    _check_confidence(confidence)
    _check_counts(successes, num)
    z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    p, scale = successes / num, 1.0 + z * z / num
    center = (p + z * z / (2 * num)) / scale
    half = z / scale * math.sqrt(p * (1.0 - p) / num + z * z / (4 * num * num))
    low = 0.0 if successes == 0 else max(0.0, center - half)
    high = 1.0 if successes == num else min(1.0, center + half)
    return low, high


def newcombe(successes_a: int, num_a: int, successes_b: int, num_b: int, confidence: float = 0.95) -> Estimate:
    """The difference a - b of two success rates on *different* tasks, from their Wilson intervals.

    low = d - sqrt((a - low_a)^2 + (high_b - b)^2),  high = d + sqrt((high_a - a)^2 + (b - low_b)^2).
    On the same tasks use `paired_bootstrap`, which is narrower. Source: Newcombe, 1998, Statistics in Medicine 17,
    method 10.

    >>> [round(x, 4) for x in newcombe(56, 70, 48, 80)]
    [0.2, 0.0524, 0.3339]
    """
    a, b = successes_a / max(num_a, 1), successes_b / max(num_b, 1)
    low_a, high_a = wilson(successes_a, num_a, confidence)
    low_b, high_b = wilson(successes_b, num_b, confidence)
    low = a - b - math.hypot(a - low_a, high_b - b)
    high = a - b + math.hypot(high_a - a, b - low_b)
    return Estimate(a - b, low, high)


def _percentiles(values: list[float], confidence: float) -> tuple[float, float]:
    values.sort()
    tail = (1.0 - confidence) / 2.0
    last = len(values) - 1
    return values[math.floor(tail * last)], values[math.ceil((1.0 - tail) * last)]


def paired_bootstrap(
    a: Sequence[float], b: Sequence[float], confidence: float = 0.95, num_resamples: int = 2000, seed: int = 0
) -> Estimate:
    """The mean of a[i] - b[i] over tasks i that both were run on, with a percentile bootstrap interval over tasks.

    a, b [n] -> estimate. Deterministic in `seed`. n = 1 or equal differences give an interval of width 0: that tells of
    the data at hand, not of certainty. `StatisticsError` for unequal or zero lengths.

    >>> paired_bootstrap([1, 1, 0, 1], [0, 0, 0, 0]).value
    0.75
    >>> paired_bootstrap([1, 1], [0, 0])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    _check_confidence(confidence)
    _check(len(a) == len(b) > 0, f"{len(a)} values against {len(b)}", "pair the values task by task")
    differences = [x - y for x, y in zip(a, b)]
    draw, num = random.Random(seed), len(differences)
    means = [math.fsum(draw.choices(differences, k=num)) / num for _ in range(num_resamples)]
    return Estimate(math.fsum(differences) / num, *_percentiles(means, confidence))


def unpaired_bootstrap(
    a: Sequence[float], b: Sequence[float], confidence: float = 0.95, num_resamples: int = 2000, seed: int = 0
) -> Estimate:
    """The difference of the means of two independent samples, with a percentile bootstrap interval.

    a [n], b [m] -> estimate. Each sample is resampled on its own. Deterministic in `seed`.

    >>> unpaired_bootstrap([1, 0, 1], [0, 0, 0, 0]).value == 2 / 3
    True
    """
    _check_confidence(confidence)
    _check(len(a) > 0 and len(b) > 0, "a sample is empty", "evaluate at least one task on each side")
    draw = random.Random(seed)

    def resampled_mean(values: Sequence[float]) -> float:
        return math.fsum(draw.choices(values, k=len(values))) / len(values)

    differences = [resampled_mean(a) - resampled_mean(b) for _ in range(num_resamples)]
    value = math.fsum(a) / len(a) - math.fsum(b) / len(b)
    return Estimate(value, *_percentiles(differences, confidence))


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by the modified Lentz method."""
    tiny, c, d = 1e-300, 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 400):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + term / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def _incomplete_beta(x: float, a: float, b: float) -> float:
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(1.0 - x, b, a) / b


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution with `degrees` degrees of freedom, to about 1e-9.

    >>> [round(t_quantile(0.975, degrees), 3) for degrees in (1, 2, 4, 30)]
    [12.706, 4.303, 2.776, 2.042]
    """
    _check(0.0 < probability < 1.0, f"probability is {probability!r}", "take a number between 0 and 1")
    _check(degrees >= 1, f"{degrees} degrees of freedom", "give at least two values")
    if probability < 0.5:
        return -t_quantile(1.0 - probability, degrees)
    low, high = 0.0, 1.0
    while _t_cdf(high, degrees) < probability:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if _t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2.0


def _t_cdf(t: float, degrees: int) -> float:
    return 1.0 - 0.5 * _incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """The mean over seeds with Student's t interval: mean +- t * s / sqrt(n), s with n - 1.

    values [n], n >= 2 -> estimate. One seed has no spread: `StatisticsError`, for no interval can be given.
    Three seeds of three: t = 4.303.

    >>> [round(x, 4) for x in mean_interval([0.80, 0.84, 0.88])]
    [0.84, 0.7406, 0.9394]
    """
    _check_confidence(confidence)
    _check(len(values) >= 2, f"an interval from {len(values)} value(s)", "run at least two seeds")
    num = len(values)
    mean = math.fsum(values) / num
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (num - 1))
    half = t_quantile((1.0 + confidence) / 2.0, num - 1) * spread / math.sqrt(num)
    return Estimate(mean, mean - half, mean + half)


def pass_at_k(num: int, successes: int, k: int) -> float:
    """The unbiased chance that at least one of k tries succeeds: 1 - C(num - successes, k) / C(num, k).

    `num` tries were made, of which `successes` succeeded; k <= num. Source: 2107.03374.

    >>> pass_at_k(4, 1, 1), pass_at_k(4, 1, 2), pass_at_k(4, 3, 2)
    (0.25, 0.5, 1.0)
    """
    _check_counts(successes, num)
    _check(1 <= k <= num, f"pass@{k} from {num} tries", "take k in 1..num")
    return 1.0 - math.comb(num - successes, k) / math.comb(num, k)


def best_of_n(scores: Sequence[float], n: int) -> float:
    """The unbiased expected best score of n tries, out of all the tries made on one task.

    scores [N], n <= N -> sum over the sorted scores s_1 <= ... <= s_N of s_i * C(i - 1, n - 1) / C(N, n): the mean of
    the best over all subsets of n. The selector is perfect: with scores of 0 and 1 it equals `pass_at_k`.

    >>> best_of_n([0.0, 0.5, 1.0], 2) == (0.5 + 1.0 + 1.0) / 3
    True
    """
    _check(1 <= n <= len(scores), f"best of {n} from {len(scores)} tries", "take n in 1..len(scores)")
    ordered = sorted(scores)
    total = math.fsum(score * math.comb(index, n - 1) for index, score in enumerate(ordered))
    return total / math.comb(len(ordered), n)
