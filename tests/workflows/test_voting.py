"""Voting: who answers counts, who chooses counts, and each is paid for its own part."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.credit.assign import rows
from motet.credit.settings import preset
from motet.errors import ConfigError
from motet.tasks.arithmetic import ArithmeticTask
from motet.tasks.jsonl import Question
from motet.tasks.plan_path import PlanPath
from motet.testing.check_workflow import check_workflow
from motet.workflows.answering import expected_worth, majority, read_choice
from motet.workflows.base import make_workflow
from motet.workflows.voting import Voting, VotingMajority

SUM = ArithmeticTask("t", 37, "+", 45)
TEXTS = ["8 2", "7 2", "1", "2", "3", r"\boxed{82}", r"\boxed{2}"]


def test_the_aggregator_reads_what_the_voters_said_in_order_of_slot(staged):
    played = staged(Voting(), SUM, {"voter": ["8 2", "7 2", "1"], "aggregator": ["2"]})
    assert played.prompts["voter"] == ["3 7 + 4 5 = voter "] * 3
    assert played.prompts["aggregator"] == ["3 7 + 4 5 = voter 8 2 voter 7 2 voter 1 aggregator "]
    assert (played.outcome.success, played.outcome.team) == (False, 0.0)
    assert played.outcome.metrics == {"voters_right": 1 / 3, "any_right": 1.0}


@pytest.mark.parametrize(("voter", "choice", "success"), [
    (["8 2", "7 2"], "1", True), (["8 2", "7 2"], "2", False), (["7 2", "8 2"], "1", False),
    (["7 2", "8 2"], "2", True),
])  # fmt: skip
def test_each_role_changes_the_outcome_both_ways(staged, voter, choice, success):
    played = staged(Voting(voters=2), SUM, {"voter": voter, "aggregator": [choice]})
    assert played.outcome.success is success


def test_the_chat_prompts_hold_the_problem_the_form_and_the_solutions(staged):
    said = {"voter": ["first", r"\boxed{82}"], "aggregator": [r"\boxed{2}"]}
    played = staged(Voting(voters=2), SUM, said, dialect="chat")
    assert played.outcome.success
    assert played.prompts["voter"][0].startswith(
        "<user>Problem:\nWhat is 37 plus 45?\n\nSolve the problem step by step."
    )
    assert r"End with the answer in a box: \boxed{answer}" in played.prompts["voter"][0]
    (shown,) = played.prompts["aggregator"]
    assert "--- Solution 1 ---\nfirst\n\n--- Solution 2 ---\n\\boxed{82}" in shown and "from 1 to 2" in shown


def test_prompt_each_gives_every_voter_its_number(staged):
    workflow = Voting(voters=2, prompt_each=True)
    played = staged(workflow, SUM, {"voter": ["8 2"], "aggregator": ["1"]})
    assert played.prompts["voter"] == ["3 7 + 4 5 = 1 voter ", "3 7 + 4 5 = 2 voter "]
    played = staged(workflow, SUM, {"voter": ["8 2"], "aggregator": ["1"]}, dialect="chat")
    assert "You are solver 2 of 2" in played.prompts["voter"][1]


def test_a_voter_earns_what_the_team_can_expect_of_its_answer(staged):
    """The aggregator took answer 2 (worth 0) with its one candidate: p = (0 + 1, 1 + 1) / 3."""
    played = staged(Voting(voters=2), SUM, {"voter": ["8 2", "7 2"], "aggregator": ["2"]})
    assert (played.team["voter", 0, 0], played.local["voter", 0, 0]) == ([0.3333], [1.0])
    assert (played.team["voter", 1, 0], played.local["voter", 1, 0]) == ([0.3333], [0.2])
    assert (played.team["aggregator", 0, 0], played.local["aggregator", 0, 0]) == ([0.0], [0.2])


def test_each_candidate_of_a_voter_is_valued_in_the_place_of_the_chosen_one(staged):
    """Both aggregator candidates take answer 1: p = (3/4, 1/4). Voter 1 says 7 2 with all its candidates."""
    said = {"voter": [["8 2", "7 2", "x"], ["7 2"]], "aggregator": [["1", "take 1"]]}
    played = staged(Voting(voters=2), SUM, said, width=2)
    assert played.team["voter", 0, 0] == [0.75, 0.0]
    assert played.local["voter", 0, 0] == [1.0, 0.2]
    first = 0.75 if played.calls["voter", 0, 0].chosen == 0 else 0.0
    assert played.team["voter", 1, 0] == [first, first]


def test_the_aggregator_is_paid_for_its_choice_and_its_form(staged):
    said = {"voter": ["8 2", "7 2"], "aggregator": [["1", "I take 1", "2", "nonsense"]]}
    played = staged(Voting(voters=2), SUM, said, width=4)
    assert played.team["aggregator", 0, 0] == [1.0, 1.0, 0.0, 1.0]
    assert played.local["aggregator", 0, 0] == [1.0, 0.8, 0.2, 0.8]


def test_every_role_has_unequal_groups_at_alpha_0_and_at_alpha_1(staged, unequal):
    said = {"voter": [["8 2", "7 2"], ["8 2"], ["7 2"]], "aggregator": [["2", "3"]]}
    assert unequal(staged(Voting(), SUM, said, width=2).episodes) == {"aggregator": (1, 1), "voter": (1, 1)}
    assert unequal(staged(VotingMajority(), SUM, said, width=2).episodes) == {"voter": (1, 1)}


def test_majority_counts_answers_and_not_texts(staged):
    played = staged(VotingMajority(), SUM, {"voter": ["7 2", "8 2", r"so \boxed{82}"]})
    assert played.outcome.success and "aggregator" not in played.prompts and VotingMajority().roles == {"voter": 3}
    assert [played.team["voter", slot, 0] for slot in range(3)] == [[1.0], [1.0], [1.0]]
    assert not staged(VotingMajority(), SUM, {"voter": ["7 2", "8 2", "6 2"]}).outcome.success


def test_a_vote_that_turns_the_majority_is_paid_for_it(staged):
    """Voters 2 and 3 disagree, so voter 1 decides: 8 2 makes it right, 7 2 wrong, silence leaves the first: right."""
    played = staged(VotingMajority(), SUM, {"voter": [["8 2", "7 2", "-"], ["8 2"], ["7 2"]]}, width=3)
    assert played.team["voter", 0, 0] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(("text", "num", "picked", "form"), [
    (r"\boxed{2}", 3, 1, 1.0), (r"\boxed{ 3 }", 3, 2, 1.0), (r"\boxed{4} or \boxed{1}", 3, 0, 1.0),
    (r"\boxed{0}", 3, 0, 0.0), (r"\boxed{12}", 12, 11, 1.0), (r"\boxed{Solution 2}", 3, 1, 0.0),
    ("3", 3, 2, 1.0), (" 3\n", 3, 2, 1.0), ("Solution 3 is best", 3, 2, 0.0), ("3.", 3, 2, 0.0),
    ("13 or 2", 3, 1, 0.0), ("2.5", 3, 0, 0.0), ("x2", 3, 0, 0.0), ("", 3, 0, 0.0), ("none", 3, 0, 0.0),
    (r"\boxed{" + "9" * 5000 + "}", 3, 0, 0.0), ("7", 3, 0, 0.0),
])  # fmt: skip
def test_choices_are_read_with_their_fall_backs(text, num, picked, form):
    assert read_choice(text, num) == (picked, form)


@settings(max_examples=40, deadline=None)
@given(st.text(), st.integers(1, 12))
def test_every_text_is_some_choice(text, num):
    picked, form = read_choice(text, num)
    assert 0 <= picked < num and form in (0.0, 1.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9)), min_size=1, max_size=6), st.data())
def test_expected_worth_lies_between_the_worths_and_rises_with_ones_own(pairs, data):
    worths, counts = [p[0] for p in pairs], [float(p[1]) for p in pairs]
    slot = data.draw(st.integers(0, len(pairs) - 1))
    low, high = (expected_worth(slot, worth, worths, counts) for worth in (0.0, 1.0))
    assert 0.0 <= low < high <= 1.0


def test_majority_takes_the_first_of_the_most_frequent():
    assert [majority(a) for a in (["1", "2", "2"], ["1", "2"], [None, "2"], [None])] == [1, 0, 1, 0]


@pytest.mark.parametrize("workflow", [Voting(voters=2), VotingMajority(), Voting(prompt_each=True)])
def test_it_passes_the_checks_for_workflows(workflow):
    assert check_workflow(workflow, SUM, texts=TEXTS)[-1] == "evaluation"


def test_what_does_not_fit_is_refused():
    refused = "Voting plays tasks that are Answerable; PlanPathTask is not; take single, planner_executor, tool_planner"
    assert Voting().fits(PlanPath().task("train", 0)).startswith(refused)
    assert Voting().fits(Question("q", "?", "a")) is None
    with pytest.raises(ConfigError, match="voters is 1"):
        make_workflow("voting", voters=1)
    assert (make_workflow("voting", voters=5).roles["voter"], Voting.roles["voter"]) == (5, 3)


def test_the_outcome_can_be_broadcast_to_whole_episodes(staged):
    """Four episodes of one tree, right or wrong by their voter: each of its calls earns the outcome, in groups of 4."""
    seen = []

    def speaks(prompt, index):
        seen.append(prompt)
        return "8 2" if len(seen) % 3 == 1 else "7 2"

    said = {"voter": speaks, "aggregator": ["1"]}
    played = staged(Voting(voters=2), SUM, said, width=4, rule="independent")
    credited = rows(played.episodes, preset("rllm_voting"))
    outcomes = {episode.branch: episode.outcome.team for episode in played.episodes}
    assert set(outcomes.values()) == {0.0, 1.0}
    assert [round(row.reward) for row in credited.rows if row.role == "aggregator"] == [outcomes[b] for b in range(4)]
    assert {len([r for r in credited.rows if r.group == row.group]) for row in credited.rows} == {4}
