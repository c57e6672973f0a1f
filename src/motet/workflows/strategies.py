"""The strategies that an orchestrator proposes: reading them, and what they turned out to be worth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from motet.tasks.answering import FORM_SHARE

_INDEX = r"(?:[ \t]*#?(?:\d{1,3}|[A-Z]|one|two|three|four|five)\b)"
_HEADED = re.compile(
    rf"^[ \t>*#-]*STRATEGY(?:{_INDEX}?[ \t*]*[:.)]|{_INDEX}[ \t*]*(?:[-\u2013\u2014]|$))[ \t*]*",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = re.compile(r"^[ \t*]*\d{1,3}[.):][ \t*]+", re.MULTILINE)
_WAY = "way"
_COMPACT = re.compile(rf"(?:^|\s){_WAY}(?=\s|$)")
_SOLVED = re.compile(r"\\boxed|####|```")
FLOOR = 0.1
"""How alike two strategies without a common word are taken to be."""


@dataclass(frozen=True, slots=True)
class Strategies:
    """At least one strategy ("" is no advice), and how well they were written: 1 with headings, 0.5 as a numbered list,
    0 else, and 0 where the text gives a solution beside them."""

    ways: tuple[str, ...]
    form: float

    @property
    def num_distinct(self) -> int:
        """How many strategies differ in their words."""
        return len({words for way in self.ways if (words := _words(way))})


def read_strategies(text: str, most: int) -> Strategies:
    """The first `most` strategies of a text: what stands under `STRATEGY k:`, else a numbered list, else lines.

    In compact words each begins with `way`.

    >>> read_strategies("Here:\\nSTRATEGY 1: count\\nSTRATEGY 2: **use\\nsymmetry", 3)
    Strategies(ways=('count', 'use symmetry'), form=1.0)
    >>> read_strategies("1. count\\n2) guess", 1), read_strategies("count\\nguess", 3).ways
    (Strategies(ways=('count',), form=0.5), ('count', 'guess'))
    >>> read_strategies("way tens ones way carry", 3), read_strategies(" ", 3)
    (Strategies(ways=('tens ones', 'carry'), form=1.0), Strategies(ways=('',), form=0.0))
    """
    words = " ".join(text.split())
    if words.split(" ")[0] == _WAY:
        found, form = _COMPACT.split(words)[1:], 1.0
    else:
        found, form = _split(text)
    ways = tuple(way for part in found if (way := " ".join(part.replace("**", " ").split())))[:most]
    return Strategies(ways or ("",), 0.0 if _SOLVED.search(text) or not ways else form)


def _split(text: str) -> tuple[list[str], float]:
    for pattern, form in ((_HEADED, 1.0), (_NUMBERED, 0.5)):
        parts = pattern.split(text)[1:]
        if any(part.strip() for part in parts):
            return parts, form
    return text.splitlines(), 0.0


def plan_form(strategies: Strategies, most: int) -> float:
    """The orchestrator's own job: 0.2 * form + 0.8 * (different strategies / `most`), in [0, 1].

    >>> plan_form(read_strategies("STRATEGY 1: count\\nSTRATEGY 2: Count", 2), 2)
    0.6000000000000001
    """
    return min(1.0, FORM_SHARE * strategies.form + (1.0 - FORM_SHARE) * strategies.num_distinct / most)


def _words(way: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", way.casefold()))


def likeness(one: str, other: str) -> float:
    """The share of the words of both that they have in common, at least `FLOOR`.

    >>> likeness("count pairs", "Count pairs!"), likeness("count", "guess")
    (1.0, 0.1)
    """
    left, right = _words(one), _words(other)
    return max(FLOOR, len(left & right) / max(1, len(left | right))) if left or right else 1.0


def estimated_worth(ways: Sequence[str], tried: Sequence[str], worths: Sequence[float]) -> float:
    """What `ways` can be expected to earn, by what the ways that were `tried` earned.

    The mean over `ways` of the mean of `worths`, each weighted by how like its way is to this one. In [0, 1].

    >>> [round(estimated_worth([way], ["count", "guess"], [1.0, 0.0]), 2) for way in ("count", "fold")]
    [0.91, 0.5]
    """
    values = []
    for way in ways:
        weights = [likeness(way, other) for other in tried]
        values.append(sum(weight * worth for weight, worth in zip(weights, worths)) / sum(weights))
    return min(1.0, sum(values) / len(values))
