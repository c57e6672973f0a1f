"""Named adapters: exact names, their own ranks, and nothing of the others moves."""

from dataclasses import replace

import pytest
import torch
from peft import PeftModel
from update_fixtures import make_model, row, same, some_rows, weights

from motet.errors import CheckpointError, ConfigError
from motet.losses.packing import packed_micro_batches
from motet.losses.settings import LossSettings, UpdateSettings
from motet.policies import lora
from motet.policies.logprobs import packed_logprobs
from motet.policies.update import Learner, PolicyModel

IDS = torch.tensor([[1, 2, 3, 4]])
QUIET = {"learning_rate": 1e-2, "ratio_tolerance": 1e-5}


def two_adapters(dtype=torch.float64, **given):
    model = make_model(dtype=dtype)
    lora.add_adapter(model, "plan", 2, seed=7)
    lora.add_adapter(model, "planner", 5, seed=7, alpha=5.0)
    policies = [PolicyModel(name, model, name) for name in ("plan", "planner")]
    return model, Learner(policies, UpdateSettings(**QUIET, **given))


def logits(model, adapter):
    with torch.no_grad(), lora.activate(model, adapter):
        return model(input_ids=IDS).logits


def rows_of(model, policy, version=0):
    with lora.activate(model, policy):
        return some_rows(model, policy=policy, policy_version=version)


def test_a_fresh_adapter_changes_no_logit():
    plain = logits(make_model(), None)
    model, _ = two_adapters()
    assert all(torch.equal(plain, logits(model, a)) for a in (None, "plan", "planner"))


def test_adapters_have_their_own_ranks_and_only_the_active_one_asks_for_gradients():
    model, learner = two_adapters()
    ranks = {
        a: {p.shape[0] for n, p in lora.parameters(model, a).items() if n.endswith("lora_A")}
        for a in lora.adapters(model)
    }
    assert ranks == {"plan": {2}, "planner": {5}}
    with lora.activate(model, "plan"):
        asking = {id(p) for p in model.parameters() if p.requires_grad}
    assert asking == {id(p) for p in lora.parameters(model, "plan").values()}
    resolved = learner.resolved()
    assert [(resolved[a]["rank"], resolved[a]["alpha"]) for a in ("plan", "planner")] == [(2, 4), (5, 5.0)]
    assert not any("lm_head" in n for n in lora.parameters(model, "plan"))


def test_creation_is_seeded_by_name_and_leaves_the_global_generator_alone():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    first, second = (two_adapters()[0] for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    assert same(lora.parameters(first, "plan"), lora.parameters(second, "plan"))
    other = make_model()
    lora.add_adapter(other, "plan", 2, seed=8)
    assert not same(lora.parameters(first, "plan"), lora.parameters(other, "plan"))


def test_activation_nests_and_comes_back():
    model, _ = two_adapters()
    assert lora.active(model) is None
    with lora.activate(model, "plan"):
        with lora.activate(model, None):
            assert lora.active(model) is None
            with lora.activate(model, "planner"):
                assert lora.active(model) == "planner"
        assert lora.active(model) == "plan"
    assert lora.active(model) is None
    with pytest.raises(RuntimeError, match="inside"), lora.activate(model, "plan"):
        raise RuntimeError("inside")
    assert lora.active(model) is None


def test_names_are_compared_whole_and_may_be_anything_a_policy_may_be_called():
    model = make_model()
    names = ("a", "ab", "update", "keys", "planner@base@runs/v1.2", "voter[0]")
    for name in names:
        lora.add_adapter(model, name, 1)
    assert lora.adapters(model) == names
    with pytest.raises(ConfigError, match="no adapter 'abc'"), lora.activate(model, "abc"):
        pass
    with pytest.raises(ConfigError, match="exists already"):
        lora.add_adapter(model, "ab", 1)
    with pytest.raises(ConfigError, match="below 1"):
        lora.add_adapter(model, "zero", 0)


@pytest.mark.parametrize("loss", [LossSettings(), LossSettings(kl={"*": 0.1})], ids=["plain", "anchor"])
@pytest.mark.parametrize("mover", ["plan", "planner"])
def test_case_19_an_update_of_one_adapter_leaves_the_others_and_the_base_bit_identical(mover, loss, tmp_path):
    model, learner = two_adapters(loss=loss)
    other = {"plan": "planner", "planner": "plan"}[mover]
    for policy in (mover, other, mover):  # so that the one that stays is not the fresh one
        before = weights(model)
        learner.update(policy, rows_of(model, policy, learner.version(policy)))
        mine = {id(p) for p in lora.parameters(model, policy).values()}
        moved = {n for n, p in model.named_parameters() if not torch.equal(before[n], p)}
        own = {n for n, p in model.named_parameters() if id(p) in mine}
        # A of a fresh adapter has no gradient, since its B is 0
        assert moved == (own if learner.version(policy) > 1 else {n for n in own if ".lora_B." in n})
    lora.save_adapter(model, mover, tmp_path / "a")
    again, _ = two_adapters()
    lora.load_adapter(again, mover, tmp_path / "a")
    assert torch.equal(logits(model, mover), logits(again, mover))
    assert not torch.equal(logits(model, mover), logits(model, other))
    assert torch.equal(logits(model, None), logits(make_model(), None))


def test_case_19_log_probs_use_the_adapter_that_is_active():
    model, learner = two_adapters()
    for policy in learner.policies:
        learner.update(policy, rows_of(model, policy))
    (batch,) = packed_micro_batches([row((1, 2), (3,))], 8)
    found = {}
    for adapter in (None, "plan", "planner"):
        with torch.no_grad(), lora.activate(model, adapter):
            found[adapter] = float(packed_logprobs(model, batch))
        whole = torch.log_softmax(logits(model, adapter)[0, 1], dim=-1)
        assert found[adapter] == pytest.approx(float(whole[3]), abs=1e-9)
    assert len(set(found.values())) == 3


def test_rows_sampled_by_the_other_adapter_are_caught_by_the_ratio():
    model, learner = two_adapters()
    learner.update("planner", rows_of(model, "planner"))
    with lora.activate(model, "plan"):
        rows = some_rows(model, policy="planner", policy_version=1)
    with pytest.raises(Exception, match="first-pass ratio"):
        learner.update("planner", rows)


def test_the_anchor_of_an_adapter_is_its_base():
    model, learner = two_adapters(loss=LossSettings(kl={"*": 0.1}))
    first = learner.update("plan", rows_of(model, "plan"))
    second = learner.update("plan", rows_of(model, "plan", 1))
    assert first["update/anchor_kl"] == pytest.approx(0.0, abs=1e-12) and second["update/anchor_kl"] > 1e-7


def test_adapters_of_a_half_precision_base_are_float32_and_learn():
    model, _ = two_adapters(torch.bfloat16)
    assert {p.dtype for p in lora.parameters(model, "plan").values()} == {torch.float32}
    before = {n: p.detach().clone() for n, p in lora.parameters(model, "plan").items()}
    learner = Learner([PolicyModel("x", model, "plan")], UpdateSettings(learning_rate=1e-2, ratio_tolerance=0.2))
    metrics = learner.update("x", [replace(r, policy="x") for r in rows_of(model, "plan")])
    assert metrics["update/updates"] == 1 and not same(before, lora.parameters(model, "plan"))


def test_a_saved_adapter_is_read_by_peft(tmp_path):
    model, learner = two_adapters()
    learner.update("plan", rows_of(model, "plan"))
    lora.save_adapter(model, "plan", tmp_path)
    theirs = PeftModel.from_pretrained(make_model(), tmp_path).eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(input_ids=IDS).logits, logits(model, "plan"), rtol=0, atol=1e-12)


def test_an_adapter_of_another_rank_or_place_is_refused(tmp_path):
    model, _ = two_adapters()
    lora.save_adapter(model, "plan", tmp_path)
    before = weights(model)
    with pytest.raises(CheckpointError, match="another rank or alpha"):
        lora.load_adapter(model, "planner", tmp_path)
    with pytest.raises(CheckpointError, match="no adapter here"):
        lora.load_adapter(model, "plan", tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="does not fit"):
        lora.load_state(model, "plan", {"x.lora_A": torch.zeros(1)})
    assert same(before, weights(model))
