"""The estimators: from the rewards of one group to the advantage of each member.

All are functions of one group, in any order: sums are exactly rounded (`math.fsum`), so a permutation of the rewards
permutes the advantages and changes no bit. K is the size of the group, mean and std are over its members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from motet.errors import CreditError

Estimator = Literal["grpo", "mean_only", "rloo", "max_rl", "reinforce"]
StdKind = Literal["population", "sample"]
EqualGroups = Literal["drop", "count"]
Singleton = Literal["zero", "raw"]

EQUAL_TOLERANCE = 1e-12
"""Rewards closer than this are equal: mixing rounds in the 16th digit, and a std would blow that up to a signal."""


def are_equal(rewards: Sequence[float]) -> bool:
    """Whether a group has no differences: max - min at most 1e-12. True for a group of one.

    >>> are_equal([0.1, 0.1, 0.1]), are_equal([0.1 + 0.2, 0.3]), are_equal([0.0, 1e-9])
    (True, True, False)
    """
    return max(rewards) - min(rewards) <= EQUAL_TOLERANCE


def _mean(rewards: Sequence[float]) -> float:
    return math.fsum(rewards) / len(rewards)


def grpo(rewards: Sequence[float], *, std: StdKind = "population", epsilon: float = 1e-8) -> list[float]:
    """A = (r - mean) / (std + epsilon).

    rewards [K], K >= 2 and not all equal -> [K]. `population` divides the squares by K, `sample` by K - 1; the winner
    of (1, 0, 0, 0) gets sqrt(3) = 1.732 under the first and 1.5 under the second. Source: GRPO, 2402.03300; grouped
    by (tree, role, turn), AT-GRPO, 2510.11062.

    >>> [round(a, 4) for a in grpo([1, 0, 0, 0])]
    [1.7321, -0.5774, -0.5774, -0.5774]
    >>> grpo([1, 0, 0, 0], std="sample", epsilon=0.0)
    [1.5, -0.5, -0.5, -0.5]
    """
    mean = _mean(rewards)
    degrees = len(rewards) - (1 if std == "sample" else 0)
    deviation = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / degrees)
    return [(reward - mean) / (deviation + epsilon) for reward in rewards]


def mean_only(rewards: Sequence[float]) -> list[float]:
    """A = r - mean.

    rewards [K] -> [K]. With the loss aggregation `constant` this is Dr. GRPO, 2503.20783: no std, no length in it.

    >>> mean_only([1, 0, 0, 0])
    [0.75, -0.25, -0.25, -0.25]
    """
    mean = _mean(rewards)
    return [reward - mean for reward in rewards]


def rloo(rewards: Sequence[float]) -> list[float]:
    """A = r - mean of the others = K / (K - 1) * (r - mean).

    rewards [K], K >= 2 -> [K]. The baseline leaves out the member itself, so the estimate is
    unbiased. Source: 2402.14740.

    >>> [round(a, 4) for a in rloo([1, 0, 0, 0])]
    [1.0, -0.3333, -0.3333, -0.3333]
    """
    total, others = math.fsum(rewards), len(rewards) - 1
    return [reward - math.fsum((total, -reward)) / others for reward in rewards]


def max_rl(rewards: Sequence[float]) -> list[float]:
    """A = (r - mean) / mean.

    rewards [K] in [0, 1] -> [K]. A group of zeros gives zeros; a negative reward is refused with `CreditError`, for the
    mean could be near 0 or negative. A positive factor on all rewards changes nothing. Source: MaxRL, 2602.02710, which
    weights a problem by the inverse of its success rate.

    >>> max_rl([1, 0, 0, 0])
    [3.0, -1.0, -1.0, -1.0]
    """
    _refuse_negative(rewards, None)
    mean = _mean(rewards)
    return [0.0 if mean == 0.0 else (reward - mean) / mean for reward in rewards]


def _refuse_negative(rewards: Sequence[float], where: dict[str, object] | None) -> None:
    if min(rewards) < 0.0:
        raise CreditError(
            f"max_rl was given the negative reward {min(rewards)!r}", where=where, fix="keep rewards in [0, 1]"
        )


def reinforce(rewards: Sequence[float]) -> list[float]:
    """A = r. Nothing is compared, so neither equal groups nor groups of one are special here.

    >>> reinforce([0.5, 0.5])
    [0.5, 0.5]
    """
    return [float(reward) for reward in rewards]


PLAIN: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "mean_only": mean_only,
    "rloo": rloo,
    "max_rl": max_rl,
    "reinforce": reinforce,
}
ESTIMATORS = ("grpo", *PLAIN)


def is_without_signal(rewards: Sequence[float], estimator: Estimator, singleton: Singleton) -> bool:
    """Whether a group gives advantage 0 to every member by rule: equal rewards, or one member under `zero`.

    >>> is_without_signal([0.5, 0.5], "grpo", "zero"), is_without_signal([0.5], "grpo", "raw")
    (True, False)
    """
    if estimator == "reinforce":
        return False
    return singleton == "zero" if len(rewards) == 1 else are_equal(rewards)


def estimate(
    rewards: Sequence[float],
    estimator: Estimator = "grpo",
    *,
    std: StdKind = "population",
    epsilon: float = 1e-8,
    singleton: Singleton = "zero",
    where: dict[str, object] | None = None,
) -> list[float]:
    """The advantage of each member of one group.

    rewards [K] -> [K], in the same order. Equal rewards (`are_equal`) give exactly 0. A group of one gives 0 under
    `zero` and the reward itself under `raw`. `reinforce` ignores both. `std` and `epsilon` concern `grpo` alone.
    Raises `CreditError` for an empty group, a reward that is not finite, a negative one under `max_rl`, and unknown
    names; `where` becomes part of its text.

    >>> estimate([0.5, 0.0], "rloo")
    [0.5, -0.5]
    >>> estimate([0.1, 0.1, 0.1]), estimate([0.7]), estimate([0.7], singleton="raw")
    ([0.0, 0.0, 0.0], [0.0], [0.7])
    """
    check_estimator(estimator, std, epsilon, singleton)
    if not rewards:
        raise CreditError("a group without members", where=where, fix="make groups of the candidates that exist")
    for index, reward in enumerate(rewards):
        if not math.isfinite(reward):
            raise CreditError(
                f"reward {index} of the group is {reward!r}", where=where, fix="return finite rewards from score"
            )
    if estimator == "max_rl":
        _refuse_negative(rewards, where)
    if is_without_signal(rewards, estimator, singleton):
        return [0.0] * len(rewards)
    if len(rewards) == 1:
        return [float(rewards[0])]
    return grpo(rewards, std=std, epsilon=epsilon) if estimator == "grpo" else PLAIN[estimator](rewards)


def check_estimator(estimator: str, std: str, epsilon: float, singleton: str) -> None:
    """Refuses unknown names and a negative or infinite epsilon.

    >>> check_estimator("grpo", "sample", 1e-6, "raw")
    """
    for name, value, known in (
        ("estimator", estimator, ESTIMATORS),
        ("std", std, ("population", "sample")),
        ("singleton", singleton, ("zero", "raw")),
    ):
        if value not in known:
            raise CreditError(f"unknown {name} {value!r}", fix=f"take one of {', '.join(known)}")
    if not math.isfinite(epsilon) or epsilon < 0.0:
        raise CreditError(f"epsilon is {epsilon!r}", fix="take a finite epsilon of 0 or more")
