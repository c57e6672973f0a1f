"""Draws a Plan-Path grid in letters, for prompts, `motet play` and the report."""

from __future__ import annotations

from motet.tasks.plan_path import State


def draw_grid(state: State, walls: tuple[int, ...] | None = None, goal: int | None = -1, trail: bool = True) -> str:
    """One line per row: `#` wall, `.` free, `@` where the walker stands, `G` goal, `o` cells walked on (when `trail`).

    `walls` and `goal` (None: not drawn) replace the true ones, for what one role sees.

    >>> from motet.tasks.plan_path import PlanPathTask
    >>> from motet.tasks.plan_path_moves import Moves
    >>> start = PlanPathTask("t", 3, (4,), (), 0, 8, 4, 8).start()
    >>> print(draw_grid(start.after(Moves(("R", "R")))))
    . o @
    . # .
    . . G
    """
    task = state.task
    letters = ["."] * (task.size * task.size)
    if trail:
        for cell in state.walked:
            letters[cell] = "o"
    for cell in task.walls if walls is None else walls:
        letters[cell] = "#"
    if goal is not None:
        letters[task.goal if goal < 0 else goal] = "G"
    letters[state.cell] = "@"
    rows = [letters[row : row + task.size] for row in range(0, len(letters), task.size)]
    return "\n".join(" ".join(row) for row in rows)
