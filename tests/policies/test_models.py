from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import (
    BloomConfig,
    GPTNeoXConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    T5Config,
)

from motet.errors import EngineError
from motet.policies import models as bases
from motet.policies import smollm2

torch.set_num_threads(1)
COMMON = {"vocab_size": 12, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
QWEN3 = Qwen3Config(**COMMON, intermediate_size=24, num_key_value_heads=1, head_dim=8, max_position_embeddings=64)
LLAMA = LlamaConfig(**COMMON, intermediate_size=24, num_key_value_heads=2, max_position_embeddings=64)
NEOX = GPTNeoXConfig(**COMMON, intermediate_size=24, max_position_embeddings=64)


def tokenizer(template: str | None = None) -> PreTrainedTokenizerFast:
    words = ["<eos>", "<unk>", *"abcdefghij"]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", unk_token="<unk>")
    made.chat_template = template
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bases.random_model(QWEN3, seed=1).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    return tmp_path


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_a_folder_loads_with_its_weights_and_the_compact_dialect(folder: Path) -> None:
    base = bases.load(str(folder))
    assert torch.equal(weights(base.model), weights(bases.random_model(QWEN3, seed=1)))
    assert (base.dialect, base.max_positions, base.model.training) == ("compact", 64, False)
    assert base.voice().max_prompt_tokens == 64 and base.voice(20).max_prompt_tokens == 20


def test_random_behind_the_name_draws_weights_from_the_seed_alone(folder: Path) -> None:
    torch.manual_seed(123)
    state = torch.random.get_rng_state()
    one, two = bases.load(f"{folder}:random", seed=7), bases.load(f"{folder}:random", seed=8)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(5)
    assert torch.equal(weights(one.model), weights(bases.load(f"{folder}:random", seed=7).model))
    assert not torch.equal(weights(one.model), weights(two.model))


def test_the_dtype_is_as_asked(folder: Path) -> None:
    assert next(bases.load(str(folder), dtype=torch.float64).model.parameters()).dtype == torch.float64


def test_a_chat_template_makes_the_dialect_chat() -> None:
    assert bases.wrap("x", bases.random_model(LLAMA), tokenizer("{{ messages[0].content }}")).dialect == "chat"


def test_every_end_token_of_config_generation_config_and_tokenizer_counts() -> None:
    model = bases.random_model(LLAMA)
    model.config.eos_token_id = [3, 4]
    model.generation_config.eos_token_id = 5
    assert bases.eos_ids(model, tokenizer()) == {0, 3, 4, 5}


@pytest.mark.parametrize("config", [QWEN3, LLAMA, NEOX], ids=["qwen3", "llama", "neox"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shapes_with_full_attention_pass_the_checks(config: PreTrainedConfig, dtype: torch.dtype) -> None:
    bases.check_config(config)
    bases.check_capabilities(bases.random_model(config, dtype=dtype))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (MistralConfig(sliding_window=32), "mistral has sliding window attention"),
        (Qwen3Config(use_sliding_window=True, max_window_layers=0), "qwen3 has sliding attention layers"),
        (BloomConfig(), "bloom has ALiBi attention"),
        (MambaConfig(), "mamba has state space"),
        (T5Config(), "t5 has an encoder"),
    ],
)
def test_unsupported_attention_and_caches_are_refused_by_name_before_weights_load(
    config: PreTrainedConfig, says: str
) -> None:
    with pytest.raises(EngineError, match=says) as caught:
        bases.check_config(config)
    assert "Qwen3, Llama, GPT-NeoX" in caught.value.fix


def test_a_model_whose_numbers_differ_under_the_mask_is_refused() -> None:
    model = bases.random_model(LLAMA)
    inner = model.forward

    def forward(**given: object) -> object:
        given.pop("attention_mask", None)
        return inner(**given)

    model.forward = forward  # type: ignore[method-assign]
    model.forward.__signature__ = __import__("inspect").signature(inner)  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="LlamaForCausalLM gives other logits"):
        bases.check_capabilities(model)


def test_a_name_that_is_nowhere_says_what_can_be_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be loaded") as caught:
        bases.load(str(tmp_path / "nothing"))
    assert "smollm2" in caught.value.fix


def test_smollm2_without_gguf_says_which_extra_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTET_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match="gguf") as caught:
        bases.load("smollm2")
    assert "motet[gguf]" in caught.value.fix
    assert not list(tmp_path.iterdir())


def test_smollm2_is_taken_from_the_cache_once_it_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder.parent / "cache" / "smollm2-135m-instruct"
    place.parent.mkdir()
    folder.rename(place)
    monkeypatch.setenv("MOTET_CACHE", str(place.parent))
    assert bases.load("smollm2").max_positions == 64
