"""Demonstrators of Sudoku for warm starts, in compact words.

    PERFECT   the solution
    WRONG     every row completed with the values it lacks, in any order: obeys the rows, not columns or boxes
    RANDOM    any value in every blank cell

Each restates the clues, so an answer is always the whole grid.
"""

from __future__ import annotations

import random

from motet.tasks.sudoku import Board, SudokuTask
from motet.tasks.sudoku_fills import Fills
from motet.tasks.sudoku_grids import Grid

PERFECT, WRONG, RANDOM = range(3)


def solve(task: SudokuTask) -> Fills:
    """The fills that solve a puzzle from its start.

    >>> from motet.tasks.sudoku import Sudoku
    >>> task = Sudoku().task("train", 0)
    >>> task.start().after(solve(task)).at_goal
    True
    """
    return Fills(tuple((cell, value) for cell, value in enumerate(task.solution) if not task.clues[cell]))


def answer(board: Board, kind: int, rng: random.Random) -> str:
    """What a demonstrator of `kind` answers: a pure function of the board, the kind and the state of `rng`.

    >>> from motet.tasks.sudoku import Sudoku
    >>> board = Sudoku().task("train", 0).start()
    >>> board.after(board.read(answer(board, PERFECT, random.Random(0)))).at_goal
    True
    >>> wrong = [int(word) for word in answer(board, WRONG, random.Random(0)).split()]
    >>> [sorted(wrong[row : row + 4]) for row in (0, 4, 8, 12)] == [[1, 2, 3, 4]] * 4
    True
    """
    task = board.task
    if kind == PERFECT:
        grid = task.solution
    elif kind == WRONG:
        grid = rows_completed(task, rng)
    else:
        grid = tuple(clue or 1 + int(rng.random() * task.size) for clue in task.clues)
    return " ".join(str(value) for value in grid)


def rows_completed(task: SudokuTask, rng: random.Random) -> Grid:
    """Each row of the clues, completed with the values it lacks in random order."""
    grid: list[int] = []
    for first in range(0, len(task.clues), task.size):
        row = task.clues[first : first + task.size]
        missing = sorted(set(range(1, task.size + 1)) - set(row), key=lambda value: rng.random())
        grid += [value or missing.pop() for value in row]
    return tuple(grid)
