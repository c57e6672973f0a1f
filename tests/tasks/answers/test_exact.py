"""Numbers are read exactly or not at all."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.tasks.answers.exact import rational


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-0.5", Fraction(-1, 2)),
        (".35625", Fraction(57, 160)),
        ("25.", 25),
        ("1,450,000", 1_450_000),
        ("10 080", 10_080),
        (r"\frac{3}{4}", Fraction(3, 4)),
        (r"-\frac{3}{-4}", Fraction(3, 4)),
        ("3/4/2", Fraction(3, 8)),
        (r"1\frac{4}{5}", Fraction(9, 5)),
        (r"137 \frac{1}{2}", Fraction(275, 2)),
        ("-1 1/2", Fraction(-3, 2)),
        (r"2^{10}", 1024),
        ("2^10", None),
        ("2^3", 8),
        (r"2^{-2}", Fraction(1, 4)),
        ("-2^2", -4),
        ("(-2)^2", 4),
        (r"10!/8!", 90),
        (r"\binom{5}{2}", 10),
        (r"2 \cdot 3 \times 4", 24),
        ("2(3)(4)", 24),
        (r"6.72 \times 10^{-5}", Fraction(672, 10**7)),
        (r"0.\overline{3}", Fraction(1, 3)),
        (r"1.1\overline{6}", Fraction(7, 6)),
        (r"\frac{4 \cdot 999^{4}}{27}", Fraction(4 * 999**4, 27)),
        ("1 - 2 + 3", 2),
    ],
)
def test_what_is_made_of_whole_numbers_has_its_exact_value(text: str, value: int | Fraction | None) -> None:
    assert rational(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "x", "two", "1/0", r"\frac{1}{0}", "0^{-1}", r"\sqrt{4}", r"\pi", "2^{1/2}", "9^{9^{9^{9}}}", "100000!",
     "(-3)!", "1.5!", r"3\frac{7}{2}", "2 3", "1,23", "(1", "1)", "--", "1+", "1..2", "(" * 900 + "1"],
)  # fmt: skip
def test_what_is_no_rational_number_or_too_large_is_none(text: str) -> None:
    assert rational(text) is None


@given(st.fractions(), st.fractions())
def test_sums_of_fractions_are_exact(one: Fraction, two: Fraction) -> None:
    def written(value: Fraction) -> str:
        return rf"{'-' if value < 0 else ''}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"

    assert rational(f"{written(one)} + ({written(two)})") == one + two


@given(st.text(alphabet="0123456789.,+-*/^!(){}\\fracbinom ", max_size=40))
def test_any_text_gives_a_fraction_or_none(text: str) -> None:
    assert rational(text) is None or isinstance(rational(text), Fraction)
