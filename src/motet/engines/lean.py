"""The forward passes of Llama-like decoders as plain functions on a model's own weights.

Claim: the same function as the Hugging Face module, within rounding, in fewer and larger operations: queries, keys and
values in one product, gate and up in one, the keys of a prompt shared by all of its rows instead of copied to each.
`LeanNet.of` takes a model only if its structure is known *and* its numbers agree with the module's own.

Legend: B prompts, P tokens of a prompt, S answers of a prompt, T tokens of an answer, N rows, W width, H key heads,
G query heads per key head, D head size, V words.
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
    """One or more linear layers that read the same input, as one product; with the active adapter on top.

    x [..., in] -> [..., sum of out]. The weight of the `norm` before them, if given, is multiplied into theirs: one pass
    over the tokens less. `LeanNet.fixed` keeps the joined weights for as long as no weight can change.
    """

    modules: Sequence[Any]
    norm: Any = None
    keeps: bool = False
    _kept: tuple[Tensor, Tensor | None] | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self._kept is not None:
            return F.linear(x, *self._kept)
        adapters = [_adapter(module) for module in self.modules]
        if self.keeps:
            self._kept = self._joined(adapters)
            return F.linear(x, *self._kept)
        out = F.linear(x, *self._joined([None] * len(adapters)))
        if not any(adapters):
            return out
        x = x if self.norm is None else x * self.norm.weight
        low = [
            out.new_zeros(*out.shape[:-1], _base(module).weight.shape[0]) if found is None else _low_rank(x, *found)
            for module, found in zip(self.modules, adapters, strict=True)
        ]
        return out + (low[0] if len(low) == 1 else torch.cat(low, -1)).to(out.dtype)

    def keep(self, keeps: bool) -> None:
        self.keeps, self._kept = keeps, None

    def _joined(self, adapters: Sequence[tuple[Tensor, Tensor, float] | None]) -> tuple[Tensor, Tensor | None]:
        """W + scale B A of every layer, one below the other."""
        weights = [
            weight if found is None else (weight.to(found[0].dtype) + found[2] * (found[1] @ found[0])).to(weight.dtype)
            for weight, found in zip((_base(module).weight for module in self.modules), adapters, strict=True)
        ]
        biases = [_base(module).bias for module in self.modules]
        weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        bias = biases[0] if len(weights) == 1 or biases[0] is None else torch.cat(biases)
        return weight if self.norm is None else weight * self.norm.weight, bias


def _low_rank(x: Tensor, down: Tensor, up: Tensor, scale: float) -> Tensor:
    return F.linear(F.linear(x.to(down.dtype), down), up) * scale


def _base(module: Any) -> Any:
    return getattr(module, "base_layer", module)


def _adapter(module: Any) -> tuple[Tensor, Tensor, float] | None:
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
        if config.hidden_act != "silu" or set(getattr(config, "layer_types", None) or ()) - {"full_attention"}:
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
            ids = torch.arange(12)[None] * 7 % self.module.config.vocab_size
            theirs = self.module(input_ids=ids, use_cache=False).logits[0]
            prefix, tails = self.packed(ids[:, :8], torch.tensor([8]), ids[:, None, 8:])
            ours = self.logits(torch.cat([prefix[0], tails[0, 0]]))
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
        q, k = rotate(asked, *turn).split((shape.heads, shape.kv_heads), 1)
        return q, k, v

    def rest(self, layer: Layer, x: Tensor, seen: Tensor) -> Tensor:
        """What follows attention in a layer: x [N, W], seen [N, H G D] -> [N, W]."""
        x = x + layer.out(seen)
        return x + layer.down(gated(layer.gate_up(scaled(x, layer.gate_up.norm))))

    def packed(self, prefix: Tensor, lengths: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
        """Final hidden states of prompts [B, P, W] and of their answers [B, S, T, W].

        `prefix` [B, P] and `tails` [B, S, T] are ids padded on the right, `lengths` [B] those of the prompts. An answer
        sees its prompt and itself and stands behind the prompt's last token. What stands at padding is of no use.
        """
        (num, first), (_, many, length) = prefix.shape, tails.shape
        x = self.embed(torch.cat([prefix.reshape(-1), tails.reshape(-1)]))
        places = lengths[:, None, None] + torch.arange(length)
        places = torch.cat([torch.arange(first).repeat(num), places.expand(num, many, length).reshape(-1)])
        turn = self.turns(places, x.dtype)
        is_padded = bool((lengths != first).any())
        hidden = (torch.arange(first)[None] >= lengths[:, None]) if is_padded else None
        mask = None if hidden is None else torch.zeros(hidden.shape, dtype=x.dtype).masked_fill_(hidden, float("-inf"))
        later = torch.full((length, length), float("-inf"), dtype=x.dtype).triu(1)
        for layer in self.layers:
            q, k, v = self.heads(layer, x, turn)
            seen = self._seen(q, k, v, (num, first, many, length), mask, later)
            x = self.rest(layer, x, seen)
        x = self.norm(x)
        cut, wide = num * first, x.shape[-1]
        return x[:cut].view(num, first, wide), x[cut:].view(num, many, length, wide)

    def _seen(
        self, q: Tensor, k: Tensor, v: Tensor, sizes: tuple[int, int, int, int], mask: Tensor | None, later: Tensor
    ) -> Tensor:
        """Attention of all tokens, the B P of the prompts first: [B P + B S T, H G D]."""
        num, first, many, length = sizes
        shape, cut = self.shape, num * first
        h, g, d = shape.kv_heads, shape.groups, shape.head
        (qp, qt), (kp, kt), (vp, vt) = (t.split((cut, len(t) - cut)) for t in (q, k, v))
        qp = qp.reshape(num, first, h * g, d).transpose(1, 2)
        kp, vp = (t.reshape(num, first, h, d).transpose(1, 2) for t in (kp, vp))
        of_prompts = F.scaled_dot_product_attention(qp, kp, vp, is_causal=True, enable_gqa=g > 1)
        of_prompts = of_prompts.transpose(1, 2).reshape(cut, -1)
        if not many * length:
            return of_prompts
        asked = qt.reshape(num, many * length, h, g, d).permute(0, 2, 3, 1, 4).reshape(num, h, g * many * length, d)
        back = (asked @ kp.transpose(-1, -2)) * shape.scale
        if mask is not None:
            back = back + mask[:, None, None]
        qt = qt.reshape(num * many, length, h, g, d).permute(0, 2, 3, 1, 4)
        kt, vt = (t.reshape(num * many, length, h, d).transpose(1, 2) for t in (kt, vt))
        own = (qt.reshape(num * many, h, g * length, d) @ kt.transpose(-1, -2)) * shape.scale
        own = own.view(num, many, h, g, length, length) + later
        back = back.view(num, h, g, many, length, first).permute(0, 3, 1, 2, 4, 5)
        weight = torch.cat([back, own], -1).softmax(-1)
        of_prompt = weight[..., :first].permute(0, 2, 3, 1, 4, 5).reshape(num, h, g * many * length, first) @ vp
        of_prompt = of_prompt.view(num, h, g, many, length, d).permute(0, 3, 4, 1, 2, 5).reshape(-1, h * g * d)
        of_own = weight[..., first:].reshape(num * many, h, g * length, length) @ vt
        of_own = of_own.view(num * many, h, g, length, d).permute(0, 3, 1, 2, 4).reshape(-1, h * g * d)
        return torch.cat([of_prompts, of_prompt + of_own])


def _layer(layer: Any) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    return Layer(
        qkv=Linear([attention.q_proj, attention.k_proj, attention.v_proj], layer.input_layernorm),
        qk_norm=(attention.q_norm, attention.k_norm) if hasattr(attention, "q_norm") else None,
        out=Linear([attention.o_proj]),
        gate_up=Linear([mlp.gate_proj, mlp.up_proj], layer.post_attention_layernorm),
        down=Linear([mlp.down_proj]),
    )


class _Scaled(torch.autograd.Function):
    """y = x r with r = 1 / sqrt(mean(x^2) + epsilon): dx = r (g - y mean(g y)); the means are over the last axis."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, epsilon: float) -> Tensor:
        r = _inverse_size(x, epsilon)
        y = x * r
        ctx.save_for_backward(y, r)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (grad,), (y, r) = grads, ctx.saved_tensors
        mean = torch.linalg.vecdot(grad, y).unsqueeze(-1).mul_(1.0 / y.shape[-1])
        return torch.addcmul(grad, y, mean, value=-1.0).mul_(r), None


class _Gated(torch.autograd.Function):
    """silu(a) b of x = (a | b); both gradients are written side by side."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        gate, up = x.chunk(2, -1)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (grad,), (x,) = grads, ctx.saved_tensors
        gate, up = x.chunk(2, -1)
        out = torch.empty_like(x)
        of_gate, of_up = out.chunk(2, -1)
        torch.mul(grad, F.silu(gate), out=of_up)
        torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=of_gate)
        return out


def _inverse_size(x: Tensor, epsilon: float) -> Tensor:
    size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return size.square_().mul_(1.0 / x.shape[-1]).add_(epsilon).rsqrt_()


class _Rotate(torch.autograd.Function):
    """The rotary turn; its gradient is the turn back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return turned(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        return turned(grads[0], cos, -sin), None, None


def scaled(x: Tensor, norm: Any) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon), the mean over the last axis: an RMS norm without its weight.

    float64 stays float64 throughout, where the modules take the mean in float32.

    >>> from types import SimpleNamespace as Norm
    >>> scaled(torch.tensor([[3.0, 4.0]]), Norm(variance_epsilon=0.0))
    tensor([[0.8485, 1.1314]])
    """
    if not torch.is_grad_enabled():
        return x * _inverse_size(x, norm.variance_epsilon)
    found: Tensor = _Scaled.apply(x, norm.variance_epsilon)  # type: ignore[no-untyped-call]
    return found


def gated(x: Tensor) -> Tensor:
    """silu(a) b for x = (a | b) along the last axis.

    >>> gated(torch.tensor([[0.0, 1.0, 5.0, 2.0]]))
    tensor([[0.0000, 1.4621]])
    """
    if not torch.is_grad_enabled():
        gate, up = x.chunk(2, -1)
        return F.silu(gate).mul_(up)
    found: Tensor = _Gated.apply(x)  # type: ignore[no-untyped-call]
    return found


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The rotary turn of x [N, heads, D]; `sin` carries the sign of each half.

    >>> rotate(torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[-1.0, 1.0]]])).tolist()
    [[[0.0, 1.0]]]
    """
    if not torch.is_grad_enabled():
        return turned(x, cos, sin)
    found: Tensor = _Rotate.apply(x, cos, sin)  # type: ignore[no-untyped-call]
    return found


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x cos + (x with its halves exchanged) sin."""
    half = x.shape[-1] // 2
    return torch.addcmul(x * cos, torch.cat([x[..., half:], x[..., :half]], -1), sin)
