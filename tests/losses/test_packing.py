"""Packing with exact lists, and its invariants for drawn rows."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import UpdateError
from motet.losses.packing import micro_batches, pack, packed_micro_batches, shared, shared_micro_batches


@dataclass(frozen=True)
class R:
    prompt_ids: tuple
    completion_ids: tuple
    temperature: float = 1.0


def test_two_answers_share_their_prompt_and_restart_behind_it():
    rows = [R((7, 8, 9), (1, 2, 3)), R((7, 8, 9), (4, 5), 0.5)]
    (batch,) = packed_micro_batches(rows, 64, width_multiple=4)
    assert batch.lines.input_ids.tolist() == [[7, 8, 9, 1, 2, 4, 0, 0]]
    assert batch.lines.position_ids.tolist() == [[0, 1, 2, 3, 4, 3, 0, 0]]
    assert batch.lines.segments.tolist() == [[0, 0, 0, 1, 1, 2, -1, -1]]
    assert batch.lines.source.tolist() == [2, 3, 4, 2, 5]
    assert batch.target.tolist() == [1, 2, 3, 4, 5]
    assert batch.place.tolist() == [0, 1, 2, 3, 4]
    assert batch.rows.tolist() == [0, 1] and batch.lengths.tolist() == [3, 2]
    assert batch.temperatures.tolist() == [1.0, 0.5]
    assert batch.mask.tolist() == [[True, True, True], [True, True, False]]


def test_rows_of_one_prompt_meet_although_others_stand_between():
    rows = [R((1,), (5, 5)), R((2, 2), (6,)), R((1,), (7, 7, 7))]
    packs = pack(rows)
    assert [(p.prompt_ids, p.completions, p.rows) for p in packs] == [
        ((1,), ((5, 5), (7, 7, 7)), (0, 2)),
        ((2, 2), ((6,),), (1,)),
    ]
    assert [p.num_tokens for p in packs] == [1 + 1 + 2, 2]


def test_second_pack_of_a_batch_maps_into_its_own_line():
    rows = [R((1, 2), (3, 4)), R((5,), (6, 6))]
    (batch,) = packed_micro_batches(rows, 64, width_multiple=1)
    assert batch.lines.input_ids.tolist() == [[1, 2, 3], [5, 6, 0]]
    assert batch.lines.source.tolist() == [1, 2, 3, 4]
    assert batch.target.tolist() == [3, 4, 6, 6]


def test_empty_answers_one_token_answers_and_pad_equal_to_eos_keep_their_places():
    eos = 0  # the id that also fills the padding
    rows = [R((7, eos), ()), R((7, eos), (eos,)), R((7, eos), (eos, 3, eos))]
    (batch,) = packed_micro_batches(rows, 64, width_multiple=6)
    assert batch.lines.input_ids.tolist() == [[7, 0, 0, 3, 0, 0]]
    assert batch.lines.segments.tolist() == [[0, 0, 3, 3, -1, -1]]
    assert batch.lines.source.tolist() == [1, 1, 2, 3]
    assert batch.target.tolist() == [0, 0, 3, 0]
    assert batch.lengths.tolist() == [0, 1, 3]
    assert batch.place.tolist() == [3, 6, 7, 8]
    assert batch.padded([(), (-1.0,), (-2.0, -3.0, -4.0)]).tolist() == [[0, 0, 0], [-1, 0, 0], [-2, -3, -4]]


def test_only_empty_answers_still_make_a_batch():
    (batch,) = packed_micro_batches([R((1,), ())], 8)
    assert batch.mask.tolist() == [[False]] and batch.lines.source.tolist() == []


def test_a_group_beyond_the_budget_splits_and_repeats_its_prompt():
    rows = [R((1, 2, 3), (9, 9, 9)) for _ in range(5)]  # 3 + 2 per answer
    packs = pack(rows, budget_tokens=7)
    assert [p.rows for p in packs] == [(0, 1), (2, 3), (4,)]
    assert [p.prompt_ids for p in packs] == [(1, 2, 3)] * 3
    assert [p.num_tokens for p in packs] == [7, 7, 5]


def test_a_row_longer_than_the_budget_stays_whole():
    packs = pack([R((1,) * 10, (2,) * 10), R((1,) * 10, (2,))], budget_tokens=4)
    assert [p.rows for p in packs] == [(0,), (1,)]
    assert [b.lines.input_ids.shape for b in micro_batches([R((1,) * 10, (2,) * 10)], packs[:1], 4)] == [(1, 32)]


def test_unshared_prompts_give_a_pack_per_row():
    assert [p.rows for p in pack([R((1,), (2,)), R((1,), (2,))], share_prompts=False)] == [(0,), (1,)]


def test_longest_packs_come_first_and_batches_hold_the_budget():
    rows = [R((i,) * n, (1,)) for i, n in enumerate((3, 9, 4, 8), start=1)]
    batches = packed_micro_batches(rows, 16, width_multiple=4)
    assert [b.lines.input_ids.shape for b in batches] == [(1, 12), (2, 8), (1, 4)]
    assert [b.rows.tolist() for b in batches] == [[1], [3, 2], [0]]


def test_an_empty_prompt_is_refused():
    with pytest.raises(UpdateError, match="empty prompt"):
        pack([R((), (1,))])


ids = st.integers(0, 5)
drawn_rows = st.lists(
    st.builds(R, st.lists(ids, min_size=1, max_size=4).map(tuple), st.lists(ids, max_size=5).map(tuple)),
    min_size=1,
    max_size=12,
)


@given(drawn_rows, st.integers(1, 20), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_token_is_predicted_once_from_its_own_prefix(rows, budget, share):
    batches = packed_micro_batches(rows, budget, share_prompts=share)
    assert sorted(i for b in batches for i in b.rows.tolist()) == list(range(len(rows)))
    for batch in batches:
        flat_ids, flat_segments = batch.lines.input_ids.ravel(), batch.lines.segments.ravel()
        width = batch.lines.input_ids.shape[1]
        sources = np.full(batch.num_rows * batch.max_length, -1)
        targets = sources.copy()
        sources[batch.place], targets[batch.place] = batch.lines.source, batch.target
        sources, targets = sources.reshape(batch.mask.shape), targets.reshape(batch.mask.shape)
        for r, index in enumerate(batch.rows):
            row = rows[index]
            assert targets[r][: batch.lengths[r]].tolist() == list(row.completion_ids)
            for t in range(len(row.completion_ids)):
                at = sources[r, t]
                line = at // width * width
                seen = [
                    k
                    for k in range(line, at + 1)
                    if flat_segments[k] == 0 or (flat_segments[k] == flat_segments[at] and flat_segments[k] >= 0)
                ]
                assert flat_ids[seen].tolist() == [*row.prompt_ids, *row.completion_ids[:t]]
                assert batch.lines.position_ids.ravel()[seen].tolist() == list(range(len(seen)))


@given(drawn_rows)
@settings(max_examples=50, deadline=None)
def test_cost_is_the_prompt_once_and_every_answer_but_its_last_token(rows):
    expected = sum(len(p) for p in {r.prompt_ids for r in rows}) + sum(max(len(r.completion_ids) - 1, 0) for r in rows)
    assert sum(b.num_tokens for b in packed_micro_batches(rows, 10_000)) == expected


@given(
    st.lists(
        st.builds(
            R,
            st.lists(st.integers(1, 3), min_size=1, max_size=6).map(tuple),
            st.lists(st.integers(4, 9), max_size=7).map(tuple),
        ),
        min_size=1,
        max_size=14,
    ),
    st.integers(4, 60),
)
def test_side_by_side_every_token_is_predicted_by_the_one_before_it_and_no_batch_passes_the_budget(rows, budget):
    seen = []
    for batch in shared_micro_batches(rows, budget):
        laid = shared(batch.packs)
        assert len(batch.packs) == 1 or laid.prefix.size + laid.tails.size <= budget
        flat = [*laid.prefix.ravel().tolist(), *laid.tails.ravel().tolist()]
        fed = [(*rows[i].prompt_ids, *rows[i].completion_ids)[len(rows[i].prompt_ids) - 1 : -1] for i in batch.rows]
        assert [flat[place] for place in laid.source] == [token for one in fed for token in one]
        assert batch.target.tolist() == [token for i in batch.rows for token in rows[i].completion_ids]
        assert laid.lengths.tolist() == [len(p.prompt_ids) for p in batch.packs]
        seen += batch.rows.tolist()
    assert sorted(seen) == list(range(len(rows)))
