"""Demonstrators of Sokoban for warm starts, in compact words: the cells to enter, one after another.

PERFECT   a shortest solution, from wherever the position stands; one that is lost says nothing
WRONG     straight to the box that is nearest to a target and on towards that target, walls and other boxes ignored,
          and without walking round the box: wrong, but in a coherent way
RANDOM    any neighbour on the grid
"""

from __future__ import annotations

import random

from motet.tasks.plan_path_grid import neighbours
from motet.tasks.plan_path_moves import Moves
from motet.tasks.sokoban import Position, SokobanTask
from motet.tasks.sokoban_rooms import stepped, table_of
from motet.tasks.sokoban_words import cell_words

PERFECT, WRONG, RANDOM = range(3)


def solve(task: SokobanTask) -> Moves:
    """The letters of a shortest solution from the start; of several, the first in the order U, D, L, R at each move.

    >>> from motet.tasks.sokoban import Sokoban
    >>> task = Sokoban().task("train", 0)
    >>> len(solve(task).steps) == task.optimal
    True
    """
    table = table_of(task.room, len(task.boxes), task.max_moves)
    return Moves(table.solution(task.start().stand) or ())


def answer(position: Position, kind: int, rng: random.Random) -> str:
    """What a demonstrator of `kind` answers: a pure function of the position, the kind and the state of `rng`.

    >>> from motet.tasks.sokoban import SokobanTask
    >>> start = SokobanTask("t", 6, (), (5,), 0, (2,), 4, 8).start()
    >>> answer(start, PERFECT, random.Random(0)), answer(start, WRONG, random.Random(0))
    ('c01 c02 c03 c04', 'c01 c02 c03 c04 c05')
    """
    ways = {PERFECT: _perfect, WRONG: _straight, RANDOM: _random}
    return cell_words(ways[kind](position, rng)[: position.task.max_moves_per_call], position.task.size)


def _perfect(position: Position, rng: random.Random) -> list[int]:
    task, stand, cells = position.task, position.stand, list[int]()
    table = table_of(task.room, len(task.boxes), task.max_moves)
    left = table.moves(stand)
    while left > 0:
        nexts = [stepped(task.room, stand, cell) for cell in neighbours(stand.player, task.size)]
        good = [after for after in nexts if after is not None and table.moves(after) == left - 1]
        stand, left = good[int(rng.random() * len(good))], left - 1
        cells.append(stand.player)
    return cells


def _straight(position: Position, rng: random.Random) -> list[int]:
    """Rows first, then columns: to the box, then to the target."""
    task = position.task
    size = task.size
    open_targets = [cell for cell in task.targets if cell not in position.boxes]
    loose = [cell for cell in position.boxes if cell not in task.targets]
    pairs = [(_apart(box, target, size), box, target) for box in loose for target in open_targets]
    if not pairs:
        return []
    _, box, target = min(pairs)
    to_box = _line(position.player, box, size)
    return [*to_box, *_line(box, target, size)]


def _line(cell: int, other: int, size: int) -> list[int]:
    cells = []
    while cell != other:
        row, column = divmod(cell, size)
        down, right = other // size - row, other % size - column
        cell += (size if down > 0 else -size) if down else (1 if right > 0 else -1)
        cells.append(cell)
    return cells


def _apart(cell: int, other: int, size: int) -> int:
    return abs(cell // size - other // size) + abs(cell % size - other % size)


def _random(position: Position, rng: random.Random) -> list[int]:
    cell, cells = position.player, list[int]()
    for _ in range(1 + int(rng.random() * position.task.max_moves_per_call)):
        around = neighbours(cell, position.task.size)
        cell = around[int(rng.random() * len(around))]
        cells.append(cell)
    return cells
