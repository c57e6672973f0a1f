"""An episode as frames to draw: who said what, and what it did to the task. Shared by `motet play` and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from motet.evaluate.result import is_solved
from motet.tasks.games import Game
from motet.tasks.plan_path import PlanPathTask, State, walk
from motet.tasks.plan_path_moves import parse_moves
from motet.tasks.plan_path_words import plan_cells
from motet.types import Call, Episode


@dataclass(frozen=True, slots=True)
class Grid:
    """A square grid at one moment; a cell is row * size + column.

    `trail` are the cells walked before this turn, `steps` those of this turn starting where it stood, `proposal` the
    cells that were proposed, `bump` the illegal move that ended the walk as (from cell, towards cell or -1).
    `unmapped` are walls that the out-of-date map lacks.
    """

    size: int
    walls: tuple[int, ...]
    start: int
    goal: int
    at: int
    trail: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    proposal: tuple[int, ...] = ()
    bump: tuple[int, int] | None = None
    unmapped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """One turn: its number, what each role said (role, text), the picture after it, and one line of what happened.

    `drawing` is a picture in letters, where there is no `grid`.
    """

    turn: int
    said: tuple[tuple[str, str], ...]
    grid: Grid | None = None
    note: str = ""
    drawing: str = ""


@singledispatch
def frames(task: Any, episode: Episode) -> list[Frame]:
    """The frames of an episode, one per turn. A kind of task with a picture registers its own:
    `frames.register(MyTask)`.

    Without one, a game is drawn in letters, and any other frame holds what was said.
    """
    if not isinstance(task, Game):
        return [Frame(turn, _said(calls)) for turn, calls in turns(episode)]
    position, made = task.start(), []
    for turn, calls in turns(episode):
        note = ""
        if calls[-1].key.role == mover(episode):
            moves = position.read(calls[-1].text)
            position = position.after(moves)
            note = _left(position, moves)
        made.append(Frame(turn, _said(calls), note=note, drawing=position.draw()))
    return made


def mover(episode: Episode) -> str:
    """The role that moves in an episode of a game: of those that spoke, the last to speak for the first time."""
    return list(dict.fromkeys(call.key.role for call in episode.calls))[-1]


def _left(position: Any, moves: Any) -> str:
    """One line of what a turn brought."""
    end = "solved" if position.at_goal else "out of moves" if position.is_over else f"{position.num_moves} spent so far"
    return f"{moves.failure}; {end}" if moves.failure else end


def turns(episode: Episode) -> Iterator[tuple[int, list[Call]]]:
    """The calls of an episode by turn, in the order they were made.

    A round ends where a (role, slot) speaks again, so that roles with turn numbers of their own still fall into rounds.
    """
    number, calls = 0, list[Call]()
    for call in episode.calls:
        if any((one.key.role, one.key.slot) == (call.key.role, call.key.slot) for one in calls):
            yield number, calls
            number, calls = number + 1, []
        calls.append(call)
    if calls:
        yield number, calls


def _said(calls: Sequence[Call]) -> tuple[tuple[str, str], ...]:
    many = {call.key.role for call in calls if call.key.slot}
    return tuple(
        (f"{call.key.role}[{call.key.slot}]" if call.key.role in many else call.key.role, call.text) for call in calls
    )


@frames.register
def _(task: PlanPathTask, episode: Episode) -> list[Frame]:
    """Plan-Path: the last to speak in a turn walks, others proposed; in a round of proposals nobody walks."""
    state, made = task.start(), []
    for turn, calls in turns(episode):
        *before, last = calls
        if last.key.role != mover(episode):
            made.append(Frame(turn, _said(calls)))
            continue
        proposal = tuple(plan_cells(state, parse_moves(before[-1].text))) if before else ()
        moves = parse_moves(last.text)
        walked = walk(state, moves)
        bump = (walked.after.cell, walked.bumped) if walked.bumped is not None else None
        grid = Grid(
            size=task.size,
            walls=task.walls,
            start=task.start_cell,
            goal=task.goal,
            at=walked.after.cell,
            trail=(task.start_cell, *state.walked),
            steps=(state.cell, *walked.steps),
            proposal=(state.cell, *proposal) if proposal else (),
            bump=bump,
            unmapped=tuple(sorted(set(task.walls) - set(task.map_walls))),
        )
        made.append(Frame(turn, _said(calls), grid, _happened(walked.after, len(walked.steps), moves.failure)))
        state = walked.after
    return made


def _happened(after: State, num_steps: int, failure: str | None) -> str:
    parts = [f"{num_steps} step{'' if num_steps == 1 else 's'}"]
    if after.last == "bump":
        parts.append("then an illegal move")
    elif after.last == "empty":
        parts = ["no move" + (f": {failure}" if failure else "")]
    parts.append("at the goal" if after.at_goal else f"{after.moves_left} moves left")
    return ", ".join(parts)


def pick(episodes: Sequence[Episode], num: int = 10, max_unsolved: int = 4) -> list[Episode]:
    """Episodes to show, by a rule and not by hand: the first unsolved ones (at most `max_unsolved` while enough are
    solved) and the first solved ones, in task order. An episode without a call has nothing to draw."""
    shown = [episode for episode in episodes if episode.calls]
    solved = [episode for episode in shown if is_solved(episode)]
    unsolved = [episode for episode in shown if not is_solved(episode)]
    unsolved = unsolved[: max(max_unsolved, num - len(solved))]
    kept = {id(episode) for episode in [*unsolved, *solved[: num - len(unsolved[:num])]]}
    return [episode for episode in shown if id(episode) in kept][:num]
