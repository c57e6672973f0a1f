"""Whole runs of every mix of policies, on two architectures of random weights."""

import json
from typing import ClassVar

import pytest

import motet
from motet.errors import ConfigError, EngineError
from motet.policies.checkpoint import read_manifest
from motet.rollout.records import read_episodes
from motet.tracking import Listener, read_metrics

SMALL = {"max_position_embeddings": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}


@pytest.fixture(scope="module")
def bases(tiny_folder, tmp_path_factory):
    """kind -> folder: the tiny Qwen3 of `tiny_folder`, and a GPT-NeoX-shaped one with the same tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GPTNeoXConfig

    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    config = GPTNeoXConfig(**SMALL, num_attention_heads=2, vocab_size=len(tokenizer), eos_token_id=1, pad_token_id=0)
    folder = tmp_path_factory.mktemp("neox")
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {"qwen3": str(tiny_folder), "gpt_neox": str(folder)}


@pytest.fixture
def train(bases, tmp_path):
    def train(kind="qwen3", workflow=None, **settings):
        ears = Ears()
        report = motet.train(
            workflow or Pair(),
            "plan_path",
            model=bases[kind],
            runs=tmp_path,
            callbacks=[ears],
            role={"max_tokens": 4},
            sampling={"width": 3, "trees": 3},
            train={"iterations": 2},
            evaluate={"at_end": False},
            update={"lr": 1e-2},
            threads=1,
            **settings,
        )
        return report, ears

    return train


def score(text):
    """A worth that nearly every two answers differ in."""
    return motet.Reward(team=sum(map(ord, text)) % 97 / 97, local=len(text) % 5 / 5)


class Pair(motet.Workflow):
    """The planner names cells, the executor reads them and names others."""

    roles: ClassVar = {"planner": 1, "executor": 1}

    async def run(self, task, cast):
        plan = await cast.planner.act("goal c01", score=score)
        done = await cast.executor.act(f"plan {plan.text} at c02", score=score)
        return motet.Outcome(success=len(done.text) > 4, team=0.5)


class Vote(motet.Workflow):
    """Three voters name a cell, the judge hears them and names one."""

    roles: ClassVar = {"voter": 3, "judge": 1}

    async def run(self, task, cast):
        votes = await cast.gather(*(voter.act("goal c01", score=score) for voter in cast.voter))
        judged = await cast.judge.act(" ".join(["at", "c02", *(vote.text for vote in votes)]), score=score)
        return motet.Outcome(success=len(judged.text) > 4, team=0.5)


class Ears(Listener):
    def on_start(self, about):
        self.about = about


MIXES = {
    "one shared": ({"cast": "shared"}, {"shared": "full"}),
    "one full per role": ({"cast": "per_role"}, {"planner": "full", "executor": "full"}),
    "adapters of unequal rank": (
        {"policies": {"planner": {"kind": "lora", "rank": 2}, "executor": {"kind": "lora", "rank": 5}}},
        {"planner": "lora", "executor": "lora"},
    ),
    "full beside an adapter": (
        {"policies": {"planner": {"kind": "full"}, "executor": {"kind": "lora", "rank": 2}}},
        {"planner": "full", "executor": "lora"},
    ),
    "full beside frozen": (
        {"policies": {"planner": {"kind": "full"}, "executor": {"kind": "frozen"}}},
        {"planner": "full"},
    ),
    "an adapter beside frozen": (
        {"policies": {"planner": {"kind": "frozen"}, "executor": {"kind": "lora", "rank": 3}}},
        {"executor": "lora"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["qwen3", "gpt_neox"])
@pytest.mark.parametrize("mix", MIXES)
def test_every_mix_of_policies_trains_each_policy_that_learns_and_no_other(train, kind, mix):
    settings, learning = MIXES[mix]
    report, ears = train(kind, **settings)
    last = sorted(report.folder.checkpoints.glob("iteration-*"))[-1]
    stored = read_manifest(last)["policies"]
    assert {name: about["kind"] for name, about in stored.items()} == learning
    metrics = read_metrics(report.folder.metrics)
    for name in learning:
        assert metrics[-1][f"update/version/{name}"] == stored[name]["version"] >= 1
        assert all(line[f"update/first_ratio_gap/{name}"] < 1e-4 for line in metrics if f"update/loss/{name}" in line)
    calls = [call for episode in read_episodes(report.folder.episodes) for call in episode.calls]
    assert {(call.policy, len(call.candidates)) for call in calls} == {
        (policy, 3 if policy in learning else 1) for _, policy, _ in ears.about["cast"]
    }
    assert {call.policy_version for call in calls if call.policy not in learning} <= {0}
    ranks = {name: one["rank"] for name, one in settings.get("policies", {}).items() if "rank" in one}
    for name, rank in ranks.items():
        config = json.loads((last / "policies" / name / "adapter_config.json").read_text())
        assert config["r"] == rank


@pytest.mark.slow
def test_each_slot_of_a_role_can_have_its_own_policy_beside_a_frozen_judge(train):
    policies = {"voter_0": {"kind": "full"}, "voter_1": {"kind": "lora", "rank": 2}, "voter_2": {"kind": "frozen"}}
    cast = {"voter[0]": "voter_0", "voter[1]": "voter_1", "voter[2]": "voter_2", "judge": "voter_1"}
    report, ears = train(workflow=Vote(), cast=cast, policies=policies)
    assert [row[:2] for row in ears.about["cast"]] == [
        ("voter[0]", "voter_0"), ("voter[1]", "voter_1"), ("voter[2]", "voter_2"), ("judge", "voter_1")
    ]  # fmt: skip
    last = read_metrics(report.folder.metrics)[-1]
    assert {"update/version/voter_0", "update/version/voter_1"} <= set(last)
    assert last["update/rows/voter_1/voter"] == last["update/rows/voter_1/judge"] == 9.0  # one policy, two roles


def test_attention_that_the_engine_cannot_serve_is_refused_by_name_and_leaves_no_folder(train, bases, tmp_path):
    from transformers import AutoTokenizer, MistralConfig

    tokenizer = AutoTokenizer.from_pretrained(bases["qwen3"])
    MistralConfig(
        **SMALL, vocab_size=len(tokenizer), num_attention_heads=2, num_key_value_heads=2, sliding_window=8
    ).save_pretrained(tmp_path / "mistral")
    tokenizer.save_pretrained(tmp_path / "mistral")
    bases["mistral"] = str(tmp_path / "mistral")
    with pytest.raises(EngineError, match=r"mistral has sliding.window attention|mistral has .*sliding"):
        train("mistral", name="refused")
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": {"kind": "lora", "rank": 2, "targets": ["no_such_layer"]}}, "no adapter can be put on.*targets"),
        ({"device": "cuda"}, "no graphics card is within reach"),
        ({"roles": {"planner": {"max_tokens": 4000}}}, "the answers of role 'planner' may take 4000 tokens"),
    ],
)
def test_what_the_model_cannot_do_is_refused_with_its_key_and_leaves_no_folder(train, tmp_path, settings, message):
    import torch

    if settings.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has a graphics card")
    with pytest.raises(ConfigError, match=message):
        train(**settings)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_cost_of_look_ahead_is_said_before_the_start_and_bounds_what_it_was(bases, tmp_path):
    ears = Ears()
    settings = {"model": bases["qwen3"], "callbacks": [ears], "evaluate": {"at_end": False}, "threads": 1}
    sampling = {"rule": "lookahead", "width": 2, "trees": 2}
    report = motet.train(
        "planner_executor", "plan_path", runs=tmp_path, role={"max_tokens": 2}, train={"iterations": 1},
        sampling=sampling, **settings,
    )  # fmt: skip
    (said,) = [line for line in ears.about["lines"] if "look-ahead" in line]
    assert said == (
        "look-ahead: at most 8 calls per episode, 16 completions and 56 more to value them; at most 144 per iteration"
    )
    episodes = read_episodes(report.folder.episodes)
    assert 0 < sum(2 * len(episode.calls) + episode.extra_calls for episode in episodes) <= 144
    motet.train(
        Pair(),
        "plan_path",
        runs=tmp_path,
        role={"max_tokens": 2},
        train={"iterations": 0},
        sampling=sampling,
        **settings,
    )
    assert any("n is not known before" in line for line in ears.about["lines"])


class Names(motet.Workflow):
    """One word; right is a cell of the first row, one word in eighteen."""

    roles: ClassVar = {"planner": 1}

    async def run(self, task, cast):
        word = await cast.planner.act("goal", score=lambda text: motet.Reward(team=text.startswith("c0")))
        return motet.Outcome(success=word.text.startswith("c0"), team=word.text.startswith("c0"))


def test_case_30_a_tiny_model_learns_a_toy_game_from_random_weights_in_seconds_without_a_card(bases, tmp_path):
    report = motet.train(
        Names(), "plan_path", model=bases["qwen3"], runs=tmp_path, callbacks=[], role={"max_tokens": 1},
        sampling={"width": 16, "trees": 8, "choose": "random"}, train={"iterations": 20}, update={"lr": 1e-2},
        evaluate={"at_end": False}, threads=1, device="cpu",
    )  # fmt: skip
    rewards = [line["reward/team/planner"] for line in read_metrics(report.folder.metrics)]
    assert rewards[0] < 0.3 and rewards[-1] > 0.9
    assert report.train_seconds < 120
