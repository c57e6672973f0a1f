"""The warm pool: one keeper, and cells ordered from it ahead of need. Each cell serves one program and is then gone."""

from __future__ import annotations

import glob
import json
import os
import select
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections import deque
from typing import Any

from motet.errors import SandboxError
from motet.sandbox import backends
from motet.sandbox.backends import BackendName
from motet.sandbox.inside import frames

_PATIENCE_S = 60.0
"""How long the sandbox may take for a step of its own before it counts as failed."""

_CREDENTIALS = struct.Struct("3i")
_KILL = frames.pack({"kill": True})

_REFUSED_FIX = (
    "install bubblewrap, or allow unprivileged user namespaces on this machine, or say `sandbox: none` "
    "to run untrusted programs with this user's rights"
)


class NotBegun(SandboxError):
    """A cell ended before its program began, so that another one can be taken."""


class KeeperGone(SandboxError):
    """The keeper has ended, so that another one can be started."""


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
        threads = glob.iglob(f"/proc/{self.pid}/task/*") if self.pid else ()
        return max(map(waited_s, threads), default=0.0)

    def gone(self) -> bool:
        """Whether the inhabitant has ended, though its watchman may have had no time yet to say so."""
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except OSError:
            return self.pid != 0

    def wait_ready(self) -> None:
        """Return when the inhabitant waits for its program. Raises `SandboxError` if it will not."""
        self.line.settimeout(_PATIENCE_S)
        try:
            self.pid = _sender(self.line)
            message = frames.receive_from(self.line)
            if self.gone():  # or not to be seen from here
                self.pid = 0
        except (OSError, frames.FrameError) as problem:
            raise SandboxError(f"a cell did not come up: {problem}", fix=_REFUSED_FIX) from None
        if "fault" in message:
            raise SandboxError(str(message["fault"]), fix=_REFUSED_FIX)

    def ended(self) -> bool:
        """Whether its watchman has spoken or gone already."""
        return bool(select.select([self.leash], [], [], 0)[0])

    def hand_over(self, job: dict[str, Any]) -> None:
        """Give the watchman its bound and the inhabitant its program. Raises `SandboxError` if it does not take it."""
        self.line.settimeout(_PATIENCE_S)
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


class Keeper:
    """This side of a keeper process. Raises `SandboxError` when it does not start."""

    def __init__(self, name: str, *, disk_mb: int, paths: tuple[str, ...], preload: tuple[str, ...]) -> None:
        self.name = name
        self.control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._orders = 0
        with far, tempfile.TemporaryFile() as told:
            start = backends.start(name, far.fileno(), disk_mb=disk_mb, paths=paths, preload=preload)
            self.process = subprocess.Popen(
                start.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=told,
                env={"PYTHONHASHSEED": "0"},
                pass_fds=(far.fileno(),),
                start_new_session=True,
                cwd="/",
            )
            far.close()
            problem = self._greet(start.config)
            if problem:
                self.close()
                told.seek(0)
                text = told.read(2000).decode(errors="replace").strip()
                raise SandboxError(f"{name}: {problem}{': ' + text if text else ''}", fix=_REFUSED_FIX)

    def _greet(self, config: dict[str, Any]) -> str:
        """What is wrong with the keeper, or nothing."""
        self.control.settimeout(_PATIENCE_S)
        try:
            self.control.send(json.dumps(config).encode())
            answer = self.control.recv(4096)
        except OSError as problem:
            return f"the keeper does not answer ({problem})"
        if not answer:
            return "the keeper ended at its start"
        return str(json.loads(answer).get("fault", ""))

    def order(self) -> Cell:
        """Order a cell. It comes up while the caller does something else."""
        self._orders += 1
        try:
            return Cell(self.control, backends.user_of(self._orders))
        except OSError as problem:
            raise KeeperGone(f"the keeper is gone: {problem}", fix="is this machine out of memory?") from None

    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End the keeper, and with it every cell."""
        self.control.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Pool:
    """Keeps `warm` cells ready and lets at most `parallel` holders run at a time. Usable from any thread."""

    def __init__(self, backend: BackendName, *, warm: int, parallel: int, **keeper: Any) -> None:
        self._backend, self._settings = backend, keeper
        self.warm, self.permits = warm, threading.BoundedSemaphore(parallel)
        self._lock = threading.Lock()
        self._cells: deque[Cell] = deque()
        self._keeper: Keeper | None = None
        self._owner = os.getpid()

    @property
    def name(self) -> str:
        """The backend in use; starts it if need be."""
        with self._lock:
            return self._living().name

    def take(self) -> Cell:
        """A cell that is ready; another one is ordered in its place. The caller closes it.

        Cells that somebody ended while they waited are replaced. Raises `SandboxError` if no new one comes up.
        """
        for left in range(self.warm, -1, -1):
            with self._lock:
                self._fill()
                cell = self._cells.popleft()
                self._fill()
            try:
                cell.wait_ready()
                if not cell.ended():
                    return cell
            except SandboxError:
                if not left:
                    cell.close()
                    raise
            cell.close()
        raise SandboxError("cells end before they are used", fix="is this machine out of memory?")

    def ready(self, within_s: float = _PATIENCE_S) -> int:
        """How many cells are ready now, after waiting until all are or the time is over."""
        deadline = time.monotonic() + within_s
        with self._lock:
            self._fill()
            cells = list(self._cells)
        count = 0
        for cell in cells:
            left = max(0.0, deadline - time.monotonic())
            count += bool(select.select([cell.line], [], [], left)[0])
        return count

    def close(self) -> None:
        """End every cell and the keeper. In a forked copy of the process that started them, only forget them."""
        with self._lock:
            if self._owner == os.getpid():
                self._drop()

    def _fill(self) -> None:
        """Order cells until `warm` are there; from a new keeper where the old one ends meanwhile."""
        for left in (2, 1, 0):
            keeper = self._living()
            try:
                while len(self._cells) < self.warm:
                    self._cells.append(keeper.order())
                return
            except KeeperGone:
                self._drop()
                if not left:
                    raise

    def _living(self) -> Keeper:
        """The keeper; a new one if there is none, if it died, or if this is a forked copy of the process."""
        if self._owner != os.getpid():
            self._keeper, self._owner = None, os.getpid()
            self._cells.clear()  # the other process's: not ours to end
        if self._keeper is not None and not self._keeper.alive():
            self._drop()
        if self._keeper is None:
            self._keeper = _first(self._backend, self._settings)
        return self._keeper

    def _drop(self) -> None:
        while self._cells:
            self._cells.popleft().close()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None


def _first(backend: BackendName, settings: dict[str, Any]) -> Keeper:
    """A keeper of the first backend that works here, proved by one cell. Raises `SandboxError` with every reason."""
    reasons = []
    for name in backends.candidates(backend):
        reason = backends.unavailable(name)
        if reason is None:
            try:
                keeper = Keeper(name, **settings)
            except SandboxError as problem:
                reason = problem.what
            else:
                try:
                    cell = keeper.order()
                    cell.wait_ready()
                    cell.close()
                    return keeper
                except SandboxError as problem:
                    keeper.close()
                    reason = problem.what
        reasons.append(f"{name}: {reason}")
    raise SandboxError("no sandbox works here (" + "; ".join(reasons) + ")", fix=_REFUSED_FIX)
