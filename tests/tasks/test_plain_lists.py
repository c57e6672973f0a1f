"""Lists in a text, read as plain values."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.tasks.plain_lists import outer_lists, plain_value


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("", []),
        ("no list", []),
        ("[1] and [2, [3]]", ["[1]", "[2, [3]]"]),
        ("[1, [2", []),
        ("[ [1]", ["[1]"]),
        ("1] [2]", ["[2]"]),
        ("```json\n[[1],\n [2]]\n```", ["[[1],\n [2]]"]),
    ],
)
def test_outer_lists_by_hand(text: str, lists: list[str]) -> None:
    assert outer_lists(text) == lists


@pytest.mark.parametrize(
    "text",
    [
        "[1",
        "[x]",
        "[f(1)]",
        "[" * 9 + "]" * 9,
        "[" * 500 + "]" * 500,
        "[" + "1," * 9_999 + "]",
        "[" + "9" * 9_000 + "]",
    ],
)
def test_what_is_no_plain_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the list"):
        plain_value(text)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="[](){}'\"1,x_ \\n#-", max_size=60))
def test_any_text_gives_lists_that_lie_in_it_and_are_read_or_refused(text: str) -> None:
    for found in outer_lists(text):
        assert found in text and found[0] == "[" and found[-1] == "]"
        with suppress(ValueError):
            plain_value(found)
