"""This side of a cell: its descriptors, its program handed over, its end asked for, and what the kernel tells of it."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
from typing import Any

from motet.errors import SandboxError
from motet.sandbox.inside import frames

PATIENCE_S = 60.0
"""How long the sandbox may take for a step of its own before it counts as failed."""

_CREDENTIALS = struct.Struct("3i")
_KILL = frames.pack({"kill": True})

REFUSED_FIX = (
    "install bubblewrap, or allow unprivileged user namespaces on this machine, or say `sandbox: none` "
    "to run untrusted programs with this user's rights"
)


class NotBegun(SandboxError):
    """A cell ended before its program began, so that another one can be taken."""


class Cell:
    """This side of one cell: `leash` (the watchman: verdict, kill), `line` (the inhabitant), `out` and `err`."""

    def __init__(self, control: socket.socket, user: int) -> None:
        self.leash, far_leash = socket.socketpair()
        self.line, far_line = socket.socketpair()
        self.line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.out, far_out = os.pipe()
        self.err, far_err = os.pipe()
        far = [far_leash.fileno(), far_line.fileno(), far_out, far_err]
        try:
            socket.send_fds(control, [json.dumps({"user": user}).encode()], far)
        except OSError:
            self.close()
            raise
        finally:
            far_leash.close()
            far_line.close()
            os.close(far_out)
            os.close(far_err)
        for fd in (self.out, self.err):
            os.set_blocking(fd, False)
        self._open = True

    _open = True
    pid = 0
    """Number of the inhabitant as this process sees it; 0 before it is ready and where it cannot be seen."""

    def waited_s(self) -> float:
        """Seconds in which the inhabitant was ready to work and no processor was free: the most of any thread."""
        folder = f"/proc/{self.pid}/task"
        try:
            threads = os.listdir(folder) if self.pid else []
        except OSError:  # it has ended
            return 0.0
        return max((waited_s(f"{folder}/{thread}") for thread in threads), default=0.0)

    def ready_to_run(self) -> set[tuple[str, str]]:
        """Its threads that could work now, each with the time it has run. One that is the same a moment later waits for
        a processor at this moment, which the kernel counts only when it gets one."""
        found = set()
        folder = f"/proc/{self.pid}/task"
        try:
            for thread in os.listdir(folder) if self.pid else []:
                with open(f"{folder}/{thread}/stat") as stat, open(f"{folder}/{thread}/schedstat") as times:
                    if stat.read().rsplit(")", 1)[1].split()[0] == "R":
                        found.add((thread, times.read().split()[0]))
        except (OSError, IndexError):  # it is ending, or the kernel does not tell
            return found
        return found

    def gone(self) -> bool:
        """Whether the inhabitant has ended, though its watchman may have had no time yet to say so."""
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except OSError:
            return self.pid != 0

    def wait_ready(self) -> None:
        """Return when the inhabitant waits for its program. Raises `SandboxError` if it will not."""
        self.line.settimeout(PATIENCE_S)
        try:
            self.pid = _sender(self.line)
            message = frames.receive_from(self.line)
            if self.gone():  # or not to be seen from here
                self.pid = 0
        except (OSError, frames.FrameError) as problem:
            raise SandboxError(f"a cell did not come up: {problem}", fix=REFUSED_FIX) from None
        if "fault" in message:
            raise SandboxError(str(message["fault"]), fix=REFUSED_FIX)

    def ended(self) -> bool:
        """Whether its watchman has spoken or gone already."""
        return bool(select.select([self.leash], [], [], 0)[0])

    def hand_over(self, job: dict[str, Any]) -> None:
        """Give the watchman its bound and the inhabitant its program. Raises `SandboxError` if it does not take it."""
        self.line.settimeout(PATIENCE_S)
        try:
            self.leash.sendall(frames.pack({"cpu_s": job["limits"]["cpu_s"]}))
            self.line.sendall(frames.pack(job))
        except OSError as problem:
            raise NotBegun(f"a cell did not take its program: {problem}", fix="is this machine overloaded?") from None

    def kill(self) -> None:
        """Ask the watchman to end the cell. The verdict still comes on the leash."""
        try:
            self.leash.sendall(_KILL)
        except OSError:  # it has ended already
            return

    def close(self) -> None:
        """End the cell if it lives and let go of it. Can be called twice."""
        if self._open:
            self._open = False
            self.kill()
            self.leash.close()
            self.line.close()
            os.close(self.out)
            os.close(self.err)


def waited_s(thread: str) -> float:
    """The same for one thread by its folder below /proc; 0 where the kernel does not tell."""
    try:
        with open(f"{thread}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _sender(line: socket.socket) -> int:
    """Number of the process that wrote the message that comes next, as the kernel names it to this process."""
    _, notes, _, _ = line.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_PEEK)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(_CREDENTIALS.unpack(data)[0])
    return 0
