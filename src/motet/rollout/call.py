"""What `act` gives back: a call whose worth may still be told, until its episode ends."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from motet.errors import RewardError, WorkflowError
from motet.rollout.choice import has_reward, with_reward
from motet.rollout.failing import call_place
from motet.rollout.judging import checked_rewards, late_score
from motet.rollout.order import Order
from motet.rollout.scoring import LateScore, attempt
from motet.types import Call, CallKey, Reward

if TYPE_CHECKING:
    from motet.rollout.act import EpisodeCast

Settle = Callable[..., Reward] | Sequence[Reward]


class LiveCall:
    """One call of a running episode. `Spoken`: a `Message` may hold it.

    `text`, `token_ids` and `finish` are the chosen candidate's; `notes` what `read` (or the reward of `score`) said of
    it; `settle` gives rewards late. `is_estimated` tells that their team part was an estimate.
    """

    def __init__(self, cast: EpisodeCast, record: Call, order: Order, failure: RewardError | None = None) -> None:
        self._cast, self._record, self.order = cast, record, order
        self._failure = failure
        self.is_estimated = False
        self._notes: list[Any] = [c.reward.notes if c.reward else None for c in record.candidates]

    @property
    def record(self) -> Call:
        """The call as it stands now."""
        return self._record

    @property
    def key(self) -> CallKey:
        return self._record.key

    @property
    def text(self) -> str:
        return self._record.text

    @property
    def token_ids(self) -> tuple[int, ...]:
        return self._record.token_ids

    @property
    def tokenizer_id(self) -> str:
        return self._record.tokenizer_id

    @property
    def finish(self) -> str:
        return self._record.finish

    @property
    def notes(self) -> Any:
        """Notes of the chosen candidate. Raises what `score` raised in evaluation, where that was put off until now."""
        if self._failure is not None:
            raise self._failure
        return self._notes[self._record.chosen]

    def settle(self, worth: Settle, *, estimate: bool = False) -> None:
        """Rewards for all K candidates, winner and losers, once and before the episode ends.

        `worth` is fn(text, index) -> Reward, fn(candidate) -> Reward (by its number of parameters), or a list of K
        rewards. It runs here, on the event loop, so keep it cheap; `await call.settle_off_loop(fn)` runs it in a
        thread under the score's time limit. Notes of the call are kept where the new reward has none.
        `estimate`: the team part estimates what became of each candidate; look-ahead plays it out and puts that in its
        place, while other settled rewards are left as they are.
        Raises `WorkflowError` after the episode ended or for a call that has rewards, `RewardError` for what is no
        Reward.
        """
        if not self._may_settle():
            return
        self.is_estimated = estimate
        if callable(worth):
            self._take([attempt(worth, argument, index) for index, argument in enumerate(self._arguments(worth))])
        else:
            self._take(list(worth))

    async def settle_off_loop(self, worth: Callable[..., Any]) -> None:
        """As `settle` with a function, in a thread under the score's time limit; `worth` may be async."""
        if self._may_settle():
            arguments = self._arguments(worth)
            try:
                values = await self._cast.off_loop(lambda job: job.apply(worth, arguments))
            except LateScore as late:
                self._cast.fail_unless_lenient(late_score(late, self._place()))
                return
            self._take(values)

    def _may_settle(self) -> bool:
        if self._cast.is_closed:
            raise WorkflowError("settled after the episode ended", where=self._place(), fix="settle before run returns")
        if self._cast.is_continuation:
            return False
        if self._record.settled or has_reward(self._record.candidates[0].reward):
            raise WorkflowError(
                "this call has its rewards already", where=self._place(), fix="score it or settle it, once"
            )
        return True

    def _arguments(self, worth: Callable[..., Any]) -> list[tuple[Any, ...]]:
        if _num_parameters(worth) == 1:
            return [(candidate,) for candidate in self._record.candidates]
        return [(candidate.text, index) for index, candidate in enumerate(self._record.candidates)]

    def _take(self, values: Sequence[Any]) -> None:
        candidates = self._record.candidates
        if len(values) != len(candidates):
            raise RewardError(
                f"settled with {len(values)} rewards for {len(candidates)} candidates",
                where=self._place(),
                fix="give one reward per candidate, losers included",
            )
        try:
            rewards = checked_rewards(values, self._place(), "settle")
        except RewardError as error:
            self._cast.fail_unless_lenient(error)
            return
        kept = [r if r.notes is not None else replace(r, notes=notes) for r, notes in zip(rewards, self._notes)]
        self._record = replace(
            self._record, candidates=tuple(with_reward(c, r) for c, r in zip(candidates, kept)), settled=True
        )

    def _place(self) -> dict[str, object]:
        return self._cast.where | call_place(self.key)


def _num_parameters(function: Callable[..., Any]) -> int:
    """How many positional parameters without a default it has: 1 asks for a candidate, 2 for (text, index)."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in inspect.signature(function).parameters.values())
