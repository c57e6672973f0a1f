"""Where the answers to a call come from: an engine, a record, or both (a fork)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from motet.engines.base import Completion, Engine, Request
from motet.errors import EngineError
from motet.rollout.failing import call_place
from motet.rollout.order import Order
from motet.types import CallKey, Candidate, Sampling


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call asks for. `keys` holds one counter key per candidate, `counter` the call's own."""

    key: CallKey
    order: Order
    policy: str
    engine: Engine
    prompt_ids: tuple[int, ...]
    keys: tuple[int, ...]
    sampling: Sampling
    counter: int
    tokenizer_id: str

    @property
    def where(self) -> dict[str, object]:
        return call_place(self.key)


@dataclass(frozen=True, slots=True)
class Answer:
    """The candidates. `chosen` is fixed by a record, None where the rule decides; `is_judged`: their rewards stand."""

    candidates: tuple[Candidate, ...]
    policy_version: int
    chosen: int | None = None
    is_judged: bool = False


class Source(Protocol):
    """Answers calls and effects."""

    async def answer(self, ask: Ask) -> Answer: ...
    async def effect(self, key: str, order: Order, run: Callable[[], Awaitable[Any]]) -> Any: ...


class LiveSource:
    """Every answer is sampled, every effect happens."""

    async def answer(self, ask: Ask) -> Answer:
        version = ask.engine.version(ask.policy)
        completions = await ask.engine.sample(Request(ask.policy, ask.prompt_ids, ask.keys, ask.sampling))
        if len(completions) != len(ask.keys):
            raise EngineError(
                f"the engine gave {len(completions)} answers, {len(ask.keys)} were asked for",
                where=ask.where | {"policy": ask.policy},
            )
        return Answer(tuple(_candidate(completion, ask) for completion in completions), version)

    async def effect(self, key: str, order: Order, run: Callable[[], Awaitable[Any]]) -> Any:
        return await run()


def _candidate(completion: Completion, ask: Ask) -> Candidate:
    if len(completion.logprobs) != len(completion.token_ids):
        raise EngineError(
            f"an answer has {len(completion.token_ids)} ids and {len(completion.logprobs)} log-probs",
            where=ask.where | {"policy": ask.policy},
        )
    return Candidate(completion.text, completion.token_ids, completion.logprobs, completion.finish)
