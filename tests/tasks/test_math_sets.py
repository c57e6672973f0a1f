"""Each maths set reads the rows of its home, in their own schema, and says what is wrong with a row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.base import Answerable, make_task_set
from motet.tasks.math_sets import SCHEMAS
from motet.testing.check_task import check_task

pytest.importorskip("math_verify")

DAPO_HEAD = (
    "Solve the following math problem step by step. The last line of your response should be of the form "
    "Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n"
)
DAPO_TAIL = '\n\nRemember to put your answer on its own line after "Answer:".'
ROWS = {
    "aime24": {"id": 60, "problem": "How long?", "solution": r"So \boxed{204}.", "url": "https://x.org"},
    "aime25": {"problem": "Sum of bases?", "answer": "204", "id": "0"},
    "amc23": {"id": 0, "question": "How far?", "answer": 204.0, "url": "https://x.org"},
    "math500": {
        "problem": "Convert.", "solution": "s", "answer": "204", "subject": "Algebra", "level": 2,
        "unique_id": "test/a/1",
    },
    "olympiadbench": {
        "id": 1606, "question": "How many?", "solution": ["s"], "final_answer": ["$204$"], "context": None,
        "modality": "Text-only", "difficulty": "Competition", "is_multiple_answer": False, "unit": None,
        "answer_type": "Numerical", "error": None, "question_type": "Open-ended", "subfield": "Algebra",
        "subject": "Math", "language": "English",
    },
    "gsm8k": {"question": "How many?", "answer": "100 + 104 = <<100+104=204>>204\n#### 204"},
    "dapo_math": {
        "data_source": "math_dapo", "prompt": [{"role": "user", "content": f"{DAPO_HEAD}How many?{DAPO_TAIL}"}],
        "ability": "MATH", "reward_model": {"ground_truth": "204", "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": "9a9b6eb4"},
    },
    "polaris": {"difficulty": "4/8", "problem": "How many?", "answer": "204"},
}  # fmt: skip
MALFORMED = {
    "aime24": [({"problem": None}, "problem"), ({"solution": "none"}, "answer"), ({"problem": 7}, "problem")],
    "aime25": [({"answer": None}, "solution"), ({"answer": []}, "answer"), ({"problem": ""}, "problem")],
    "amc23": [({"answer": True}, "answer"), ({"question": None}, "question"), ({"answer": " "}, "answer")],
    "math500": [({"answer": None}, "answer"), ({"problem": ["x"]}, "problem"), ({"answer": {"a": 1}}, "answer")],
    "olympiadbench": [
        ({"final_answer": []}, "final_answer"), ({"final_answer": "204"}, "final_answer"),
        ({"question": 1}, "question"),
    ],
    "gsm8k": [({"answer": "204"}, "answer"), ({"answer": "x ####"}, "answer"), ({"question": None}, "question")],
    "dapo_math": [
        ({"prompt": []}, "prompt"), ({"reward_model": {}}, "reward_model"),
        ({"prompt": [{"role": "system"}]}, "prompt"),
    ],
    "polaris": [({"problem": None}, "problem"), ({"answer": [1]}, "answer"), ({"answer": ""}, "answer")],
}  # fmt: skip


def fill(path: Path, *rows: dict) -> str:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return str(path)


def test_every_set_has_its_rows_here() -> None:
    assert set(ROWS) == set(MALFORMED) == set(SCHEMAS)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_home_become_questions_with_their_answer(tmp_path, name: str) -> None:
    split = next(iter(SCHEMAS[name].home))
    tasks = make_task_set(name, **{split: fill(tmp_path / "rows.jsonl", ROWS[name])})
    task = tasks.task(split, 0)
    assert (tasks.splits, tasks.size(split), task.answer.strip("$")) == ((split,), 1, "204")
    assert task.question in ("How many?", "How long?", "How far?", "Sum of bases?", "Convert.")
    assert task.id.startswith(f"{name}/") and isinstance(task, Answerable)
    assert [task.check(text) for text in (r"\boxed{204}", "#### 204", "Answer: 204", "it is 204", "203")] == [
        1,
        1,
        1,
        1,
        0,
    ]
    assert check_task(tasks)[-1] == "rewards"


@pytest.mark.parametrize(("name", "number"), [(name, number) for name in MALFORMED for number in range(3)])
def test_a_malformed_row_is_named_by_file_line_and_key(tmp_path, name: str, number: int) -> None:
    change, key = MALFORMED[name][number]
    split = next(iter(SCHEMAS[name].home))
    path = fill(tmp_path / "rows.jsonl", ROWS[name], {**ROWS[name], **change})
    with pytest.raises(TaskError) as caught:
        make_task_set(name, **{split: path}).size(split)
    assert str(caught.value.where["file"]) == f"{path}:2" and key in str(caught.value.where["key"])


def test_olympiad_rows_keep_their_unit_and_their_many_answers_and_leave_out_what_no_text_can_answer(tmp_path) -> None:
    base = ROWS["olympiadbench"]
    rows = [
        {**base, "question": "a", "final_answer": ["$1,200$"], "is_multiple_answer": True, "unit": "km"},
        {**base, "question": "b", "context": "Let x be 3.", "final_answer": ["45"], "unit": "minute"},
        {**base, "question": "c", "modality": "Multimodal"},
    ]
    tasks = make_task_set("olympiadbench", test=fill(tmp_path / "rows.jsonl", *rows))
    one, two = tasks.task("test", 0), tasks.task("test", 1)
    assert (one.check(r"\boxed{200, 1}"), one.check(r"\boxed{1200}"), two.question) == (1, 0, "Let x be 3.\n\nb")
    assert (two.check("45 minutes"), two.check(r"\boxed{45\text{ hours}}")) == (1, 0)
    assert tasks.size("test") == 2 and tasks.left_out == {"pictures or a human judge needed": 1}


def test_a_whole_number_kept_as_a_fraction_of_text_reads_as_one(tmp_path) -> None:
    rows = [{**ROWS["amc23"], "answer": -1.0}, {**ROWS["amc23"], "question": "b", "answer": 2.5}]
    tasks = make_task_set("amc23", test=fill(tmp_path / "rows.jsonl", *rows))
    assert [tasks.task("test", index).answer for index in range(2)] == ["-1", "2.5"]


def test_one_form_of_answer_can_be_asked_for(tmp_path) -> None:
    path = fill(tmp_path / "rows.jsonl", ROWS["gsm8k"])
    task = make_task_set("gsm8k", test=path, answer_form="boxed").task("test", 0)
    assert (task.check(r"\boxed{204}"), task.check("#### 204")) == (1, 0)
    with pytest.raises(ConfigError, match="did you mean 'boxed'"):
        make_task_set("gsm8k", test=path, answer_form="boxd")


def test_the_home_is_taken_where_no_source_is_given_and_refused_where_it_has_no_such_split(tmp_path) -> None:
    assert make_task_set("math500").splits == ("test",)
    assert make_task_set("gsm8k").splits == ("train", "test")
    assert make_task_set("gsm8k", train="hub", validation_rows=200).splits == ("train", "validation")
    with pytest.raises(ConfigError, match="'train' is 'hub', and the set's home has no such split"):
        make_task_set("math500", train="hub")


def test_case_17_a_missing_file_names_path_and_command(tmp_path) -> None:
    with pytest.raises(TaskError, match=r"no data file .*gone\.jsonl.*run: python get\.py"):
        make_task_set("aime24", test=str(tmp_path / "gone.jsonl"), make="python get.py")


def test_without_math_verify_the_set_is_refused_before_anything_is_read(monkeypatch) -> None:
    monkeypatch.setattr("motet.tasks.math_sets.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install "motet\[math\]"'):
        make_task_set("aime24")
