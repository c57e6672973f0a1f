"""What a run may choose about credit. Every default is stated here and nowhere else."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from motet.credit.advantages import EqualGroups, Estimator, Singleton, StdKind, check_estimator
from motet.credit.grouping import Grouping, grouping_fields
from motet.credit.rewards import REWARD_RULES, MixForm, RewardRule, check_alpha
from motet.errors import CreditError


@dataclass(frozen=True, slots=True)
class CreditSettings:
    """Rewards, groups and estimator of one run. Defaults are AT-GRPO with a convex mix.

    `role_alpha` overrides `alpha` for the roles it names. `equal_groups: drop` gives the rows of a group without signal
    weight 0, `count` leaves them in every denominator. `singleton: zero` treats a group of one as one without signal,
    `raw` takes its reward as the advantage. `group_size` is the size a full group has; None takes each role's most
    common size. Raises `CreditError` for every value outside its domain.

    >>> CreditSettings(alpha=0.5, role_alpha={"coder": 1.0}).alpha_of("coder")
    1.0
    """

    grouping: Grouping = "at_grpo"
    estimator: Estimator = "grpo"
    std: StdKind = "population"
    epsilon: float = 1e-8
    equal_groups: EqualGroups = "drop"
    singleton: Singleton = "zero"
    rewards: RewardRule = "score"
    mix: MixForm = "convex"
    alpha: float = 0.7
    role_alpha: Mapping[str, float] = field(default_factory=dict)
    group_size: int | None = None

    def __post_init__(self) -> None:
        grouping_fields(self.grouping)
        check_estimator(self.estimator, self.std, self.epsilon, self.singleton)
        if self.equal_groups not in ("drop", "count"):
            raise CreditError(f"unknown equal_groups {self.equal_groups!r}", fix="take one of drop, count")
        if self.rewards not in REWARD_RULES:
            raise CreditError(f"unknown reward rule {self.rewards!r}", fix=f"take one of {', '.join(REWARD_RULES)}")
        for alpha in (self.alpha, *self.role_alpha.values()):
            check_alpha(alpha, self.mix)
        if self.group_size is not None and self.group_size < 1:
            raise CreditError(f"group_size is {self.group_size!r}", fix="take 1 or more, or None")

    def alpha_of(self, role: str) -> float:
        """The alpha of one role."""
        return self.role_alpha.get(role, self.alpha)

    def check_roles(self, roles: Mapping[str, Any]) -> None:
        """Refuses a `role_alpha` for a role the workflow does not have, naming the nearest one that it has.

        >>> CreditSettings(role_alpha={"planner": 0.5}).check_roles({"planner": 1, "executor": 1})
        """
        for name in self.role_alpha:
            if name not in roles:
                near = difflib.get_close_matches(name, list(roles), n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the roles are {', '.join(roles)}"
                raise CreditError(f"role_alpha names the unknown role {name!r}", fix=hint)


VERL: dict[str, Any] = {
    "estimator": "grpo",
    "std": "sample",
    "epsilon": 1e-6,
    "equal_groups": "count",
    "singleton": "raw",
}
"""The arithmetic of verl's outcome GRPO: unbiased std, every row counted, a group of one keeps its reward."""

PRESETS: dict[str, dict[str, Any]] = {
    "at_grpo": {"grouping": "at_grpo", "mix": "additive", "alpha": 1.0},
    "verl": VERL,
    "dr_grpo": {"estimator": "mean_only"},
    "dr_mas": {**VERL, "grouping": "dr_mas", "rewards": "outcome", "alpha": 1.0},
    "rllm_voting": {**VERL, "grouping": "rllm_voting", "rewards": "outcome", "alpha": 1.0},
    "rllm_orchestrator_workers": {**VERL, "grouping": "rllm_orchestrator_workers", "rewards": "outcome", "alpha": 1.0},
    "rllm_evaluator_optimizer": {**VERL, "grouping": "rllm_evaluator_optimizer", "rewards": "outcome", "alpha": 1.0},
}


def preset(name: str, **changes: Any) -> CreditSettings:
    """The settings of a named method, with changes.

    >>> preset("verl", alpha=1.0).std
    'sample'
    """
    if name not in PRESETS:
        raise CreditError(f"unknown credit preset {name!r}", fix=f"take one of {', '.join(PRESETS)}")
    known = {entry.name for entry in fields(CreditSettings)}
    for key in changes:
        if key not in known:
            near = difflib.get_close_matches(key, sorted(known), n=1)
            raise CreditError(
                f"unknown credit setting {key!r}",
                fix=f"did you mean {near[0]!r}?" if near else f"known: {sorted(known)}",
            )
    return CreditSettings(**{**PRESETS[name], **changes})
