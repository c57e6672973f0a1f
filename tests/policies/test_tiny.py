"""The tiny models: sizes, tokenizer, and the forward pass against transformers."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoTokenizer, Qwen3ForCausalLM

from motet.errors import EngineError
from motet.policies import tiny
from motet.policies.tiny_net import TinyNet, initial_weights


@pytest.mark.parametrize(("name", "millions"), [("tiny-s", 0.22), ("tiny-m", 0.82), ("tiny-l", 3.15)])
def test_the_sizes_count_what_transformers_builds(name: str, millions: float) -> None:
    model = Qwen3ForCausalLM(tiny.config(name))
    assert sum(weight.numel() for weight in model.parameters()) == tiny.TINY_SIZES[name].num_parameters
    assert round(tiny.TINY_SIZES[name].num_parameters / 1e6, 2) == millions


def test_an_unknown_size_is_refused_by_name() -> None:
    with pytest.raises(EngineError, match="no tiny model 'tiny-x'"):
        tiny.config("tiny-x")


def test_the_tokenizer_maps_one_word_to_one_id_and_survives_a_folder(tmp_path) -> None:
    tiny.tokenizer().save_pretrained(tmp_path)
    read = AutoTokenizer.from_pretrained(tmp_path)
    words = tiny.vocabulary()
    assert read(" ".join(words))["input_ids"] == list(range(512))
    assert (read.pad_token_id, read.eos_token_id, read.unk_token_id, read.bos_token_id) == (0, 1, 2, 3)
    assert read("g07 nonsense c12")["input_ids"] == [211, 2, 16]
    assert read.decode([16, 17, 1], skip_special_tokens=True) == "c12 c13"


def test_initial_weights_depend_on_the_seed_alone() -> None:
    size = tiny.TINY_SIZES["tiny-s"]
    torch.manual_seed(1)
    first = initial_weights(size, 7)
    torch.manual_seed(2)
    again, other = initial_weights(size, 7), initial_weights(size, 8)
    assert all(torch.equal(first[name], again[name]) for name in first)
    name = "model.layers.0.self_attn.q_proj.weight"
    assert not torch.equal(first[name], other[name])


def test_the_forward_pass_is_that_of_transformers() -> None:
    size, gen = tiny.TINY_SIZES["tiny-s"], torch.Generator().manual_seed(0)
    weights = initial_weights(size, 3)
    model = Qwen3ForCausalLM(tiny.config("tiny-s"))
    assert model.load_state_dict(weights, strict=False).missing_keys == ["lm_head.weight"]
    model.tie_weights()
    prefix = torch.randint(4, 500, (2, 7), generator=gen)
    tails = torch.randint(4, 500, (2, 3, 5), generator=gen)
    net = TinyNet(size, weights)
    with torch.no_grad():
        of_prefix, of_tails = net.hidden(prefix, tails)
        rows = torch.cat([prefix[:, None].expand(-1, 3, -1), tails], -1).view(6, 12)
        expected = model.eval()(rows).logits.view(2, 3, 12, -1)
    assert (net.logits(of_prefix) - expected[:, 0, :7]).abs().max() < 1e-4
    assert (net.logits(of_tails) - expected[:, :, 7:]).abs().max() < 1e-4
