"""Sudoku: fill a grid so that every row, column and box holds every value once, within a budget of fills.

A task is a frozen value, a `Board` as well: `board.after(fills)` is a new board and leaves the old one as it was.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError, TaskError
from motet.tasks.finding import refuse_unknown, refuse_wrong_type
from motet.tasks.games import Dialect, Part, Shown, check_place
from motet.tasks.plan_path_grid import SPLIT_BUCKETS, number_of
from motet.tasks.sudoku_fills import Fills, parse_fills
from motet.tasks.sudoku_grids import BOXES, Grid, conflicts, dig, draw_solved
from motet.types import Reward

Last = Literal["none", "ok", "bump", "empty"]

HELD_OUT_SIZE = 10_000
"""Tasks in `validation` and in `test`; `train` is endless."""

DEFAULT_CLUES = {4: 6, 6: 14, 9: 36}
FEWEST_CLUES = {4: 4, 6: 8, 9: 24}
"""Fewer are not asked for: no puzzle of 4 has fewer, and larger ones are too seldom found."""

MAX_ATTEMPTS = 2_000


@dataclass(frozen=True, slots=True)
class SudokuTask:
    """One puzzle. `clues` holds 0 for a blank cell, `solution` is the only grid that agrees with them.

    `max_moves` is the budget of fills in an episode, refused ones counted.

    >>> task = Sudoku(clues=8).task("train", 0)
    >>> sum(map(bool, task.clues)), task.max_moves, task.start().cells == task.clues
    (8, 16, True)
    """

    id: str
    size: int
    clues: Grid
    solution: Grid
    max_moves: int
    max_turns: int = 4
    views: ClassVar[tuple[str, ...]] = ("full",)

    def start(self) -> Board:
        """The board before the first fill."""
        return Board(self, self.clues, self.max_moves)

    @property
    def num_blanks(self) -> int:
        return self.clues.count(0)


@dataclass(frozen=True, slots=True)
class Board:
    """Where a puzzle stands. `cells` holds the clues and what was filled in, never two equal values in a row, column or
    box. `last` tells how the last answer went: "none" (there was none), "ok", "bump" (a fill was refused), "empty".
    """

    task: SudokuTask
    cells: Grid
    moves_left: int
    last: Last = "none"

    @property
    def at_goal(self) -> bool:
        return self.cells == self.task.solution

    @property
    def is_over(self) -> bool:
        """Solved, or out of fills."""
        return self.at_goal or self.moves_left == 0

    @property
    def num_right(self) -> int:
        """Blank cells of the puzzle that hold the right value. For rewards; prompts must not use it."""
        task = self.task
        return sum(cell == right and not clue for cell, right, clue in zip(self.cells, task.solution, task.clues))

    @property
    def progress(self) -> float:
        """1 when solved, else 0.9 times the share of the blank cells that hold the right value."""
        return 1.0 if self.at_goal else 0.9 * self.num_right / self.task.num_blanks

    @property
    def num_moves(self) -> int:
        return self.task.max_moves - self.moves_left

    def after(self, fills: Fills) -> Board:
        """The board after `fills`; see `fill`."""
        return fill(self, fills).after

    def read(self, text: str) -> Fills:
        return parse_fills(text, self.task.size)

    def judge(
        self, text: str, *, part: Part = "move", view: str = "full", plan: Fills | None = None, follow: float = 0.0
    ) -> Reward:
        """`sudoku_rewards.judge_fills`."""
        from motet.tasks.sudoku_rewards import judge_fills  # it reads boards

        return judge_fills(self, text, plan=plan or Fills(), follow=follow if part == "move" else 0.0)

    def show(self, dialect: Dialect, *, part: Part = "move", view: str = "full") -> Shown:
        """See `sudoku_words`."""
        from motet.tasks import sudoku_words  # it reads boards

        return sudoku_words.compact(self) if dialect == "compact" else sudoku_words.chat(self)

    def draw(self) -> str:
        from motet.tasks import sudoku_words

        return sudoku_words.draw_board(self)

    def tell(self, moves: Fills, dialect: Dialect) -> str:
        from motet.tasks import sudoku_words

        return (sudoku_words.tell_compact if dialect == "compact" else sudoku_words.tell_chat)(self, moves)


@dataclass(frozen=True, slots=True)
class Filled:
    """What an answer did: the fills that were `placed` and those that were `refused`, each (cell, value)."""

    before: Board
    after: Board
    placed: tuple[tuple[int, int], ...]
    refused: tuple[tuple[int, int], ...]

    @property
    def spent(self) -> int:
        """Fills taken from the budget."""
        return len(self.placed) + len(self.refused)


def fill(board: Board, fills: Fills) -> Filled:
    """Make `fills` in order until they end, the puzzle is solved or the budget is spent.

    What an answer changes is lifted first, so that it can put right what was wrong before. A fill that says what stands
    is free. One on a clue, or of a value that stands in the same row, column or box, is refused; it costs one like any
    other and leaves its cell blank (a clue stays).

    >>> task = SudokuTask("t", 4, (0, 2, 3, 4) + (3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 0),
    ...                   (1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1), 4)
    >>> done = fill(task.start(), Fills(((0, 2), (1, 2), (15, 1))))
    >>> done.placed, done.refused, done.after.moves_left
    (((15, 1),), ((0, 2),), 2)
    """
    task, cells, left = board.task, list(board.cells), board.moves_left
    placed: list[tuple[int, int]] = []
    refused: list[tuple[int, int]] = []
    for cell, value in fills.steps:
        if not task.clues[cell] and cells[cell] != value:
            cells[cell] = 0
    for cell, value in fills.steps:
        if not left or tuple(cells) == task.solution:
            break
        if cells[cell] == value:
            continue
        left -= 1
        if task.clues[cell] or conflicts(task.size, cells, cell, value):
            refused.append((cell, value))
        else:
            cells[cell] = value
            placed.append((cell, value))
    last: Last = "bump" if refused else "ok" if placed else "empty"
    return Filled(board, Board(task, tuple(cells), left, last), tuple(placed), tuple(refused))


@dataclass(frozen=True, slots=True)
class SudokuSettings:
    """What a recipe may set. `clues` 0 takes 6, 14 or 36 for the sizes 4, 6 and 9; `budget_factor` times the blank
    cells, rounded down, is the budget of an episode. Raises `ConfigError` out of range.
    """

    size: int = 4
    clues: int = 0
    max_turns: int = 4
    budget_factor: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        where: dict[str, object] = {"task_set": "sudoku"}
        for one in fields(self):
            refuse_wrong_type(one.name, getattr(self, one.name), one.default, where)
        if self.size not in BOXES:
            raise ConfigError(f"size is {self.size!r}", where=where, fix="set size to 4, 6 or 9")
        fewest, most = FEWEST_CLUES[self.size], self.size**2 - 1
        rules = {
            "clues": (self.clues == 0 or fewest <= self.clues <= most, f"between {fewest} and {most}, or 0"),
            "max_turns": (self.max_turns >= 1, "at least 1"),
            "budget_factor": (self.budget_factor >= 1, "at least 1"),
        }
        for key, (is_right, rule) in rules.items():
            if not is_right:
                raise ConfigError(f"{key} is {getattr(self, key)!r}", where=where, fix=f"set {key} {rule}")


class Sudoku:
    """The task set. A task is a pure function of (settings, split, index).

    Every puzzle has exactly `clues` clues and one solution, proved by an exhaustive search. A solved grid belongs to
    one split alone, by its hash (`sudoku_grids.split_of`).

    Settings are those of `SudokuSettings`. Raises `ConfigError` for an unknown one or one out of range, `TaskError` for
    an unknown split or index and where no puzzle fits the settings.

    >>> task = Sudoku().task("test", 7)
    >>> task == Sudoku(size=4).task("test", 7), len(task.clues) - task.num_blanks
    (True, 6)
    """

    splits: tuple[str, ...] = tuple(SPLIT_BUCKETS)

    def __init__(self, *, name: str = "sudoku", **settings: Any) -> None:
        refuse_unknown(settings, [field.name for field in fields(SudokuSettings)], {"task_set": name})
        self.name, self.settings = name, SudokuSettings(**settings)

    def size(self, split: str) -> int | None:
        """Number of tasks of `split`; None: endless."""
        return None if split == "train" else HELD_OUT_SIZE

    def task(self, split: str, index: int) -> SudokuTask:
        """The task at `index` of `split`."""
        check_place(self, split, index)
        opts = self.settings
        clues = opts.clues or DEFAULT_CLUES[opts.size]
        rng = random.Random(number_of("sudoku", opts.size, clues, opts.seed, split, index))
        for _ in range(MAX_ATTEMPTS):
            solved = draw_solved(opts.size, split, rng)
            puzzle = dig(opts.size, solved, clues, rng)
            if puzzle is not None:
                digest = number_of("content", opts.size, puzzle)
                name = f"{self.name}-{split}-{index}-{digest & 0xFFFFFFFF:08x}"
                budget = int(opts.budget_factor * puzzle.count(0))
                return SudokuTask(name, opts.size, puzzle, solved, budget, opts.max_turns)
        raise TaskError(
            f"no puzzle found in {MAX_ATTEMPTS} attempts",
            where={"task_set": self.name, "size": opts.size, "clues": clues},
            fix="raise clues",
        )
