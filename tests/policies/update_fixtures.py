"""Tiny random models and rows for the tests of the update."""

from __future__ import annotations

import math
from contextlib import nullcontext

import torch
from torch.overrides import TorchFunctionMode
from transformers import (
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from motet.types import Row

VOCABULARY = 11


class TrueDouble(TorchFunctionMode):
    """Models cast to float32 in norms and rotations; under this mode a float64 model computes in float64 throughout."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        wide = lambda value: torch.float64 if value is torch.float32 else value
        if func is torch.Tensor.float:
            return args[0].double()
        return func(*map(wide, args), **{k: wide(v) for k, v in (kwargs or {}).items()})


SIZES = {"vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}


def make_model(family="qwen3", *, dtype=torch.float64, seed=0, attention="sdpa"):
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    ids = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    if family == "qwen3":
        config, kind = Qwen3Config(**SIZES, **heads, **ids, head_dim=8, tie_word_embeddings=True), Qwen3ForCausalLM
    elif family == "llama":
        config, kind = LlamaConfig(**SIZES, **heads, **ids), LlamaForCausalLM
    else:
        config, kind = GPTNeoXConfig(**SIZES, num_attention_heads=4, **ids), GPTNeoXForCausalLM
    config._attn_implementation = attention
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = kind(config)
        for parameter in model.parameters():  # far from the small logits of a fresh model
            if parameter.ndim > 1:
                parameter.data.normal_(std=0.3)
    return model.to(dtype).eval()


def plain_logprobs(model, prompt, completion, temperature=1.0):
    """The ten-line reference: one row, one full forward, no packing, no padding."""
    ids = torch.tensor([[*prompt, *completion]])
    logits = model(input_ids=ids).logits[0] / temperature
    logprobs = torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)
    places = [len(prompt) - 1 + t for t in range(len(completion))]
    return logprobs[places, list(completion)] if completion else logprobs.new_zeros(0)


def row(prompt=(1, 2), completion=(3, 4), advantage=1.0, *, model=None, policy="p", role="r", **given):
    """A row whose sampling log-probs are those of `model` (zeros without one)."""
    temperature = given.get("temperature", 1.0)
    is_double = model is not None and next(model.parameters()).dtype == torch.float64
    with torch.no_grad(), TrueDouble() if is_double else nullcontext():
        sampled = plain_logprobs(model, prompt, completion, temperature).tolist() if model else [0.0] * len(completion)
    values = {
        "policy_version": 0,
        "slot": 0,
        "turn": 0,
        "temperature": temperature,
        "reward": 0.0,
        "group": (role, *prompt),
        "node": (role, *prompt),
    } | given
    return Row(
        policy=policy,
        role=role,
        prompt_ids=tuple(prompt),
        completion_ids=tuple(completion),
        sampling_logprobs=tuple(sampled),
        advantage=advantage,
        **values,
    )


def some_rows(model, *, policy="p", roles=("r",), num_prompts=3, width=3, **given):
    """Ragged rows: per role and prompt, `width` answers with advantages that differ."""
    out = []
    for s, role in enumerate(roles):
        for n in range(num_prompts):
            prompt = tuple((n + s + i) % VOCABULARY for i in range(2 + n))
            for k in range(width):
                answer = tuple((3 * n + 5 * k + i + s) % VOCABULARY for i in range(1 + (n + k) % 4))
                advantage = math.sin(1.0 + n + 2.0 * k + s)
                out.append(row(prompt, answer, advantage, model=model, policy=policy, role=role, **given))
    return out


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def same(before, after):
    return before.keys() == after.keys() and all(torch.equal(before[k], after[k]) for k in before)
