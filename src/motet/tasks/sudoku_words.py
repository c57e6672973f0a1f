"""What Sudoku shows of itself, in both dialects. Nothing here looks at the solution."""

from __future__ import annotations

from motet.tasks.games import BLANK, Shown, number_word
from motet.tasks.sudoku import Board
from motet.tasks.sudoku_fills import Fills
from motet.tasks.sudoku_grids import BOXES

RULES = """You fill in a grid of {size} rows and {size} columns, made of boxes of {high} rows and {wide} columns.
Every row, every column and every box holds each of the values 1 to {size} once. There is one solution.
Rows count from the top, columns from the left, both from 0. Given cells cannot be changed, cells that you filled can.
A value that stands already in the same row, column or box is refused, costs one fill and leaves the cell blank.

Legend: . blank, | and - between boxes"""

ANSWER = (
    "Think briefly, then end with one line: four hash marks and a JSON list, either of the rows of the whole grid "
    "(0 for a cell you leave blank) or of the cells to fill:\n#### [[row, column, value], ...]"
)

LIST = (
    "a JSON list, either of the rows of the whole grid (0 for a cell left blank) or of the cells to fill in, "
    "[[row, column, value], ...]"
)

DID = {
    "none": "This is the first answer.",
    "ok": "The last answer was filled in as asked.",
    "bump": "Part of the last answer was refused: it broke a rule.",
    "empty": "The last answer changed no cell.",
}


def compact(board: Board) -> Shown:
    """DID nB, then the grid in reading order: digits are given, letters (`a` is 1) were filled in, `_` is blank.

    The answer is the whole grid in the same order, all in digits.
    """
    words = [
        str(value) if clue else fill_word(value) if value else BLANK
        for value, clue in zip(board.cells, board.task.clues)
    ]
    return Shown("", f"{board.last} {number_word(board.moves_left)}", " ".join(words))


def fill_word(value: int) -> str:
    """The compact word of a value that was filled in.

    >>> fill_word(1), fill_word(9)
    ('a', 'i')
    """
    return chr(ord("a") + value - 1)


def chat(board: Board) -> Shown:
    """Rules, the grid drawn, what was filled in, the budget, what happened, and the output format."""
    task = board.task
    high, wide = BOXES[task.size]
    own = [(cell, value) for cell, value in enumerate(board.cells) if value and not task.clues[cell]]
    lines = [
        draw_board(board),
        "",
        f"You filled in so far: {_said(own, task.size) or 'nothing'}.",
        f"Fills left: {board.moves_left}.",
        DID[board.last],
    ]
    return Shown(
        stable=RULES.format(size=task.size, high=high, wide=wide),
        now="\n".join(lines),
        answer_form=ANSWER,
        list_form=LIST,
        board="the grid",
        does="fills in the cells",
        aim="towards the solution: fill in as many cells as you are sure of",
    )


def draw_board(board: Board) -> str:
    """One line per row, boxes divided by `|` and lines of `-`.

    >>> from motet.tasks.sudoku import SudokuTask
    >>> solved = (1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1)
    >>> print(draw_board(SudokuTask("t", 4, (0, *solved[1:]), solved, 2).start()))
    . 2 | 3 4
    3 4 | 1 2
    ---------
    2 1 | 4 3
    4 3 | 2 1
    """
    size = board.task.size
    high, wide = BOXES[size]
    lines = []
    for row in range(size):
        marks = [str(value or ".") for value in board.cells[row * size : (row + 1) * size]]
        line = " | ".join(" ".join(marks[first : first + wide]) for first in range(0, size, wide))
        lines += ["-" * len(line)] if row and row % high == 0 else []
        lines.append(line)
    return "\n".join(lines)


def tell_compact(board: Board, fills: Fills) -> str:
    """The proposal as a grid in reading order, `_` where it says nothing."""
    said = dict(fills.steps)
    return " ".join(str(said.get(cell, BLANK)) for cell in range(board.task.size**2))


def tell_chat(board: Board, fills: Fills) -> str:
    """The fills of the proposal that change a cell, as (row, column) = value."""
    changed = [(cell, value) for cell, value in fills.steps if board.cells[cell] != value]
    return f"to fill in: {_said(changed, board.task.size) or 'nothing'}"


def _said(fills: list[tuple[int, int]], size: int) -> str:
    return ", ".join(f"({cell // size}, {cell % size}) = {value}" for cell, value in fills)
