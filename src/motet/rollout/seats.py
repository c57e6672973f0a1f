"""How a workflow addresses a role: `cast.planner.act(...)`, `cast.voter[2].act(...)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from motet.errors import WorkflowError
from motet.rollout.call import LiveCall
from motet.rollout.judging import Read, Score
from motet.types import Observation

if TYPE_CHECKING:
    from motet.rollout.act import EpisodeCast


class Seat:
    """One slot of a role."""

    __slots__ = ("_cast", "_role", "_slot")

    def __init__(self, cast: EpisodeCast, role: str, slot: int) -> None:
        self._cast, self._role, self._slot = cast, role, slot

    async def act(
        self, observation: Observation, *, score: Score | None = None, read: Read | None = None, turn: int | None = None
    ) -> LiveCall:
        """Samples K candidates from one observation, scores each, goes on with one.

        score: fn(text) -> Reward, sync or async, pure given what it closes over; it runs in a thread under a time
          limit, and its `notes` are what the workflow reads on. Without it the call must be settled, and the choice
          is random.
        read: fn(text) -> notes, for workflows that keep reading apart from judging; `score` then gets these notes.
        turn: the round; by default the number of earlier calls of this (role, slot).
        """
        return await self._cast.call(self._role, self._slot, observation, score, read, turn)


class RoleSeats:
    """A role: `cast.voter[i]` for its slots; a role of one slot acts by itself."""

    __slots__ = ("_cast", "_num", "_role")

    def __init__(self, cast: EpisodeCast, role: str, num: int) -> None:
        self._cast, self._role, self._num = cast, role, num

    def __len__(self) -> int:
        return self._num

    def __getitem__(self, slot: int) -> Seat:
        if not 0 <= slot < self._num:
            raise WorkflowError(
                f"role {self._role!r} has no slot {slot}", where=self._cast.where, fix=f"take 0 .. {self._num - 1}"
            )
        return Seat(self._cast, self._role, slot)

    def __iter__(self) -> Iterator[Seat]:
        return (self[slot] for slot in range(self._num))

    async def act(
        self, observation: Observation, *, score: Score | None = None, read: Read | None = None, turn: int | None = None
    ) -> LiveCall:
        """See `Seat.act`. `WorkflowError` for a role of several slots."""
        if self._num != 1:
            raise WorkflowError(
                f"role {self._role!r} has {self._num} slots",
                where=self._cast.where,
                fix=f"say cast.{self._role}[i].act",
            )
        return await self._cast.call(self._role, 0, observation, score, read, turn)
