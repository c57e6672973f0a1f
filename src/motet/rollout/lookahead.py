"""Values a call by finishing the episode from each of its candidates.

For a call f of a finished trunk and each candidate j the workflow runs again. What came before f, and what runs
beside it in the same `gather`, is answered from the trunk's record (siblings held); f itself is answered with
candidate j; all that follows is sampled anew with one candidate per call. The team reward of candidate j is
`outcome.team` of that run; its local reward stays its own score's. Continuations are one level deep: nothing inside
one is valued by another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from motet.errors import ReplayError
from motet.rollout.act import EpisodeCast
from motet.rollout.answers import Answer, Ask, LiveSource
from motet.rollout.call import LiveCall
from motet.rollout.choice import with_reward
from motet.rollout.order import Order
from motet.types import Call, Outcome, Reward

Play = Callable[[EpisodeCast], Awaitable[Outcome]]


def lookahead_cost(num_calls: int, width: int) -> int:
    """Extra completions per episode: each of n calls is finished from each of K candidates, n - 1 - i calls are left.

        sum over i < n of K * (n - 1 - i) = K * n * (n - 1) / 2

    beside the n * K of the trunk itself.

    >>> lookahead_cost(num_calls=8, width=4)
    112
    """
    return width * num_calls * (num_calls - 1) // 2


def cost_before_start(num_calls: int | None, width: int, num_trees: int) -> str:
    """What look-ahead will cost, as one line; `num_calls` bounds an episode's calls, None: not known.

    >>> cost_before_start(8, 4, 2)
    'look-ahead: at most 8 calls per episode, 32 completions and 112 more to value them; at most 288 per iteration'
    >>> cost_before_start(None, 4, 2)
    'look-ahead: an episode of n calls takes 4 n completions and 4 n (n - 1) / 2 more to value them, 2 episodes per \
iteration; n is not known before'
    """
    if num_calls is None:
        return (
            f"look-ahead: an episode of n calls takes {width} n completions and {width} n (n - 1) / 2 more to value "
            f"them, {num_trees} episodes per iteration; n is not known before"
        )
    own, more = num_calls * width, lookahead_cost(num_calls, width)
    return (
        f"look-ahead: at most {num_calls} calls per episode, {own:,} completions and {more:,} more to value them; "
        f"at most {num_trees * (own + more):,} per iteration"
    )


def is_held(order: Order, fork: Order) -> bool:
    """Whether what has this place is answered from the record when the episode is finished anew from `fork`.

    Earlier ones are, and those of another branch of a `gather` that the fork stands in.

    >>> is_held((1,), (2,)), is_held((3,), (2,)), is_held((2, 1, 1), (2, 0, 1)), is_held((2, 0, 2), (2, 0, 1))
    (True, False, True, False)
    """
    for depth, (here, there) in enumerate(zip(order, fork)):
        if here != there:
            return here < there or depth % 2 == 1
    return False


class ForkSource:
    """Answers from a trunk up to a fork, with candidate `index` at the fork, and live behind it."""

    def __init__(self, trunk: EpisodeCast, fork: LiveCall, index: int) -> None:
        self._fork, self._index = fork, index
        self._calls = {call.order: call for call in trunk.calls}
        self._effects, self._where, self._live = trunk.effects, trunk.where, LiveSource()

    async def answer(self, ask: Ask) -> Answer:
        if ask.order != self._fork.order and not is_held(ask.order, self._fork.order):
            return await self._live.answer(ask)
        known = self._calls.get(ask.order)
        if known is None or known.key != ask.key:
            raise ReplayError(
                "a continuation makes another call than the record", where=self._where | ask.where, fix=PURE
            )
        check_same_prompt(known.record, ask.prompt_ids, self._where | ask.where)
        chosen = self._index if known is self._fork else known.record.chosen
        return Answer(known.record.candidates, known.record.policy_version, chosen, is_judged=True)

    async def effect(self, key: str, order: Order, run: Callable[[], Awaitable[Any]]) -> Any:
        if not is_held(order, self._fork.order):
            return await run()
        if key not in self._effects:
            raise ReplayError(f"the effect {key!r} is not in the record", where=self._where, fix=PURE)
        return self._effects[key][1]


PURE = "make run depend on its task and its calls alone, and send everything else through cast.effect"


def check_same_prompt(recorded: Call, prompt_ids: Sequence[int], where: dict[str, object]) -> None:
    """`ReplayError` naming the call and the first token that differs."""
    if recorded.prompt_ids == tuple(prompt_ids):
        return
    pairs = zip(recorded.prompt_ids, prompt_ids)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(recorded.prompt_ids), len(prompt_ids)))
    raise ReplayError(
        f"the observation of {recorded.key} differs from the record at token {at}",
        where={**where, "token": at},
        fix=PURE,
    )


async def value_calls(trunk: EpisodeCast, play: Play) -> tuple[tuple[Call, ...], int, int]:
    """The trunk's calls with the rewards of their continuations; extra tokens; extra calls.

    Calls of frozen policies and calls that were settled keep what they have and are not continued, but for those that
    were settled by an estimate of just this.
    """
    calls = sorted(trunk.calls, key=lambda call: call.order)
    forks = [call for call in calls if call.record.trainable and (not call.record.settled or call.is_estimated)]
    casts = [
        [
            trunk.continuation(f"{call.key}#{index}", ForkSource(trunk, call, index))
            for index in range(len(call.record.candidates))
        ]
        for call in forks
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [[group.create_task(_played(play, cast)) for cast in row] for row in casts]
    valued = {
        call.order: _with_team(call.record, [task.result().team for task in row]) for call, row in zip(forks, tasks)
    }
    drawn = [
        new.record
        for call, row in zip(forks, casts)
        for cast in row
        for new in cast.calls
        if new.order != call.order and not is_held(new.order, call.order)
    ]
    tokens = sum(len(candidate.token_ids) for record in drawn for candidate in record.candidates)
    return tuple(valued.get(call.order, call.record) for call in calls), tokens, len(drawn)


async def _played(play: Play, cast: EpisodeCast) -> Outcome:
    return await play(cast)


def _with_team(call: Call, teams: Sequence[float]) -> Call:
    rewards = [replace(c.reward or Reward(), team=team) for c, team in zip(call.candidates, teams)]
    return replace(call, candidates=tuple(with_reward(c, reward) for c, reward in zip(call.candidates, rewards)))
