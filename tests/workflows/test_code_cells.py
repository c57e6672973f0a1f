"""Every workflow that plays code plays it through the contract of tasks with an answer, and the sandbox judges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from motet.build import prepare
from motet.config import load, parse_yaml
from motet.errors import ConfigError, SandboxError
from motet.sandbox import Limits, configure, shared
from motet.sandbox import sandbox as machinery
from motet.tasks.code_tasks import CodeTask
from motet.workflows.base import make_workflow

TESTS = (("[1]", "2"), ("[3]", "6"), ("[0]", "0"), ("[5]", "10"))
DOUBLE = CodeTask(
    "double", "Double x.", "call", TESTS, 2, "f",
    reference="def f(x):\n    return x * 2\n", words="n1 = n2 ; n3 = n6 ;",
)  # fmt: skip
RIGHT, WRONG, BAD = "x * n2", "x + n5", "x +"


@pytest.fixture(autouse=True, scope="module")
def _sandbox() -> Iterator[None]:
    try:
        configure()
    except SandboxError as problem:
        pytest.skip(problem.what)
    yield
    configure()


CELLS = [
    ("single", {"solver": [RIGHT]}, 1.0),
    ("single", {"solver": [WRONG]}, 0.25),
    ("evaluator_optimizer", {"generator": [WRONG, RIGHT], "evaluator": ["no", "yes"]}, 1.0),
    ("evaluator_optimizer", {"generator": [WRONG, RIGHT], "evaluator": ["yes"]}, 0.25),
    ("voting", {"voter": [WRONG, RIGHT, BAD], "aggregator": ["2"]}, 1.0),
    ("voting", {"voter": [WRONG, RIGHT, BAD], "aggregator": ["3"]}, 0.0),
    ("voting_majority", {"voter": [WRONG, RIGHT, "( x * n2 )"]}, 1.0),
    ("orchestrator_workers", {"orchestrator": ["way 1"], "worker": [WRONG], "synthesizer": [RIGHT]}, 1.0),
    ("orchestrator_workers", {"orchestrator": ["way 1"], "worker": [RIGHT], "synthesizer": [WRONG]}, 0.25),
]


@pytest.mark.parametrize(("name", "said", "team"), CELLS)
def test_the_worth_of_the_program_that_counts_is_the_outcome(staged, name, said, team):
    played = staged(make_workflow(name), DOUBLE, said)
    assert (played.outcome.success, played.outcome.team) == (team == 1.0, team)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("single", {"solver": [[RIGHT, WRONG]]}),
        ("evaluator_optimizer", {"generator": [[RIGHT, WRONG]], "evaluator": [["yes", "no"]]}),
        ("voting", {"voter": [[RIGHT, WRONG], [WRONG, BAD], [BAD, RIGHT]], "aggregator": [["1", "2", "3"]]}),
        ("voting_majority", {"voter": [[RIGHT, WRONG], [BAD], [BAD]]}),
    ],
)
def test_every_role_has_an_unequal_group_at_alpha_0_and_at_alpha_1(staged, unequal, name, said):
    played = staged(make_workflow(name), DOUBLE, said, width=3 if name == "voting" else 2)
    assert all(min(counts) >= 1 for counts in unequal(played.episodes).values())


def test_the_generator_has_two_rounds_at_code_and_sees_its_program_and_the_verdict(staged):
    said = {"generator": [WRONG, RIGHT, RIGHT], "evaluator": ["no"]}
    played = staged(make_workflow("evaluator_optimizer"), DOUBLE, said)
    assert played.prompts["generator"][1] == f"{DOUBLE.words} generator {WRONG} evaluator no generator "
    assert len(played.prompts["generator"]) == 2


RECIPE = "tasks:\n- name: {task}\nworkflow:\n  name: {workflow}\n{more}"


def prepared(task="mini_code", workflow="coder_tester", more=""):
    return prepare(load(parse_yaml(RECIPE.format(task=task, workflow=workflow, more=more), "mine.yaml")))


def test_a_recipe_chooses_the_sandbox_and_its_limits():
    prepared(more="sandbox: {wall_s: 3, cpu_s: 2, memory_mb: 128, parallel: 1}\n")
    assert shared().limits == Limits(wall_s=3, cpu_s=2, memory_mb=128) and shared().parallel == 1
    assert shared().backend in ("bubblewrap", "namespaces")
    prepared()
    assert shared().limits == Limits()


def test_a_recipe_that_runs_programs_is_refused_where_no_wall_works_unless_none_is_said(monkeypatch):
    monkeypatch.setattr(machinery, "_shared", {})
    monkeypatch.setattr("motet.sandbox.backends.unavailable", lambda name: None if name == "none" else "not here")
    before = machinery._chosen
    with pytest.raises(ConfigError, match=r"this recipe runs programs, and no sandbox works here .*not here") as caught:
        prepared()
    assert "sandbox.backend=none" in str(caught.value) and machinery._chosen == before
    prepared(task="plan_path", workflow="planner_executor")  # runs none
    prepared(more="sandbox: {backend: none}\n")
    assert shared().backend == "none"
    shared().close()


@pytest.mark.parametrize("text", ["backend: docker", "wall_s: 0", "memory_mb: 1", "parallel: -1", "cpu: 3"])
def test_a_wrong_setting_of_the_sandbox_is_refused_with_its_line(text):
    with pytest.raises(ConfigError, match=r"line=mine.yaml line 5"):
        prepared(more=f"sandbox: {{{text}}}\n")
