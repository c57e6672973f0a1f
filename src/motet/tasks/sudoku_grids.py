"""Grids of Sudoku: their geometry, a solver that proves uniqueness, and which split a solved grid belongs to.

A grid is a tuple of size * size values in reading order, 0 for a blank cell; a cell is row * size + column.
"""

from __future__ import annotations

import random
from functools import lru_cache

from motet.tasks.plan_path_grid import SPLIT_BUCKETS, number_of

BOXES: dict[int, tuple[int, int]] = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
"""Size of a grid -> (rows, columns) of a box."""

Grid = tuple[int, ...]


@lru_cache(maxsize=4)
def peers(size: int) -> tuple[tuple[int, ...], ...]:
    """For each cell the others in its row, its column and its box.

    >>> peers(4)[0]
    (1, 2, 3, 4, 5, 8, 12)
    """
    high, wide = BOXES[size]
    places = [(cell // size, cell % size) for cell in range(size * size)]
    return tuple(
        tuple(
            other
            for other, (r, c) in enumerate(places)
            if (r, c) != (row, column)
            and (r == row or c == column or (r // high == row // high and c // wide == column // wide))
        )
        for row, column in places
    )


def conflicts(size: int, grid: Grid | list[int], cell: int, value: int) -> bool:
    """Whether `value` stands already in the row, column or box of `cell`.

    >>> conflicts(4, (1,) + (0,) * 15, 5, 1), conflicts(4, (1,) + (0,) * 15, 6, 1)
    (True, False)
    """
    return any(grid[other] == value for other in peers(size)[cell])


def solutions(size: int, grid: Grid, limit: int = 2, rng: random.Random | None = None) -> list[Grid]:
    """Up to `limit` solved grids that agree with `grid`, found by trying the cell with the fewest values first.

    An exhaustive search: fewer than `limit` found means that there are no others, so one found under limit 2 is proved
    unique. `rng` shuffles the order in which values are tried. A grid that breaks the rules has none.

    >>> len(solutions(4, (0,) * 16, limit=1000))
    288
    """
    cells, found = list(grid), list[Grid]()
    full = (1 << (size + 1)) - 2
    around = peers(size)
    free = [full] * len(cells)
    for cell, value in enumerate(cells):
        if value and conflicts(size, grid, cell, value):
            return []
        for other in around[cell]:
            free[other] &= ~(1 << value)

    def search(blanks: list[int]) -> None:
        if not blanks:
            found.append(tuple(cells))
            return
        cell = min(blanks, key=lambda blank: free[blank].bit_count())
        rest = [blank for blank in blanks if blank != cell]
        values = [value for value in range(1, size + 1) if free[cell] >> value & 1]
        if rng is not None:
            values.sort(key=lambda value: rng.random())
        for value in values:
            changed = [other for other in around[cell] if free[other] >> value & 1]
            for other in changed:
                free[other] ^= 1 << value
            cells[cell] = value
            search(rest)
            cells[cell] = 0
            for other in changed:
                free[other] ^= 1 << value
            if len(found) >= limit:
                return

    search([cell for cell, value in enumerate(cells) if not value])
    return found


def dig(size: int, solved: Grid, clues: int, rng: random.Random) -> Grid | None:
    """A puzzle of exactly `clues` clues whose only solution is `solved`; None where cells taken out in this random
    order, each only if the solution stays unique, do not get that far.

    >>> solved = solutions(4, (0,) * 16, limit=1)[0]
    >>> puzzle = dig(4, solved, 6, random.Random(0))
    >>> sum(map(bool, puzzle)), solutions(4, puzzle) == [solved]
    (6, True)
    """
    puzzle, left = list(solved), len(solved)
    for cell in sorted(range(len(solved)), key=lambda cell: rng.random()):
        if left == clues:
            break
        puzzle[cell] = 0
        if len(solutions(size, tuple(puzzle))) == 1:
            left -= 1
        else:
            puzzle[cell] = solved[cell]
    return tuple(puzzle) if left == clues else None


def relabelled(grid: Grid) -> Grid:
    """The grid with its values renamed in order of first appearance: equal for grids that differ in names alone.

    >>> relabelled((3, 1, 1, 3))
    (1, 2, 2, 1)
    """
    names: dict[int, int] = {}
    return tuple(names.setdefault(value, len(names) + 1) for value in grid)


def split_of(size: int, solved: Grid) -> str:
    """The split that a solved grid belongs to.

    Grids of 6 and 9 that differ only in the names of their values belong to one split. There are 288 solved grids of 4,
    in 12 such classes: too few to divide, so each of the 288 belongs to a split by itself.
    """
    key = solved if size == 4 else relabelled(solved)
    bucket = number_of("sudoku", size, key) % 100
    return next(split for split, buckets in SPLIT_BUCKETS.items() if bucket in buckets)


@lru_cache(maxsize=3)
def small_grids(split: str) -> tuple[Grid, ...]:
    """The solved grids of 4 that belong to `split`."""
    return tuple(grid for grid in solutions(4, (0,) * 16, limit=1000) if split_of(4, grid) == split)


def draw_solved(size: int, split: str, rng: random.Random) -> Grid:
    """A solved grid of `split`; for size 4 each with the same probability."""
    if size == 4:
        grids = small_grids(split)
        return grids[int(rng.random() * len(grids))]
    while True:
        solved = solutions(size, (0,) * (size * size), limit=1, rng=rng)[0]
        if split_of(size, solved) == split:
            return solved
