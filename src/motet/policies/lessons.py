"""Lessons for the warm start of the tiny bases: prompts of Plan-Path as ids, and what a demonstrator would answer.

Each batch holds B grids with S walks each. The words are those of `tasks/plan_path_words.py`; a test compares them
with what the workflow says. A quarter of the walks begin anywhere, a quarter at least six moves from the
goal, half where the way is long or bent by walls: there the tiny models fail longest.

Legend: B grids, S walks per grid, M = B S, T = 8 cells per walk, C = 100 cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from motet.policies.tiny import MAX_NUMBER, vocabulary
from motet.tasks.plan_path_demonstrators import (
    NEIGHBOURS,
    NUM_CELLS,
    PERFECT,
    RANDOM,
    SILENT,
    STRAIGHT,
    UNREACHABLE,
    Bools,
    Grids,
    Ints,
    distances_to,
    draw_grids,
    last_free,
    manhattan,
    stale_maps,
    walks,
)

Values = TypeVar("Values", bound=np.ndarray)

NUM_WALLS, PLAN_CELLS, FAR = 22, 8, 6
_IDS = {word: index for index, word in enumerate(vocabulary())}
CELL, WALL, GOAL, NUMBER, BLANK, EOS, PAD = (_IDS[w] for w in ("c00", "x00", "g00", "n0", "_", "<eos>", "<pad>"))
DID = np.array([_IDS[word] for word in ("none", "ok", "ok", "bump", "empty")])
PLANNERS = np.array([_IDS[word] for word in ("planner", "planner", "planner", "solver")])

Mixture = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Mixtures:
    """How often a demonstrator is PERFECT, STRAIGHT, RANDOM or SILENT, drawn per walk.

    `planner` and `executor` see the goal; `follower` is an executor without it: PERFECT follows the proposal with
    detours, STRAIGHT copies it, RANDOM walks, SILENT says nothing; `proposal` makes the plans that executors are shown.
    """

    planner: Mixture
    executor: Mixture
    follower: Mixture
    proposal: Mixture


@dataclass(frozen=True, slots=True)
class Lesson:
    """`prefix` [B, 23] and `tails` [B, S, L] ids; `targets` and `weights` [B, S, 9, 5]: at the last prompt word and at
    each cell of the walk, what may come next (up to four cells, or the end) and with which probability."""

    prefix: Tensor
    tails: Tensor
    targets: Tensor
    weights: Tensor


class Teacher:
    """Draws lessons, one after another, from one seeded generator."""

    def __init__(self, seed: int, num_grids: int = 16, num_walks: int = 16, num_hidden: int = 10) -> None:
        self.rng = np.random.default_rng(seed)
        self.num_grids, self.num_walks, self.num_hidden = num_grids, num_walks, num_hidden
        self._stock: Grids | None = None
        self._used = 0

    def planner(self, mixtures: Mixtures, stale_frac: float) -> Lesson:
        """Planners, the first `stale_frac` of the grids with an out-of-date map."""
        grids, start = self._scene()
        maps, num_stale = self._maps(grids, stale_frac)
        seen = self._seen_distance(grids, maps, start, num_stale)
        goal, kind = self._each(grids.goal), self._kinds(mixtures.planner, seen, start)
        cells, weights = walks(self.rng, kind, start, goal, seen)
        said = np.concatenate([self._opening(PLANNERS, grids, start), CELL + start[:, None]], 1)
        return self._lesson(_prefix(grids.goal, maps), said, start, cells, weights)

    def executor(self, mixtures: Mixtures, blind_frac: float) -> Lesson:
        """Executors, the first `blind_frac` of the grids without the goal and with proposals made on an old map."""
        grids, start = self._scene()
        maps, num_blind = self._maps(grids, blind_frac)
        seen = self._seen_distance(grids, maps, start, num_blind)
        plan, _ = walks(self.rng, self._kinds(mixtures.proposal, seen, start), start, self._each(grids.goal), seen)
        plan[self.rng.random(len(plan)) < 0.08] = -1
        kind = self.rng.choice(4, len(start), p=mixtures.executor)
        goal, distance = self._each(grids.goal), self._each(grids.distance)
        blind = np.arange(num_blind * self.num_walks)
        walls = self._each(grids.walls)[blind]
        goal[blind] = last_free(walls, plan[blind], start[blind])
        distance[blind] = distances_to(~walls, goal[blind])
        empty = (plan[blind] < 0).all(1)
        drawn = self.rng.choice(4, len(blind), p=mixtures.follower)
        kind[blind] = np.where(empty & (drawn != SILENT), RANDOM, drawn)
        nowhere = goal.copy()
        nowhere[blind[kind[blind] == RANDOM]] = -1  # a random walk ends nowhere in particular
        cells, weights = walks(self.rng, kind, start, nowhere, distance)
        copies = blind[kind[blind] == STRAIGHT]
        cells[copies], weights[copies] = plan[copies], 0.0
        said = np.concatenate(
            [
                self._opening(np.array([_IDS["executor"]]), grids, start),
                np.where(plan >= 0, CELL + plan, BLANK),
                CELL + start[:, None],
            ],
            1,
        )
        prefix = _prefix(grids.goal, grids.walls)
        prefix[:num_blind, 0] = BLANK
        return self._lesson(prefix, said, start, cells, weights, copies)

    def _scene(self) -> tuple[Grids, Ints]:
        if self._stock is None or self._used + self.num_grids > len(self._stock):
            self._stock, self._used = draw_grids(self.rng, 256 * self.num_grids, num_walls=NUM_WALLS), 0
        grids = self._stock.part(self._used, self._used + self.num_grids)
        self._used += self.num_grids
        wanted = self._wanted(grids)[:, np.arange(self.num_walks) % 4]
        start: Ints = np.where(wanted, self.rng.random(wanted.shape), -1.0).argmax(-1).reshape(-1)
        return grids, start

    def _wanted(self, grids: Grids) -> Bools:
        """Where walks may begin, [B, 4, C]: anywhere, far, with a detour, with a long one (or the next best)."""
        far_off = grids.distance
        reach = (far_off > 0) & (far_off < UNREACHABLE)
        detour = far_off - manhattan(np.arange(NUM_CELLS)[None], grids.goal[:, None])
        far = reach & (far_off >= FAR)
        bent = reach & ((detour >= 2) | (far_off >= 11))
        bent = np.where(bent.any(1, keepdims=True), bent, far)
        hard = reach & ((detour >= 4) | (far_off >= 13))
        hard = np.where(hard.any(1, keepdims=True), hard, bent)
        return np.stack([reach, far, bent, hard], 1)

    def _maps(self, grids: Grids, frac: float) -> tuple[Bools, int]:
        num, maps = round(self.num_grids * frac), grids.walls.copy()
        if num:
            maps[:num] = stale_maps(self.rng, grids.part(0, num), self.num_hidden, 0)
        return maps, num

    def _seen_distance(self, grids: Grids, maps: Bools, start: Ints, num_stale: int) -> Ints:
        """Distances to the goal on the map that is seen, for every walk."""
        found, old = self._each(grids.distance), np.arange(num_stale * self.num_walks)
        if num_stale:
            found[old] = distances_to(~self._each(maps)[old], self._each(grids.goal)[old])
        return found

    def _kinds(self, mixture: Mixture, distance: Ints, start: Ints) -> Ints:
        kind = self.rng.choice(4, len(start), p=mixture)
        lost = distance[np.arange(len(start)), start] >= UNREACHABLE
        return np.where((kind == PERFECT) & lost, STRAIGHT, kind)

    def _opening(self, roles: Ints, grids: Grids, start: Ints) -> Ints:
        """role, what the last walk did, moves left: [M, 3]."""
        num = len(start)
        left = self._each(grids.distance)[np.arange(num), start] * self.rng.uniform(0.8, 2.2, num)
        number = NUMBER + np.clip(left, 1, MAX_NUMBER).astype(int)
        return np.stack([self.rng.choice(roles, num), self.rng.choice(DID, num), number], 1)

    def _each(self, values: Values) -> Values:
        repeated: Values = np.repeat(values, self.num_walks, 0)  # type: ignore[assignment]
        return repeated

    def _lesson(
        self, prefix: Ints, said: Ints, start: Ints, cells: Ints, weights: np.ndarray, copies: Ints | None = None
    ) -> Lesson:
        stand = np.maximum(np.concatenate([start[:, None], cells], 1), 0)
        near = NEIGHBOURS[stand]
        targets = np.concatenate([np.where(near >= 0, CELL + near, PAD), np.full((*stand.shape, 1), EOS)], -1)
        if copies is not None:  # a copied proposal may leap: its cells are the targets, whatever lies beside
            targets[copies, :-1, 0] = np.where(cells[copies] >= 0, CELL + cells[copies], EOS)
            targets[copies, -1, 0] = EOS
            length = (cells[copies] >= 0).sum(1)
            weights[copies, :, 0] = np.arange(PLAN_CELLS + 1)[None] <= length[:, None]
        tails = np.concatenate([said, np.where(cells >= 0, CELL + cells, PAD)], 1)
        shape = (self.num_grids, self.num_walks)
        return Lesson(
            torch.from_numpy(prefix),
            torch.from_numpy(tails).view(*shape, -1),
            torch.from_numpy(targets).view(*shape, PLAN_CELLS + 1, 5),
            torch.from_numpy(weights).view(*shape, PLAN_CELLS + 1, 5),
        )


def _prefix(goal: Ints, walls: Bools) -> Ints:
    """The goal, then the sorted walls, then blanks up to `NUM_WALLS`: [B, 1 + NUM_WALLS]."""
    ids = np.full((len(goal), 1 + NUM_WALLS), BLANK)
    ids[:, 0] = GOAL + goal
    order = np.where(walls, np.arange(NUM_CELLS), NUM_CELLS)
    order.sort(1)
    ids[:, 1:] = np.where(order[:, :NUM_WALLS] < NUM_CELLS, WALL + order[:, :NUM_WALLS], BLANK)
    return ids
