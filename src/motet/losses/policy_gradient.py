"""The clipped policy-gradient loss. Legend: B rows, T tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from motet.errors import UpdateError
from motet.losses.settings import LossSettings


@dataclass(frozen=True, slots=True, eq=False)
class LossStats:
    """Per-row sums and extremes, all float [B] and detached, so that micro-batches add up and roles can be told apart.

    tokens: counted completion tokens. clipped: those whose clipped branch decided. kl: sum of exp(x) - x - 1 with
    x = policy - sampling, an estimate of KL(sampling || policy) in nats. ratio_min, ratio_max: 1 for a row without
    tokens.
    """

    tokens: Tensor
    clipped: Tensor
    kl: Tensor
    ratio_min: Tensor
    ratio_max: Tensor


def token_weights(mask: Tensor, weights: Tensor, settings: LossSettings) -> Tensor:
    """What each token counts before division by `denominator`: float [B, T].

    `token_mean` and `constant`: the row's weight; `sequence_mean`: the row's weight over its number of tokens.
    """
    counted = mask.to(weights.dtype) * weights[:, None]
    if settings.aggregation == "sequence_mean":
        counted = counted / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return counted


def denominator(lengths: Tensor, weights: Tensor, settings: LossSettings) -> float:
    """The divisor of a whole update, from **all** its rows: lengths and weights [B].

    `token_mean`: sum of weight x length. `sequence_mean`: sum of weights of rows that have tokens.
    `constant`: that sum x `constant_tokens`. A row without tokens counts nowhere.

    >>> lengths, weights = torch.tensor([3, 1, 0]), torch.tensor([1.0, 1.0, 1.0])
    >>> denominator(lengths, weights, LossSettings())
    4.0
    >>> denominator(lengths, weights, LossSettings(aggregation="sequence_mean"))
    2.0
    """
    if settings.aggregation == "token_mean":
        return float((lengths * weights).sum())
    num = float((weights * (lengths > 0)).sum())
    return num * settings.constant_tokens if settings.aggregation == "constant" and settings.constant_tokens else num


def policy_loss(
    policy_logprobs: Tensor,
    sampling_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    settings: LossSettings,
    *,
    weights: Tensor | None = None,
    total: float | None = None,
) -> tuple[Tensor, LossStats]:
    """The clipped surrogate, summed over these rows and divided by `total`.

        r = exp(policy - sampling)                                      per token, or the row's geometric mean
        (`sequence`) l = -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A)           and, with dual_clip c and A < 0,
        l = min(l, c |A|) loss = sum_rows sum_tokens w l / total

    policy_logprobs, sampling_logprobs, mask: [B, T]; advantages, weights: [B]. Values under a False mask are ignored,
    even if they are not finite. `weights` 0 takes a row out of the numerator; it must be out of `total` as well
    (`denominator` does that). `total` is that of the whole update, so micro-batches add up to one batch; None takes
    that of these rows. An empty batch gives 0. Schulman et al. 2017 (PPO), Ye et al. 2020 (dual clip), Yu et al. 2025
    (two clips), Zheng et al. 2025 (GSPO).

    >>> log = lambda *x: torch.tensor([x]).log()
    >>> advantages, mask = torch.tensor([2.0]), torch.tensor([[True, True]])
    >>> loss, stats = policy_loss(log(0.6, 0.5), log(0.4, 0.5), advantages, mask, LossSettings())
    >>> round(float(loss), 4), float(stats.clipped)       # -(1.2 * 2 + 1 * 2) / 2; the ratio 1.5 was clipped to 1.2
    (-2.2, 1.0)
    """
    if not (policy_logprobs.shape == sampling_logprobs.shape == mask.shape and advantages.shape == mask.shape[:1]):
        given = {"policy": policy_logprobs, "sampling": sampling_logprobs, "advantages": advantages, "mask": mask}
        shapes: dict[str, object] = {name: tuple(tensor.shape) for name, tensor in given.items()}
        raise UpdateError("the loss was given shapes that do not fit", where=shapes, fix="use [B, T] and [B]")
    if weights is None:
        weights = torch.ones_like(advantages)
    if total is None:
        total = denominator(mask.sum(dim=1), weights, settings)
    gap = torch.where(mask, policy_logprobs - sampling_logprobs.detach(), 0.0)
    if settings.ratio == "sequence":
        mean = gap.sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True).clamp(min=1)
        ratio = torch.exp(mean).expand_as(gap)
    else:
        ratio = torch.exp(gap)
    value, clipped = _clipped(ratio, advantages[:, None], settings)
    # where, not a product: 0 x inf would be NaN for rows that are out
    counted = token_weights(mask, weights, settings)
    loss = torch.where(counted > 0, value * counted, 0.0).sum() / max(total, torch.finfo(torch.float32).tiny)
    return loss, _stats(gap.detach(), ratio.detach(), clipped, mask)


def _clipped(ratio: Tensor, advantages: Tensor, settings: LossSettings) -> tuple[Tensor, Tensor]:
    plain = -advantages * ratio
    bounded = -advantages * torch.clamp(ratio, 1.0 - settings.clip_low, 1.0 + settings.clip_high)
    value = torch.maximum(plain, bounded)
    clipped = bounded.detach() > plain.detach()
    if settings.dual_clip is not None:
        cap = settings.dual_clip * advantages.abs()
        is_capped = (advantages < 0) & (value > cap)
        value = torch.where(is_capped, cap.expand_as(value), value)
        clipped = clipped | is_capped.detach()
    return value, clipped


def _stats(gap: Tensor, ratio: Tensor, clipped: Tensor, mask: Tensor) -> LossStats:
    return LossStats(
        tokens=mask.sum(dim=1).to(gap.dtype),
        clipped=(clipped & mask).sum(dim=1).to(gap.dtype),
        kl=torch.where(mask, torch.exp(gap) - gap - 1.0, 0.0).sum(dim=1),
        ratio_min=torch.where(mask, ratio, torch.inf).amin(dim=1).nan_to_num(posinf=1.0),
        ratio_max=torch.where(mask, ratio, -torch.inf).amax(dim=1).nan_to_num(neginf=1.0),
    )
