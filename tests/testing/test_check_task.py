"""check_task finds what breaks the contract, and says which check failed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest

from motet.errors import TaskError
from motet.tasks.plan_path import PlanPath
from motet.testing.check_task import check_task
from motet.types import Reward


@dataclass(frozen=True)
class Sum:
    id: str
    a: int
    parts: tuple[int, ...] = ()

    def check(self, text: str) -> float:
        return float(text.strip() == str(self.a))


@dataclass
class Loose:
    id: str
    a: int


class Sums:
    """A correct task set; subclasses break one thing each."""

    name: str = "sums"
    splits: tuple[str, ...] = ("train", "test")

    def size(self, split: str) -> int | None:
        return None

    def task(self, split: str, index: int) -> Any:
        return Sum(f"{split}-{index}", 2 * index + (split == "test"))


class Drifting(Sums):
    def __init__(self) -> None:
        self.count = itertools.count()

    def task(self, split: str, index: int) -> Any:
        return Sum(f"{split}-{index}-{next(self.count)}", next(self.count))


class Overlapping(Sums):
    def task(self, split: str, index: int) -> Any:
        return Sum(f"{split}-{index}", index)


class SameIds(Sums):
    def task(self, split: str, index: int) -> Any:
        return Sum("same", 2 * index + (split == "test"))


class Unfrozen(Sums):
    def task(self, split: str, index: int) -> Any:
        return Loose(f"{split}-{index}", 2 * index + (split == "test"))


class Unhashable(Sums):
    def task(self, split: str, index: int) -> Any:
        return Sum(f"{split}-{index}", 2 * index + (split == "test"), parts=[1])  # type: ignore[arg-type]


class NoJson(Sums):
    def task(self, split: str, index: int) -> Any:
        return Sum(f"{split}-{index}", 2 * index + (split == "test"), parts=(object(),))  # type: ignore[arg-type]


class NoSplits(Sums):
    splits = ()


class BadSize(Sums):
    def size(self, split: str) -> int | None:
        return 0


@dataclass(frozen=True)
class Restless(Sum):
    def start(self) -> object:
        return object()


class NoValueStates(Sums):
    def task(self, split: str, index: int) -> Any:
        return Restless(f"{split}-{index}", 2 * index + (split == "test"))


@dataclass(frozen=True)
class Generous(Sum):
    def check(self, text: str) -> float:
        return 1.5


class TooMuch(Sums):
    def task(self, split: str, index: int) -> Any:
        return Generous(f"{split}-{index}", 2 * index + (split == "test"))


@dataclass(frozen=True)
class Fragile(Sum):
    def check(self, text: str) -> float:
        return float(int(text) == self.a)


class Raising(Sums):
    def task(self, split: str, index: int) -> Any:
        return Fragile(f"{split}-{index}", 2 * index + (split == "test"))


def test_a_correct_task_set_passes_every_check() -> None:
    assert check_task(Sums(), num=5) == ["splits", "pure", "value", "ids", "disjoint", "rewards"]
    assert "start" in check_task(PlanPath(), num=3)


@pytest.mark.parametrize(
    ("broken", "report"),
    [
        (Drifting(), r"pure: task\('train', 0\) differs when asked again"),
        (Overlapping(), r"disjoint: task\('test', 0\) occurs in split 'train' as well"),
        (SameIds(), "ids: same names two different tasks"),
        (Unfrozen(), "value: train-0 is not frozen"),
        (Unhashable(), "value: train-0 cannot be hashed"),
        (NoJson(), "value: train-0 is no JSON"),
        (NoSplits(), "names no split"),
        (BadSize(), r"size\('train'\) is 0"),
        (NoValueStates(), "start: two starts of train-0 differ"),
        (TooMuch(), r"rewards: train-0 gives 1.5 for '', outside \[0, 1\]"),
        (Raising(), r"rewards: train-0 raises ValueError \(invalid literal"),
    ],
)
def test_what_is_broken_is_named(broken: Sums, report: str) -> None:
    with pytest.raises(TaskError, match=report):
        check_task(broken, num=4)


def test_a_score_that_changes_its_mind_is_named() -> None:
    turns = itertools.cycle([0.0, 1.0])
    with pytest.raises(TaskError, match="differently the second time"):
        check_task(Sums(), num=2, score=lambda task, text: Reward(local=next(turns)))


def test_a_long_report_is_cut_with_its_length() -> None:
    with pytest.raises(TaskError, match="and 90 more"):
        check_task(Overlapping(), num=100)
