"""Rewards of Plan-Path: hand-computed values, and what no walk can do."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.tasks.plan_path import PlanPath, PlanPathTask, State, walk
from motet.tasks.plan_path_moves import DIRECTIONS, Moves
from motet.tasks.plan_path_rewards import followed, judge_plan, judge_walk, walk_form, walk_team

OPEN = PlanPathTask("open", 10, (), (), 0, 99, 18, 36)
"""An open field: start top left, goal bottom right, 18 moves apart."""

TASKS = [PlanPath().task("train", index) for index in range(40)]


def team(task: PlanPathTask, steps: str) -> float:
    return walk_team(walk(task.start(), Moves(tuple(steps))))


@pytest.mark.parametrize(
    ("steps", "worth"),
    [
        ("RRRRRRRR", Fraction(9, 10)),  # all that a call can gain: 0.9 * 8/8 * (1 + 8/8) / 2
        ("RRRR", Fraction(9, 20)),  # half of it, nothing wasted: 0.9 * 4/8
        ("RRLRRR", Fraction(9, 10) * Fraction(4, 8) * (1 + Fraction(4, 6)) / 2),  # gains 4, spends 6
        ("RRRRU", Fraction(9, 10) * Fraction(4, 8) * (1 + Fraction(4, 5)) / 2),  # the bump is spent as well
        ("", 0),
        ("U", 0),
        ("RL", 0),
        ("RLRLRLRL", 0),
    ],
)
def test_team_of_a_walk_by_hand(steps: str, worth: Fraction) -> None:
    assert team(OPEN, steps) == pytest.approx(float(worth), abs=1e-12)


def test_team_is_relative_to_what_this_call_could_gain() -> None:
    near = PlanPathTask("near", 10, (), (), 0, 3, 3, 6)
    assert team(near, "RR") == pytest.approx(0.9 * 2 / 3)
    assert team(near, "RRR") == 1.0
    assert team(near, "DRRRU") == 1.0  # a detour that arrives has arrived
    assert team(near, "D") == 0.0


def test_with_few_moves_left_the_best_call_is_shorter() -> None:
    state = State(OPEN, 0, moves_left=4)
    assert walk_team(walk(state, Moves(("R",) * 8))) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("steps", "legal", "fresh"),
    [("", 0, 0), ("U", 0, 0), ("RRU", 2 / 3, 2 / 8), ("RLRL", 1, 1 / 8), ("RRRRRRRR", 1, 1), ("RRRR", 1, 4 / 8)],
)
def test_form_by_hand(steps: str, legal: float, fresh: float) -> None:
    assert walk_form(walk(OPEN.start(), Moves(tuple(steps)))) == (legal, fresh)


def test_following_counts_the_common_beginning() -> None:
    plan = walk(OPEN.start(), Moves(tuple("RRDDU")))
    assert followed(plan, walk(OPEN.start(), Moves(tuple("RRDDU")))) == 1.0
    assert followed(plan, walk(OPEN.start(), Moves(tuple("RRRR")))) == 0.4
    assert followed(plan, walk(OPEN.start(), Moves(()))) == 0.0
    assert followed(walk(OPEN.start(), Moves(("U",))), walk(OPEN.start(), Moves(("R",)))) == 0.0


def test_follow_weighs_the_executors_local_reward() -> None:
    plan = Moves(tuple("DDDD"))
    assert judge_walk(OPEN.start(), '["R","R","R","R"]', plan).local == 0.75
    assert judge_walk(OPEN.start(), '["R","R","R","R"]', plan, follow=0.4).local == pytest.approx(0.45)
    assert judge_walk(OPEN.start(), '["D","D","D","D"]', plan, follow=0.4).local == pytest.approx(0.85)


def test_the_planner_is_paid_on_the_true_grid_and_formed_on_its_own_map() -> None:
    # S # G on the true grid; the planner's map has no wall.
    task = PlanPathTask("t", 3, (1,), (), 0, 2, 4, 8)
    blind = judge_plan(task.start(), "c01 c02", walls=())
    assert (blind.team, blind.local) == (0.0, 1.0)
    round_it = judge_plan(task.start(), "c03 c04 c05 c02", walls=())
    assert (round_it.team, round_it.local) == (1.0, 1.0)
    assert (judge_plan(task.start(), "c01 c02").team, judge_plan(task.start(), "c01 c02").local) == (0.0, 0.0)


def test_unreadable_answers_earn_nothing() -> None:
    for judge in (judge_walk, judge_plan):
        reward = judge(OPEN.start(), "sorry")
        assert (reward.team, reward.local, reward.notes.steps) == (0.0, 0.0, ())
        assert reward.notes.failure


def test_each_role_gets_unequal_rewards_from_team_alone_and_from_local_alone() -> None:
    said = ["c01 c02 c03", "c01 c02", "c01 c00 c01", "", "c10 c11 c12 c13 c14"]
    for judge in (judge_walk, judge_plan):
        rewards = [judge(OPEN.start(), text) for text in said]
        assert len({reward.team for reward in rewards}) >= 4
        assert len({reward.local for reward in rewards}) >= 4


def best_steps(state: State) -> tuple[str, ...]:
    """A shortest way, by trying each direction."""
    task, steps, at = state.task, [], state
    while not at.is_over and len(steps) < task.max_moves_per_call:
        ways = [(at.after(Moves((letter,))), letter) for letter in DIRECTIONS]
        at, letter = min(ways, key=lambda way: (task.distance(way[0].cell), way[1]))
        steps.append(letter)
    return tuple(steps)


def optimal_episode(task: PlanPathTask) -> tuple[State, list[float]]:
    state, worths = task.start(), []
    while not state.is_over:
        done = walk(state, Moves(best_steps(state)))
        worths.append(walk_team(done))
        state = done.after
    return state, worths


def test_an_optimal_episode_earns_all_there_is() -> None:
    for task in TASKS:
        end, worths = optimal_episode(task)
        assert (end.progress, worths[-1]) == (1.0, 1.0)
        assert worths[:-1] == pytest.approx([0.9] * (math.ceil(task.optimal / 8) - 1))


CALLS = st.lists(st.lists(st.sampled_from("UDLR"), max_size=12).map(tuple), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(TASKS) - 1), CALLS)
def test_case_11_no_episode_scores_above_an_optimal_one(index: int, calls: list[tuple[str, ...]]) -> None:
    task = TASKS[index]
    _, best = optimal_episode(task)
    state, worths = task.start(), []
    for steps in calls:
        if state.is_over:
            break
        at_best = walk_team(walk(state, Moves(best_steps(state))))
        done = walk(state, Moves(steps))
        worths.append(walk_team(done))
        assert 0.0 <= worths[-1] <= at_best
        assert (worths[-1] == 1.0) == done.after.at_goal
        state = done.after
    assert state.progress <= 1.0
    assert (state.progress == 1.0) == state.at_goal
    assert sum(worths) / len(worths) <= sum(best) / len(best) + 1e-12


def test_case_11_ten_thousand_oscillating_moves_earn_less_than_any_way_to_the_goal() -> None:
    task = TASKS[3]
    step = best_steps(task.start())[0]
    back = {"U": "D", "D": "U", "L": "R", "R": "L"}[step]
    said = "#### [" + ", ".join([step, back] * 5_000) + "]"
    reward = judge_walk(task.start(), said)
    assert len(reward.notes.steps) == 10_000
    assert reward.team == 0.0
    state, earned, calls = task.start(), 0.0, 0
    while not state.is_over:
        done = walk(state, Moves((step, back) * 5_000))
        earned, calls, state = earned + walk_team(done), calls + 1, done.after
    assert (state.at_goal, earned, state.progress) == (False, 0.0, 0.0)
    assert task.max_moves / 8 <= calls < task.max_moves / 8 + 1


def test_case_11_advancing_and_retreating_call_by_call_earns_less_on_average_than_arriving() -> None:
    state, worths = OPEN.start(), []
    for steps in ("RRRRRRRR", "LLLLLLLL") * 2:
        done = walk(state, Moves(tuple(steps)))
        worths.append(walk_team(done))
        state = done.after
    assert worths == pytest.approx([0.9, 0.0, 0.9, 0.0])
    assert sum(optimal_episode(OPEN)[1]) / 3 == pytest.approx((0.9 + 0.9 + 1.0) / 3)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(TASKS) - 1), st.lists(st.integers(-3, 130), max_size=12))
def test_every_walk_has_rewards_in_range(index: int, cells: list[int]) -> None:
    state = TASKS[index].start()
    done = walk(state, Moves(tuple(cells)))
    legal, fresh = walk_form(done)
    assert 0 <= legal <= 1
    assert 0 <= fresh <= 1
    assert 0 <= followed(done, walk(state, Moves(("U",)))) <= 1
    assert done.after.moves_left == state.moves_left - done.attempted >= 0
