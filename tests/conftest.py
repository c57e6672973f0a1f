"""A base model of a few thousand random weights whose tokenizer knows the compact words of Plan-Path."""

import pytest


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config

    words = [
        "<pad>",
        "<eos>",
        "goal",
        "planner",
        "executor",
        "solver",
        "at",
        "budget",
        "did",
        "none",
        "ok",
        "bump",
        "empty",
        "plan",
    ]
    words += [f"c{cell:02d}" for cell in range(100)] + [f"n{num}" for num in range(65)]
    inner = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>", pad_token="<pad>", unk_token="<pad>")
    config = Qwen3Config(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        eos_token_id=1,
        pad_token_id=0,
    )
    folder = tmp_path_factory.mktemp("base")
    tokenizer.save_pretrained(folder)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder
