"""Planner and executor: who sees what, and where the next turn starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from motet.tasks.plan_path import PlanPath, PlanPathTask
from motet.tasks.plan_path_moves import parse_moves
from motet.testing.check_workflow import check_workflow
from motet.types import Outcome, Prompt
from motet.workflows.planner_executor import PlannerExecutor
from motet.workflows.single import Single

# S . .        0 1 2
# # # .        3 4 5
# G . .        6 7 8
CORNER = PlanPathTask("corner", 3, (3, 4), (3,), 0, 6, 6, 12)


class FakeCast:
    """Answers from one list per role and keeps what each role was shown."""

    def __init__(self, workflow: Any, answers: dict[str, list[str]]) -> None:
        self.workflow, self.answers = workflow, {role: iter(texts) for role, texts in answers.items()}
        self.prompts: list[Prompt] = []
        self.rewards: list[Any] = []

    def __getattr__(self, role: str) -> Any:
        async def act(prompt: Prompt, score: Callable[[str], Any]) -> Any:
            text = next(self.answers[role])
            self.prompts.append(prompt)
            self.rewards.append(score(text))
            return SimpleNamespace(text=text, notes=self.rewards[-1].notes)

        return SimpleNamespace(act=act)

    def compact(self) -> list[str]:
        return [str(self.workflow.prompts[p.name]["compact"](p.values)) for p in self.prompts]

    def chat(self) -> list[str]:
        return [
            "\n".join(str(m.content) for m in self.workflow.prompts[p.name]["chat"](p.values)) for p in self.prompts
        ]


def play(task: PlanPathTask, answers: dict[str, list[str]], workflow: Any = None) -> tuple[Outcome, FakeCast]:
    workflow = workflow or PlannerExecutor()
    cast = FakeCast(workflow, answers)
    return asyncio.run(workflow.run(task, cast)), cast


TWO_TURNS = {"planner": ["c1 c2", "c5 c8"], "executor": ["c1 c4", "c2 c5 c8 c7 c6"]}


def test_case_12_the_second_turn_shows_the_current_position_and_the_remaining_budget() -> None:
    outcome, cast = play(CORNER, TWO_TURNS)
    assert cast.compact() == [
        "g6 x3 x4 planner none n12 c0",
        "g6 x3 x4 executor none n12 c1 c2 _ _ _ _ _ _ c0",
        "g6 x3 x4 planner bump n10 c1",
        "g6 x3 x4 executor bump n10 c5 c8 _ _ _ _ _ _ c1",
    ]
    assert outcome == Outcome(True, 1.0, {"moves": 7})


def test_case_12_the_chat_prompt_shows_them_as_well() -> None:
    _, cast = play(CORNER, TWO_TURNS)
    replan = cast.chat()[2]
    assert ". @ .\n# # .\nG . ." in replan
    assert "You are at (0, 1). The goal is at (2, 0)." in replan
    assert "Moves left: 10." in replan
    assert "Walked so far: (0, 1)." in replan
    assert "The last walk ended at an illegal move." in replan
    assert "The planner proposes to enter: (1, 2), (2, 2)." in cast.chat()[3]


def test_case_03_the_executor_sees_the_proposal_of_the_same_turn_in_either_dialect() -> None:
    _, words = play(CORNER, {"planner": ['#### ["R", "R", "D"]'], "executor": ["c1 c2 c5 c8 c7 c6"]})
    assert words.compact()[1].endswith(" n12 c1 c2 c5 _ _ _ _ _ c0")


def test_the_episode_ends_at_the_goal_out_of_moves_or_after_the_last_turn() -> None:
    arrived, cast = play(CORNER, {"planner": ["c1"], "executor": ["c1 c2 c5 c8 c7 c6"]})
    assert (arrived.success, len(cast.prompts)) == (True, 2)
    tight = replace(CORNER, max_moves=2)
    spent, cast = play(tight, {"planner": ["c1"], "executor": ["c1 c0 c1"]})
    assert (spent.success, spent.metrics["moves"], len(cast.prompts)) == (False, 2, 2)
    idle, cast = play(CORNER, {"planner": ["c1"] * 4, "executor": [""] * 4})
    assert (idle.success, idle.team, len(cast.prompts)) == (False, 0.0, 8)


def test_the_stale_view_shows_each_role_its_half() -> None:
    workflow = PlannerExecutor(view="stale_map")
    outcome, cast = play(CORNER, TWO_TURNS, workflow)
    assert cast.compact() == [
        "g6 x3 _ planner none n12 c0",  # wall 4 is not on the old map
        "_ x3 x4 executor none n12 c1 c2 _ _ _ _ _ _ c0",  # the executor has no goal
        "g6 x3 _ planner bump n10 c1",  # which wall it was stays unknown
        "_ x3 x4 executor bump n10 c5 c8 _ _ _ _ _ _ c1",
    ]
    assert outcome.success
    assert all("G" not in text.split("Legend")[0] and "goal" not in text for text in cast.chat()[1::2])


def test_the_stale_planner_is_formed_on_its_map_and_paid_on_the_true_grid() -> None:
    _, cast = play(
        CORNER, {"planner": ["c1 c4", "c1"], "executor": ["c1 c2 c5 c8 c7 c6"]}, PlannerExecutor(view="stale_map")
    )
    assert cast.rewards[0].parts["legal"] == 1.0
    assert cast.rewards[0].team == pytest.approx(0.9 * (1 / 6) * (1 + 1 / 2) / 2)


def test_follow_reaches_the_executors_score() -> None:
    answers = {"planner": ["c1 c2"], "executor": ["c1 c2 c5 c8 c7 c6"]}
    _, cast = play(CORNER, answers, PlannerExecutor(follow=1.0))
    assert cast.rewards[1].local == 1.0
    _, cast = play(CORNER, {"planner": [""], "executor": ["c1 c2 c5 c8 c7 c6"]}, PlannerExecutor(follow=1.0))
    assert cast.rewards[1].local == 0.0


def test_prompts_hold_nothing_computed_by_a_search() -> None:
    """Same grid, position, budget and history but another optimum and other distances: the same prompts."""
    task = PlanPath().task("test", 4)
    for dialect in ("compact", "chat"):
        shown = []
        for optimal in (task.optimal, 99):
            _, cast = play(replace(task, optimal=optimal, id="x"), {"planner": [""] * 4, "executor": [""] * 4})
            shown.append(cast.compact() if dialect == "compact" else cast.chat())
        assert shown[0] == shown[1]


def test_prompts_are_made_without_the_search(monkeypatch) -> None:
    _, cast = play(PlanPath().task("test", 4), {"planner": ["c11"] * 4, "executor": [""] * 4})

    def refuse(*_: Any) -> Any:
        raise AssertionError("a prompt asked for a distance")

    monkeypatch.setattr(PlanPathTask, "distance", refuse)
    monkeypatch.setattr("motet.tasks.plan_path.distances", refuse)
    assert len(cast.compact()) == len(cast.chat()) == 8


def test_the_stable_part_of_a_prompt_comes_first() -> None:
    _, cast = play(CORNER, TWO_TURNS)
    assert {text.split(" planner")[0].split(" executor")[0] for text in cast.compact()} == {"g6 x3 x4"}


def test_the_plan_is_shown_as_it_was_said_even_through_walls() -> None:
    _, cast = play(CORNER, {"planner": ["c3 c6 c99"], "executor": ["c1 c2 c5 c8 c7 c6"]})
    assert cast.compact()[1].endswith(" n12 c3 c6 _ _ _ _ _ _ c0")


def test_one_role_alone_plays_by_the_same_budget() -> None:
    outcome, cast = play(CORNER, {"solver": ["c1 c4", "c2 c5 c8 c7 c6"]}, Single(called="planner"))
    assert cast.compact() == [
        "g6 x3 x4 planner none n12 c0",
        "g6 x3 x4 planner bump n10 c1",
    ]
    assert outcome == Outcome(True, 1.0, {"moves": 7})
    assert "planner" not in cast.chat()[0]


def test_the_example_in_the_chat_prompt_is_read_as_moves_and_leads_nowhere_by_itself() -> None:
    _, cast = play(CORNER, {"planner": [""] * 4, "executor": [""] * 4})
    assert parse_moves(cast.chat()[0]).steps == ("U", "R", "R")


@pytest.mark.parametrize("workflow", [PlannerExecutor(), PlannerExecutor(view="stale_map", follow=0.5), Single()])
def test_the_shipped_workflows_pass_the_check_that_is_shipped_for_ones_own(workflow: Any) -> None:
    good = ("c11 c12", '#### ["R", "D"]', "c23 c24 c25")
    passed = check_workflow(workflow, PlanPath(hidden_walls=0.3).task("train", 1), texts=good)
    assert passed == ["fits", "dialects", "plays", "worth", "pure", "replay", "evaluation"]
