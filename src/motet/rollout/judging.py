"""Reads and scores the candidates of one call, and checks what came back. No reward is invented."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from motet.errors import MotetError, RewardError
from motet.rollout.scoring import Failure, Job, LateScore, ScorePool
from motet.types import Reward

Score = Callable[..., Any]
Read = Callable[[str], Any]


async def judge(
    texts: Sequence[str],
    score: Score | None,
    read: Read | None,
    pool: ScorePool,
    limit_s: float,
    where: Mapping[str, object],
) -> tuple[list[Reward], RewardError | None]:
    """One reward per text, carrying its notes, in one hop off the event loop; and what went wrong with `score`, if it
    did.

    read(text) gives the notes; score(notes) then gives the reward; without `read`, score(text) gives both. When `score`
    fails the rewards hold the notes of `read` alone (or nothing) and the error is returned, so that the caller can
    raise it (training) or do without (evaluation). A failing `read` always raises.
    """
    notes: list[Any] = []

    def work(job: Job) -> list[Any]:
        arguments = [(text,) for text in texts]
        if read is not None:
            job.what = "read"
            notes.extend(job.apply(read, arguments))
            arguments = [(note,) for note in notes]
            job.what = "score"
        is_read = not any(isinstance(note, Failure) for note in notes)
        return job.apply(score, arguments) if score is not None and is_read else []

    failure: RewardError | None = None
    values: list[Any] = []
    try:
        values = await pool.run(work, limit_s)
    except LateScore as late:
        failure = late_score(late, where)
        if late.what == "read":
            raise failure from late
    for note in notes:
        if isinstance(note, Failure):
            raise failed(note, {**where, "candidate": note.index}, "read")
    rewards = [Reward(notes=note) for note in notes] or [Reward() for _ in texts]
    if score is None or failure is not None:
        return rewards, failure
    try:
        scored = checked_rewards(values, where, "score")
    except RewardError as error:
        return rewards, error
    return [replace(reward, notes=note) for reward, note in zip(scored, notes)] if read is not None else scored, None


def checked_rewards(values: Sequence[Any], where: Mapping[str, object], what: str) -> list[Reward]:
    """The values as rewards. `RewardError` naming the candidate for a failure, a time-out and anything but a `Reward`;
    nothing is invented in its place. Either all candidates of a call have a number or none has."""
    rewards: list[Reward] = []
    for index, value in enumerate(values):
        place = {**where, "candidate": index}
        if isinstance(value, Failure):
            raise failed(value, place, what)
        if not isinstance(value, Reward):
            raise RewardError(
                f"{what} returned {reprlib.repr(value)}, not a Reward",
                where=place,
                fix="return Reward(team=..., local=...)",
            )
        rewards.append(value)
    for name in ("team", "local"):
        missing = [getattr(reward, name) is None for reward in rewards]
        if any(missing) and not all(missing):
            raise RewardError(
                f"{what} gave a {name} reward to some candidates only",
                where={**where, "candidate": missing.index(True)},
                fix="give it to every candidate or to none",
            )
    return rewards


def failed(failure: Failure, where: Mapping[str, object], what: str) -> RewardError:
    """A failure as an error with its place."""
    error = failure.error
    if isinstance(error, TimeoutError):
        named = RewardError(
            f"{what} timed out: {error}", where=dict(where), fix="bound what it does, or raise score_timeout_s"
        )
    elif isinstance(error, MotetError):
        named = RewardError(f"{what} failed: {error.what}", where={**where, **error.where}, fix=error.fix)
    else:
        named = RewardError(f"{what} raised {type(error).__name__}: {error}", where=dict(where))
    named.__cause__ = error
    return named


def late_score(late: LateScore, where: Mapping[str, object]) -> RewardError:
    """A score that did not return in time, as an error with its place."""
    return failed(Failure(late.index, TimeoutError(str(late))), {**where, "candidate": late.index}, late.what)
