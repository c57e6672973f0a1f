"""Walkers that need no model: what Plan-Path is worth without learning, under the same budget of moves."""

from __future__ import annotations

import random
from collections.abc import Callable

from motet.tasks.plan_path import PlanPathTask, State
from motet.tasks.plan_path_grid import neighbours, number_of
from motet.tasks.plan_path_moves import Moves

Walker = Callable[[State, random.Random], int]
"""Chooses the next cell among the free neighbours of a state."""


def play(name: str, task: PlanPathTask, seed: int = 0) -> State:
    """The last state of walker `name` on `task`. It makes legal moves alone, at most min(budget, turns x moves per
    call) of them.

    >>> from motet.tasks.plan_path import PlanPath
    >>> task = PlanPath().task("test", 0)
    >>> end = play("shortest", task)
    >>> end.at_goal, len(end.walked) == task.optimal
    (True, True)
    """
    walker, rng = WALKERS[name], random.Random(number_of(name, task.id, seed))
    state = task.start()
    for _ in range(task.max_turns * task.max_moves_per_call):
        if state.is_over:
            break
        state = state.after(Moves((walker(state, rng),)))
    return state


def free_neighbours(state: State) -> list[int]:
    walls = state.task.walls
    return [cell for cell in neighbours(state.cell, state.task.size) if cell not in walls]


def manhattan(cell: int, other: int, size: int) -> int:
    """Rows apart plus columns apart.

    >>> manhattan(0, 99, 10)
    18
    """
    return abs(cell // size - other // size) + abs(cell % size - other % size)


def _least(state: State, rng: random.Random, cost: Callable[[int], int]) -> int:
    return min(free_neighbours(state), key=lambda cell: (cost(cell), rng.random()))


def walk_random(state: State, rng: random.Random) -> int:
    """Any free neighbour."""
    return _least(state, rng, lambda cell: 0)


def walk_greedy(state: State, rng: random.Random) -> int:
    """The free neighbour nearest to the goal by rows and columns, walls in between ignored; ties at random."""
    return _least(state, rng, lambda cell: manhattan(cell, state.task.goal, state.task.size))


def walk_greedy_with_memory(state: State, rng: random.Random) -> int:
    """The free neighbour visited least often; among those, the nearest to the goal by rows and columns."""
    task, visited = state.task, (state.task.start_cell, *state.walked)
    return _least(state, rng, lambda cell: visited.count(cell) * 2 * task.size + manhattan(cell, task.goal, task.size))


def walk_shortest(state: State, rng: random.Random) -> int:
    """The next cell of a shortest path."""
    return _least(state, rng, state.task.distance)


WALKERS: dict[str, Walker] = {
    "random": walk_random,
    "greedy": walk_greedy,
    "greedy_with_memory": walk_greedy_with_memory,
    "shortest": walk_shortest,
}
