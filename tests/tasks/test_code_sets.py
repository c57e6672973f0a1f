"""Each code set reads the rows of its home, in their own schema and encodings, and says what is wrong with a row."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import os
import pickle
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.base import Answerable, Programmable, make_task_set
from motet.tasks.code_sets import SCHEMAS
from motet.tasks.code_tasks import CodeTask
from motet.tasks.code_tests import sandbox_tests
from motet.tasks.rows import LeftOut, Place, RowTasks
from motet.testing.check_task import check_task


def pack(value) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(value)))).decode()


HUMANEVAL = {
    "task_id": "HumanEval/0", "prompt": "def add(a, b):\n    '''Add.'''\n", "entry_point": "add",
    "canonical_solution": "    return a + b\n", "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
}  # fmt: skip
MBPP = {
    "source_file": "n.ipynb", "task_id": 2, "prompt": "Write a function to add.", "code": "def add(a, b): return a + b",
    "test_imports": ["import math"], "test_list": ["assert math.floor(add(1, 2)) == 3", "assert add(0, 0) == 0"],
}  # fmt: skip
APPS = {
    "problem_id": 0, "question": "Add two numbers.", "solutions": json.dumps(["print(sum(map(int, input().split())))"]),
    "input_output": json.dumps({"inputs": ["1 2\n", ["0 0", "1"]], "outputs": ["3\n", ["0"]]}),
    "difficulty": "interview", "url": "https://x.org", "starter_code": "",
}  # fmt: skip
CONTESTS = {
    "name": "1549_A. Add", "description": "Add two numbers.", "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["5 5\n"], "output": ["10\n"]}, "generated_tests": {"input": [], "output": []},
    "source": 2, "difficulty": 7, "solutions": {"language": [2, 3], "solution": ["int main(){}", "print(3)"]},
    "incorrect_solutions": {"language": [], "solution": []}, "cf_contest_id": 1549, "cf_tags": ["math"],
    "time_limit": {"seconds": 1, "nanos": 500_000_000}, "memory_limit_bytes": 256_000_000, "input_file": "",
    "output_file": "",
}  # fmt: skip
LIVE = {
    "question_title": "Add", "question_content": "Add two numbers.", "platform": "atcoder", "question_id": "abc301_a",
    "contest_id": "abc301", "contest_date": "2023-05-13T00:00:00", "starter_code": "", "difficulty": "easy",
    "public_test_cases": json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]),
    "private_test_cases": pack([{"input": "5 5\n", "output": "10\n", "testtype": "stdin"}]), "metadata": "{}",
}  # fmt: skip
LIVE_CALL = {
    **LIVE, "platform": "leetcode", "question_id": "2850",
    "starter_code": "class Solution:\n    def add(self, a, b):\n",
    "public_test_cases": json.dumps([{"input": '[1, 2]\n"x"', "output": "[3]", "testtype": "functional"}]),
    "private_test_cases": json.dumps([{"input": "[]\n\"\"", "output": "null", "testtype": "functional"}]),
    "metadata": json.dumps({"func_name": "add"}),
}  # fmt: skip
DEEP = {
    "problem": "Add two numbers.", "starter_code": "", "metadata": {"func_name": None},
    "tests": json.dumps([{"type": "stdin_stdout", "input": "1 2\n", "output": "3\n", "fn_name": None}]),
}  # fmt: skip
CODE = CodeTask("t", "Add.", "stdin", (("1", "1"),))
OWN = {"id": "s-0", "problem": "Add two numbers.", "inputs": ["1 2\n"], "outputs": ["3\n"], "source": "mine"}
ROWS = {
    "humaneval": HUMANEVAL, "mbpp": MBPP, "apps": APPS, "code_contests": CONTESTS, "livecodebench_v5": LIVE,
    "livecodebench_v6": LIVE, "deepcoder": DEEP, "stdin_problems": OWN,
}  # fmt: skip


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hostile_was_here",)


HOSTILE = base64.b64encode(zlib.compress(pickle.dumps(Hostile()))).decode()
MALFORMED = {
    "humaneval": [({"test": "def check(:"}, "test"), ({"entry_point": None}, "entry_point"), ({"prompt": 3}, "prompt")],
    "mbpp": [({"task_id": "2"}, "task_id"), ({"test_list": []}, "test_list"), ({"test_list": ["assert("]}, "test")],
    "apps": [
        ({"input_output": "{"}, "input_output"), ({"input_output": '{"inputs": [1], "outputs": []}'}, "input_output"),
        ({"input_output": {"inputs": []}}, "input_output"),
    ],
    "code_contests": [
        ({"public_tests": {"input": ["1"], "output": []}}, "public_tests"), ({"private_tests": "x"}, "private_tests"),
        ({"description": ""}, "description"),
    ],
    "livecodebench_v5": [
        ({"private_test_cases": HOSTILE}, "private_test_cases"), ({"public_test_cases": "[{}]"}, "public_test_cases"),
        ({"private_test_cases": None}, "private_test_cases"),
    ],
    "livecodebench_v6": [
        ({"private_test_cases": "!!"}, "private_test_cases"), ({"metadata": "{"}, "metadata"),
        ({"public_test_cases": json.dumps([{"input": "1", "output": "1", "testtype": "functional"}])}, "public"),
    ],
    "deepcoder": [
        ({"tests": [1]}, "tests"), ({"tests": "3"}, "tests"),
        ({"tests": json.dumps([{"type": "function_call", "input": [1], "output": [1]}])}, "func_name"),
    ],
    "stdin_problems": [({"inputs": "x"}, "inputs"), ({"outputs": []}, "inputs"), ({"inputs": [{}]}, "inputs")],
}  # fmt: skip


def fill(path: Path, *rows: dict) -> str:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return str(path)


def one(tmp_path, name: str, row: dict, **settings):
    return make_task_set(name, test=fill(tmp_path / "rows.jsonl", row), **settings).task("test", 0)


def test_every_set_has_its_rows_here() -> None:
    assert set(ROWS) == set(MALFORMED) == set(SCHEMAS)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_home_become_programming_tasks(tmp_path, name: str) -> None:
    tasks = make_task_set(name, test=fill(tmp_path / "rows.jsonl", ROWS[name]))
    task = tasks.task("test", 0)
    assert isinstance(task, Programmable) and isinstance(task, Answerable) and task.id.startswith(f"{name}/")
    assert "```python" in task.answer_form and task.words == ""
    assert task.function in task.answer_form
    assert check_task(tasks) == ["splits", "pure", "value", "ids", "disjoint", "rewards"]


@pytest.mark.parametrize(("name", "number"), [(name, number) for name in MALFORMED for number in range(3)])
def test_a_malformed_row_is_named_by_file_line_and_key(tmp_path, name: str, number: int, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    change, key = MALFORMED[name][number]
    path = fill(tmp_path / "rows.jsonl", ROWS[name], {**ROWS[name], **change})
    with pytest.raises(TaskError) as caught:
        make_task_set(name, test=path).size("test")
    assert str(caught.value.where["file"]) == f"{path}:2" and key in str(caught.value.where["key"])
    assert not (tmp_path / "hostile_was_here").exists()


OF_ANOTHER_SHAPE = [
    None, 5, -1.5, True, "", "x", "5", "[5]", '{"a": 1}', '{"func_name": 5}', "[" * 50_000, "9" * 5000, "\ud800",
    '[{"input": 5, "output": 5, "testtype": "functional"}]', '{"inputs": [[1]], "outputs": [1], "fn_name": 5}',
    [], [5], [None], {}, {"a": 1}, {"input": [None], "output": [None]}, {"seconds": "x"}, {"seconds": -1},
    {"language": 3, "solution": 4}, {"language": [3], "solution": [4]},
]  # fmt: skip


@pytest.mark.parametrize(("name", "row"), [*ROWS.items(), ("livecodebench_v6", LIVE_CALL)])
def test_whatever_stands_under_a_key_the_row_is_a_task_left_out_or_named_by_file_and_key(tmp_path, name, row) -> None:
    place = Place("rows.jsonl", 7)
    tasks = make_task_set(name, test=fill(tmp_path / "rows.jsonl", row))
    for key, value in itertools.product([*row, "test_setup_code", "metadata", "id"], OF_ANOTHER_SHAPE):
        try:
            task = tasks._read({**row, key: value}, place)
        except LeftOut:
            continue
        except TaskError as error:
            assert str(error.where["file"]) == "rows.jsonl:7" and error.where["key"], (key, value)
            continue
        texts = [task.id, task.question, task.function, task.starter, task.setup, task.reference, task.answer_form]
        assert all(isinstance(text, str) for text in [*texts, *itertools.chain(*task.tests)]), (key, value)
        assert 0.0 <= task.time_limit_s < float("inf") and sandbox_tests(task), (key, value)


def test_a_row_that_its_reader_cannot_take_is_named_all_the_same(tmp_path) -> None:
    """Readers name the key; where one of them does not foresee a shape, file and line are told, no bare TypeError."""
    path = fill(tmp_path / "rows.jsonl", {"question": "?"}, {"question": "?!", "by": 3})
    tasks = RowTasks("mine", {"test": path}, lambda row, place: replace(CODE, question=row["question"], id=row["by"]))
    with pytest.raises(TaskError, match=r"not of the shape of its set: KeyError\('by'\).*rows\.jsonl:1"):
        tasks.size("test")


@pytest.mark.parametrize("content", [b"\xff\xfe{}", gzip.compress(b"\n" * 999, mtime=0)[:-9], b"\x1f\x8bno gzip"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content: bytes) -> None:
    path = tmp_path / ("rows.jsonl.gz" if content[:1] == b"\x1f" else "rows.jsonl")
    path.write_bytes(content)
    with pytest.raises(TaskError, match=r"cannot read the file.*rows\.jsonl"):
        make_task_set("apps", test=str(path)).size("test")


def test_humaneval_is_judged_by_its_own_check(tmp_path) -> None:
    task = one(tmp_path, "humaneval", HUMANEVAL)
    assert (task.kind, task.function, task.num_public) == ("check", "add", 0)
    assert task.tests == ((HUMANEVAL["test"] + "\n\ncheck(add)\n", ""),)
    assert task.reference == task.starter + "    return a + b\n"


def test_mbpp_has_one_test_per_assertion_and_names_the_function_it_calls(tmp_path) -> None:
    task = one(tmp_path, "mbpp", MBPP)
    assert (task.setup, task.function, task.num_public) == ("import math", "add", 1)
    assert [source for source, _ in task.tests] == MBPP["test_list"]
    full = {k: v for k, v in MBPP.items() if k not in ("prompt", "test_imports")}
    full |= {"text": "Add.", "test_setup_code": "x = 1", "challenge_test_list": []}
    assert (one(tmp_path, "mbpp", full).question, one(tmp_path, "mbpp", full).setup) == ("Add.", "x = 1")


def test_apps_tests_are_texts_or_lists_of_lines(tmp_path) -> None:
    task = one(tmp_path, "apps", APPS)
    assert (task.kind, task.tests) == ("stdin", (("1 2\n", "3\n"), ("0 0\n1\n", "0\n")))
    assert task.reference.startswith("print")


def test_apps_calls_have_arguments_and_a_value_that_a_list_of_one_may_wrap(tmp_path) -> None:
    held = {"fn_name": "add", "inputs": [[1, [2]], [3, [4]]], "outputs": [[3], [7]]}
    task = one(tmp_path, "apps", {**APPS, "input_output": json.dumps(held)})
    assert task.calls() == [("add", [1, [2]], 3), ("add", [3, [4]], 7)]
    held["outputs"] = [[1, 2], [7]]
    row = {**APPS, "input_output": json.dumps(held), "starter_code": "class Solution:\n    def add(self, a, b):"}
    assert one(tmp_path, "apps", row).calls() == [
        ("Solution().add", [1, [2]], [1, 2]),
        ("Solution().add", [3, [4]], [7]),
    ]


def test_problems_of_one_text_and_other_tests_are_two_and_a_function_may_hide_one_of_python(tmp_path) -> None:
    other = {**MBPP, "task_id": 3, "test_list": ["assert sum(1, 2) == 3"]}
    tasks = make_task_set("mbpp", test=fill(tmp_path / "rows.jsonl", MBPP, other, {**MBPP, "task_id": 4}))
    assert [tasks.task("test", index).function for index in range(tasks.size("test"))] == ["add", "sum"]
    assert tasks.left_out == {"question seen before": 1}


@pytest.mark.parametrize("held", ["", json.dumps({"inputs": [], "outputs": []})])
def test_rows_without_tests_are_left_out_and_counted(tmp_path, held: str) -> None:
    rows = [APPS, {**APPS, "question": "Other.", "input_output": held}]
    tasks = make_task_set("apps", test=fill(tmp_path / "rows.jsonl", *rows))
    assert (tasks.size("test"), tasks.left_out) == (1, {"no tests": 1})


def test_numbers_of_thousands_of_digits_are_left_out_and_counted(tmp_path) -> None:
    held = '{"fn_name": "f", "inputs": [[' + "9" * 5000 + ']], "outputs": [1]}'
    rows = [APPS, {**APPS, "question": "Other.", "input_output": held}]
    assert make_task_set("apps", test=fill(tmp_path / "rows.jsonl", *rows)).size("test") == 1


def test_code_contests_knows_its_public_tests_its_limit_and_a_python_program(tmp_path) -> None:
    task = one(tmp_path, "code_contests", CONTESTS)
    assert (task.tests, task.public_tests) == ((("1 2\n", "3\n"), ("5 5\n", "10\n")), (("1 2\n", "3\n"),))
    assert (task.time_limit_s, task.reference) == (1.5, "print(3)")
    assert one(tmp_path, "code_contests", CONTESTS, which="private").tests == (("5 5\n", "10\n"),)
    with pytest.raises(TaskError, match="no task is left"):
        one(tmp_path, "code_contests", {**CONTESTS, "input_file": "in.txt"})


@pytest.mark.parametrize("private", [LIVE["private_test_cases"], json.dumps([{"input": "5 5\n", "output": "10\n"}])])
def test_live_code_bench_reads_private_tests_packed_or_plain(tmp_path, private: str) -> None:
    task = one(tmp_path, "livecodebench_v6", {**LIVE, "private_test_cases": private})
    assert (task.kind, task.num_public, task.tests) == ("stdin", 1, (("1 2\n", "3\n"), ("5 5\n", "10\n")))


def test_live_code_bench_calls_have_one_json_value_a_line(tmp_path) -> None:
    task = one(tmp_path, "livecodebench_v5", LIVE_CALL)
    assert task.calls() == [("Solution().add", [[1, 2], "x"], [3]), ("Solution().add", [[], ""], None)]
    assert (task.kind, task.num_public) == ("call", 1)


@pytest.mark.parametrize(
    ("tests", "more", "kind", "pairs"),
    [
        ([{"input": "1\n", "output": "1\n"}], {}, "stdin", (("1\n", "1\n"),)),
        ({"inputs": ["1\n"], "outputs": ["1\n"]}, {}, "stdin", (("1\n", "1\n"),)),
        ({"fn_name": "f", "inputs": [[1]], "outputs": [[2]]}, {}, "call", (("[1]", "2"),)),
        ([{"type": "function_call", "fn_name": "f", "input": [1], "output": [2]}], {}, "call", (("[1]", "2"),)),
        (
            [{"input": "1\n[2]", "output": "3", "testtype": "functional", "metadata": {"func_name": "f"}}],
            {"starter_code": "class Solution:\n    def f(self, a, b):"},
            "call",
            (("[1, [2]]", "3"),),
        ),
        (
            [{"input": "1", "output": "3", "testtype": "functional"}], {"metadata": '{"func_name": "f"}'}, "call",
            (("[1]", "3"),),
        ),
    ],
)  # fmt: skip
def test_deepcoder_reads_the_forms_of_its_four_parts(tmp_path, tests, more, kind, pairs) -> None:
    task = one(tmp_path, "deepcoder", {**DEEP, "tests": json.dumps(tests), **more})
    assert (task.kind, task.tests) == (kind, pairs)


def test_tests_of_two_kinds_in_one_row_are_refused(tmp_path) -> None:
    cases = [{"input": "1", "output": "1"}, {"type": "function_call", "fn_name": "f", "input": [1], "output": [1]}]
    with pytest.raises(TaskError, match="two kinds"):
        one(tmp_path, "deepcoder", {**DEEP, "tests": json.dumps(cases)})


def test_fewer_tests_can_be_asked_for_and_a_wrong_word_is_refused(tmp_path) -> None:
    assert one(tmp_path, "code_contests", CONTESTS, max_tests=1).tests == (("1 2\n", "3\n"),)
    for settings, what in (({"which": "publik"}, "did you mean 'public'"), ({"max_tests": -1}, "max_tests")):
        with pytest.raises(ConfigError, match=what):
            one(tmp_path, "code_contests", CONTESTS, **settings)


def test_case_17_a_missing_file_names_path_and_command(tmp_path) -> None:
    with pytest.raises(TaskError, match=r"no data file .*gone\.jsonl.*run: python get\.py"):
        make_task_set("apps", train=str(tmp_path / "gone.jsonl"), make="python get.py")


def test_the_releases_of_live_code_bench_are_their_files() -> None:
    files = "test.jsonl+test2.jsonl+test3.jsonl+test4.jsonl+test5.jsonl"
    assert SCHEMAS["livecodebench_v5"].home["test"] == f"hub:livecodebench/code_generation_lite@{files}"
    assert SCHEMAS["livecodebench_v6"].home["test"].endswith(f"{files}+test6.jsonl")
