"""Sokoban: push every box onto a target within a budget of moves. Out of moves is a failure.

A task is a frozen value, a `Position` as well: `position.after(moves)` is a new one and leaves the old as it was.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError, TaskError
from motet.tasks.finding import refuse_unknown, refuse_wrong_type
from motet.tasks.games import Dialect, Part, Shown, check_place
from motet.tasks.plan_path_grid import SPLIT_BUCKETS, number_of
from motet.tasks.plan_path_moves import Moves
from motet.tasks.sokoban_moves import parse_pushes
from motet.tasks.sokoban_rooms import Boxes, Room, Stand, Table, made_table, stepped, table_of
from motet.types import Reward

Last = Literal["none", "ok", "bump", "empty"]

HELD_OUT_SIZE = 10_000
"""Tasks in `validation` and in `test`; `train` is endless."""

MAX_ROOMS = 2_000
STARTS_PER_ROOM = 40


@dataclass(frozen=True, slots=True)
class SokobanTask:
    """One puzzle. `walls`, `targets` and `boxes` are sorted; `optimal` is the length of a shortest solution in moves.

    `max_moves` is the budget of the episode, illegal moves counted.

    >>> task = Sokoban().task("train", 0)
    >>> len(task.walls), len(task.boxes), 4 <= task.optimal <= 12, task.max_moves == 2 * task.optimal
    (5, 1, True, True)
    """

    id: str
    size: int
    walls: tuple[int, ...]
    targets: tuple[int, ...]
    player: int
    boxes: Boxes
    optimal: int
    max_moves: int
    max_turns: int = 4
    max_moves_per_call: int = 8
    views: ClassVar[tuple[str, ...]] = ("full",)

    def start(self) -> Position:
        """The position before the first move."""
        return Position(self, self.player, self.boxes, self.max_moves)

    @property
    def room(self) -> Room:
        return Room(self.size, self.walls, self.targets)

    def distance(self, stand: Stand) -> int:
        """Fewest moves from `stand` to a solution; -1 where none is as short as the budget of an episode: lost.

        For rewards. Prompts must not use it.
        """
        return table_of(self.room, len(self.boxes), self.max_moves).moves(stand)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a puzzle stands. `last` tells what the last walk did: "none" (there was none), "ok", "bump" (an illegal
    move ended it), "empty" (no move). `walked` lists the cells entered so far.
    """

    task: SokobanTask
    player: int
    boxes: Boxes
    moves_left: int
    walked: tuple[int, ...] = ()
    last: Last = "none"

    @property
    def stand(self) -> Stand:
        return Stand(self.player, self.boxes)

    @property
    def at_goal(self) -> bool:
        """Every box on a target."""
        return self.boxes == self.task.targets

    @property
    def is_over(self) -> bool:
        """Solved, or out of moves."""
        return self.at_goal or self.moves_left == 0

    @property
    def progress(self) -> float:
        """1 when solved, 0 when lost, else 0.9 max(0, 1 - d / d0): d, d0 the fewest moves to a solution from here and
        from the start.
        """
        left = self.task.distance(self.stand)
        return 1.0 if self.at_goal else 0.0 if left < 0 else 0.9 * max(0.0, 1.0 - left / self.task.optimal)

    @property
    def num_moves(self) -> int:
        return self.task.max_moves - self.moves_left

    def after(self, moves: Moves) -> Position:
        """The position after the walk of `moves`; see `walk`."""
        return walk(self, moves).after

    def read(self, text: str) -> Moves:
        return parse_pushes(text, self.task.size)

    def judge(
        self, text: str, *, part: Part = "move", view: str = "full", plan: Moves | None = None, follow: float = 0.0
    ) -> Reward:
        """`sokoban_rewards.judge_walk`."""
        from motet.tasks.sokoban_rewards import judge_walk  # it reads positions

        return judge_walk(self, text, plan=plan or Moves(), follow=follow if part == "move" else 0.0)

    def show(self, dialect: Dialect, *, part: Part = "move", view: str = "full") -> Shown:
        """See `sokoban_words`."""
        from motet.tasks import sokoban_words  # it reads positions

        return sokoban_words.compact(self) if dialect == "compact" else sokoban_words.chat(self)

    def draw(self) -> str:
        from motet.tasks import sokoban_words

        return sokoban_words.draw_room(self)

    def tell(self, moves: Moves, dialect: Dialect) -> str:
        from motet.tasks import sokoban_words

        return (sokoban_words.tell_compact if dialect == "compact" else sokoban_words.tell_chat)(self, moves)


@dataclass(frozen=True, slots=True)
class Walk:
    """What a sequence of moves did. `stands` are those after each legal move, `is_bumped` tells of an illegal one."""

    before: Position
    after: Position
    stands: tuple[Stand, ...]
    is_bumped: bool

    @property
    def spent(self) -> int:
        """Moves spent: the legal ones and the illegal one that ended the walk."""
        return len(self.stands) + self.is_bumped


def walk(position: Position, moves: Moves) -> Walk:
    """Make `moves` until they end, all boxes are on targets, a move is illegal, the call's cap or the budget ends.

    An illegal move (into a wall, off the grid, into a box that cannot move on, to a cell that is no neighbour) costs
    one move and ends the walk where it stands.

    >>> task = SokobanTask("t", 4, (), (3,), 0, (1,), 2, 4)
    >>> done = walk(task.start(), Moves(("R", "R", "D")))
    >>> done.after.at_goal, done.after.moves_left, done.after.walked
    (True, 2, (1, 2))
    """
    task, stand, stands = position.task, position.stand, list[Stand]()
    is_bumped = False
    for step in moves.steps[: min(task.max_moves_per_call, position.moves_left)]:
        if stand.boxes == task.targets:
            break
        after = stepped(task.room, stand, step)
        if after is None:
            is_bumped = True
            break
        stands.append(after)
        stand = after
    last: Last = "bump" if is_bumped else "ok" if stands else "empty"
    left = position.moves_left - len(stands) - is_bumped
    walked = (*position.walked, *(one.player for one in stands))
    return Walk(position, Position(task, *stand, left, walked, last), tuple(stands), is_bumped)


@dataclass(frozen=True, slots=True)
class SokobanSettings:
    """What a recipe may set. A shortest solution takes `min_moves` to `max_optimal` moves and at least `min_pushes` of
    them are pushes. `budget_factor` times the optimum, rounded down, is the budget of an episode. Raises `ConfigError`
    out of range.
    """

    size: int = 6
    boxes: int = 1
    walls: float = 0.15
    min_pushes: int = 2
    min_moves: int = 4
    max_optimal: int = 12
    max_turns: int = 4
    budget_factor: float = 2.0
    max_moves_per_call: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        where: dict[str, object] = {"task_set": "sokoban"}
        for one in fields(self):
            refuse_wrong_type(one.name, getattr(self, one.name), one.default, where)
        most = self.max_turns * self.max_moves_per_call
        rules = {
            "size": (6 <= self.size <= 16, "between 6 and 16"),
            "boxes": (1 <= self.boxes <= 4, "between 1 and 4"),
            "walls": (0 <= self.walls <= 0.6, "a fraction in [0, 0.6]"),
            "min_pushes": (1 <= self.min_pushes <= self.max_optimal, "between 1 and max_optimal"),
            "min_moves": (1 <= self.min_moves <= self.max_optimal, "between 1 and max_optimal"),
            "max_turns": (self.max_turns >= 1, "at least 1"),
            "budget_factor": (self.budget_factor >= 1, "at least 1"),
            "max_moves_per_call": (self.max_moves_per_call >= 1, "at least 1"),
            "max_optimal": (self.max_optimal <= most, f"at most max_turns * max_moves_per_call, here {most}"),
        }
        for key, (is_right, rule) in rules.items():
            if not is_right:
                raise ConfigError(f"{key} is {getattr(self, key)!r}", where=where, fix=f"set {key} {rule}")


class Sokoban:
    """The task set. A task is a pure function of (settings, split, index).

    A room of exactly round(walls * size * size) wall cells is played backwards from its solved positions; the start is
    a position that this reaches, so every puzzle has a solution, of known shortest length. A start (walls,
    targets, boxes and player) belongs to one split alone, by its hash.

    Settings are those of `SokobanSettings`. Raises `ConfigError` for an unknown one or one out of range, `TaskError`
    for an unknown split or index and where no room fits the settings.

    >>> task = Sokoban().task("test", 7)
    >>> task == Sokoban(size=6).task("test", 7), task.distance(task.start().stand) == task.optimal
    (True, True)
    """

    splits: tuple[str, ...] = tuple(SPLIT_BUCKETS)

    def __init__(self, *, name: str = "sokoban", **settings: Any) -> None:
        refuse_unknown(settings, [field.name for field in fields(SokobanSettings)], {"task_set": name})
        self.name, self.settings = name, SokobanSettings(**settings)

    def size(self, split: str) -> int | None:
        """Number of tasks of `split`; None: endless."""
        return None if split == "train" else HELD_OUT_SIZE

    def task(self, split: str, index: int) -> SokobanTask:
        """The task at `index` of `split`."""
        check_place(self, split, index)
        opts = self.settings
        drawn_by = (opts.size, opts.boxes, opts.walls, opts.min_pushes, opts.min_moves, opts.max_optimal, opts.seed)
        rng = random.Random(number_of("sokoban", *drawn_by, split, index))
        for _ in range(MAX_ROOMS):
            room = self._room(rng)
            table = made_table(room, opts.boxes, opts.max_optimal)
            for stand, optimal in self._starts(table, rng):
                if split_of(room, stand) == split:
                    return self._task(split, index, room, stand, optimal)
        raise TaskError(
            f"no room found in {MAX_ROOMS} attempts",
            where={"task_set": self.name, "size": opts.size, "boxes": opts.boxes, "walls": opts.walls},
            fix="lower min_pushes, min_moves or walls, or raise size or max_optimal",
        )

    def _room(self, rng: random.Random) -> Room:
        """Walls and targets on cells drawn at random."""
        opts = self.settings
        cells = range(opts.size**2)
        ranks = [rng.random() for _ in cells]  # the one method whose values every Python version keeps
        order = sorted(cells, key=ranks.__getitem__)
        num_walls = round(opts.walls * opts.size**2)
        targets = order[num_walls : num_walls + opts.boxes]
        return Room(opts.size, tuple(sorted(order[:num_walls])), tuple(sorted(targets)))

    def _starts(self, table: Table, rng: random.Random) -> Iterator[tuple[Stand, int]]:
        """Positions to start from, with their optimum: first its length is drawn, then one that has it."""
        opts = self.settings
        for _ in range(STARTS_PER_ROOM):
            optimal = opts.min_moves + int(rng.random() * (opts.max_optimal - opts.min_moves + 1))
            places = table.within(optimal, optimal)
            if places:
                stand = table.stand(places[int(rng.random() * len(places))])
                if table.num_pushes(stand) >= opts.min_pushes:
                    yield stand, optimal

    def _task(self, split: str, index: int, room: Room, stand: Stand, optimal: int) -> SokobanTask:
        opts = self.settings
        digest = number_of("content", room, stand)
        return SokobanTask(
            id=f"{self.name}-{split}-{index}-{digest & 0xFFFFFFFF:08x}",
            size=opts.size,
            walls=room.walls,
            targets=room.targets,
            player=stand.player,
            boxes=stand.boxes,
            optimal=optimal,
            max_moves=int(opts.budget_factor * optimal),
            max_turns=opts.max_turns,
            max_moves_per_call=opts.max_moves_per_call,
        )


def split_of(room: Room, stand: Stand) -> str:
    """The split that a start belongs to; 80, 10 and 10 in 100 are train, validation and test."""
    bucket = number_of("sokoban", room.size, room.walls, room.targets, stand.boxes, stand.player) % 100
    return next(split for split, buckets in SPLIT_BUCKETS.items() if bucket in buckets)
