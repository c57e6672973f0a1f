"""Demonstrators on hand-made grids, and against the task's own search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from motet.tasks.plan_path_demonstrators import (
    PERFECT,
    RANDOM,
    SILENT,
    STRAIGHT,
    distances_to,
    draw_grids,
    last_free,
    stale_maps,
    walks,
)
from motet.tasks.plan_path_grid import distances, neighbours, split_of


def with_walls(*cells: int) -> np.ndarray:
    walls = np.zeros((1, 100), bool)
    walls[0, list(cells)] = True
    return walls


def one_walk(kind: int, start: int, goal: int, *walls: int, length: int = 8) -> list[int]:
    distance = distances_to(~with_walls(*walls), np.array([goal]))
    cells, _ = walks(np.random.default_rng(0), np.array([kind]), np.array([start]), np.array([goal]), distance, length)
    return [int(cell) for cell in cells[0] if cell >= 0]


def test_the_wavefront_is_the_search_of_the_task() -> None:
    grids = draw_grids(np.random.default_rng(3), 5)
    for walls, goal, found in zip(grids.walls, grids.goal, grids.distance):
        expected = distances(10, tuple(np.flatnonzero(walls).tolist()), int(goal))
        assert [-1 if value == 99 else int(value) for value in found] == list(expected)


def test_grids_are_of_the_train_split_and_a_function_of_the_seed() -> None:
    grids, again = (draw_grids(np.random.default_rng(5), 20) for _ in range(2))
    assert {split_of(10, tuple(np.flatnonzero(row).tolist())) for row in grids.walls} == {"train"}
    assert np.array_equal(grids.walls, again.walls)
    assert not grids.walls[np.arange(20), grids.start].any()


def test_the_perfect_walker_goes_round_a_wall_and_the_straight_one_into_it() -> None:
    assert one_walk(PERFECT, 0, 20, 10, 11, length=6) == [1, 2, 12, 22, 21, 20]
    assert one_walk(STRAIGHT, 0, 20, 10, 11) == [10, 20]


def test_the_straight_walker_goes_to_the_row_first() -> None:
    assert one_walk(STRAIGHT, 0, 22) == [10, 20, 21, 22]


def test_the_silent_walker_names_no_cell_and_ends_at_once() -> None:
    cells, weights = walks(
        np.random.default_rng(0),
        np.array([SILENT]),
        np.array([0]),
        np.array([5]),
        distances_to(~with_walls(), np.array([5])),
    )
    assert cells.tolist() == [[-1] * 8]
    assert weights[0, 0].tolist() == [0, 0, 0, 0, 1]
    assert weights[0, 1:].sum() == 0


def test_the_random_walker_stays_on_the_grid() -> None:
    cells = [0, *one_walk(RANDOM, 0, 99)]
    assert len(cells) == 9
    assert all(after in neighbours(before, 10) for before, after in pairwise(cells))


def test_weights_share_a_step_among_all_that_the_demonstrator_might_do() -> None:
    _, weights = walks(
        np.random.default_rng(0),
        np.array([PERFECT]),
        np.array([0]),
        np.array([11]),
        distances_to(~with_walls(), np.array([11])),
    )
    assert sorted(weights[0, 0].tolist()) == [0, 0, 0, 0.5, 0.5]  # right or down
    assert max(weights[0, 1].tolist()) == 1.0  # one way is left
    assert weights[0, 2].tolist() == [0, 0, 0, 0, 1]  # there


@pytest.mark.parametrize(("plan", "expected"), [([1, 2, 3], 3), ([1, 2, -1], 1), ([2, -1, -1], 0), ([-1, -1, -1], 0)])
def test_a_follower_heads_for_the_last_free_cell_of_the_proposal(plan: list[int], expected: int) -> None:
    assert last_free(with_walls(2), np.array([plan]), np.array([0])).tolist() == [expected]


def test_an_old_map_never_has_a_false_wall_on_start_or_goal() -> None:
    grids = draw_grids(np.random.default_rng(1), 50)
    maps = stale_maps(np.random.default_rng(2), grids, hidden=10, false=76)
    rows = np.arange(50)
    assert not maps[rows, grids.start].any()
    assert not maps[rows, grids.goal].any()
    assert maps.sum(1).tolist() == [22 - 10 + 76] * 50
