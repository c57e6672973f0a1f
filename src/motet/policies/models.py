"""Base models and their tokenizers, by name, path or hub id, and whether the engine and the update can take them."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from motet.engines.decode import Forward
from motet.engines.voice import Dialect, HfVoice
from motet.errors import EngineError
from motet.policies import smollm2

TINY = ("tiny-s", "tiny-m", "tiny-l")
RANDOM = ":random"
WHAT_WORKS = "use a decoder with full attention and rotary or learned positions (Qwen3, Llama, GPT-NeoX, SmolLM2, ...)"
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-3, torch.bfloat16: 5e-2, torch.float16: 2e-2}
_PROBE_ERRORS = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Base:
    """A loaded base: `model` in evaluation mode, `tokenizer`, the dialect it reads, every id that ends an answer."""

    name: str
    model: Any
    tokenizer: Any
    dialect: Dialect
    eos_ids: frozenset[int]
    max_positions: int

    def voice(self, max_prompt_tokens: int | None = None) -> HfVoice:
        """The voice of a policy on this base. `max_prompt_tokens` defaults to what the model's positions hold."""
        return HfVoice(
            self.tokenizer,
            dialect=self.dialect,
            eos_ids=self.eos_ids,
            max_prompt_tokens=max_prompt_tokens or self.max_positions,
        )


def load(name_or_path: str, *, dtype: torch.dtype = torch.float32, seed: int = 0) -> Base:
    """Loads a base and refuses, by name, one that cannot be served.

    `name_or_path`: a bundled base (`tiny-s`, `tiny-m`, `tiny-l`), `smollm2`, a folder, or a hub id. `:random` behind it
    draws the weights anew from `seed` (the global generator is left untouched). The dialect is `chat` where the
    tokenizer has a chat template, else `compact`. Raises `EngineError` for what is not there, and for caches and
    attention that are not supported.
    """
    source = name_or_path.removesuffix(RANDOM)
    if source in TINY and name_or_path.endswith(RANDOM):  # needs no shipped weights
        from motet.policies import tiny

        return wrap(name_or_path, random_model(tiny.config(source), dtype=dtype, seed=seed), tiny.tokenizer())
    place = locate(source)
    try:
        config = AutoConfig.from_pretrained(place)
        check_config(config)
        tokenizer = AutoTokenizer.from_pretrained(place)
        if name_or_path.endswith(RANDOM):
            model = random_model(config, dtype=dtype, seed=seed)
        else:
            model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype, attn_implementation="sdpa")
    except (OSError, ValueError) as error:
        raise EngineError(
            f"the base model cannot be loaded: {str(error).splitlines()[0]}",
            where={"base": name_or_path},
            fix=f"name a folder of save_pretrained, a hub id within reach, smollm2, or one of {', '.join(TINY)}",
        ) from error
    return wrap(name_or_path, model, tokenizer)


def wrap(name: str, model: Any, tokenizer: Any) -> Base:
    """A `Base` from a model and a tokenizer that are already in memory, after the same checks as `load`."""
    check_config(model.config)
    model.eval()
    check_capabilities(model)
    return Base(
        name=name,
        model=model,
        tokenizer=tokenizer,
        dialect="chat" if getattr(tokenizer, "chat_template", None) else "compact",
        eos_ids=eos_ids(model, tokenizer),
        max_positions=int(getattr(model.config, "max_position_embeddings", None) or 2**20),
    )


def locate(source: str) -> str:
    """Where a base lies: the folder inside the package, the cached SmolLM2, or the given path or hub id itself."""
    if source == "smollm2":
        return str(smollm2.ensure())
    bundled = Path(str(importlib.resources.files("motet").joinpath("bases", source)))
    if source in TINY:
        if not (bundled / "config.json").is_file():
            raise EngineError("this base is not in the package", where={"base": source}, fix="run `motet base build`")
        return str(bundled)
    if "/" not in source and (bundled / "config.json").is_file():
        return str(bundled)
    return source


def random_model(config: Any, *, dtype: torch.dtype = torch.float32, seed: int = 0) -> nn.Module:
    """A model of this config with weights drawn from `seed`: the same bits whatever was drawn before."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: nn.Module = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")
    return model.eval()


def eos_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every id that ends an answer: those of the config, of the generation config and of the tokenizer together."""
    found: set[int] = set()
    for holder in (model.config, getattr(model, "generation_config", None), tokenizer):
        value = getattr(holder, "eos_token_id", None)
        found.update([value] if isinstance(value, int) else value or ())
    return frozenset(found)


def check_config(config: Any) -> None:
    """Refuses, by name and before weights load, what the engine's cache or mask cannot express."""
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
    window = getattr(config, "sliding_window", None)
    problem = None
    if getattr(config, "is_encoder_decoder", False):
        problem = "an encoder beside the decoder"
    elif any(hasattr(config, name) for name in ("state_size", "ssm_cfg", "mamba_d_state")):
        problem = "state space layers, which keep no keys and values"
    elif kinds:
        problem = " and ".join(sorted(kinds)).replace("_", " ") + " layers"
    elif window is not None and not hasattr(config, "layer_types") and getattr(config, "use_sliding_window", True):
        problem = f"sliding window attention ({window} tokens)"
    elif getattr(config, "alibi", False) or config.model_type in ("bloom", "mpt"):
        problem = "ALiBi attention, whose bias is not a mask"
    if problem is not None:
        raise EngineError(f"{config.model_type} has {problem}", where={"model_type": config.model_type}, fix=WHAT_WORKS)


def check_capabilities(model: Any) -> None:
    """Compares the engine's two forward passes (padded prompt, then two tokens) with the model's own full pass.

    Raises `EngineError` where they differ by more than rounding, or where the model does not take mask or cache.
    """
    kind = f"{type(model).__name__}"
    forward = Forward(model)
    ids = torch.randint(0, forward.vocab_size, (13,), generator=torch.Generator().manual_seed(5))
    padded = torch.cat([ids.new_zeros(5), ids[:11]])
    try:
        with forward.serving():
            expected = model(input_ids=ids[None].to(forward.device)).logits[0, -3:].float()
            first, kv = forward.prefill(padded[None], torch.tensor([11]))
            rows = kv.expand(torch.zeros(2, dtype=torch.long, device=forward.device), torch.tensor([11]), 3)
            steps = [forward.step(token.expand(2).to(forward.device), rows)[1] for token in ids[11:]]
    except _PROBE_ERRORS as error:
        raise EngineError(
            f"{kind} does not take the engine's mask or cache: {str(error).splitlines()[0] if str(error) else error!r}",
            where={"model_type": model.config.model_type},
            fix=WHAT_WORKS,
        ) from error
    found = torch.stack([first[0], *steps])
    gap = float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-3))
    if not gap <= _TOLERANCE[forward.dtype]:
        raise EngineError(
            f"{kind} gives other logits with the engine's mask and cache (relative gap {gap:.1e})",
            where={"model_type": model.config.model_type},
            fix=WHAT_WORKS,
        )
