"""What Plan-Path shows of itself, in both dialects. Nothing here is computed by a search.

`walls` are the cells that a role takes for walls, `goal` is None where it does not see it. What is stable over an
episode comes first, so that prompts share prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable

from motet.tasks.games import BLANK, Shown, number_word
from motet.tasks.plan_path import State
from motet.tasks.plan_path_drawing import draw_grid
from motet.tasks.plan_path_grid import moved_to
from motet.tasks.plan_path_moves import Moves

RULES = """You move on a grid. Rows count from the top, columns from the left, both from 0.
U moves one row up, D one row down, L one column left, R one column right.
A move into a wall or off the grid fails, costs one move and ends the walk.
At most {cap} moves are made per answer.

Legend: # wall, . free, @ you{goal}"""

ANSWER = (
    'Think briefly, then end with one line: four hash marks and a JSON list of moves, for example\n#### ["U", "R", "R"]'
)
LIST = 'a JSON list of moves, for example ["U", "R", "R"]'

DID = {
    "none": "This is the first walk.",
    "ok": "The last walk went as asked.",
    "bump": "The last walk ended at an illegal move.",
    "empty": "The last answer held no move.",
}


def cell_word(cell: int, size: int, kind: str = "c") -> str:
    """The compact word of a cell: for sides up to 10 the digits are row and column. The letter tells what the cell is:
    `c` one to stand on or enter, `x` a wall, `g` the goal.

    >>> cell_word(7, 10), cell_word(7, 20), cell_word(7, 10, "x")
    ('c07', 'c007', 'x07')
    """
    return f"{kind}{cell:0{len(str(size * size - 1))}d}"


def cell_words(cells: Iterable[int], size: int, kind: str = "c") -> str:
    return " ".join(cell_word(cell, size, kind) for cell in cells)


def compact(state: State, walls: tuple[int, ...], goal: int | None) -> Shown:
    """GOAL WALLS, then DID nB, last HERE; one word per cell.

    GOAL is `gXY`, WALLS as many words as the grid has walls (`xXY`, sorted, then blanks for walls this role does not
    know), DID what the last walk did, HERE where the walker stands: the answer goes on from there, cell by cell. `_` is
    a blank.
    """
    task = state.task
    words = [BLANK if goal is None else cell_word(goal, task.size, "g"), cell_words(walls, task.size, "x")]
    words += [BLANK] * (len(task.walls) - len(walls))
    return Shown(
        stable=" ".join(word for word in words if word),
        now=f"{state.last} {number_word(state.moves_left)}",
        here=cell_word(state.cell, task.size),
    )


def chat(state: State, walls: tuple[int, ...], goal: int | None) -> Shown:
    """Rules, the grid drawn, position, goal, budget, what happened, and the output format."""
    task = state.task
    lines = [
        draw_grid(state, walls=walls, goal=goal, trail=False),
        "",
        f"You are at {place(state.cell, task.size)}."
        + ("" if goal is None else f" The goal is at {place(goal, task.size)}."),
        f"Moves left: {state.moves_left}.",
        f"Walked so far: {places(state.walked, task.size) or 'nothing'}.",
        DID[state.last],
    ]
    return Shown(
        stable=RULES.format(cap=task.max_moves_per_call, goal="" if goal is None else ", G goal"),
        now="\n".join(lines),
        answer_form=ANSWER,
        list_form=LIST,
        board="the grid",
        does="makes the walk",
        aim="towards the goal",
    )


def tell_compact(state: State, plan: Moves) -> str:
    """The proposal in `max_moves_per_call` words: `cXY`, then blanks."""
    task, cells = state.task, plan_cells(state, plan)
    words = [cell_words(cells, task.size), *[BLANK] * (task.max_moves_per_call - len(cells))]
    return " ".join(word for word in words if word)


def tell_chat(state: State, plan: Moves) -> str:
    """The cells of the proposal as (row, column)."""
    return f"to enter: {places(plan_cells(state, plan), state.task.size) or 'nothing'}"


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


def place(cell: int, size: int) -> str:
    """(row, column).

    >>> place(27, 10)
    '(2, 7)'
    """
    return f"({cell // size}, {cell % size})"


def places(cells: Iterable[int], size: int) -> str:
    return ", ".join(place(cell, size) for cell in cells)
