"""Which answers are the same, and which are not. The rates on whole data sets are in docs/answers.md."""

from __future__ import annotations

import threading

import pytest

from motet.tasks.answers import Rules, is_right, same_answer
from motet.tasks.answers.equal import MAX_LENGTH


def never(question: dict) -> str:
    raise AssertionError(f"algebra was asked for {question}")


@pytest.mark.parametrize(
    ("given", "gold"),
    [
        ("025", "25"), ("27.0", "27"), ("1/2", r"\frac{1}{2}"), (r"\tfrac12", "0.5"), ("50%", "0.5"),
        ("62.5\\%", r"\frac{5}{8}"), ("1,234", "1234"), ("1{,}234", "1234"), (r"10,\!080", "10080"),
        ("$42$.", "42"), ("42 apples", "42"), (r"42\text{ apples}", "42"), ("90", r"90^\circ"),
        ("90 degrees", r"90^{\circ}"), ("90\u00b0", r"90^\circ"), (r"\$18.90", "18.9"),
        ("5.4 cents", r"5.4 \text{ cents}"),
        ("864", r"864 \mbox{ inches}^2"), (r"864 \text{ square inches}", r"864 \mbox{ inches}^2"),
        ("3 million", "3000000"), ("x = 5", "5"), ("5", "x=5"), (r"x \in [-2,7]", "[-2,7]"),
        (r"-2 \le x \le 7", r"x \in [-2,7]"), ("x > 5", r"(5,\infty)"), (r"k \ge 2", r"k \geqslant 2"),
        (r"2 \le k", r"k \geqslant 2"), ("-2, 1", "1,-2"), (r"\{1, 2\}", "2,1"), ("1 and -2", "1,-2"),
        (r"( 3 , \frac12 )", r"\left(3,0.5\right)"), ("(3,4]", "(3, 4]"), (r"(3,5) \cup (1,2)", r"(1,2)\cup(3,5)"),
        ("C", r"\text{(C)}"), (r"\textbf{(C)}", r"\text{(C)}"), ("evelyn", r"\text{Evelyn}"), ("52_{8}", "52_8"),
        (r"\begin{bmatrix} 0.2 \\ 3 \end{bmatrix}", r"\begin{pmatrix} 1/5 \\ 3 \end{pmatrix}"),
        (r"2^{1009}", r"2 \cdot 2^{1008}"), ("\u2212 3", "-3"), (r"\displaystyle 7", "7"),
        (r"\textbf{(55) }", "055"), (r"15\frac{39}{40}, \frac{639}{40}", "15.975"),
        ("sqrt(13)", r"\sqrt{13}"), ("2 pi", r"2\pi"), ("(-inf, 3)", r"(-\infty,3)"),
    ],
)  # fmt: skip
def test_rewrites_of_numbers_and_structures_are_accepted_without_algebra(given: str, gold: str) -> None:
    assert same_answer(given, gold, ask=never)


@pytest.mark.parametrize(
    ("given", "gold"),
    [
        ("26", "25"), ("-25", "25"), ("250", "25"), ("0.333", "1/3"), ("0.3333333333", "1/3"), ("", "5"),
        ("5 or 6", "5"), ("5, 6", "5"), ("(2,1)", "(1,2)"), ("[1,2]", "(1,2)"), ("(3,4)", "(3,4]"),
        ("[-2,7)", r"x \in [-2,7]"), ("x < 5", r"(5,\infty)"), (r"k > 2", r"k \ge 2"), ("1,-2,3", "1,-2"),
        ("1", "1,-2"),
        ("1,1", "1,-2"), ("y = 5", "x = 5"), ("62.5", r"62.5\%"), ("8", r"8 \%"), (r"25\%", "25"), ("52", "52_8"),
        ("52_9", "52_8"), ("5.4 dollars", r"5.4 \text{ cents}"), (r"15\text{ cm}^3", r"15\mbox{ cm}^2"),
        ("90 radians", r"90^\circ"), ("D", r"\text{(C)}"), ("Evelyns", r"\text{Evelyn}"), ("no idea", "5"), ("x", "5"),
        (r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        (r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        (r"(1,2)", r"(1,2)\cup(3,5)"), ("1 2", "12"), ("9" * (MAX_LENGTH + 1), "9"),
    ],
)  # fmt: skip
def test_near_misses_of_numbers_and_structures_are_rejected_without_algebra(given: str, gold: str) -> None:
    assert not same_answer(given, gold, ask=never)


def test_a_percent_sign_may_be_left_out_where_the_question_asks_for_a_percentage() -> None:
    asked = Rules(percent=True)
    assert (
        same_answer("17.5", "17.5%", asked) and same_answer("60%", "60", asked) and same_answer("0.175", "17.5%", asked)
    )
    assert not same_answer("1750", "17.5%", asked)
    stated = Rules(unit="%")
    assert (
        same_answer("4.2%", "4.2", stated)
        and same_answer("4.2", "4.2", stated)
        and not same_answer("42%", "4.2", stated)
    )


def test_a_unit_that_the_data_set_keeps_apart_may_be_given_and_not_be_another() -> None:
    rules = Rules(unit="minute")
    assert (
        same_answer("45", "45", rules) and same_answer("45 minutes", "45", rules) and same_answer("45 min", "45", rules)
    )
    assert not same_answer("45 hours", "45", rules)


def test_commas_between_digits_separate_answers_where_there_are_many() -> None:
    many = Rules(many=True)
    assert same_answer("100, 200", "200,100", many) and not same_answer("200100", "200,100", many)
    assert (
        same_answer("200100", "200,100")
        and same_answer("-2, -2", "-2,-2", many)
        and not same_answer("-2", "-2,-2", many)
    )


def test_a_text_is_right_by_the_answer_it_gives() -> None:
    assert is_right(r"Not 3. So \boxed{\dfrac{6}{2}}.", "3") and not is_right(r"3, hence \boxed{4}", "3")
    assert not is_right("3", "3", forms=("boxed",))


class TestAlgebra:
    """What math-verify and 40 digits decide, in processes that can be killed."""

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("math_verify")

    @pytest.mark.parametrize(
        ("given", "gold"),
        [
            (r"\sqrt{117}", r"3\sqrt{13}"), (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"), (r"\sqrt{4}", "2"),
            ("n(n+1)/2", r"\frac{n^2+n}{2}"), ("(2+b)(5+a)", "(a+5)(b+2)"), ("-i+1", "1 - i"), (r"\frac{6m}{1}", "6m"),
            (r"\frac{1}{\tan x}", r"\cot x"), ("2x - y + 3 = 0", "y = 2x + 3"), ("10x-14y+22z+8=0", "5x-7y+11z+4=0"),
            (r"1 - \sqrt{19}, 1+\sqrt{19}", r"1 \pm \sqrt{19}"), (r"\lfloor (n+1)/2 \rfloor", r"\lceil n/2 \rceil"),
            (r"(3, \frac{2\pi}{4})", r"(3, \frac{\pi}{2})"), (r"\frac{1}{2} \cdot 180^\circ", r"90^\circ"),
        ],
    )  # fmt: skip
    def test_equal_expressions_are_accepted(self, given: str, gold: str) -> None:
        assert same_answer(given, gold)

    @pytest.mark.parametrize(
        ("given", "gold"),
        [
            ("3.14159265358979", r"\pi"), (r"\sqrt{14}", r"\sqrt{13}"), ("x+1", "x+2"), ("10n", "n"), ("-n", "n"),
            (r"\lfloor (2n-1)/6 \rfloor", r"\lfloor (2n-1)/5 \rfloor"), ("y = 2x + 4", "y = 2x + 3"), ("6", "6m"),
            (r"1+\sqrt{19}", r"1 \pm \sqrt{19}"), (r"3.6055...", r"\sqrt{13}"), (r"\frac{", r"\sqrt{13}"),
            (r"5\sqrt{3} \text{ cm}", r"5\sqrt{3} \text{ m}"),
        ],
    )  # fmt: skip
    def test_other_expressions_are_rejected(self, given: str, gold: str) -> None:
        assert not same_answer(given, gold)

    def test_it_answers_in_every_thread(self) -> None:
        verdicts = []
        asked = [(rf"\sqrt{{{n * n * 13}}}", rf"{n}\sqrt{{13}}") for n in range(2, 10)]
        threads = [threading.Thread(target=lambda a=a: verdicts.append(same_answer(*a))) for a in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert verdicts == [True] * 8
