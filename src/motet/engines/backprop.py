"""Prompts and their answers through a `LeanNet`, with the backward pass written out.

Claim: the hidden states and the gradients of `LeanNet.module` on every row alone, within rounding. Automatic
differentiation keeps and moves several times as much; here a micro-batch is small enough for the caches, and what an
operation costs besides its arithmetic decides.

Legend: M positions (B P of the prompts, then B S T of the answers), W width, F of the gate, H key heads, G query heads
per key head, D head size. A name with `d` in front is the gradient of the loss by that name.

    h = x / size(x)      qkv = h Wqkv      q, k = turn(norm(q), norm(k))      a = attention(q, k, v)      y = x + a Wo
    m = y / size(y)      gu = m Wgu        out = y + (silu(g) u) Wd
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from motet.engines.lean import Layer, LeanNet, Linear, Shape, adapter_of, base_of, inverse_size, turned

# what scaled_dot_product_attention runs on a processor; named, because its own backward is needed
_FLASH_NAME = "_scaled_dot_product_flash_attention_for_cpu"
_FLASH = getattr(torch.ops.aten, _FLASH_NAME, None)
_FLASH_BACK = getattr(torch.ops.aten, f"{_FLASH_NAME}_backward", None)

Grads = dict[int, Tensor]
"""Gradient by `id` of the parameter."""


def hidden_states(net: LeanNet, prefix: Tensor, lengths: Tensor, tails: Tensor) -> Tensor:
    """Final hidden states [B P + B S T, W] of prompts and, behind them, of their answers.

    `prefix` [B, P] and `tails` [B, S, T] are ids padded on the right, `lengths` [B] those of the prompts. An answer
    sees its prompt and itself and stands behind the prompt's last token. What stands at padding is of no use and must
    get no gradient.
    """
    found: Tensor = _Pass.apply(net, prefix, lengths, tails, *parameters(net))  # type: ignore[no-untyped-call]
    return found


def is_available() -> bool:
    """Whether this build of torch has the attention kernel with a backward pass of its own."""
    return _FLASH is not None and _FLASH_BACK is not None


def parameters(net: LeanNet) -> list[Tensor]:
    """Every weight that has a part in the hidden states now, the active adapter's included."""
    decoder = net.module.model
    found: list[Tensor] = [decoder.embed_tokens.weight, decoder.norm.weight]
    for layer in net.layers:
        for linear in (layer.qkv, layer.out, layer.gate_up, layer.down):
            found += _parameters_of(linear)
        found += [norm.weight for norm in layer.qk_norm or ()]
    return found


def _parameters_of(linear: Linear) -> Iterable[Tensor]:
    if linear.norm is not None:
        yield linear.norm.weight
    for module in linear.modules:
        yield base_of(module).weight
        if base_of(module).bias is not None:
            yield base_of(module).bias
        if (found := adapter_of(module)) is not None:
            yield from found[:2]


@dataclass(slots=True)
class _Kept:
    """What the backward pass of one layer needs."""

    weights: list[tuple[Tensor, Tensor | None]]
    h: Tensor
    r: Tensor
    normed: Tensor | None
    size: Tensor | None
    q: Tensor
    k: Tensor
    v: Tensor
    attention: _Attention
    a: Tensor
    m: Tensor
    s: Tensor
    gu: Tensor


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, net: LeanNet, prefix: Tensor, lengths: Tensor, tails: Tensor, *weights: Tensor) -> Tensor:
        (num, first), (_, many, length) = prefix.shape, tails.shape
        ids = torch.cat([prefix.reshape(-1), tails.reshape(-1)])
        x = F.embedding(ids, weights[0])
        places = (lengths[:, None, None] + torch.arange(length)).expand(num, many, length)
        turn = net.turns(torch.cat([torch.arange(first).repeat(num), places.reshape(-1)]), x.dtype)
        masks = _masks(lengths, first, length, x.dtype)
        kept: list[_Kept] = []
        for layer in net.layers:
            x = _forward(net.shape, layer, x, turn, (num, first, many, length), masks, kept)
        r = inverse_size(x, net.module.model.norm.variance_epsilon)
        last = x.mul_(r)
        ctx.net, ctx.kept, ctx.ids, ctx.turn, ctx.last, ctx.r, ctx.weights = net, kept, ids, turn, last, r, weights
        return last * weights[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        embedding, norm, needed = ctx.weights[0], ctx.weights[1], ctx.needs_input_grad[4:]
        found: Grads = {}
        wanted = {id(weight) for weight, need in zip(ctx.weights, needed, strict=True) if need}
        if id(norm) in wanted:
            found[id(norm)] = (grads[0] * ctx.last).sum(0)
        dx = _unscaled(grads[0] * norm, ctx.last, ctx.r)
        for layer, kept in zip(reversed(ctx.net.layers), reversed(ctx.kept), strict=True):
            dx = _backward(ctx.net.shape, layer, kept, dx, ctx.turn, wanted, found)
        if id(embedding) in wanted:
            found[id(embedding)] = torch.zeros_like(embedding).index_add_(0, ctx.ids, dx)
            if (pad := ctx.net.module.model.embed_tokens.padding_idx) is not None:
                found[id(embedding)][pad] = 0.0  # as torch.nn.Embedding has it
        return (None, None, None, None, *(found.get(id(weight)) for weight in ctx.weights))


def _forward(
    shape: Shape, layer: Layer, x: Tensor, turn: Any, sizes: tuple[int, ...], masks: _Masks, kept: list[_Kept]
) -> Tensor:
    weights = [linear.joined() for linear in (layer.qkv, layer.out, layer.gate_up, layer.down)]
    r = inverse_size(x, layer.qkv.norm.variance_epsilon)
    h = x * r
    both = shape.heads + shape.kv_heads
    qkv = F.linear(h, *weights[0]).view(len(x), both + shape.kv_heads, shape.head)
    qk, v = qkv[:, :both], qkv[:, both:]
    normed = size = None
    if layer.qk_norm is not None:
        size = inverse_size(qk, layer.qk_norm[0].variance_epsilon)
        normed = qk * size
        qk = normed * _qk_weight(shape, layer)
    qk = turned(qk, *turn)
    q, k = qk[:, : shape.heads], qk[:, shape.heads :]
    attention, a = _attend(shape, q, k, v, sizes, masks)
    y = F.linear(a, *weights[1]).add_(x)
    s = inverse_size(y, layer.gate_up.norm.variance_epsilon)
    m = y * s
    gu = F.linear(m, *weights[2])
    gate, up = gu.chunk(2, -1)
    kept.append(_Kept(weights, h, r, normed, size, q, k, v, attention, a, m, s, gu))
    return F.linear(F.silu(gate).mul_(up), *weights[3]).add_(y)


def _backward(shape: Shape, layer: Layer, kept: _Kept, dx: Tensor, turn: Any, wanted: set[int], found: Grads) -> Tensor:
    gate, up = kept.gu.chunk(2, -1)
    act = F.silu(gate)
    dz = _linear_back(layer.down, kept.weights[3], dx, act * up, wanted, found)
    dgu = torch.empty_like(kept.gu)
    dgate, dup = dgu.chunk(2, -1)
    torch.mul(dz, act, out=dup)
    torch.ops.aten.silu_backward.grad_input(dz.mul_(up), gate, grad_input=dgate)
    dm = _linear_back(layer.gate_up, kept.weights[2], dgu, kept.m, wanted, found)
    dy = _unscaled(dm, kept.m, kept.s).add_(dx)
    da = _linear_back(layer.out, kept.weights[1], dy, kept.a, wanted, found)
    both = shape.heads + shape.kv_heads
    dqkv = torch.empty((len(dx), both + shape.kv_heads, shape.head), dtype=dx.dtype)
    kept.attention.backward(shape, kept.q, kept.k, kept.v, da, dqkv)
    dqk = turned(dqkv[:, :both], turn[0], -turn[1])
    if kept.normed is not None and kept.size is not None and layer.qk_norm is not None:
        dweight = (dqk * kept.normed).sum(0)
        for norm, part in zip(layer.qk_norm, dweight.split((shape.heads, shape.kv_heads)), strict=True):
            if id(norm.weight) in wanted:
                found[id(norm.weight)] = part.sum(0)
        dqk = _unscaled(dqk.mul_(_qk_weight(shape, layer)), kept.normed, kept.size)
    dqkv[:, :both] = dqk
    dh = _linear_back(layer.qkv, kept.weights[0], dqkv.view(len(dx), -1), kept.h, wanted, found)
    return _unscaled(dh, kept.h, kept.r).add_(dy)


def _qk_weight(shape: Shape, layer: Layer) -> Tensor:
    """[H G + H, D]: the norm's weight of every query and key head."""
    assert layer.qk_norm is not None
    one, other = layer.qk_norm
    return torch.cat([one.weight.expand(shape.heads, -1), other.weight.expand(shape.kv_heads, -1)])


def _unscaled(dy: Tensor, y: Tensor, r: Tensor) -> Tensor:
    """The gradient by x of y = x r, r = 1 / sqrt(mean(x^2) + epsilon): r (dy - y mean(dy y)). Takes over `dy`."""
    mean = torch.linalg.vecdot(dy, y).unsqueeze(-1).mul_(-1.0 / y.shape[-1])
    return dy.addcmul_(y, mean).mul_(r)


def _linear_back(
    linear: Linear, joined: tuple[Tensor, Tensor | None], dy: Tensor, x: Tensor, wanted: set[int], found: Grads
) -> Tensor:
    """The gradient by x of `linear`, whose joined weights were `joined`; those of its parameters go to `found`.

    With the norm's weight n multiplied in, W' = W n: dW = dW' n and dn = sum over outputs of dW' W.
    """
    norm = None if linear.norm is None else linear.norm.weight
    trained = [base_of(module).weight for module in linear.modules]
    sizes = [len(weight) for weight in trained]
    if any(id(weight) in wanted for weight in trained) or (norm is not None and id(norm) in wanted):
        whole = dy.T @ x
        if norm is not None:
            if id(norm) in wanted:
                found[id(norm)] = (whole * torch.cat(trained)).sum(0)
            whole = whole * norm
        found |= {id(w): part for w, part in zip(trained, whole.split(sizes), strict=True) if id(w) in wanted}
    for module, part in zip(linear.modules, dy.split(sizes, -1), strict=True):
        bias, adapter = base_of(module).bias, adapter_of(module)
        if bias is not None and id(bias) in wanted:
            found[id(bias)] = part.sum(0)
        if adapter is not None:
            down, up, scale = adapter
            down = down if norm is None else down * norm
            found[id(adapter[1])] = scale * (part.T.to(up.dtype) @ F.linear(x.to(down.dtype), down))
            back = (scale * (part.to(up.dtype) @ up)).T @ x.to(up.dtype)
            found[id(adapter[0])] = back if norm is None else back * norm
    return dy @ joined[0]


@dataclass(slots=True)
class _Masks:
    """0 where a position is seen, -inf elsewhere: [T, T] causal, [B, 1, 1, P] for padded prompts or None."""

    own: Tensor
    padding: Tensor | None


def _masks(lengths: Tensor, first: int, length: int, dtype: torch.dtype) -> _Masks:
    own = torch.full((length, length), float("-inf"), dtype=dtype).triu_(1)
    hidden = torch.arange(first)[None] >= lengths[:, None]
    padding = torch.zeros(hidden.shape, dtype=dtype).masked_fill_(hidden, float("-inf"))[:, None, None]
    return _Masks(own, padding if bool(hidden.any()) else None)


@dataclass(slots=True)
class _Attention:
    """Output and log-sum of the prompts' attention to themselves [B, H G, P, D] and [B, H G, P]; the weights of answers
    over their prompt and themselves [B, S, H, G, T, P + T].
    """

    sizes: tuple[int, ...]
    prompts: tuple[Tensor, Tensor]
    answers: Tensor | None

    def backward(self, shape: Shape, q: Tensor, k: Tensor, v: Tensor, da: Tensor, dqkv: Tensor) -> None:
        """Writes the gradients by queries, keys and values [M, H G + H + H, D] to `dqkv`."""
        num, first, many, length = self.sizes
        h, g, d = shape.kv_heads, shape.groups, shape.head
        cut, heads = num * first, shape.heads
        kp, vp = _of_prompts(k, num, first), _of_prompts(v, num, first)
        dout = da[:cut].view(num, first, heads, d).transpose(1, 2)
        repeated = (_of_prompts(q, num, first), *_repeated(kp, vp, g))
        assert _FLASH_BACK is not None
        dqp, dkp, dvp = _FLASH_BACK(dout, *repeated, *self.prompts, 0.0, True, scale=shape.scale)
        dkp, dvp = (t if g == 1 else t.reshape(num, h, g, first, d).sum(2) for t in (dkp, dvp))
        if self.answers is not None:
            tokens = num * many * length
            qt = _grouped(q[cut:], num, many * length, h, g)
            dout = _grouped(da[cut:].view(tokens, heads, d), num, many * length, h, g)
            back, own = _parts(self.answers, self.sizes, h, g)
            kt, vt = (t[cut:].reshape(num * many, length, h, d).transpose(1, 2) for t in (k, v))
            dout_own = _own(dout, self.sizes, h, g, d)
            dback = dout @ vp.transpose(-1, -2)
            downs = dout_own @ vt.transpose(-1, -2)
            whole = _whole(dback, downs, self.sizes, h, g)
            ds_back, ds_own = _parts(_softmax_back(whole, self.answers, shape.scale), self.sizes, h, g)
            dvp += back.transpose(-1, -2) @ dout
            dkp += ds_back.transpose(-1, -2) @ qt
            dqt = _ungrouped(ds_back @ kp, num, many * length, h, g)
            qo = _own(qt, self.sizes, h, g, d)
            dqo = (ds_own @ kt).view(num * many, h, g, length, d).permute(0, 3, 1, 2, 4).reshape(tokens, heads, d)
            torch.add(dqt, dqo, out=dqkv[cut:, :heads])
            dqkv[cut:, heads : heads + h] = (ds_own.transpose(-1, -2) @ qo).transpose(1, 2).reshape(tokens, h, d)
            dqkv[cut:, heads + h :] = (own.transpose(-1, -2) @ dout_own).transpose(1, 2).reshape(tokens, h, d)
        dqkv[:cut, :heads] = dqp.transpose(1, 2).reshape(cut, heads, d)
        dqkv[:cut, heads : heads + h] = dkp.transpose(1, 2).reshape(cut, h, d)
        dqkv[:cut, heads + h :] = dvp.transpose(1, 2).reshape(cut, h, d)


def _attend(
    shape: Shape, q: Tensor, k: Tensor, v: Tensor, sizes: tuple[int, ...], masks: _Masks
) -> tuple[_Attention, Tensor]:
    """Attention of all M tokens [M, H G D], and what its gradient needs."""
    num, first, many, length = sizes
    h, g, d = shape.kv_heads, shape.groups, shape.head
    cut = num * first
    kp, vp = _of_prompts(k, num, first), _of_prompts(v, num, first)
    assert _FLASH is not None
    prompts = _FLASH(_of_prompts(q, num, first), *_repeated(kp, vp, g), 0.0, True, scale=shape.scale)
    out = torch.empty((len(q), h * g, d), dtype=q.dtype)
    out[:cut] = prompts[0].transpose(1, 2).reshape(cut, h * g, d)
    if not many * length:
        return _Attention(sizes, prompts, None), out.view(len(q), -1)
    qt = _grouped(q[cut:], num, many * length, h, g)
    back = (qt @ kp.transpose(-1, -2)).mul_(shape.scale)
    if masks.padding is not None:
        back += masks.padding
    kt, vt = (t[cut:].reshape(num * many, length, h, d).transpose(1, 2) for t in (k, v))
    own = (_own(qt, sizes, h, g, d) @ kt.transpose(-1, -2)).mul_(shape.scale)
    own.view(num * many, h, g, length, length).add_(masks.own)
    answers = _whole(back, own, sizes, h, g).softmax(-1)
    of_prompt, of_own = _parts(answers, sizes, h, g)
    seen = (of_own @ vt).view(num * many, h, g, length, d).permute(0, 3, 1, 2, 4).reshape(-1, h * g, d)
    torch.add(_ungrouped(of_prompt @ vp, num, many * length, h, g), seen, out=out[cut:])
    return _Attention(sizes, prompts, answers), out.view(len(q), -1)


def _softmax_back(dp: Tensor, p: Tensor, scale: float) -> Tensor:
    """The gradient by the scores before `scale`: p (dp - sum(dp p)) scale. Takes over `dp`."""
    dp.sub_(torch.linalg.vecdot(dp, p).unsqueeze(-1))
    return dp.mul_(p).mul_(scale)


def _repeated(k: Tensor, v: Tensor, g: int) -> tuple[Tensor, Tensor]:
    """Keys and values once per query head."""
    return (k, v) if g == 1 else (k.repeat_interleave(g, 1), v.repeat_interleave(g, 1))


def _of_prompts(t: Tensor, num: int, first: int) -> Tensor:
    """[M, H, D] -> the prompts' [B, H, P, D]."""
    return t[: num * first].reshape(num, first, t.shape[1], -1).transpose(1, 2)


def _grouped(t: Tensor, num: int, tokens: int, h: int, g: int) -> Tensor:
    """[B L, H G, D] -> [B, H, G L, D]: one product per key head."""
    return t.reshape(num, tokens, h, g, -1).permute(0, 2, 3, 1, 4).reshape(num, h, g * tokens, -1)


def _ungrouped(t: Tensor, num: int, tokens: int, h: int, g: int) -> Tensor:
    """[B, H, G L, D] -> [B L, H G, D]."""
    return t.reshape(num, h, g, tokens, -1).permute(0, 3, 1, 2, 4).reshape(num * tokens, h * g, -1)


def _own(t: Tensor, sizes: tuple[int, ...], h: int, g: int, d: int) -> Tensor:
    """[B, H, G S T, D] -> [B S, H, G T, D]."""
    num, _, many, length = sizes
    t = t.view(num, h, g, many, length, d).permute(0, 3, 1, 2, 4, 5)
    return t.reshape(num * many, h, g * length, d)


def _whole(back: Tensor, own: Tensor, sizes: tuple[int, ...], h: int, g: int) -> Tensor:
    """Over the prompt [B, H, G S T, P] and over the answer [B S, H, G T, T] -> [B, S, H, G, T, P + T]."""
    num, first, many, length = sizes
    back = back.view(num, h, g, many, length, first).permute(0, 3, 1, 2, 4, 5)
    return torch.cat([back, own.view(num, many, h, g, length, length)], -1)


def _parts(whole: Tensor, sizes: tuple[int, ...], h: int, g: int) -> tuple[Tensor, Tensor]:
    """The two parts of `_whole` again."""
    num, first, many, length = sizes
    back = whole[..., :first].permute(0, 2, 3, 1, 4, 5).reshape(num, h, g * many * length, first)
    return back, whole[..., first:].reshape(num * many, h, g * length, length)
