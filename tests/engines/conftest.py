"""Random tiny models of three shapes and a word-level tokenizer, made here: no file, no hub."""

from __future__ import annotations

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPTNeoXConfig, LlamaConfig, PreTrainedTokenizerFast, Qwen3Config

from motet.engines.voice import HfVoice
from motet.policies.models import random_model

torch.set_num_threads(1)
WORDS = ["<eos>", "<pad>", "<unk>", *(f"w{i}" for i in range(26)), "."]
VOCAB = len(WORDS)
EOS = 0
SHAPES = {
    "qwen3": Qwen3Config(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        initializer_range=0.15,
    ),
    "llama": LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=36,
        intermediate_size=50,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=3,
        max_position_embeddings=512,
        initializer_range=0.15,
    ),
    "neox": GPTNeoXConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        initializer_range=0.15,
    ),
}


def word_tokenizer(pad: str = "<pad>", template: str | None = None) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", pad_token=pad, unk_token="<unk>")
    tokenizer.chat_template = template
    return tokenizer


@pytest.fixture(scope="session")
def zoo() -> dict[str, torch.nn.Module]:
    return {name: random_model(config, seed=4) for name, config in SHAPES.items()}


@pytest.fixture(params=list(SHAPES))
def model(request: pytest.FixtureRequest, zoo: dict[str, torch.nn.Module]) -> torch.nn.Module:
    return zoo[request.param]


@pytest.fixture(scope="session")
def voice() -> HfVoice:
    return HfVoice(word_tokenizer(), dialect="compact", max_prompt_tokens=256)
