"""How a batch of episodes is collected: the sampling rule, its width, the choice, and the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from motet.credit.rewards import MixForm, check_alpha
from motet.errors import ConfigError

Rule = Literal["tree", "independent", "lookahead"]
Choose = Literal["greedy", "softmax", "random"]
Overlong = Literal["error", "truncate_left", "drop_oldest"]


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Settings of `run_batch`. How each role samples (temperature, stop, caps) belongs to the `Cast`.

    rule: `tree` draws `width` candidates at each call and goes on with one; `independent` plays `width` whole
      episodes per tree; `lookahead` values each candidate by one continuation to the end (see docs/rollout.md for the
      cost).
    choose: which candidate goes on under `tree`: `greedy` (largest mixed reward, ties to the lowest index), `softmax`
      at `choose_temperature`, `random`. alpha, role_alpha, mix: how team and local make that reward (as in credit).
    max_parallel: episodes at once; the episodes do not depend on it. score_timeout_s: the time one score of one
      candidate may take. max_failed_frac: the fraction of failed episodes a batch may have before it stops; 0 stops
      at the first.
    overlong: what happens to a prompt above the policy's limit.

    >>> RolloutSettings(width=4).rule
    'tree'
    """

    rule: Rule = "tree"
    width: int = 8
    choose: Choose = "greedy"
    choose_temperature: float = 1.0
    alpha: float = 0.7
    mix: MixForm = "convex"
    role_alpha: Mapping[str, float] = field(default_factory=dict)
    max_parallel: int = 256
    score_timeout_s: float = 30.0
    max_failed_frac: float = 0.0
    overlong: Overlong = "error"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("rule", self.rule, ("tree", "independent", "lookahead")),
            ("choose", self.choose, ("greedy", "softmax", "random")),
            ("overlong", self.overlong, ("error", "truncate_left", "drop_oldest")),
        ):
            if value not in known:
                raise ConfigError(f"{name} is {value!r}", fix=f"take one of {', '.join(known)}")
        for name, number in (("width", self.width), ("max_parallel", self.max_parallel)):
            if number < 1:
                raise ConfigError(f"{name} is {number}", fix="take 1 or more")
        for name, bound in (("choose_temperature", self.choose_temperature), ("score_timeout_s", self.score_timeout_s)):
            if not bound > 0.0:
                raise ConfigError(f"{name} is {bound}", fix="take a number above 0")
        if not 0.0 <= self.max_failed_frac < 1.0:
            raise ConfigError(f"max_failed_frac is {self.max_failed_frac}", fix="take a fraction in [0, 1)")
        for alpha in (self.alpha, *self.role_alpha.values()):
            check_alpha(alpha, self.mix)

    def alpha_of(self, role: str) -> float:
        """The alpha of one role: its own, or that of all.

        >>> RolloutSettings(alpha=0.5, role_alpha={"judge": 1.0}).alpha_of("judge")
        1.0
        """
        return self.role_alpha.get(role, self.alpha)
