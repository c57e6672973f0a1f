from __future__ import annotations

import enum
import gzip
import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import CheckpointError
from motet.rollout.records import (
    decode_episode,
    encode_episode,
    read_episodes,
    repair_episodes,
    to_json,
    write_episodes,
)
from motet.types import Call, CallKey, Candidate, Episode, Outcome, Reward

unit = st.none() | st.floats(0, 1)
rewards = st.none() | st.builds(
    Reward,
    team=unit,
    local=unit,
    notes=st.none() | st.lists(st.text()),
    parts=st.dictionaries(st.text(), st.floats(0, 1)),
)
ids = st.lists(st.integers(0, 1 << 20), max_size=5).map(tuple)


@st.composite
def candidates(draw):
    tokens = draw(ids)
    logprobs = tuple(draw(st.floats(-50, 0)) for _ in tokens)
    return Candidate(draw(st.text()), tokens, logprobs, draw(st.sampled_from(["eos", "stop", "length"])), draw(rewards))


calls = st.builds(
    Call,
    key=st.builds(CallKey, role=st.sampled_from(["plan", "planner"]), slot=st.integers(0, 3), turn=st.integers(0, 9)),
    policy=st.text(min_size=1),
    policy_version=st.integers(0, 99),
    tokenizer_id=st.text(),
    prompt_ids=ids,
    candidates=st.lists(candidates(), min_size=1, max_size=3).map(tuple),
    chosen=st.just(0),
    temperature=st.floats(0.1, 2),
    trainable=st.booleans(),
)
episodes = st.builds(
    Episode,
    task_set=st.text(), task_id=st.text(), split=st.text(), phase=st.sampled_from(["train", "eval"]),
    ticket=st.integers(0, 99), copy=st.integers(0, 9), branch=st.integers(0, 9),
    calls=st.lists(calls, max_size=2).map(tuple),
    outcome=st.none() | st.builds(Outcome, success=st.booleans(), team=st.floats(0, 1)),
    effects=st.dictionaries(st.text(), st.text()), error=st.none() | st.text(),
    extra_tokens=st.integers(0, 99), extra_calls=st.integers(0, 9),
)  # fmt: skip


@given(episodes)
def test_everything_that_credit_needs_comes_back_bit_equal(episode):
    line = encode_episode(episode)
    assert "\n" not in line
    assert decode_episode(line) == episode


@dataclass(frozen=True)
class Moves:
    moves: tuple[str, ...]
    seen: frozenset[int]


class Colour(enum.Enum):
    RED = "red"


def test_notes_become_json():
    notes = {"moves": Moves(("U", "D"), frozenset({2, 1})), 3: Colour.RED, "x": float("inf"), "o": range(2)}
    assert to_json(notes) == {
        "moves": {"moves": ["U", "D"], "seen": [1, 2]}, "3": "red", "x": {"repr": "inf"}, "o": {"repr": "range(0, 2)"},
    }  # fmt: skip


def episode(number):
    candidate = Candidate("go", (1, 2), (-0.1, -1 / 3), "eos", Reward(team=0.1, local=None, notes=[number]))
    call = Call(CallKey("planner", 0, 1, 2), "p", 4, "tok", (5, 6), (candidate,), 0, settled=True, prompt_dropped=3)
    return Episode("set", f"t-{number}", "train", "train", number, 0, 0, (call,), Outcome(True, 0.5, {"moves": 2.0}))


def test_append_per_iteration_and_the_same_bytes_twice(tmp_path):
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        for number in range(3):
            write_episodes(tmp_path / name, [episode(number)], append=True)
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert read_episodes(tmp_path / "one.jsonl.gz") == [episode(0), episode(1), episode(2)]
    first = gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()).split(b"\n")[0]
    assert json.loads(first) == {"schema": 1, "kind": "motet.episodes"}


def test_an_existing_file_is_not_overwritten(tmp_path):
    write_episodes(tmp_path / "e.jsonl.gz", [episode(0)])
    with pytest.raises(CheckpointError, match="the file exists"):
        write_episodes(tmp_path / "e.jsonl.gz", [episode(1)])


def test_a_file_cut_anywhere_is_refused_by_line_and_repaired_to_whole_episodes(tmp_path):
    path = tmp_path / "e.jsonl.gz"
    write_episodes(path, [episode(0), episode(1)])
    whole = path.stat().st_size
    write_episodes(path, [episode(2), episode(3)], append=True)
    data = path.read_bytes()
    for cut in range(whole + 1, len(data), 7):
        path.write_bytes(data[:cut])
        with pytest.raises(CheckpointError, match=r"cut off or broken .*line=[456]"):
            read_episodes(path)
        kept = repair_episodes(path)
        assert read_episodes(path) == [episode(number) for number in range(kept)]
        assert 2 <= kept <= 4
    write_episodes(path, [episode(9)], append=True)
    assert read_episodes(path)[-1] == episode(9)


def test_a_whole_file_is_left_as_it_is_by_repair(tmp_path):
    path = tmp_path / "e.jsonl.gz"
    write_episodes(path, [episode(0)])
    before = path.read_bytes()
    assert repair_episodes(path) == 1
    assert path.read_bytes() == before


def test_a_broken_line_a_foreign_file_and_a_missing_file_are_named(tmp_path):
    path = tmp_path / "e.jsonl.gz"
    header = b'{"schema": 1, "kind": "motet.episodes"}\n'
    path.write_bytes(gzip.compress(header + encode_episode(episode(0)).encode() + b'\n{"calls": []}\n'))
    with pytest.raises(CheckpointError, match="line=3"):
        read_episodes(path)
    path.write_bytes(gzip.compress(b'{"schema": 99, "kind": "motet.episodes"}\n'))
    for use in (read_episodes, lambda p: write_episodes(p, [episode(0)], append=True)):
        with pytest.raises(CheckpointError, match=r"another kind or schema.*line=1"):
            use(path)
    path.write_bytes(b"not gzip")
    with pytest.raises(CheckpointError, match="line=1"):
        read_episodes(path)
    with pytest.raises(CheckpointError, match="no such file"):
        read_episodes(tmp_path / "none.jsonl.gz")


def test_a_failed_episode_round_trips(tmp_path):
    failed = replace(episode(0), calls=(), outcome=None, error="TypeError: x [task=t-0]")
    write_episodes(tmp_path / "e.jsonl.gz", [failed])
    assert read_episodes(tmp_path / "e.jsonl.gz") == [failed]
