"""The functions of `mini_code`: an outer operation over an inner one, each with its constant.

    family      outer x inner, such as `sum` over `times`:    sum ( a * k for a in x )
    function    a family with its constants, such as k = 2

Two functions that agree on every probe are one: it stays with the family that is built first, so no held-out family
says in other words what a training family says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

SPLITS = ("train", "validation", "test")
Inner = Callable[[Any, int], Any]

_SMALL, _FROM_TWO, _WIDE = tuple(range(1, 11)), tuple(range(2, 10)), tuple(range(2, 32))
_NONE = (0,)


@dataclass(frozen=True, slots=True)
class Part:
    """One operation: its words with `{e}` for what it works on and `{k}` for its constant, its meaning, its text."""

    name: str
    words: str
    means: Callable[[Any, int], Any]
    says: str
    constants: tuple[int, ...] = _NONE


NUMBER_INNER = (
    Part("plus", "x + n{k}", lambda x, k: x + k, "x plus {k}", _SMALL),
    Part("times", "x * n{k}", lambda x, k: x * k, "x times {k}", _FROM_TWO),
    Part("square", "x * x", lambda x, k: x * x, "x times itself"),
    Part("rest", "x % n{k}", lambda x, k: x % k, "the remainder of x divided by {k}", _FROM_TWO),
)
SWITCH = Part("switch", "{e} if x > n{k} else x", lambda v, k: v, "{e} where x is above {k}, else x itself", _SMALL)
NUMBER_OUTER = (
    Part("plain", "{e}", lambda v, k: v, "{e}"),
    Part("plus", "{e} + n{k}", lambda v, k: v + k, "{e}, and then {k} more", _SMALL),
    Part("times", "( {e} ) * n{k}", lambda v, k: v * k, "{k} times the result of: {e}", _FROM_TWO),
    Part("least", "max ( {e} , n{k} )", lambda v, k: max(v, k), "{e}, but never less than {k}", _WIDE),
    Part("most", "min ( {e} , n{k} )", lambda v, k: min(v, k), "{e}, but never more than {k}", _WIDE),
    Part("distance", "abs ( {e} - n{k} )", lambda v, k: abs(v - k), "how far {k} is from: {e}", _WIDE),
    SWITCH,
)
LIST_INNER = (
    Part("each", "a for a in x", lambda x, k: list(x), "the items of x"),
    Part("plus", "a + n{k} for a in x", lambda x, k: [a + k for a in x], "each item of x plus {k}", _SMALL),
    Part("times", "a * n{k} for a in x", lambda x, k: [a * k for a in x], "each item of x times {k}", _FROM_TWO),
    Part("rest", "a % n{k} for a in x", lambda x, k: [a % k for a in x],
         "the remainder of each item of x divided by {k}", _FROM_TWO),
    Part("square", "a * a for a in x", lambda x, k: [a * a for a in x], "each item of x times itself"),
    Part("above", "a for a in x if a > n{k}", lambda x, k: [a for a in x if a > k],
         "the items of x that are above {k}", _SMALL),
    Part("below", "a for a in x if a < n{k}", lambda x, k: [a for a in x if a < k],
         "the items of x that are below {k}", _SMALL),
    Part("odd", "a for a in x if a % n2", lambda x, k: [a for a in x if a % 2], "the odd items of x"),
    Part("second", "a for a in x [ : : n2 ]", lambda x, k: x[::2], "every second item of x, from the first"),
    Part("backwards", "a for a in x [ : : - n1 ]", lambda x, k: x[::-1], "the items of x from the last to the first"),
)  # fmt: skip
LIST_OUTER = (
    Part("list", "[ {e} ]", lambda v, k: v, "a list of {e}"),
    Part("sum", "sum ( {e} )", lambda v, k: sum(v), "the sum of {e}"),
    Part("largest", "max ( {e} )", lambda v, k: max(v), "the largest of {e}"),
    Part("smallest", "min ( {e} )", lambda v, k: min(v), "the smallest of {e}"),
    Part("sorted", "sorted ( {e} )", lambda v, k: sorted(v), "{e}, sorted from small to large"),
    Part("count", "sum ( {e} )", lambda v, k: len(v), "the number of {e}"),
)
PROBES = (
    tuple(range(0, 30)),
    (
        [3, 8, 1, 6],
        [9, 2, 2, 5],
        [4, 7, 0, 3],
        [1, 9, 5, 8, 2],
        [6],
        [5, 3, 9, 7, 4, 1, 2],
        *([a, 9 - a] for a in range(10)),
    ),
)


@dataclass(frozen=True, slots=True)
class Function:
    """One function with its constants. `on` is its meaning, computed here; `words` is it as a one-line program.

    >>> function = family("sum", "times")[0]
    >>> function.words, function.on([1, 2, 3]), function.says
    ('sum ( a * n2 for a in x )', 12, 'the sum of each item of x times 2')
    """

    outer: Part
    inner: Part
    outer_k: int
    inner_k: int

    takes_list: bool

    @property
    def family(self) -> str:
        return f"{'list' if self.takes_list else 'number'}.{self.outer.name}.{self.inner.name}"

    @property
    def id(self) -> str:
        return f"{self.family}-{self.outer_k}-{self.inner_k}"

    @property
    def words(self) -> str:
        inner = self.inner.words.format(k=self.inner_k)
        if self.outer.name == "count":
            inner = "n1" + inner.removeprefix("a")
        return self.outer.words.format(e=inner, k=self.outer_k)

    @property
    def says(self) -> str:
        return self.outer.says.format(e=self.inner.says.format(k=self.inner_k), k=self.outer_k)

    def on(self, x: Any) -> Any:
        """The value, or None where there is none (the largest of nothing)."""
        value = self.inner.means(x, self.inner_k)
        if self.outer is SWITCH:
            return value if x > self.outer_k else x
        if self.outer.name in ("largest", "smallest") and not value:
            return None
        return self.outer.means(value, self.outer_k)


def split_of(outer_index: int, inner_index: int) -> str:
    """Whole families are held out, along diagonals of the table, so that each outer and each inner operation is also
    in training, in other company.

    >>> [split_of(0, inner) for inner in range(7)].count("train")
    5
    """
    return {0: "test", 3: "validation"}.get((2 * outer_index + inner_index) % 7, "train")


@lru_cache(maxsize=1)
def functions() -> dict[str, dict[str, tuple[Function, ...]]]:
    """split -> family -> its functions. No two of them agree on all probes, in whatever split."""
    found: dict[str, dict[str, tuple[Function, ...]]] = {split: {} for split in SPLITS}
    seen: set[str] = set()
    for split in SPLITS:
        for outer, inner, takes_list in _pairs(split):
            kept = []
            every = (Function(outer, inner, k, j, takes_list) for k in outer.constants for j in inner.constants)
            for function in every:
                looks = repr([function.on(probe) for probe in PROBES[function.takes_list]])
                if looks not in seen:
                    seen.add(looks)
                    kept.append(function)
            if len(kept) >= max(1, len(outer.constants) * len(inner.constants) // 4):
                found[split][kept[0].family] = tuple(kept)
    return found


def _pairs(split: str) -> list[tuple[Part, Part, bool]]:
    """(outer, inner, whether they take a list) of every family of a split."""
    pairs = []
    tables = ((NUMBER_OUTER, NUMBER_INNER, False), (LIST_OUTER, LIST_INNER, True))
    for outers, inners, takes_list in tables:
        for o, outer in enumerate(outers):
            pairs += [(outer, inner, takes_list) for i, inner in enumerate(inners) if split_of(o, i) == split]
    return pairs


def family(outer: str, inner: str, takes_list: bool = True) -> tuple[Function, ...]:
    """The functions of one family. Raises `KeyError` for one that is not there."""
    name = f"{'list' if takes_list else 'number'}.{outer}.{inner}"
    return next(families[name] for families in functions().values() if name in families)


def agree(one: Function, inputs: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether a function has these values on these inputs."""
    return all(one.on(x) == value for x, value in zip(inputs, values))
