"""Plan-Path: generation, state, walks."""

from __future__ import annotations

import dataclasses
import json

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.plan_path import PlanPath, PlanPathTask, State, walk
from motet.tasks.plan_path_drawing import draw_grid
from motet.tasks.plan_path_grid import distances, split_of
from motet.tasks.plan_path_moves import Moves

PINNED = ("plan_path-test-0-5867ebcc", 23, 69, 10)
"""id, start, goal and optimum of test grid 0: published results rest on these grids."""

# S . .        0 1 2
# # # .        3 4 5
# G . .        6 7 8
CORNER = PlanPathTask("corner", 3, (3, 4), (3,), 0, 6, 6, 12)


def solve(task: PlanPathTask) -> list[int]:
    """A shortest path found by flooding from the start, independent of the package's search."""
    paths = {task.start_cell: [task.start_cell]}
    frontier = [task.start_cell]
    while frontier and task.goal not in paths:
        following = []
        for cell in frontier:
            row, column = divmod(cell, task.size)
            for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                other = r * task.size + c
                if 0 <= r < task.size and 0 <= c < task.size and other not in task.walls and other not in paths:
                    paths[other] = [*paths[cell], other]
                    following.append(other)
        frontier = following
    return paths[task.goal]


def test_case_09_every_grid_is_solvable_within_its_budget() -> None:
    task_set = PlanPath()
    for split in task_set.splits:
        for index in range(150):
            task = task_set.task(split, index)
            path = solve(task)
            assert len(path) - 1 == task.optimal
            assert 8 <= task.optimal <= 32
            assert task.max_moves == 2 * task.optimal
            assert len(task.walls) == 22
            assert not {task.start_cell, task.goal} & set(task.walls)


def test_case_09_no_wall_layout_occurs_in_two_splits() -> None:
    task_set = PlanPath()
    layouts = {split: {task_set.task(split, index).walls for index in range(300)} for split in task_set.splits}
    assert [len(found) for found in layouts.values()] == [300, 300, 300]
    assert not layouts["train"] & layouts["test"]
    assert not layouts["train"] & layouts["validation"]
    assert not layouts["validation"] & layouts["test"]


def test_case_09_splits_stay_disjoint_across_seeds_because_the_layout_decides() -> None:
    for seed in range(5):
        for split in PlanPath.splits:
            assert split_of(10, PlanPath(seed=seed).task(split, 3).walls) == split


def test_tiny_grids_with_few_layouts_stay_disjoint() -> None:
    task_set = PlanPath(size=3, walls=0.2, min_distance=2)
    layouts = {split: {task_set.task(split, index).walls for index in range(100)} for split in task_set.splits}
    assert not layouts["train"] & (layouts["test"] | layouts["validation"])


def test_a_task_is_a_pure_function_of_settings_split_and_index() -> None:
    first = PlanPath().task("train", 123_456_789)
    assert first == PlanPath().task("train", 123_456_789)
    assert first != PlanPath(seed=1).task("train", 123_456_789)
    assert first != PlanPath().task("train", 123_456_788)


def test_the_first_test_grid_never_changes() -> None:
    task = PlanPath().task("test", 0)
    assert (task.id, task.start_cell, task.goal, task.optimal) == PINNED


def test_a_task_survives_json() -> None:
    task = PlanPath(hidden_walls=0.3).task("validation", 5)
    back = json.loads(json.dumps(dataclasses.asdict(task)))
    again = PlanPathTask(**{key: tuple(value) if isinstance(value, list) else value for key, value in back.items()})
    assert again == task
    assert hash(again) == hash(task)


def test_the_old_map_lacks_the_stated_fraction_and_nothing_else_changes() -> None:
    plain, stale = PlanPath().task("train", 8), PlanPath(hidden_walls=0.3).task("train", 8)
    assert plain.map_walls == plain.walls
    assert stale.walls == plain.walls
    assert set(stale.map_walls) < set(stale.walls)
    assert len(stale.walls) - len(stale.map_walls) == 7  # round(0.3 * 22)


def test_unknown_and_impossible_settings_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'min_distence'.*did you mean 'min_distance'"):
        PlanPath(min_distence=3)
    with pytest.raises(ConfigError, match=r"walls is 1.5.*set walls a fraction in \[0, 1\)"):
        PlanPath(walls=1.5)
    with pytest.raises(ConfigError, match=r"size is 10.5.*set size to a whole number, such as 10"):
        PlanPath(size=10.5)
    with pytest.raises(ConfigError, match=r"walls is True.*a number, such as 0.22"):
        PlanPath(walls=True)
    with pytest.raises(TaskError, match=r"no grid found.*min_distance=30"):
        PlanPath(size=3, min_distance=30).task("train", 0)


@pytest.mark.parametrize(("split", "index"), [("dev", 0), ("test", -1), ("test", 10_000)])
def test_a_task_that_does_not_exist_is_named(split: str, index: int) -> None:
    with pytest.raises(TaskError, match=f"{split}|{index}"):
        PlanPath().task(split, index)


def test_distances_go_round_walls() -> None:
    assert distances(3, (3, 4), 6) == (6, 5, 4, -1, -1, 3, 0, 1, 2)


def test_a_walk_ends_at_the_goal_and_ignores_the_rest() -> None:
    end = CORNER.start().after(Moves((1, 2, 5, 8, 7, 6, 7, 8)))
    assert (end.cell, end.moves_left, end.last, end.at_goal, end.is_over) == (6, 6, "ok", True, True)
    assert end.walked == (1, 2, 5, 8, 7, 6)


@pytest.mark.parametrize(
    ("steps", "cell", "left", "last", "bumps"),
    [
        ((3,), 0, 11, "bump", (3,)),  # into a wall
        ((1, 4, 7), 1, 10, "bump", (4,)),  # a wall ends the walk, what follows is not walked
        (("U", "R"), 0, 11, "bump", ()),  # off the grid
        ((8,), 0, 11, "bump", ()),  # no neighbour
        ((0,), 0, 11, "bump", ()),  # standing still is no move
        ((9999,), 0, 11, "bump", ()),
        ((), 0, 12, "empty", ()),
        ((1, 0, 1), 1, 9, "ok", ()),
    ],
)
def test_an_illegal_move_costs_one_move_and_ends_the_walk(
    steps: tuple[int | str, ...], cell: int, left: int, last: str, bumps: tuple[int, ...]
) -> None:
    end = CORNER.start().after(Moves(steps))
    assert (end.cell, end.moves_left, end.last, end.bumps) == (cell, left, last, bumps)


def test_moves_beyond_the_cap_of_a_call_and_beyond_the_budget_are_not_made() -> None:
    state = CORNER.start()
    there_and_back = Moves((1, 0) * 20)
    state = state.after(there_and_back)
    assert (state.moves_left, len(state.walked)) == (4, 8)
    state = state.after(there_and_back)
    assert (state.moves_left, len(state.walked), state.is_over, state.at_goal) == (0, 12, True, False)
    assert state.after(there_and_back).moves_left == 0


def test_directions_and_cells_make_the_same_walk() -> None:
    assert CORNER.start().after(Moves(("R", "R", "D"))) == CORNER.start().after(Moves((1, 2, 5)))


def test_trying_a_walk_leaves_the_state_as_it_was() -> None:
    state = CORNER.start()
    walk(state, Moves((1, 2)))
    assert state == CORNER.start()
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.cell = 3  # type: ignore[misc]


def test_progress_is_the_covered_share_and_one_at_the_goal_alone() -> None:
    def at(cell: int) -> State:
        return dataclasses.replace(CORNER.start(), cell=cell)

    assert [round(at(cell).progress, 6) for cell in (0, 1, 2, 5, 8, 7, 6)] == [0, 0.15, 0.3, 0.45, 0.6, 0.75, 1.0]


def test_the_drawing_shows_what_one_role_sees() -> None:
    state = CORNER.start().after(Moves((1, 2)))
    assert draw_grid(state) == ". o @\n# # .\nG . ."
    assert draw_grid(state, walls=(3,), goal=None, trail=False) == ". . @\n# . .\n. . ."
