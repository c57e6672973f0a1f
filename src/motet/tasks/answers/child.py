"""The other side of a worker: reads pairs of expressions, says whether they are equal. Runs as a program of its own.

It imports nothing of this package. One JSON object per line comes in, one goes out.
"""

from __future__ import annotations

import json
import logging
import random
import re
import resource
import sys
from fractions import Fraction
from typing import Any

POINTS, DIGITS = 8, 40
"""Random points (near and far) at which expressions with letters are compared, and digits carried there."""


def parse(latex: str) -> Any:
    """The expression of `latex`, decimals read as exact fractions; None where there is none."""
    from math_verify import LatexExtractionConfig, LatexNormalizationConfig
    from math_verify import parse as read

    exact = re.sub(r"\d*\.\d+", lambda found: _fraction(found.group()), latex)
    # units are told apart before: here `6m` is a product
    plain = LatexNormalizationConfig(basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none")
    config = LatexExtractionConfig(normalization_config=plain)
    found = read(f"${exact}$", extraction_config=[config], fallback_mode="no_fallback", parsing_timeout=None)
    return next((item for item in found if not isinstance(item, str)), None)


def _fraction(decimal: str) -> str:
    value = Fraction(decimal)
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


def same(gold: Any, given: Any) -> bool:
    """Numbers are compared with 40 digits; expressions at random points, and at whole ones where they are about whole
    numbers; what cannot be evaluated is left to math-verify."""
    from math_verify import verify
    from sympy import Basic

    if isinstance(gold, Basic) and isinstance(given, Basic):
        for whole in (False, True):
            verdict = at_points(gold, given, whole)
            if verdict is not False:
                break
        if verdict is not None:
            return verdict
    return bool(verify(gold, given, float_rounding=15, numeric_precision=30, timeout_seconds=None))


def at_points(gold: Any, given: Any, whole: bool) -> bool | None:
    """Whether both agree wherever both have a value; None where they have none. Whole points are tried only for what
    is about whole numbers."""
    from sympy import Abs, Integer, N, Rational, binomial, ceiling, factorial, floor
    from sympy.core.function import AppliedUndef

    if any(expr.has(AppliedUndef) for expr in (gold, given)) or not all(
        hasattr(expr, "evalf") and getattr(expr, "is_Boolean", False) is False for expr in (gold, given)
    ):
        return None
    if whole and not any(expr.has(floor, ceiling, factorial, binomial, Integer(-1)) for expr in (gold, given)):
        return False
    letters = sorted(gold.free_symbols | given.free_symbols, key=str)
    if whole and not letters:
        return False
    compared, numbers = 0, random.Random(12345)
    for point in range((2 * POINTS if whole else POINTS) if letters else 1):
        high = 499 if point % 2 else 9_999
        at = {
            letter: Integer(numbers.randint(2, 14)) if whole else Rational(numbers.randint(101, high), 173)
            for letter in letters
        }
        one, two = N(gold.subs(at), DIGITS), N(given.subs(at), DIGITS)
        if not (one.is_number and two.is_number and one.is_finite and two.is_finite):
            continue
        gap = Abs(N(one - two, DIGITS))
        if not gap.is_comparable:
            continue
        compared += 1
        if gap > Rational(1, 10**25) * (1 + Abs(one)):
            return False
    return True if compared else None


def proportional(gold: list[str], given: list[str]) -> bool | None:
    """Whether two equations, each as [left, right], have the same solutions because one is a multiple of the other."""
    from sympy import Integer

    sides = [parse(part) for part in (*gold, *given)]
    if any(side is None for side in sides):
        return None
    one, two = sides[0] - sides[1], sides[2] - sides[3]
    ratio = (one / two).simplify()
    return bool(not ratio.free_symbols and ratio != Integer(0) and ratio.is_finite)


def answer(asked: dict[str, Any]) -> str:
    """`same`, `different`, or what could not be read."""
    if asked["op"] == "equation":
        verdict = proportional(asked["gold"], asked["given"])
        return "unreadable" if verdict is None else "same" if verdict else "different"
    gold, given = parse(asked["gold"]), parse(asked["given"])
    if gold is None or given is None:
        return "unreadable"
    return "same" if same(gold, given) else "different"


_FIRST: tuple[tuple[str, Any, Any], ...] = (
    ("same", "x+1", "1+x"),
    ("same", r"\sqrt{2}^2", "2"),
    ("same", r"\frac{\sin x}{3}", r"\lfloor x \rfloor"),
    ("same", r"\{1, x\}", "(1, 2)"),
    ("same", "4", ""),
    ("equation", ["y", "2x"], ["2y", "4x"]),
)
"""One question of each kind."""


def warm_up() -> None:
    """Pay for imports and tables before the first question, so that its time is its own."""
    try:
        for op, gold, given in _FIRST:
            answer({"op": op, "gold": gold, "given": given})
    except ImportError:
        return  # each question will say so


def main() -> int:
    cpu_s, memory = int(sys.argv[1]), int(sys.argv[2])
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    replies = sys.stdout
    sys.stdout = sys.stderr
    warm_up()
    replies.write(json.dumps("started") + "\n")
    replies.flush()
    for line in sys.stdin:
        # the other side measures and ends this process; this bound, which goes by samples, is for where it cannot
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (2 * int(used.ru_utime + used.ru_stime + cpu_s) + 10, hard))
        try:
            verdict = answer(json.loads(line))
        except MemoryError:
            verdict = "memory"
        except ImportError as error:
            verdict = f"missing {error}"
        except Exception as error:  # noqa: BLE001  whatever the algebra raises on odd text means: not readable
            verdict = f"unreadable {type(error).__name__}"
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
        replies.write(json.dumps(verdict) + "\n")
        replies.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
