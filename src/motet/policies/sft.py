"""Supervised steps: a policy learns given answers by cross-entropy, with the packing of the update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from motet.errors import ConfigError, UpdateError
from motet.policies import lora
from motet.policies.logprobs import micro_batches_of, packed_logprobs
from motet.policies.step import Stepping, StepReport, apply_gradients
from motet.policies.update import LearnedPolicy


@dataclass(frozen=True, slots=True)
class Example:
    """An answer to imitate, the end token included. `weight` scales every token's loss; 0 leaves it out.

    Several answers to one prompt share it in the packed sequence.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    weight: float = 1.0
    temperature: float = 1.0


def supervised_step(policy: Stepping, examples: Sequence[Example]) -> StepReport:
    """One optimiser step on

        loss = -sum_rows weight x sum_tokens log p(token) / sum_rows weight x length        (nats per token)

    Independent of the cut into micro-batches. Raises `UpdateError` where no token carries weight, for a negative or
    non-finite weight, and (or skips, as `on_nonfinite` is set) for a loss or gradient that is not finite. The caller
    advances version and clock.
    """
    if not all(e.weight >= 0.0 and np.isfinite(e.weight) for e in examples):
        raise UpdateError("an example has a weight below 0 or not finite", fix="use 0 to leave an example out")
    kept = [e for e in examples if e.weight > 0.0 and e.completion_ids]
    if not kept:
        raise UpdateError("no example has a token to learn", fix="give answers with at least the end token")
    settings = policy.settings
    total = sum(e.weight * len(e.completion_ids) for e in kept)
    policy.optimizer.zero_grad(set_to_none=True)
    report = StepReport(False, True, 0.0, 0.0)
    try:
        with lora.activate(policy.model, policy.adapter):
            for batch in micro_batches_of(kept, policy.path, settings.micro_batch_tokens):
                logprobs = packed_logprobs(policy.model, batch, policy.path, max_logits=settings.max_logits)
                weights = torch.from_numpy(batch.mask * np.array([[kept[i].weight] for i in batch.rows])).to(logprobs)
                loss = -(weights * logprobs).sum() / total
                loss.backward()
                report.loss += float(loss.detach())
                report.num_packed_tokens += batch.num_tokens
        apply_gradients(policy, report)
    finally:
        policy.optimizer.zero_grad(set_to_none=True)
    return report


@torch.no_grad()
def cross_entropy(policy: Stepping, examples: Sequence[Example]) -> float:
    """The loss of `supervised_step` (nats per token), without learning."""
    kept = [e for e in examples if e.weight > 0.0 and e.completion_ids]
    found = 0.0
    with lora.activate(policy.model, policy.adapter):
        for batch in micro_batches_of(kept, policy.path, policy.settings.micro_batch_tokens):
            logprobs = packed_logprobs(policy.model, batch, policy.path, max_logits=policy.settings.max_logits)
            weights = torch.from_numpy(batch.mask * np.array([[kept[i].weight] for i in batch.rows])).to(logprobs)
            found -= float((weights * logprobs).sum())
    return found / sum(e.weight * len(e.completion_ids) for e in kept)


def batches(examples: Sequence[Example], prompts_per_step: int, seed: int, epoch: int) -> list[list[Example]]:
    """One epoch: every example once, all answers to one prompt in one step, prompts in an order drawn from (seed,
    epoch)."""
    groups: dict[tuple[int, ...], list[Example]] = {}
    for example in examples:
        groups.setdefault(example.prompt_ids, []).append(example)
    prompts = list(groups)
    order = np.random.default_rng((seed, epoch)).permutation(len(prompts))
    return [
        [example for i in order[start : start + prompts_per_step] for example in groups[prompts[i]]]
        for start in range(0, len(order), prompts_per_step)
    ]


def fit(
    policy: LearnedPolicy, examples: Sequence[Example], *, epochs: int = 1, prompts_per_step: int = 64, seed: int = 0
) -> Iterator[dict[str, float]]:
    """Imitate `examples` for `epochs` epochs; yields the metrics of every step as it is done.

    Examples of weight 0 or without tokens are left out before steps are counted.
    The schedule ticks once per step here. The order depends on (seed, epoch) alone, so the same call gives the same
    bits.
    """
    examples = [e for e in examples if e.weight != 0.0 and e.completion_ids]
    if epochs < 1 or prompts_per_step < 1 or not examples:
        raise ConfigError(
            "there is nothing to fit",
            where={"epochs": epochs, "prompts_per_step": prompts_per_step, "examples": len(examples)},
            fix="give at least one of each",
        )
    for epoch in range(epochs):
        for chosen in batches(examples, prompts_per_step, seed, epoch):
            rate = policy.learning_rate
            for group in policy.optimizer.param_groups:
                group["lr"] = rate
            report = supervised_step(policy, chosen)
            policy.version += int(report.is_applied)
            policy.ticks += 1
            yield {
                "sft/epoch": float(epoch),
                "sft/step": float(policy.ticks),
                "sft/loss": report.loss,
                "sft/grad_norm": report.grad_norm,
                "sft/lr": rate,
                "sft/tokens": float(sum(len(e.completion_ids) for e in chosen)),
            }
