"""The warm pool: one keeper, and cells ordered from it ahead of need. Each cell serves one program and is then gone."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from typing import Any

from motet.errors import SandboxError
from motet.sandbox import backends
from motet.sandbox.backends import BackendName
from motet.sandbox.cells import PATIENCE_S, REFUSED_FIX, Cell


class KeeperGone(SandboxError):
    """The keeper has ended, so that another one can be started."""


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
                raise SandboxError(f"{name}: {problem}{': ' + text if text else ''}", fix=REFUSED_FIX)

    def _greet(self, config: dict[str, Any]) -> str:
        """What is wrong with the keeper, or nothing."""
        self.control.settimeout(PATIENCE_S)
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

    def ready(self, within_s: float = PATIENCE_S) -> int:
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
    raise SandboxError("no sandbox works here (" + "; ".join(reasons) + ")", fix=REFUSED_FIX)
