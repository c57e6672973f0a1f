"""Forward passes for sampling: a prompt once, then one token per row, through any Hugging Face causal LM.

Keys and values live in buffers of a fixed size that depends on the prompt width and the cap alone. Prompts are padded
on the left; a padding position sees only itself, so nothing in the buffers is ever NaN, and no text position reads it.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import nn
from transformers.cache_utils import Cache, CacheLayerMixin

LENGTH_STEP = 16
MIN_HEAD_ROWS = 16


class Rows(Protocol):
    """Rows in flight."""

    @property
    def num_rows(self) -> int: ...
    def select(self, index: torch.Tensor) -> Rows: ...


Activate = Callable[[Any, str | None], AbstractContextManager[object]]
"""`motet.policies.lora.activate`: runs a model with exactly this adapter (None: the base alone)."""


class _Layer(CacheLayerMixin):
    """One layer's keys and values: `[rows, heads, slots, head_dim]`, of which the first `used` slots are filled.

    Without buffers it keeps what the first pass over the prompt computed.
    """

    is_sliding = False

    def __init__(self, keys: torch.Tensor | None = None, values: torch.Tensor | None = None, used: int = 0) -> None:
        super().__init__()
        self.keys, self.values, self.used = keys, values, used
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        return None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if self.keys is None or self.values is None:
            self.keys, self.values, self.used = key_states, value_states, key_states.shape[-2]
            return key_states, value_states
        end = self.used + key_states.shape[-2]
        self.keys[:, :, self.used : end] = key_states
        self.values[:, :, self.used : end] = value_states
        self.used = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.used + query_length, 0

    def get_seq_length(self, *args: Any) -> int:
        return self.used

    def get_max_length(self) -> int:
        return -1


@dataclass(slots=True)
class PromptKv:
    """Keys and values of B prompts, per layer `[B, heads, width, head_dim]`."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]

    def expand(self, prompt_index: torch.Tensor, lengths: torch.Tensor, max_tokens: int) -> RowKv:
        """Copies prompt `prompt_index[r]` to row r, with room for `max_tokens` more; `lengths` [B] without padding."""
        width = self.keys[0].shape[2]
        slots = -(-(width + max_tokens) // LENGTH_STEP) * LENGTH_STEP
        layers = []
        for keys, values in zip(self.keys, self.values, strict=True):
            pair = []
            for source in (keys, values):
                buffer = source.new_empty((len(prompt_index), source.shape[1], slots, source.shape[3]))
                buffer[:, :, :width] = source.index_select(0, prompt_index)
                pair.append(buffer)
            layers.append(_Layer(pair[0], pair[1], width))
        row_lengths = lengths.to(prompt_index.device).index_select(0, prompt_index)
        hidden = torch.arange(slots, device=keys.device)[None] < (width - row_lengths)[:, None]
        mask = torch.zeros((len(prompt_index), 1, 1, slots), dtype=keys.dtype, device=keys.device)
        mask.masked_fill_(hidden[:, None, None], torch.finfo(keys.dtype).min)
        return RowKv(layers, mask, row_lengths)


@dataclass(slots=True)
class RowKv:
    """Buffers of R rows: layers, additive mask `[R, 1, 1, slots]`, and the next position `[R]` of each row."""

    layers: list[_Layer]
    mask: torch.Tensor
    positions: torch.Tensor

    @property
    def num_rows(self) -> int:
        return len(self.positions)

    def select(self, index: torch.Tensor) -> RowKv:
        """Keeps the rows `index`, in that order. Buffers keep their number of slots."""
        layers = []
        for layer in self.layers:
            assert layer.keys is not None and layer.values is not None
            layers.append(_Layer(layer.keys.index_select(0, index), layer.values.index_select(0, index), layer.used))
        return RowKv(layers, self.mask.index_select(0, index), self.positions.index_select(0, index))


class Forward:
    """The two forward passes of one policy. `adapter` is one that `activate` knows; None is the base alone."""

    def __init__(self, module: nn.Module, adapter: str | None = None, activate: Activate | None = None) -> None:
        self.module, self.adapter, self._activate = module, adapter, activate
        self.config: Any = cast(Any, module).config
        self.vocab_size = int(self.config.vocab_size)
        self.num_parameters = sum(p.numel() for p in module.parameters())
        names = inspect.signature(module.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        parameter = next(module.parameters())
        self.dtype, self.device = parameter.dtype, parameter.device
        self.shape_id = self._shape_id()

    def _shape_id(self) -> str:
        """Names what decides which kernels run: class, shapes, dtype, device, the active adapter's shapes."""
        implementation = getattr(self.config, "_attn_implementation", "")
        parts = [type(self.module).__name__, str(self.device), str(implementation)]
        with self.active():
            for name, p in self.module.named_parameters():
                if "lora_" not in name or p.requires_grad:
                    plain = re.sub(r"(lora_[AB])\.[^.]+", r"\1", name)
                    parts.append(f"{plain}:{tuple(p.shape)}:{p.dtype}")
        return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]

    def active(self) -> AbstractContextManager[object]:
        """The adapter of this policy, or the base alone, for the time of the context."""
        return self._activate(self.module, self.adapter) if self._activate is not None else nullcontext()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Evaluation mode, no gradients, the right adapter; everything is put back afterwards."""
        was_training = self.module.training
        self.module.eval()
        try:
            with self.active(), torch.inference_mode():
                yield
        finally:
            self.module.train(was_training)

    def prefill(self, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, PromptKv]:
        """Logits after the prompts, and their keys and values.

        `ids` [B, W] padded on the left to W, `lengths` [B] without padding -> fp32 [B, V].
        """
        num, width = ids.shape
        ids, lengths = ids.to(self.device), lengths.to(self.device)
        num_layers = int(self.config.num_hidden_layers)
        layers = [_Layer() for _ in range(num_layers)]
        slot = torch.arange(width, device=self.device)
        positions = (slot[None] - (width - lengths)[:, None]).clamp(min=0)
        keep = min(width, -(-MIN_HEAD_ROWS // num))
        logits = self._call(ids, positions, prompt_mask(lengths, width, self.dtype), layers, keep)
        return logits, PromptKv([_kept(layer.keys) for layer in layers], [_kept(layer.values) for layer in layers])

    def expand(
        self, kv: PromptKv, prompt_index: torch.Tensor, lengths: torch.Tensor, max_tokens: int, num_live: int
    ) -> Rows:
        """Rows that go on from the prompts `prompt_index` [N], those of one prompt together, with room for `max_tokens`
        more; rows behind `num_live` are copies of row 0. `lengths` [B] are those of the prompts without padding.
        """
        return kv.expand(prompt_index, lengths, max_tokens)

    def step(self, ids: torch.Tensor, rows: Any) -> torch.Tensor:
        """Logits after one more token `ids` [R] of every row -> fp32 [R, V]; `rows` moves on by one."""
        end = rows.layers[0].used + 1
        logits = self._call(ids[:, None], rows.positions[:, None], rows.mask[..., :end], rows.layers, 1)
        rows.positions = rows.positions + 1
        return logits

    def _call(
        self, ids: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor, layers: list[_Layer], keep: int
    ) -> torch.Tensor:
        output = self.module(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=keep,
            **{self._cache_name: Cache(layers=list(layers))},
        )
        return output.logits[:, -1].float()


def prompt_mask(lengths: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Additive mask [B, 1, W, W] of prompts padded on the left: causal, padding hidden but from itself."""
    slot = torch.arange(width, device=lengths.device)
    is_text = slot[None] >= (width - lengths)[:, None]
    itself = torch.eye(width, dtype=torch.bool, device=lengths.device)
    seen = (slot[None, :] <= slot[:, None])[None] & is_text[:, None, :] | itself
    mask = torch.zeros(seen.shape, dtype=dtype, device=lengths.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


def _kept(tensor: torch.Tensor | None) -> torch.Tensor:
    assert tensor is not None
    return tensor
