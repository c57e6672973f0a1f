"""Watches one or more cells from outside until all have ended: collects output, passes messages, holds the time."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from motet.errors import SandboxError
from motet.sandbox.cells import Cell, NotBegun, waited_s
from motet.sandbox.inside.frames import FrameError, Frames, FrameTooLong, frame, parse
from motet.sandbox.limits import Limits, Ran, Status

_PATIENCE_S = 60.0
"""How long the sandbox's own steps (a program begins, a cell ends) may take before it counts as failed."""

_MOST_WAITING = 100.0
"""How many times its wall time a program may spend waiting for a processor."""

_LOOK_S, _GRANT_S = 0.03, 0.25
"""A thread that has not run between two looks waits; one that runs is seen to do so at every tick of the kernel."""

OnMessage = Callable[[bytes], None]


@dataclass
class Watched:
    """One cell under watch. `on_message` gets each message of the program's line, unread. `on_silence` is called when
    no more can come: the line closed, or what came was no message.

    The first message is not the program's: it says that the program starts now (`running`), or why it cannot (`fault`).
    `cause` says why the cell was ended from outside and `note` says it in words; `verdict` is what its watchman told.
    A message of more than `message_bytes` ends it as `output`.
    """

    cell: Cell
    limits: Limits
    on_message: OnMessage | None = None
    on_silence: Callable[[], None] | None = None
    message_bytes: int = 1 << 16
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    running: bool = False
    fault: str = ""
    cause: str = ""
    note: str = ""
    verdict: dict[str, Any] | None = None
    began: float = 0.0
    ended: float = 0.0

    def __post_init__(self) -> None:
        self._leash = Frames(1 << 16)
        self._line = Frames(self.message_bytes)

    def end(self, cause: str, note: str = "") -> None:
        """End it from outside, for `cause`; the first cause counts."""
        if not self.cause:
            self.cause, self.note = cause, note
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
            self.end("output", f"it wrote more than {self.limits.output_kb} kB")
        return bool(data)

    def read_line(self) -> bool:
        """Pass on the messages of its line; False once there is nothing, it is closed, or what comes is no message."""
        try:
            data = self.cell.line.recv(1 << 16, socket.MSG_DONTWAIT)
            messages = self._line.feed_raw(data)
        except BlockingIOError:
            return False
        except FrameTooLong as problem:
            self.end("output", str(problem))
            data, messages = b"", []
        except FrameError:
            self.end("nonsense")
            data, messages = b"", []
        except OSError:
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

    def say(self, body: bytes, late: Callable[[], bool]) -> None:
        """Pass a message on to the cell. One that does not listen until it is `late` is ended as `timeout`."""
        data = memoryview(frame(body))
        self.cell.line.settimeout(_GRANT_S)
        while data:
            try:
                data = data[self.cell.line.send(data) :]
            except TimeoutError:
                if late():
                    return self.end("timeout")
            except OSError:  # it has ended; its watchman will say how
                return

    def read_leash(self, now: float) -> None:
        """Take the watchman's word. Raises `SandboxError` if it ended without one."""
        try:
            data = self.cell.leash.recv(1 << 12)
        except OSError:
            data = b""
        if not data:
            kind = SandboxError if self.running else NotBegun
            raise kind("a cell's watchman ended without a word")
        for message in self._leash.feed(data):
            self.verdict, self.ended = message, now


class Watch:
    """Watches cells until every one has ended. What still runs `wall_s` seconds after the last of them began is ended
    as `timeout`. Neither the time in which the sandbox prepares a program counts, nor that in which a cell (or this
    thread) was ready to work and no processor was free.
    """

    def __init__(self, watched: list[Watched], wall_s: float) -> None:
        self._watched, self.wall_s = watched, wall_s
        self._deadline, self._most, self._waited = time.monotonic() + 2 * _PATIENCE_S, 0.0, 0.0
        self._poll, self._leashes = select.poll(), select.poll()
        self._whose: dict[int, Watched] = {}
        for one in watched:
            self._leashes.register(one.cell.leash, select.POLLIN)
            for fd in (one.cell.leash.fileno(), one.cell.line.fileno(), one.cell.out, one.cell.err):
                self._whose[fd] = one
                self._poll.register(fd, select.POLLIN)

    def left_s(self) -> float:
        """Seconds until what still runs is ended; looks at the time spent waiting only when the rest is over."""
        left = self._deadline - time.monotonic()
        if left > 0 or not self._most:
            return left
        return left + max(min(self._waiting() - self._waited, self._most), 0.0)

    def late(self) -> bool:
        """Whether the time is over, also that spent waiting until now."""
        return self.left_s() <= 0 and not self._starved()

    def extend(self) -> None:
        """Give the cells `wall_s` seconds from now."""
        self._deadline, self._most = time.monotonic() + self.wall_s, self.wall_s * _MOST_WAITING
        self._waited = self._waiting()

    def _waiting(self) -> float:
        return waited_s("/proc/thread-self") + sum(one.cell.waited_s() for one in self._watched)

    def _starved(self) -> bool:
        """Whether a cell waits for a processor at this moment; then all get a little more time."""
        living = [one for one in self._watched if one.verdict is None]
        before = [one.cell.ready_to_run() for one in living]
        if self._most <= 0 or not any(before):
            return False
        time.sleep(_LOOK_S)
        if not any(threads & one.cell.ready_to_run() for one, threads in zip(living, before)):
            return False
        self._deadline += _GRANT_S
        self._most -= _GRANT_S
        return True

    def until_ended(self) -> None:
        """Return when every cell has ended. Raises `SandboxError` if a watchman vanishes or cannot end its cell."""
        overdue: float | None = None
        while any(one.verdict is None for one in self._watched):
            left = self.left_s() if overdue is None else overdue - time.monotonic()
            events = self._poll.poll(max(left, 0.0) * 1000 + 1) if left > 0 else self._leashes.poll(0)
            for fd, _ in events:
                if not self._serve(fd, self._whose[fd]):
                    self._poll.unregister(fd)
            if left > 0 or events:  # an end that waits to be read was in time, however late this thread reads it
                continue
            if overdue is not None:
                raise SandboxError("a cell could not be ended")
            if self._starved():
                continue
            overdue = time.monotonic() + _PATIENCE_S
            for one in self._watched:
                if one.verdict is None and not one.cell.gone():
                    one.end("timeout", f"more than {self.wall_s:g} s")
        for one in self._watched:  # what was written before the end may not have been read yet
            for fd in (one.cell.out, one.cell.err):
                while one.read_output(fd):
                    pass
            while one.read_line():
                pass
            if not one.running:
                raise _not_begun(one)

    def _serve(self, fd: int, one: Watched) -> bool:
        """Take what `fd` has; False when no more can come."""
        if fd == one.cell.leash.fileno():
            one.read_leash(time.monotonic())
            self._leashes.unregister(fd)
            return False
        if fd == one.cell.line.fileno():
            waited = not one.running
            more = one.read_line()
            if waited and one.running:
                self.extend()
            return more
        return one.read_output(fd)


_T = TypeVar("_T")


def begun(work: Callable[[], _T]) -> _T:
    """The result of `work`, which is done anew, at most four times, where its cells ended before its program began."""
    for _ in range(4):
        try:
            return work()
        except NotBegun:
            continue
    return work()


def _not_begun(one: Watched) -> SandboxError:
    if one.fault:
        return SandboxError(one.fault, fix="is this machine overloaded?")
    return NotBegun("a cell ended before its program began", fix="is this machine overloaded?")


def judge(one: Watched, *, walled: bool) -> Ran:
    """What a cell that has ended did. Raises `SandboxError` if it was ended by neither the program nor its limits."""
    verdict = one.verdict or {}
    code = os.waitstatus_to_exitcode(int(verdict["status"]))
    stderr = bytes(one.stderr).decode("utf-8", "replace")
    if verdict["by"] == "cpu" and one.cause != "output":
        one.cause, one.note = "timeout", f"more than {one.limits.cpu_s:g} s of processor time"
    if code == -signal.SIGKILL and not verdict["by"] and walled:
        # inside a wall no program can kill its own first process, so it was somebody outside
        raise SandboxError("a program was killed from outside its cell", fix="is this machine out of memory?")
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
        seconds=max(one.ended - one.began, 0.0),
        cpu_s=float(verdict["cpu_s"]),
        peak_mb=float(verdict["peak_kb"]) / 1024,
    )
