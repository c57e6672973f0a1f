from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import ConfigError
from motet.evaluate.casting import recast, swap
from motet.evaluate.evaluator import evaluate, play_tasks, repeat
from motet.evaluate.final import Side, final_evaluation, walker_lines
from motet.evaluate.result import BestOf
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.settings import RolloutSettings
from motet.tasks.plan_path import PlanPath
from motet.tasks.plan_path_grid import neighbours
from motet.types import Outcome
from motet.workflows.base import Workflow
from motet.workflows.planner_executor import PlannerExecutor


def line(table, name, decoding="sampled", checkpoint="final"):
    (found,) = [
        one for one in table.evaluations if (one.name, one.decoding, one.checkpoint) == (name, decoding, checkpoint)
    ]
    return found


def test_every_line_of_the_table_has_its_hand_computed_success_tokens_and_calls(side, casts):
    """Four tasks; an answer of one digit is two tokens (digit and end), an empty one is one token."""
    table = final_evaluation(side, casts)
    expected = {
        "team": (1.0, 4 * 4, 4 * 2),  # planner 2 tokens, executor 2, solved in the first round
        "planner_alone": (1.0, 4 * 2, 4 * 1),  # the executor's place repeats the plan and asks no model
        "executor_alone": (0.0, 4 * 2, 4 * 2),  # an empty plan in both rounds, answered by the end token alone
        "single": (1.0, 4 * 2, 4 * 1),
        "shuffled_plans": (0.0, 4 * 3, 4 * 2),  # repeats a wrong digit, then an empty plan: no other team spoke twice
        "base_planner": (0.0, 4 * 8, 4 * 4),  # plan "0", repeated, in both rounds
        "swapped": (0.0, 4 * 4, 4 * 4),  # neither understands the other's prompt: four end tokens
    }
    for decoding in ("sampled", "greedy"):
        found = {name: line(table, name, decoding) for name in expected}
        assert {name: (one.success, one.tokens, one.calls) for name, one in found.items()} == expected


def test_the_base_stands_in_the_same_table_without_a_base_planner_line(side, casts):
    table = final_evaluation(side, casts)
    base = [one.name for one in table.evaluations if (one.checkpoint, one.decoding) == ("base", "greedy")]
    assert base == ["team", "planner_alone", "executor_alone", "single", "shuffled_plans", "swapped"]
    assert line(table, "team", checkpoint="base").success == 0.0
    assert set(table.episodes) == {(c, d) for c in ("base", "final") for d in ("sampled", "greedy")}


def test_case_24_swapped_single_and_mixed_checkpoints_are_one_flag_each_beside_the_normal_result(side, casts):
    team = evaluate(side.workflow, side.tasks, casts["final"], side.engines, side.settings, decoding="greedy")
    mixed = recast(casts["final"], {"planner": (casts["base"], "planner")})
    old = evaluate(
        side.workflow, side.tasks, mixed, side.engines, side.settings, decoding="greedy", name="base_planner"
    )
    swapped = swap(casts["final"], [("planner", "executor")])
    other = evaluate(side.workflow, side.tasks, swapped, side.engines, side.settings, decoding="greedy", name="swapped")
    assert [team.success, old.success, other.success] == [1.0, 0.0, 0.0]


def test_case_29_the_single_agent_gets_as_many_tries_as_the_team_has_tokens(side, casts):
    """Team 4 tokens per task, planner alone 2: two tries. Greedy decoding has no second try to offer."""
    table = final_evaluation(side, casts)
    sampled, greedy = line(table, "single"), line(table, "single", "greedy")
    assert sampled.role == "planner" and greedy.best_of is None
    assert sampled.best_of == BestOf(2, 1.0, sampled.low, 1.0, tokens=4 * 2 * 2, calls=4 * 2)
    assert sampled.num_tasks == 4 and 0 < sampled.low < sampled.success <= sampled.high


def test_best_of_n_counts_any_try_and_tries_are_independent(side, casts):
    def guess(policy, prompt, index, uniform):
        return str(1 + int(4 * uniform))

    engines = {"scripted": ScriptedEngine(guess)}
    tries = repeat(side.workflow, side.tasks, casts["final"], engines, side.settings, num_tries=8)
    said = [[episode.calls[0].text for episode in one] for one in tries]
    assert len({tuple(one) for one in said}) == 8
    again = repeat(side.workflow, side.tasks, casts["final"], engines, side.settings, num_tries=8, first=tries[0])
    assert again == tries


def test_only_the_wanted_lines_are_played(side, casts):
    table = final_evaluation(replace(side, variants=("team", "swapped")), casts, decodings=["greedy"])
    assert [(one.name, one.checkpoint) for one in table.evaluations] == [
        ("team", "base"),
        ("swapped", "base"),
        ("team", "final"),
        ("swapped", "final"),
    ]


def test_progress_hears_every_line_in_order(side, casts):
    heard = []
    table = final_evaluation(side, casts, progress=heard.append)
    assert heard == table.evaluations


def test_evaluation_is_the_same_twice_and_does_not_depend_on_max_parallel(side, casts):
    def noisy(policy, prompt, index, uniform):
        return str(int(10 * uniform))

    engines = {"scripted": ScriptedEngine(noisy)}
    runs = [
        play_tasks(
            side.workflow, side.tasks, casts["final"], engines, RolloutSettings(max_parallel=n), decoding="sampled"
        )
        for n in (1, 64)
    ]
    assert runs[0] == runs[1]
    assert all(len(call.candidates) == 1 for episode in runs[0] for call in episode.calls)


def test_a_workflow_without_planner_gets_team_single_and_swapped_only(side):
    class Pair(Workflow):
        roles = {"asker": 1, "knower": 1}

        async def run(self, task, cast):
            asked = await cast.asker.act("ask")
            told = await cast.knower.act(f"{asked.text} {task.digit}")
            return Outcome(told.text == task.digit, 0.0)

    def talk(policy, prompt, index, uniform):
        return prompt[-1] if policy == "knower" else "q"

    cast = Cast.per_role(Pair.roles, PolicySpec("p", engine="scripted"))
    pair = Side(Pair(), side.tasks, {"scripted": ScriptedEngine(talk)}, RolloutSettings())
    table = final_evaluation(pair, {"final": cast}, decodings=["greedy"])
    assert [(one.name, one.success, one.role) for one in table.evaluations] == [
        ("team", 1.0, None),
        ("single", 1.0, "knower"),  # the knower in both places solves it, the asker in both does not
        ("swapped", 0.0, None),
    ]


def test_no_cast_or_no_task_is_refused(side, casts):
    with pytest.raises(ConfigError, match="at least one checkpoint and one task"):
        final_evaluation(side, {})
    with pytest.raises(ConfigError, match="at least one checkpoint and one task"):
        final_evaluation(replace(side, tasks=[]), casts)


def test_two_checkpoints_that_share_a_policy_name_are_refused(side, casts):
    with pytest.raises(ConfigError, match=r"base and final share the policy 'planner'.*planner@base"):
        final_evaluation(side, {"base": casts["final"], "final": casts["final"]})


@dataclass(frozen=True)
class NoGrid:
    id: str


def test_walkers_stand_beside_the_models_on_grids_and_nowhere_else():
    tasks = [("plan_path", PlanPath().task("test", index), 0) for index in range(20)]
    found = {one.name: one for one in walker_lines(tasks)}
    assert list(found) == ["walker_random", "walker_greedy", "walker_greedy_with_memory", "walker_shortest"]
    assert found["walker_shortest"].success == 1.0 and found["walker_shortest"].team_reward == 1.0
    assert {(one.tokens, one.calls, one.checkpoint) for one in found.values()} == {(0, 0, "base")}
    assert walker_lines([("x", NoGrid("a"), 0)]) == []


def shortest_path(task) -> str:
    """The moves of a shortest path, as the list of directions that an answer may end with."""
    names, cell = {1: "R", -1: "L", task.size: "D", -task.size: "U"}, task.start_cell
    moves = []
    while cell != task.goal:
        cells = [near for near in neighbours(cell, task.size) if near not in task.walls]
        best = min(cells, key=task.distance)
        moves.append(names[best - cell])
        cell = best
    return f"#### {json.dumps(moves)}"


def test_planner_alone_walks_its_proposal_on_plan_path():
    """A planner that knows the way and an executor that says nothing: the team fails, the planner alone does not."""
    tasks = (PlanPath().task("test", index) for index in range(100))
    task = next(one for one in tasks if one.optimal == 8)  # one answer holds the whole path

    def guide(policy, prompt, index, uniform):
        return shortest_path(task) if policy == "planner" else "no idea"

    cast = Cast.per_role(PlannerExecutor.roles, PolicySpec("p", engine="scripted"))
    grid = Side(PlannerExecutor(), [("plan_path", task, 0)], {"scripted": ScriptedEngine(guide)}, RolloutSettings())
    table = final_evaluation(grid, {"final": cast}, decodings=["greedy"])
    assert {one.name: one.success for one in table.evaluations if "walker" not in one.name} == {
        "team": 0.0,
        "planner_alone": 1.0,
        "executor_alone": 0.0,
        "single": 1.0,
        "swapped": 1.0,  # the one who knows the way now moves
    }
