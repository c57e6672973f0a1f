"""Estimators of the KL divergence between the policy and its anchor, from sampled tokens.

With p the policy, f the frozen reference, d = log f(x) - log p(x) for a token x drawn from p (nats):

    k1 = -d                E_p[k1] = KL(p || f), may be negative for one token
    k2 = d^2 / 2           biased, small variance
    k3 = exp(d) - d - 1    E_p[k3] = KL(p || f), never negative

An estimate that is right as a number need not be right as a gradient. What autograd gives, in expectation:

    form `loss`, the estimate as it is:           k1 0, no anchor at all    k2 grad KL(p || f)    k3 grad KL(f || p)
    form `ratio`, times p / q, q what sampled:    k1 grad KL(p || f)        k2 neither            k3 grad KL(p || f)

The `loss` row holds at q = p, the `ratio` row for any q that covers p.

`tests/losses/test_kl.py` shows each cell by enumeration. Source: J. Schulman, "Approximating KL divergence" (2020).
"""

from __future__ import annotations

import torch
from torch import Tensor

from motet.losses.settings import KlEstimator, KlForm


def kl_per_token(policy_logprobs: Tensor, reference_logprobs: Tensor, estimator: KlEstimator = "k3") -> Tensor:
    """One of k1, k2, k3, element by element; any shape, nats. No gradient flows into the reference.

    >>> half, quarter = torch.tensor([0.5]).log(), torch.tensor([0.25]).log()
    >>> round(float(kl_per_token(half, quarter, "k3")), 6)      # exp(-ln 2) + ln 2 - 1
    0.193147
    """
    d = reference_logprobs.detach() - policy_logprobs
    if estimator == "k1":
        return -d
    if estimator == "k2":
        return 0.5 * d * d
    return torch.exp(d) - d - 1.0


def kl_anchor(
    policy_logprobs: Tensor,
    reference_logprobs: Tensor,
    sampling_logprobs: Tensor,
    *,
    estimator: KlEstimator = "k3",
    form: KlForm = "loss",
) -> Tensor:
    """The anchor's term per token, as a plain loss or weighted by the ratio p / q (gradients differ: see the module's
    table)."""
    value = kl_per_token(policy_logprobs, reference_logprobs, estimator)
    if form == "ratio":
        value = torch.exp(policy_logprobs - sampling_logprobs.detach()) * value
    return value
