"""Rooms of Sokoban: what moves do, which positions are lost, and how far each position is from a solution.

A cell is row * size + column; beyond the edge is as good as a wall. Boxes are sorted tuples of cells.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motet.tasks.plan_path_grid import moved_to

LETTERS = ("U", "D", "L", "R")

Ints = NDArray[np.int64]
Boxes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """What never changes: the size, the walls and the targets, both sorted."""

    size: int
    walls: tuple[int, ...]
    targets: tuple[int, ...]


class Stand(NamedTuple):
    """Where the player and the boxes are."""

    player: int
    boxes: Boxes


def stepped(room: Room, stand: Stand, step: int | str) -> Stand | None:
    """The stand after one move (a letter, or the cell to enter), or None where it is illegal.

    A move into a box pushes it one cell on, if that cell is free.

    >>> room = Room(4, (), (3,))
    >>> stepped(room, Stand(0, (1,)), "R"), stepped(room, Stand(0, (1,)), "U")
    (Stand(player=1, boxes=(2,)), None)
    """
    cell = moved_to(stand.player, step, room.size)
    if cell < 0 or cell in room.walls:
        return None
    if cell not in stand.boxes:
        return Stand(cell, stand.boxes)
    beyond = ahead(room.size)[direction(stand.player, cell, room.size)][cell]
    if beyond < 0 or beyond in room.walls or beyond in stand.boxes:
        return None
    return Stand(cell, tuple(sorted({*stand.boxes, beyond} - {cell})))


def direction(cell: int, other: int, size: int) -> int:
    """Which of up, down, left, right leads from a cell to the one beside it: 0, 1, 2 or 3."""
    return {-size: 0, size: 1, -1: 2, 1: 3}[other - cell]


@lru_cache(maxsize=32)
def ahead(size: int) -> tuple[tuple[int, ...], ...]:
    """For each direction the cell that each cell leads to, -1 off the grid: [4][size * size]."""
    return tuple(tuple(moved_to(cell, letter, size) for cell in range(size * size)) for letter in LETTERS)


@lru_cache(maxsize=512)
def live_cells(room: Room) -> frozenset[int]:
    """The cells from which a box, alone in the room, can be pushed to a target: found by pulling from the targets."""
    found, queue = set(room.targets), deque(room.targets)
    while queue:
        cell = queue.popleft()
        for way in range(4):
            back = ahead(room.size)[way ^ 1]
            box, player = back[cell], back[back[cell]] if back[cell] >= 0 else -1
            if box >= 0 and player >= 0 and box not in found and not {box, player} & set(room.walls):
                found.add(box)
                queue.append(box)
    return frozenset(found)


def deadlocks(room: Room, boxes: Boxes) -> frozenset[int]:
    """Boxes off target that can never reach one: those on a dead cell (a corner, a wall without a target) and those
    frozen by walls and one another. Found without a search; some lost positions have none.

    >>> deadlocks(Room(4, (), (5,)), (0,)), deadlocks(Room(4, (), (5,)), (6,))
    (frozenset({0}), frozenset())
    >>> sorted(deadlocks(Room(6, (), (14, 15)), (14, 15, 20, 21)))  # a square of four boxes
    [20, 21]
    """
    dead = {box for box in boxes if box not in live_cells(room)}
    return frozenset(
        dead | {box for box in boxes if box not in room.targets and _frozen(room, boxes, box, frozenset())}
    )


def _frozen(room: Room, boxes: Boxes, box: int, held: frozenset[int]) -> bool:
    """Whether a box can be pushed neither up and down nor left and right; boxes in `held` count as walls."""
    held = held | {box}
    for one, other in ((0, 1), (2, 3)):
        sides = (ahead(room.size)[one][box], ahead(room.size)[other][box])
        if any(side < 0 or side in room.walls or side in held for side in sides):
            continue
        if all(side not in live_cells(room) for side in sides):
            continue
        if not any(side in boxes and _frozen(room, boxes, side, held) for side in sides):
            return False
    return True


class Table:
    """Fewest moves to a solution for every stand that has one of at most `depth` moves."""

    def __init__(self, codes: Ints, moves: NDArray[np.int16], room: Room, num_boxes: int) -> None:
        self._codes, self._moves, self.room, self.num_boxes = codes, moves, room, num_boxes

    def __len__(self) -> int:
        return len(self._codes)

    def moves(self, stand: Stand) -> int:
        """Fewest moves from `stand`, or -1: none within the depth of the table."""
        code = _code(self.room.size**2, stand)
        place = int(np.searchsorted(self._codes, code))
        return int(self._moves[place]) if place < len(self._codes) and self._codes[place] == code else -1

    def within(self, least: int, most: int) -> list[int]:
        """Places of the stands that need `least` to `most` moves, in a fixed order."""
        found: list[int] = np.flatnonzero((self._moves >= least) & (self._moves <= most)).tolist()
        return found

    def stand(self, place: int) -> Stand:
        """The stand at a place of the table."""
        base, code = self.room.size**2, int(self._codes[place])
        cells = []
        for _ in range(self.num_boxes + 1):
            code, cell = divmod(code, base)
            cells.append(cell)
        return Stand(cells[-1], tuple(reversed(cells[:-1])))

    def num_pushes(self, stand: Stand) -> int:
        """How many moves of `solution(stand)` push a box; 0 where there is none."""
        pushes = 0
        for letter in self.solution(stand) or ():
            after = stepped(self.room, stand, letter)
            assert after is not None
            pushes += after.boxes != stand.boxes
            stand = after
        return pushes

    def solution(self, stand: Stand) -> tuple[str, ...] | None:
        """The letters of a shortest solution, or None: each move leads one nearer, the first in order U, D, L, R."""
        left, letters = self.moves(stand), list[str]()
        if left < 0:
            return None
        while left > 0:
            for letter in LETTERS:
                after = stepped(self.room, stand, letter)
                if after is not None and self.moves(after) == left - 1:
                    break
            assert after is not None
            stand, left = after, left - 1
            letters.append(letter)
        return tuple(letters)


def _code(base: int, stand: Stand) -> int:
    code = stand.player
    for box in stand.boxes:
        code = code * base + box
    return code


def table_of(room: Room, num_boxes: int, depth: int) -> Table:
    """The table of a room, made by playing backwards from all solved stands at once: a wave of pulls and steps a move.

    It holds every stand with a solution of at most `depth` moves and no other: a breadth-first search backwards. With
    more than two boxes few tables are kept, for they are large.

    >>> table = table_of(Room(4, (), (3,)), 1, 20)
    >>> table.moves(Stand(0, (1,))), table.solution(Stand(0, (1,))), table.moves(Stand(5, (0,)))
    (2, ('R', 'R'), -1)
    """
    return (_small_table if num_boxes <= 2 else _large_table)(room, num_boxes, depth)


@lru_cache(maxsize=512)
def _small_table(room: Room, num_boxes: int, depth: int) -> Table:
    return made_table(room, num_boxes, depth)


@lru_cache(maxsize=16)
def _large_table(room: Room, num_boxes: int, depth: int) -> Table:
    return made_table(room, num_boxes, depth)


def made_table(room: Room, num_boxes: int, depth: int) -> Table:
    """As `table_of`, made anew and not kept."""
    base = room.size**2
    free = np.ones(base, bool)
    free[list(room.walls)] = False
    near = np.array(ahead(room.size))
    players = np.array([cell for cell in range(base) if free[cell] and cell not in room.targets], np.int64)
    stands = np.concatenate([players[:, None], np.tile(np.array(room.targets, np.int64), (len(players), 1))], 1)
    weights = base ** np.arange(num_boxes, -1, -1, dtype=np.int64)
    codes = np.sort(stands @ weights)
    waves, seen = [codes], codes
    for _ in range(depth):
        earlier = _earlier(stands, free, near)
        codes, first = np.unique(earlier @ weights, return_index=True)
        place = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
        is_new = seen[place] != codes
        codes, stands = codes[is_new], earlier[first[is_new]]
        if not len(codes):
            break
        waves.append(codes)
        seen = np.sort(np.concatenate([seen, codes]), kind="stable")
    moves = np.repeat(np.arange(len(waves), dtype=np.int16), [len(wave) for wave in waves])
    every = np.concatenate(waves)
    order = np.argsort(every, kind="stable")
    return Table(every[order], moves[order], room, num_boxes)


def _earlier(stands: Ints, free: NDArray[np.bool_], near: Ints) -> Ints:
    """All stands [*, 1 + boxes] from which one move leads to one of `stands`, by a step or by a push."""
    player, boxes = stands[:, 0], stands[:, 1:]
    found = []
    for way in range(4):
        came_from, front = near[way ^ 1][player], near[way][player]
        can = (came_from >= 0) & free[came_from] & (boxes != came_from[:, None]).all(1)
        stepped_from = stands[can].copy()
        stepped_from[:, 0] = came_from[can]
        found.append(stepped_from)
        pushed = can & (front >= 0) & (boxes == front[:, None]).any(1)
        pulled = np.where(boxes[pushed] == front[pushed, None], player[pushed, None], boxes[pushed])
        pulled.sort(axis=1)
        found.append(np.concatenate([came_from[pushed, None], pulled], 1))
    return np.concatenate(found)


def shortest(room: Room, stand: Stand, limit: int = 200_000) -> tuple[str, ...] | None:
    """The letters of a shortest solution by a forward breadth-first search that leaves out deadlocks; None where there
    is none, or none among the first `limit` stands. Made independently of `table_of`, as its proof.

    >>> shortest(Room(4, (), (3,)), Stand(0, (1,)))
    ('R', 'R')
    """
    ways: dict[Stand, tuple[Stand, str] | None] = {stand: None}
    queue = deque([stand])
    while queue and len(ways) <= limit:
        here = queue.popleft()
        if here.boxes == room.targets:
            return _way_to(here, ways)
        for letter in LETTERS:
            after = stepped(room, here, letter)
            if after is None or after in ways:
                continue
            if after.boxes != here.boxes and deadlocks(room, after.boxes):
                continue
            ways[after] = (here, letter)
            queue.append(after)
    return None


def _way_to(stand: Stand, ways: dict[Stand, tuple[Stand, str] | None]) -> tuple[str, ...]:
    letters = []
    while (before := ways[stand]) is not None:
        stand, letter = before
        letters.append(letter)
    return tuple(reversed(letters))
