"""One optimiser step of one policy: gradients summed over micro-batches, checked, clipped, applied. Legend: R rows, T
tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from motet.errors import UpdateError
from motet.losses.kl import kl_anchor
from motet.losses.packing import MicroBatch
from motet.losses.policy_gradient import LossStats, denominator, policy_loss, token_weights
from motet.losses.settings import UpdateSettings
from motet.policies import lora
from motet.policies.logprobs import ForwardPath, micro_batches_of, packed_logprobs, packed_values
from motet.types import Row

STATS = ("tokens", "clipped", "kl", "ratio_min", "ratio_max", "entropy", "anchor_kl")


class Stepping(Protocol):
    """What a step needs of a policy."""

    name: str
    model: nn.Module
    adapter: str | None
    reference: nn.Module | None
    settings: UpdateSettings
    path: ForwardPath
    version: int
    optimizer: torch.optim.Optimizer

    @property
    def parameters(self) -> Sequence[nn.Parameter]: ...


@dataclass(slots=True)
class StepReport:
    """`is_applied`: the weights moved. `rows` are the roles' names, `stats` float64 [len(STATS), R] in the same
    order."""

    is_applied: bool
    is_finite: bool
    loss: float
    grad_norm: float
    num_packed_tokens: int = 0
    ratio_gap: float = 0.0
    roles: list[str] = field(default_factory=list)
    stats: NDArray[np.float64] = field(default_factory=lambda: np.zeros((len(STATS), 0)))


def has_signal(rows: Sequence[Row], settings: UpdateSettings) -> bool:
    """Whether any term of the loss can have a gradient: a non-zero advantage, an anchored role or an entropy bonus.

    Without one the step is left out, since AdamW would still move the weights by its momentum.
    """
    loss = settings.loss
    return loss.entropy != 0.0 or any(row.advantage != 0.0 or loss.kl_coefficient(row.role) > 0.0 for row in rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The rows of one update as arrays [R]."""

    advantages: NDArray[np.float64]
    weights: NDArray[np.float64]
    anchors: NDArray[np.float64]
    is_current: NDArray[np.bool_]
    total: float


def _columns(rows: Sequence[Row], policy: Stepping) -> _Columns:
    weights = np.array([row.weight for row in rows])
    lengths = np.array([len(row.completion_ids) for row in rows])
    total = denominator(torch.from_numpy(lengths), torch.from_numpy(weights), policy.settings.loss)
    return _Columns(
        advantages=np.array([row.advantage for row in rows]),
        weights=weights,
        anchors=np.array([policy.settings.loss.kl_coefficient(row.role) for row in rows]),
        is_current=np.array([row.policy_version == policy.version for row in rows]),
        total=total,
    )


def optimizer_step(policy: Stepping, rows: Sequence[Row], *, is_first: bool) -> StepReport:
    """Compute the gradient of the loss of `rows` and apply it once.

    All denominators are those of `rows` as a whole, so the gradient does not depend on the cut into micro-batches. With
    `is_first` (the weights are those that sampled) every token's ratio must be 1 within the tolerance: an
    `UpdateError` names policy and role otherwise, before anything moved. A loss or gradient that is not finite raises
    or is skipped, as set; weights, optimiser state and version are then as before.
    """
    settings = policy.settings
    columns = _columns(rows, policy)
    batches = micro_batches_of(rows, policy.path, settings.micro_batch_tokens)
    sampled = [row.sampling_logprobs for row in rows]
    policy.optimizer.zero_grad(set_to_none=True)
    report = StepReport(False, True, 0.0, 0.0)
    pieces: list[Tensor] = []
    try:
        with lora.activate(policy.model, policy.adapter):
            for batch in batches:
                loss, stats = _loss(policy, batch, batch.padded(sampled), columns, rows if is_first else None, report)
                loss.backward()
                report.loss += float(loss.detach())
                report.num_packed_tokens += batch.num_tokens
                pieces.append(stats)
        report.stats = torch.cat(pieces, dim=1).double().cpu().numpy()
        report.roles = [rows[i].role for batch in batches for i in batch.rows]
        apply_gradients(policy, report)
    finally:
        policy.optimizer.zero_grad(set_to_none=True)
    return report


def _loss(
    policy: Stepping,
    batch: MicroBatch,
    sampled: NDArray[np.float64],
    columns: _Columns,
    checked: Sequence[Row] | None,
    report: StepReport,
) -> tuple[Tensor, Tensor]:
    """Loss of one micro-batch and its statistics [len(STATS), R]."""
    settings, loss_settings = policy.settings, policy.settings.loss
    logprobs, entropies = packed_values(
        policy.model, batch, policy.path, max_logits=settings.max_logits, entropy_gradient=loss_settings.entropy != 0.0
    )
    put = lambda array: torch.from_numpy(array).to(device=logprobs.device, dtype=logprobs.dtype)
    sampling, weights, mask = (
        put(sampled),
        put(columns.weights[batch.rows]),
        torch.from_numpy(batch.mask).to(logprobs.device),
    )
    if checked is not None:
        _check_ratio(policy, batch, logprobs.detach() - sampling, mask, columns, checked, report)
    loss, stats = policy_loss(
        logprobs,
        sampling,
        put(columns.advantages[batch.rows]),
        mask,
        loss_settings,
        weights=weights,
        total=columns.total,
    )
    counted = token_weights(mask, weights, loss_settings) / columns.total
    if loss_settings.entropy != 0.0:
        loss = loss - loss_settings.entropy * (counted * entropies).sum()
    anchor = torch.zeros_like(weights)
    strength = columns.anchors[batch.rows]
    if strength.any():
        reference = _reference_logprobs(policy, batch)
        term = kl_anchor(
            logprobs, reference, sampling, estimator=loss_settings.kl_estimator, form=loss_settings.kl_form
        )
        loss = loss + (put(strength)[:, None] * counted * term).sum()
        anchor = (term.detach() * mask).sum(dim=1)
    return loss, _stacked(stats, (entropies.detach() * mask).sum(dim=1), anchor)


def _stacked(stats: LossStats, entropy: Tensor, anchor: Tensor) -> Tensor:
    return torch.stack([stats.tokens, stats.clipped, stats.kl, stats.ratio_min, stats.ratio_max, entropy, anchor])


def _reference_logprobs(policy: Stepping, batch: MicroBatch) -> Tensor:
    """The anchor's log-probs [R, T]: the base under a LoRA policy, the frozen copy of a full one."""
    with torch.no_grad():
        if policy.adapter is not None:
            with lora.activate(policy.model, None):
                return packed_logprobs(policy.model, batch, policy.path, max_logits=policy.settings.max_logits)
        if policy.reference is None:
            raise UpdateError(
                "the KL anchor has no reference", where={"policy": policy.name}, fix="pass PolicyModel(reference=...)"
            )
        return packed_logprobs(policy.reference, batch, policy.path, max_logits=policy.settings.max_logits)


def _check_ratio(
    policy: Stepping,
    batch: MicroBatch,
    gap: Tensor,
    mask: Tensor,
    columns: _Columns,
    rows: Sequence[Row],
    report: StepReport,
) -> None:
    current = torch.from_numpy(columns.is_current[batch.rows]).to(mask.device)
    away = torch.where(mask & current[:, None], (torch.exp(gap) - 1.0).abs(), 0.0).amax(dim=1)
    away = away.nan_to_num(nan=torch.inf)
    worst = int(away.argmax())
    report.ratio_gap = max(report.ratio_gap, float(away[worst]))
    tolerance = policy.settings.ratio_tolerance
    if tolerance is None or float(away[worst]) <= tolerance:
        return
    row = rows[int(batch.rows[worst])]
    raise UpdateError(
        f"the first-pass ratio is off 1 by {float(away[worst]):.3g}, the tolerance is {tolerance:.3g}",
        where={
            "policy": policy.name,
            "role": row.role,
            "slot": row.slot,
            "turn": row.turn,
            "policy_version": row.policy_version,
        },
        fix="sample from the full softmax at the recorded temperature with the weights that learn; "
        "raise ratio_tolerance only for an engine whose arithmetic differs (bf16, vLLM)",
    )


def apply_gradients(policy: Stepping, report: StepReport) -> None:
    """Check, clip, step. `report.grad_norm` is the norm before clipping."""
    gradients = [p.grad for p in policy.parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    report.grad_norm = float(norm)
    report.is_finite = bool(np.isfinite(report.loss) and np.isfinite(report.grad_norm))
    if not report.is_finite:
        if policy.settings.on_nonfinite == "skip":
            return
        raise UpdateError(
            f"loss {report.loss} with gradient norm {report.grad_norm} is not finite",
            where={"policy": policy.name, "version": policy.version},
            fix="look for an advantage or log-prob that is not finite; on_nonfinite=skip counts the update and goes on",
        )
    if policy.settings.max_grad_norm is not None:
        torch.nn.utils.clip_grads_with_norm_(policy.parameters, policy.settings.max_grad_norm, norm)
    policy.optimizer.step()
    report.is_applied = True
