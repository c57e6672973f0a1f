"""Finds the lists in a text and reads them as plain values. Nothing is ever evaluated."""

from __future__ import annotations

import ast
import json
from typing import Any

MAX_CHARACTERS = 10_000
"""A longer list is not read."""
MAX_DEPTH = 8


def outer_lists(text: str) -> list[str]:
    """The balanced lists of a text that lie in no other list; a bracket that is never closed opens none.

    >>> outer_lists("a [1, [2]] b [3] c [4")
    ['[1, [2]]', '[3]']
    """
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for place, mark in enumerate(text):
        if mark == "[":
            opened.append(place)
        elif mark == "]" and opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, place + 1))
    return [text[start:end] for start, end in spans]


def plain_value(text: str) -> Any:
    """The plain value that a text spells as JSON or as a Python literal; raises ValueError for any other text.

    >>> plain_value("[[1, null]]"), plain_value("[(1, 2), 'a']")
    ([[1, None]], [(1, 2), 'a'])
    >>> plain_value("[print(1)]")
    Traceback (most recent call last):
    ValueError: the list holds what is no plain value
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError("the list is too long")
    depth = deepest = 0
    for mark in text:
        depth += (mark in "[({") - (mark in "])}")
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise ValueError("the list is nested too deeply")
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("the list holds what is no plain value") from error
