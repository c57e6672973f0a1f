"""Row counts and prompt widths that keep a row's numbers the same in any company.

A matrix product picks its kernel by the number of rows, so the last bits of a row's logits depend on how many rows are
computed beside it. Here the counts that agree are measured, and only those are used: a batch is filled up with dummy
rows. `docs/engines.md` describes the measurement and the findings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from motet.engines.decode import LENGTH_STEP, Forward
from motet.errors import EngineError

WIDTH_STEP = 16
DECODE_CANDIDATES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512)
LARGE_DECODE_CANDIDATES = (8, 16, 32, 64, 128, 256)
LARGE = 20_000_000
"""Parameters from which measuring costs seconds: fewer counts are tried then."""
PREFILL_CANDIDATES = (1, 2, 4, 8, 16, 24, 32, 64)
BATCHED_PREFILL_FLOPS = 1e9
"""A prompt that costs more than this alone fills the cores alone: it is computed by itself, whatever its company."""

_MEASURED: dict[tuple[object, ...], tuple[int, ...]] = {}


def prompt_width(num_tokens: int, step: int = WIDTH_STEP) -> int:
    """The width a prompt is padded to: its length rounded up to a multiple of `step`. It depends on that prompt alone.

    >>> [prompt_width(n) for n in (1, 16, 17, 45)]
    [16, 16, 32, 48]
    """
    return max(step, -(-num_tokens // step) * step)


def smallest(counts: Sequence[int], num: int) -> int:
    """The smallest allowed count that holds `num` rows; the largest one where none does.

    >>> smallest((16, 32, 64), 17), smallest((16, 32, 64), 99)
    (32, 64)
    """
    return next((count for count in counts if count >= num), counts[-1])


def split_rows(num: int, counts: Sequence[int]) -> list[int]:
    """Sizes of the batches that `num` rows are computed in, none above the largest count.

    >>> split_rows(150, (16, 64))
    [64, 64, 22]
    """
    full, rest = divmod(num, counts[-1])
    return [counts[-1]] * full + ([rest] if rest else [])


@dataclass(frozen=True, slots=True)
class RowBuckets:
    """Measures and remembers the allowed counts of one policy's model shape.

    `decode_counts` and `prefill_counts(width)` return ascending counts whose logits (and keys and values) are bit-equal
    to each other at every row position. The class that holds the largest candidate is chosen; counts outside it are not
    used. Measurements are shared by all models of one shape, dtype, device and thread count.
    """

    forward: Forward
    threads: int
    max_rows: int
    max_prefill_tokens: int

    def decode_counts(self) -> tuple[int, ...]:
        candidates = (*(c for c in self._steps() if c < self.max_rows), self.max_rows)
        return self._cached(("decode", candidates), lambda: _agreeing(candidates, self._decode_bits()))

    def _steps(self) -> tuple[int, ...]:
        return LARGE_DECODE_CANDIDATES if self.forward.num_parameters > LARGE else DECODE_CANDIDATES

    def prefill_counts(self, width: int) -> tuple[int, ...]:
        if 2.0 * self.forward.num_parameters * width > BATCHED_PREFILL_FLOPS:
            return (1,)
        candidates = tuple(c for c in PREFILL_CANDIDATES if c == 1 or c * width <= self.max_prefill_tokens)
        return self._cached(("prefill", width, candidates), lambda: _agreeing(candidates, self._prefill_bits(width)))

    def measured(self) -> dict[str, object]:
        """What has been measured so far, for `config.yaml`: counts for decoding, and for prefill by width."""
        mine = {k[1:]: v for k, v in _MEASURED.items() if k[0] == self._shape_key()}
        prefill = {str(k[1]): list(v) for k, v in mine.items() if k[0] == "prefill"}
        return {
            "decode": list(self.decode_counts()),
            "prefill": dict(sorted(prefill.items(), key=lambda kv: int(kv[0]))),
        }

    def _shape_key(self) -> str:
        return f"{self.forward.shape_id}/{self.threads}"

    def _cached(self, key: tuple[object, ...], measure: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
        full = (self._shape_key(), *key)
        if full not in _MEASURED:
            with _without_zero_matrices(self.forward.module), self.forward.serving():
                _MEASURED[full] = measure()
        return _MEASURED[full]

    def _decode_bits(self) -> Callable[[int], str | None]:
        """Bits of one decode step on `count` copies of a row, for two rows; None where two positions differ."""
        width, length, probes = 64, torch.tensor([59]), []
        for token in (1, 3)[: 1 if self.forward.num_parameters > LARGE else 2]:
            ids = _probe_ids(self.forward.vocab_size, width, seed=token)[None]
            probes.append((token % self.forward.vocab_size, self.forward.prefill(ids, length)[1]))

        def bits(count: int) -> str | None:
            digest = hashlib.sha256()
            for token, kv in probes:
                first = torch.zeros(count, dtype=torch.long, device=self.forward.device)
                rows = self.forward.expand(kv, first, length, LENGTH_STEP, count)
                logits = self.forward.step(torch.full((count,), token, device=self.forward.device), rows)
                if not _rows_equal(logits):
                    return None
                digest.update(_bits(logits[0]))
            return digest.hexdigest()

        return bits

    def _prefill_bits(self, width: int) -> Callable[[int], str | None]:
        ids = _probe_ids(self.forward.vocab_size, width, seed=7)

        def bits(count: int) -> str | None:
            digest = hashlib.sha256()
            logits, kv = self.forward.prefill(ids.expand(count, width), torch.full((count,), width - 3))
            for tensor in (logits, *kv.keys, *kv.values):
                if not _rows_equal(tensor):
                    return None
                digest.update(_bits(tensor[0]))
            return digest.hexdigest()

        return bits


def _agreeing(candidates: Sequence[int], bits: Callable[[int], str | None]) -> tuple[int, ...]:
    measured = {count: bits(count) for count in sorted(candidates)}
    for count in sorted(candidates, reverse=True):
        if measured[count] is not None:
            return tuple(c for c in sorted(candidates) if measured[c] == measured[count])
    raise EngineError(
        "no row count gives the same numbers at every position of a batch",
        fix="use one thread (`threads: 1`) or float32; the model's kernels mix rows here",
    )


def _probe_ids(vocab_size: int, width: int, seed: int) -> torch.Tensor:
    return torch.randint(0, vocab_size, (width,), generator=torch.Generator().manual_seed(seed))


def _rows_equal(tensor: torch.Tensor) -> bool:
    return bool((tensor == tensor[:1]).all())


def _bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


@contextmanager
def _without_zero_matrices(module: nn.Module) -> Iterator[None]:
    """Fills all-zero matrices with random numbers for the time of a measurement.

    A fresh adapter has B = 0: its products would agree whatever kernel computed them.
    """
    zero = [p for p in module.parameters() if p.dim() > 1 and not bool(p.any())]
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for p in zero:
            p.copy_(torch.randn(p.shape, generator=generator) * 0.05)
    try:
        yield
    finally:
        with torch.no_grad():
            for p in zero:
                p.zero_()
