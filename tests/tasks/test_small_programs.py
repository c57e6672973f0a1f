"""One-line programs: the words that are allowed join to Python, and nothing else gets through."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.tasks.small_programs import FUNCTIONS, MAX_WORDS, WORDS, expression_in, expression_of, program_of


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        ("x * n2 + n3", "x * 2 + 3"),
        ("x * 2 + 03", "x * 2 + 3"),
        ("max ( x , n7 )", "max(x, 7)"),
        ("[ a for a in x if a > n4 ]", "[a for a in x if a > 4]"),
        ("x [ : : - n1 ]", "x[::-1]"),
        ("x if x > n3 else n1", "x if x > 3 else 1"),
        ("n63", "63"),
        ("", None),
        ("x +", None),
        ("x x", None),
        ("x ( n1 )", None),
        ("sum", None),
        ("b + n1", None),
        ("n999", None),
        ("x * * n9", None),
        ("[ * x ]", None),
        ("c01 c02", None),
        (" ".join(["("] * MAX_WORDS), None),
        (" + ".join(["x"] * MAX_WORDS), None),
    ],
)
def test_words_join_to_an_expression_or_are_none(words: str, expression: str | None) -> None:
    assert expression_in(words) == expression


@pytest.mark.parametrize(
    "program",
    [
        "import os",
        "def f(x): return open(x)",
        "def f(x): return x.__class__",
        "def f(x): return (lambda: x)()",
        "def f(x): return 'a'",
        "def f(x): return 9 ** 9 ** 9",
        "def f(x): return (a := x)",
        "def f(x): return [x for x in x]",
        "def f(x): return max(x, key=x)",
        "def f(x, y=print()): return x",
        "@print\ndef f(x): return x",
        "def f(x) -> print(): return x",
        "def f(x: print()): return x",
        "def g(x): return x",
        "def f(x): return x\nimport os",
        "async def f(x): return x",
        "def f(x): return 10000",
        "def f(x): return True",
        "def f(x): return __import__",
        "def f(x): return",
        "def f(x): return f(x)",
        "\x00",
        "(" * 300,
        "-" * 300 + "1",
        "def f(x): return " + "+".join("x" * 100),
    ],
)
def test_any_other_program_is_not_taken_for_a_small_one(program: str) -> None:
    assert expression_of(program) is None


@given(st.lists(st.sampled_from(sorted(WORDS) + [f"n{number}" for number in range(64)]), max_size=14))
def test_whatever_the_words_an_expression_has_only_allowed_names(words: list[str]) -> None:
    expression = expression_in(" ".join(words))
    if expression is not None:
        nodes = list(ast.walk(ast.parse(expression, mode="eval")))
        assert {node.id for node in nodes if isinstance(node, ast.Name)} <= {"x", "a", *FUNCTIONS}
        assert not any(isinstance(node, (ast.Attribute, ast.Lambda, ast.NamedExpr)) for node in nodes)
        assert expression_of(program_of(expression)) == expression


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert expression_in(text) is None or expression_of(program_of(str(expression_in(text)))) is not None
    expression_of(text)
