"""The forward pass of a tiny model over many walks that share a prefix, as a function of its weights.

The same function as `Qwen3ForCausalLM` (a test holds them within rounding), several times faster on a processor for
short rows: a prefix is computed once for all its tails, and no mask over the whole row is built.

Legend: B prefixes of P tokens, S tails of L tokens each, H heads of D, W width, V words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from motet.policies.tiny import MAX_POSITIONS, NUM_CELLS, VOCAB_SIZE, TinySize, vocabulary

Weights = Mapping[str, Tensor]
EPSILON, ROTARY_BASE = 1e-6, 10_000.0


def initial_weights(size: TinySize, seed: int) -> dict[str, Tensor]:
    """Weights by name of `Qwen3ForCausalLM`, drawn from `seed` alone.

    Matrices are normal with std 0.5 / sqrt(W), those that write into the residual stream divided by sqrt(2 layers).
    The words of one cell (path, wall, goal) share a code that is smooth in its row and in its column, so that
    neighbourhood need not be learnt from nothing; so do the numbers.
    """
    gen = torch.Generator().manual_seed(seed)

    def normal(*shape: int, std: float) -> Tensor:
        return torch.randn(*shape, generator=gen) * std

    width, std = size.hidden, 0.5 / math.sqrt(size.hidden)
    into = std / math.sqrt(2 * size.layers)
    found = {"model.embed_tokens.weight": _embedding(width, normal)}
    for index in range(size.layers):
        layer = f"model.layers.{index}."
        for name in ("q", "k", "v"):
            found[f"{layer}self_attn.{name}_proj.weight"] = normal(width, width, std=std)
        found[f"{layer}self_attn.o_proj.weight"] = normal(width, width, std=into)
        found[f"{layer}mlp.gate_proj.weight"] = normal(size.mlp, width, std=std)
        found[f"{layer}mlp.up_proj.weight"] = normal(size.mlp, width, std=std)
        found[f"{layer}mlp.down_proj.weight"] = normal(width, size.mlp, std=into)
        for name in ("q", "k"):
            found[f"{layer}self_attn.{name}_norm.weight"] = torch.ones(width // size.heads)
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"{layer}{name}.weight"] = torch.ones(width)
    found["model.norm.weight"] = torch.ones(width)
    return found


def _embedding(width: int, normal: Callable[..., Tensor]) -> Tensor:
    table, words = normal(VOCAB_SIZE, width, std=0.02), vocabulary()
    side = _waves(10)
    rows, columns = side @ normal(10, width, std=0.18), side @ normal(10, width, std=0.18)
    place = (rows[:, None] + columns[None]).reshape(NUM_CELLS, width) / 1.5
    for first in (words.index("c00"), words.index("x00"), words.index("g00")):
        kind = normal(1, width, std=0.06)
        table[first : first + NUM_CELLS] = place + kind + normal(NUM_CELLS, width, std=0.01)
    numbers = _waves(64) @ normal(10, width, std=0.06)
    table[words.index("n0") : words.index("n0") + 64] = numbers + normal(1, width, std=0.06)
    return table


def _waves(num: int) -> Tensor:
    """[num, 10], rows of length 1: five sines and cosines of half waves over 0 .. num - 1."""
    angle = torch.arange(num).float()[:, None] * torch.arange(1, 6).float()[None] * math.pi / num
    return F.normalize(torch.cat([angle.sin(), angle.cos()], 1), dim=1)


class TinyNet:
    """A tiny model as a function: `hidden` for training, `logits` of any hidden state."""

    def __init__(self, size: TinySize, weights: Weights) -> None:
        self.size, self.weights = size, weights
        half = size.hidden // size.heads // 2
        angle = torch.arange(MAX_POSITIONS).float()[:, None] / ROTARY_BASE ** (torch.arange(half).float() / half)
        self._cos, self._sin = (torch.cat([part, part], 1) for part in (angle.cos(), angle.sin()))

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., W] -> [..., V]; the head is the embedding."""
        return F.linear(hidden, self.weights["model.embed_tokens.weight"])

    def hidden(self, prefix: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
        """Final hidden states of prefixes [B, P, W] and of tails [B, S, L, W]; a tail sees its prefix and itself.

        `prefix` [B, P] and `tails` [B, S, L] are ids; every tail stands at positions P .. P + L - 1.
        """
        (num, first), (_, many, length) = prefix.shape, tails.shape
        cut, heads = num * first, self.size.heads
        x = F.embedding(torch.cat([prefix.reshape(-1), tails.reshape(-1)]), self.weights["model.embed_tokens.weight"])
        where = torch.cat([torch.arange(first).repeat(num), (first + torch.arange(length)).repeat(num * many)])
        turn = self._cos[where][:, None], self._sin[where][:, None]
        later = torch.full((length, length), float("-inf")).triu(1)
        for index in range(self.size.layers):
            w = self._layer(index)
            y = F.linear(_norm(x, w["input_layernorm"]), w["qkv"]).view(x.shape[0], 3 * heads, -1)
            q = _rotate(_norm(y[:, :heads], w["self_attn.q_norm"]), *turn)
            k = _rotate(_norm(y[:, heads : 2 * heads], w["self_attn.k_norm"]), *turn)
            seen = _attend(q, k, y[:, 2 * heads :], (num, first, many, length), cut, later)
            x = x + F.linear(seen, w["self_attn.o_proj"])
            gate, up = F.linear(_norm(x, w["post_attention_layernorm"]), w["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, w["mlp.down_proj"])
        x = _norm(x, self.weights["model.norm.weight"])
        return x[:cut].view(num, first, -1), x[cut:].view(num, many, length, -1)

    def _layer(self, index: int) -> dict[str, Tensor]:
        start = f"model.layers.{index}."
        w = {k[len(start) : -len(".weight")]: v for k, v in self.weights.items() if k.startswith(start)}
        w["qkv"] = torch.cat([w[f"self_attn.{name}_proj"] for name in "qkv"])
        w["gate_up"] = torch.cat([w["mlp.gate_proj"], w["mlp.up_proj"]])
        return w


def _norm(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


def _attend(q: Tensor, k: Tensor, v: Tensor, shape: tuple[int, int, int, int], cut: int, later: Tensor) -> Tensor:
    """Attention of all tokens [B P + B S L, H, D] -> [the same, W]; the first `cut` of them are the prefixes."""
    num, first, many, length = shape
    heads, depth = q.shape[1:]
    qp, kp, vp = (t[:cut].view(num, first, heads, depth).transpose(1, 2) for t in (q, k, v))
    qt, kt, vt = (t[cut:].reshape(num * many, length, heads, depth).transpose(1, 2) for t in (q, k, v))
    of_prefix = F.scaled_dot_product_attention(qp, kp, vp, is_causal=True).transpose(1, 2).reshape(cut, -1)
    asked = q[cut:].view(num, many * length, heads, depth).transpose(1, 2)
    back = (asked @ kp.transpose(-1, -2)).view(num, heads, many, length, first).permute(0, 2, 1, 3, 4)
    own = (qt @ kt.transpose(-1, -2)).view(num, many, heads, length, length) / math.sqrt(depth) + later
    weight = torch.cat([back / math.sqrt(depth), own], -1).softmax(-1)
    from_prefix = weight[..., :first].permute(0, 2, 1, 3, 4).reshape(num, heads, many * length, first) @ vp
    from_own = weight[..., first:].reshape(num * many, heads, length, length) @ vt
    of_tails = from_prefix.transpose(1, 2).reshape(num * many * length, -1)
    return torch.cat([of_prefix, of_tails + from_own.transpose(1, 2).reshape(num * many * length, -1)])
