"""Small programs: many families, whole ones held out, each solvable out of parts that training shows."""

from __future__ import annotations

import json
import re
from collections import Counter
from random import Random

import pytest

from motet.errors import ConfigError, SandboxError, TaskError
from motet.policies.tiny import vocabulary
from motet.sandbox import shared
from motet.tasks.base import make_task_set
from motet.tasks.code_running import results
from motet.tasks.code_tasks import CodeTask
from motet.tasks.mini_code import MAX_VALUE, MiniCode, make_task
from motet.tasks.mini_code_demonstrators import PERFECT, RANDOM, WRONG, answer, function_of, mistaken
from motet.tasks.mini_code_functions import SPLITS, agree, family, functions
from motet.tasks.small_programs import expression_in, expression_of
from motet.testing.check_task import check_task

TASKS = MiniCode()


def some(split: str, num: int = 60) -> list[CodeTask]:
    return [TASKS.task(split, index) for index in range(num)]


def test_there_are_at_least_20_families_and_2_000_different_functions() -> None:
    families = functions()
    assert sum(map(len, families.values())) >= 20
    assert sum(len(members) for found in families.values() for members in found.values()) >= 2000
    assert len({function.words for found in families.values() for ms in found.values() for function in ms}) >= 2000


def test_held_out_families_are_new_pairs_of_operations_that_training_shows_apart() -> None:
    families = {split: [name.split(".") for name in found] for split, found in functions().items()}
    for split in ("validation", "test"):
        assert len(families[split]) >= 8
        for kind, outer, inner in families[split]:
            trained = [(o, i) for k, o, i in families["train"] if k == kind]
            assert (outer, inner) not in trained
            assert [o for o, _ in trained].count(outer) >= 2 and [i for _, i in trained].count(inner) >= 2


def test_every_function_is_a_one_line_program_of_words_that_the_tiny_models_have() -> None:
    words = set(vocabulary())
    for found in functions().values():
        for members in found.values():
            for function in members:
                assert set(function.words.split()) <= words and len(function.words.split()) <= 13
                assert expression_in(function.words) is not None


def test_the_meaning_that_tasks_are_made_with_is_that_of_the_program() -> None:
    try:
        shared().ready()
    except SandboxError as problem:
        pytest.skip(problem.what)
    for split in SPLITS:
        for members in functions()[split].values():
            function = members[len(members) // 2]
            inputs = [[3, 8, 1, 6], [9, 2, 5]] if function.takes_list else [0, 3, 7, 12]
            task = make_task(f"{function.id}-t", function, (inputs[:1], inputs[1:]), True)
            found = results(task, task.reference)
            for x, one in zip(inputs, found):
                assert one.passed or function.on(x) is None, (function.words, x, one)


def test_a_task_set_keeps_the_contract_and_its_prompts_keep_to_the_words() -> None:
    passed = check_task(TASKS, num=6, texts=["x", "x + n1"]) if _walled() else []
    assert passed in ([], ["splits", "pure", "value", "ids", "disjoint", "rewards"])
    words = set(vocabulary())
    for split in SPLITS:
        for task in some(split):
            assert set(task.words.split()) <= words and len(task.words.split()) <= 60
            assert "def f(x)" in task.reference and expression_of(task.reference) is not None
            values = [number for pair in task.tests for number in json.loads(f"[{pair[0]}, {pair[1]}]")]
            assert all(0 <= int(number) <= MAX_VALUE for number in re.findall(r"-?\d+", repr(values)))
            assert task.num_public in (3, 4) and len(task.tests) == task.num_public + 4
            assert task.reference not in task.question and task.words.count("=") == task.num_public


def _walled() -> bool:
    try:
        return bool(shared().backend)
    except SandboxError:
        return False


def test_what_is_shown_leaves_one_function_of_the_family_and_the_golden_tests_are_new_inputs() -> None:
    for task in some("train", 40):
        function = function_of(task)
        inputs = [json.loads(given)[0] for given, _ in task.tests]
        values = [json.loads(wanted) for _, wanted in task.tests]
        assert agree(function, inputs, values) and len({repr(x) for x in inputs}) == len(inputs)
        shown = task.num_public
        members = functions()["train"][function.family]
        assert [other for other in members if agree(other, inputs[:shown], values[:shown])] == [function]


def test_a_look_up_of_the_training_set_solves_nothing_even_if_it_tries_every_function() -> None:
    assert TASKS.lookup_share == 0.0
    known = [function for members in functions()["train"].values() for function in members]
    solved = 0
    for task in some("test", 100):
        inputs = [json.loads(given)[0] for given, _ in task.tests]
        values = [json.loads(wanted) for _, wanted in task.tests]
        takes_list = isinstance(inputs[0], list)
        solved += any(agree(one, inputs, values) for one in known if one.takes_list == takes_list)
    assert solved == 0


def test_the_problem_may_keep_what_it_does_to_itself() -> None:
    told, untold = MiniCode().task("train", 0), MiniCode(told=False).task("train", 0)
    assert "It returns the sum of each item of x times 4." in told.question
    assert "It returns" not in untold.question and untold.words == told.words
    assert "f([2, 0, 5]) = 28" in untold.question and len(MiniCode(examples=2).task("train", 1).public_tests) in (1, 2)
    with pytest.raises(ConfigError, match="examples is 9"):
        make_task_set("mini_code", examples=9)
    with pytest.raises(TaskError, match="no split 'tset'"):
        TASKS.task("tset", 0)


def test_demonstrators_are_right_wrong_in_a_coherent_way_or_at_random() -> None:
    def fits(task: CodeTask, words: str) -> bool:
        found = [f for ms in functions().values() for members in ms.values() for f in members if f.words == words]
        inputs = [json.loads(given)[0] for given, _ in task.tests]
        values = [json.loads(wanted) for _, wanted in task.tests]
        return agree(found[0], inputs, values)

    for number, task in enumerate(some("train", 30)):
        function, rng = function_of(task), Random(number)
        assert fits(task, answer("coder", task, {}, PERFECT, rng))
        assert answer("coder", task, {}, WRONG, rng) != function.words
        assert set(answer("coder", task, {}, RANDOM, rng).split()) <= set(vocabulary())
        x, _, value = answer("tester", task, {}, PERFECT, rng).rpartition(" = ")
        assert value.split() and x.split() and set(f"{x} {value}".split()) <= set(vocabulary())
    assert {mistaken(family("sum", "times")[3], Random(n)).words for n in range(9)} == {
        "sum ( a * n4 for a in x )",
        "sum ( a * n6 for a in x )",
    }
    with pytest.raises(TaskError, match="no demonstrator for the role 'judge'"):
        answer("judge", TASKS.task("train", 0), {}, PERFECT, Random(0))
    with pytest.raises(TaskError, match="no task of mini_code"):
        function_of(CodeTask("number.plain.times-0-77-t", "", "call", ()))


def test_the_draw_spreads_over_families() -> None:
    counts = Counter(task.id.split("-")[0] for task in some("test", 90))
    assert len(counts) == len(functions()["test"]) and max(counts.values()) <= 30
