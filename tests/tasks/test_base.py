"""Drawing batches, and finding task sets by name."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.base import Answerable, Playable, draw, find_task_set, make_task_set
from motet.tasks.jsonl import Question
from motet.tasks.plan_path import PlanPath


@dataclass(frozen=True)
class Number:
    id: str


class Numbers:
    """A finite task set of `num` tasks."""

    splits = ("train", "test")

    def __init__(self, name: str = "numbers", num: int = 3) -> None:
        self.name, self.num = name, num

    def size(self, split: str) -> int:
        return self.num

    def task(self, split: str, index: int) -> Number:
        return Number(f"{split}-{index}")


def names(drawn: list) -> list[tuple[str, str, int]]:
    return [(name, task.id, copy) for name, task, copy in drawn]


def test_a_position_depends_on_seed_split_ticket_and_position_alone() -> None:
    sets = [(Numbers("a", 50), 1.0), (Numbers("b", 50), 1.0)]
    long = names(draw(sets, 0, "train", 5, 40))
    assert names(draw(sets, 0, "train", 5, 7)) == long[:7]
    assert names(draw(sets, 0, "train", 5, 40)) == long
    others = [draw(sets, 1, "train", 5, 40), draw(sets, 0, "test", 5, 40), draw(sets, 0, "train", 6, 40)]
    assert all(
        [(n, t.split("-")[1], c) for n, t, c in names(o)] != [(n, t.split("-")[1], c) for n, t, c in long]
        for o in others
    )


def test_a_task_drawn_again_gets_the_next_copy() -> None:
    drawn = names(draw([(Numbers(num=2), 1.0)], 0, "train", 0, 6))
    for index in range(2):
        copies = [copy for _, task_id, copy in drawn if task_id == f"train-{index}"]
        assert copies == list(range(len(copies)))
    assert sorted({task_id for _, task_id, _ in drawn}) == ["train-0", "train-1"]


def test_the_same_id_in_two_task_sets_makes_trees_of_its_own() -> None:
    drawn = names(draw([(Numbers("a", 1), 1.0), (Numbers("b", 1), 1.0)], 0, "train", 0, 8))
    assert {name for name, _, _ in drawn} == {"a", "b"}
    assert [(task_id, copy) for _, task_id, copy in drawn] == [("train-0", copy) for copy in range(8)]


def test_weights_are_proportions() -> None:
    drawn = draw([(Numbers("a"), 3.0), (Numbers("b"), 1.0)], 0, "train", 0, 4_000)
    assert Counter(name for name, _, _ in drawn)["a"] == pytest.approx(3_000, abs=110)  # 4 standard deviations


def test_every_task_of_a_finite_set_is_drawn_about_equally_often() -> None:
    drawn = Counter(task.id for _, task, _ in draw([(Numbers(num=4), 1.0)], 0, "train", 0, 4_000))
    assert sorted(drawn) == ["train-0", "train-1", "train-2", "train-3"]
    assert all(count == pytest.approx(1_000, abs=110) for count in drawn.values())


def test_an_endless_split_hardly_repeats() -> None:
    drawn = names(draw([(PlanPath(), 1.0)], 0, "train", 0, 64))
    assert len({task_id for _, task_id, _ in drawn}) == 64
    assert {copy for _, _, copy in drawn} == {0}


@pytest.mark.parametrize(
    ("sets", "split", "error"),
    [
        ([], "train", ConfigError),
        ([(Numbers(), 0.0)], "train", ConfigError),
        ([(Numbers(), float("nan"))], "train", ConfigError),
        ([(Numbers(), 1.0), (Numbers(), 1.0)], "train", ConfigError),
        ([(Numbers(), 1.0)], "dev", TaskError),
    ],
)
def test_a_draw_without_meaning_is_refused(sets: list, split: str, error: type) -> None:
    with pytest.raises(error):
        draw(sets, 0, split, 0, 1)


def test_tasks_say_what_they_can_do() -> None:
    task = PlanPath().task("train", 0)
    assert isinstance(task, Playable)
    assert not isinstance(task, Answerable)
    assert isinstance(Question("q", "?", "a"), Answerable)


def test_task_sets_are_found_by_name_and_by_import_path(tmp_path, monkeypatch) -> None:
    (tmp_path / "own_tasks.py").write_text("class Mine:\n    def __init__(self, depth):\n        self.depth = depth\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_task_set("plan_path") is PlanPath
    assert make_task_set("own_tasks:Mine", depth=3).depth == 3
    with pytest.raises(ConfigError, match="setting 'depth' is missing"):
        make_task_set("own_tasks:Mine")
    with pytest.raises(ConfigError, match=r"unknown setting 'dept'.*did you mean 'depth'"):
        make_task_set("own_tasks:Mine", dept=3)
    with pytest.raises(ConfigError, match=r"has no 'Mien'.*did you mean 'Mine'"):
        find_task_set("own_tasks:Mien")
    with pytest.raises(ConfigError, match="cannot import 'no_such_module'"):
        find_task_set("no_such_module:Mine")
    sys.modules.pop("own_tasks", None)


def test_task_sets_are_found_by_entry_point(tmp_path, monkeypatch) -> None:
    (tmp_path / "plugged_tasks.py").write_text("class Plugged:\n    pass\n")
    info = tmp_path / "plugged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[motet.tasks]\nplugged = plugged_tasks:Plugged\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_task_set("plugged").__name__ == "Plugged"
    with pytest.raises(ConfigError, match="did you mean 'plugged'"):
        find_task_set("pluged")
    sys.modules.pop("plugged_tasks", None)


def test_an_error_inside_a_module_of_ones_own_is_not_hidden(tmp_path, monkeypatch) -> None:
    (tmp_path / "broken_tasks.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        ConfigError, match="'broken_tasks' raised ZeroDivisionError on import: division by zero"
    ) as caught:
        find_task_set("broken_tasks:Mine")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
