"""Rewards of Sudoku, pure functions of what an answer fills in. docs/rewards.md tells what each one teaches."""

from __future__ import annotations

from motet.tasks.sudoku import Board, Filled, fill
from motet.tasks.sudoku_fills import Fills, parse_fills
from motet.types import Reward

SHORT_OF_GOAL = 0.9
"""The most that an answer can earn which does not solve the puzzle."""

NO_FILLS = Fills()


def fill_team(done: Filled) -> float:
    """How far one answer brings the puzzle: 1 exactly when it solves it, else

        0.9 * g * (1 + e) / 2     with   g = max(0, r' - r) / min(b - r, M)   and   e = max(0, r' - r) / m

    r and r' are the blank cells that hold the right value before and after, b the blank cells of the puzzle, m the
    fills spent, M the budget left before. In [0, 0.9] short of the solution. What takes out right values earns 0.

    >>> from motet.tasks.sudoku import Sudoku
    >>> board = Sudoku().task("test", 0).start()
    >>> right = [(cell, value) for cell, value in enumerate(board.task.solution) if not board.cells[cell]]
    >>> fill_team(fill(board, Fills(tuple(right)))), fill_team(fill(board, Fills(tuple(right[:5]))))
    (1.0, 0.45)
    """
    if done.after.at_goal:
        return 1.0
    gained = max(0, done.after.num_right - done.before.num_right)
    if gained == 0:
        return 0.0
    best = min(done.before.task.num_blanks - done.before.num_right, done.before.moves_left)
    return SHORT_OF_GOAL * (gained / best) * (1.0 + gained / done.spent) / 2.0


def fill_form(done: Filled) -> tuple[float, float]:
    """The form of one answer by the rules alone, right or wrong: (legal, filled), each in [0, 1].

    legal = fills placed / fills spent, 0 when none was spent. filled = cells that hold a fill of this answer at its end
    / cells blank before (at least 1), at most 1, and 1 when the puzzle is solved. A cell that is filled in again and
    again counts once.
    """
    if done.spent == 0:
        return 0.0, 0.0
    blank = max(1, done.before.cells.count(0))
    cells = {cell for cell, _ in done.placed}
    filled = 1.0 if done.after.at_goal else min(1.0, len(cells) / blank)
    return len(done.placed) / done.spent, filled


def followed(plan: Filled, done: Filled) -> float:
    """The share of the fills that the proposal places which the answer places as well; 0 where it places none."""
    placed = set(plan.placed)
    return len(placed & set(done.placed)) / len(placed) if placed else 0.0


def judge_fills(board: Board, text: str, plan: Fills = NO_FILLS, follow: float = 0.0) -> Reward:
    """Team = `fill_team`; local = (1 - follow) * (legal + filled) / 2 + follow * followed. Notes: the fills.

    The same for a proposal, filled in as it stands.

    >>> from motet.tasks.sudoku import SudokuTask
    >>> solved = (1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1)
    >>> board = SudokuTask("t", 4, (0, 0, *solved[2:]), solved, 4).start()
    >>> judge_fills(board, "#### [[0, 0, 1]]").team, judge_fills(board, "#### [[0, 0, 1]]").local
    (0.45, 0.75)
    >>> judge_fills(board, "#### [[0, 0, 2]]").local  # refused: 2 stands in the same column
    0.0
    """
    fills = parse_fills(text, board.task.size)
    done = fill(board, fills)
    legal, filled = fill_form(done)
    parts = {"legal": legal, "filled": filled, "followed": followed(fill(board, plan), done)}
    local = (1.0 - follow) * (legal + filled) / 2.0 + follow * parts["followed"]
    return Reward(team=fill_team(done), local=local, notes=fills, parts=parts)
