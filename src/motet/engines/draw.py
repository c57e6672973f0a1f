"""From logits and uniforms to tokens: inverse CDF in float64, log-probs in nats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from motet.types import Sampling


@dataclass(slots=True)
class RowSampling:
    """Sampling settings of R rows: temperature [R] float64 (1 where greedy), greedy [R], top_p [R], top_k [R]."""

    temperature: torch.Tensor
    greedy: torch.Tensor
    top_p: torch.Tensor
    top_k: torch.Tensor

    @classmethod
    def of(cls, settings: Sequence[Sampling]) -> RowSampling:
        return cls(
            torch.tensor([1.0 if s.greedy else s.temperature for s in settings], dtype=torch.float64),
            torch.tensor([s.greedy for s in settings]),
            torch.tensor([s.top_p for s in settings], dtype=torch.float64),
            torch.tensor([s.top_k for s in settings]),
        )

    def select(self, index: torch.Tensor) -> RowSampling:
        return RowSampling(self.temperature[index], self.greedy[index], self.top_p[index], self.top_k[index])


def draw(logits: torch.Tensor, uniforms: torch.Tensor, rows: RowSampling) -> tuple[torch.Tensor, torch.Tensor]:
    """One token per row.

    Claim: row r gets the smallest i with cdf_r(i) > u_r * cdf_r(V - 1), cdf the float64 running sum of the softmax of
    logits_r / temperature_r; a greedy row gets the argmax, the lowest index on ties, and temperature 1.
    Shapes: logits [R, V] float32, uniforms [R] float64 in (0, 1) -> ids [R], log-probs [R] float64 in nats.
    Conventions: log-probs are those of the full softmax at the row's temperature, also where top_p or top_k cut the
    support. `top_k` keeps the k largest (lower index first on ties), `top_p` then the fewest largest ones whose sum
    reaches it. A row depends on nothing but its own logits, uniform and settings. NaN in gives NaN out; the caller
    refuses it.

    >>> even = torch.zeros(1, 4)
    >>> one = RowSampling.of([Sampling()])
    >>> ids, logprobs = draw(even, torch.tensor([0.6], dtype=torch.float64), one)
    >>> ids.tolist(), round(logprobs.item(), 4)
    ([2], -1.3863)
    """
    scaled = logits.double() / rows.temperature[:, None]
    scaled -= scaled.amax(dim=-1, keepdim=True)
    weights = scaled.exp()
    whole = weights.sum(dim=-1).log()
    cut = ((rows.top_p < 1.0) | (rows.top_k > 0)) & ~rows.greedy
    if bool(cut.any()):
        index = cut.nonzero()[:, 0]
        weights[index] = _cut_support(weights[index], rows.top_p[index], rows.top_k[index])
    ids = _inverse_cdf(weights, uniforms)
    if bool(rows.greedy.any()):
        ids = torch.where(rows.greedy, logits.argmax(dim=-1), ids)
    return ids, scaled.gather(1, ids[:, None])[:, 0] - whole


def _inverse_cdf(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    cdf = weights.cumsum(dim=-1)
    total = cdf[:, -1]
    # u * total may round up to total, above which there is no token: stay just below it.
    target = torch.minimum(uniforms * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cdf, target[:, None], right=True)[:, 0].clamp_(max=weights.shape[1] - 1)


def _cut_support(weights: torch.Tensor, top_p: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(weights.shape[1])[None]
    kept = (top_k[:, None] == 0) | (rank < top_k[:, None])
    ordered = ordered * kept
    before = ordered.cumsum(dim=-1) - ordered
    ordered = ordered * (before < top_p[:, None] * ordered.sum(dim=-1, keepdim=True))
    return torch.zeros_like(weights).scatter_(1, order, ordered)
