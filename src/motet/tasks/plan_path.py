"""Plan-Path: walk a grid with walls from a start to a goal within a budget of moves.

A cell is the integer row * size + column. A task is a frozen value, a `State` as well: `state.after(moves)` is a new
state and leaves the old one as it was, so that candidates can be tried side by side.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError, TaskError
from motet.tasks.finding import refuse_unknown, refuse_wrong_type
from motet.tasks.games import Dialect, Part, Shown, check_place
from motet.tasks.plan_path_grid import SPLIT_BUCKETS, distances, moved_to, number_of, split_of
from motet.tasks.plan_path_moves import Moves, parse_moves
from motet.types import Reward

Last = Literal["none", "ok", "bump", "empty"]

HELD_OUT_SIZE = 10_000
"""Tasks in `validation` and in `test`; `train` is endless."""

MAX_ATTEMPTS = 20_000


@dataclass(frozen=True, slots=True)
class PlanPathTask:
    """One grid. `walls` and `map_walls` are sorted; `map_walls` is the out-of-date map, a subset of `walls`.

    `optimal` is the length of a shortest path; `max_moves` the budget of the episode, illegal moves counted. Under the
    view `stale_map` who plans sees `map_walls` and the goal, who moves the true walls and no goal.

    >>> task = PlanPath(size=4, walls=0.25, min_distance=3).task("train", 0)
    >>> task.start().cell == task.start_cell, len(task.walls), task.max_moves == 2 * task.optimal
    (True, 4, True)
    """

    id: str
    size: int
    walls: tuple[int, ...]
    map_walls: tuple[int, ...]
    start_cell: int
    goal: int
    optimal: int
    max_moves: int
    max_turns: int = 4
    max_moves_per_call: int = 8
    views: ClassVar[tuple[str, ...]] = ("full", "stale_map")

    def start(self) -> State:
        """The state before the first move."""
        return State(self, self.start_cell, self.max_moves)

    def distance(self, cell: int) -> int:
        """Length of a shortest path from `cell` to the goal; -1 for a wall or a cell that cannot reach it.

        For rewards and walkers. Prompts must not use it.
        """
        return distances(self.size, self.walls, self.goal)[cell]


@dataclass(frozen=True, slots=True)
class State:
    """Where a walk stands. `walked` lists the cells entered so far, the start not among them; `bumps` the walls met.

    `last` tells what the last walk did: "none" (there was none), "ok", "bump" (an illegal move ended it), "empty" (no
    move).

    >>> task = PlanPathTask("t", 2, (), (), 0, 3, 2, 4)
    >>> after = task.start().after(Moves(("R", "D")))
    >>> after.cell, after.moves_left, after.at_goal, after.progress
    (3, 2, True, 1.0)
    """

    task: PlanPathTask
    cell: int
    moves_left: int
    walked: tuple[int, ...] = ()
    bumps: tuple[int, ...] = ()
    last: Last = "none"

    @property
    def at_goal(self) -> bool:
        return self.cell == self.task.goal

    @property
    def is_over(self) -> bool:
        """At the goal, or out of moves."""
        return self.at_goal or self.moves_left == 0

    @property
    def progress(self) -> float:
        """1 at the goal, else 0.9 max(0, 1 - d / d0), d and d0 the shortest distances from here and from the start."""
        if self.at_goal:
            return 1.0
        return 0.9 * max(0.0, 1.0 - self.task.distance(self.cell) / self.task.optimal)

    def after(self, moves: Moves) -> State:
        """The state after the walk of `moves`; see `walk`."""
        return walk(self, moves).after

    @property
    def num_moves(self) -> int:
        return self.task.max_moves - self.moves_left

    def read(self, text: str) -> Moves:
        return parse_moves(text)

    def judge(
        self, text: str, *, part: Part = "move", view: str = "full", plan: Moves | None = None, follow: float = 0.0
    ) -> Reward:
        """`plan_path_rewards.judge_plan` or `judge_walk`."""
        from motet.tasks import plan_path_rewards  # it reads states

        if part == "plan":
            return plan_path_rewards.judge_plan(self, text, walls=self._seen(part, view)[0])
        return plan_path_rewards.judge_walk(self, text, plan=plan or Moves(), follow=follow)

    def show(self, dialect: Dialect, *, part: Part = "move", view: str = "full") -> Shown:
        """See `plan_path_words`."""
        from motet.tasks import plan_path_words  # it reads states

        words = plan_path_words.compact if dialect == "compact" else plan_path_words.chat
        return words(self, *self._seen(part, view))

    def draw(self) -> str:
        from motet.tasks.plan_path_drawing import draw_grid

        return draw_grid(self)

    def tell(self, moves: Moves, dialect: Dialect) -> str:
        from motet.tasks import plan_path_words

        return (plan_path_words.tell_compact if dialect == "compact" else plan_path_words.tell_chat)(self, moves)

    def _seen(self, part: Part, view: str) -> tuple[tuple[int, ...], int | None]:
        """The cells that a role takes for walls, and the goal or None."""
        if view != "stale_map":
            return self.task.walls, self.task.goal
        return (self.task.map_walls, self.task.goal) if part == "plan" else (self.task.walls, None)


@dataclass(frozen=True, slots=True)
class Walk:
    """What a sequence of moves did. `steps` are the cells entered, `bumped` the illegal cell (-1: off the grid) or
    None.
    """

    before: State
    after: State
    steps: tuple[int, ...]
    bumped: int | None

    @property
    def attempted(self) -> int:
        """Moves spent: the legal ones and the illegal one that ended the walk."""
        return len(self.steps) + (self.bumped is not None)


def walk(state: State, moves: Moves, walls: tuple[int, ...] | None = None) -> Walk:
    """Walk `moves` from `state` until they end, the goal is reached, a move is illegal, the call's cap or the budget
    ends.

    An illegal move (a wall, off the grid, a cell that is no neighbour) costs one move and ends the walk where it
    stands. `walls` replaces the true walls: the walk on somebody's map.

    >>> task = PlanPathTask("t", 3, (1,), (), 0, 8, 4, 8)
    >>> done = walk(task.start(), Moves(("D", "R", "U", "U")))
    >>> done.steps, done.bumped, done.after.moves_left, done.after.last
    ((3, 4), 1, 5, 'bump')
    """
    task = state.task
    blocked = frozenset(task.walls if walls is None else walls)
    cell, steps, bumped = state.cell, [], None
    room = min(task.max_moves_per_call, state.moves_left)
    for step in moves.steps[:room]:
        if cell == task.goal:
            break
        target = moved_to(cell, step, task.size)
        if target < 0 or target in blocked:
            bumped = target
            break
        steps.append(target)
        cell = target
    spent = len(steps) + (bumped is not None)
    last: Last = "bump" if bumped is not None else "ok" if steps else "empty"
    bumps = state.bumps if bumped is None or bumped < 0 or bumped in state.bumps else (*state.bumps, bumped)
    after = State(task, cell, state.moves_left - spent, (*state.walked, *steps), bumps, last)
    return Walk(state, after, tuple(steps), bumped)


@dataclass(frozen=True, slots=True)
class PlanPathSettings:
    """What a recipe may set. `hidden_walls` is the fraction of wall cells that `task.map_walls` lacks; `budget_factor`
    times the optimum, rounded down, is the budget of an episode. Raises `ConfigError` out of range.
    """

    size: int = 10
    walls: float = 0.22
    min_distance: int = 8
    max_turns: int = 4
    budget_factor: float = 2.0
    max_moves_per_call: int = 8
    hidden_walls: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        where: dict[str, object] = {"task_set": "plan_path"}
        for one in fields(self):
            refuse_wrong_type(one.name, getattr(self, one.name), one.default, where)
        rules = {
            "size": (2 <= self.size <= 64, "between 2 and 64"),
            "walls": (0 <= self.walls < 1, "a fraction in [0, 1)"),
            "hidden_walls": (0 <= self.hidden_walls <= 1, "a fraction in [0, 1]"),
            "min_distance": (self.min_distance >= 1, "at least 1"),
            "max_turns": (self.max_turns >= 1, "at least 1"),
            "budget_factor": (self.budget_factor >= 1, "at least 1"),
            "max_moves_per_call": (self.max_moves_per_call >= 1, "at least 1"),
        }
        for key, (is_right, rule) in rules.items():
            if not is_right:
                raise ConfigError(f"{key} is {getattr(self, key)!r}", where=where, fix=f"set {key} {rule}")


class PlanPath:
    """The task set. A task is a pure function of (settings, split, index).

    Every grid has exactly round(walls * size * size) wall cells and a path from start to goal of at least
    `min_distance` moves that fits into max_turns * max_moves_per_call moves. A wall layout belongs to one split alone,
    by its hash, so no two splits share one.

    Settings are those of `PlanPathSettings`. Raises `ConfigError` for an unknown one or one out of range, `TaskError`
    for an unknown split or index and where no grid fits the settings.

    >>> task = PlanPath().task("test", 7)
    >>> task == PlanPath(size=10).task("test", 7), len(task.walls), task.optimal >= 8
    (True, 22, True)
    """

    splits: tuple[str, ...] = tuple(SPLIT_BUCKETS)

    def __init__(self, *, name: str = "plan_path", **settings: Any) -> None:
        refuse_unknown(settings, [field.name for field in fields(PlanPathSettings)], {"task_set": name})
        self.name, self.settings = name, PlanPathSettings(**settings)

    @property
    def num_walls(self) -> int:
        return round(self.settings.walls * self.settings.size**2)

    def size(self, split: str) -> int | None:
        """Number of tasks of `split`; None: endless."""
        return None if split == "train" else HELD_OUT_SIZE

    def task(self, split: str, index: int) -> PlanPathTask:
        """The task at `index` of `split`."""
        check_place(self, split, index)
        opts = self.settings
        longest = opts.max_turns * opts.max_moves_per_call
        drawn_by = (opts.size, self.num_walls, opts.min_distance, longest, opts.seed)
        rng = random.Random(number_of("grid", *drawn_by, split, index))
        for walls in self._layouts(rng, split):
            free = sorted(set(range(self.settings.size * self.settings.size)) - set(walls))
            goal = _pick(rng, free)
            far = distances.__wrapped__(self.settings.size, walls, goal)
            starts = [cell for cell in free if self.settings.min_distance <= far[cell] <= longest]
            if starts:
                return self._task(split, index, walls, _pick(rng, starts), goal, far)
        raise TaskError(
            f"no grid found in {MAX_ATTEMPTS} attempts",
            where={
                "task_set": self.name,
                "size": self.settings.size,
                "walls": self.settings.walls,
                "min_distance": self.settings.min_distance,
            },
            fix="lower min_distance or walls, or raise size, max_turns or max_moves_per_call",
        )

    def _layouts(self, rng: random.Random, split: str) -> Iterator[tuple[int, ...]]:
        """Wall layouts of this split, in random order."""
        cells = range(self.settings.size * self.settings.size)
        for _ in range(MAX_ATTEMPTS):
            ranks = [rng.random() for _ in cells]  # the one method whose values every Python version keeps
            walls = tuple(sorted(sorted(cells, key=ranks.__getitem__)[: self.num_walls]))
            if split_of(self.settings.size, walls) == split:
                yield walls

    def _task(
        self, split: str, index: int, walls: tuple[int, ...], start: int, goal: int, far: tuple[int, ...]
    ) -> PlanPathTask:
        digest = number_of("content", self.settings.size, walls, start, goal)
        rng = random.Random(number_of("hidden", digest, self.settings.seed))
        hidden = sorted(walls, key=lambda cell: rng.random())[: round(self.settings.hidden_walls * len(walls))]
        return PlanPathTask(
            id=f"{self.name}-{split}-{index}-{digest & 0xFFFFFFFF:08x}",
            size=self.settings.size,
            walls=walls,
            map_walls=tuple(sorted(set(walls) - set(hidden))),
            start_cell=start,
            goal=goal,
            optimal=far[start],
            max_moves=int(self.settings.budget_factor * far[start]),
            max_turns=self.settings.max_turns,
            max_moves_per_call=self.settings.max_moves_per_call,
        )


def _pick(rng: random.Random, items: list[int]) -> int:
    return items[int(rng.random() * len(items))]
