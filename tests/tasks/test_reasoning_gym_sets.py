"""Generators of reasoning-gym as task sets: disjoint splits, their own scores, and no answer run as code."""

from __future__ import annotations

import sys

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.base import find_task_set, make_task_set
from motet.tasks.reasoning_gym_sets import answer_of, is_harmless
from motet.testing.check_task import check_task


def test_without_the_package_the_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ConfigError, match=r"reasoning-gym is not installed.*motet\[gym\]"):
        make_task_set("reasoning_gym:basic_arithmetic")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>7</answer>", "7"),
        ("<answer>1</answer> no, <answer>\n7\n</answer>", "7"),
        (r"\boxed{7}", "7"),
        ("#### 7", "7"),
        ("I add.\n7", "7"),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_the_answer_is_what_stands_in_tags_or_last(text: str, answer: str) -> None:
    assert answer_of(text) == answer


@pytest.mark.parametrize(
    "answer",
    ["7", "-3.5", "3*x**2 - 2*x + 1", "x**n", "sin(x)/2 + C", "['A', 'B']", "[[1, 0], [0, 1]]", "1 2 3", "A B", "2^3",
     "yes", "(3 + 4) * 6", "x**(-2)"],
)  # fmt: skip
def test_arithmetic_lists_and_words_are_harmless(answer: str) -> None:
    assert is_harmless(answer)


@pytest.mark.parametrize(
    "answer",
    ["__import__('os').system('touch x')", "open('x', 'w')", "exec('1')", "().__class__", "x.subs(1)", "[y for y in x]",
     "lambda: 0", "9**9**9", "9**999999", "(9**99)**99", "1 << 99999", "f(x)", "print (1)", "x[0]", "exit()!", "{1: 2}",
     "eval (chr(1))", "1 2 exec(x)", "x" * 3000, "9^(9^9)", "x := 3", "sin(x, y=1)", "sqrt (2) . x"],
)  # fmt: skip
def test_case_14_what_could_do_more_is_not_run(answer: str) -> None:
    assert not is_harmless(answer)


class TestWithThePackage:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("reasoning_gym")

    def test_a_generator_gives_pure_disjoint_tasks_that_its_own_answers_solve(self) -> None:
        tasks = make_task_set("reasoning_gym:basic_arithmetic", held_out=20, num_train=100, min_terms=2, max_terms=3)
        assert (tasks.name, tasks.splits, tasks.size("train"), tasks.size("test")) == (
            "reasoning_gym:basic_arithmetic", ("train", "validation", "test"), 100, 20,
        )  # fmt: skip
        assert check_task(tasks)[-1] == "rewards"
        task = tasks.task("test", 3)
        assert task.check(f"<answer>{task.answer}</answer>") == 1.0 and task.check("<answer>none</answer>") == 0.0

    def test_a_small_generator_keeps_its_splits_apart(self) -> None:
        settings = {"min_digits": 1, "max_digits": 1, "min_terms": 2, "max_terms": 2}
        tasks = make_task_set("reasoning_gym:chain_sum", held_out=5, num_train=60, **settings)
        seen = {split: {tasks.task(split, n).question for n in range(tasks.size(split))} for split in tasks.splits}
        assert not (
            seen["train"] & seen["test"] or seen["train"] & seen["validation"] or seen["test"] & seen["validation"]
        )

    def test_a_generator_with_too_few_questions_is_an_error(self) -> None:
        settings = {"min_digits": 1, "max_digits": 1, "min_terms": 2, "max_terms": 2}
        tasks = make_task_set("reasoning_gym:chain_sum", held_out=3000, num_train=1, **settings)
        with pytest.raises(TaskError, match="too few different questions"):
            tasks.task("validation", 0)

    def test_case_14_an_answer_that_its_score_would_run_is_not_run(self, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("countdown", "string_insertion", "simple_integration", "polynomial_multiplication", "puzzle24"):
            task = make_task_set(f"reasoning_gym:{name}", held_out=1, num_train=1).task("test", 0)
            for text in ("[__import__('os').system('touch x')]", "open('x','w')", "[open('x','w')]"):
                assert task.check(f"<answer>{text}</answer>") == 0.0
            assert not (tmp_path / "x").exists()
            assert task.check(f"<answer>{task.answer}</answer>") == 1.0

    @pytest.mark.parametrize(
        ("name", "settings", "what"),
        [
            ("basic_arithmetics", {}, "did you mean 'basic_arithmetic'"),
            ("basic_arithmetic", {"min_term": 2}, "did you mean 'min_terms'"),
            ("basic_arithmetic", {"size": 5}, "unknown setting 'size'"),
            ("basic_arithmetic", {"min_terms": 9, "max_terms": 2}, "refuses its settings"),
            ("basic_arithmetic", {"held_out": 0}, "above 0"),
        ],
    )
    def test_unknown_names_and_settings_are_refused(self, name, settings, what) -> None:
        with pytest.raises(ConfigError, match=what):
            make_task_set(f"reasoning_gym:{name}", **settings)


def test_a_name_with_another_source_is_an_import_path() -> None:
    with pytest.raises(ConfigError, match="cannot import 'no_such_module'"):
        find_task_set("no_such_module:Thing")
