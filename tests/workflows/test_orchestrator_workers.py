"""Orchestrator and workers: strategies go out, whole solutions come back, one answer is written."""

from __future__ import annotations

import pytest

from motet.errors import ConfigError
from motet.tasks.arithmetic import ArithmeticTask
from motet.tasks.plan_path import PlanPath
from motet.testing.check_workflow import check_workflow
from motet.workflows.base import make_workflow
from motet.workflows.orchestrator_workers import OrchestratorWorkers, times_taken

SUM = ArithmeticTask("t", 37, "+", 45)
TWO = "way ones way tens"


def last_heard(prompt, index):
    """The synthesizer repeats the last worker."""
    return prompt.split(" worker ")[-1].removesuffix(" synthesizer ")


def obeys(prompt, index):
    """The worker is right by the way `carry` alone."""
    return "8 2" if "way carry" in prompt else "7 2"


def test_each_worker_gets_one_strategy_and_the_synthesizer_sees_all(staged):
    said = {"orchestrator": [TWO], "worker": ["7 2", "8 2"], "synthesizer": last_heard}
    played = staged(OrchestratorWorkers(), SUM, said)
    assert played.prompts["orchestrator"] == ["3 7 + 4 5 = orchestrator "]
    assert played.prompts["worker"] == ["3 7 + 4 5 = way ones worker ", "3 7 + 4 5 = way tens worker "]
    assert played.prompts["synthesizer"] == ["3 7 + 4 5 = way ones worker 7 2 way tens worker 8 2 synthesizer "]
    assert played.outcome.success and played.outcome.metrics == {"strategies": 2.0, "any_right": 1.0}


@pytest.mark.parametrize(("plan", "success"), [("way carry", True), ("way ones", False)])
def test_the_plan_changes_the_outcome_both_ways(staged, plan, success):
    said = {"orchestrator": [plan], "worker": obeys, "synthesizer": last_heard}
    assert staged(OrchestratorWorkers(), SUM, said).outcome.success is success


@pytest.mark.parametrize(("work", "success"), [(["7 2", "8 2"], True), (["8 2", "7 2"], False)])
def test_the_workers_change_the_outcome_both_ways(staged, work, success):
    said = {"orchestrator": [TWO], "worker": work, "synthesizer": last_heard}
    assert staged(OrchestratorWorkers(), SUM, said).outcome.success is success


@pytest.mark.parametrize(("final", "work", "success"), [("8 2", "7 2", True), ("7 2", "8 2", False)])
def test_the_synthesizer_changes_the_outcome_both_ways(staged, final, work, success):
    said = {"orchestrator": [TWO], "worker": [work], "synthesizer": [final]}
    assert staged(OrchestratorWorkers(), SUM, said).outcome.success is success


def test_fewer_strategies_give_fewer_workers_and_more_are_cut(staged):
    said = {"orchestrator": ["way ones"], "worker": ["8 2"], "synthesizer": ["8 2"]}
    assert len(staged(OrchestratorWorkers(), SUM, said).calls) == 3
    said["orchestrator"] = ["way a way b way c way d way e"]
    assert len(staged(OrchestratorWorkers(), SUM, said).calls) == 5
    said["orchestrator"] = [" "]
    played = staged(OrchestratorWorkers(), SUM, said)
    assert played.prompts["worker"] == ["3 7 + 4 5 = worker "]


def test_the_chat_prompts_tell_not_to_solve_and_show_strategies(staged):
    plan = "STRATEGY 1: add the tens first\nSTRATEGY 2: count up"
    said = {"orchestrator": [plan], "worker": [r"\boxed{82}"], "synthesizer": [r"\boxed{82}"]}
    played = staged(OrchestratorWorkers(workers=2), SUM, said, dialect="chat")
    assert "Do not solve it. Propose at most 2 ways" in played.prompts["orchestrator"][0]
    assert "by this strategy, step by step: count up" in played.prompts["worker"][1]
    assert "--- Solution 2 (count up) ---\n\\boxed{82}" in played.prompts["synthesizer"][0]
    assert played.outcome.success


def test_a_worker_earns_what_the_synthesizer_takes_of_it(staged):
    """The synthesizer's answer is worker 2's: p = (0 + 1, 1 + 1) / 3; worker 1 is wrong, worker 2 right."""
    said = {"orchestrator": [TWO], "worker": ["7 2", "8 2"], "synthesizer": ["8 2"]}
    played = staged(OrchestratorWorkers(), SUM, said)
    assert [played.team["worker", slot, 0] for slot in (0, 1)] == [[0.6667], [0.6667]]
    assert [played.local["worker", slot, 0] for slot in (0, 1)] == [[0.2], [1.0]]
    assert (played.team["orchestrator", 0, 0], played.local["orchestrator", 0, 0]) == ([1.0], [0.7333])
    assert (played.team["synthesizer", 0, 0], played.local["synthesizer", 0, 0]) == ([1.0], [1.0])


def test_plans_that_were_not_tried_are_valued_by_those_that_were(staged):
    """Every plan that can be tried names `carry` (always right) or `ones` (always wrong): the plan with the way that
    was seen to work is worth more."""
    said = {"orchestrator": [["way carry way ones", "way ones way carry"]], "worker": obeys, "synthesizer": last_heard}
    played = staged(OrchestratorWorkers(), SUM, said, width=2)
    assert played.team["orchestrator", 0, 0] == [0.5, 0.5]
    said["orchestrator"] = [["way carry way ones", "way ones way carry", "way carry", "way ones"]]
    played = staged(OrchestratorWorkers(), SUM, said, width=4)
    assert played.calls["orchestrator", 0, 0].chosen in (0, 1)
    assert played.team["orchestrator", 0, 0] == [0.5, 0.5, 0.9091, 0.0909]


def test_every_role_has_unequal_groups_at_alpha_0_and_at_alpha_1(staged, unequal):
    said = {
        "orchestrator": [["way carry way ones", "way ones way carry", "way carry", "way ones"]],
        "worker": lambda prompt, index: "8 2" if index == 0 or "carry" in prompt else "7 2",
        "synthesizer": [["8 2", "7 2"]],
    }
    found = unequal(staged(OrchestratorWorkers(), SUM, said, width=4).episodes)
    assert all(team >= 1 and local >= 1 for team, local in found.values()) and len(found) == 3


def test_answers_are_counted_by_what_they_say():
    finals = [{"answer": "82"}, {"answer": "82"}, {"answer": None}, {"answer": "9"}]
    assert times_taken(finals, ["82", "72", None]) == [2.0, 0.0, 0.0]
    assert times_taken(finals, ["82", "82"]) == [1.0, 1.0]


def test_it_passes_the_checks_for_workflows():
    texts = ["8 2", "7 2", TWO, "way carry", "STRATEGY 1: add", r"\boxed{82}"]
    assert check_workflow(OrchestratorWorkers(), SUM, texts=texts)[-1] == "evaluation"


def test_what_does_not_fit_is_refused():
    assert "PlanPathTask is not" in OrchestratorWorkers().fits(PlanPath().task("train", 0))
    with pytest.raises(ConfigError, match="workers is 0"):
        make_workflow("orchestrator_workers", workers=0)
    assert make_workflow("orchestrator_workers", workers=2).max_calls(SUM) == 4
