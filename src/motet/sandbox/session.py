"""Watches one or more cells from outside until all have ended: collects output, passes messages, holds the time."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from motet.errors import SandboxError
from motet.sandbox.inside.frames import FrameError, Frames, frame, parse
from motet.sandbox.limits import Limits, Ran, Status
from motet.sandbox.pool import Cell

_PATIENCE_S = 10.0
OnMessage = Callable[[bytes], None]


@dataclass
class Watched:
    """One cell under watch. `on_message` gets each message of the program's line, unread. `on_silence` is called when
    no more can come: the line closed, or what came was no message.

    The first message is not the program's: it says that the program starts now (`running`), or why it cannot (`fault`).
    `cause` says why the cell was ended from outside; `verdict` is what its watchman told.
    """

    cell: Cell
    limits: Limits
    on_message: OnMessage | None = None
    on_silence: Callable[[], None] | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    running: bool = False
    fault: str = ""
    cause: str = ""
    verdict: dict[str, Any] | None = None
    began: float = 0.0
    ended: float = 0.0

    def __post_init__(self) -> None:
        self._leash = Frames(1 << 16)
        self._line = Frames(self.limits.output_kb << 10)

    def end(self, cause: str) -> None:
        """End it from outside, for `cause`; the first cause counts."""
        if not self.cause:
            self.cause = cause
            self.cell.kill()

    def read_output(self, fd: int) -> bool:
        """Take what has been written; False once there is nothing (yet or any more)."""
        into = self.stdout if fd == self.cell.out else self.stderr
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        room = (self.limits.output_kb << 10) - len(self.stdout) - len(self.stderr)
        into += data[: max(room, 0)]
        if len(data) > room:
            self.end("output")
        return bool(data)

    def read_line(self) -> bool:
        """Pass on the messages of its line; False once there is nothing, it is closed, or what comes is no message."""
        try:
            data = self.cell.line.recv(1 << 16, socket.MSG_DONTWAIT)
            messages = self._line.feed_raw(data)
        except BlockingIOError:
            return False
        except (OSError, FrameError):
            data, messages = b"", []
        for message in messages:
            if not self.running and not self.fault:
                told = parse(message)
                self.running, self.fault, self.began = "running" in told, str(told.get("fault", "")), time.monotonic()
            elif self.on_message is not None:
                self.on_message(message)
        if not data and self.on_silence is not None:
            self.on_silence()
        return bool(data)

    def say(self, body: bytes, within_s: float) -> None:
        """Pass a message on to the cell. One that does not listen in time is ended as `timeout`."""
        self.cell.line.settimeout(max(within_s, 0.01))
        try:
            self.cell.line.sendall(frame(body))
        except TimeoutError:
            self.end("timeout")
        except OSError:  # it has ended; its watchman will say how
            return

    def read_leash(self, now: float) -> None:
        """Take the watchman's word. Raises `SandboxError` if it ended without one."""
        try:
            data = self.cell.leash.recv(1 << 12)
        except OSError:
            data = b""
        if not data:
            raise SandboxError("a cell's watchman ended without a word")
        for message in self._leash.feed(data):
            self.verdict, self.ended = message, now


class Watch:
    """Watches cells until every one has ended. What still runs `wall_s` seconds after the last of them began is ended
    as `timeout`; the time in which the sandbox prepares a program does not count.
    """

    def __init__(self, watched: list[Watched], wall_s: float) -> None:
        self._watched, self.wall_s = watched, wall_s
        self._deadline = time.monotonic() + 2 * _PATIENCE_S
        self._poll = select.poll()
        self._whose: dict[int, Watched] = {}
        for one in watched:
            for fd in (one.cell.leash.fileno(), one.cell.line.fileno(), one.cell.out, one.cell.err):
                self._whose[fd] = one
                self._poll.register(fd, select.POLLIN)

    @property
    def left_s(self) -> float:
        return self._deadline - time.monotonic()

    def extend(self) -> None:
        """Give the cells `wall_s` seconds from now."""
        self._deadline = time.monotonic() + self.wall_s

    def until_ended(self) -> None:
        """Return when every cell has ended. Raises `SandboxError` if a watchman vanishes or cannot end its cell."""
        while any(one.verdict is None for one in self._watched):
            left = self.left_s
            if left <= 0:
                for one in self._watched:
                    one.end("timeout")
            if left < -_PATIENCE_S:
                raise SandboxError("a cell could not be ended")
            for fd, _ in self._poll.poll((left if left > 0 else left + _PATIENCE_S) * 1000 + 1):
                if not self._serve(fd, self._whose[fd]):
                    self._poll.unregister(fd)
        for one in self._watched:  # what was written before the end may not have been read yet
            for fd in (one.cell.out, one.cell.err):
                while one.read_output(fd):
                    pass
            while one.read_line():
                pass
            if not one.running:
                raise SandboxError(
                    one.fault or "a cell ended before its program began", fix="is this machine overloaded?"
                )

    def _serve(self, fd: int, one: Watched) -> bool:
        """Take what `fd` has; False when no more can come."""
        if fd == one.cell.leash.fileno():
            one.read_leash(time.monotonic())
            return False
        if fd == one.cell.line.fileno():
            waited = not one.running
            more = one.read_line()
            if waited and one.running:
                self.extend()
            return more
        return one.read_output(fd)


def judge(one: Watched, *, walled: bool) -> Ran:
    """What a cell that has ended did. Raises `SandboxError` if it was ended by neither the program nor its limits."""
    verdict = one.verdict or {}
    code = os.waitstatus_to_exitcode(int(verdict["status"]))
    stderr = bytes(one.stderr).decode("utf-8", "replace")
    cpu_s, peak_mb = float(verdict["cpu_s"]), float(verdict["peak_kb"]) / 1024
    if code == -signal.SIGKILL and not one.cause:
        # inside a wall no program can kill its own first process: it was the kernel's CPU limit, or somebody outside
        if cpu_s < 0.9 * one.limits.cpu_s and walled:
            raise SandboxError("a program was killed from outside its cell", fix="is this machine out of memory?")
        one.cause = "timeout" if cpu_s >= 0.9 * one.limits.cpu_s else "error"
    status: Status = "ok" if code == 0 else "error"
    if one.cause in ("timeout", "output"):
        status = "timeout" if one.cause == "timeout" else "output"
    elif code > 0 and stderr.rstrip().rsplit("\n", 1)[-1].startswith("MemoryError"):
        status = "memory"
    return Ran(
        status=status,
        exit_code=code,
        stdout=bytes(one.stdout).decode("utf-8", "replace"),
        stderr=stderr,
        seconds=one.ended - one.began,
        cpu_s=cpu_s,
        peak_mb=peak_mb,
    )
