"""Debate: each reads the others before it speaks again; the judge names whose answer counts."""

from __future__ import annotations

import pytest

from motet.errors import ConfigError
from motet.tasks.arithmetic import ArithmeticTask
from motet.tasks.plan_path import PlanPath
from motet.testing.check_workflow import check_workflow
from motet.workflows.base import make_workflow
from motet.workflows.debate import Debate

SUM = ArithmeticTask("t", 37, "+", 45)


def test_each_reads_the_others_and_itself_and_the_judge_the_last_answers(staged):
    played = staged(Debate(), SUM, {"debater": ["7 2", "8 2", "8 2", "9 2"], "judge": ["1"]})
    assert played.prompts["debater"] == [
        "3 7 + 4 5 = debater ",
        "3 7 + 4 5 = debater ",
        "3 7 + 4 5 = said 8 2 debater 7 2 debater ",
        "3 7 + 4 5 = said 7 2 debater 8 2 debater ",
    ]
    assert played.prompts["judge"] == ["3 7 + 4 5 = debater 8 2 debater 9 2 judge "]
    assert played.outcome.success and played.outcome.metrics == {"first_right": 0.5, "last_right": 0.5}


def test_the_chat_holds_the_own_answer_as_it_was_sampled(staged):
    said = {"debater": ["mine", "theirs", r"\boxed{82}"], "judge": [r"\boxed{2}"]}
    played = staged(Debate(), SUM, said, dialect="chat")
    third = played.prompts["debater"][2]
    assert "<assistant>mine</><user>Others solved the same problem:" in third
    assert "--- Solution 1 ---\ntheirs" in third
    assert "After a debate, the debaters gave these solutions" in played.prompts["judge"][0]
    assert played.outcome.success


@pytest.mark.parametrize(("last", "choice", "success"), [
    (["8 2", "7 2"], "1", True), (["8 2", "7 2"], "2", False), (["7 2", "8 2"], "1", False),
    (["7 2", "8 2"], "2", True),
])  # fmt: skip
def test_each_role_changes_the_outcome_both_ways(staged, last, choice, success):
    played = staged(Debate(rounds=1), SUM, {"debater": last, "judge": [choice]})
    assert played.outcome.success is success


@pytest.mark.parametrize(("first", "success"), [("8 2", True), ("7 2", False)])
def test_what_one_says_first_changes_what_the_other_says_next(staged, first, success):
    """The second debater repeats what it heard."""

    def speaks(prompt, index):
        return prompt.split("said ")[1].split(" debater")[0] if "said" in prompt else "1"

    def opens(prompt, index):
        opens.calls += 1
        return first if opens.calls == 1 else speaks(prompt, index)

    opens.calls = 0
    assert staged(Debate(), SUM, {"debater": opens, "judge": ["2"]}).outcome.success is success


def test_debaters_and_judge_are_paid_as_voters_and_aggregator_are(staged):
    """The judge took answer 1 with its only candidate: p = (2/3, 1/3); the last answers are worth 1 and 0."""
    played = staged(Debate(), SUM, {"debater": ["7 2", "8 2", "8 2", "7 2"], "judge": ["1"]})
    assert (played.team["debater", 0, 1], played.local["debater", 0, 1]) == ([0.6667], [1.0])
    assert (played.team["debater", 1, 1], played.local["debater", 1, 1]) == ([0.6667], [0.2])
    assert played.team["debater", 0, 0] == [0.0]  # had 7 2 been its last word: 2/3 * 0 + 1/3 * 0
    assert played.team["debater", 1, 0] == [1.0]  # had 8 2 been its last word: 2/3 * 1 + 1/3 * 1
    assert (played.team["judge", 0, 0], played.local["judge", 0, 0]) == ([1.0], [1.0])


def test_every_role_has_unequal_groups_at_alpha_0_and_at_alpha_1(staged, unequal):
    said = {"debater": [["8 2", "7 2"], ["8 2", "7 2"], ["8 2"], ["7 2"]], "judge": [["1", "2"]]}
    found = unequal(staged(Debate(), SUM, said, width=2).episodes)
    assert all(team >= 1 and local >= 1 for team, local in found.values()) and len(found) == 2


@pytest.mark.parametrize("workflow", [Debate(), Debate(debaters=3, rounds=3)])
def test_it_passes_the_checks_for_workflows(workflow):
    assert check_workflow(workflow, SUM, texts=["8 2", "7 2", "1", "2"])[-1] == "evaluation"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="debaters is 1"):
        make_workflow("debate", debaters=1)
    with pytest.raises(ConfigError, match="rounds is 0"):
        make_workflow("debate", rounds=0)
    assert make_workflow("debate", debaters=3, rounds=2).max_calls(SUM) == 7
    assert Debate().fits(object()) == "Debate plays tasks that are Game or Answerable; object is neither"


def test_a_game_is_debated_turn_by_turn_and_the_judge_moves(staged):
    task = PlanPath(min_distance=5).task("train", 0)
    played = staged(Debate(), task, {"debater": ["U"], "judge": ["D"]})
    assert set(played.prompts) == {"debater", "judge"} and Debate().fits(task) is None
    assert len(played.prompts["debater"]) == 4 * len(played.prompts["judge"]) and played.outcome is not None
    assert len(played.calls) <= Debate().max_calls(task) == 5 * task.max_turns
