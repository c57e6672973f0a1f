"""Rooms of Sokoban: two solvers that agree, and deadlocks that are never wrong."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.tasks.sokoban_rooms import LETTERS, Room, Stand, deadlocks, shortest, stepped, table_of

NO_WALLS = Room(6, (), (14, 15))


def drawn(seed: int, num_boxes: int, size: int = 5, num_walls: int = 5) -> tuple[Room, Stand]:
    rng = random.Random(seed)
    cells = rng.sample(range(size * size), num_walls + 2 * num_boxes + 1)
    walls, targets = cells[:num_walls], cells[num_walls : num_walls + num_boxes]
    boxes = cells[num_walls + num_boxes : -1]
    return Room(size, tuple(sorted(walls)), tuple(sorted(targets))), Stand(cells[-1], tuple(sorted(boxes)))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1, 1, 2]))
def test_case_09_backward_and_forward_search_agree_on_every_stand(seed: int, num_boxes: int) -> None:
    room, stand = drawn(seed, num_boxes)
    table = table_of(room, num_boxes, 400)
    forward = shortest(room, stand)
    assert table.moves(stand) == (-1 if forward is None else len(forward))
    solution = table.solution(stand)
    assert (solution is None) == (forward is None)
    for letter in solution or ():
        moved = stepped(room, stand, letter)
        assert moved is not None
        stand = moved
    assert forward is None or stand.boxes == room.targets


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 2]))
def test_a_deadlock_is_never_solvable(seed: int, num_boxes: int) -> None:
    room, stand = drawn(seed, num_boxes)
    if deadlocks(room, stand.boxes):
        assert table_of(room, num_boxes, 400).moves(stand) == -1


@pytest.mark.parametrize(
    ("boxes", "stuck"),
    [
        ((0, 14), {0}),  # a corner
        ((3, 14), {3}),  # along an edge without a target
        ((14, 21), set()),
        ((20, 21), set()),  # side by side, free above and below
        ((14, 15), set()),  # on their targets
    ],
)
def test_deadlocks_by_hand(boxes: tuple[int, ...], stuck: set[int]) -> None:
    assert deadlocks(NO_WALLS, boxes) == stuck


def test_frozen_boxes_are_found_where_no_cell_is_dead() -> None:
    # . . . . . .
    # . # . . . .
    # . B T B . .      12 is on the left edge with a target in its column
    room = Room(6, (7,), (12, 14, 24, 26))
    square = (20, 21, 26, 27)
    assert deadlocks(Room(6, (), (26, 20, 32, 33)), square) == {21, 27}
    assert deadlocks(room, (13, 14, 19, 20)) == {13, 19, 20}


@pytest.mark.parametrize(
    ("stand", "step", "after"),
    [
        (Stand(0, (1, 14)), "R", Stand(1, (2, 14))),
        (Stand(0, (1, 14)), 1, Stand(1, (2, 14))),
        (Stand(0, (1, 2)), "R", None),  # two in a row
        (Stand(4, (5, 14)), "R", None),  # off the grid
        (Stand(0, (1, 14)), "U", None),
        (Stand(0, (1, 14)), 8, None),  # no neighbour
        (Stand(0, (1, 14)), "D", Stand(6, (1, 14))),
    ],
)
def test_moves_by_hand(stand: Stand, step: int | str, after: Stand | None) -> None:
    assert stepped(NO_WALLS, stand, step) == after


def test_a_table_of_less_depth_is_the_beginning_of_a_deeper_one() -> None:
    room, _ = drawn(3, 1)
    short, long = table_of(room, 1, 5), table_of(room, 1, 100)
    stands = [long.stand(place) for place in long.within(0, 100)]
    assert [short.moves(stand) for stand in stands] == [
        long.moves(stand) if long.moves(stand) <= 5 else -1 for stand in stands
    ]
    assert len(short) == len(long.within(0, 5))


def test_the_distance_changes_by_at_most_one_per_move() -> None:
    room, _ = drawn(11, 1)
    table = table_of(room, 1, 400)
    for place in table.within(1, 400):
        stand = table.stand(place)
        nexts = [stepped(room, stand, letter) for letter in LETTERS]
        left = [table.moves(one) for one in nexts if one is not None]
        assert table.moves(stand) - 1 in left
        assert all(one == -1 or one >= table.moves(stand) - 1 for one in left)
