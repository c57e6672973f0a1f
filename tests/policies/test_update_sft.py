"""Supervised steps against a reference, and their order."""

import pytest
import torch
from update_fixtures import TrueDouble, make_model, plain_logprobs, same, weights

from motet.errors import ConfigError, UpdateError
from motet.losses.settings import UpdateSettings
from motet.policies import lora
from motet.policies.sft import Example, batches, cross_entropy, fit, supervised_step
from motet.policies.update import Learner, PolicyModel

EXAMPLES = [
    Example((1, 2), (3, 4, 0)),
    Example((1, 2), (5, 0), weight=2.0),
    Example((7,), (0,)),
    Example((7,), (9, 9), weight=0.0),
    Example((8,), ()),
]


def learned(model, adapter=None, **given):
    settings = UpdateSettings(**{"learning_rate": 1e-2, "max_grad_norm": None} | given)
    return Learner([PolicyModel("p", model, adapter)], settings).policy("p")


class Kept(torch.optim.SGD):
    def step(self, closure=None):
        self.caught = [p.grad.clone() for p in self.param_groups[0]["params"]]


@pytest.mark.parametrize("budget", [1000, 4])
def test_loss_and_gradient_equal_the_weighted_cross_entropy(budget):
    model = make_model()
    policy = learned(model, micro_batch_tokens=budget)
    policy.optimizer = Kept(policy.parameters, lr=0.0)
    with TrueDouble():
        want = -sum(e.weight * plain_logprobs(model, e.prompt_ids, e.completion_ids).sum() for e in EXAMPLES) / 8
        expected = torch.autograd.grad(want, policy.parameters)
        report = supervised_step(policy, EXAMPLES)
        assert report.loss == pytest.approx(float(want.detach()), abs=1e-12)
        assert cross_entropy(policy, EXAMPLES) == pytest.approx(report.loss, abs=1e-12)
    for got, gradient in zip(policy.optimizer.caught, expected, strict=True):
        torch.testing.assert_close(got, gradient, rtol=1e-9, atol=1e-12)


def test_fitting_lowers_the_loss_and_counts_versions_and_ticks():
    model = make_model()
    policy = learned(model, schedule="linear", total_iterations=40)
    steps = list(fit(policy, EXAMPLES, epochs=20, prompts_per_step=1, seed=3))
    assert cross_entropy(policy, EXAMPLES) < 0.5 < 1.5 < steps[0]["sft/loss"]
    assert policy.version == policy.ticks == len(steps) == 40
    assert (steps[0]["sft/lr"], steps[20]["sft/lr"]) == pytest.approx((1e-2, 0.5e-2))


def test_fitting_an_adapter_leaves_the_base_alone():
    model = make_model()
    lora.add_adapter(model, "x", 2)
    before = {n: w for n, w in weights(model).items() if "lora" not in n}
    policy = learned(model, "x")
    list(fit(policy, EXAMPLES, prompts_per_step=2))
    assert same(before, {n: w for n, w in weights(model).items() if "lora" not in n})
    assert any(float(p.detach().abs().max()) > 0 for n, p in policy.named_parameters.items() if n.endswith("lora_B"))


def test_an_epoch_holds_every_example_once_and_prompts_whole():
    examples = [Example((p,), (a, 0)) for p in range(5) for a in range(3)]
    epoch = batches(examples, 2, seed=0, epoch=0)
    assert sorted(e.prompt_ids + e.completion_ids for b in epoch for e in b) == sorted(
        e.prompt_ids + e.completion_ids for e in examples
    )
    assert [len(b) for b in epoch] == [6, 6, 3]
    assert epoch == batches(examples, 2, seed=0, epoch=0) != batches(examples, 2, seed=0, epoch=1)


def test_what_has_nothing_to_learn_is_refused():
    policy = learned(make_model())
    with pytest.raises(UpdateError, match="no example has a token"):
        supervised_step(policy, [Example((1,), ()), Example((1,), (2,), weight=0.0)])
    with pytest.raises(UpdateError, match="below 0"):
        supervised_step(policy, [Example((1,), (2,), weight=-1.0)])
    with pytest.raises(ConfigError, match="nothing to fit"):
        list(fit(policy, []))
