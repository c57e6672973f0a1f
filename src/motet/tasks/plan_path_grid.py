"""The geometry of Plan-Path grids: neighbours, distances, and which split a wall layout belongs to."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from hashlib import blake2b

from motet.tasks.plan_path_moves import DIRECTIONS

SPLIT_BUCKETS = {"train": range(0, 80), "validation": range(80, 90), "test": range(90, 100)}
"""The hash of a wall layout, modulo 100, decides the one split it can ever occur in."""


def moved_to(cell: int, step: int | str, size: int) -> int:
    """The cell that a step leads to; -1 when it is off the grid or no neighbour."""
    if isinstance(step, str):
        row, column = divmod(cell, size)
        row, column = row + DIRECTIONS[step][0], column + DIRECTIONS[step][1]
        return row * size + column if 0 <= row < size and 0 <= column < size else -1
    return step if step in neighbours(cell, size) else -1


def neighbours(cell: int, size: int) -> tuple[int, ...]:
    """The cells beside `cell` on the grid, in the order up, down, left, right.

    >>> neighbours(0, 10), neighbours(55, 10)
    ((10, 1), (45, 65, 54, 56))
    """
    return _neighbours(size)[cell] if 0 <= cell < size * size else ()


@lru_cache(maxsize=64)
def _neighbours(size: int) -> tuple[tuple[int, ...], ...]:
    table = []
    for cell in range(size * size):
        row, column = divmod(cell, size)
        around = [(row + dr, column + dc) for dr, dc in DIRECTIONS.values()]
        table.append(tuple(r * size + c for r, c in around if 0 <= r < size and 0 <= c < size))
    return tuple(table)


@lru_cache(maxsize=8192)
def distances(size: int, walls: tuple[int, ...], goal: int) -> tuple[int, ...]:
    """Shortest distance of every cell to `goal` (breadth-first search); -1 where there is no path.

    >>> distances(2, (1,), 3)
    (2, -1, 1, 0)
    """
    table, found, queue = _neighbours(size), [-1] * (size * size), deque([goal])
    blocked = set(walls)
    found[goal] = 0
    while queue:
        cell = queue.popleft()
        for other in table[cell]:
            if found[other] < 0 and other not in blocked:
                found[other] = found[cell] + 1
                queue.append(other)
    return tuple(found)


def split_of(size: int, walls: tuple[int, ...]) -> str:
    """The split that a wall layout belongs to; 80, 10 and 10 in 100 layouts are train, validation and test."""
    bucket = number_of("split", size, walls) % 100
    return next(split for split, buckets in SPLIT_BUCKETS.items() if bucket in buckets)


def number_of(*parts: object) -> int:
    """64 bits that depend on `parts` alone, on every machine."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big")
