"""Sokoban: every puzzle solvable, the limit a failure, rewards by hand, and no walk above an optimal one."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import ConfigError, TaskError
from motet.tasks.games import Game
from motet.tasks.games import Position as GamePosition
from motet.tasks.plan_path_moves import Moves
from motet.tasks.sokoban import Position, Sokoban, SokobanTask, split_of, walk
from motet.tasks.sokoban_demonstrators import PERFECT, RANDOM, WRONG, answer, solve
from motet.tasks.sokoban_moves import parse_pushes
from motet.tasks.sokoban_rewards import judge_walk, walk_form
from motet.tasks.sokoban_rooms import shortest
from motet.testing.check_task import check_task

LINE = SokobanTask("line", 6, (), (5,), 0, (1,), 4, 8)
"""An empty room: box beside the player, target at the end of the row, four pushes to the right."""

TASKS = [Sokoban().task("train", index) for index in range(25)]


@pytest.mark.parametrize("opts", [{}, {"boxes": 2, "min_pushes": 3}, {"size": 8, "boxes": 1, "max_optimal": 16}])
def test_case_09_every_puzzle_is_solved_by_an_independent_search_in_as_many_moves(opts: dict) -> None:
    for split in Sokoban.splits:
        for index in range(5):
            task = Sokoban(**opts).task(split, index)
            forward = shortest(task.room, task.start().stand)
            assert forward is not None and len(forward) == task.optimal == len(solve(task).steps)
            position = task.start()
            for first in range(0, task.optimal, task.max_moves_per_call):
                position = position.after(Moves(solve(task).steps[first : first + task.max_moves_per_call]))
            assert position.at_goal and position.num_moves == task.optimal
            assert split_of(task.room, task.start().stand) == split


def test_the_settings_of_difficulty_hold() -> None:
    for index in range(4):
        task = Sokoban(boxes=3, min_pushes=4, max_optimal=20, walls=0.1).task("train", index)
        assert (len(task.boxes), len(task.targets), len(task.walls)) == (3, 3, 4)
        assert 4 <= task.optimal <= 20 and task.max_moves == 2 * task.optimal
        pushes, stand = 0, task.start()
        for letter in solve(task).steps:
            after = stand.after(Moves((letter,)))
            pushes += after.boxes != stand.boxes
            stand = after
        assert pushes >= 4
        assert not set(task.walls) & {*task.boxes, *task.targets, task.player}
        assert len({*task.boxes, task.player}) == 4


def test_case_09_no_two_splits_share_a_start() -> None:
    starts = {
        split: {(t.walls, t.targets, t.boxes, t.player) for t in (Sokoban().task(split, i) for i in range(20))}
        for split in Sokoban.splits
    }
    assert not starts["train"] & starts["validation"] and not starts["train"] & starts["test"]
    assert not starts["validation"] & starts["test"]


def test_case_10_the_move_limit_is_a_failure() -> None:
    position = LINE.start()
    for _ in range(4):
        position = position.after(Moves(("D", "U")))
    assert (position.is_over, position.at_goal, position.moves_left) == (True, False, 0)
    assert position.progress == 0.0
    assert position.after(Moves(("R",))) == dataclasses.replace(position, last="empty")


def test_case_12_a_later_prompt_shows_where_everything_stands_and_what_is_left() -> None:
    position = LINE.start().after(Moves(("R", "R", "U")))
    shown = position.show("compact")
    assert (shown.stable, shown.now, shown.here) == ("g05", "bump n5 box c03", "c02")
    chat = position.show("chat").now
    assert chat.startswith(". . @ B . T\n")
    assert "You are at (0, 2).\nBoxes: (0, 3). Targets: (0, 5).\nMoves left: 5.\nWalked so far: (0, 1), (0, 2)." in chat
    assert "The last walk ended at an illegal move." in chat


@pytest.mark.parametrize(
    ("letters", "team", "local"),
    [
        ("RRRR", 1.0, 1.0),
        ("RRRRU", 1.0, 1.0),  # what comes after the last push is not made
        ("RR", 0.9 * 2 / 4, (1 + 2 / 8) / 2),
        ("RRL", 0.9 * 1 / 4 * (1 + 1 / 3) / 2, (1 + 3 / 8) / 2),
        ("RRU", 0.9 * 2 / 4 * (1 + 2 / 3) / 2, (2 / 3 + 2 / 8) / 2),
        ("DU", 0.0, (1 + 1 / 8) / 2),
        ("U", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_rewards_by_hand(letters: str, team: float, local: float) -> None:
    reward = judge_walk(LINE.start(), " ".join(letters))
    assert (reward.team, reward.local) == (pytest.approx(team), pytest.approx(local))


def test_a_box_that_is_stuck_for_good_loses_the_puzzle_and_halves_the_form() -> None:
    task = SokobanTask("t", 6, (), (15,), 19, (13,), 8, 16)  # the box is above the player
    stuck = walk(task.start(), Moves(("U", "U")))  # pushed to the upper edge, off the target's row for good
    assert stuck.after.boxes == (1,)
    assert walk_form(stuck) == (1.0, 2 / 8, 0.5)
    assert judge_walk(task.start(), "U U").team == 0.0
    assert stuck.after.progress == 0.0 and not stuck.after.is_over
    assert walk_form(walk(stuck.after, Moves(("L",))))[2] == 1.0  # what was stuck before is nobody's fault now


def test_follow_pays_for_the_common_beginning() -> None:
    plan = Moves(("R", "R", "R", "R"))
    assert judge_walk(LINE.start(), "R R D", plan, follow=1.0).local == 0.5
    assert judge_walk(LINE.start(), "D", plan, follow=1.0).local == 0.0


def best_mean(task: SokobanTask) -> float:
    """The mean team reward of the calls of an optimal episode."""
    calls = -(-task.optimal // task.max_moves_per_call)
    return (0.9 * (calls - 1) + 1.0) / calls


@settings(deadline=None, max_examples=120)
@given(st.integers(0, len(TASKS) - 1), st.integers(0, 10**6))
def test_case_11_no_walk_or_episode_beats_an_optimal_one(index: int, seed: int) -> None:
    task, rng = TASKS[index], random.Random(seed)
    position, teams = task.start(), []
    for _ in range(task.max_turns):
        kind = (PERFECT, WRONG, RANDOM, RANDOM)[int(rng.random() * 4)]
        words = answer(position, kind, rng).split()
        text = " ".join(words[: int(rng.random() * 9)])
        reward = judge_walk(position, text)
        perfect = judge_walk(position, answer(position, PERFECT, rng))
        assert reward.team is not None and perfect.team is not None
        assert reward.team <= perfect.team or (reward.team == 0.0 == perfect.team)
        position = position.after(reward.notes)
        teams.append(reward.team)
        assert (reward.team == 1.0) == position.at_goal == (position.progress == 1.0)
        if position.is_over:
            break
    assert sum(teams) / len(teams) <= best_mean(task) + 1e-12
    assert position.num_moves <= task.max_moves


def test_case_11_pushing_back_and_forth_earns_nothing_in_the_end() -> None:
    position = LINE.start()
    there = judge_walk(position, "R D R R U L")  # pushed once, walked round, pushed back against it
    assert there.team == 0.0


def test_typical_candidates_differ_at_either_end_of_alpha() -> None:
    for task in TASKS:
        rng = random.Random(task.id)
        rewards = [judge_walk(task.start(), answer(task.start(), k, rng)) for k in (PERFECT, WRONG, RANDOM, RANDOM)]
        assert len({reward.team for reward in rewards}) > 1
        assert len({reward.local for reward in rewards}) > 1


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("R D", Moves(("R", "D"))),
        ("c01 c02", Moves((1, 2))),
        ("c15 D c10", Moves((11, "D", 6))),
        ("c06", Moves((), "c06 is off the grid")),
        ("c1", Moves((), "'c1' is no move, and there is no list of moves")),
        ("R x", Moves(("R",), "'x' is no move")),
        ("r d", Moves((), "'r' is no move, and there is no list of moves")),
        ('#### ["R", "D"]', Moves(("R", "D"))),
        ("#### ['r', 'down']", Moves(("R", "D"))),
        ("#### [R, D] and then we will see", Moves(("R", "D"))),
        ('```json\n["R", "D"]\n```', Moves(("R", "D"))),
        ('["L"] or rather ["R", "D"]', Moves(("R", "D"))),
        ("#### []", Moves((), "the list of moves is empty")),
        ("#### right", Moves((), "no list of moves after ####")),
        ("#### [[1,2,3,4],[3,4,1,2]]", Moves((), "3 is no direction")),
        ("", Moves((), "the answer is empty")),
    ],
)
def test_case_13_moves_are_read_or_the_reason_is_given(text: str, moves: Moves) -> None:
    assert parse_pushes(text, 6) == moves


@settings(deadline=None, max_examples=150)
@given(
    st.text(max_size=60) | st.lists(st.sampled_from(["U", "c00", "c55", "c99", "[", "]", "####", "x"])).map(" ".join)
)
def test_any_text_is_walked_within_the_budget(text: str) -> None:
    moves = parse_pushes(text, 6)
    assert moves.steps or moves.failure
    done = walk(LINE.start(), moves)
    assert done.spent <= min(LINE.max_moves_per_call, LINE.max_moves)
    assert done.after.moves_left == LINE.max_moves - done.spent


def test_a_task_is_a_value_and_a_game() -> None:
    task = TASKS[0]
    assert isinstance(task, Game) and isinstance(task.start(), GamePosition)
    again = json.loads(json.dumps(dataclasses.asdict(task)))
    assert SokobanTask(**{k: tuple(v) if isinstance(v, list) else v for k, v in again.items()}) == task
    passed = check_task(Sokoban(), num=10, score=lambda one, text: judge_walk(one.start(), text))
    assert passed[-2:] == ["start", "rewards"]


def test_prompts_look_at_no_distance(monkeypatch) -> None:
    def refuse(*_: object) -> int:
        raise AssertionError("a prompt asked for a distance")

    monkeypatch.setattr(SokobanTask, "distance", refuse)
    position: Position = TASKS[1].start().after(Moves(("U", "R")))
    assert position.show("compact").here and position.show("chat").now
    assert position.tell(Moves(("R",)), "compact").split()[1:] == ["_"] * 7
    assert dataclasses.replace(TASKS[1], optimal=99).start().show("chat") == TASKS[1].start().show("chat")


def test_the_demonstrators_play_as_well_as_they_should() -> None:
    solved = {PERFECT: 0, WRONG: 0, RANDOM: 0}
    for task in TASKS:
        for kind in solved:
            position, rng = task.start(), random.Random(task.id)
            for _ in range(task.max_turns):
                position = position if position.is_over else position.after(position.read(answer(position, kind, rng)))
            solved[kind] += position.at_goal
    assert solved[PERFECT] == len(TASKS)
    assert max(solved[WRONG], solved[RANDOM]) < len(TASKS) / 4


@pytest.mark.parametrize(
    "settings",
    [{"size": 5}, {"boxes": 0}, {"boxes": 5}, {"walls": 1.0}, {"min_pushes": 13}, {"max_optimal": 33}, {"wals": 0.1}],
)
def test_settings_out_of_range_are_refused(settings: dict) -> None:
    with pytest.raises(ConfigError):
        Sokoban(**settings)


def test_a_room_that_cannot_be_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr("motet.tasks.sokoban.MAX_ROOMS", 3)
    with pytest.raises(TaskError, match="no room found in 3 attempts"):
        Sokoban(walls=0.6, min_moves=12, min_pushes=12).task("train", 0)
