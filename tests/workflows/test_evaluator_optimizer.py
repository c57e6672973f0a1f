"""Evaluator and optimizer: one conversation, a verdict that is read strictly, and rewards for both."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import TaskError
from motet.tasks.arithmetic import ArithmeticTask
from motet.tasks.code_tasks import CodeTask
from motet.tasks.jsonl import Question
from motet.tasks.plan_path import PlanPath
from motet.testing.check_workflow import check_workflow
from motet.workflows.evaluator_optimizer import EvaluatorOptimizer, read_verdict

SUM = ArithmeticTask("t", 37, "+", 45)


def test_the_conversation_is_shared_and_grows(staged):
    said = {"generator": ["7 2", "8 3", "8 2"], "evaluator": ["no", "reject", "yes"]}
    played = staged(EvaluatorOptimizer(), SUM, said)
    assert played.prompts["generator"] == [
        "3 7 + 4 5 = generator ",
        "3 7 + 4 5 = generator 7 2 evaluator no generator ",
        "3 7 + 4 5 = generator 7 2 evaluator no generator 8 3 evaluator reject generator ",
    ]
    assert played.prompts["evaluator"][1] == "3 7 + 4 5 = generator 7 2 evaluator no generator 8 3 evaluator "
    assert played.outcome.success and played.outcome.metrics == {"rounds": 3.0, "accepted": 1.0}


def test_the_chat_holds_every_call_as_an_assistant_message(staged):
    said = {"generator": ["seven", r"\boxed{82}"], "evaluator": [r"No. \boxed{Incorrect}", r"\boxed{CORRECT}"]}
    played = staged(EvaluatorOptimizer(), SUM, said, dialect="chat")
    last = played.prompts["evaluator"][1]
    assert "<assistant>seven</><user>Now be the reviewer" in last
    assert r"<assistant>No. \boxed{Incorrect}</><user>The review above" in last
    assert played.outcome.success and played.outcome.metrics["rounds"] == 2


@pytest.mark.parametrize(("generator", "evaluator", "success"), [
    (["8 2", "7 2"], ["yes"], True),
    (["8 2", "7 2"], ["no"], False),
    (["7 2", "8 2"], ["yes"], False),
    (["7 2", "8 2"], ["no"], True),
])  # fmt: skip
def test_each_role_changes_the_outcome_both_ways(staged, generator, evaluator, success):
    played = staged(EvaluatorOptimizer(max_rounds=2), SUM, {"generator": generator, "evaluator": evaluator})
    assert played.outcome.success is success


def test_a_verdict_that_cannot_be_read_means_go_on(staged):
    played = staged(EvaluatorOptimizer(), SUM, {"generator": ["7 2", "8 2"], "evaluator": ["looks fine", "yes"]})
    assert len(played.calls) == 4 and played.outcome.success
    assert played.local["evaluator", 0, 0] == [0.0]


@pytest.mark.parametrize(("verdicts", "num_calls"), [(["yes"], 2), (["no", "yes"], 4), (["no"], 6)])
def test_there_are_two_to_six_calls(staged, verdicts, num_calls):
    assert len(staged(EvaluatorOptimizer(), SUM, {"generator": ["8 2"], "evaluator": verdicts}).calls) == num_calls


def test_a_task_for_a_program_has_two_rounds():
    code = CodeTask("t", "Add.", "call", (("[1, 2]", "3"),), function="add")
    assert (EvaluatorOptimizer().rounds(code), EvaluatorOptimizer().rounds(SUM)) == (2, 3)
    assert (EvaluatorOptimizer(max_rounds=5).rounds(code), EvaluatorOptimizer().max_calls(SUM)) == (5, 6)


def test_the_generator_is_paid_for_what_became_of_it(staged):
    """Round 1: 7 2 was sent back and the team ended right. Who said something wrong too shares that fate; who was right
    at once is worth 1. Local is 0.2 for the form and 0.8 for being right."""
    said = {"generator": [["7 2"], ["8 2", "9", "so 7"]], "evaluator": ["no", "yes"]}
    played = staged(EvaluatorOptimizer(max_rounds=2), SUM, said, width=3)
    first, second = played.calls["generator", 0, 0], played.calls["generator", 0, 1]
    assert played.local["generator", 0, 1] == [1.0, 0.2, 0.0]
    assert played.team["generator", 0, 1] == [1.0, 0.0, 0.0]
    assert played.team["generator", 0, 0] == [float(second.chosen == 0)] * 3 and len(first.candidates) == 3


def test_candidates_of_another_worth_are_the_last_word(staged):
    """With one round nothing follows: team is the answer's own worth, for winner and losers."""
    said = {"generator": [["8 2", "7 2"]], "evaluator": [["yes", "no"]]}
    played = staged(EvaluatorOptimizer(max_rounds=1), SUM, said, width=2)
    assert played.team["generator", 0, 0] == [1.0, 0.0]


def test_the_evaluator_is_paid_for_the_truth_and_for_what_follows(staged):
    """The answer is wrong. Accepted: 0. Sent back: what followed, 1, where it was sent back; the mean of the
    generator's candidates, 1/2, where it was not. Local is the truth of the verdict."""
    said = {"generator": [["7 2", "8 2"], ["8 2"]], "evaluator": [["no", "yes"], ["yes"]]}
    played = staged(EvaluatorOptimizer(max_rounds=2), SUM, said, width=2)
    answer, verdict = played.calls["generator", 0, 0], played.calls["evaluator", 0, 0]
    is_right, went_on = answer.chosen == 1, verdict.chosen == 0
    assert played.local["evaluator", 0, 0] == ([0.0, 1.0] if is_right else [1.0, 0.0])
    assert played.team["evaluator", 0, 0] == [1.0 if went_on else 0.5, float(is_right)]


def test_in_the_last_round_the_team_is_told_the_truth(staged):
    said = {"generator": ["7 2"], "evaluator": [["no", "yes", "hm", r"\boxed{Incorrect}"]]}
    played = staged(EvaluatorOptimizer(max_rounds=1), SUM, said, width=4)
    assert played.team["evaluator", 0, 0] == played.local["evaluator", 0, 0] == [1.0, 0.0, 0.0, 1.0]


def test_every_role_has_unequal_groups_at_alpha_0_and_at_alpha_1(staged, unequal):
    said = {"generator": [["8 2", "7 2"]], "evaluator": [["no", "yes"]]}
    found = unequal(staged(EvaluatorOptimizer(), SUM, said, width=2).episodes)
    assert all(team >= 1 and local >= 1 for team, local in found.values()) and len(found) == 2


@pytest.mark.parametrize(("text", "verdict"), [
    (r"\boxed{Correct}", True), (r"\boxed{ incorrect }", False), (r"\boxed{\text{Correct}}", True),
    (r"\boxed{Correct} ... no: \boxed{Incorrect}", False), ("yes", True), ("accept", True), ("no 3", False),
    ("reject", False), ("Yes", None), ("yes,", None), ("it is correct", None), (r"\boxed{Correctly}", None), ("", None),
    (r"\boxed{Correct", None), (r"yes \boxed{Incorrect}", False),
])  # fmt: skip
def test_verdicts_are_read(text, verdict):
    assert read_verdict(text) is verdict


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_every_text_has_a_verdict_or_none(text):
    assert read_verdict(text) in (True, False, None)


def test_it_passes_the_checks_for_workflows():
    texts = ["8 2", "7 2", "yes", "no", r"\boxed{Correct}", r"\boxed{Incorrect}"]
    assert check_workflow(EvaluatorOptimizer(), SUM, texts=texts)[-1] == "evaluation"


def test_what_does_not_fit_is_refused(staged):
    assert "PlanPathTask is not" in EvaluatorOptimizer().fits(PlanPath().task("train", 0))
    with pytest.raises(TaskError, match="no compact words for Question.*use a model with a chat template"):
        staged(EvaluatorOptimizer(), Question("q", "?", "a"), {"generator": ["a"], "evaluator": ["yes"]})
