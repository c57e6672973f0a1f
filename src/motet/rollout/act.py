"""The cast of one running episode: what a workflow speaks through.

cast.planner.act(observation, score=...)     one call: K candidates of one prompt, one of them goes on
cast.voter[2].act(...)   cast["name"]        slots, and any name
await cast.gather(a, b, c)                   side by side
await cast.effect(key, fn)                   what touches the world, once
"""

from __future__ import annotations

import difflib
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from motet.errors import RewardError, WorkflowError
from motet.policies.cast import PolicySpec
from motet.rollout import counters
from motet.rollout.answers import Answer, Ask, LiveSource, Source
from motet.rollout.call import LiveCall
from motet.rollout.choice import choose, with_reward
from motet.rollout.failing import call_place, placed
from motet.rollout.judging import Read, Score, judge
from motet.rollout.order import Order, gather, next_order
from motet.rollout.rendering import Rendered, render
from motet.rollout.scene import Scene
from motet.rollout.scoring import Job
from motet.rollout.seats import RoleSeats
from motet.types import Call, CallKey, Candidate, Observation

T = TypeVar("T")

_log = logging.getLogger("motet.rollout")

MAX_CALLS = 10_000
"""Calls of one episode; a loop that never ends would otherwise never be noticed."""


class EpisodeCast:
    """Handed to `Workflow.run`. Keeps the record of one episode; a workflow reaches roles by attribute or by name."""

    def __init__(
        self,
        scene: Scene,
        task_id: str,
        copy: int = 0,
        fork: str = "",
        *,
        width: int | None = None,
        source: Source | None = None,
        is_continuation: bool = False,
    ) -> None:
        self._scene, self._task_id, self._copy, self._fork = scene, task_id, copy, fork
        self._source: Source = source or LiveSource()
        self._width, self.is_continuation = width or scene.settings.width, is_continuation
        self._seats = {role: RoleSeats(self, role, num) for role, num in scene.cast.roles.items()}
        self._turns: dict[tuple[str, int], int] = {}
        self._visits: dict[tuple[str, int, int], int] = {}
        self._open: set[tuple[str, int]] = set()
        self.calls: list[LiveCall] = []
        self.effects: dict[str, tuple[Order, Any]] = {}
        self.last_key: CallKey | None = None
        self.failure: Exception | None = None
        self.is_closed = False

    @property
    def where(self) -> dict[str, object]:
        """The place of this episode, for errors."""
        place: dict[str, object] = {"task": self._task_id}
        return place | ({"copy": self._copy} if self._copy else {}) | ({"fork": self._fork} if self._fork else {})

    def __getitem__(self, role: str) -> RoleSeats:
        seats = self._seats.get(role)
        if seats is None:
            close = difflib.get_close_matches(role, list(self._seats), n=1)
            fix = f"did you mean {close[0]!r}?" if close else f"declared: {', '.join(self._seats)}"
            raise WorkflowError(f"the workflow has no role {role!r}", where=self.where, fix=fix)
        return seats

    def __getattr__(self, role: str) -> RoleSeats:
        if role.startswith("_"):
            raise AttributeError(role)
        return self[role]

    async def gather(self, *parts: Awaitable[T]) -> list[T]:
        """Runs the parts side by side; the results come in the order given. The first error cancels the others."""
        return await gather(*parts)

    async def effect(self, key: str, fn: Callable[[], Any]) -> Any:
        """What `fn()` (sync or async) gave, done once and recorded under `key`; a replay answers from the record.

        The result must be JSON (text, numbers, lists, maps) to be replayed from a file. A key is used once per episode.
        """
        order = next_order()
        if key in self.effects:
            raise WorkflowError(f"the effect {key!r} happened already", where=self.where, fix="put the turn in its key")

        async def run() -> Any:
            value = fn()
            return await value if inspect.isawaitable(value) else value

        value = await self._source.effect(key, order, run)
        self.effects[key] = (order, value)
        return value

    async def call(
        self, role: str, slot: int, observation: Observation, score: Score | None, read: Read | None, turn: int | None
    ) -> LiveCall:
        """One call: open, render, answer, judge, choose, record. A failure ends the episode, caught or not."""
        try:
            return await self._call(role, slot, observation, score, read, turn)
        except Exception as error:
            self.failure = self.failure or error
            raise

    async def _call(
        self, role: str, slot: int, observation: Observation, score: Score | None, read: Read | None, turn: int | None
    ) -> LiveCall:
        key, order = self._open_call(role, slot, turn)
        try:
            ask, policy, rendered = self._ask(key, order, observation)
            try:
                answer = await self._source.answer(ask)
            except Exception as error:
                raise placed(error, self.where | call_place(key), "the engine raised ") from error
            return await self._record(ask, policy, rendered, answer, score, read)
        finally:
            self._open.discard((role, slot))

    def _open_call(self, role: str, slot: int, turn: int | None) -> tuple[CallKey, Order]:
        seat = (role, slot)
        earlier = self._turns.get(seat, 0)
        turn = earlier if turn is None else turn
        visit = self._visits.get((role, slot, turn), 0)
        key = CallKey(role, slot, turn, visit)
        if self.is_closed:
            raise WorkflowError("act after the episode ended", where=self.where | call_place(key))
        if len(self._visits) >= MAX_CALLS:
            raise WorkflowError(
                f"an episode of more than {MAX_CALLS:,} calls",
                where=self.where | call_place(key),
                fix="let its loop end",
            )
        if seat in self._open:
            raise WorkflowError(
                "two open calls of one slot",
                where=self.where | call_place(key),
                fix="declare more slots, or await the first",
            )
        self.last_key = key
        order = next_order()
        self._open.add(seat)
        self._turns[seat], self._visits[role, slot, turn] = earlier + 1, visit + 1
        return key, order

    def _ask(self, key: CallKey, order: Order, observation: Observation) -> tuple[Ask, PolicySpec, Rendered]:
        scene = self._scene
        policy = scene.cast.policy(key.role, key.slot)
        engine, voice = scene.speaker(policy)
        where = self.where | call_place(key)
        try:
            rendered = render(observation, scene.prompts, voice, where=where, overlong=scene.settings.overlong)
        except Exception as error:
            raise placed(error, where, "the prompt raised ") from error
        counter = counters.key(
            scene.seed,
            scene.phase,
            scene.ticket,
            self._task_id,
            self._copy,
            self._fork,
            key.role,
            key.slot,
            key.turn,
            key.visit,
        )
        is_wide = scene.phase == "train" and policy.trainable
        keys = counters.candidate_keys(counter, self._width if is_wide else 1)
        sampling = scene.cast.sampling(key.role, scene.phase)
        ask = Ask(key, order, policy.name, engine, rendered.prompt_ids, keys, sampling, counter, voice.tokenizer_id)
        return ask, policy, rendered

    async def _record(
        self, ask: Ask, policy: PolicySpec, rendered: Rendered, answer: Answer, score: Score | None, read: Read | None
    ) -> LiveCall:
        candidates, failure = answer.candidates, None
        if not answer.is_judged:
            candidates, failure = await self._judged(ask, candidates, score, read)
        chosen = answer.chosen
        if chosen is None:
            chosen = choose([c.reward for c in candidates], self._scene.settings, ask.counter, ask.key.role)
        record = Call(
            key=ask.key,
            policy=ask.policy,
            policy_version=answer.policy_version,
            tokenizer_id=ask.tokenizer_id,
            prompt_ids=ask.prompt_ids,
            candidates=candidates,
            chosen=chosen,
            temperature=ask.sampling.temperature,
            trainable=policy.trainable and self._scene.phase == "train",
            prompt_dropped=rendered.dropped,
        )
        call = LiveCall(self, record, ask.order, failure)
        self.calls.append(call)
        return call

    async def _judged(
        self, ask: Ask, candidates: tuple[Candidate, ...], score: Score | None, read: Read | None
    ) -> tuple[tuple[Candidate, ...], RewardError | None]:
        """The candidates with rewards and notes. In evaluation a failed score leaves no reward, and the error is put
        off to where its notes are read."""
        if score is None and read is None:
            return candidates, None
        settings, where = self._scene.settings, self.where | call_place(ask.key)
        texts = [candidate.text for candidate in candidates]
        rewards, error = await judge(texts, score, read, self._scene.pool, settings.score_timeout_s, where)
        if error is not None:
            self.fail_unless_lenient(error)
        judged = tuple(with_reward(candidate, reward) for candidate, reward in zip(candidates, rewards))
        return judged, None if read is not None else error

    async def off_loop(self, work: Callable[[Job], list[Any]]) -> list[Any]:
        """`work` in a scoring thread, under the time limit of one score."""
        return await self._scene.pool.run(work, self._scene.settings.score_timeout_s)

    def fail_unless_lenient(self, error: RewardError) -> None:
        """Raises it in training. In evaluation no reward may influence anything: it is logged and left out."""
        if self._scene.phase == "train":
            raise error
        _log.log(logging.DEBUG if self._scene.is_warned else logging.WARNING, "goes on without: %s", error)
        self._scene.is_warned = True

    def continuation(self, name: str, source: Source) -> EpisodeCast:
        """A cast that runs this episode again from `source`, with one candidate per call that is drawn anew."""
        fork = f"{self._fork}/{name}" if self._fork else name
        return EpisodeCast(self._scene, self._task_id, self._copy, fork, width=1, source=source, is_continuation=True)

    def close(self) -> tuple[Call, ...]:
        """Ends the episode: no call, no settle after this. The calls in the order of the workflow.

        Raises what failed in a call and was swallowed by the workflow: a call without candidates is no call.
        """
        if self.failure is not None:
            raise self.failure
        self.is_closed = True
        self.calls.sort(key=lambda call: call.order)
        return tuple(call.record for call in self.calls)
