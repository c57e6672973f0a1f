from __future__ import annotations

import asyncio

import pytest
import torch
from transformers import Qwen3Config

from motet.engines.base import Completion, Request
from motet.engines.local import LocalEngine, LocalSettings
from motet.engines.voice import HfVoice
from motet.errors import EngineError
from motet.policies import lora
from motet.policies.models import random_model
from motet.rollout.counters import candidate_keys
from motet.types import Sampling

CONFIG = Qwen3Config(
    vocab_size=30,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    initializer_range=0.15,
    max_position_embeddings=128,
)
NAMES = ("base", "small", "large")


@pytest.fixture
def base() -> torch.nn.Module:
    model = random_model(CONFIG, seed=4)
    generator = torch.Generator().manual_seed(0)
    for name, rank in (("small", 2), ("large", 5)):
        lora.add_adapter(model, name, rank)
        with torch.no_grad():
            for key, p in lora.parameters(model, name).items():
                if key.endswith("lora_B"):
                    p.copy_(torch.randn(p.shape, generator=generator) * 0.3)
    return model


def engine_of(model: torch.nn.Module, voice: HfVoice) -> LocalEngine:
    served = {"base": (model, None), "small": (model, "small"), "large": (model, "large")}
    return LocalEngine(served, dict.fromkeys(NAMES, voice), LocalSettings(linger_s=0.0), activate=lora.activate)


def ask(engine: LocalEngine, *requests: Request) -> list[list[Completion]]:
    async def run() -> list[list[Completion]]:
        return await asyncio.gather(*(engine.sample(r) for r in requests))

    return asyncio.run(run())


def request(policy: str, key: int = 1) -> Request:
    return Request(policy, (3, 9, 4 + key), candidate_keys(key, 3), Sampling(max_tokens=6))


def test_adapters_of_unequal_rank_and_the_base_answer_as_models_of_their_own(
    base: torch.nn.Module, voice: HfVoice
) -> None:
    together = ask(engine_of(base, voice), *(request(name) for name in NAMES))
    assert len({answers[0].logprobs[0] for answers in together}) == 3
    for name, answers in zip(NAMES, together):
        first = answers[0]
        with torch.inference_mode(), lora.activate(base, None if name == "base" else name):
            ids = torch.tensor([[*request(name).prompt_ids, *first.token_ids]])
            logprobs = base(input_ids=ids).logits[0, 2:-1].double().log_softmax(-1)
        expected = logprobs.gather(1, torch.tensor(first.token_ids)[:, None])[:, 0].tolist()
        assert first.logprobs == pytest.approx(expected, abs=2e-5)


def test_a_row_of_one_adapter_is_bit_equal_beside_the_rows_of_others(base: torch.nn.Module, voice: HfVoice) -> None:
    alone = ask(engine_of(base, voice), request("large"))[0]
    crowd = [request(NAMES[i % 3], key=10 + i % 15) for i in range(40)]
    assert ask(engine_of(base, voice), *crowd, request("large"))[-1] == alone


def test_sampling_leaves_no_adapter_active_and_no_weight_changed(base: torch.nn.Module, voice: HfVoice) -> None:
    before = [p.detach().clone() for p in base.parameters()]
    ask(engine_of(base, voice), request("small"), request("large"))
    assert lora.active(base) is None
    assert all(torch.equal(a, b) for a, b in zip(before, base.parameters()))


def test_measuring_a_fresh_adapter_leaves_its_zero_matrices_zero(voice: HfVoice) -> None:
    model = random_model(CONFIG, seed=4)
    lora.add_adapter(model, "new", 3)
    engine = LocalEngine({"p": (model, "new")}, {"p": voice}, LocalSettings(linger_s=0.0), activate=lora.activate)
    ask(engine, request("p"))
    assert all(not bool(p.any()) for key, p in lora.parameters(model, "new").items() if key.endswith("lora_B"))


def test_an_adapter_without_a_way_to_activate_it_is_refused(base: torch.nn.Module, voice: HfVoice) -> None:
    with pytest.raises(EngineError, match="cannot be activated"):
        LocalEngine({"p": (base, "small")}, {"p": voice})
    with pytest.raises(EngineError, match="no voice"):
        LocalEngine({"p": base}, {})
