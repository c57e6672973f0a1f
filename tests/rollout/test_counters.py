from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.rollout.counters import candidate_keys, choice_uniform, key, uniforms

FIELDS = ("seed", "phase", "ticket", "task_id", "copy", "fork", "role", "slot", "turn", "visit")
NAME = dict(zip(FIELDS, (1, "train", 2, "t", 0, "", "planner", 0, 0, 0)))
MASK = (1 << 64) - 1


def finalise(value: int) -> int:
    """SplitMix64 in plain integers."""
    value &= MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def test_finaliser_gives_the_published_first_number_of_splitmix64_seed_0():
    assert candidate_keys(0, 1) == (0xE220A8397B1DCDAF,)


def test_every_field_of_the_name_changes_the_key():
    changed = dict(zip(FIELDS, (2, "eval", 3, "u", 1, "1", "plan", 1, 1, 1)))
    keys = {key(**NAME)} | {key(**{**NAME, field: value}) for field, value in changed.items()}
    assert len(keys) == 11


def test_fields_do_not_run_into_each_other():
    assert key(**{**NAME, "task_id": 't","x'}) != key(**{**NAME, "task_id": "t", "fork": "x"})
    assert key(**{**NAME, "slot": 1, "turn": 11}) != key(**{**NAME, "slot": 11, "turn": 1})


def test_key_is_pinned_so_that_old_runs_stay_reproducible():
    assert key(**NAME) == 17591774477202771045


@given(st.integers(0, MASK), st.integers(1, 9), st.integers(1, 9))
def test_uniform_of_a_candidate_and_token_depends_on_neither_number(base, num, tokens):
    wide = uniforms(candidate_keys(base, 9), 9)
    assert np.array_equal(uniforms(candidate_keys(base, num), tokens), wide[:num, :tokens])
    assert np.array_equal(
        uniforms(candidate_keys(base, num), tokens, start=3), uniforms(candidate_keys(base, num), 12)[:, 3 : 3 + tokens]
    )


@given(st.integers(0, MASK))
def test_uniform_follows_the_written_formula(base):
    (first, second) = candidate_keys(base, 2)
    assert second == finalise(base + 2 * 0x9E3779B97F4A7C15)
    expected = ((finalise(first + 3 * 0x9E3779B97F4A7C15) >> 12) + 0.5) / 2**52
    assert uniforms((first,), 3)[0, 2] == expected
    assert 0.0 < expected < 1.0


def test_extreme_words_stay_strictly_inside_the_unit_interval():
    assert ((2**52 - 1) + 0.5) * 2.0**-52 < 1.0
    assert 0.5 * 2.0**-52 > 0.0


def test_uniforms_are_uniform_over_candidates_tokens_and_calls():
    keys = [k for turn in range(500) for k in candidate_keys(key(**{**NAME, "turn": turn}), 8)]
    draws = uniforms(keys, 32)
    counts, _ = np.histogram(draws, bins=64, range=(0.0, 1.0))
    expected = draws.size / 64
    chi2 = float(((counts - expected) ** 2 / expected).sum())
    assert 24.0 < chi2 < 118.0  # 63 degrees of freedom: the 1e-5 tails
    assert abs(np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]) < 0.08
    assert abs(np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]) < 0.08


def test_the_choice_has_a_stream_of_its_own():
    base = key(**NAME)
    assert choice_uniform(base) not in uniforms(candidate_keys(base, 64), 1)[:, 0]
    assert choice_uniform(base) == uniforms((finalise(base),), 1)[0, 0]
