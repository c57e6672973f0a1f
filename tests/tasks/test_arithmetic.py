"""Arithmetic: unseen operands in the test split, answers read digit by digit or in prose, demonstrators."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import ConfigError, TaskError
from motet.policies.tiny import vocabulary
from motet.tasks.arithmetic import Arithmetic, ArithmeticTask, split_of
from motet.tasks.arithmetic_demonstrators import PERFECT, RANDOM, WRONG, answer, without_carry
from motet.tasks.base import Answerable, make_task_set
from motet.testing.check_task import check_task

SUM = ArithmeticTask("t", 37, "+", 45)


def test_the_set_passes_the_checks_for_task_sets():
    assert check_task(make_task_set("arithmetic", operations="+-*"), texts=["8 2", "82"])[-1] == "rewards"
    assert isinstance(SUM, Answerable)


def test_no_pair_of_operands_is_in_two_splits_in_either_order_or_under_any_operation():
    tasks = Arithmetic(operations="+-*")
    seen = {split: {frozenset((t.left, t.right)) for t in (tasks.task(split, i) for i in range(400))}
            for split in tasks.splits}  # fmt: skip
    assert not seen["train"] & seen["test"] and not seen["train"] & seen["validation"]
    assert not seen["validation"] & seen["test"]


@given(st.integers(0, 999), st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_the_split_of_a_pair_knows_no_order(one, other):
    assert split_of(one, other) == split_of(other, one)


def test_a_tenth_of_the_pairs_is_held_out_for_each_of_test_and_validation():
    splits = [split_of(one, other) for one in range(100) for other in range(one, 100)]
    shares = {split: splits.count(split) / len(splits) for split in set(splits)}
    assert shares["train"] == pytest.approx(0.8, abs=0.02) and shares["test"] == pytest.approx(0.1, abs=0.01)


def test_operations_operands_and_words_are_as_set():
    tasks = Arithmetic(low=5, high=300, operations="-*", seed=3)
    found = [tasks.task("train", index) for index in range(200)]
    assert {task.operation for task in found} == {"-", "*"}
    assert all(min(t.left, t.right) >= 5 and max(t.left, t.right) <= 300 and t.answer >= 0 for t in found)
    assert all(set(t.words.split()) <= set(vocabulary()) for t in found)
    assert ArithmeticTask("t", 120, "-", 7).words == "1 2 0 - 7 =" and ArithmeticTask("t", 12, "*", 7).answer == 84
    assert Arithmetic(seed=1).task("train", 0) != Arithmetic(seed=2).task("train", 0)


@pytest.mark.parametrize(("text", "found", "form"), [
    ("8 2", "82", 1.0), ("82", "82", 0.0), (" 8 2 ", "82", 1.0), ("0 8 2", "82", 0.0), ("0", "0", 1.0),
    (r"\boxed{82}", "82", 1.0), (r"\boxed{8 2}", "82", 1.0), (r"\boxed{1,082}", "1082", 1.0), (r"\boxed{x}", None, 0.0),
    ("#### 82", "82", 0.0), ("37 + 45 = 82", "82", 0.0), ("3 7 + 4 5 = 8 2", "82", 0.0),
    ("The answer is 82.", "82", 0.0),
    ("It is 82, I think.", "82", 0.0), ("-82", "-82", 0.0), ("voter 8 2", "82", 0.0), ("no idea", None, 0.0),
    ("", None, 0.0), ("8 2 voter", "82", 0.0), ("000", "0", 0.0), ("-0", "0", 0.0), ("8.2", None, 0.0),
    (r"I get 72. \boxed{82}", "82", 1.0), ("9" * 5000, "9" * 5000, 0.0),
])  # fmt: skip
def test_answers_are_read_in_every_form(text, found, form):
    assert (SUM.answer_in(text), SUM.form(text)) == (found, form)
    assert SUM.check(text) == float(found == "82")


@given(st.text())
@settings(max_examples=60, deadline=None)
def test_every_text_has_a_worth(text):
    assert SUM.check(text) in (0.0, 1.0) and SUM.form(text) in (0.0, 1.0)


@pytest.mark.parametrize(("given", "message"), [
    ({"low": 9, "high": 9}, "operands from 9 to 9"), ({"low": -1}, "operands from -1"), ({"high": 10_000}, "operands"),
    ({"operations": "/"}, "operations are '/'"), ({"operations": ""}, "operations"),
    ({"operations": "++"}, "operations"),
])  # fmt: skip
def test_settings_out_of_range_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        Arithmetic(**given)


def test_a_set_that_a_table_solves_is_refused_when_it_is_made():
    """Products of one digit: zero is the answer of 19 in 100."""
    with pytest.raises(TaskError, match=r"a look-up of the training set solves 36\.0%"):
        Arithmetic(low=0, high=9, operations="*")
    assert Arithmetic().lookup_share < 0.02


def test_an_unknown_split_is_refused():
    with pytest.raises(TaskError, match="no split 'dev'"):
        Arithmetic().task("dev", 0)


@pytest.mark.parametrize(("left", "operation", "right", "wrong"), [
    (37, "+", 45, 72), (31, "+", 42, 83), (95, "+", 95, 80), (52, "-", 17, 45), (58, "-", 17, 51), (7, "+", 45, 42),
    (37, "*", 4, 28), (12, "*", 3, 46), (45, "*", 32, 230),
])  # fmt: skip
def test_the_wrong_demonstrator_forgets_the_carry_or_makes_one_up(left, operation, right, wrong):
    """37 + 45: 7 + 5 leaves 2, 3 + 4 is 7. 45 * 32: ones 10 leaves 0, tens 8 + 15 leaves 3, hundreds 12 leaves 2."""
    task = ArithmeticTask("t", left, operation, right)
    assert without_carry(task) == wrong != task.answer


@pytest.mark.parametrize("role", ["voter", "generator", "solver", "debater"])
def test_perfect_is_right_wrong_is_wrong_and_random_is_well_formed(role):
    tasks, rng = Arithmetic(operations="+-*"), Random(0)
    for task in (tasks.task("train", index) for index in range(100)):
        said = [answer(role, task, {}, kind, rng) for kind in (PERFECT, WRONG, RANDOM)]
        assert [task.check(text) for text in said[:2]] == [1.0, 0.0]
        assert [task.form(text) for text in said] == [1.0, 1.0, 1.0]
        assert len(said[2].split()) == len(str(task.answer))


def test_demonstrators_of_verdicts_and_choices():
    rng, seen = Random(0), {"answers": ["8 2", "7 2", "x"]}
    said = lambda role, seen, kind: answer(role, SUM, seen, kind, rng)
    assert [said("evaluator", {"answer": text}, PERFECT) for text in ("8 2", "7 2")] == ["yes", "no"]
    assert [said("evaluator", {"answer": text}, WRONG) for text in ("8 2", "7 2")] == ["no", "yes"]
    assert {said("evaluator", {"answer": "8 2"}, RANDOM) for _ in range(20)} == {"yes", "no"}
    assert (said("aggregator", seen, PERFECT), said("judge", seen, WRONG)) == ("1", "2")
    assert said("aggregator", {"answers": ["7 2", "7 3"]}, PERFECT) == "1"
    assert {said("aggregator", seen, RANDOM) for _ in range(40)} == {"1", "2", "3"}
    with pytest.raises(TaskError, match="no demonstrator for the role 'planner'"):
        said("planner", {}, PERFECT)


def test_the_same_generator_state_gives_the_same_words():
    one, two = Random(5), Random(5)
    assert [answer("voter", SUM, {}, RANDOM, one) for _ in range(5)] == [
        answer("voter", SUM, {}, RANDOM, two) for _ in range(5)
    ]
