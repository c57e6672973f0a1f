"""What planner and executor are shown, in both dialects. Nothing here is computed by a search.

Values: `state`, `walls` (the cells that this role sees as walls), `goal` (or None where the role does not see it) and,
for the executor, `plan` (parsed moves). What is stable over an episode comes first, so that prompts share prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from motet.tasks.plan_path import PlanPathTask, State
from motet.tasks.plan_path_drawing import draw_grid
from motet.tasks.plan_path_grid import moved_to
from motet.tasks.plan_path_moves import Moves
from motet.types import Message

RULES = """You move on a grid. Rows count from the top, columns from the left, both from 0.
U moves one row up, D one row down, L one column left, R one column right.
A move into a wall or off the grid fails, costs one move and ends the walk.
At most {cap} moves are made per answer.

Legend: # wall, . free, @ you{goal}"""

ANSWER = (
    'Think briefly, then end with one line: four hash marks and a JSON list of moves, for example\n#### ["U", "R", "R"]'
)


BLANK = "_"
"""Stands in the compact dialect where a word is missing, so that every prompt of a role has the same length."""


def cell_word(cell: int, size: int, kind: str = "c") -> str:
    """The compact word of a cell: for sides up to 10 the digits are row and column. The letter tells what the cell is:
    `c` one to stand on or enter, `x` a wall, `g` the goal.

    >>> cell_word(7, 10), cell_word(7, 20), cell_word(7, 10, "x")
    ('c07', 'c007', 'x07')
    """
    return f"{kind}{cell:0{len(str(size * size - 1))}d}"


def cell_words(cells: Iterable[int], size: int, kind: str = "c") -> str:
    return " ".join(cell_word(cell, size, kind) for cell in cells)


def compact(role: str, values: Mapping[str, Any]) -> str:
    """`GOAL WALLS role DID nB [PLAN] HERE`, one word per cell.

    GOAL is `gXY`, WALLS as many words as the grid has walls (`xXY`, sorted, then blanks for walls this role does not
    know), DID what the last walk did, PLAN the proposal in `max_moves_per_call` words (`cXY`, then blanks), HERE where
    the walker stands: the answer goes on from there, cell by cell. `_` is a blank.
    """
    state: State = values["state"]
    task = state.task
    goal, walls = values["goal"], values["walls"]
    words = [BLANK if goal is None else cell_word(goal, task.size, "g"), cell_words(walls, task.size, "x")]
    words += [BLANK] * (len(task.walls) - len(walls))
    words += [role, state.last, f"n{min(state.moves_left, MAX_NUMBER)}"]
    if "plan" in values:
        plan = plan_cells(state, values["plan"])
        words += [cell_words(plan, task.size), *[BLANK] * (task.max_moves_per_call - len(plan))]
    return " ".join(word for word in (*words, cell_word(state.cell, task.size)) if word)


MAX_NUMBER = 63
"""The compact dialect has words `n0` to `n63`; a larger budget is shown as `n63`."""


def plan_cells(state: State, plan: Moves) -> list[int]:
    """The cells of a proposal as it was said, walls or not; directions are followed until they leave the grid."""
    cells, cell, size = [], state.cell, state.task.size
    for step in plan.steps[: state.task.max_moves_per_call]:
        if isinstance(step, str):
            cell = moved_to(cell, step, size)
            if cell < 0:
                break
        elif 0 <= step < size * size:
            cell = step
        else:
            break
        cells.append(cell)
    return cells


def chat(role: str, values: Mapping[str, Any]) -> list[Message]:
    """Rules, the grid drawn, position, goal, budget, what happened, the plan, and the output format."""
    state: State = values["state"]
    task: PlanPathTask = state.task
    goal = values["goal"]
    rules = RULES.format(cap=task.max_moves_per_call, goal="" if goal is None else ", G goal")
    lines = [
        draw_grid(state, walls=values["walls"], goal=goal, trail=False),
        "",
        f"You are at {place(state.cell, task.size)}."
        + ("" if goal is None else f" The goal is at {place(goal, task.size)}."),
        f"Moves left: {state.moves_left}.",
        f"Walked so far: {', '.join(place(cell, task.size) for cell in state.walked) or 'nothing'}.",
        DID[state.last],
    ]
    if "plan" in values:
        said = ", ".join(place(cell, task.size) for cell in plan_cells(state, values["plan"]))
        lines.append(f"The planner proposes to enter: {said or 'nothing'}.")
    lines += ["", TASKS[role], ANSWER]
    return [Message("system", rules), Message("user", "\n".join(lines))]


DID = {
    "none": "This is the first walk.",
    "ok": "The last walk went as asked.",
    "bump": "The last walk ended at an illegal move.",
    "empty": "The last answer held no move.",
}

TASKS = {
    "planner": "You are the planner. Propose the next moves to the executor, who makes the walk.",
    "executor": "You are the executor. Check the proposal against the grid, then make the next moves.",
    "solver": "Make the next moves towards the goal.",
}


def place(cell: int, size: int) -> str:
    """(row, column).

    >>> place(27, 10)
    '(2, 7)'
    """
    return f"({cell // size}, {cell % size})"


def dialects(role: str) -> dict[str, Any]:
    return {"compact": lambda values: compact(role, values), "chat": lambda values: chat(role, values)}


PROMPTS = {"propose": dialects("planner"), "execute": dialects("executor")}
