"""What a user may set about the loss and the update. Plain frozen values: no torch here, so that a recipe is checked
at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from motet.errors import ConfigError
from motet.types import Sampling

Aggregation = Literal["token_mean", "sequence_mean", "constant"]
KlEstimator = Literal["k1", "k2", "k3"]
KlForm = Literal["loss", "ratio"]
Schedule = Literal["constant", "linear", "cosine"]
OnNonFinite = Literal["raise", "skip"]


def _require(condition: bool, what: str, key: str, value: object, fix: str) -> None:
    if not condition:
        raise ConfigError(what, where={key: value}, fix=fix)


@dataclass(frozen=True, slots=True)
class LossSettings:
    """The loss of one policy. See `losses.policy_gradient.policy_loss` for the formulas.

    clip_low, clip_high: the ratio is clipped to [1 - clip_low, 1 + clip_high].
    ratio: `token`, or `sequence` (GSPO: the geometric mean of the row's token ratios; use far smaller clips, about
    3e-4).
    dual_clip: bound c > 1 on the loss of rows with a negative advantage, as a multiple of |A|; None is off.
    aggregation: `token_mean`, `sequence_mean`, or `constant`, which divides by rows x `constant_tokens` (Dr. GRPO).
    entropy: coefficient of the entropy bonus (nats per token).
    kl: coefficient of the KL anchor by role; "*" stands for every role that is not named.
    kl_estimator, kl_form: see `losses.kl`.

    >>> LossSettings(kl={"*": 0.1, "planner": 0.0}).kl_coefficient("planner")
    0.0
    >>> LossSettings(kl={"*": 0.1, "planner": 0.0}).kl_coefficient("executor")
    0.1
    """

    clip_low: float = 0.2
    clip_high: float = 0.2
    ratio: Literal["token", "sequence"] = "token"
    dual_clip: float | None = None
    aggregation: Aggregation = "token_mean"
    constant_tokens: int | None = None
    entropy: float = 0.0
    kl: Mapping[str, float] = field(default_factory=dict)
    kl_estimator: KlEstimator = "k3"
    kl_form: KlForm = "loss"

    def __post_init__(self) -> None:
        _require(0.0 <= self.clip_low < 1.0, "clip_low is outside [0, 1)", "clip_low", self.clip_low, "0.2 is usual")
        _require(self.clip_high >= 0.0, "clip_high is negative", "clip_high", self.clip_high, "0.2 is usual")
        _require(self.ratio in ("token", "sequence"), "unknown ratio", "ratio", self.ratio, "token or sequence")
        _require(
            self.dual_clip is None or self.dual_clip > 1.0,
            "dual_clip is not above 1",
            "dual_clip",
            self.dual_clip,
            "3.0 or null",
        )
        _require(
            self.aggregation in ("token_mean", "sequence_mean", "constant"),
            "unknown aggregation",
            "aggregation",
            self.aggregation,
            "token_mean, sequence_mean or constant",
        )
        _require(
            self.aggregation != "constant" or (self.constant_tokens or 0) > 0,
            "aggregation `constant` has no constant",
            "constant_tokens",
            self.constant_tokens,
            "set constant_tokens to the cap on completion tokens",
        )
        _require(
            self.kl_estimator in ("k1", "k2", "k3"),
            "unknown kl_estimator",
            "kl_estimator",
            self.kl_estimator,
            "k1, k2 or k3",
        )
        _require(self.kl_form in ("loss", "ratio"), "unknown kl_form", "kl_form", self.kl_form, "loss or ratio")
        for role, coefficient in self.kl.items():
            _require(
                coefficient >= 0.0, "a KL coefficient is negative", f"kl.{role}", coefficient, "use 0 for no anchor"
            )

    def kl_coefficient(self, role: str) -> float:
        """The anchor's coefficient for `role`."""
        return self.kl.get(role, self.kl.get("*", 0.0))

    @property
    def has_anchor(self) -> bool:
        return any(coefficient > 0.0 for coefficient in self.kl.values())


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """How one policy learns from its rows in one iteration.

    updates_per_iteration: the rows are split, by group and with roles stratified, into this many updates, each row
    used once.
    rows_per_update: when set it replaces that rule: rows in order, `ceil(rows / rows_per_update)` updates, the last
    one short.
        More rows then mean more updates at the same learning rate, as in verl.
    epochs: passes over those updates.
    learning_rate, betas, eps, weight_decay: AdamW. schedule: over iterations, never over updates; `warmup_iterations`
    rise
        linearly to the full rate (the first iteration gets 1 / warmup), `linear` and `cosine` then fall to
        `min_learning_rate_frac` at `total_iterations`.
    max_grad_norm: clip by the norm of all gradients of the policy; None is off.
    ratio_tolerance: the largest |ratio - 1| before the first step; None is off (an engine that cannot keep it).
    on_nonfinite: a loss or gradient that is not finite never reaches the weights: `raise`, or `skip` and count.
    mask_truncated: rows cut at the token cap teach nothing. allow_stale: rows of an older policy version are taken.
    micro_batch_tokens: padded tokens in one forward pass. max_logits: logits held at once (tokens x vocabulary).
    pack: False computes every row on its own (slower, same numbers).

    >>> UpdateSettings(schedule="cosine", total_iterations=100, warmup_iterations=10).learning_rate_at(4) == 0.5 * 1e-3
    True
    """

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    warmup_iterations: int = 0
    total_iterations: int | None = None
    min_learning_rate_frac: float = 0.0
    updates_per_iteration: int = 1
    rows_per_update: int | None = None
    epochs: int = 1
    max_grad_norm: float | None = 1.0
    ratio_tolerance: float | None = 1e-3
    on_nonfinite: OnNonFinite = "raise"
    mask_truncated: bool = False
    allow_stale: bool = False
    micro_batch_tokens: int = 4096
    max_logits: int = 1 << 24
    pack: bool = True
    loss: LossSettings = field(default_factory=LossSettings)

    def __post_init__(self) -> None:
        for key in ("updates_per_iteration", "epochs", "micro_batch_tokens", "max_logits"):
            _require(
                getattr(self, key) >= 1, f"{key} is below 1", key, getattr(self, key), "use a whole number from 1 on"
            )
        rows = self.rows_per_update
        _require(
            rows is None or rows >= 1, "rows_per_update is below 1", "rows_per_update", rows, "use null to turn it off"
        )
        _require(
            rows is None or self.updates_per_iteration == 1,
            "rows_per_update and updates_per_iteration are two rules for one thing",
            "rows_per_update",
            rows,
            "set one of them",
        )
        _require(
            self.schedule == "constant" or (self.total_iterations or 0) > self.warmup_iterations,
            "the schedule has no end",
            "total_iterations",
            self.total_iterations,
            "set total_iterations above warmup_iterations",
        )
        _require(
            self.on_nonfinite in ("raise", "skip"),
            "unknown on_nonfinite",
            "on_nonfinite",
            self.on_nonfinite,
            "raise or skip",
        )

    def learning_rate_at(self, tick: int) -> float:
        """The rate of iteration `tick`, counted from 0."""
        import math

        if tick < self.warmup_iterations:
            return self.learning_rate * (tick + 1) / self.warmup_iterations
        if self.schedule == "constant":
            return self.learning_rate
        span = (self.total_iterations or 0) - self.warmup_iterations
        done = min(1.0, (tick - self.warmup_iterations) / span)
        left = 1.0 - done if self.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
        return self.learning_rate * (self.min_learning_rate_frac + (1.0 - self.min_learning_rate_frac) * left)


def check_trainable_sampling(sampling: Sampling, role: str = "") -> None:
    """Refuse sampling whose distribution is not the full softmax at `temperature`.

    The update recomputes log-probs with the full softmax; under top-p, top-k or greedy decoding the recorded tokens
    came from another distribution, so the first-pass ratio would not be 1 and the update would be off-policy without
    saying so.

    >>> check_trainable_sampling(Sampling(temperature=0.7))
    >>> from motet.errors import ConfigError
    >>> try: check_trainable_sampling(Sampling(top_k=20), "planner")
    ... except ConfigError as error: print(error.what)
    top_k=20 cuts the support of the training distribution
    """
    where: dict[str, object] = {"role": role} if role else {}
    if sampling.greedy:
        raise ConfigError(
            "greedy decoding is no training distribution",
            where=where | {"greedy": True},
            fix="sample in training; evaluation may be greedy",
        )
    if not sampling.temperature > 0.0:
        raise ConfigError(
            "the training temperature is not above 0",
            where=where | {"temperature": sampling.temperature},
            fix="1.0 is usual",
        )
    for key, value, full in (("top_p", sampling.top_p, 1.0), ("top_k", sampling.top_k, 0)):
        if value != full:
            raise ConfigError(
                f"{key}={value} cuts the support of the training distribution",
                where=where | {key: value},
                fix=f"use {key}={full} in training; evaluation may cut",
            )
