"""Rewards of Plan-Path, pure functions of a walk. docs/rewards.md tells what each one teaches.

Legend: d, d' the shortest distances to the goal before and after the walk; m the moves spent, an illegal one counted;
M = min(max_moves_per_call, moves left before) the most moves that a call can make.
"""

from __future__ import annotations

from motet.tasks.plan_path import State, Walk, walk
from motet.tasks.plan_path_moves import Moves, parse_moves
from motet.types import Reward

SHORT_OF_GOAL = 0.9
"""The most that a walk can earn which does not end at the goal."""


def walk_team(done: Walk) -> float:
    """How far one walk brings the team: 1 exactly when it ends at the goal, else

        0.9 * g * (1 + e) / 2     with   g = max(0, d - d') / min(d, M)   and   e = max(0, d - d') / m

    g is the gained share of what a perfect call gains, e the share of moves that were not wasted. In [0, 0.9] short of
    the goal. Standing still, walking away and walking in circles earn 0. A walk that spends nothing earns 0.

    Over an episode the mean over its calls is at most that of an optimal walk: every call short of the goal earns at
    most 0.9, which an optimal walk earns in each, and the call with 1 comes last, soonest for the optimal walk.

    >>> from motet.tasks.plan_path import PlanPathTask
    >>> start = PlanPathTask("t", 10, (), (), 0, 99, 18, 36).start()
    >>> walk_team(walk(start, Moves(("R",) * 8)))
    0.9
    >>> walk_team(walk(start, Moves(("R", "R", "L", "R"))))  # gains 2 of 8 with 4 moves: 0.9 * 0.25 * 0.75
    0.16875
    """
    if done.after.at_goal:
        return 1.0
    task, spent = done.before.task, done.attempted
    before = task.distance(done.before.cell)
    gained = max(0, before - task.distance(done.after.cell))
    if gained == 0:
        return 0.0
    best = min(before, task.max_moves_per_call, done.before.moves_left)
    return SHORT_OF_GOAL * (gained / best) * (1.0 + gained / spent) / 2.0


def walk_form(done: Walk) -> tuple[float, float]:
    """The form of one walk: (legal, fresh), each in [0, 1].

    legal = legal moves / moves spent, 0 when none was spent. fresh = cells entered that the walk had not been on
    before (in this call, its first cell included) / min(M, moves made when the goal ended it). Long loop-free walks
    are good form wherever they lead.

    >>> from motet.tasks.plan_path import PlanPathTask
    >>> start = PlanPathTask("t", 10, (), (), 0, 99, 18, 36).start()
    >>> walk_form(walk(start, Moves(("R", "R", "U"))))  # two legal of three; two fresh cells of eight
    (0.6666666666666666, 0.25)
    """
    if done.attempted == 0:
        return 0.0, 0.0
    fresh = len(set(done.steps) - {done.before.cell})
    room = min(done.before.task.max_moves_per_call, done.before.moves_left)
    return len(done.steps) / done.attempted, 1.0 if done.after.at_goal else fresh / room


def followed(plan: Walk, done: Walk) -> float:
    """The share of the plan's legal steps that the walk took, from the first on; 0 where the plan has none.

    >>> from motet.tasks.plan_path import PlanPathTask
    >>> start = PlanPathTask("t", 10, (), (), 0, 99, 18, 36).start()
    >>> followed(walk(start, Moves(("R", "R", "R", "R"))), walk(start, Moves(("R", "R", "D"))))
    0.5
    """
    same = 0
    for wanted, taken in zip(plan.steps, done.steps):
        if wanted != taken:
            break
        same += 1
    return same / len(plan.steps) if plan.steps else 0.0


NO_MOVES = Moves()


def judge_walk(state: State, text: str, plan: Moves = NO_MOVES, follow: float = 0.0) -> Reward:
    """The executor: team = `walk_team`; local = (1 - follow) * (legal + fresh) / 2 + follow * followed. Notes: the
    moves.

    >>> from motet.tasks.plan_path import PlanPathTask
    >>> start = PlanPathTask("t", 2, (), (), 0, 3, 2, 4).start()
    >>> judge_walk(start, "c01 c03").team, judge_walk(start, "c01 c03").local
    (1.0, 1.0)
    """
    moves = parse_moves(text)
    done = walk(state, moves)
    legal, fresh = walk_form(done)
    parts = {"legal": legal, "fresh": fresh, "followed": followed(walk(state, plan), done)}
    local = (1.0 - follow) * (legal + fresh) / 2.0 + follow * parts["followed"]
    return Reward(team=walk_team(done), local=local, notes=moves, parts=parts)


def judge_plan(state: State, text: str, walls: tuple[int, ...] | None = None) -> Reward:
    """The planner: team = `walk_team` of its proposal, walked as it stands on the true grid; local = (legal + fresh) /
    2 of the proposal on `walls`, the map that the planner sees (None: the true one), so that its own form is judged by
    what it can know.

    >>> from motet.tasks.plan_path import PlanPathTask
    >>> start = PlanPathTask("t", 2, (1,), (), 0, 3, 2, 4).start()
    >>> reward = judge_plan(start, "c01 c03", walls=())
    >>> reward.team, reward.local
    (0.0, 1.0)
    """
    moves = parse_moves(text)
    legal, fresh = walk_form(walk(state, moves, walls))
    return Reward(
        team=walk_team(walk(state, moves)),
        local=(legal + fresh) / 2.0,
        notes=moves,
        parts={"legal": legal, "fresh": fresh},
    )
