"""What holds for every workflow of tasks with an answer."""

from __future__ import annotations

import pytest

from motet.policies.tiny import MAX_POSITIONS, vocabulary
from motet.tasks import code_running
from motet.tasks.arithmetic import ArithmeticTask
from motet.tasks.code_tasks import CodeTask
from motet.tasks.jsonl import Question
from motet.testing.check_workflow import check_workflow
from motet.workflows.base import BUILTIN, make_workflow
from motet.workflows.fitting import ANSWERS, GAMES, PROGRAMS, players

SUM = ArithmeticTask("t", 37, "+", 45)
SPOKEN = [name for name in ANSWERS if name != "reasoner_tool"]
SAID = {"orchestrator": "way tens way carry", "evaluator": "no", "aggregator": "2", "judge": "2"}


def said_by(workflow):
    return {role: [SAID.get(role, "8 2")] for role in workflow.roles}


@pytest.mark.parametrize("name", SPOKEN)
def test_compact_prompts_are_words_of_the_tiny_models_and_short(staged, name):
    """The longest words that the largest operands give, every round played."""
    task = ArithmeticTask("t", 9876, "*", 5432)
    workflow = make_workflow(name)
    prompts = [prompt for shown in staged(workflow, task, said_by(workflow)).prompts.values() for prompt in shown]
    assert {word for prompt in prompts for word in prompt.split()} <= set(vocabulary())
    assert max(len(prompt.split()) for prompt in prompts) < MAX_POSITIONS // 2


@pytest.mark.parametrize("name", SPOKEN)
def test_every_prompt_begins_with_the_task_and_the_compact_one_ends_with_the_role(staged, name):
    workflow = make_workflow(name)
    for role, prompts in staged(workflow, SUM, said_by(workflow)).prompts.items():
        assert all(prompt.startswith(f"{SUM.words} ") and prompt.endswith(f" {role} ") for prompt in prompts)
    for prompts in staged(workflow, SUM, said_by(workflow), dialect="chat").prompts.values():
        assert all(prompt.startswith(f"<user>Problem:\n{SUM.question}") for prompt in prompts)


@pytest.mark.parametrize("name", SPOKEN)
def test_no_prompt_holds_the_answer(staged, name):
    workflow = make_workflow(name)
    said = {**said_by(workflow), **{role: ["7 1"] for role in workflow.roles if role not in SAID}}
    for dialect, answer in (("compact", "8 2"), ("chat", "82")):
        for prompts in staged(workflow, SUM, said, dialect=dialect).prompts.values():
            assert not any(answer in prompt for prompt in prompts)


@pytest.mark.parametrize(("name", "rule"), [
    ("voting", "lookahead"), ("evaluator_optimizer", "lookahead"), ("orchestrator_workers", "independent"),
])  # fmt: skip
def test_it_plays_under_every_sampling_rule(name, rule):
    texts = ["8 2", "7 2", "yes", "no", "1", "2", "way tens way carry"]
    assert check_workflow(make_workflow(name), SUM, texts=texts, rule=rule, width=2)[-1] == "evaluation"


@pytest.mark.parametrize(
    ("name", "said", "role", "team"),
    [
        # the first voter is taken, whatever it says; what the second says changes nothing
        ("voting", {"voter": [["8 2", "7 2"]], "aggregator": ["1"]}, "voter", [[1.0, 0.0], None, None]),
        ("debate", {"debater": [["8 2", "7 2"]], "judge": ["1"]}, "debater", [None, None, [1.0, 0.0], None]),
        ("orchestrator_workers", {
            "orchestrator": [["way tens", "way ones"]],
            "worker": lambda prompt, index: "8 2" if "tens" in prompt else "7 2",
            "synthesizer": lambda prompt, index: "8 2" if "8 2" in prompt else "7 2",
        }, "orchestrator", [[1.0, 0.0]]),
        # a wrong answer, then a right one: who accepts the first throws the second away
        ("evaluator_optimizer", {
            "generator": lambda prompt, index: "8 2" if " no " in prompt else "7 2",
            "evaluator": lambda prompt, index: "yes" if "8 2" in prompt or index else "no",
        }, "evaluator", [[1.0, 0.0]]),
        ("single", {"solver": [["8 2", "7 2"]]}, "solver", [[1.0, 0.0]]),
    ],
)  # fmt: skip
def test_look_ahead_puts_the_outcome_in_the_place_of_every_estimate(staged, name, said, role, team):
    """None: what the draw of the trunk decides."""
    played = staged(make_workflow(name), SUM, said, width=2, rule="lookahead")
    calls = [key for key in sorted(played.calls, key=lambda key: (key[2], key[1])) if key[0] == role]
    for key, wanted in zip(calls, team):
        assert wanted is None or played.team[key] == wanted
        assert set(played.team[key]) <= {0.0, 1.0}  # outcomes, no shares of them
        assert played.calls[key].settled


IDLE = ["", " ", "I cannot answer.", "3 7 + 4 5", "yes", "no", r"\boxed{Correct}", r"\boxed{Incorrect}", "1", "way"]


@pytest.mark.parametrize("dialect", ["compact", "chat"])
@pytest.mark.parametrize("text", [*IDLE, None])
@pytest.mark.parametrize("name", SPOKEN)
def test_nobody_is_paid_by_the_team_for_saying_nothing_of_use(staged, name, text, dialect):
    """Nothing, a refusal, the problem itself, one verdict whatever is shown, or (None) all that was shown over again.

    Where nobody is right, only whose word it is that this is wrong may be paid: the evaluator's, in the last round.
    """
    workflow = make_workflow(name)
    said = lambda prompt, index: prompt if text is None else text
    played = staged(workflow, SUM, dict.fromkeys(workflow.roles, said), dialect=dialect)
    assert not played.outcome.success and played.outcome.team == 0.0
    for (role, _, turn), teams in played.team.items():
        is_true = role == "evaluator" and turn == workflow.rounds(SUM) - 1 and text in ("no", r"\boxed{Incorrect}")
        assert teams == [float(is_true)], (role, turn)
    for (role, *_), local in played.local.items():
        is_true = role == "evaluator" and text in ("no", r"\boxed{Incorrect}")
        assert local[0] <= 0.2 or role == "orchestrator" or is_true, (role, local)


@pytest.mark.parametrize("name", SPOKEN)
def test_evaluation_draws_one_candidate_and_counts_the_calls(staged, name):
    workflow = make_workflow(name)
    played = staged(workflow, SUM, said_by(workflow), phase="eval", width=4)
    assert {len(call.candidates) for call in played.calls.values()} == {1}
    assert played.outcome.success and len(played.calls) <= workflow.max_calls(SUM)


def test_a_question_without_compact_words_is_played_in_chat_alone(staged):
    task = Question("q", "2 + 2?", "4")
    workflow = make_workflow("voting", voters=2)
    played = staged(workflow, task, {"voter": ["#### 4"], "aggregator": [r"\boxed{1}"]}, dialect="chat")
    assert played.outcome.success


DOUBLES = "Like this:\n```python\ndef f(x):\n    return 2 * x\n```"


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name in SPOKEN])
def test_programs_are_answers_too(staged, monkeypatch, name):
    """The worth of a program is its tests' (here: by its text); every one of these workflows plays such a task."""
    monkeypatch.setattr(code_running, "worth", lambda task, program: float(program is not None and "2 * x" in program))
    task = CodeTask("t", "Double a number.", "call", (("[1]", "2"),), function="f")
    workflow = make_workflow(name)
    said = {**said_by(workflow), "orchestrator": ["STRATEGY 1: multiply"], "aggregator": [r"\boxed{1}"]}
    solvers = {role: [DOUBLES] for role in ("solver", "generator", "voter", "worker", "synthesizer")}
    played = staged(workflow, task, {**said, **solvers}, dialect="chat")
    assert workflow.fits(task) is None and played.outcome.success
    assert all("defines the function `f`" in played.prompts[role][0] for role in solvers if role in played.prompts)
    wrong = staged(workflow, task, {**said, **{role: ["no program"] for role in solvers}}, dialect="chat")
    assert not wrong.outcome.success


def test_who_plays_what_names_shipped_workflows():
    """`coder_tester`, `tool_planner` and the rest are found by name."""
    assert players(SUM) == ANSWERS
    assert {*ANSWERS} <= {*BUILTIN} and {"single"} == {*GAMES} & {*ANSWERS} & {*PROGRAMS}
