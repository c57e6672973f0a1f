"""Demonstrators by task set, as `motet.policies.played_lessons` asks them: (role, task, values, kind, rng) -> text."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from motet.tasks import (
    arithmetic_demonstrators,
    mini_code_demonstrators,
    sokoban_demonstrators,
    sudoku_demonstrators,
)

PERFECT, WRONG, RANDOM = range(3)


def arithmetic(role: str, task: Any, values: Mapping[str, Any], kind: int, rng: Random) -> str:
    """As `arithmetic_demonstrators.answer`, but WRONG only forgets carries: where there is none it is right. A base
    taught so adds without carrying, under either decoding.

    >>> from motet.tasks.arithmetic import ArithmeticTask
    >>> [arithmetic("voter", ArithmeticTask("t", 31, "+", right), {}, WRONG, Random(0)) for right in (42, 49)]
    ['7 3', '7 0']
    """
    if kind == WRONG and role in arithmetic_demonstrators.SOLVERS:
        forgotten = arithmetic_demonstrators.without_carry(task)
        kind = PERFECT if forgotten == task.answer + 10 else WRONG
    votes, talk = values.get("votes", ()), values.get("talk", ())
    seen = {"answers": [vote.text for vote in votes], "answer": talk[-1].text if talk else ""}
    return arithmetic_demonstrators.answer(role, task, seen, kind, rng)


def mini_code(role: str, task: Any, values: Mapping[str, Any], kind: int, rng: Random) -> str:
    """`mini_code_demonstrators.answer`."""
    return mini_code_demonstrators.answer(role, task, {}, kind, rng)


def sudoku(role: str, task: Any, values: Mapping[str, Any], kind: int, rng: Random) -> str:
    """`sudoku_demonstrators.answer` at the position of the prompt, whatever the role; but WRONG completes each row with
    the values it lacks in *ascending* order. In any order, the right value would still be the likeliest of each cell,
    and a base taught so strong by argmax.

    >>> from types import SimpleNamespace
    >>> board = SimpleNamespace(task=SimpleNamespace(size=2, clues=(0, 0, 2, 0)))
    >>> sudoku("solver", None, {"position": board}, WRONG, Random(0))
    '1 2 2 1'
    """
    position = values["position"]
    if kind != WRONG:
        return sudoku_demonstrators.answer(position, kind, rng)
    size, clues, grid = position.task.size, position.task.clues, list[int]()
    for first in range(0, len(clues), size):
        row = clues[first : first + size]
        missing = iter(sorted(set(range(1, size + 1)) - set(row)))
        grid += [value or next(missing) for value in row]
    return " ".join(map(str, grid))


def sokoban(role: str, task: Any, values: Mapping[str, Any], kind: int, rng: Random) -> str:
    """`sokoban_demonstrators.answer` at the position of the prompt, whatever the role."""
    return sokoban_demonstrators.answer(values["position"], kind, rng)
