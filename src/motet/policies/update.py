"""The learner: every policy with its own optimiser, schedule and version.

rows of one policy -> drop what teaches nothing -> split into updates -> packed micro-batches -> loss -> one step each
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn

from motet.errors import ConfigError, UpdateError
from motet.losses.settings import LossSettings, UpdateSettings, check_trainable_sampling
from motet.policies import lora
from motet.policies.batching import parts_by_count, parts_by_group
from motet.policies.logprobs import ForwardPath, inspect_model
from motet.policies.step import STATS, StepReport, has_signal, optimizer_step
from motet.types import Row

__all__ = ["Learner", "LearnedPolicy", "LossSettings", "PolicyModel", "UpdateSettings", "check_trainable_sampling"]


@dataclass(frozen=True, slots=True, eq=False)
class PolicyModel:
    """The weights of one trainable policy: a whole model, or (with `adapter`) one LoRA adapter on it.

    `reference` is the frozen model of the KL anchor; a full policy that needs one and gets none keeps a frozen copy
    of its weights as they are now, so build the learner from the base and load a checkpoint afterwards. A LoRA
    policy's reference is its base. `settings` replaces the learner's for this policy.
    """

    name: str
    model: nn.Module
    adapter: str | None = None
    reference: nn.Module | None = None
    settings: UpdateSettings | None = None


@dataclass(slots=True, eq=False)
class LearnedPolicy:
    """One policy in training. `version` counts optimiser steps, `ticks` iterations (the schedule's clock)."""

    name: str
    model: nn.Module
    adapter: str | None
    reference: nn.Module | None
    settings: UpdateSettings
    path: ForwardPath
    named_parameters: dict[str, nn.Parameter]
    optimizer: torch.optim.Optimizer
    version: int = 0
    ticks: int = 0

    @property
    def parameters(self) -> list[nn.Parameter]:
        return list(self.named_parameters.values())

    @property
    def kind(self) -> str:
        return "full" if self.adapter is None else "lora"

    @property
    def learning_rate(self) -> float:
        return self.settings.learning_rate_at(self.ticks)


class Learner:
    """Owns the trainable policies of a run: `update(policy, rows)` once per iteration and policy.

    One AdamW, one schedule and one version counter per policy. The schedule ticks once per `update` call, however
    many roles, rows or steps that call has, and also when it takes no step. Models are used in eval mode (no
    dropout), so that the ratio of the first pass is 1. Two policies may share a base through adapters, never a
    trainable parameter.
    """

    def __init__(self, policies: Sequence[PolicyModel], settings: UpdateSettings | None = None) -> None:
        settings = settings or UpdateSettings()
        paths: dict[int, ForwardPath] = {}
        self._policies: dict[str, LearnedPolicy] = {}
        for p in policies:
            if p.name in self._policies:
                raise ConfigError(f"two policies are named {p.name!r}", fix="give every policy its own name")
            own = p.settings or settings
            if id(p.model) not in paths:
                p.model.eval()
                with lora.activate(p.model, None):
                    paths[id(p.model)] = inspect_model(p.model, pack=own.pack)
                for note in paths[id(p.model)].notes:
                    warnings.warn(note, stacklevel=2)
            self._policies[p.name] = _learned(p, own, paths[id(p.model)])
        self._check_apart()

    def _check_apart(self) -> None:
        owner: dict[int, str] = {}
        for policy in self._policies.values():
            for name, parameter in policy.named_parameters.items():
                other = owner.setdefault(id(parameter), policy.name)
                if other != policy.name:
                    raise ConfigError(
                        "two policies share a trainable parameter",
                        where={"policies": f"{other}, {policy.name}", "parameter": name},
                        fix="give each its own copy of the model, or an adapter each, or map the roles to one policy",
                    )
        whole = {id(p.model) for p in self._policies.values() if p.adapter is None}
        for policy in self._policies.values():
            if policy.adapter is not None and id(policy.model) in whole:
                raise ConfigError(
                    "an adapter's base is trained by another policy",
                    where={"policy": policy.name},
                    fix="give the adapter a base of its own",
                )

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(self._policies)

    def policy(self, name: str) -> LearnedPolicy:
        if name not in self._policies:
            raise ConfigError(
                f"policy {name!r} does not learn",
                where={"known": ", ".join(self._policies)},
                fix="name a trainable policy",
            )
        return self._policies[name]

    def version(self, policy: str) -> int:
        """How many optimiser steps `policy` has taken."""
        return self.policy(policy).version

    def resolved(self) -> dict[str, dict[str, object]]:
        """What was chosen per policy, for the run's log: kind, size, packing, the reasons against it, settings."""
        return {p.name: _resolved(p) for p in self._policies.values()}

    def update(self, policy: str, rows: Sequence[Row]) -> dict[str, float]:
        """Learn from one iteration's rows of `policy`, of all its roles together; returns metrics (docs/update.md).

        Rows that teach nothing (weight 0, no tokens, truncated when those are masked) are left out of everything, the
        denominators included. Raises `UpdateError` for rows of another policy, stale rows, malformed rows, a
        first-pass ratio off 1 and, if set so, for a loss or gradient that is not finite. After an error in the first
        step nothing has changed.
        """
        learned = self.policy(policy)
        _check_rows(learned, rows)
        settings = learned.settings
        kept = [
            r for r in rows if r.weight > 0.0 and r.completion_ids and not (settings.mask_truncated and r.truncated)
        ]
        if settings.rows_per_update is not None:
            parts = parts_by_count(len(kept), settings.rows_per_update)
        else:
            parts = parts_by_group(kept, settings.updates_per_iteration)
        rate = learned.learning_rate
        for group in learned.optimizer.param_groups:
            group["lr"] = rate
        reports: list[StepReport] = []
        num_skipped = 0 if parts else 1
        has_moved = False
        for part in parts * settings.epochs:
            chosen = [kept[i] for i in part]
            if not has_signal(chosen, settings):
                num_skipped += 1
                continue
            report = optimizer_step(learned, chosen, is_first=not has_moved)
            reports.append(report)
            if report.is_applied:
                has_moved = True
                learned.version += 1
        learned.ticks += 1
        metrics = _metrics(reports, rows, kept)
        metrics |= {
            "update/lr": rate,
            "update/version": float(learned.version),
            "update/planned": float(len(parts) * settings.epochs),
            "update/skipped": float(num_skipped),
        }
        return metrics


def _learned(p: PolicyModel, settings: UpdateSettings, path: ForwardPath) -> LearnedPolicy:
    reference = p.reference
    if p.adapter is not None:
        named = lora.parameters(p.model, p.adapter)
    else:
        if lora.adapters(p.model):
            raise ConfigError(
                "a full policy has adapters on it",
                where={"policy": p.name},
                fix="name the adapter, or use a clean copy",
            )
        if reference is None and settings.loss.has_anchor:
            reference = copy.deepcopy(p.model)
        named = dict(p.model.named_parameters())
        for parameter in named.values():
            parameter.requires_grad_(True)
    if reference is not None:
        reference.eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(
        list(named.values()),
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
        fused=True,
    )
    return LearnedPolicy(p.name, p.model, p.adapter, reference, settings, path, named, optimizer)


def _resolved(p: LearnedPolicy) -> dict[str, object]:
    out: dict[str, object] = {
        "kind": p.kind,
        "trainable_parameters": sum(q.numel() for q in p.parameters),
        "packed": p.path.packed,
        "logits": p.path.head,
        "notes": list(p.path.notes),
        "settings": asdict(p.settings),
    }
    if p.adapter is not None:
        about = lora.settings(p.model, p.adapter)
        out |= {"adapter": p.adapter, "rank": about["rank"], "alpha": about["alpha"]}
    return out


def _check_rows(policy: LearnedPolicy, rows: Sequence[Row]) -> None:
    for row in rows:
        where: dict[str, object] = {"policy": policy.name, "role": row.role, "slot": row.slot, "turn": row.turn}
        if row.policy != policy.name:
            raise UpdateError(
                f"a row belongs to policy {row.policy!r}", where=where, fix="split the rows by policy first"
            )
        if len(row.sampling_logprobs) != len(row.completion_ids):
            raise UpdateError(
                f"{len(row.completion_ids)} tokens have {len(row.sampling_logprobs)} sampling log-probs",
                where=where,
                fix="record one log-prob per sampled token, the end token included",
            )
        if not (row.weight >= 0.0 and math.isfinite(row.weight)):
            raise UpdateError(
                f"a row has weight {row.weight}", where=where, fix="use 0 to leave a row out, 1 to count it"
            )
        if row.policy_version != policy.version and not policy.settings.allow_stale:
            raise UpdateError(
                f"a row was sampled by version {row.policy_version}, the policy is at {policy.version}",
                where=where,
                fix="collect anew after each update, or set allow_stale",
            )


def _metrics(reports: Sequence[StepReport], rows: Sequence[Row], kept: Sequence[Row]) -> dict[str, float]:
    num_steps = sum(r.is_applied for r in reports)
    out = {
        "update/updates": float(num_steps),
        "update/nonfinite": float(sum(not r.is_finite for r in reports)),
        "update/rows": float(len(kept)),
        "update/rows_left_out": float(len(rows) - len(kept)),
        "update/tokens": float(sum(len(r.completion_ids) for r in kept)),
    }
    for role in sorted({r.role for r in kept}):
        out[f"update/rows/{role}"] = float(sum(r.role == role for r in kept))
        out[f"update/tokens/{role}"] = float(sum(len(r.completion_ids) for r in kept if r.role == role))
    if not reports:
        return out
    out |= {
        "update/rows_per_update": float(np.mean([len(r.roles) for r in reports])),
        "update/packed_tokens": float(sum(r.num_packed_tokens for r in reports)),
        "update/loss": float(np.mean([r.loss for r in reports])),
        "update/grad_norm": float(np.mean([r.grad_norm for r in reports])),
        "update/first_ratio_gap": max(r.ratio_gap for r in reports),
    }
    stats = np.concatenate([r.stats for r in reports], axis=1)
    roles = np.array([role for r in reports for role in r.roles])
    out |= _ratios(stats, "")
    for role in sorted(set(roles.tolist())):
        out |= _ratios(stats[:, roles == role], f"/{role}")
    return out


def _ratios(stats: np.ndarray, suffix: str) -> Mapping[str, float]:
    by = dict(zip(STATS, stats, strict=True))
    tokens = max(float(by["tokens"].sum()), 1.0)
    return {
        f"update/clip_frac{suffix}": float(by["clipped"].sum()) / tokens,
        f"update/approx_kl{suffix}": float(by["kl"].sum()) / tokens,
        f"update/entropy{suffix}": float(by["entropy"].sum()) / tokens,
        f"update/anchor_kl{suffix}": float(by["anchor_kl"].sum()) / tokens,
        f"update/ratio_min{suffix}": float(by["ratio_min"].min()),
        f"update/ratio_max{suffix}": float(by["ratio_max"].max()),
    }
