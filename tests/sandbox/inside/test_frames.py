"""Messages survive any cutting of the stream."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.sandbox.inside.frames import FrameError, Frames, pack, receive, send


@given(st.lists(st.text() | st.integers(), max_size=5), st.lists(st.integers(1, 9)))
def test_messages_come_out_whole_and_in_order_however_the_stream_is_cut(messages, cuts):
    stream, frames, found = b"".join(map(pack, messages)), Frames(1000), []
    for cut in cuts:
        found += frames.feed(stream[:cut])
        stream = stream[cut:]
    assert found + frames.feed(stream) == messages


def test_a_longer_frame_than_allowed_is_refused_before_its_body_arrives():
    with pytest.raises(FrameError, match="1000 bytes; at most 999"):
        Frames(999).feed((1000).to_bytes(4, "big"))


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe\xfd", b"[" * 100_000])
def test_what_is_no_json_is_refused(body):
    with pytest.raises(FrameError, match="no message"):
        Frames(1 << 20).feed(len(body).to_bytes(4, "big") + body)


def test_a_message_passes_through_descriptors_and_a_closed_one_is_told():
    read, write = os.pipe()
    send(write, {"a": "x" * 10_000})
    os.close(write)
    assert receive(read) == {"a": "x" * 10_000}
    with pytest.raises(FrameError, match="closed"):
        receive(read)
    os.close(read)
