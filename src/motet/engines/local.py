"""The `local` engine: torch models in this process, all waiting calls of all episodes in one batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import nn

from motet.engines.base import Completion, Request
from motet.engines.buckets import WIDTH_STEP, RowBuckets, prompt_width
from motet.engines.decode import Activate
from motet.engines.lean_rows import forward_of
from motet.engines.rows import Speaker, Uniforms, sample_alike
from motet.engines.voice import HfVoice
from motet.errors import EngineError
from motet.rollout.counters import uniforms

Served = nn.Module | tuple[nn.Module, str | None]
"""A model of its own, or a shared base and the name of one of its adapters (None: the base alone)."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """`max_rows` decode together; `max_prefill_tokens` bounds one pass over prompts.

    `linger_s` is how long the engine waits for further calls after the last one arrived; it changes speed, never
    results. `full_support_only` refuses top_p and top_k (what training wants). `threads` None keeps torch's own number.
    """

    max_rows: int = 256
    max_prefill_tokens: int = 4096
    linger_s: float = 0.001
    full_support_only: bool = False
    threads: int | None = None


class LocalEngine:
    """Serves any Hugging Face causal LM in this process; implements `motet.engines.base.Engine`.

    Calls wait until no further call arrives, then all run as one batch per (policy, prompt width, cap). Each prompt is
    computed once for its K candidates. A row's ids and log-probs are bit-equal in any company: they depend on its
    prompt, key, sampling settings and weights, never on what else waits (docs/engines.md tells how).

    `policies` maps a policy's name to what serves it, `voices` to its tokenizer; `activate` is
    `motet.policies.lora.activate` where adapters are served. `counters` counts `prompt_computations`, `forward_tokens`
    (padding included), `useful_tokens`, `sampled_tokens` and `flushes`.
    """

    def __init__(
        self,
        policies: Mapping[str, Served],
        voices: Mapping[str, HfVoice],
        settings: LocalSettings | None = None,
        *,
        activate: Activate | None = None,
        uniforms: Uniforms = uniforms,
    ) -> None:
        self.settings = settings or LocalSettings()
        if self.settings.threads is not None:
            torch.set_num_threads(self.settings.threads)
        self.threads = torch.get_num_threads()
        self.counters: Counter[str] = Counter()
        self._uniforms, self._activate = uniforms, activate
        self._versions = dict.fromkeys(policies, 0)
        self._speakers = {name: self._speaker(name, served, voices) for name, served in policies.items()}
        self._waiting: list[tuple[Request, asyncio.Future[list[Completion]]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="motet-local")

    def voice(self, policy: str) -> HfVoice:
        return self._known(policy).voice

    def version(self, policy: str) -> int:
        self._known(policy)
        return self._versions[policy]

    def publish(self, policy: str, version: int) -> None:
        """Says that the weights of `policy`, changed in place, are now those of `version`."""
        self._known(policy)
        self._versions[policy] = version

    @property
    def padding_frac(self) -> float:
        """Share of the computed tokens that were padding, dummy rows or rows already done."""
        computed = self.counters["forward_tokens"]
        return 1.0 - self.counters["useful_tokens"] / computed if computed else 0.0

    def resolved(self) -> dict[str, object]:
        """What decides the bits of this engine's numbers, for `config.yaml`."""
        return {
            "threads": self.threads,
            "width_step": WIDTH_STEP,
            "policies": {
                name: {
                    "dtype": str(s.forward.dtype).removeprefix("torch."),
                    "device": str(s.forward.device),
                    "adapter": s.forward.adapter,
                    "rows": s.buckets.measured(),
                }
                for name, s in self._speakers.items()
            },
        }

    async def sample(self, request: Request) -> list[Completion]:
        """K completions of `request`, in the order of its keys. Raises `EngineError` for what cannot be sampled."""
        self._check(request)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Completion]] = loop.create_future()
        self._waiting.append((request, future))
        if self._flusher is None or self._flusher.done() or self._flusher.get_loop() is not loop:
            self._flusher = loop.create_task(self._flush_until_idle())
        return await future

    def close(self) -> None:
        """Ends the engine's thread."""
        self._thread.shutdown(wait=True)

    async def _flush_until_idle(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await self._quiet()
            batch, self._waiting = self._waiting, []
            batch = [(request, future) for request, future in batch if not future.done() and future.get_loop() is loop]
            try:
                results = await loop.run_in_executor(self._thread, self._sample_all, [request for request, _ in batch])
            except BaseException as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, future), completions in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(completions)

    async def _quiet(self) -> None:
        """Returns once no call has arrived for `linger_s`, nor in a few rounds of the event loop."""
        num = -1
        while num != len(self._waiting):
            num = len(self._waiting)
            for _ in range(3):
                await asyncio.sleep(0)
            if num == len(self._waiting) and self.settings.linger_s > 0:
                await asyncio.sleep(self.settings.linger_s)

    def _sample_all(self, requests: list[Request]) -> list[list[Completion]]:
        alike: dict[tuple[str, int, int], list[int]] = {}
        for index, request in enumerate(requests):
            width = prompt_width(len(request.prompt_ids))
            alike.setdefault((request.policy, width, request.sampling.max_tokens), []).append(index)
        results: list[list[Completion]] = [[] for _ in requests]
        for (policy, width, _), indices in alike.items():
            speaker = self._speakers[policy]
            speaker.buckets.decode_counts(), speaker.buckets.prefill_counts(width)
            with speaker.forward.serving():
                chosen = [requests[i] for i in indices]
                done = sample_alike(speaker, chosen, width, self._uniforms, self.counters)
            for index, completions in zip(indices, done, strict=True):
                results[index] = completions
        self.counters["flushes"] += 1
        return results

    def _speaker(self, name: str, served: Served, voices: Mapping[str, HfVoice]) -> Speaker:
        if name not in voices:
            raise EngineError("a policy has no voice", where={"policy": name}, fix="give `voices` a tokenizer for it")
        module, adapter = served if isinstance(served, tuple) else (served, None)
        if adapter is not None and self._activate is None:
            raise EngineError(
                f"adapter {adapter!r} cannot be activated",
                where={"policy": name},
                fix="pass activate=motet.policies.lora.activate",
            )
        forward = forward_of(module, adapter, self._activate if isinstance(served, tuple) else None)
        buckets = RowBuckets(forward, self.threads, self.settings.max_rows, self.settings.max_prefill_tokens)
        return Speaker(name, forward, voices[name], buckets)

    def _known(self, policy: str) -> Speaker:
        if policy not in self._speakers:
            raise EngineError(
                "this engine does not serve that policy",
                where={"policy": policy},
                fix=f"use one of: {', '.join(sorted(self._speakers))}",
            )
        return self._speakers[policy]

    def _check(self, request: Request) -> None:
        speaker, sampling = self._known(request.policy), request.sampling
        limit = getattr(speaker.forward.config, "max_position_embeddings", None)
        total = len(request.prompt_ids) + sampling.max_tokens
        vocab = speaker.forward.vocab_size
        problem = None
        if not request.prompt_ids or not request.keys:
            problem = "needs at least one prompt token and one candidate", "send a prompt that is not empty"
        elif sampling.max_tokens < 1 or any(not s for s in sampling.stop):
            problem = (
                "has no room for a token, or an empty stop string",
                "set max_tokens to 1 or more and drop the empty string",
            )
        elif not sampling.greedy and not sampling.temperature > 0.0:
            problem = f"has temperature {sampling.temperature}", "use a positive temperature, or greedy=True"
        elif not 0.0 < sampling.top_p <= 1.0 or sampling.top_k < 0:
            problem = "has top_p outside (0, 1] or a negative top_k", "use top_p in (0, 1] and top_k 0 (off) or more"
        elif self.settings.full_support_only and (sampling.top_p < 1.0 or sampling.top_k > 0):
            problem = (
                "cuts the support in training",
                "set top_p to 1 and top_k to 0: the update's log-probs are of the full softmax",
            )
        elif limit is not None and total > limit:
            problem = f"needs {total} positions of {limit}", "shorten the prompt or lower max_tokens"
        elif min(request.prompt_ids) < 0 or max(request.prompt_ids) >= vocab:
            problem = f"holds a token id outside [0, {vocab})", "encode the prompt with this policy's voice"
        if problem is not None:
            what, fix = problem
            raise EngineError(f"the request {what}", where={"policy": request.policy}, fix=fix)
