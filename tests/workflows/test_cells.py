"""Which workflow plays which kind of task: the table of docs/workflows.md, and what is refused outside it."""

import re
from pathlib import Path

import pytest

from motet.build import prepare
from motet.config import load
from motet.errors import ConfigError
from motet.matrix import KINDS, cells
from motet.tasks.base import make_task_set
from motet.workflows.base import BUILTIN, make_workflow
from motet.workflows.fitting import players

PAGE = Path(__file__).parents[2] / "docs" / "workflows.md"
TASK_SETS = [name for sets, _ in KINDS.values() for name in sets]
INSIDE = {(cell.tasks, cell.workflow) for cell in cells()}
BESIDE = {("mini_code", "debate"), ("mini_code", "voting_majority")}
"""Not recommended for programs, and yet they play them: a program is an answer that can be checked."""
OUTSIDE = sorted({(tasks, workflow) for tasks in TASK_SETS for workflow in BUILTIN} - INSIDE - BESIDE)


@pytest.fixture(scope="module")
def first_task():
    return {name: make_task_set(name).task("train", 0) for name in TASK_SETS}


def test_the_cells_are_those_of_the_documentation():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    table = [re.findall(r"`(\w+)`", line.split("|")[3]) for line in lines[:3]]
    assert table == [list(workflows) for _, workflows in KINDS.values()]


@pytest.mark.parametrize(("tasks", "workflow"), sorted(INSIDE | BESIDE))
def test_a_cell_of_the_table_fits(first_task, tasks, workflow):
    assert make_workflow(workflow).fits(first_task[tasks]) is None


@pytest.mark.parametrize(("tasks", "workflow"), OUTSIDE)
def test_a_pair_outside_the_table_is_refused_before_a_model_loads_with_what_would_fit(first_task, tasks, workflow):
    recipe = {"tasks": [{"name": tasks}], "workflow": {"name": workflow}, "model": "no such model"}
    with pytest.raises(ConfigError) as caught:
        prepare(load(recipe))
    for name in players(first_task[tasks]):
        assert re.search(rf"\b{name}\b", caught.value.what)
    assert caught.value.where["task_set"] == tasks


def test_every_built_in_workflow_plays_something():
    assert {workflow for _, workflow in INSIDE} >= set(BUILTIN)
