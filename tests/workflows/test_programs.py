"""The program inside an answer, and what is shown of its output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.sandbox import Ran
from motet.workflows.programs import Output, find_program, output_of, run_program, shorten


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\na\n```", "a\n"),
        ("```\na\n```", "a\n"),
        ("```py\na\n```\nthen\n```Python\nb\n```", "b\n"),
        ("```python\na\n```\nIt prints\n```text\n3\n```", "a\n"),
        ("```python\na\n```\n```python\n\n```", "a\n"),
        ("  ```python\n  a\n  ```", "  a\n"),
        ("```python\na\n```\n```python\ncut off", "a\n"),
        ("```python\ns = '```'\n```", "s = '```'\n"),
        ("```python\ncut off", None),
        ("```python a```", None),
        ("x + n1", "def f(x):\n    return x + 1\n"),
        ("n2 + n3", "def f(x):\n    return 2 + 3\n\nprint(f(0))\n"),
        ("no program", None),
        ("", None),
    ],
)
def test_the_last_python_block_or_the_words_of_a_program(text: str, program: str | None) -> None:
    assert find_program(text) == program


@given(st.text(max_size=80), st.integers(0, 60))
def test_a_shortened_text_keeps_to_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit and (short == text or len(text) > limit)
    assert find_program(text) is None or isinstance(find_program(text), str)


def test_the_output_keeps_the_last_line_of_a_traceback_and_how_it_ended() -> None:
    ran = Ran("error", 1, "half\n", "Traceback (most recent call last):\nValueError: bad\n", 0.1)
    assert output_of(ran) == Output("error", "half\n", "ValueError: bad")
    assert output_of(ran).shown() == "half\nIt ended with an error. ValueError: bad"
    assert output_of(Ran("ok", 0, " \n", "", 0.1)).shown() == "It printed nothing."
    assert run_program(None) == Output("none") and not Output("none").ok
