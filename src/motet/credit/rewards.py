"""From the two rewards of a candidate, `team` and `local`, to the one number it is compared by."""

from __future__ import annotations

import math
from typing import Literal

from motet.errors import CreditError
from motet.types import Call, Episode

MixForm = Literal["convex", "additive"]
RewardRule = Literal["score", "outcome"]

MIX_FORMS: tuple[MixForm, ...] = ("convex", "additive")
REWARD_RULES: tuple[RewardRule, ...] = ("score", "outcome")


def check_alpha(alpha: float, form: str) -> None:
    """Refuses an unknown form and an alpha outside its domain: [0, 1] for convex, 0 or more for additive.

    >>> check_alpha(0.7, "convex")
    """
    if form not in MIX_FORMS:
        raise CreditError(f"unknown mix {form!r}", fix=f"take one of {', '.join(MIX_FORMS)}")
    if not math.isfinite(alpha) or alpha < 0.0 or (form == "convex" and alpha > 1.0):
        domain = "in [0, 1]" if form == "convex" else "of 0 or more"
        raise CreditError(f"alpha is {alpha!r} for the {form} mix", fix=f"take a finite alpha {domain}")


def mix(team: float | None, local: float | None, alpha: float, form: MixForm = "convex") -> float:
    """The reward a candidate is compared by.

    convex:    r = alpha * team + (1 - alpha) * local       1.0 is global only, 0.0 is local only
    additive:  r = alpha * team + local                     the form of AT-GRPO, 2510.11062

    A missing part (None) is never replaced by a number: the other part alone is the reward, unweighted. Where the other
    part has weight 0 (convex: alpha 0 without `local`, alpha 1 without `team`), or where both are missing, there is
    nothing to go on and a `CreditError` says so. So "local only" never trains on `team` in silence.

    >>> mix(team=1.0, local=0.0, alpha=0.75)
    0.75
    >>> mix(team=1.0, local=0.5, alpha=2.0, form="additive")
    2.5
    >>> mix(team=None, local=0.5, alpha=0.75)
    0.5
    """
    check_alpha(alpha, form)
    local_weight = 1.0 - alpha if form == "convex" else 1.0
    if team is None and local is None:
        raise CreditError("neither a team nor a local reward", fix="return at least one from score, or settle the call")
    if team is None or local is None:
        name, value, weight = ("local", local, local_weight) if team is None else ("team", team, alpha)
        if weight == 0.0:
            missing = "team" if team is None else "local"
            raise CreditError(
                f"alpha {alpha:g} ({form}) takes the {missing} reward alone, and there is none",
                fix=f"return a {missing} reward, or give this role an alpha that counts its {name} reward",
            )
        assert value is not None
        return _finite(value)
    return _finite(alpha * team + local_weight * local)


def _finite(reward: float) -> float:
    if not math.isfinite(reward):
        raise CreditError(f"the mixed reward is {reward!r}", fix="return finite rewards in [0, 1]")
    return float(reward)


def convex_alpha(additive_alpha: float) -> float:
    """The convex alpha that ranks and scales candidates as the additive one does: alpha / (1 + alpha).

    additive(alpha) = (1 + alpha) * convex(alpha / (1 + alpha)), and a std-normalised estimator (grpo with epsilon 0,
    max_rl) does not see a positive factor. Under `mean_only`, `rloo` and `reinforce` the factor 1 + alpha remains.

    >>> convex_alpha(1.0), convex_alpha(0.0)
    (0.5, 0.0)
    """
    check_alpha(additive_alpha, "additive")
    return additive_alpha / (1.0 + additive_alpha)


def reward_parts(episode: Episode, call: Call, index: int, rule: RewardRule) -> tuple[float | None, float | None]:
    """(team, local) of candidate `index` of `call`, by the reward rule.

    score:    both as `score` or `settle` gave them.
    outcome:  team is `Outcome.team` of the episode, broadcast to its every call; local stays as scored. Only where each
              call has one candidate, for a candidate that was not chosen did not lead to that outcome: with more, a
              `CreditError` refuses the rule by name.

    Raises `CreditError` for a candidate without any reward; `where` names task, role and turn.
    """
    candidate = call.candidates[index]
    scored = candidate.reward
    if rule == "score":
        if scored is None or (scored.team is None and scored.local is None):
            raise CreditError(
                "a trainable call has no reward",
                where=place(episode, call),
                fix="score it, settle it before the episode ends, use lookahead, or sample independent episodes with "
                "the reward rule 'outcome'",
            )
        return scored.team, scored.local
    if rule != "outcome":
        raise CreditError(f"unknown reward rule {rule!r}", fix=f"take one of {', '.join(REWARD_RULES)}")
    if len(call.candidates) > 1:
        raise CreditError(
            f"the reward rule 'outcome' would pay {len(call.candidates) - 1} candidates that did not lead to it",
            where=place(episode, call),
            fix="take the reward rule 'score', or sample independent episodes",
        )
    if episode.outcome is None:
        raise CreditError("the episode has no outcome", where=place(episode, call), fix="return an Outcome from run")
    return episode.outcome.team, None if scored is None else scored.local


def place(episode: Episode, call: Call) -> dict[str, object]:
    """Where a call is, for an error."""
    return {"task": episode.task_id, "copy": episode.copy, "branch": episode.branch, "call": str(call.key)}
