from __future__ import annotations

import io

from rich.console import Console

from motet.engines.scripted import ScriptedEngine
from motet.play import LEGEND, play
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.settings import RolloutSettings
from motet.tasks.plan_path import PlanPathTask
from motet.workflows.planner_executor import PlannerExecutor


def test_one_episode_is_drawn_turn_by_turn_and_what_was_said_is_no_markup():
    answers = iter(["c1 [red]c2", "c1 c4", "", "c2 c5 c8"])
    task = PlanPathTask("grid", 3, (4,), (4,), 0, 8, 4, 8)
    cast = Cast.per_role(PlannerExecutor.roles, PolicySpec("p", engine="scripted"))
    engines = {"scripted": ScriptedEngine(lambda *_: next(answers))}
    out = io.StringIO()
    episode = play(
        PlannerExecutor(),
        ("plan_path", task, 0),
        cast,
        engines,
        RolloutSettings(),
        console=Console(file=out, width=130),
    )
    assert episode.outcome.success
    assert out.getvalue().splitlines() == [
        "plan_path grid",
        LEGEND,
        "",
        "turn 1: 1 step, then an illegal move, 6 moves left",
        "planner: c1 [red]c2",
        "executor: c1 c4",
        "S @ .",
        ". x .",
        ". . G",
        "",
        "turn 2: 3 steps, at the goal",
        "planner: (nothing)",
        "executor: c2 c5 c8",
        "S * *",
        ". # *",
        ". . @",
        "",
        "solved",
    ]
