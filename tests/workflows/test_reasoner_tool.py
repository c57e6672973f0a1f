"""Reasoner and tool: two ways to one answer, reconciled over turns."""

from __future__ import annotations

import pytest

from motet.errors import ConfigError, RewardError, SandboxError
from motet.tasks.arithmetic import ArithmeticTask
from motet.tasks.code_tasks import CodeTask
from motet.tasks.jsonl import Question
from motet.tasks.math_sets import MathTask
from motet.tasks.plan_path import PlanPath
from motet.testing.check_workflow import check_workflow
from motet.workflows import reasoner_tool
from motet.workflows.base import make_workflow
from motet.workflows.programs import Output
from motet.workflows.reasoner_tool import ReasonerTool, assess_output

SUM = ArithmeticTask("t", 37, "+", 45)
PRINTS = {"print(37 + 45)": Output("ok", "82\n"), "print(72)": Output("ok", "the sum\n72\n"),
          "loops": Output("timeout"), "1/0": Output("error", "", "ZeroDivisionError: division by zero")}  # fmt: skip


@pytest.fixture
def no_sandbox(monkeypatch):
    """Programs by their text: the sandbox has tests of its own."""
    monkeypatch.setattr(reasoner_tool, "find_program", lambda text: text if text in PRINTS else None)
    run = lambda program: PRINTS[program] if program else Output("none")
    monkeypatch.setattr(reasoner_tool, "run_program", run)


pytestmark = pytest.mark.usefixtures("no_sandbox")


def test_both_speak_side_by_side_and_read_the_history_of_both(staged):
    said = {"reasoner": ["7 2", "8 2"], "tool": ["print(37 + 45)"]}
    played = staged(ReasonerTool(), SUM, said)
    assert played.prompts["reasoner"] == [
        "3 7 + 4 5 = reasoner ",
        "3 7 + 4 5 = reasoner 7 2 tool print(37 + 45) reasoner ",
    ]
    assert played.prompts["tool"][1] == "3 7 + 4 5 = reasoner 7 2 tool print(37 + 45) tool "
    assert played.outcome.success and played.outcome.metrics == {"turns": 2.0, "agreed": 1.0, "tool_right": 1.0}


def test_the_chat_shows_what_the_program_printed(staged):
    said = {"reasoner": [r"\boxed{72}", r"\boxed{82}"], "tool": ["1/0", "print(37 + 45)"]}
    played = staged(ReasonerTool(), SUM, said, dialect="chat")
    for role in ("reasoner", "tool"):
        assert "output ---\nIt ended with an error. ZeroDivisionError: division by zero" in played.prompts[role][1]
        assert "--- Turn 1, reasoner ---\n\\boxed{72}" in played.prompts[role][1]
    assert played.outcome.success and len(played.calls) == 4


@pytest.mark.parametrize(("tool", "success"), [("print(37 + 45)", True), ("print(72)", False)])
def test_the_tool_changes_the_outcome_both_ways(staged, tool, success):
    """A reasoner that believes the tool, from the second turn on."""
    believes = lambda prompt, index: "1" if "tool" not in prompt else "8 2" if "37 + 45" in prompt else "7 2"
    assert staged(ReasonerTool(), SUM, {"reasoner": believes, "tool": [tool]}).outcome.success is success


@pytest.mark.parametrize(("reasoner", "success"), [("8 2", True), ("7 2", False)])
def test_the_reasoner_changes_the_outcome_both_ways(staged, reasoner, success):
    assert staged(ReasonerTool(), SUM, {"reasoner": [reasoner], "tool": ["loops"]}).outcome.success is success


def test_it_ends_by_agreement_even_on_a_wrong_answer_or_when_the_turns_are_spent(staged):
    played = staged(ReasonerTool(), SUM, {"reasoner": ["7 2"], "tool": ["print(72)"]})
    assert len(played.calls) == 2 and not played.outcome.success and played.outcome.metrics["agreed"] == 1.0
    played = staged(ReasonerTool(max_turns=3), SUM, {"reasoner": ["none"], "tool": ["nothing"]})
    assert len(played.calls) == 6 and played.outcome.metrics["agreed"] == 0.0


def test_rewards_are_the_published_mixes(staged):
    """Reasoner 0.2 form + 0.8 right; tool 0.1 runs + 0.1 parses + 0.8 right."""
    tool = ["print(37 + 45)", "print(72)", "loops", "no program"]
    said = {"reasoner": [["8 2", "7 2", "it is 82", "-"]], "tool": [tool]}
    played = staged(ReasonerTool(max_turns=1), SUM, said, width=4)
    assert played.local["reasoner", 0, 0] == [1.0, 0.2, 0.8, 0.0]
    assert played.team["reasoner", 0, 0] == [1.0, 0.0, 1.0, 0.0]
    assert played.local["tool", 0, 0] == [1.0, 0.2, 0.0, 0.0]
    chosen, final = played.calls["tool", 0, 0].chosen, played.outcome.team
    worths = [1.0, 0.0, 0.0, 0.0]
    assert played.team["tool", 0, 0] == [final if worth == worths[chosen] else worth for worth in worths]


def test_every_role_has_unequal_groups_at_alpha_0_and_at_alpha_1(staged, unequal):
    said = {"reasoner": ["8 2"], "tool": [["print(37 + 45)", "print(72)"]]}
    teams = [staged(ReasonerTool(max_turns=1), SUM, {**said, "reasoner": [answers]}, width=2)
             for answers in (["8 2", "7 2"], ["7 2", "8 2"])]  # fmt: skip
    found = [unequal(played.episodes) for played in teams]
    for role in ("reasoner", "tool"):
        assert max(one[role][0] for one in found) and max(one[role][1] for one in found)


@pytest.mark.parametrize(("task", "printed", "worth"), [
    (MathTask("t", "?", r"\sqrt{2}"), r"\sqrt{2}", 1.0), (MathTask("t", "?", "1/2"), "0.5", 1.0),
    (MathTask("t", "?", "5", forms=("hashes",)), "5", 1.0), (MathTask("t", "?", "5", forms=("stated",)), "5", 1.0),
    (Question("t", "?", "Rome"), "rome", 1.0), (Question("t", "?", "Rome"), "", 0.0),
    (SUM, "82", 1.0), (SUM, "83", 0.0),
])  # fmt: skip
def test_the_last_printed_line_is_judged_in_the_form_that_the_task_asks_for(task, printed, worth):
    assert assess_output(task, Output("ok", f"so\n{printed}\n" if printed else ""))["worth"] == worth


@pytest.mark.parametrize("output", [Output("none"), Output("ok", ""), Output("memory", "82"), Output("ok", "9" * 5000)])
def test_what_printed_no_answer_is_worth_nothing(output):
    notes = assess_output(SUM, output)
    assert (notes["worth"], notes["parses"], notes["runs"]) == (0.0, 0.0, float(output.ok))


def test_a_fault_of_the_sandbox_is_an_error_and_no_reward(staged, monkeypatch):
    def broken(program):
        raise SandboxError("no cell")

    monkeypatch.setattr(reasoner_tool, "run_program", broken)
    with pytest.raises(RewardError, match=r"no cell.*role=tool"):
        staged(ReasonerTool(), SUM, {"reasoner": ["8 2"], "tool": ["1/0"]})


def test_it_passes_the_checks_for_workflows():
    assert check_workflow(ReasonerTool(), SUM, texts=["8 2", "7 2", *PRINTS])[-1] == "evaluation"


def test_what_does_not_fit_is_refused():
    code = CodeTask("t", "Add.", "call", (("[1, 2]", "3"),), function="add")
    assert "CodeTask asks for the program itself; take single, coder_tester" in ReasonerTool().fits(code)
    assert "PlanPathTask is not" in ReasonerTool().fits(PlanPath().task("train", 0))
    with pytest.raises(ConfigError, match="max_turns is 0"):
        make_workflow("reasoner_tool", max_turns=0)
