"""The work that `motet bench` measures: its sizes, its operations and bytes, the time its matrix products take here,
and the same seeded model as a folder that any program can load.

A random Qwen3 of 0.8 M parameters (hidden 128, 4 layers) in float32; 32 prompts of 110 tokens, 8 candidates each,
exactly 16 new tokens; then one update on all 256 rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config

from motet.policies.models import random_model

FLOAT_BYTES = 4
ROOF_SIZE, ROOF_COPY_BYTES = 1024, 64 * 2**20


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


def totals(work: Work) -> tuple[float, float]:
    """(operations, bytes) of one iteration: the two numbers that bound its time from below.

        operations = sum of Product.flops
        bytes      = sum of 4 (m k + k n + m n) x batch x how often the product is needed

    Bytes count each product's operands and result once, as if each came from memory and nothing else did: norms,
    copies, caches of the processor and the optimiser are left out. Both grow with every size of the work.

    >>> one = Work(num_prompts=1, num_candidates=1, layers=1)
    >>> two = Work(num_prompts=2, num_candidates=1, layers=1)
    >>> totals(two)[0] == 2 * totals(one)[0], totals(one)[1] < totals(two)[1] < 2 * totals(one)[1]
    (True, True)
    """
    flops = moved = 0.0
    for product in products(work):
        m, k, n = product.m, product.k, product.n
        flops += product.flops
        moved += product.flops / (2.0 * m * k * n) * FLOAT_BYTES * (m * k + k * n + m * n)
    return flops, moved


def roof(repeats: int = 3) -> tuple[float, float]:
    """(operations per second of a large product, bytes per second of a large copy), the best of `repeats` each."""
    left, right, out = (torch.randn(ROOF_SIZE, ROOF_SIZE) for _ in range(3))
    source = torch.zeros(ROOF_COPY_BYTES // FLOAT_BYTES)
    target = torch.empty_like(source)
    product = _best_seconds(lambda: torch.mm(left, right, out=out), repeats)
    copy = _best_seconds(lambda: target.copy_(source), repeats)
    return 2.0 * ROOF_SIZE**3 / product, 2.0 * ROOF_COPY_BYTES / copy


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


def model_config(work: Work) -> Qwen3Config:
    """The model of the work."""
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


def words(vocab: int) -> dict[str, int]:
    """
    >>> words(3)
    {'<unk>': 0, 't1': 1, 't2': 2}
    """
    return {"<unk>": 0} | {f"t{i}": i for i in range(1, vocab)}


def tokenizer(vocab: int) -> PreTrainedTokenizerFast:
    """One word, one token. There is no end token."""
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words(vocab), unk_token="<unk>")), unk_token="<unk>"
    )


def save(folder: Path, work: Work, seed: int = 0) -> None:
    """Writes the seeded model and a tokenizer of its words as a folder of `save_pretrained`.

    Trainers want an end and a padding token. Here both are one word whose id lies behind the model's vocabulary: no
    answer can hold it, so every answer has exactly the new tokens asked for without a rule that costs time.
    """
    model: Any = random_model(model_config(work), seed=seed)
    model.save_pretrained(folder)
    spoken = Tokenizer(models.WordLevel(words(work.vocab) | {"<end>": work.vocab}, unk_token="<unk>"))
    spoken.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    PreTrainedTokenizerFast(tokenizer_object=spoken, eos_token="<end>", pad_token="<end>").save_pretrained(folder)
