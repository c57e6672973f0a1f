from __future__ import annotations

from motet.evaluate.scenes import Frame, Grid, frames, pick, turns
from motet.tasks.plan_path import PlanPathTask
from motet.tasks.sokoban import SokobanTask
from motet.types import Call, CallKey, Candidate, Episode, Outcome


def call(role: str, text: str, turn: int = 0, slot: int = 0) -> Call:
    return Call(CallKey(role, slot, turn), role, 0, "t", (1,), (Candidate(text, (1,), (0.0,), "eos"),), 0)


def episode(*calls: Call, task_id: str = "t", solved: bool = True) -> Episode:
    return Episode("s", task_id, "test", "eval", 0, 0, 0, calls, Outcome(solved, 1.0))


def test_a_walk_is_drawn_turn_by_turn_with_proposal_bump_and_trail():
    """3 x 3, a wall in the middle that the old map lacks, start top left, goal bottom right."""
    task = PlanPathTask("t", 3, (4,), (), 0, 8, 4, 8)
    played = episode(
        call("planner", "c1 c4"), call("executor", "c1 c4"), call("planner", "", 1), call("executor", "c2 c5 c8", 1)
    )
    shared = {"size": 3, "walls": (4,), "start": 0, "goal": 8, "unmapped": (4,)}
    assert frames(task, played) == [
        Frame(
            0,
            (("planner", "c1 c4"), ("executor", "c1 c4")),
            Grid(**shared, at=1, trail=(0,), steps=(0, 1), proposal=(0, 1, 4), bump=(1, 4)),
            "1 step, then an illegal move, 6 moves left",
        ),
        Frame(
            1,
            (("planner", ""), ("executor", "c2 c5 c8")),
            Grid(**shared, at=8, trail=(0, 1), steps=(1, 2, 5, 8)),
            "3 steps, at the goal",
        ),
    ]


def test_a_role_alone_walks_and_an_answer_without_a_move_says_why():
    task = PlanPathTask("t", 2, (), (), 0, 3, 2, 4)
    (first, second) = frames(task, episode(call("solver", "left"), call("solver", "c1 c3", 1)))
    assert first.note == "no move: 'left' is no cell, and there is no list of moves, 4 moves left"
    assert second.note == "2 steps, at the goal" and second.grid.proposal == ()


def test_a_game_without_a_grid_is_drawn_in_letters():
    task = SokobanTask("t", 6, (), (5,), 0, (1,), 4, 8)
    played = episode(call("planner", "R"), call("executor", "R"), call("planner", "", 1), call("executor", "R R R", 1))
    first, second = frames(task, played)
    assert (first.drawing.splitlines()[0], first.note) == (". @ B . . T", "1 spent so far")
    assert (second.drawing.splitlines()[0], second.note) == (". . . . @ *", "solved")


def test_in_a_debate_the_judge_alone_moves():
    said = [
        call("debater", "R", 0, 0),
        call("debater", "D", 0, 1),
        call("debater", "R", 1, 0),
        call("debater", "D", 1, 1),
    ]
    task = SokobanTask("t", 6, (), (5,), 0, (1,), 4, 8)
    first, second = frames(task, episode(*said, call("judge", "R R")))
    assert (first.note, first.drawing.splitlines()[0]) == ("", "@ B . . . T")
    assert second.drawing.splitlines()[0] == ". . @ B . T"
    grid = PlanPathTask("t", 3, (), (), 0, 8, 4, 8)
    first, second = frames(grid, episode(*said, call("judge", "c01 c02")))
    assert first.grid is None and second.grid is not None and second.grid.steps == (0, 1, 2)


def test_other_tasks_show_what_was_said_slot_by_slot():
    played = episode(call("voter", "yes"), call("voter", "no", slot=1), call("judge", "so be it"))
    assert frames(object(), played) == [Frame(0, (("voter[0]", "yes"), ("voter[1]", "no"), ("judge", "so be it")))]


def test_a_round_ends_where_somebody_speaks_again():
    played = episode(call("a", "1"), call("b", "2", turn=7), call("a", "3", turn=1), call("a", "4", turn=2))
    assert [(turn, [one.text for one in calls]) for turn, calls in turns(played)] == [
        (0, ["1", "2"]),
        (1, ["3"]),
        (2, ["4"]),
    ]
    assert list(turns(episode())) == []


def test_episodes_are_picked_by_a_rule_in_task_order():
    played = [episode(call("a", "x"), task_id=str(i), solved=i % 2 == 0) for i in range(30)]
    assert [one.task_id for one in pick(played)] == ["0", "1", "2", "3", "4", "5", "6", "7", "8", "10"]
    solved = [one for one in played if one.outcome.success]
    assert [one.task_id for one in pick(solved, 3)] == ["0", "2", "4"]
    unsolved = [one for one in played if not one.outcome.success]
    assert [one.task_id for one in pick(unsolved, 6)] == ["1", "3", "5", "7", "9", "11"]
    assert pick([episode()]) == []
