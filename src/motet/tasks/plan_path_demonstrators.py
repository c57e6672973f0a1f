"""Demonstrators of Plan-Path for the warm start of the tiny bases: seeded pure functions over many grids at once.

A demonstrator walks in one of four ways, drawn per walk:

    PERFECT    a shortest path on the map it is given
    STRAIGHT   to the goal's row first, then to its column, as if there were no walls: wrong, but in a coherent way
    RANDOM     any neighbour on the grid
    SILENT     names no cell at all

Legend: M walks, T moves per walk, C = 100 cells of a 10 x 10 grid; a cell is row * 10 + column, -1 is no cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.tasks.plan_path_grid import neighbours, split_of

SIZE = 10
NUM_CELLS = SIZE * SIZE
UNREACHABLE = 99
PERFECT, STRAIGHT, RANDOM, SILENT = range(4)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEIGHBOURS: Ints = np.array(
    [(*neighbours(cell, SIZE), *[-1] * (4 - len(neighbours(cell, SIZE)))) for cell in range(NUM_CELLS)]
)
ROWS, COLUMNS = np.arange(NUM_CELLS) // SIZE, np.arange(NUM_CELLS) % SIZE


@dataclass(frozen=True, slots=True)
class Grids:
    """B grids: `walls` [B, C], `start` [B], `goal` [B], `distance` [B, C] to the goal on the true grid."""

    walls: Bools
    start: Ints
    goal: Ints
    distance: Ints

    def __len__(self) -> int:
        return len(self.goal)

    def part(self, first: int, last: int) -> Grids:
        """Grids `first` to `last` - 1."""
        cut = slice(first, last)
        return Grids(self.walls[cut], self.start[cut], self.goal[cut], self.distance[cut])


def distances_to(free: Bools, source: Ints) -> Ints:
    """Shortest distance of every cell to `source` over `free` cells, `UNREACHABLE` where there is no path.

    free [M, C], source [M] -> [M, C]. A wavefront over all grids at once; the source counts as free.

    >>> free = np.ones((1, 100), bool); free[0, [1, 11]] = False
    >>> distances_to(free, np.array([0]))[0, [0, 10, 2, 1]].tolist()
    [0, 1, 6, 99]
    """
    num = len(free)
    padded = np.zeros((num, SIZE + 2, SIZE + 2), bool)
    padded[:, 1:-1, 1:-1] = free.reshape(num, SIZE, SIZE)
    front = np.zeros_like(padded)
    front[np.arange(num), source // SIZE + 1, source % SIZE + 1] = True
    found = np.full(padded.shape, UNREACHABLE, np.int64)
    found[front] = 0
    seen, steps = front.copy(), 0
    while front.any():
        steps += 1
        wave = np.zeros_like(front)
        wave[:, 1:-1, 1:-1] = front[:, :-2, 1:-1] | front[:, 2:, 1:-1] | front[:, 1:-1, :-2] | front[:, 1:-1, 2:]
        front = wave & padded & ~seen
        found[front] = steps
        seen |= front
    return found[:, 1:-1, 1:-1].reshape(num, NUM_CELLS)


def draw_grids(rng: np.random.Generator, num: int, *, num_walls: int = 22, min_distance: int = 8) -> Grids:
    """`num` solvable grids with start and goal at least `min_distance` moves apart, on wall layouts of the train split.

    >>> grids = draw_grids(np.random.default_rng(0), 3)
    >>> grids.walls.sum(1).tolist(), bool((grids.distance[np.arange(3), grids.start] >= 8).all())
    ([22, 22, 22], True)
    """
    parts: list[Grids] = []
    while sum(len(part) for part in parts) < num:
        order = np.argsort(rng.random((2 * num + 32, NUM_CELLS)), axis=1)
        walls = np.zeros(order.shape, bool)
        np.put_along_axis(walls, order[:, :num_walls], True, axis=1)
        start, goal = order[:, num_walls], order[:, num_walls + 1]
        distance = distances_to(~walls, goal)
        apart = distance[np.arange(len(order)), start]
        keep = (apart >= min_distance) & (apart < UNREACHABLE)
        keep[keep] = [split_of(SIZE, tuple(np.flatnonzero(row).tolist())) == "train" for row in walls[keep]]
        parts.append(Grids(walls[keep], start[keep], goal[keep], distance[keep]))
    return Grids(
        *(np.concatenate([getattr(p, f) for p in parts])[:num] for f in ("walls", "start", "goal", "distance"))
    )


def stale_maps(rng: np.random.Generator, grids: Grids, hidden: int, false: int) -> Bools:
    """Out-of-date maps [B, C]: `hidden` of the true walls are missing, `false` free cells (never start or goal) are
    drawn as walls.

    >>> grids = draw_grids(np.random.default_rng(0), 2)
    >>> maps = stale_maps(np.random.default_rng(1), grids, hidden=8, false=2)
    >>> (grids.walls & ~maps).sum(1).tolist(), (maps & ~grids.walls).sum(1).tolist()
    ([8, 8], [2, 2])
    """
    maps = grids.walls.copy()
    rank = np.where(grids.walls, rng.random(maps.shape), 9.0)
    np.put_along_axis(maps, rank.argsort(1)[:, :hidden], False, axis=1)
    rank = np.where(grids.walls, 9.0, rng.random(maps.shape))
    rows = np.arange(len(grids))
    rank[rows, grids.start], rank[rows, grids.goal] = 9.0, 9.0
    np.put_along_axis(maps, rank.argsort(1)[:, :false], True, axis=1)
    return maps


def next_cells(kind: Ints, cell: Ints, goal: Ints, distance: Ints) -> Bools:
    """Which of the four neighbours a demonstrator of `kind` may enter from `cell`: [..., 4], uniform among the True.

    All arguments share the leading shape; `distance` has one more axis, over cells.
    """
    near = NEIGHBOURS[cell]
    exists, near = near >= 0, np.maximum(near, 0)
    here = np.take_along_axis(distance, cell[..., None], -1)
    perfect = np.take_along_axis(distance, near, -1) == here - 1
    in_row = ROWS[cell] == ROWS[goal]
    straight = manhattan(near, goal[..., None]) < manhattan(cell, goal)[..., None]
    straight &= in_row[..., None] | (COLUMNS[near] == COLUMNS[cell][..., None])
    way = kind[..., None]
    allowed: Bools = exists & np.where(way == PERFECT, perfect, np.where(way == STRAIGHT, straight, way == RANDOM))
    return allowed


def manhattan(cell: Ints, other: Ints) -> Ints:
    """Rows apart plus columns apart."""
    apart: Ints = np.abs(ROWS[cell] - ROWS[other]) + np.abs(COLUMNS[cell] - COLUMNS[other])
    return apart


def walks(
    rng: np.random.Generator, kind: Ints, start: Ints, goal: Ints, distance: Ints, length: int = 8
) -> tuple[Ints, NDArray[np.float32]]:
    """Walks [M, length] (-1 after the end) and what else the demonstrator would have done there [M, length + 1, 5].

    A walk ends at the goal, after `length` moves or where no move is allowed. The second array holds at each point of
    the walk the probabilities of the four neighbours and of ending; it is all zero behind the end.

    >>> open_grid = np.ones((1, 100), bool)
    >>> goal = np.array([2])
    >>> cells, weights = walks(np.random.default_rng(0), np.array([PERFECT]), np.array([0]), goal,
    ...                        distances_to(open_grid, goal), length=4)
    >>> cells.tolist(), weights[0, 2].tolist(), float(weights[0, 3].sum())
    ([[1, 2, -1, -1]], [0.0, 0.0, 0.0, 0.0, 1.0], 0.0)
    """
    num = len(start)
    cells = np.full((num, length), -1)
    weights = np.zeros((num, length + 1, 5), np.float32)
    cell, alive = start.copy(), np.ones(num, bool)
    for step in range(length + 1):
        allowed = next_cells(kind, cell, goal, distance) & (cell != goal)[:, None] & (step < length)
        ends = ~allowed.any(1)
        weights[:, step, :4] = allowed
        weights[:, step, 4] = ends
        weights[:, step] *= alive[:, None]
        alive = alive & ~ends
        if step < length:
            choice = np.where(allowed, rng.random(allowed.shape), -1.0).argmax(1)
            cell = np.where(alive, NEIGHBOURS[cell, choice], cell)
            cells[:, step] = np.where(alive, cell, -1)
    return cells, weights / np.maximum(weights.sum(-1, keepdims=True), 1.0)


def last_free(walls: Bools, plan: Ints, fallback: Ints) -> Ints:
    """The last cell of each plan [M, T] that is no true wall; `fallback` [M] where there is none: what an executor
    that follows a proposal with detours is heading for.

    >>> walls = np.zeros((1, 100), bool); walls[0, 2] = True
    >>> last_free(walls, np.array([[1, 2, -1]]), np.array([0])).tolist()
    [1]
    """
    free = (plan >= 0) & ~np.take_along_axis(walls, np.maximum(plan, 0), 1)
    last = plan.shape[1] - 1 - free[:, ::-1].argmax(1)
    return np.where(free.any(1), plan[np.arange(len(plan)), last], fallback)
