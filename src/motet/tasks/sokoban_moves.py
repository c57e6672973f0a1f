"""Reads the moves of a Sokoban answer. Nothing is ever evaluated."""

from __future__ import annotations

import re

from motet.tasks.plan_path_moves import DIRECTIONS, Moves, parse_moves

_CELL = re.compile(r"c([0-9]{2}|[0-9]{4})")


def parse_pushes(text: str, size: int) -> Moves:
    """Read the moves of an answer: compact words, each a letter (`U D L R`) or the cell to enter (`c12`: row 1, column
    2), or a list of directions as in Plan-Path (`#### ["U", "left"]`), where the last list counts, and after the last
    `####` if there is one.

    >>> parse_pushes("R c12", 6)
    Moves(steps=('R', 8), failure=None)
    >>> parse_pushes("so: #### ['u', 'Left']", 6).steps, parse_pushes("c12 c16", 6)
    (('U', 'L'), Moves(steps=(8,), failure='c16 is off the grid'))
    """
    if "[" in text or "####" in text:
        return parse_moves(text)
    steps: list[int | str] = []
    for word in text.split():
        found = _CELL.fullmatch(word)
        if word in DIRECTIONS:
            steps.append(word)
        elif found is None:
            hint = "" if steps else ", and there is no list of moves"
            return Moves(tuple(steps), f"{_short(word)} is no move{hint}")
        else:
            half = len(found[1]) // 2
            row, column = int(found[1][:half]), int(found[1][half:])
            if row >= size or column >= size:
                return Moves(tuple(steps), f"{word} is off the grid")
            steps.append(row * size + column)
    return Moves(tuple(steps), None if steps else "the answer is empty")


def _short(word: str) -> str:
    text = repr(word)
    return text if len(text) <= 24 else text[:20] + "..." + text[-1]
