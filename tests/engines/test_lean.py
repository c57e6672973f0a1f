from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

from motet.engines.backprop import hidden_states
from motet.engines.decode import Forward
from motet.engines.lean import LeanNet
from motet.engines.lean_rows import BLOCK, LeanForward, forward_of, slots_of
from motet.policies import lora
from motet.policies.logprobs import inspect_model
from motet.policies.models import random_model

SIZES = {
    "vocab_size": 50,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "initializer_range": 0.1,
}
KINDS = {
    "qwen3": Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=12),
    "qwen2, with biases": Qwen2Config(**SIZES, num_key_value_heads=3),
    "llama": LlamaConfig(**SIZES, num_key_value_heads=6),
    "llama, tied": LlamaConfig(**SIZES, num_key_value_heads=1, tie_word_embeddings=True),
}


@pytest.fixture(params=KINDS)
def net(request: pytest.FixtureRequest) -> LeanNet:
    model = random_model(copy.deepcopy(KINDS[request.param]), dtype=torch.float64)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:  # norms of ones and biases of zeros would hide a mistake
                weight.add_(torch.rand_like(weight) * 0.3)
    found = LeanNet.of(model)
    assert found is not None
    return found


class TrueDouble(TorchFunctionMode):
    """The modules cast to float32 in norms and rotations; under this mode they compute in float64 throughout."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        wide = lambda value: torch.float64 if value is torch.float32 else value
        if func is torch.Tensor.float:
            return args[0].double()
        return func(*map(wide, args), **{key: wide(value) for key, value in (kwargs or {}).items()})


def packed(net: LeanNet, prefix: Tensor, lengths: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden states of prompts [B, P, W] and of answers [B, S, T, W]."""
    states, cut = hidden_states(net, prefix, lengths, tails), prefix.numel()
    width = states.shape[-1]
    return states[:cut].view(*prefix.shape, width), states[cut:].view(*tails.shape, width)


def theirs(net: LeanNet, ids: list[int]) -> Tensor:
    with TrueDouble():
        found: Tensor = net.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    return found


def test_prompts_and_answers_side_by_side_give_the_logits_of_each_row_alone(net: LeanNet) -> None:
    prompts, answers = [[3, 4, 5, 6], [7, 8]], [[[9, 10, 11], [12, 13, 14]], [[15, 16, 17], [18, 19, 20]]]
    prefix = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
    with torch.no_grad():
        of_prompts, of_answers = packed(net, prefix, torch.tensor([4, 2]), torch.tensor(answers))
        for b, prompt in enumerate(prompts):
            for s, answer in enumerate(answers[b]):
                whole = theirs(net, prompt + answer)
                assert torch.allclose(net.logits(of_answers[b, s]), whole[len(prompt) :], atol=1e-12, rtol=0)
            last = len(prompt) - 1
            assert torch.allclose(net.logits(of_prompts[b, last]), theirs(net, prompt)[last], atol=1e-12, rtol=0)


def test_every_weight_gets_the_gradient_that_the_module_itself_would_give(net: LeanNet) -> None:
    prefix, answers = torch.tensor([[3, 4, 5]]), torch.tensor([[[9, 10], [12, 13]]])
    of_prompts, of_answers = packed(net, prefix, torch.tensor([3]), answers)
    aim = torch.randn(2, 2, 50, dtype=torch.float64)
    ((net.logits(of_answers[0]) * aim).sum() + net.logits(of_prompts[0, 2]).sum()).backward()  # type: ignore[no-untyped-call]
    ours = {name: weight.grad.clone() for name, weight in net.module.named_parameters() if weight.grad is not None}
    net.module.zero_grad()
    rows = [theirs(net, [3, 4, 5, *answer]) for answer in answers[0].tolist()]
    loss = sum((row[3:] * aim[s]).sum() for s, row in enumerate(rows)) + theirs(net, [3, 4, 5])[2].sum()
    loss.backward()  # type: ignore[union-attr]
    for name, weight in net.module.named_parameters():
        scale = float(weight.grad.abs().max())
        assert float((ours[name] - weight.grad).abs().max()) <= 1e-10 * scale, name


def test_one_token_per_row_gives_the_logits_of_the_module_with_its_own_cache(net: LeanNet) -> None:
    plain, lean = Forward(net.module), LeanForward(net, net.module, None, None)
    ids, lengths = torch.randint(1, 50, (3, 16)), torch.tensor([16, 9, 1])
    index, num_live = torch.tensor([0] * 9 + [2, 2, 0]), 11
    with torch.inference_mode():
        (one, kv), (other, lean_kv) = plain.prefill(ids, lengths), lean.prefill(ids, lengths)
        assert torch.allclose(one, other, atol=1e-6)  # both are returned as float32
        rows = plain.expand(kv, index, lengths, 6, num_live)
        lean_rows = lean.expand(lean_kv, index, lengths, 6, num_live)
        for step in range(5):
            token = torch.arange(12) + 3 * step
            token[num_live:] = token[0]
            assert torch.allclose(plain.step(token, rows), lean.step(token, lean_rows), atol=1e-6)
            if step == 2:  # rows leave, and one whole prompt with them
                keep = torch.tensor([10, 9, 10])
                rows, lean_rows, index, num_live = rows.select(keep), lean_rows.select(keep), index[keep], 3
                assert len(lean_rows.keys[0]) == 1
                break
        token = torch.tensor([5, 6, 5])
        assert torch.allclose(plain.step(token, rows), lean.step(token, lean_rows), atol=1e-6)


def test_blocks_hold_the_rows_of_one_prompt_alone() -> None:
    slot, prompts = slots_of(torch.tensor([4] * (BLOCK + 1) + [1]), BLOCK + 2)
    assert slot.tolist() == [*range(BLOCK + 1), 2 * BLOCK] and prompts.tolist() == [4, 4, 1]


def test_an_adapter_counts_in_sampling_and_in_learning_and_leaves_the_base_alone() -> None:
    model = random_model(copy.deepcopy(KINDS["qwen3"]), dtype=torch.float64)
    lora.add_adapter(model, "a", 2, dtype=None)
    with torch.no_grad():
        for weight in lora.parameters(model, "a").values():
            weight.normal_(std=0.2)
    net = LeanNet.of(model)
    assert net is not None
    ids = torch.tensor([[3, 4, 5, 6, 7]])
    ask = lambda: net.logits(packed(net, ids, torch.tensor([5]), torch.zeros(1, 1, 0, dtype=torch.long))[0][0])
    with torch.no_grad():
        base = ask()
        with lora.activate(model, "a"):
            own, whole = ask(), theirs(net, ids[0].tolist())
            with net.fixed():
                merged = ask()
        assert torch.equal(ask(), base)
    assert torch.allclose(own, whole, atol=1e-12) and torch.allclose(merged, whole, atol=1e-12)
    assert float((base - whole).abs().max()) > 1e-3
    with lora.activate(model, "a"):
        ask().sum().backward()
        given = {name: w.grad.clone() for name, w in lora.parameters(model, "a").items() if w.grad is not None}
        model.zero_grad()
        theirs(net, ids[0].tolist()).sum().backward()  # type: ignore[no-untyped-call]
    for name, weight in lora.parameters(model, "a").items():
        assert torch.allclose(given[name], weight.grad, atol=1e-10), name
    assert all(w.grad is None for name, w in model.named_parameters() if "lora_" not in name)


def test_joined_weights_are_made_anew_each_time_that_sampling_begins() -> None:
    """A fused optimiser changes weights without counting it on the tensor: nothing may be kept in between."""
    model = random_model(copy.deepcopy(KINDS["qwen3"]))
    forward = forward_of(model)
    ids, lengths = torch.randint(1, 50, (1, 16)), torch.tensor([16])
    with forward.serving():
        before = forward.prefill(ids, lengths)[0].clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    with forward.serving():
        after = forward.prefill(ids, lengths)[0].clone()
    assert float((before - after).abs().max()) > 1e-2
    assert torch.equal(after, forward_of(copy.deepcopy(model)).prefill(ids, lengths)[0].detach())


def test_a_model_that_is_not_known_or_not_the_same_is_left_to_its_own_forward(zoo: dict[str, torch.nn.Module]) -> None:
    assert not isinstance(forward_of(zoo["neox"]), LeanForward)
    odd = random_model(copy.deepcopy(KINDS["qwen3"]))
    odd.model.layers[1].register_forward_hook(lambda module, args, out: out * 1.01)  # type: ignore[union-attr]
    assert LeanNet.of(odd) is None
    gelu = copy.deepcopy(KINDS["llama"])
    gelu.hidden_act = "gelu"
    assert LeanNet.of(random_model(gelu)) is None


def test_a_window_that_a_short_probe_would_not_show_is_seen_in_the_configuration() -> None:
    config = MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=16)
    assert LeanNet.of(random_model(config)) is None
    config.sliding_window = None
    assert LeanNet.of(random_model(config)) is not None


def test_a_torch_without_the_kernel_learns_by_the_models_own_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(copy.deepcopy(KINDS["qwen3"]))
    assert inspect_model(model).lean is not None
    monkeypatch.setattr("motet.engines.backprop._FLASH", None)
    path = inspect_model(model)
    assert path.lean is None and path.packed
