"""Reads a sequence of moves out of what a model said. Nothing is ever evaluated."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

DIRECTIONS: dict[str, tuple[int, int]] = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
"""Letter of a move -> (rows down, columns right)."""

_NAMES = {name: name[0] for name in ("UP", "DOWN", "LEFT", "RIGHT")} | {letter: letter for letter in DIRECTIONS}
_LIST = re.compile(r"\[[^\[\]]*\]")
_CELL = re.compile(r"c([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Moves:
    """Parsed moves: each step is a direction ("U", "D", "L", "R") or the cell to enter next. `failure` says what was
    wrong.

    A compact answer that goes wrong half-way keeps the steps before that; a chat answer with a wrong entry keeps none.
    """

    steps: tuple[int | str, ...] = ()
    failure: str | None = None


def parse_moves(text: str) -> Moves:
    """Read the moves of an answer: cells (`c12 c13`) or a list of directions (`#### ["U", "D"]`).

    The last list counts, and after the last `####` if there is one. Letters and words, any case, quoted or bare.

    >>> parse_moves("c12 c13")
    Moves(steps=(12, 13), failure=None)
    >>> parse_moves('First ["U"], better: #### ["d", "Right"] as said')
    Moves(steps=('D', 'R'), failure=None)
    >>> parse_moves("I would go up")
    Moves(steps=(), failure="'I' is no cell, and there is no list of moves")
    """
    marked = text.rpartition("####")
    scope = marked[2]
    lists = _LIST.findall(scope)
    if lists:
        return _read_list(lists[-1])
    if marked[1]:
        return Moves((), "no list of moves after ####")
    if "[" in scope:
        return Moves((), "the list of moves has no end")
    return _read_cells(text)


def _read_list(text: str) -> Moves:
    try:
        items = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        items = [item.strip().strip("'\"`").strip() for item in text[1:-1].split(",") if item.strip()]
    steps: list[int | str] = []
    for item in items:
        name = _NAMES.get(item.strip().upper()) if isinstance(item, str) else None
        if name is None:
            return Moves((), f"{_short(item)} is no direction")
        steps.append(name)
    return Moves(tuple(steps), None if steps else "the list of moves is empty")


def _read_cells(text: str) -> Moves:
    steps: list[int | str] = []
    for word in text.split():
        found = _CELL.fullmatch(word)
        if found is None:
            hint = "" if steps else ", and there is no list of moves"
            return Moves(tuple(steps), f"{_short(word)} is no cell{hint}")
        steps.append(int(found[1]))
    return Moves(tuple(steps), None if steps else "the answer is empty")


def _short(item: object) -> str:
    text = repr(item)
    return text if len(text) <= 24 else text[:20] + "..." + text[-1]
