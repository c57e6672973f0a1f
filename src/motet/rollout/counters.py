"""Randomness from counters: what a candidate draws depends on its name, never on arrival order, workers or company.

A call's name (seed, phase, ticket, task id, copy, fork, role, slot, turn, visit) is hashed once to a 64-bit key; the
key of a candidate and the uniform of a token are then a few integer operations, vectorised over candidates and tokens.

With `mix` the SplitMix64 finaliser (Steele, Lea, Flood 2014) and G = 0x9E3779B97F4A7C15, all in arithmetic modulo 2^64:

    key             = the first 8 bytes, little endian, of blake2b(JSON of the name)
    candidate i     : mix(key + (i + 1) * G)                              i = 0, 1, ...
    choice          : mix(key)                                            decides which candidate goes on
    token t         : u = ((mix(candidate + (t + 1) * G) >> 12) + 1/2) / 2^52        t = 0, 1, ...

so u lies strictly inside (0, 1), is exact in float64, and depends on neither K nor T.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15
MASK = 0xFFFFFFFFFFFFFFFF


def key(
    seed: int,
    phase: str,
    ticket: int,
    task_id: str,
    copy: int,
    fork: str,
    role: str,
    slot: int,
    turn: int,
    visit: int,
) -> int:
    """The 64-bit counter key of one call. Two different names give different keys but for a chance of 2^-64.

    `fork` is the path that told this episode apart from others of its tree: "" for the trunk, "1" for branch 1 of
    independent sampling, "planner[0] turn 1#3" for a continuation from candidate 3.

    >>> key(0, "train", 0, "t-1", 0, "", "planner", 0, 0, 0) == key(0, "train", 0, "t-1", 0, "", "planner", 0, 0, 1)
    False
    """
    name = json.dumps([seed, phase, ticket, task_id, copy, fork, role, slot, turn, visit], separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _mix(value: int) -> int:
    value &= MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def candidate_keys(key: int, num: int) -> tuple[int, ...]:
    """The keys of candidates 0 .. num - 1 of a call. The key of candidate i does not depend on `num`.

    >>> candidate_keys(7, 3)[:2] == candidate_keys(7, 2)
    True
    """
    return tuple(_mix(key + (index + 1) * GAMMA) for index in range(num))


def choice_uniform(key: int) -> float:
    """The uniform in (0, 1) that decides which candidate of a call goes on; independent of every candidate's own.

    >>> 0.0 < choice_uniform(7) < 1.0
    True
    """
    return float(uniforms((_mix(key),), 1)[0, 0])


def uniforms(keys: Sequence[int], num_tokens: int, start: int = 0) -> NDArray[np.float64]:
    """Uniforms of tokens start .. start + num_tokens - 1 for each key: float64 [K, num_tokens], strictly inside (0, 1).

    The entry of a (key, token) is the same whatever else is asked for in the same call.

    >>> uniforms((1, 2), 4).shape
    (2, 4)
    >>> bool((uniforms((1, 2), 4)[1] == uniforms((2,), 9)[0, :4]).all())
    True
    """
    tokens = np.arange(start + 1, start + num_tokens + 1, dtype=np.uint64) * np.uint64(GAMMA)
    value = np.asarray(keys, dtype=np.uint64).reshape(-1, 1) + tokens
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return ((value >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
