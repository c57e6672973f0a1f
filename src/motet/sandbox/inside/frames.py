"""Messages over a stream: four bytes of length, then JSON."""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

_LENGTH = struct.Struct(">I")


class FrameError(Exception):
    """The other side closed, sent more than was allowed, or sent no JSON."""


class FrameTooLong(FrameError):
    """The other side announced a longer message than is read."""


def pack(message: Any) -> bytes:
    """A message as bytes.

    >>> pack({"a": 1})
    b'\\x00\\x00\\x00\\x08{"a": 1}'
    """
    return frame(json.dumps(message).encode())


def frame(body: bytes) -> bytes:
    """Bytes that are a message already, with their length before them."""
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Cuts a stream of bytes into messages, whatever pieces it arrives in. A frame over `limit` bytes is refused.

    >>> frames = Frames(100)
    >>> data = pack([1]) + pack("two")
    >>> frames.feed(data[:6]), frames.feed(data[6:])
    ([], [[1], 'two'])
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._held = limit, bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """The messages that are complete now. Raises `FrameError` for a frame too long or no JSON."""
        return [parse(body) for body in self.feed_raw(data)]

    def feed_raw(self, data: bytes) -> list[bytes]:
        """As `feed`, with the messages unread."""
        self._held += data
        found = []
        while len(self._held) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._held)
            if length > self._limit:
                raise FrameTooLong(f"a message of {length} bytes; at most {self._limit} are read")
            if len(self._held) < _LENGTH.size + length:
                break
            found.append(bytes(self._held[_LENGTH.size : _LENGTH.size + length]))
            del self._held[: _LENGTH.size + length]
        return found


def parse(body: bytes) -> Any:
    """One message from its bytes. Raises `FrameError` for no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise FrameError(f"no message: {problem}") from None


def send(fd: int, message: Any) -> None:
    """Write one message to a blocking descriptor."""
    data = memoryview(pack(message))
    while data:
        data = data[os.write(fd, data) :]


def receive(fd: int) -> Any:
    """Read one message from a blocking descriptor. Raises `FrameError` when the other side has closed."""
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size))
    return parse(_exactly(fd, length))


def receive_from(line: socket.socket) -> Any:
    """Read one message from a socket that has a time limit; no byte more than that message."""
    (length,) = _LENGTH.unpack(_from(line, _LENGTH.size))
    return parse(_from(line, length))


def _from(line: socket.socket, length: int) -> bytes:
    held = bytearray()
    while len(held) < length:
        data = line.recv(length - len(held))
        if not data:
            raise FrameError("the other side closed")
        held += data
    return bytes(held)


def _exactly(fd: int, length: int) -> bytes:
    held = bytearray()
    while len(held) < length:
        data = os.read(fd, min(length - len(held), 1 << 20))
        if not data:
            raise FrameError("the other side closed")
        held += data
    return bytes(held)
