"""What every engine offers: token ids in, K completions out, the randomness handed in by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from motet.types import Finish, Message, Sampling


@dataclass(frozen=True, slots=True)
class Request:
    """K completions of one prompt by one policy.

    The randomness belongs to the caller: `keys` holds one 64-bit counter key per candidate, from which
    `motet.rollout.counters.uniforms(keys, num_tokens)` makes float64 [K, num_tokens] in (0, 1), one uniform per token,
    turned into a token by the inverse CDF in float64. An engine with a generator of its own must say so.
    """

    policy: str
    prompt_ids: tuple[int, ...]
    keys: tuple[int, ...]
    sampling: Sampling

    @property
    def num_candidates(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer: ids (end token included), text (without end token and stop string), log-probs when sampled."""

    token_ids: tuple[int, ...]
    text: str
    logprobs: tuple[float, ...]
    finish: Finish


class Voice(Protocol):
    """How text becomes ids for one policy: its tokenizer, chat template and dialect.

    `encode` adds no special token. `encode_chat` opens the answer; a message that holds an earlier call (`Spoken`) of
    the same `tokenizer_id` gets that call's ids, less an end token, and never its text encoded anew.
    """

    tokenizer_id: str
    dialect: str
    max_prompt_tokens: int

    def encode(self, text: str) -> tuple[int, ...]: ...
    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]: ...
    def decode(self, ids: Sequence[int]) -> str: ...


class Engine(Protocol):
    """Samples for one or more policies. `voice(policy)` tells how to speak to it, `version(policy)` what serves."""

    def voice(self, policy: str) -> Voice: ...
    def version(self, policy: str) -> int: ...
    async def sample(self, request: Request) -> list[Completion]: ...
