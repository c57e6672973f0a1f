"""One role alone on a problem with an answer: one answer, or several of which the last one counts."""

from __future__ import annotations

import pytest

from motet.errors import ConfigError
from motet.tasks.arithmetic import ArithmeticTask
from motet.testing.check_workflow import check_workflow
from motet.workflows.base import make_workflow
from motet.workflows.single import Single

SUM = ArithmeticTask("t", 37, "+", 45)


@pytest.mark.parametrize(("said", "success"), [("8 2", True), ("7 2", False)])
def test_one_answer_is_the_outcome(staged, said, success):
    played = staged(Single(), SUM, {"solver": [said]})
    assert (played.outcome.success, played.prompts["solver"]) == (success, ["3 7 + 4 5 = solver "])
    assert staged(Single(called="voter"), SUM, {"solver": [said]}).prompts["solver"] == ["3 7 + 4 5 = voter "]


@pytest.mark.parametrize(("said", "success", "num"), [
    (["7 2", "8 2"], True, 2), (["8 2", "7 2"], False, 2), (["8 2", "82"], True, 2), (["x", "y", "8 2"], True, 3),
])  # fmt: skip
def test_more_turns_revise_until_the_answer_stays(staged, said, success, num):
    played = staged(Single(turns=num), SUM, {"solver": said})
    assert (played.outcome.success, len(played.calls)) == (success, num)
    assert played.prompts["solver"][1] == f"3 7 + 4 5 = solver {said[0]} solver "
    assert len(staged(Single(turns=5), SUM, {"solver": ["8 2"]}).calls) == 2


def test_the_chat_holds_the_own_answers(staged):
    played = staged(Single(turns=2), SUM, {"solver": ["one", r"\boxed{82}"]}, dialect="chat")
    assert "<assistant>one</><user>Check your solution" in played.prompts["solver"][1] and played.outcome.success


def test_every_candidate_is_paid_by_its_fate(staged, unequal):
    played = staged(Single(), SUM, {"solver": [["8 2", "7 2", "so 82"]]}, width=3)
    assert played.team["solver", 0, 0] == [1.0, 0.0, 1.0]
    assert played.local["solver", 0, 0] == [1.0, 0.2, 0.8]
    assert unequal(played.episodes) == {"solver": (1, 1)}


@pytest.mark.parametrize("workflow", [Single(), Single(turns=3)])
def test_it_passes_the_checks_for_workflows(workflow):
    assert check_workflow(workflow, SUM, texts=["8 2", "7 2"])[-1] == "evaluation"


def test_what_does_not_fit_is_refused():
    assert Single().fits(object()) == "Single plays tasks that are Game or Answerable; object is neither"
    with pytest.raises(ConfigError, match="turns is 0"):
        make_workflow("single", turns=0)
