"""Watches one or more cells from outside until all have ended: collects output, passes messages, holds the time."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from motet.errors import SandboxError
from motet.sandbox.inside.frames import FrameError, Frames
from motet.sandbox.limits import Limits, Ran, Status
from motet.sandbox.pool import Cell

OnMessage = Callable[[Any], None]


@dataclass
class Watched:
    """One cell under watch. `on_message` gets each message of its line; None where the program has no line.

    `cause` says why it was ended from outside; `verdict` is what its watchman told.
    """

    cell: Cell
    limits: Limits
    on_message: OnMessage | None = None
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    cause: str = ""
    verdict: dict[str, Any] | None = None
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
        """Pass on the messages of its line; False once it is closed or unreadable."""
        try:
            data = self.cell.line.recv(1 << 16)
            messages = self._line.feed(data)
        except (OSError, FrameError):
            data, messages = b"", []
        for message in messages:
            if self.on_message is not None:
                self.on_message(message)
        return bool(data)

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


def watch(watched: list[Watched], started: float, wall_s: float) -> None:
    """Return when every cell has ended. What still runs after `wall_s` seconds is ended as `timeout`.

    Raises `SandboxError` if a watchman disappears or does not end its cell in time.
    """
    deadline = started + wall_s
    poll = select.poll()
    whose: dict[int, Watched] = {}
    for one in watched:
        fds = [one.cell.leash.fileno(), one.cell.out, one.cell.err]
        fds += [one.cell.line.fileno()] if one.on_message is not None else []
        for fd in fds:
            whose[fd] = one
            poll.register(fd, select.POLLIN)
    while any(one.verdict is None for one in watched):
        now = time.monotonic()
        if now > deadline:
            for one in watched:
                one.end("timeout")
            if now > deadline + 10:
                raise SandboxError("a cell could not be ended")
        left = deadline - now if now <= deadline else deadline + 11 - now
        for fd, _ in poll.poll(left * 1000 + 1):
            one = whose[fd]
            if fd == one.cell.leash.fileno():
                one.read_leash(time.monotonic())
                poll.unregister(fd)
            elif fd in (one.cell.out, one.cell.err):
                if not one.read_output(fd):
                    poll.unregister(fd)
            elif not one.read_line():
                poll.unregister(fd)
    for one in watched:  # what was written before the end is in the pipes still
        for fd in (one.cell.out, one.cell.err):
            while one.read_output(fd):
                pass


def judge(one: Watched, started: float, *, walled: bool) -> Ran:
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
        seconds=one.ended - started,
        cpu_s=cpu_s,
        peak_mb=peak_mb,
    )
