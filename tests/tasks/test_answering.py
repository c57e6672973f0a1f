"""What a task tells of its own words, and what stands in where it tells nothing."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import TaskError
from motet.tasks.answering import (
    ANSWER_FORM,
    answer_form,
    answer_in,
    answer_reward,
    assess,
    form_of,
    own_worth,
    words_of,
)
from motet.tasks.base import Answerable
from motet.tasks.jsonl import Question
from motet.tasks.math_sets import MathTask
from motet.tasks.reasoning_gym_sets import GymTask
from motet.tasks.verifiers_sets import VerifiersTask


@dataclass(frozen=True)
class Bare:
    """A task with what must be there and no more."""

    id: str = "b"
    question: str = "Capital of Italy?"

    def check(self, text):
        return float("Rome" in text)


def test_question_and_check_are_enough():
    assert isinstance(Bare(), Answerable) and not isinstance("text", Answerable)
    assert answer_form(Bare()) == ANSWER_FORM
    assert assess(Bare(), "It is\n#### Rome") == {"answer": "Rome", "worth": 1.0, "form": 1.0}
    assert assess(Bare(), " ") == {"answer": None, "worth": 0.0, "form": 0.0}
    with pytest.raises(TaskError, match=r"no compact words for Bare \[task=b\]"):
        words_of(Bare())


def test_the_own_job_is_a_fifth_form_and_the_rest_worth():
    assert own_worth({"worth": 1.0, "form": 1.0}) == 1.0
    assert own_worth({"worth": 0.5, "form": 0.0}) == 0.4
    reward = answer_reward({"answer": "x", "worth": 0.5, "form": 1.0})
    assert (reward.team, reward.local) == (0.5, pytest.approx(0.6))


@pytest.mark.parametrize(("text", "answer"), [
    (r"\boxed{\frac12}", "1/2"), (r"#### 0.50", "1/2"), ("The answer is 1,000.", "1000"), ("so 2/4", "1/2"),
    (r"\boxed{x + 1}", "x+1"), ("nothing", None), (r"\boxed{}", None), (r"\boxed{2^{30000}}", "2^{30000}"),
])  # fmt: skip
def test_answers_of_mathematics_are_compared_in_lowest_terms(text, answer):
    assert answer_in(MathTask("t", "?", "1/2"), text) == answer


def test_mathematics_asks_for_the_form_that_counts():
    any_form, hashes = MathTask("t", "?", "5"), MathTask("t", "?", "5", forms=("hashes",))
    assert r"\boxed{answer}" in answer_form(any_form) and "####" in answer_form(hashes)
    assert [form_of(any_form, text) for text in (r"\boxed{6}", "#### 5", "5")] == [1.0, 0.0, 0.0]
    assert [form_of(hashes, text) for text in (r"\boxed{5}", "#### 6")] == [0.0, 1.0]


def test_a_row_of_a_file_may_bring_compact_words():
    assert words_of(Question("q", "2 + 2?", "4", "2 + 2 =")) == "2 + 2 ="
    assert [answer_in(Question("q", "?", "4"), text) for text in ("4.0", "#### 1,000", "Rome.", "")] == [
        "4", "1000", "rome", None,
    ]  # fmt: skip
    assert [form_of(Question("q", "?", "4"), text) for text in ("a\n#### 4", "4")] == [1.0, 0.0]


def test_sets_of_other_packages_ask_in_their_own_form():
    gym = GymTask("g", "?", "7", "d", "{}", 0)
    assert "<answer>" in answer_form(gym) and isinstance(gym, Answerable)
    assert (answer_in(gym, "<answer>7</answer>"), answer_in(gym, ""), form_of(gym, "7")) == ("7", None, 0.0)
    foreign = VerifiersTask("v", "?", "s", "{}", 0)
    assert "the question asks for" in answer_form(foreign) and answer_in(foreign, "7") == "7"


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_every_text_has_an_answer_or_none(text):
    for task in (Bare(), Question("q", "?", "4"), MathTask("t", "?", "4"), GymTask("g", "?", "7", "d", "{}", 0)):
        found = answer_in(task, text)
        assert found is None or (isinstance(found, str) and found)
        assert form_of(task, text) in (0.0, 1.0)
