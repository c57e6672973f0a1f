"""Settings of a workflow, what fits it, and how it is found."""

from __future__ import annotations

from typing import ClassVar

import pytest

from motet.errors import ConfigError, WorkflowError
from motet.tasks.jsonl import Question
from motet.tasks.plan_path import PlanPath
from motet.workflows.base import Workflow, find_workflow
from motet.workflows.planner_executor import PlannerExecutor


class Voters(Workflow):
    roles: ClassVar = {"voter": 3}
    rounds: int = 2
    note: ClassVar[str] = "no setting"
    _hidden: int = 0


class MoreVoters(Voters):
    quorum: float = 0.5


def test_settings_are_the_annotated_attributes_of_all_classes() -> None:
    assert Voters().settings == {"rounds": 2}
    assert MoreVoters(rounds=5).settings == {"rounds": 5, "quorum": 0.5}
    assert Voters.rounds == 2


@pytest.mark.parametrize("name", ["roles", "note", "_hidden", "run"])
def test_what_is_no_setting_cannot_be_set(name: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown setting '{name}'"):
        Voters(**{name: 1})


def test_a_setting_without_default_is_refused() -> None:
    class Bare(Workflow):
        depth: int

    with pytest.raises(WorkflowError, match="setting 'depth' has no default"):
        Bare()


def test_a_task_that_does_not_fit_is_told_what_would() -> None:
    workflow = PlannerExecutor()
    assert workflow.fits(PlanPath().task("train", 0)) is None
    refused = workflow.fits(Question("q", "?", "!"))
    assert refused.startswith("PlannerExecutor plays tasks that are Game; Question is not; take single, reasoner_tool,")


def test_case_18_workflows_are_found_by_name_with_the_nearest_name_in_the_error() -> None:
    assert find_workflow("planner_executor") is PlannerExecutor
    assert find_workflow("motet.workflows.planner_executor:PlannerExecutor") is PlannerExecutor
    with pytest.raises(ConfigError, match=r"no workflow called 'planer_executor'.*did you mean 'planner_executor'"):
        find_workflow("planer_executor")


@pytest.mark.parametrize("settings", [{"view": "stale"}, {"follow": 1.5}, {"follow": "much"}, {"view": 3}])
def test_a_value_out_of_range_is_refused(settings: dict) -> None:
    with pytest.raises(ConfigError):
        PlannerExecutor(**settings)
