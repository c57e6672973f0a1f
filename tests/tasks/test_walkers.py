"""Walkers without a model play by the rules and land where such walkers land."""

from __future__ import annotations

import pytest

from motet.tasks.plan_path import PlanPath, PlanPathTask
from motet.tasks.walkers import WALKERS, play

TASKS = [PlanPath().task("test", index) for index in range(300)]


def success(name: str, tasks: list[PlanPathTask]) -> float:
    return sum(play(name, task).at_goal for task in tasks) / len(tasks)


def test_the_four_walkers_stand_in_the_expected_order() -> None:
    rates = {name: success(name, TASKS) for name in WALKERS}
    assert rates["shortest"] == 1.0
    assert rates["random"] < 0.05
    assert 0.5 < rates["greedy"] < rates["greedy_with_memory"] < 0.95


@pytest.mark.parametrize("name", WALKERS)
def test_a_walker_keeps_the_budget_and_never_bumps(name: str) -> None:
    for task in TASKS[:60]:
        end = play(name, task)
        assert end.bumps == ()
        assert end.moves_left == task.max_moves - len(end.walked) >= 0
        assert len(end.walked) <= task.max_turns * task.max_moves_per_call
        assert play(name, task) == end


def test_greedy_runs_into_a_dead_end_that_memory_leaves() -> None:
    # S . # G      the nearest cell by rows and columns is the dead end before the wall
    # . # # .
    # . . . .
    task = PlanPathTask("pocket", 4, (2, 5, 6), (), 0, 3, 7, 14)
    assert not play("greedy", task).at_goal
    assert play("greedy_with_memory", task).at_goal


def test_turns_and_moves_per_call_bound_a_walker_as_they_bound_a_team() -> None:
    tight = PlanPathTask("tight", 2, (1,), (), 0, 3, 2, 4, max_turns=1, max_moves_per_call=1)
    assert len(play("shortest", tight).walked) == 1
