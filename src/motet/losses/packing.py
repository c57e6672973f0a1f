"""Rows that share a prompt, as one sequence: the prompt once, the answers behind it.

Legend: B packs in a micro-batch, L padded width, R rows, T tokens of the longest completion, N completion tokens in
all.

    prompt 7 8 9, answers (1 2 3) and (4 5):

    input_ids     7 8 9 1 2 4        an answer's last token predicts nothing, so it is not fed
    segments      0 0 0 1 1 2        0: prompt, j: answer j, -1: padding
    position_ids  0 1 2 3 4 3        every answer continues the prompt
    source        2 3 4   2 5        the position whose output predicts ...
    target        1 2 3   4 5        ... this token

A token sees the prompt and the earlier tokens of its own segment. A pack costs P + sum(max(R_k - 1, 0)) positions.
Pure functions on numpy arrays, deterministic: the order of rows decides, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motet.errors import UpdateError

IntArray = NDArray[np.int64]


class Packable(Protocol):
    """What packing reads of a row."""

    @property
    def prompt_ids(self) -> tuple[int, ...]: ...
    @property
    def completion_ids(self) -> tuple[int, ...]: ...
    @property
    def temperature(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Pack:
    """One prompt with some of its answers. `rows` are indices into the sequence that was packed."""

    prompt_ids: tuple[int, ...]
    completions: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]

    @property
    def num_tokens(self) -> int:
        return len(self.prompt_ids) + sum(max(len(c) - 1, 0) for c in self.completions)


def pack(rows: Sequence[Packable], budget_tokens: int | None = None, *, share_prompts: bool = True) -> list[Pack]:
    """Group the rows of **one policy** by prompt ids, in order of first appearance.

    A group longer than `budget_tokens` is split, its prompt repeated; a single row is never split, even if it alone
    exceeds the budget. `share_prompts=False` gives one pack per row. An empty prompt is refused: nothing would
    predict the first token.

    >>> from types import SimpleNamespace as R
    >>> ids = [((7, 8), (1, 2)), ((9,), ()), ((7, 8), (3,))]
    >>> rows = [R(prompt_ids=prompt, completion_ids=completion) for prompt, completion in ids]
    >>> [(p.prompt_ids, p.rows, p.num_tokens) for p in pack(rows)]
    [((7, 8), (0, 2), 3), ((9,), (1,), 1)]
    """
    groups: dict[object, list[int]] = {}
    for index, row in enumerate(rows):
        if not row.prompt_ids:
            raise UpdateError(
                "a row has an empty prompt", where={"row": index}, fix="start every prompt with at least one token"
            )
        groups.setdefault(row.prompt_ids if share_prompts else index, []).append(index)
    return [p for members in groups.values() for p in _split(rows, members, budget_tokens)]


def _split(rows: Sequence[Packable], members: list[int], budget_tokens: int | None) -> list[Pack]:
    prompt = rows[members[0]].prompt_ids
    parts: list[list[int]] = [[]]
    used = len(prompt)
    for index in members:
        cost = max(len(rows[index].completion_ids) - 1, 0)
        if parts[-1] and budget_tokens is not None and used + cost > budget_tokens:
            parts.append([])
            used = len(prompt)
        parts[-1].append(index)
        used += cost
    return [Pack(prompt, tuple(rows[i].completion_ids for i in part), tuple(part)) for part in parts]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Packs as padded lines, one each, for a block mask.

    input_ids, position_ids, segments: int64 [B, L]. Padding holds token 0 in segment -1; no real token sees it.
    source: int64 [N] indexes the flattened [B * L]: the position that predicts each completion token.
    """

    input_ids: IntArray
    position_ids: IntArray
    segments: IntArray
    source: IntArray


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """Packs that are computed together, and where their completion tokens belong.

    target, place: int64 [N], the completion tokens in order and their places in the flattened [R * T]. rows, lengths:
    int64 [R], index into the packed sequence of rows, and its completion length. temperatures: float64 [R]. The packs
    are laid out by whoever computes them: as `lines` of `width`, or side by side by `shared`.
    """

    packs: tuple[Pack, ...]
    width: int
    target: IntArray
    place: IntArray
    rows: IntArray
    lengths: IntArray
    temperatures: NDArray[np.float64]

    @cached_property
    def lines(self) -> Lines:
        shape = len(self.packs), self.width
        ids, positions = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        segments, source = np.full(shape, -1, dtype=np.int64), list[int]()
        for b, p in enumerate(self.packs):
            _lay_out(p, b * self.width, ids[b], positions[b], segments[b], source)
        return Lines(ids, positions, segments, np.array(source, dtype=np.int64))

    @property
    def num_rows(self) -> int:
        return len(self.rows)

    @property
    def max_length(self) -> int:
        """T: at least 1, so that a micro-batch of empty answers keeps two dimensions."""
        return max(int(self.lengths.max(initial=0)), 1)

    @property
    def num_tokens(self) -> int:
        """Positions that hold a real token."""
        return sum(p.num_tokens for p in self.packs)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """bool [R, T]: where a completion token is."""
        return np.arange(self.max_length)[None, :] < self.lengths[:, None]

    def padded(self, values: Sequence[Sequence[float]]) -> NDArray[np.float64]:
        """Per-token values of the packed rows (`values[i]` belongs to row i of the packed sequence) as float64 [R,
        T], 0 elsewhere."""
        out = np.zeros(self.num_rows * self.max_length)
        out[self.place] = np.fromiter(
            (v for r in self.rows for v in values[r]), dtype=np.float64, count=len(self.place)
        )
        return out.reshape(self.num_rows, self.max_length)


def micro_batches(
    rows: Sequence[Packable], packs: Sequence[Pack], budget_tokens: int, *, width_multiple: int = 16
) -> list[MicroBatch]:
    """Packs sorted by length, longest first, cut into micro-batches of at most `budget_tokens` padded positions.

    Widths are rounded up to `width_multiple`, so that few shapes occur. A pack wider than the budget is alone in its
    batch.
    """
    order = sorted(range(len(packs)), key=lambda i: (-packs[i].num_tokens, i))
    batches = []
    start = 0
    while start < len(order):
        width = -(-packs[order[start]].num_tokens // width_multiple) * width_multiple
        stop = start + max(budget_tokens // width, 1)
        batches.append(_assemble(rows, [packs[i] for i in order[start:stop]], width))
        start = stop
    return batches


def _assemble(rows: Sequence[Packable], packs: Sequence[Pack], width: int) -> MicroBatch:
    members = [i for p in packs for i in p.rows]
    lengths = np.array([len(rows[i].completion_ids) for i in members], dtype=np.int64)
    longest = max(int(lengths.max(initial=0)), 1)
    return MicroBatch(
        packs=tuple(packs),
        width=width,
        target=np.array([token for p in packs for c in p.completions for token in c], dtype=np.int64),
        place=np.flatnonzero((np.arange(longest)[None, :] < lengths[:, None]).ravel()).astype(np.int64),
        rows=np.array(members, dtype=np.int64),
        lengths=lengths,
        temperatures=np.array([rows[i].temperature for i in members], dtype=np.float64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A micro-batch as prompts and, behind each, its answers side by side.

    prefix int64 [B, P] and tails int64 [B, S, T] are padded on the right, lengths int64 [B] are those of the prompts.
    The last token of an answer is not fed. `source` int64 [N] indexes the flattened prompts (B * P of them) and behind
    them the flattened tails: the position that predicts each completion token, in the order of `MicroBatch.target`.
    """

    prefix: IntArray
    lengths: IntArray
    tails: IntArray
    source: IntArray


def shared(packs: Sequence[Pack]) -> Shared:
    """Lay packs out as `Shared`.

    >>> laid = shared([Pack((7, 8), ((1, 2, 3), (4,)), (0, 1)), Pack((9,), ((5, 6),), (2,))])
    >>> laid.prefix.tolist(), laid.tails.tolist()
    ([[7, 8], [9, 0]], [[[1, 2], [0, 0]], [[5, 0], [0, 0]]])
    >>> laid.source.tolist()  # the last prompt token, then the fed ones
    [1, 4, 5, 1, 2, 8]
    """
    width = max(len(p.prompt_ids) for p in packs)
    many = max(len(p.completions) for p in packs)
    length = max((len(c) - 1 for p in packs for c in p.completions if c), default=0)
    prefix = np.zeros((len(packs), width), dtype=np.int64)
    tails = np.zeros((len(packs), many, length), dtype=np.int64)
    source: list[int] = []
    for b, p in enumerate(packs):
        prefix[b, : len(p.prompt_ids)] = p.prompt_ids
        for s, completion in enumerate(p.completions):
            if not completion:
                continue
            fed = len(completion) - 1
            tails[b, s, :fed] = completion[:-1]
            first = len(packs) * width + (b * many + s) * length
            source.append(b * width + len(p.prompt_ids) - 1)
            source.extend(range(first, first + fed))
    lengths = np.array([len(p.prompt_ids) for p in packs], dtype=np.int64)
    return Shared(prefix, lengths, tails, np.array(source, dtype=np.int64))


def shared_micro_batches(rows: Sequence[Packable], budget_tokens: int, *, waste: float = 1.25) -> list[MicroBatch]:
    """Packs of like shape together: micro-batches for `shared`, none above `budget_tokens` laid-out positions.

    Packs are sorted by number of answers, longest answer and prompt, and cut where the budget is reached or where the
    laid-out positions would exceed `waste` times the needed ones. A pack above the budget is alone in its batch.
    """
    longest = lambda p: max((len(c) for c in p.completions), default=0)
    packs = sorted(
        pack(rows, budget_tokens), key=lambda p: (-len(p.completions), -longest(p), -len(p.prompt_ids), p.rows)
    )
    batches, start = [], 0
    while start < len(packs):
        many, width, length, needed, stop = len(packs[start].completions), 0, 0, 0, start
        while stop < len(packs):
            width = max(width, len(packs[stop].prompt_ids))
            length = max(length, longest(packs[stop]) - 1)
            area, needed = (stop + 1 - start) * (width + many * length), needed + packs[stop].num_tokens
            if stop > start and (area > budget_tokens or area > waste * needed):
                break
            stop += 1
        chosen = packs[start:stop]
        batches.append(_assemble(rows, chosen, max(p.num_tokens for p in chosen)))
        start = stop
    return batches


def _lay_out(p: Pack, offset: int, ids: IntArray, positions: IntArray, segments: IntArray, source: list[int]) -> None:
    """Write one pack into its line and append where its tokens are predicted."""
    num_prompt = len(p.prompt_ids)
    line, where, segment = list(p.prompt_ids), list(range(num_prompt)), [0] * num_prompt
    for j, completion in enumerate(p.completions, start=1):
        if not completion:
            continue
        fed = len(completion) - 1
        source.append(offset + num_prompt - 1)
        source.extend(range(offset + len(line), offset + len(line) + fed))
        line.extend(completion[:-1])
        where.extend(range(num_prompt, num_prompt + fed))
        segment.extend([j] * fed)
    ids[: len(line)], positions[: len(line)], segments[: len(line)] = line, where, segment


def packed_micro_batches(
    rows: Sequence[Packable], budget_tokens: int, *, share_prompts: bool = True, width_multiple: int = 16
) -> list[MicroBatch]:
    """`pack`, then `micro_batches`, with one budget for both."""
    packs = pack(rows, budget_tokens, share_prompts=share_prompts)
    return micro_batches(rows, packs, budget_tokens, width_multiple=width_multiple)
