"""The settings of a run: one frozen tree, unknown keys refused. Importable without torch.

Defaults are those of the classes below; `docs/recipes.md` states each of them, and a test compares the two.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

GROUP_FIELDS = ("tree", "role", "slot", "turn", "visit")
GROUPINGS = (
    "none",
    "agent",
    "turn",
    "at_grpo",
    "node",
    "rllm_voting",
    "rllm_orchestrator_workers",
    "rllm_evaluator_optimizer",
    "dr_mas",
)

Decay = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    """A frozen mapping that knows all of its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


class TaskSettings(Section):
    name: str = Field(
        description="task set: a built-in name, `package.module:Class`, or an entry point of `motet.tasks`"
    )
    weight: float = Field(1.0, gt=0, description="share of the draws, relative to the other task sets")
    settings: dict[str, Any] = Field(default_factory=dict, description="settings of the task set itself")


class WorkflowSettings(Section):
    name: str = Field(
        description="workflow: a built-in name, `package.module:Class`, or an entry point of `motet.workflows`"
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="settings of the workflow itself")


class PolicySettings(Section):
    kind: Literal["full", "lora", "frozen", "remote"] = Field(
        "full",
        description="what is trained: all weights, an adapter, or nothing; remote: nothing, and served elsewhere",
    )
    base: str | None = Field(None, description="model to start from; empty: the recipe's `model`")
    rank: int = Field(16, ge=1, description="rank of the adapter (lora)")
    alpha: float | None = Field(
        None, gt=0, description="numerator of the adapter's scale alpha / rank (lora); empty: 2 x rank"
    )
    targets: list[str] = Field(
        default_factory=list, description="modules the adapter is put on (lora); empty: all linear layers"
    )
    base_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        description="address of an OpenAI-compatible endpoint, without /chat/completions (remote)",
    )
    model: str | None = Field(None, min_length=1, description="what the endpoint calls the model (remote)")
    api_key_env: str | None = Field(
        None,
        pattern=r"^[A-Z_][A-Z0-9_]*$",
        description="name of the environment variable that holds the key, never the key (remote); empty: no key",
    )
    timeout_s: float = Field(60.0, gt=0, le=86400, description="bound on one request (remote)")
    max_retries: int = Field(
        5, ge=0, le=20, description="further tries after 429, 5xx, a broken connection or answer (remote)"
    )
    max_parallel: int = Field(16, ge=1, description="requests in flight (remote)")
    candidates_by: Literal["calls", "n"] = Field(
        "calls", description="K candidates by a request each, or by one request with `n` (remote)"
    )
    request: dict[str, Any] = Field(
        default_factory=dict, description="fields added to every request; null takes one out (remote)"
    )


class PhaseSampling(Section):
    temperature: float = Field(1.0, gt=0, description="divides the logits")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus; below 1 in evaluation only")
    top_k: int = Field(0, ge=0, description="number of tokens kept, 0: all; above 0 in evaluation only")
    greedy: bool = Field(False, description="take the argmax; in evaluation only")


class RoleSettings(Section):
    train: PhaseSampling = Field(default_factory=PhaseSampling, description="how candidates are drawn in training")
    eval: PhaseSampling | None = Field(
        None, description="keys as under `train`: how answers are drawn in sampled evaluation; empty: as in training"
    )
    max_tokens: int = Field(64, ge=1, description="cap on the tokens of one answer")
    stop: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list, description="strings that end an answer"
    )
    alpha: float | None = Field(None, ge=0, description="mix of this role's credit; empty: `credit.alpha`")
    kl: float | None = Field(None, ge=0, description="KL coefficient of this role; empty: `update.kl`")
    trainable: bool = Field(True, description="false: this role's calls give no rows")


class SamplingSettings(Section):
    rule: Literal["tree", "independent", "lookahead"] = Field("tree", description="where the K candidates come from")
    width: int = Field(8, ge=1, description="K: candidates per call (tree, lookahead), episodes per tree (independent)")
    choose: Literal["greedy", "softmax", "random"] = Field("greedy", description="which candidate goes on")
    choose_temperature: float = Field(1.0, gt=0, description="temperature of `choose: softmax`, in units of reward")
    trees: int = Field(32, ge=1, description="trees per iteration")
    max_extra_trees: int = Field(
        0, ge=0, description="trees an iteration may draw anew where a tree gave no signal (DAPO); counted as cost"
    )
    max_parallel: int = Field(256, ge=1, description="episodes in flight at once; never changes a result")
    score_timeout_s: float = Field(30.0, gt=0, description="a score that takes longer is an error")
    max_failed_frac: float = Field(0.0, ge=0, lt=1, description="share of episodes that may fail before the run stops")
    max_prompt_tokens: int = Field(0, ge=0, description="cap on a prompt; 0: what the model can hold")
    overlong: Literal["error", "truncate_left", "drop_oldest"] = Field(
        "error", description="what happens to a longer prompt; counted and reported"
    )


class CreditSection(Section):
    grouping: str | list[str] = Field(
        "at_grpo", description="compared with whom: a named key, or a list out of tree, role, slot, turn, visit"
    )
    estimator: Literal["grpo", "mean_only", "rloo", "max_rl", "reinforce"] = Field(
        "grpo", description="reward to advantage, within a group"
    )
    alpha: float = Field(0.7, ge=0, description="weight of the team reward against the local one")
    mix: Literal["convex", "additive"] = Field("convex", description="alpha t + (1 - alpha) l, or alpha t + l")
    std: Literal["population", "sample"] = Field("population", description="which deviation `grpo` divides by")
    epsilon: float = Field(1e-8, ge=0, description="added to that deviation")
    equal_groups: Literal["drop", "count"] = Field(
        "drop", description="whether rows of a group without differences leave every denominator"
    )
    singleton: Literal["zero", "raw"] = Field("zero", description="advantage in a group of one: 0, or the reward")
    rewards: Literal["score", "outcome"] = Field("score", description="a call's own reward, or the episode's outcome")


class UpdateSection(Section):
    lr: float = Field(1e-3, gt=0, description="learning rate at its peak")
    weight_decay: float = Field(0.0, ge=0, description="decoupled weight decay of AdamW")
    betas: tuple[Decay, Decay] = Field((0.9, 0.999), description="AdamW: decay of the two moments")
    eps: float = Field(1e-8, gt=0, description="AdamW: added to the denominator")
    warmup: int = Field(0, ge=0, description="iterations of linear warm-up")
    schedule: Literal["constant", "linear", "cosine"] = Field("constant", description="the rate after the warm-up")
    min_lr_frac: float = Field(0.0, ge=0, le=1, description="lowest learning rate, as a share of `lr`")
    updates_per_iteration: int = Field(1, ge=1, description="optimiser steps per iteration; each row is in one of them")
    rows_per_update: int | None = Field(
        None, ge=1, description="the other mode: rows per optimiser step, as many steps as that makes"
    )
    epochs: int = Field(1, ge=1, description="passes over the rows")
    ratio: Literal["token", "sequence"] = Field("token", description="importance ratio per token, or per answer (GSPO)")
    clip_low: float = Field(0.2, ge=0, lt=1, description="the ratio is clipped below 1 - this")
    clip_high: float = Field(0.2, ge=0, description="the ratio is clipped above 1 + this")
    dual_clip: float | None = Field(None, gt=1, description="bound on the loss of a negative advantage; empty: none")
    aggregation: Literal["token_mean", "sequence_mean", "constant"] = Field(
        "token_mean", description="how the tokens of a batch become one number"
    )
    constant_tokens: int | None = Field(
        None, ge=1, description="divisor per row of `aggregation: constant`; empty: the longest max_tokens"
    )
    kl: float = Field(0.0, ge=0, description="coefficient of the KL anchor to the base")
    kl_estimator: Literal["k1", "k2", "k3"] = Field("k3", description="how the KL is estimated from a sample")
    kl_form: Literal["loss", "ratio"] = Field(
        "loss", description="the estimate as a plain loss, or weighted by the ratio"
    )
    entropy: float = Field(0.0, ge=0, description="coefficient of the entropy bonus, per nat and token")
    max_grad_norm: float | None = Field(1.0, gt=0, description="gradient norm is clipped to this, per policy")
    ratio_tolerance: float | None = Field(
        1e-3, gt=0, description="how far the ratio may be from 1 before the first step; empty: unchecked"
    )
    on_nonfinite: Literal["raise", "skip"] = Field("raise", description="a loss or gradient that is no number")
    micro_batch_tokens: int = Field(4096, ge=1, description="tokens of one packed forward pass")
    mask_truncated: bool = Field(False, description="leave answers that hit max_tokens out of the loss")


class TrainSection(Section):
    iterations: int = Field(100, ge=0, description="collect-and-learn cycles")
    eval_every: int = Field(0, ge=0, description="validate after every so many iterations; 0: never")
    eval_tasks: int = Field(64, ge=1, description="tasks of one validation")
    checkpoint_every: int = Field(0, ge=0, description="save after every so many iterations; 0: at the end only")
    keep: int = Field(2, ge=1, description="checkpoints kept, besides peak and final")


class EvaluateSection(Section):
    at_end: bool = Field(True, description="evaluate when training is done")
    num_tasks: int = Field(200, ge=1, description="held-out tasks of the final evaluation")
    split: str = Field("test", description="split of the final evaluation")
    decodings: list[Literal["sampled", "greedy"]] = Field(
        ["sampled", "greedy"], min_length=1, description="decodings, each reported"
    )
    checkpoints: list[Literal["base", "peak", "final"]] = Field(
        ["base", "final"], description="checkpoints, each reported"
    )
    variants: list[str] = Field(
        ["team"], description="what is measured: `all`, or a list of result names, `walkers` for those without a model"
    )


class SandboxSection(Section):
    backend: Literal["auto", "bubblewrap", "namespaces", "none"] = Field(
        "auto", description="the wall around programs that models write; `none`: this user's rights, no wall"
    )
    wall_s: float = Field(20.0, gt=0, description="seconds one program or test may take")
    cpu_s: float = Field(10.0, gt=0, description="processor seconds of one program or test")
    memory_mb: int = Field(512, ge=64, description="memory of one program, interpreter included")
    parallel: int = Field(0, ge=0, description="programs that run at a time; 0: one per processor")


class Settings(Section):
    name: str = Field("run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="name of the run's folder")
    description: str = Field("", description="one line, shown by `motet recipes`")
    seed: int = Field(0, ge=0, lt=2**63, description="the seed of everything drawn at random")
    model: str = Field(
        "tiny-m",
        description="tiny-s, tiny-m, tiny-l, smollm2, hub id or folder; `:random` behind it: seeded random weights",
    )
    dtype: Literal["auto", "float32", "bfloat16", "float64"] = Field(
        "auto", description="auto is resolved once per run"
    )
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, or cuda")
    threads: int = Field(
        0, ge=0, description="threads of torch; 0: the cores that are free at the start, resolved once per run"
    )
    preset: str = Field("", description="published mix of rewards to start from, of those that `motet recipes` lists")
    tasks: list[TaskSettings] = Field(min_length=1, description="weighted task sets")
    workflow: WorkflowSettings = Field(description="who speaks when")
    cast: Literal["shared", "per_role", "per_slot"] | dict[str, str] = Field(
        "per_role", description="role or role[slot] -> policy"
    )
    policy: PolicySettings = Field(
        default_factory=PolicySettings, description="what every policy is unless `policies` says otherwise"
    )
    policies: dict[str, PolicySettings] = Field(default_factory=dict, description="policies by name")
    role: RoleSettings = Field(
        default_factory=RoleSettings, description="what every role is unless `roles` says otherwise"
    )
    roles: dict[str, RoleSettings] = Field(default_factory=dict, description="roles by name")
    sampling: SamplingSettings = Field(default_factory=SamplingSettings, description="how a batch is collected")
    credit: CreditSection = Field(default_factory=CreditSection, description="how rewards become advantages")
    update: UpdateSection = Field(default_factory=UpdateSection, description="how advantages become weights")
    sandbox: SandboxSection = Field(
        default_factory=SandboxSection, description="what holds programs, where tasks or workflow run any"
    )
    train: TrainSection = Field(default_factory=TrainSection, description="how long, and what is kept")
    evaluate: EvaluateSection = Field(default_factory=EvaluateSection, description="the evaluation at the end")
