"""How fast this machine does a whole iteration, and what share of its matrix-product limit that is.

The work: a random Qwen3 of 0.8 M parameters (hidden 128, 4 layers) in float32; 32 prompts of 110 tokens, 8 candidates
each, exactly 16 new tokens; then one update on all 256 rows. `measure` runs it and returns what `motet bench --json`
prints.
"""

from __future__ import annotations

import asyncio
import platform
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, Qwen3Config

from motet.engines.base import Completion, Request
from motet.engines.local import LocalEngine, LocalSettings
from motet.engines.voice import HfVoice
from motet.policies.models import random_model
from motet.policies.update import Learner, PolicyModel, UpdateSettings
from motet.rollout.counters import candidate_keys
from motet.types import Row, Sampling

POLICY = "p"


@dataclass(frozen=True, slots=True)
class Work:
    """The sizes of the measured work."""

    num_prompts: int = 32
    num_candidates: int = 8
    prompt_tokens: int = 110
    new_tokens: int = 16
    vocab: int = 64
    hidden: int = 128
    intermediate: int = 384
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32

    @property
    def num_rows(self) -> int:
        return self.num_prompts * self.num_candidates


@dataclass(frozen=True, slots=True)
class Product:
    """A batch of matrix products [m, k] x [k, n], and the floating-point operations the work needs of this shape."""

    batch: int
    m: int
    k: int
    n: int
    flops: float


def products(work: Work) -> list[Product]:
    """Every matrix product that one iteration cannot do without.

        rollout   each prompt once, then new_tokens - 1 steps of all rows (the first token comes from the prompt)
        update    prompt + K x new_tokens tokens per prompt, forward and backward (two products for each one forward)
        head      at the last prompt position, at each decoded row, and at each completion token of the update
        attention 4 x heads x head_dim operations per query, visible key and layer; the update three times that

    Norms, softmax, copies, the sampler and the optimiser are not counted: the limit is one of matrix products alone.
    """
    p, t, rows = work.prompt_tokens, work.new_tokens, work.num_rows
    attended, packed = work.heads * work.head_dim, p + work.num_candidates * t
    prompt_pairs = p * (p + 1) / 2
    decode_pairs = sum(p + i for i in range(1, t))
    found: list[Product] = []
    weights = [(work.hidden, attended + 2 * work.kv_heads * work.head_dim), (attended, work.hidden)]
    weights += [(work.hidden, 2 * work.intermediate), (work.intermediate, work.hidden)]
    for k, n in weights:
        once = 2.0 * k * n * work.layers
        found.append(Product(1, work.num_prompts * p, k, n, once * work.num_prompts * p))
        found.append(Product(1, rows, k, n, once * rows * (t - 1)))
        found.extend(_trained(work.num_prompts * packed, k, n, once * work.num_prompts * packed))
    head = 2.0 * work.hidden * work.vocab
    found.append(Product(1, rows, work.hidden, work.vocab, head * (work.num_prompts + rows * (t - 1))))
    found.extend(_trained(rows * t, work.hidden, work.vocab, head * rows * t))
    pair = 4.0 * attended * work.layers
    lanes, share = work.num_prompts * work.kv_heads, work.heads // work.kv_heads
    found.append(Product(lanes, share * p, work.head_dim, p, pair * work.num_prompts * prompt_pairs))
    found.append(Product(lanes, share * work.num_candidates, work.head_dim, p + t, pair * rows * decode_pairs))
    update_pairs = work.num_prompts * (prompt_pairs + work.num_candidates * sum(p + i for i in range(1, t + 1)))
    found.append(Product(lanes, share * packed, work.head_dim, packed, 3.0 * pair * update_pairs))
    return found


def _trained(rows: int, k: int, n: int, flops: float) -> list[Product]:
    return [Product(1, rows, k, n, flops), Product(1, rows, n, k, flops), Product(1, n, rows, k, flops)]


def limit_seconds(work: Work, repeats: int = 3) -> float:
    """Seconds the products of one iteration take here: sum over shapes of operations / measured operations per second.

    Each shape is timed by itself (the best of `repeats` runs, after one that is not counted).
    """
    seconds = 0.0
    for product in products(work):
        left, right = torch.randn(product.batch, product.m, product.k), torch.randn(product.batch, product.k, product.n)
        out = torch.empty(product.batch, product.m, product.n)
        one = (lambda a, b, c: lambda: torch.bmm(a, b, out=c))(left, right, out)
        dense = 2.0 * product.batch * product.m * product.k * product.n
        seconds += product.flops / dense * _best_seconds(one, repeats)
    return seconds


def _best_seconds(function: Callable[[], Any], repeats: int) -> float:
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


class Iteration:
    """The measured work on real parts: the local engine, then the learner, on one model."""

    def __init__(self, work: Work, seed: int = 0) -> None:
        self.work, self.seed, self.ticket = work, seed, 0
        model = random_model(_config(work), seed=seed)
        voice = HfVoice(_tokenizer(work.vocab), dialect="compact", max_prompt_tokens=work.prompt_tokens, eos_ids=())
        self.learner = Learner([PolicyModel(POLICY, model)], UpdateSettings(learning_rate=1e-5))
        self.engine = LocalEngine({POLICY: model}, {POLICY: voice}, LocalSettings(max_rows=work.num_rows))

    def run(self) -> tuple[float, float]:
        """One iteration; seconds of the rollout and of the update."""
        requests = self._requests()
        start = time.perf_counter()
        groups = asyncio.run(self._sample(requests))
        middle = time.perf_counter()
        self.learner.update(POLICY, self._rows(requests, groups))
        end = time.perf_counter()
        self.engine.publish(POLICY, self.learner.version(POLICY))
        self.ticket += 1
        return middle - start, end - middle

    async def _sample(self, requests: list[Request]) -> list[list[Completion]]:
        return await asyncio.gather(*(self.engine.sample(request) for request in requests))

    def _requests(self) -> list[Request]:
        draw = random.Random(f"{self.seed}/{self.ticket}")
        work, sampling = self.work, Sampling(max_tokens=self.work.new_tokens)
        prompts = [
            tuple(draw.randrange(work.vocab) for _ in range(work.prompt_tokens)) for _ in range(work.num_prompts)
        ]
        keys = [candidate_keys(draw.getrandbits(64), work.num_candidates) for _ in prompts]
        return [Request(POLICY, prompt, key, sampling) for prompt, key in zip(prompts, keys, strict=True)]

    def _rows(self, requests: list[Request], groups: list[list[Completion]]) -> list[Row]:
        version = self.learner.version(POLICY)
        return [
            Row(
                policy=POLICY,
                policy_version=version,
                role="role",
                slot=0,
                turn=0,
                prompt_ids=request.prompt_ids,
                completion_ids=answer.token_ids,
                sampling_logprobs=answer.logprobs,
                temperature=1.0,
                advantage=1.0 if place % 2 else -1.0,
                reward=float(place % 2),
                group=(index,),
                node=(index,),
            )
            for index, (request, answers) in enumerate(zip(requests, groups, strict=True))
            for place, answer in enumerate(answers)
        ]


def measure(
    seconds: float = 30.0, *, min_runs: int = 5, work: Work | None = None, threads: int | None = None
) -> dict[str, Any]:
    """Medians and ranges over at least `min_runs` iterations, for about `seconds`; one iteration before is not counted.

    `motet.completions_per_s` counts rollout and update. `limit.share` = limit seconds / iteration seconds, measured
    one after the other in the same run; `limit.completions_per_s` is what the products alone would allow.
    `threads` None keeps torch's own number; more threads than free cores make every figure worse.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    work = work or Work()
    iteration = Iteration(work)
    iteration.run()
    begin = time.perf_counter()
    rates: list[float] = []
    shares: list[float] = []
    limits: list[float] = []
    rollouts: list[float] = []
    while len(rates) < min_runs or time.perf_counter() - begin < seconds:
        limit = limit_seconds(work)
        rollout, update = iteration.run()
        rates.append(work.num_rows / (rollout + update))
        limits.append(work.num_rows / limit)
        shares.append(limit / (rollout + update))
        rollouts.append(rollout / (rollout + update))
    iteration.engine.close()
    report: dict[str, Any] = {}
    for name, values in (
        ("motet.completions_per_s", rates),
        ("limit.share", shares),
        ("limit.completions_per_s", limits),
    ):
        report |= {name: statistics.median(values), f"{name}.low": min(values), f"{name}.high": max(values)}
    return report | {
        "motet.rollout_frac": statistics.median(rollouts),
        "runs": len(rates),
        "threads": torch.get_num_threads(),
        "hardware": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "torch": torch.__version__,
    }


def _config(work: Work) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=work.vocab,
        hidden_size=work.hidden,
        intermediate_size=work.intermediate,
        num_hidden_layers=work.layers,
        num_attention_heads=work.heads,
        num_key_value_heads=work.kv_heads,
        head_dim=work.head_dim,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
    )


def _tokenizer(vocab: int) -> PreTrainedTokenizerFast:
    words = {"<unk>": 0} | {f"t{i}": i for i in range(1, vocab)}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<unk>")), unk_token="<unk>"
    )
