"""Questions from local files; what is wrong with a file is said with path and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.errors import TaskError
from motet.tasks.base import make_task_set
from motet.tasks.jsonl import JsonlTasks, Question
from motet.testing.check_task import check_task


def row(name: str, question: str | None = None) -> str:
    return json.dumps({"id": name, "question": question or f"what is {name}?", "answer": "4"})


def fill(folder: Path, **splits: list[str]) -> Path:
    for split, lines in splits.items():
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_rows_become_tasks_in_the_order_of_the_file(tmp_path) -> None:
    task_set = JsonlTasks(str(fill(tmp_path, train=[row("a"), "", row("b")], test=[row("c")])))
    assert (task_set.splits, task_set.size("train"), task_set.size("test")) == (("train", "test"), 2, 1)
    assert task_set.task("train", 1) == Question("b", "what is b?", "4")
    assert check_task(task_set) == ["splits", "pure", "value", "ids", "disjoint", "rewards"]


def test_case_17_a_missing_file_names_its_path_and_the_command_that_makes_it(tmp_path) -> None:
    with pytest.raises(TaskError) as caught:
        make_task_set("jsonl", folder=str(tmp_path / "nowhere"), make="python get_data.py")
    assert f"no data file {tmp_path / 'nowhere' / 'train.jsonl'}" in str(caught.value)
    assert caught.value.fix == "run: python get_data.py"


def test_case_17_a_missing_split_of_an_existing_folder_is_named_and_nothing_stands_in(tmp_path) -> None:
    task_set = JsonlTasks(str(fill(tmp_path, train=[row("a")])))
    with pytest.raises(TaskError, match=r"no data file .*test\.jsonl.*write one JSON object per line"):
        task_set.task("test", 0)


def test_case_17_a_misnamed_file_is_a_missing_file(tmp_path) -> None:
    (tmp_path / "train .jsonl").write_text(row("a"))
    with pytest.raises(TaskError, match=r"no data file .*train\.jsonl"):
        JsonlTasks(str(tmp_path))


def test_case_17_an_empty_file_is_an_error(tmp_path) -> None:
    task_set = JsonlTasks(str(fill(tmp_path, train=[""])), make="make data")
    with pytest.raises(TaskError, match=r"train\.jsonl is empty.*run: make data"):
        task_set.size("train")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"id": "b", "question": ', "no JSON"),
        ("[1, 2]", "row is a list"),
        ('{"id": "b", "question": "?"}', "'answer' is None"),
        ('{"id": 3, "question": "?", "answer": "4"}', "'id' is 3"),
        (row("a", "another"), "id 'a' occurs twice"),
        ('{"id": "b", "n": ' + "9" * 5000 + "}", "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_case_17_a_bad_row_names_file_and_line(tmp_path, line: str, what: str) -> None:
    task_set = JsonlTasks(str(fill(tmp_path, train=[row("a"), line])))
    with pytest.raises(TaskError) as caught:
        task_set.size("train")
    assert what in caught.value.what
    assert caught.value.where["file"] == f"{tmp_path / 'train.jsonl'}:2"


def test_case_09_a_question_in_two_splits_is_found_before_training(tmp_path) -> None:
    task_set = JsonlTasks(str(fill(tmp_path, train=[row("a", "same?")], test=[row("b"), row("c", "same?")])))
    with pytest.raises(TaskError, match=r"question 'same\?' occurs twice.*test\.jsonl:2.*see .*train\.jsonl:1"):
        task_set.task("train", 0)


@pytest.mark.parametrize(
    ("said", "worth"),
    [
        ("4", 1),
        ("4.0", 1),
        (" 4. ", 1),
        ("2 + 2\n4", 1),
        ("#### 4", 1),
        ("4\n5", 0),
        ("", 0),
        ("four", 0),
        ("#### ", 0),
    ],
)
def test_an_answer_is_compared_as_number_or_text(said: str, worth: int) -> None:
    assert Question("q", "2 + 2?", "4").check(said) == worth


@pytest.mark.parametrize(
    ("right", "said", "worth"),
    [
        ("1200", "1,200", 1), ("1,200.5", "1200.50", 1), ("12", "1,2", 0), ("1,2", "12", 0), ("1, 2", "1, 2", 1),
        ("NaN", "nan", 1), ("inf", "1e999", 0), ("1000", "1_000", 0),
    ],
)  # fmt: skip
def test_a_comma_parts_thousands_and_what_has_no_value_is_text(right: str, said: str, worth: int) -> None:
    assert Question("q", "?", right).check(said) == worth


def test_a_text_may_hold_other_ends_of_lines_and_a_file_that_is_no_utf_8_is_named(tmp_path) -> None:
    lines = [json.dumps({"id": "a", "question": "one\u2028two\x85?", "answer": "4"}, ensure_ascii=False), row("b")]
    assert JsonlTasks(str(fill(tmp_path, train=lines))).size("train") == 2
    (tmp_path / "train.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(TaskError, match=r"no UTF-8.*train\.jsonl"):
        JsonlTasks(str(tmp_path)).size("train")
