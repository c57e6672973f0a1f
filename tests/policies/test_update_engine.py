"""What the local engine sampled is what the learner recomputes, per policy, adapter and temperature."""

import asyncio

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from update_fixtures import VOCABULARY, make_model

from motet.engines.base import Request
from motet.engines.local import LocalEngine, LocalSettings
from motet.engines.voice import HfVoice
from motet.errors import UpdateError
from motet.losses.settings import UpdateSettings
from motet.policies import lora
from motet.policies.update import Learner, PolicyModel
from motet.rollout import counters
from motet.types import Row, Sampling


def make_voice():
    words = {"<eos>": 0} | {f"w{i}": i for i in range(1, VOCABULARY)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<eos>")), eos_token="<eos>", pad_token="<eos>"
    )
    return HfVoice(tokenizer, dialect="compact", eos_ids=frozenset({0}), max_prompt_tokens=64)


def sampled_rows(engine, policy, temperature):
    rows = []
    for n in range(3):
        prompt = tuple(1 + (n + i) % 9 for i in range(3 + 4 * n))
        sampling = Sampling(temperature=temperature, max_tokens=6)
        request = Request(policy, prompt, counters.candidate_keys(n + 1, 4), sampling)
        for k, one in enumerate(asyncio.run(engine.sample(request))):
            version = engine.version(policy)
            rows.append(
                Row(
                    policy,
                    version,
                    policy,
                    0,
                    0,
                    prompt,
                    one.token_ids,
                    one.logprobs,
                    temperature,
                    k - 1.5,
                    0.0,
                    (n,),
                    (n,),
                )
            )
    return rows


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_engine_and_learner_agree_before_and_after_updates_of_two_adapters(temperature):
    model = make_model(dtype=torch.float32)
    for name, rank in (("plan", 2), ("planner", 4)):
        lora.add_adapter(model, name, rank)
    served = {name: (model, name) for name in ("plan", "planner")}
    voices = dict.fromkeys(served, make_voice())
    engine = LocalEngine(
        served, voices, LocalSettings(linger_s=0.0), uniforms=counters.uniforms, activate=lora.activate
    )
    settings = UpdateSettings(learning_rate=0.05, ratio_tolerance=1e-4)
    learner = Learner([PolicyModel(name, model, name) for name in served], settings)
    for version in range(3):
        for name in served:
            metrics = learner.update(name, sampled_rows(engine, name, temperature))
            assert metrics["update/first_ratio_gap"] < 1e-4 and metrics["update/updates"] == 1
            stale = sampled_rows(engine, name, temperature)  # the engine was not told of the new version
            with pytest.raises(UpdateError, match=f"sampled by version {version}"):
                learner.update(name, stale)
            engine.publish(name, learner.version(name))
    engine.close()
