"""Rows come from files of several forms; what is wrong with one is said with file, line and key."""

from __future__ import annotations

import gzip
import json
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.rows import LeftOut, RowTasks, read_rows, text_of

ROWS = [{"q": f"what is {n}?", "id": n} for n in range(6)]


@dataclass(frozen=True)
class Item:
    id: str
    question: str


def item(row, place):
    if row.get("skip"):
        raise LeftOut("skipped")
    return Item(str(row["id"]), text_of(row, ("q",), place))


def write(path: Path, rows=ROWS) -> str:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return str(path)


def read(source: str):
    return [(str(place).rpartition("/")[2], row["id"]) for place, row in read_rows(source, "", "t")]


def test_json_lines_lists_and_gzipped_files_give_the_same_rows(tmp_path) -> None:
    lines = write(tmp_path / "a.jsonl")
    (tmp_path / "b.json").write_text(json.dumps(ROWS))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(Path(lines).read_bytes()))
    for name in ("a.jsonl", "b.json", "c.jsonl.gz"):
        assert read(str(tmp_path / name)) == [(f"{name}:{n + 1}", n) for n in range(6)]


def test_parquet_is_read_where_pyarrow_is_there(tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    assert read(str(tmp_path / "a.parquet")) == [(f"a.parquet:{n + 1}", n) for n in range(6)]


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConfigError, match=r"pyarrow is not installed.*motet\[hub\]"):
        read(str(tmp_path / "a.parquet"))


def test_a_pattern_reads_its_files_in_order_of_name(tmp_path) -> None:
    write(tmp_path / "test2.jsonl", ROWS[:1])
    write(tmp_path / "test.jsonl", ROWS[1:2])
    assert read(str(tmp_path / "test*.jsonl")) == [("test.jsonl:1", 1), ("test2.jsonl:1", 0)]


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("hub:openai/gsm8k:main:test", (("openai/gsm8k", "main"), {"split": "test"})),
        ("hub:a/b", (("a/b", None), {"split": "train"})),
        ("hub:a/b::test", (("a/b", None), {"split": "test"})),
        (
            "hub:a/b@x.jsonl+y.jsonl",
            (("json",), {"data_files": ["hf://datasets/a/b/x.jsonl", "hf://datasets/a/b/y.jsonl"], "split": "train"}),
        ),
    ],
)
def test_a_hub_id_asks_the_library_for_its_rows(monkeypatch, source, asked) -> None:
    calls = []
    library = types.SimpleNamespace(load_dataset=lambda *a, **k: (calls.append((a, k)), ROWS)[1])
    monkeypatch.setitem(sys.modules, "datasets", library)
    assert read(source)[0][1] == 0 and calls == [asked]


def test_a_hub_that_is_not_reached_is_named(monkeypatch) -> None:
    def refuse(*_, **__):
        raise ConnectionError("no net")

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=refuse))
    with pytest.raises(TaskError, match="cannot load hub:a/b: no net"):
        read("hub:a/b")


def test_without_the_library_the_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"datasets is not installed.*motet\[hub\]"):
        read("hub:a/b")


@pytest.mark.parametrize("text", ["hub:", "hub:a/b:c:d:e", "hub:a/b:c@x"])
def test_a_hub_id_that_means_nothing_is_refused(monkeypatch, text) -> None:
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace())
    with pytest.raises(ConfigError, match="hub id is"):
        read(text)


def test_case_17_a_missing_file_names_its_path_and_the_command_that_makes_it(tmp_path) -> None:
    with pytest.raises(TaskError) as caught:
        RowTasks("t", {"train": str(tmp_path / "no.jsonl")}, item, make="python get_data.py")
    assert (
        caught.value.what == f"no data file {tmp_path / 'no.jsonl'}" and caught.value.fix == "run: python get_data.py"
    )


def test_case_17_an_empty_file_is_an_error(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    with pytest.raises(TaskError, match=r"a\.jsonl is empty"):
        RowTasks("t", {"train": str(tmp_path / "a.jsonl")}, item).size("train")


@pytest.mark.parametrize(
    ("line", "what"),
    [("{", "no JSON"), ("[1]", "row is a list"), ('{"id": 1}', "lacks its text"), ('{"id": 1, "q": 5}', "'q' is 5"),
     ('{"id": 1, "q": " "}', "'q' is ' '")],
)  # fmt: skip
def test_a_malformed_row_is_named_by_file_line_and_key(tmp_path, line, what) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(ROWS[0]) + "\n" + line + "\n")
    with pytest.raises(TaskError, match=what) as caught:
        RowTasks("t", {"train": str(path)}, item).size("train")
    assert str(caught.value.where["file"]) == f"{path}:2"
    assert caught.value.where.get("key", "q") == "q"


def test_rows_seen_before_and_rows_of_no_use_are_left_out_and_counted(tmp_path) -> None:
    source = write(tmp_path / "a.jsonl", [*ROWS, {"q": "what is 0?", "id": 77}, {"id": 9, "q": "x", "skip": True}])
    tasks = RowTasks("t", {"train": source}, item)
    assert (tasks.size("train"), tasks.left_out) == (6, {"question seen before": 1, "skipped": 1})


def test_an_id_that_occurs_twice_names_one_task_each(tmp_path) -> None:
    source = write(tmp_path / "a.jsonl", [{"q": "a", "id": 1}, {"q": "b", "id": 1}])
    tasks = RowTasks("t", {"train": source}, item)
    assert [tasks.task("train", index).id for index in range(2)] == ["1", "1#2"]


def test_case_09_a_question_in_two_splits_is_refused_or_taken_out_of_the_first(tmp_path) -> None:
    sources = {"train": write(tmp_path / "a.jsonl"), "test": write(tmp_path / "b.jsonl", ROWS[:2])}
    with pytest.raises(TaskError, match=r"a question of test stands in train.*a\.jsonl:1.*b\.jsonl:1"):
        RowTasks("t", sources, item).size("train")
    tasks = RowTasks("t", sources, item, drop_overlap=True)
    assert (tasks.size("train"), tasks.size("test"), tasks.left_out) == (4, 2, {"question in test": 2})


def test_validation_rows_leave_train_and_are_the_same_whatever_the_order(tmp_path) -> None:
    one = RowTasks("t", {"train": write(tmp_path / "a.jsonl")}, item, validation_rows=2)
    two = RowTasks("t", {"train": write(tmp_path / "b.jsonl", ROWS[::-1])}, item, validation_rows=2)
    chosen = [{tasks.task("validation", n).id for n in range(2)} for tasks in (one, two)]
    assert chosen[0] == chosen[1] and (one.splits, one.size("train")) == (("train", "validation"), 4)


def test_settings_without_meaning_are_refused(tmp_path) -> None:
    source = write(tmp_path / "a.jsonl")
    for sources, rows, what in (({}, 0, "no split"), ({"test": source}, 2, "validation_rows")):
        with pytest.raises(ConfigError, match=what):
            RowTasks("t", sources, item, validation_rows=rows)
    with pytest.raises(TaskError, match="no task is left in 'train'"):
        RowTasks("t", {"train": source}, item, validation_rows=6).size("train")
    for split, index in (("train", 6), ("train", -1), ("test", 0)):
        with pytest.raises(TaskError, match="no (task|split)"):
            RowTasks("t", {"train": source}, item).task(split, index)
