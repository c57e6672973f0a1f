"""The optimiser of every warm start: Muon for the matrices inside the layers, AdamW for the embedding and the norms."""

from __future__ import annotations

import torch
from torch import Tensor


class Optimiser:
    """Steps over weights by name, at a learning rate that is told with each step."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        inner = [w for name, w in weights.items() if w.ndim == 2 and "embed" not in name]
        outer = [w for name, w in weights.items() if w.ndim != 2 or "embed" in name]
        self._parts: list[torch.optim.Optimizer] = [
            torch.optim.Muon(inner, weight_decay=0.01, momentum=0.95, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(outer, betas=(0.9, 0.95), weight_decay=0.0),
        ]

    def step(self, lr: float) -> None:
        """One step on the gradients that are there, which are gone afterwards."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = lr
            part.step()
            part.zero_grad(set_to_none=True)


def rate_at(done: float, *, warm_up: float, decay: float, floor: float) -> float:
    """The share of the full learning rate when the share `done` of the steps is done: it rises over the first
    `warm_up`, stays, and falls linearly over the last `decay` to `floor`.

    >>> [round(rate_at(done, warm_up=0.1, decay=0.5, floor=0.02), 2) for done in (0.0, 0.2, 0.75, 0.99)]
    [0.02, 1.0, 0.5, 0.02]
    """
    return min(1.0, done / warm_up + 0.02) * max(floor, min(1.0, (1.0 - done) / decay))
