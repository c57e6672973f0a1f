"""Whether two answers are the same: structure first, then exact numbers, and algebra in a worker for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from motet.tasks.answers.exact import rational
from motet.tasks.answers.latex import bare, tidy
from motet.tasks.answers.shape import MAX_ITEMS, Shape, as_interval, shape
from motet.tasks.answers.units import Quantity, quantity, unit_of
from motet.tasks.answers.workers import shared

MAX_LENGTH = 2_000
"""A longer answer is wrong: no gold answer comes near."""

_WORDLIKE = re.compile(r"[(\[]?[A-Za-z][A-Za-z .,'?!-]*[)\]]?")
_INEXACT = re.compile(r"\d \d|\.\.\.|\u2026|\\(?:ldots|dots|cdots|approx|sim)(?![A-Za-z])|\u2248")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the task says about its answer. `many`: several answers, set apart by commas. `percent`: the question asks
    for a percentage, so that 60 and 60% say the same. `unit`: that of the gold number, where it stands apart."""

    many: bool = False
    percent: bool = False
    unit: str = ""


PLAIN = Rules()
"""One answer, no unit, no percentage asked for."""

Ask = Callable[[dict[str, object]], str]


def same_answer(given: str, gold: str, rules: Rules = PLAIN, ask: Ask | None = None) -> bool:
    r"""Whether `given` says what `gold` says. Pure; may start worker processes (math-verify) for algebra.

    Numbers are equal exactly: 0.333 is not 1/3. Lists and sets are compared in any order, tuples, intervals and
    matrices in theirs. A unit may be left out but not be another one; a percent sign and a base count, since they
    change the number. `name =` may be left out, not changed. What the algebra cannot read or finish is not the same.

    Raises `ConfigError` where algebra is needed and math-verify is missing, `TaskError` where workers cannot start.

    >>> [same_answer(given, r"\frac{1}{2}") for given in ("1/2", "0.5", r"\tfrac12", "50%", "0.49", "-1/2", "2")]
    [True, True, True, True, False, False, False]
    >>> same_answer("(1, 2)", "(2,1)"), same_answer("2, 1", "1,2"), same_answer("5 cm", r"5 \text{ m}")
    (False, True, False)
    """
    if len(given) > MAX_LENGTH:
        return False
    return _cached(given, gold, rules) if ask is None else _Judge(rules, ask).texts(given, gold)


@lru_cache(maxsize=65_536)
def _cached(given: str, gold: str, rules: Rules) -> bool:
    return _Judge(rules, lambda question: shared().ask(question)).texts(given, gold)


@lru_cache(maxsize=8_192)
def _shape(text: str, many: bool) -> tuple[str, Shape]:
    neat = tidy(text)
    return neat, shape(neat, many)


class _Judge:
    def __init__(self, rules: Rules, ask: Ask) -> None:
        self.rules, self.ask = rules, ask
        self.unit = unit_of(rules.unit)
        self.percent = rules.percent or self.unit == "%"

    def texts(self, given: str, gold: str) -> bool:
        neat, wanted = _shape(gold, self.rules.many)
        said, found = _shape(given, self.rules.many or wanted.kind == "list")
        if not said:
            return False
        return bare(said) == bare(neat) or self.shapes(found, wanted)

    def shapes(self, given: Shape, gold: Shape) -> bool:
        if gold.name and given.name and gold.name != given.name:
            return False
        if given.kind == "list" and given.items and gold.kind != "list":
            return all(self.shapes(one, gold) for one in given.items)  # one answer in several forms
        if gold.kind == "list" and len(gold.items) == 1 and given.kind != "list":
            gold = gold.items[0]
        if given.kind != gold.kind:
            return self._across(given, gold)
        if gold.kind in ("list", "union"):
            return self._in_any_order(given.items, gold.items)
        if gold.kind in ("tuple", "matrix", "relation"):
            pairs = zip(given.items, gold.items)
            return (
                given.mark == gold.mark
                and len(given.items) == len(gold.items)
                and all(self.shapes(one, two) for one, two in pairs)
            )
        if gold.kind == "text":
            return _plain(given.text) == _plain(gold.text)
        if gold.kind == "based":
            return (given.text, given.mark) == (gold.text, gold.mark)
        if gold.kind == "equation":
            return self._equations(given, gold)
        return self.values(given.text, gold.text)

    def _across(self, given: Shape, gold: Shape) -> bool:
        """Kinds that can say the same though they differ."""
        kinds = {given.kind, gold.kind}
        if "text" in kinds and kinds <= {"text", "value"}:
            return _plain(given.text) == _plain(gold.text)
        if kinds <= {"relation", "tuple", "union"} and "relation" in kinds:
            one, two = (as_interval(one) if one.kind == "relation" else one for one in (given, gold))
            return one.kind == two.kind and self.shapes(one, two)
        if kinds == {"matrix", "tuple"} and {given.mark, gold.mark} == {"1", "()"}:
            return len(given.items) == len(gold.items) and all(map(self.shapes, given.items, gold.items))
        if kinds == {"equation", "value"}:
            return self._equations(given, gold)
        return False

    def _in_any_order(self, given: tuple[Shape, ...], gold: tuple[Shape, ...]) -> bool:
        if len(given) != len(gold) or len(gold) >= MAX_ITEMS:
            return False
        left = list(gold)
        for one in given:
            place = next((place for place, two in enumerate(left) if self.shapes(one, two)), None)
            if place is None:
                return False
            del left[place]
        return True

    def _equations(self, given: Shape, gold: Shape) -> bool:
        sides = []
        for one in (gold, given):
            if one.kind == "equation":
                sides.append([one.items[0].text, one.items[1].text])
            elif one.name:
                sides.append([one.name, one.text])
            else:
                return False
        return self.ask({"op": "equation", "gold": sides[0], "given": sides[1]}) == "same"

    def values(self, given: str, gold: str) -> bool:
        """Two single values: without spaces equal, or equal as exact numbers, or equal by algebra."""
        if bare(given) == bare(gold):
            return True
        if r"\infty" in given + gold:
            return bare(given).lstrip("+") == bare(gold).lstrip("+")
        one, two = quantity(given), quantity(gold)
        unit = two.unit or self.unit
        if one.unit and unit not in ("", "%") and one.unit != unit:
            return False
        exact = rational(one.value), rational(two.value)
        if exact[0] is not None and exact[1] is not None:
            return self._numbers(one, exact[0], two, exact[1])
        if exact[1] is not None and (_WORDLIKE.fullmatch(given) or not re.search(r"[\d\\]", given)):
            return False
        if one.unit != two.unit and not one.value.strip():
            return False
        return self._algebra(one, two)

    def _numbers(self, one: Quantity, given: Fraction, two: Quantity, gold: Fraction) -> bool:
        given, gold = given * one.scale, gold * two.scale
        if self.percent and given == gold:
            return True
        return _percent(given, one) == (
            gold / 100 if self.unit == "%" and two.percent is False and one.percent else _percent(gold, two)
        )

    def _algebra(self, one: Quantity, two: Quantity) -> bool:
        if _INEXACT.search(one.value) or (one.percent != two.percent and not self.percent):
            return False
        question: dict[str, object] = {"op": "same", "gold": _scaled(two), "given": _scaled(one)}
        return self.ask(question) == "same"


def _percent(value: Fraction, of: Quantity) -> Fraction:
    return value / 100 if of.percent else value


def _scaled(value: Quantity) -> str:
    return value.value if value.scale == 1 else rf"\left({value.value}\right) \cdot {value.scale}"


def _plain(text: str) -> str:
    words = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    return re.sub(r"[\s()\[\].,]+", " ", words).strip().casefold()
