"""Private tests are read out of a pickle by hand: a text comes out, or it is refused."""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.tasks.pickled_text import Refused, text_of_pickle, unpack


class Hostile:
    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


@given(st.text(), st.integers(1, pickle.HIGHEST_PROTOCOL))
def test_a_text_of_every_binary_protocol_comes_out_as_it_went_in(text: str, protocol: int) -> None:
    assert unpack(pack(pickle.dumps(text, protocol))) == text


@pytest.mark.parametrize("length", [0, 255, 256, 65_536, 200_000])
def test_texts_of_every_length_form_are_read(length: int) -> None:
    assert len(text_of_pickle(pickle.dumps("x" * length))) == length


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_case_14_a_hostile_pickle_is_refused_and_nothing_is_run(tmp_path, protocol: int) -> None:
    target = tmp_path / "touched"
    with pytest.raises(Refused):
        unpack(pack(pickle.dumps(Hostile(target), protocol)))
    with pytest.raises(Refused):
        unpack(pack(pickle.dumps(["[]", Hostile(target)], protocol)))
    assert not target.exists()


@pytest.mark.parametrize("value", [1, None, b"x", ["x"], ("x",), {"x": "y"}, 1.5, print, Refused])
def test_anything_but_a_text_is_refused(value) -> None:
    with pytest.raises(Refused):
        text_of_pickle(pickle.dumps(value))


@pytest.mark.parametrize(
    "data",
    [b"", b".", b"\x80\x04.", b"\x8c\x05ab", b"\x8c\x02\xff\xfe.", b"X\xff\xff\xff\xff", b"\x8d" + b"\xff" * 8 + b"a",
     pickle.dumps("x") + b"!", b"\x8c\x01a\x8c\x01b.", b"\x8c\x01a", b"cos\nsystem\n."],
)  # fmt: skip
def test_broken_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        text_of_pickle(data)


def test_what_is_not_packed_so_is_refused() -> None:
    for packed, what in (("!!", "no base64"), ("aaaa", "no zlib"), (base64.b64encode(b"").decode(), "too early")):
        with pytest.raises(Refused, match=what):
            unpack(packed)


def test_a_bomb_is_stopped_at_the_limit() -> None:
    with pytest.raises(Refused, match="over 1000 bytes"):
        unpack(pack(pickle.dumps("x" * 10_000_000)), max_bytes=1000)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_text_or_are_refused(data: bytes) -> None:
    with contextlib.suppress(Refused):
        assert isinstance(text_of_pickle(data), str)
