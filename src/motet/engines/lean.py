"""The forward passes of Llama-like decoders as plain functions on a model's own weights.

Claim: the same function as the Hugging Face module, within rounding, in fewer and larger operations: queries, keys and
values in one product, gate and up in one, the keys of a prompt shared by all of its rows instead of copied to each.
`LeanNet.of` takes a model only if its structure is known *and* its numbers agree with the module's own.

Legend: N rows, W width, H key heads, G query heads per key head, D head size, V words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

KNOWN = ("Qwen3ForCausalLM", "Qwen2ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM")
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}  # the modules' norms are float32 in either


@dataclass(slots=True)
class Linear:
    """One or more linear layers that read the same input, as one product, the active adapters merged into it.

    x [..., in] -> [..., sum of out]. The weight of the `norm` before them, if given, is multiplied into theirs: one
    pass over the tokens less. `LeanNet.fixed` keeps the joined weights for as long as no weight can change.
    """

    modules: Sequence[Any]
    norm: Any = None
    keeps: bool = False
    _kept: tuple[Tensor, Tensor | None] | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, *self.joined())

    def keep(self, keeps: bool) -> None:
        self.keeps, self._kept = keeps, None

    def joined(self) -> tuple[Tensor, Tensor | None]:
        """(W + scale B A) n of every layer, one below the other, and their biases."""
        if self._kept is not None:
            return self._kept
        weights = [_merged(module) for module in self.modules]
        biases = [base_of(module).bias for module in self.modules]
        weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        bias = biases[0] if len(weights) == 1 or biases[0] is None else torch.cat(biases)
        found = weight if self.norm is None else weight * self.norm.weight, bias
        if self.keeps:
            self._kept = found
        return found


def _merged(module: Any) -> Tensor:
    weight: Tensor = base_of(module).weight
    if (found := adapter_of(module)) is None:
        return weight
    down, up, scale = found
    return (weight.to(down.dtype) + scale * (up @ down)).to(weight.dtype)


def base_of(module: Any) -> Any:
    return getattr(module, "base_layer", module)


def adapter_of(module: Any) -> tuple[Tensor, Tensor, float] | None:
    """A [rank, in], B [out, rank] and the scale of the adapter that is active on `module`, if there is one."""
    if not hasattr(module, "lora_A") or module.disable_adapters:
        return None
    name = module.active_adapters[0]
    return module.lora_A[name].weight, module.lora_B[name].weight, float(module.scaling[name])


@dataclass(slots=True)
class Layer:
    """The parts of one decoder layer."""

    qkv: Linear
    qk_norm: tuple[Any, Any] | None
    out: Linear
    gate_up: Linear
    down: Linear


@dataclass(slots=True)
class Shape:
    """Heads and sizes that all layers share."""

    kv_heads: int
    groups: int
    head: int
    scale: float

    @property
    def heads(self) -> int:
        """Query heads."""
        return self.kv_heads * self.groups


@dataclass(slots=True)
class LeanNet:
    """A decoder's weights and the pieces that every pass is put together from."""

    module: Any
    layers: list[Layer]
    shape: Shape
    angles: Tensor
    turn_scale: float
    _tables: dict[tuple[torch.dtype, int], tuple[Tensor, Tensor]] = field(default_factory=dict)

    @classmethod
    def of(cls, module: Any) -> LeanNet | None:
        """The lean form of `module`, or None where its structure is not known, or its numbers are not the module's."""
        if type(module).__name__ not in KNOWN or next(module.parameters()).dtype not in TOLERANCE:
            return None
        config, decoder = module.config, module.model
        kinds = getattr(config, "layer_types", None)
        has_window = bool(set(kinds) - {"full_attention"} if kinds else getattr(config, "sliding_window", None))
        if config.hidden_act != "silu" or has_window:
            return None
        if next(module.parameters()).device.type != "cpu":
            return None
        if decoder.rotary_emb.rope_type != "default":
            return None
        net = cls._bound(module)
        return net if net._agrees() else None

    @classmethod
    def _bound(cls, module: Any) -> LeanNet:
        config, rotary = module.config, module.model.rotary_emb
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        kv = config.num_key_value_heads
        shape = Shape(kv, config.num_attention_heads // kv, head, head**-0.5)
        layers = [_layer(layer) for layer in module.model.layers]
        return cls(module, layers, shape, rotary.inv_freq.double(), float(rotary.attention_scaling))

    def on(self, module: Any) -> LeanNet:
        """The same net on the weights of `module`, a model of the same kind and shape (the anchor of a KL term)."""
        return self if module is self.module else self._bound(module)

    @contextmanager
    def fixed(self) -> Iterator[None]:
        """Joined weights, adapters merged, are made once in here: for sampling, where no weight changes."""
        linears = [one for layer in self.layers for one in (layer.qkv, layer.out, layer.gate_up, layer.down)]
        for one in linears:
            one.keep(True)
        try:
            yield
        finally:
            for one in linears:
                one.keep(False)

    @torch.no_grad()
    def _agrees(self) -> bool:
        """Whether the numbers of a dozen tokens are those of the module."""
        was_training = self.module.training
        self.module.eval()
        try:
            ids = torch.arange(12) * 7 % self.module.config.vocab_size
            theirs = self.module(input_ids=ids[None], use_cache=False).logits[0]
            x, turn = self.embed(ids), self.turns(torch.arange(12), next(self.module.parameters()).dtype)
            for layer in self.layers:
                q, k, v = (t.transpose(0, 1)[None] for t in self.heads(layer, x, turn))
                grouped = self.shape.groups > 1
                seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
                x = self.rest(layer, x, seen[0].transpose(0, 1).reshape(12, -1))
            ours = self.logits(self.norm(x))
        finally:
            self.module.train(was_training)
        far = float((ours - theirs).abs().max()) / max(float(theirs.abs().max()), 1e-6)
        return bool(torch.isfinite(ours).all()) and far <= TOLERANCE[theirs.dtype]

    def embed(self, ids: Tensor) -> Tensor:
        """Ids of any shape -> [..., W]."""
        found: Tensor = self.module.model.embed_tokens(ids)
        return found

    def logits(self, hidden: Tensor) -> Tensor:
        """Final hidden states [..., W] -> [..., V]."""
        found: Tensor = self.module.get_output_embeddings()(hidden)
        return found

    def norm(self, x: Tensor) -> Tensor:
        norm = self.module.model.norm
        return scaled(x, norm) * norm.weight

    def turns(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine [N, 1, D] of the rotary turn at `positions` [N]."""
        size = -(-(int(positions.max()) + 1) // 256) * 256
        key = (dtype, size)
        if key not in self._tables:
            with torch.inference_mode(False):
                exact = dtype if dtype == torch.float64 else torch.float32
                angle = torch.arange(size).to(exact)[:, None] * self.angles.to(exact)[None]
                cos, sin = angle.cos() * self.turn_scale, angle.sin() * self.turn_scale
                self._tables[key] = (torch.cat([cos, cos], 1).to(dtype), torch.cat([-sin, sin], 1).to(dtype))
        cos, sin = self._tables[key]
        return cos[positions][:, None], sin[positions][:, None]

    def heads(self, layer: Layer, x: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [N, H G, D], keys and values [N, H, D] of tokens x [N, W], turned to their positions."""
        shape = self.shape
        both = shape.heads + shape.kv_heads
        parts = layer.qkv(scaled(x, layer.qkv.norm)).view(len(x), both + shape.kv_heads, shape.head)
        asked, v = parts.split((both, shape.kv_heads), 1)
        if layer.qk_norm is not None:
            one, other = layer.qk_norm
            weight = torch.cat([one.weight.expand(shape.heads, -1), other.weight.expand(shape.kv_heads, -1)])
            asked = scaled(asked, one) * weight
        q, k = turned(asked, *turn).split((shape.heads, shape.kv_heads), 1)
        return q, k, v

    def rest(self, layer: Layer, x: Tensor, seen: Tensor) -> Tensor:
        """What follows attention in a layer: x [N, W], seen [N, H G D] -> [N, W]."""
        x = x + layer.out(seen)
        return x + layer.down(gated(layer.gate_up(scaled(x, layer.gate_up.norm))))


def _layer(layer: Any) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    return Layer(
        qkv=Linear([attention.q_proj, attention.k_proj, attention.v_proj], layer.input_layernorm),
        qk_norm=(attention.q_norm, attention.k_norm) if hasattr(attention, "q_norm") else None,
        out=Linear([attention.o_proj]),
        gate_up=Linear([mlp.gate_proj, mlp.up_proj], layer.post_attention_layernorm),
        down=Linear([mlp.down_proj]),
    )


def inverse_size(x: Tensor, epsilon: float) -> Tensor:
    """1 / sqrt(mean(x^2) + epsilon) over the last axis, which stays with size 1."""
    size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return size.square_().mul_(1.0 / x.shape[-1]).add_(epsilon).rsqrt_()


def scaled(x: Tensor, norm: Any) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon), the mean over the last axis: an RMS norm without its weight.

    float64 stays float64 throughout, where the modules take the mean in float32.

    >>> from types import SimpleNamespace as Norm
    >>> scaled(torch.tensor([[3.0, 4.0]]), Norm(variance_epsilon=0.0))
    tensor([[0.8485, 1.1314]])
    """
    return x * inverse_size(x, norm.variance_epsilon)


def gated(x: Tensor) -> Tensor:
    """silu(a) b for x = (a | b) along the last axis.

    >>> gated(torch.tensor([[0.0, 1.0, 5.0, 2.0]]))
    tensor([[0.0000, 1.4621]])
    """
    gate, up = x.chunk(2, -1)
    return F.silu(gate).mul_(up)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The rotary turn of x [N, heads, D]: x cos + (x with its halves exchanged) sin, where `sin` carries the signs.

    >>> turned(torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[-1.0, 1.0]]])).tolist()
    [[[0.0, 1.0]]]
    """
    half = x.shape[-1] // 2
    return torch.addcmul(x * cos, torch.cat([x[..., half:], x[..., :half]], -1), sin)
