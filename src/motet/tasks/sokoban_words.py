"""What Sokoban shows of itself, in both dialects. Nothing here is computed by a search."""

from __future__ import annotations

from collections.abc import Iterable

from motet.tasks.games import BLANK, Shown, number_word
from motet.tasks.plan_path_grid import moved_to
from motet.tasks.plan_path_moves import Moves
from motet.tasks.plan_path_words import ANSWER, DID, LIST, place, places
from motet.tasks.sokoban import Position

RULES = """You push boxes on a grid until every box stands on a target.
Rows count from the top, columns from the left, both from 0.
U moves you one row up, D one row down, L one column left, R one column right. Moving into a box pushes it one cell on.
A box cannot be pushed into a wall, off the grid or into another box, and never pulled: one in a corner stays there.
A move that is not possible fails, costs one move and ends the walk. At most {cap} moves are made per answer.

Legend: # wall, . free, T target, B box, * box on a target, @ you, + you on a target"""


def cell_word(cell: int, size: int, kind: str = "c") -> str:
    """The compact word of a cell: its row and its column, a digit each (two each above a side of 10). `c` a cell to
    stand on or enter or with a box, `x` a wall, `g` a target.

    >>> cell_word(8, 6), cell_word(8, 6, "x"), cell_word(30, 12)
    ('c12', 'x12', 'c0206')
    """
    digits = 1 if size <= 10 else 2
    return f"{kind}{cell // size:0{digits}d}{cell % size:0{digits}d}"


def cell_words(cells: Iterable[int], size: int, kind: str = "c") -> str:
    return " ".join(cell_word(cell, size, kind) for cell in cells)


def compact(position: Position) -> Shown:
    """TARGETS WALLS, then DID nB box BOXES, last where the player stands; one word per cell.

    The answer goes on from the last word, cell by cell.
    """
    task = position.task
    stable = (cell_words(task.targets, task.size, "g"), cell_words(task.walls, task.size, "x"))
    return Shown(
        stable=" ".join(words for words in stable if words),
        now=f"{position.last} {number_word(position.moves_left)} box {cell_words(position.boxes, task.size)}",
        here=cell_word(position.player, task.size),
    )


def chat(position: Position) -> Shown:
    """Rules, the room drawn, who stands where, the budget, what happened, and the output format."""
    task = position.task
    size = task.size
    lines = [
        draw_room(position),
        "",
        f"You are at {place(position.player, size)}.",
        f"Boxes: {places(position.boxes, size)}. Targets: {places(task.targets, size)}.",
        f"Moves left: {position.moves_left}.",
        f"Walked so far: {places(position.walked, size) or 'nothing'}.",
        DID[position.last],
    ]
    return Shown(
        stable=RULES.format(cap=task.max_moves_per_call),
        now="\n".join(lines),
        answer_form=ANSWER,
        list_form=LIST,
        board="the room",
        does="makes the walk",
        aim="towards having every box on a target",
    )


def draw_room(position: Position) -> str:
    """One line per row, in the letters of the legend.

    >>> from motet.tasks.sokoban import SokobanTask
    >>> print(draw_room(SokobanTask("t", 3, (4,), (2, 8), 2, (1, 8), 4, 8).start()))
    . B +
    . # .
    . . *
    """
    task = position.task
    letters = ["."] * task.size**2
    for cells, mark in ((task.walls, "#"), (task.targets, "T"), (position.boxes, "B"), ((position.player,), "@")):
        for cell in cells:
            letters[cell] = {"TB": "*", "T@": "+"}.get(letters[cell] + mark, mark)
    rows = [letters[first : first + task.size] for first in range(0, len(letters), task.size)]
    return "\n".join(" ".join(row) for row in rows)


def tell_compact(position: Position, moves: Moves) -> str:
    """The proposal in `max_moves_per_call` words: the cells it enters, then blanks."""
    task, cells = position.task, plan_cells(position, moves)
    return " ".join(
        [*(cell_word(cell, task.size) for cell in cells), *[BLANK] * (task.max_moves_per_call - len(cells))]
    )


def tell_chat(position: Position, moves: Moves) -> str:
    """The cells of the proposal as (row, column)."""
    return f"to enter: {places(plan_cells(position, moves), position.task.size) or 'nothing'}"


def plan_cells(position: Position, moves: Moves) -> list[int]:
    """The cells that a proposal enters as it was said, walls or not; directions are followed until they leave the
    grid.
    """
    cells, cell = list[int](), position.player
    for step in moves.steps[: position.task.max_moves_per_call]:
        cell = moved_to(cell, step, position.task.size) if isinstance(step, str) else step
        if cell < 0:
            break
        cells.append(cell)
    return cells
