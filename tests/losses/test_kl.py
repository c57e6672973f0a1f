"""Values by hand, gradients by enumeration over three outcomes."""

import math

import pytest
import torch

from motet.losses.kl import kl_anchor, kl_per_token

REFERENCE = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)


def policy(logits):
    return torch.log_softmax(logits, dim=0)


def logits():
    return torch.tensor([0.3, -0.7, 0.1], dtype=torch.float64, requires_grad=True)


def expected_gradient(estimator, form, sampling):
    """Sum over outcomes of sampling probability x the gradient autograd gives for that outcome."""
    x = logits()
    logprobs = policy(x)
    q = logprobs.detach().exp() if sampling is None else sampling
    terms = kl_anchor(logprobs, REFERENCE.log(), q.log(), estimator=estimator, form=form)
    (q * terms).sum().backward()
    return x.grad


def gradient_of(divergence):
    x = logits()
    divergence(policy(x)).backward()
    return x.grad


def reverse(logp):
    return (logp.exp() * (logp - REFERENCE.log())).sum()


def forward(logp):
    return (REFERENCE * (REFERENCE.log() - logp)).sum()


def test_values_by_hand():
    p, f = torch.tensor([0.5]).log(), torch.tensor([0.25]).log()
    assert float(kl_per_token(p, f, "k1")) == pytest.approx(math.log(2))
    assert float(kl_per_token(p, f, "k2")) == pytest.approx(math.log(2) ** 2 / 2)
    assert float(kl_per_token(p, f, "k3")) == pytest.approx(0.5 + math.log(2) - 1)


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_k1_and_k3_estimate_the_divergence(estimator):
    logp = policy(logits().detach())
    mean = (logp.exp() * kl_per_token(logp, REFERENCE.log(), estimator)).sum()
    assert float(mean) == pytest.approx(float(reverse(logp)), abs=1e-12)


def test_k1_as_a_loss_has_no_gradient():
    assert expected_gradient("k1", "loss", None).tolist() == pytest.approx([0, 0, 0], abs=1e-15)


def test_k2_as_a_loss_has_the_gradient_of_policy_to_reference():
    torch.testing.assert_close(expected_gradient("k2", "loss", None), gradient_of(reverse), rtol=0, atol=1e-14)


def test_k3_as_a_loss_has_the_gradient_of_reference_to_policy():
    torch.testing.assert_close(expected_gradient("k3", "loss", None), gradient_of(forward), rtol=0, atol=1e-14)
    assert (gradient_of(forward) - gradient_of(reverse)).abs().max() > 0.01


@pytest.mark.parametrize("estimator", ["k1", "k3"])
@pytest.mark.parametrize("sampling", [None, torch.tensor([0.6, 0.1, 0.3], dtype=torch.float64)])
def test_ratio_weighted_k1_and_k3_have_the_gradient_of_policy_to_reference_for_any_sampling(estimator, sampling):
    torch.testing.assert_close(
        expected_gradient(estimator, "ratio", sampling), gradient_of(reverse), rtol=0, atol=1e-14
    )


def test_ratio_weighted_k2_has_neither():
    got = expected_gradient("k2", "ratio", None)
    assert min((got - gradient_of(d)).abs().max() for d in (forward, reverse)) > 1e-3


def test_no_gradient_reaches_the_reference():
    f = REFERENCE.log().requires_grad_(True)
    kl_per_token(policy(logits()), f).sum().backward()
    assert f.grad is None
