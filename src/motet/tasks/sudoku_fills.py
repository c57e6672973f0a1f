"""Reads what an answer fills into a Sudoku. Nothing is ever evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motet.tasks.plain_lists import outer_lists, plain_value

_BLANKS = (0, None, "", "0", "_", ".", "?", "-")


@dataclass(frozen=True, slots=True)
class Fills:
    """Parsed fills: `steps` are (cell, value). `failure` says what was wrong.

    A compact answer that goes wrong half-way keeps the fills before that; a chat answer with a wrong entry keeps none.
    """

    steps: tuple[tuple[int, int], ...] = ()
    failure: str | None = None


def parse_fills(text: str, size: int) -> Fills:
    """Read the fills of an answer: the values of all cells in reading order (`1 _ 3 4 ...`), or a list.

    The last list counts, and after the last `####` if there is one. It holds the rows of a grid (each a list or a
    text), the values of a whole grid, or [row, column, value] with rows and columns from 0. Blanks in a grid are 0,
    null, "_" or ".".

    >>> parse_fills("2 _ 1", 4).steps
    ((0, 2), (2, 1))
    >>> parse_fills("I see. #### [[0, 3, 2], [3, 3, 1]] as said", 4)
    Fills(steps=((3, 2), (15, 1)), failure=None)
    >>> parse_fills("#### [[0, 3, 7]]", 4)
    Fills(steps=(), failure='[0, 3, 7] is no [row, column, value] of a grid of 4')
    """
    marked = text.rpartition("####")
    scope = marked[2]
    lists = outer_lists(scope)
    if lists:
        return _read_list(lists[-1], size)
    if marked[1] and "[" not in scope:
        return Fills((), "no list of fills after ####")
    if "[" in scope:
        return Fills((), "the list of fills has no end")
    return _read_words(text, size)


def _read_list(text: str, size: int) -> Fills:
    try:
        items = plain_value(text)
    except ValueError as error:
        return Fills((), str(error))
    if not isinstance(items, list) or not items:
        return Fills((), "the list of fills is empty")
    rows = [list(item.replace(" ", "")) if isinstance(item, str) else item for item in items]
    if all(isinstance(row, (list, tuple)) for row in rows):
        if len(rows) == size and all(len(row) == size for row in rows):
            return _read_grid([value for row in rows for value in row], size)
        return _read_triples(rows, size)
    if len(items) == size * size:
        return _read_grid(items, size)
    return _read_triples([items], size)


def _read_grid(values: list[Any], size: int) -> Fills:
    steps = []
    for cell, value in enumerate(values):
        if not isinstance(value, (list, tuple, dict)) and value in _BLANKS and value is not False:
            continue
        number = _number(value)
        if number is None or not 1 <= number <= size:
            return Fills((), f"{_short(value)} is no value of a grid of {size}")
        steps.append((cell, number))
    return Fills(tuple(steps), None if steps else "the grid is blank")


def _read_triples(rows: list[Any], size: int) -> Fills:
    steps = []
    for row in rows:
        numbers = [_number(value) for value in row]
        if len(numbers) != 3 or any(number is None for number in numbers):
            return Fills((), f"{_short(row)} is no [row, column, value] of a grid of {size}")
        down, right, value = (number or 0 for number in numbers)
        if not (0 <= down < size and 0 <= right < size and 1 <= value <= size):
            return Fills((), f"{_short(row)} is no [row, column, value] of a grid of {size}")
        steps.append((down * size + right, value))
    return Fills(tuple(steps))


def _number(value: Any) -> int | None:
    if isinstance(value, str) and len(value) <= 2 and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_words(text: str, size: int) -> Fills:
    steps: list[tuple[int, int]] = []
    words = text.split()
    for cell, word in enumerate(words):
        if cell == size * size:
            return Fills(tuple(steps), f"more than {size * size} words")
        if word == "_":
            continue
        number = _number(word)
        if number is None or not 1 <= number <= size:
            hint = "" if steps else ", and there is no list of fills"
            return Fills(tuple(steps), f"{_short(word)} is no value of a grid of {size}{hint}")
        steps.append((cell, number))
    if not steps:
        return Fills((), "the grid is blank" if words else "the answer is empty")
    return Fills(tuple(steps), None if len(words) == size * size else f"{len(words)} of {size * size} cells")


def _short(item: object) -> str:
    text = repr(item)
    return text if len(text) <= 24 else text[:20] + "..." + text[-1]
