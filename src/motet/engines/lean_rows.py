"""Sampling with a `LeanNet`: a prompt once, then one token per row, the prompt's keys shared by its rows.

Rows of one prompt stand in blocks of `BLOCK` slots. Attention to the prompt is a matrix product per block, always of
the same shape whatever K and whoever else is there, so a row's bits depend on nothing but itself. Everything else is
computed row by row on the rows that are left.

Legend: N rows, C blocks, P width of the prompts, T slots for own tokens, H key heads, G query heads per key head, D.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from motet.engines.decode import MIN_HEAD_ROWS, Activate, Forward, PromptKv, prompt_mask
from motet.engines.lean import LeanNet

BLOCK = 8


@dataclass(slots=True)
class LeanRows:
    """Rows in flight. Per layer: the prompts' `keys` [C, H, D, P] and `values` [C, H, P, D] by block, and the rows'
    own `own_keys`, `own_values` [N, H, T, D], of which `used` are filled.

    `hidden` [C, 1, 1, P] is 0, or the lowest number where a prompt is padded; None where none is. `slot` [N] is a
    row's place among the C * BLOCK slots, `positions` [N] where its next token stands.
    """

    keys: list[Tensor]
    values: list[Tensor]
    hidden: Tensor | None
    own_keys: list[Tensor]
    own_values: list[Tensor]
    slot: Tensor
    positions: Tensor
    used: int = 0

    @property
    def num_rows(self) -> int:
        return len(self.positions)

    @property
    def is_full(self) -> bool:
        """Every slot holds exactly its own row, in order."""
        return self.num_rows == len(self.keys[0]) * BLOCK and bool((self.slot == torch.arange(self.num_rows)).all())

    def select(self, index: Tensor) -> LeanRows:
        """The rows `index`, in that order, and the blocks that they stand in."""
        slot = self.slot[index]
        blocks, place = torch.unique(slot // BLOCK, return_inverse=True)
        is_all = len(blocks) == len(self.keys[0])
        pick = (lambda t: t) if is_all else (lambda t: t.index_select(0, blocks))
        return LeanRows(
            [pick(t) for t in self.keys],
            [pick(t) for t in self.values],
            None if self.hidden is None else pick(self.hidden),
            [t.index_select(0, index) for t in self.own_keys],
            [t.index_select(0, index) for t in self.own_values],
            place * BLOCK + slot % BLOCK,
            self.positions[index],
            self.used,
        )


def slots_of(prompt_index: Tensor, num_live: int) -> tuple[Tensor, Tensor]:
    """A slot for each row and the prompt of each block.

    Rows of one prompt stand together and fill blocks of `BLOCK`; rows behind `num_live` are copies of row 0 and share
    its slot.

    >>> slot, prompts = slots_of(torch.tensor([0] * 9 + [2, 2, 0]), num_live=11)
    >>> slot.tolist(), prompts.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 0], [0, 0, 2])
    """
    owners, counts = torch.unique_consecutive(prompt_index[:num_live], return_counts=True)
    num_blocks = -(-counts // BLOCK)
    first = (num_blocks.cumsum(0) - num_blocks).repeat_interleave(counts) * BLOCK
    inside = torch.arange(num_live) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    slot = torch.cat([first + inside, torch.zeros(len(prompt_index) - num_live, dtype=torch.long)])
    return slot, owners.repeat_interleave(num_blocks)


class LeanForward(Forward):
    """`Forward` by a `LeanNet`: the same two passes, the same numbers within rounding."""

    def __init__(self, net: LeanNet, module: nn.Module, adapter: str | None, activate: Activate | None) -> None:
        super().__init__(module, adapter, activate)
        self.net = net

    @contextmanager
    def serving(self) -> Iterator[None]:
        with super().serving(), self.net.fixed():
            yield

    def prefill(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, PromptKv]:
        net, (num, width) = self.net, ids.shape
        x = net.embed(ids.reshape(-1))
        places = (torch.arange(width)[None] - (width - lengths)[:, None]).clamp(min=0).reshape(-1)
        turn, mask = net.turns(places, x.dtype), prompt_mask(lengths, width, x.dtype)
        kv = PromptKv([], [])
        for layer in net.layers:
            parts = net.heads(layer, x, turn)
            q, k, v = (t.view(num, width, t.shape[1], -1).transpose(1, 2) for t in parts)
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=net.shape.groups > 1)
            x = net.rest(layer, x, seen.transpose(1, 2).reshape(num * width, -1))
            kv.keys.append(k)
            kv.values.append(v)
        keep = min(width, -(-MIN_HEAD_ROWS // num))
        last = net.norm(x.view(num, width, -1)[:, -keep:])
        return net.logits(last)[:, -1].float(), kv

    def expand(self, kv: PromptKv, prompt_index: Tensor, lengths: Tensor, max_tokens: int, num_live: int) -> LeanRows:
        slot, prompts = slots_of(prompt_index, num_live)
        is_all = len(prompts) == len(kv.keys[0]) and bool((prompts == torch.arange(len(prompts))).all())
        pick = (lambda t: t) if is_all else (lambda t: t.index_select(0, prompts))
        width, heads, size = kv.keys[0].shape[2], kv.keys[0].shape[1], kv.keys[0].shape[3]
        padded = torch.arange(width)[None] < (width - lengths[prompts])[:, None]
        own = lambda t: t.new_empty((len(prompt_index), heads, max_tokens, size))
        return LeanRows(
            [pick(t).transpose(2, 3).contiguous() for t in kv.keys],
            [pick(t).contiguous() for t in kv.values],
            self._hidden(padded) if bool(padded.any()) else None,
            [own(t) for t in kv.keys],
            [own(t) for t in kv.values],
            slot,
            lengths[prompt_index],
        )

    def _hidden(self, padded: Tensor) -> Tensor:
        mask = torch.zeros(padded.shape, dtype=self.dtype)
        return mask.masked_fill_(padded, torch.finfo(self.dtype).min)[:, None, None]

    def step(self, ids: Tensor, rows: LeanRows) -> Tensor:  # type: ignore[override]
        net = self.net
        x = net.embed(ids)
        turn, is_full = net.turns(rows.positions, x.dtype), rows.is_full
        for index, layer in enumerate(net.layers):
            q, k, v = net.heads(layer, x, turn)
            rows.own_keys[index][:, :, rows.used] = k
            rows.own_values[index][:, :, rows.used] = v
            x = net.rest(layer, x, self._seen(index, q, rows, is_full))
        rows.used += 1
        rows.positions = rows.positions + 1
        return net.logits(net.norm(x)).float()

    def _seen(self, index: int, q: Tensor, rows: LeanRows, is_full: bool) -> Tensor:
        """Attention of one new token per row [N, H G, D] to its prompt and to its own tokens: [N, H G D]."""
        shape, num, end = self.net.shape, len(q), rows.used + 1
        h, g, d = shape.kv_heads, shape.groups, shape.head
        q = (q * shape.scale).view(num, h, g, d)
        back = _to_slots(q, rows, is_full) @ rows.keys[index]
        if rows.hidden is not None:
            back = back + rows.hidden
        # this way round, because the library is five times as fast with it
        own = (rows.own_keys[index][:, :, :end] @ q.transpose(2, 3)).transpose(2, 3)
        weight = torch.cat([_to_rows(back, rows, is_full, g), own], -1).softmax(-1)
        width = back.shape[-1]
        of_prompt = _to_slots(weight[..., :width], rows, is_full) @ rows.values[index]
        of_own = weight[..., width:] @ rows.own_values[index][:, :, :end]
        return (_to_rows(of_prompt, rows, is_full, g) + of_own).reshape(num, h * g * d)


def _to_slots(x: Tensor, rows: LeanRows, is_full: bool) -> Tensor:
    """[N, H, G, d] -> [C, H, BLOCK G, d]; slots without a row hold zeros."""
    _, h, g, size = x.shape
    blocks = len(rows.keys[0])
    if not is_full:
        x = x.new_zeros((blocks * BLOCK, h, g, size)).index_copy_(0, rows.slot, x)
    return x.reshape(blocks, BLOCK, h, g, size).permute(0, 2, 1, 3, 4).reshape(blocks, h, BLOCK * g, size)


def _to_rows(x: Tensor, rows: LeanRows, is_full: bool, groups: int) -> Tensor:
    """[C, H, BLOCK G, d] -> [N, H, G, d]."""
    blocks, h, _, size = x.shape
    x = x.view(blocks, h, BLOCK, groups, size).permute(0, 2, 1, 3, 4).reshape(blocks * BLOCK, h, groups, size)
    return x if is_full else x.index_select(0, rows.slot)


def forward_of(module: nn.Module, adapter: str | None = None, activate: Activate | None = None) -> Forward:
    """The lean form where `LeanNet.of` knows the model, else the module's own forward passes."""
    plain = Forward(module, adapter, activate)
    with plain.active():
        net = LeanNet.of(module)
    return plain if net is None else LeanForward(net, module, adapter, activate)
