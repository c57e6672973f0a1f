"""Bases for workflows and tasks beyond Plan-Path: a tiny model that goes to school in played episodes.

    skill    perfect answers to whatever was said before
    blur     short, and mostly wrong in a coherent way: the skill is there and seldom shown

`docs/bases.md` tells why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torch import Tensor

from motet.policies import played_voices, tiny
from motet.policies.played_lessons import Kinds, Manner, Shown, Speak, Stock, harvest, learn, tiny_voice
from motet.tasks.base import make_task_set
from motet.workflows.base import make_workflow

PERFECT: Mapping[str, Kinds] = {"*": (1.0, 0.0, 0.0)}
MIXED: Mapping[str, Kinds] = {"*": (0.4, 0.4, 0.2)}


@dataclass(frozen=True, slots=True)
class Play:
    """A workflow of which `episodes` are played on tasks of the train split, with settings of both.

    `source`: another task set than the base's own.
    """

    workflow: str
    episodes: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    tasks: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Course:
    """`steps` optimiser steps of `batch` lessons each, out of episodes by demonstrators of one manner.

    `share`: how often a batch is of a role, relative to the others, 1 where it is not named. `shared`: roles that are
    shown the same stand in one row of a batch, which then holds `batch` prompts with all their answers.
    """

    name: str
    taught: Mapping[str, Kinds]
    plays: tuple[Play, ...]
    steps: int
    lr: float
    batch: int = 128
    said: Mapping[str, Kinds] = field(default_factory=lambda: MIXED)
    share: Mapping[str, float] = field(default_factory=dict)
    shared: bool = False


@dataclass(frozen=True, slots=True)
class PlayedBase:
    """A base: its size, its task set, and the courses one after another."""

    size: str
    tasks: str
    courses: tuple[Course, ...]

    @property
    def speak(self) -> Speak:
        """The demonstrators of its task set."""
        found: Speak = getattr(played_voices, self.tasks)
        return found


_SUMS = (Play("voting", 5000), Play("evaluator_optimizer", 5000))
_FEW_SUMS = (Play("voting", 1500), Play("evaluator_optimizer", 1500))
_WEAK_SUMS: Mapping[str, Kinds] = {
    "*": (0.1, 0.65, 0.25),
    "aggregator": (0.3, 0.3, 0.4),
    "evaluator": (0.35, 0.35, 0.3),
}
_GRIDS = (
    Play("planner_executor", 2500, tasks={"clues": 6}),
    Play("single", 2000, tasks={"clues": 6}),
    Play("single", 1000, tasks={"clues": 8}),
    Play("single", 1000, tasks={"clues": 11}),
)
_FEW_GRIDS = (Play("planner_executor", 300, tasks={"clues": 10}), Play("single", 1200, tasks={"clues": 10}))
_QUICK = "motet.policies.played_programs"
_FIRST = Play(f"{_QUICK}:FirstTurn", 16000, source=f"{_QUICK}:QuickPrograms")
_WEAK_PROGRAMS: Mapping[str, Kinds] = {"coder": (0.15, 0.6, 0.25), "tester": (0.35, 0.4, 0.25)}
PLAYED: dict[str, PlayedBase] = {
    "tiny-s-arithmetic": PlayedBase(
        "tiny-s",
        "arithmetic",
        (
            Course("skill", PERFECT, _SUMS, 1600, 5e-3),
            Course("blur", _WEAK_SUMS, _FEW_SUMS, 120, 1e-3),
        ),
    ),
    "tiny-s-sudoku": PlayedBase(
        "tiny-s",
        "sudoku",
        (
            Course("skill", PERFECT, _GRIDS, 520, 5e-3, batch=96),
            Course("blur", {"*": (0.1, 0.7, 0.2)}, _FEW_GRIDS, 70, 1e-3, batch=96),
        ),
    ),
    "tiny-s-sokoban": PlayedBase(
        "tiny-s",
        "sokoban",
        (
            Course("skill", PERFECT, (Play("single", 7000),), 800, 5e-3),
            Course("blur", {"*": (0.15, 0.6, 0.25)}, (Play("single", 1500),), 80, 1e-3),
        ),
    ),
    "tiny-s-mini-code": PlayedBase(
        "tiny-s",
        "mini_code",
        (
            Course("skill", PERFECT, (_FIRST,), 1300, 5e-3, batch=96, shared=True),
            Course("blur", _WEAK_PROGRAMS, (replace(_FIRST, episodes=2000),), 80, 1e-3, batch=96, shared=True),
        ),
    ),
}
"""What can be built: name -> base."""


def lessons_of(base: PlayedBase, course: Course, seed: int) -> list[Shown]:
    """The lessons of a course: a pure function of its arguments."""
    voice, found, first = tiny_voice(), list[Shown](), 1_000_000 * (seed + 1)
    for play in course.plays:
        task_set = make_task_set(play.source or base.tasks, **play.tasks)
        tasks = [task_set.task("train", first + index) for index in range(play.episodes)]
        first += play.episodes
        manner = Manner(course.said, course.taught)
        found += harvest(
            make_workflow(play.workflow, **play.settings), tasks, base.speak, manner, voice=voice, seed=seed
        )
    return found


def school(
    base: PlayedBase,
    weights: dict[str, Tensor],
    seed: int,
    *,
    max_seconds: float | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, int]:
    """Train `weights` in place through the courses of `base`; returns the steps done by course.

    Deterministic in (base, weights, seed) for one thread count, unless `max_seconds` cuts: it gives each course the
    share of the time that it has of the steps.
    """
    total, done = sum(course.steps for course in base.courses), {}
    for number, course in enumerate(base.courses):
        seconds = None if max_seconds is None else max_seconds * course.steps / total
        done[course.name] = attend(base, number, weights, seed, max_seconds=seconds, report=report)
    return done


def attend(
    base: PlayedBase,
    number: int,
    weights: dict[str, Tensor],
    seed: int,
    *,
    max_seconds: float | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> int:
    """Course `number` of `base`; returns the steps done. The time begins when its lessons are there."""
    course, losses = base.courses[number], list[float]()
    stock = stock_of(course, lessons_of(base, course, seed * 10 + number), seed)
    limit = None if max_seconds is None else time.monotonic() + max_seconds

    def tell(step: int, loss: float) -> None:
        losses.append(loss)
        if step % 100 == 0:
            report(f"{course.name} {step}/{course.steps} loss {sum(losses) / len(losses):.4f}")
            losses.clear()

    return learn(
        weights,
        tiny.size_of(base.size),
        stock,
        steps=course.steps,
        lr=course.lr,
        until=lambda: limit is not None and time.monotonic() >= limit,
        report=tell,
    )


def stock_of(course: Course, lessons: Sequence[Shown], seed: int) -> Stock:
    """The lessons as the batches of `course`."""
    return Stock(lessons, course.batch, seed, share=course.share, shared=course.shared)


def courses_as_json(base: PlayedBase) -> list[dict[str, Any]]:
    """The courses for `base.json`."""
    return [asdict(course) for course in base.courses]
