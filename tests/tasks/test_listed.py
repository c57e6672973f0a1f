"""A task set out of lists."""

from __future__ import annotations

import pytest

from motet.errors import TaskError
from motet.tasks.listed import TaskList


def test_tasks_come_by_split_and_index_and_the_list_may_change_afterwards() -> None:
    mine = ["a", "b"]
    tasks = TaskList("letters", train=mine, dev=["c"])
    mine.clear()
    assert (tasks.splits, tasks.size("train"), tasks.task("train", 1), tasks.task("dev", 0)) == (
        ("train", "dev"),
        2,
        "b",
        "c",
    )


@pytest.mark.parametrize(
    ("splits", "what"),
    [
        ({}, "no split"),
        ({"train": []}, "'train' is empty"),
        ({"train": ["a"], "test": ["b", "a"]}, "'a' is in 'train'"),
    ],
)
def test_lists_that_make_no_task_set_are_refused(splits: dict, what: str) -> None:
    with pytest.raises(TaskError, match=what):
        TaskList("letters", **splits)


@pytest.mark.parametrize(("split", "index"), [("train", 1), ("train", -1), ("test", 0)])
def test_a_task_that_is_not_there_is_named(split: str, index: int) -> None:
    with pytest.raises(TaskError, match=r"no (task|split).*letters"):
        TaskList("letters", train=["a"]).task(split, index)


def test_a_task_that_cannot_be_hashed_is_refused_with_its_kind():
    with pytest.raises(TaskError, match="kind dict cannot be hashed"):
        TaskList("bare", train=[{"id": "a"}])
