"""A restored learner is the one that was saved, bit for bit, and nothing else is accepted."""

import json
from dataclasses import replace

import pytest
import torch
from update_fixtures import make_model, plain_logprobs, same, some_rows, weights

from motet.errors import CheckpointError
from motet.losses.settings import UpdateSettings
from motet.policies import checkpoint, lora
from motet.policies.update import Learner, PolicyModel

SETTINGS = UpdateSettings(
    learning_rate=1e-2,
    warmup_iterations=3,
    schedule="cosine",
    total_iterations=9,
    ratio_tolerance=None,
    weight_decay=0.1,
)


def make_learner(dtype=torch.float32, rank=3, names=("full", "left", "right")):
    """One full policy and two adapters on another base."""
    base = make_model("llama", dtype=dtype, seed=5)
    lora.add_adapter(base, names[1], rank)
    lora.add_adapter(base, names[2], 2)
    policies = [PolicyModel(names[0], make_model(dtype=dtype)), PolicyModel(names[1], base, names[1])]
    return Learner([*policies, PolicyModel(names[2], base, names[2])], SETTINGS)


def iterate(learner, names=("full", "left")):
    for name in names:
        policy = learner.policy(name)
        with lora.activate(policy.model, policy.adapter):
            rows = some_rows(policy.model, policy=name, num_prompts=2, width=2, policy_version=policy.version)
        learner.update(name, rows)


def everything(learner):
    out = {}
    for name in learner.policies:
        policy = learner.policy(name)
        out |= {f"{name}/{n}": w for n, w in weights(policy.model).items()}
        out |= {
            f"{name}/{n}/{k}": v.clone()
            for n, p in policy.named_parameters.items()
            for k, v in policy.optimizer.state.get(p, {}).items()
        }
        out[f"{name}/clock"] = torch.tensor([policy.version, policy.ticks])
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_case_20_a_resumed_run_takes_the_same_next_steps_as_one_that_did_not_stop(dtype, tmp_path):
    learner = make_learner(dtype)
    iterate(learner)
    iterate(learner, ("full",))
    checkpoint.save(tmp_path / "c", learner, {"iteration": 2})
    saved = everything(learner)
    other = make_learner(dtype)
    iterate(other, ("left", "right"))  # its own past must leave no trace
    assert checkpoint.load(tmp_path / "c", other) == {"iteration": 2}
    assert same(saved, everything(other))
    for one in (learner, other):
        iterate(one, ("full", "left", "right"))
    assert same(everything(learner), everything(other))
    assert other.policy("full").learning_rate == learner.policy("full").learning_rate


def test_weights_alone_load_into_a_model_or_an_adapter_of_any_name(tmp_path):
    learner = make_learner()
    iterate(learner)
    checkpoint.save(tmp_path / "c", learner, {})
    full = make_model(dtype=torch.float32, seed=3)
    checkpoint.load_policy(tmp_path / "c", "full", full)
    assert same(weights(learner.policy("full").model), weights(full))
    base = make_model("llama", dtype=torch.float32, seed=5)
    lora.add_adapter(base, "left@peak", 3)
    checkpoint.load_policy(tmp_path / "c", "left", (base, "left@peak"))
    mine = learner.policy("left")
    with torch.no_grad(), lora.activate(base, "left@peak"), lora.activate(mine.model, "left"):
        assert torch.equal(plain_logprobs(base, (1, 2), (3,)), plain_logprobs(mine.model, (1, 2), (3,)))
    with pytest.raises(CheckpointError, match="no policy 'up'"):
        checkpoint.load_policy(tmp_path / "c", "up", full)
    with pytest.raises(CheckpointError, match="stored policy is lora, this one is full"):
        checkpoint.load_policy(tmp_path / "c", "left", full)


def test_a_full_policy_lies_in_the_layout_that_transformers_reads(tmp_path):
    learner = make_learner()
    iterate(learner)
    checkpoint.save(tmp_path / "c", learner, {})
    model = learner.policy("full").model
    again = type(model).from_pretrained(tmp_path / "c" / "policies" / "full")
    assert same(weights(model), weights(again))


def test_saving_again_replaces_and_leaves_nothing_beside(tmp_path):
    learner = make_learner()
    for n in (1, 2):
        checkpoint.save(tmp_path / "c", learner, {"iteration": n})
    assert checkpoint.load(tmp_path / "c", learner) == {"iteration": 2}
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_a_crash_while_saving_leaves_the_older_checkpoint_and_no_half_one(tmp_path, monkeypatch):
    learner = make_learner()
    checkpoint.save(tmp_path / "c", learner, {"iteration": 1})

    def crash(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint.json, "dump", crash)
    for name in ("c", "d"):
        with pytest.raises(OSError, match="disk full"):
            checkpoint.save(tmp_path / name, learner, {"iteration": 2})
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    assert checkpoint.load(tmp_path / "c", learner) == {"iteration": 1}


@pytest.mark.parametrize("victim", ["policies/full/model.safetensors", "optimizer/left.safetensors"])
def test_an_incomplete_checkpoint_is_refused_by_the_name_of_the_file(victim, tmp_path):
    learner = make_learner()
    iterate(learner)
    checkpoint.save(tmp_path / "c", learner, {})
    file, before = tmp_path / "c" / victim, everything(learner)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=f"{victim} has"):
        checkpoint.load(tmp_path / "c", learner)
    file.unlink()
    with pytest.raises(CheckpointError, match=f"{victim} is missing"):
        checkpoint.load(tmp_path / "c", learner)
    assert same(before, everything(learner))
    with pytest.raises(CheckpointError, match="no complete checkpoint"):
        checkpoint.load(tmp_path / "nowhere", learner)


def test_foreign_checkpoints_are_refused_and_change_nothing(tmp_path):
    saved = make_learner()
    iterate(saved)
    checkpoint.save(tmp_path / "c", saved, {}, settings_hash="abc")
    learner = make_learner(rank=4)
    before = everything(learner)
    with pytest.raises(CheckpointError, match="another rank or alpha"):
        checkpoint.load(tmp_path / "c", learner)
    assert same(before, everything(learner))
    with pytest.raises(CheckpointError, match="other policies"):
        checkpoint.load(tmp_path / "c", make_learner(names=("full", "left", "down")))
    with pytest.raises(CheckpointError, match="do not fit this model"):
        checkpoint.load(tmp_path / "c", make_learner(torch.bfloat16))
    with pytest.raises(CheckpointError, match="other settings"):
        checkpoint.load(tmp_path / "c", make_learner(), settings_hash="abd")
    checkpoint.load(tmp_path / "c", make_learner(), settings_hash="abc")
    manifest = tmp_path / "c" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"schema": 99}))
    with pytest.raises(CheckpointError, match="no checkpoint of this version"):
        checkpoint.load(tmp_path / "c", make_learner())


def test_pruning_keeps_the_newest_by_number_and_everything_else(tmp_path):
    for name in ("iteration-2", "iteration-10", "iteration-9", "peak-000001", "final"):
        (tmp_path / name).mkdir()
    assert [p.name for p in checkpoint.prune(tmp_path, 2)] == ["iteration-2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["final", "iteration-10", "iteration-9", "peak-000001"]


def test_an_anchor_stays_the_base_after_loading(tmp_path):
    settings = replace(SETTINGS, loss=replace(SETTINGS.loss, kl={"*": 0.1}))
    learner = Learner([PolicyModel("p", make_model())], settings)
    iterate(learner, ("p",))
    checkpoint.save(tmp_path / "c", learner, {})
    again = Learner([PolicyModel("p", make_model())], settings)
    checkpoint.load(tmp_path / "c", again)
    assert same(weights(again.policy("p").reference), weights(make_model()))
