"""Rewards of Sokoban, pure functions of a walk. docs/rewards.md tells what each one teaches."""

from __future__ import annotations

from motet.tasks.plan_path_moves import Moves
from motet.tasks.sokoban import Position, Walk, walk
from motet.tasks.sokoban_moves import parse_pushes
from motet.tasks.sokoban_rooms import deadlocks
from motet.types import Reward

SHORT_OF_GOAL = 0.9
"""The most that a walk can earn which does not solve the puzzle."""

NO_MOVES = Moves()


def walk_team(done: Walk) -> float:
    """How far one walk brings the team: 1 exactly when it solves the puzzle, else

        0.9 * g * (1 + e) / 2     with   g = max(0, d - d') / min(d, M)   and   e = max(0, d - d') / m

    d and d' are the fewest moves to a solution before and after, m the moves spent, M the most that the call can make.
    From and to a lost position nothing is gained. One move changes d by at most 1, so from any position no walk of a
    call earns more than an optimal one, and the mean over an episode is at most that of an optimal episode.

    >>> from motet.tasks.sokoban import SokobanTask
    >>> start = SokobanTask("t", 6, (), (5,), 0, (1,), 4, 8).start()
    >>> [walk_team(walk(start, Moves(tuple(letters)))) for letters in ("RRRR", "RR", "RRL", "D", "")]
    [1.0, 0.45, 0.15, 0.0, 0.0]
    """
    if done.after.at_goal:
        return 1.0
    task, spent = done.before.task, done.spent
    before, after = task.distance(done.before.stand), task.distance(done.after.stand)
    if before < 0 or after < 0 or after >= before:
        return 0.0
    best = min(before, task.max_moves_per_call, done.before.moves_left)
    return SHORT_OF_GOAL * ((before - after) / best) * (1.0 + (before - after) / spent) / 2.0


def walk_form(done: Walk) -> tuple[float, float, float]:
    """The form of one walk, without looking ahead: (legal, fresh, safe), each in [0, 1].

    legal = legal moves / moves spent, 0 when none was spent. fresh = positions that the walk had not met before (in
    this call, its first one included) / M; 1 when it solves the puzzle. safe = 0.5 when a box got stuck for good
    (`sokoban_rooms.deadlocks`), else 1.

    >>> from motet.tasks.sokoban import SokobanTask
    >>> start = SokobanTask("t", 6, (), (5,), 13, (7,), 4, 8).start()
    >>> walk_form(walk(start, Moves(("U",)))), walk_form(walk(start, Moves(("R", "L"))))
    ((1.0, 0.125, 1.0), (1.0, 0.125, 1.0))
    """
    if done.spent == 0:
        return 0.0, 0.0, 1.0
    task = done.before.task
    room = min(task.max_moves_per_call, done.before.moves_left)
    fresh = len(set(done.stands) - {done.before.stand})
    stuck = deadlocks(task.room, done.after.boxes) - deadlocks(task.room, done.before.boxes)
    legal = len(done.stands) / done.spent
    return legal, 1.0 if done.after.at_goal else fresh / room, 0.5 if stuck else 1.0


def followed(plan: Walk, done: Walk) -> float:
    """The share of the plan's legal moves that the walk made, from the first on; 0 where the plan has none."""
    same = 0
    for wanted, taken in zip(plan.stands, done.stands):
        if wanted != taken:
            break
        same += 1
    return same / len(plan.stands) if plan.stands else 0.0


def judge_walk(position: Position, text: str, plan: Moves = NO_MOVES, follow: float = 0.0) -> Reward:
    """Team = `walk_team`; local = (1 - follow) * safe * (legal + fresh) / 2 + follow * followed. Notes: the moves.

    The same for a proposal, walked as it stands.

    >>> from motet.tasks.sokoban import SokobanTask
    >>> start = SokobanTask("t", 6, (), (5,), 0, (1,), 4, 8).start()
    >>> judge_walk(start, "R R R R").local, judge_walk(start, "c01 c02").local, judge_walk(start, "U").team
    (1.0, 0.625, 0.0)
    """
    moves = parse_pushes(text, position.task.size)
    done = walk(position, moves)
    legal, fresh, safe = walk_form(done)
    parts = {"legal": legal, "fresh": fresh, "safe": safe, "followed": followed(walk(position, plan), done)}
    local = (1.0 - follow) * safe * (legal + fresh) / 2.0 + follow * parts["followed"]
    return Reward(team=walk_team(done), local=local, notes=moves, parts=parts)
