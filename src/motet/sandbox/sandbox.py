"""`Sandbox`: the way in. Runs a program in a cell of its own and says what it did."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from motet.errors import SandboxError
from motet.sandbox.backends import BackendName, counts_processes
from motet.sandbox.cells import Cell
from motet.sandbox.checks import Test, TestResult, run_tests
from motet.sandbox.jobs import make_job
from motet.sandbox.limits import Limits, Ran
from motet.sandbox.pool import Pool
from motet.sandbox.session import Watch, Watched, begun, judge


class Sandbox:
    """Runs untrusted Python programs, each in a fresh process behind a wall.

    The program sees a read-only interpreter and standard library, an empty environment, an empty private folder (its
    working directory) and nothing else: no network, no other process, no file of the machine's users. Its end is
    reported by a process that it cannot reach. `docs/sandbox.md` lists what holds it and what was tried against it.

    - `backend`: `auto` takes bubblewrap, else namespaces of the kernel, else refuses; `none` must be said aloud.
    - `limits`: the bounds unless `run` is given others. `disk_mb`: what the private folder holds.
    - `parallel`: programs that run at a time (default: the processors of this machine); others wait their turn, which
      does not count against them. `warm`: cells kept ready (default: twice `parallel`).
    - `paths`, `preload`: folders to import from beside the standard library, and modules of them loaded ahead.

    Usable from any thread, and as a context manager. Raises `SandboxError` where no backend works, and whenever the
    sandbox itself fails: a fault of the sandbox is never a verdict on a program.

    >>> with Sandbox(warm=1) as sandbox:  # doctest: +SKIP
    ...     sandbox.run("print(int(input()) + 1)", stdin="41").stdout
    '42\\n'
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        backend: BackendName = "auto",
        parallel: int | None = None,
        warm: int | None = None,
        disk_mb: int = 32,
        paths: tuple[str, ...] = (),
        preload: tuple[str, ...] = (),
    ) -> None:
        parallel = parallel or len(os.sched_getaffinity(0))
        warm = 2 * parallel if warm is None else max(1, warm)
        self.limits, self.parallel, self.warm = limits or Limits(), parallel, warm
        self._pool = Pool(backend, warm=warm, parallel=parallel, disk_mb=disk_mb, paths=paths, preload=preload)
        self._at_end = weakref.finalize(self, self._pool.close)
        self._threads = ThreadPoolExecutor(parallel, thread_name_prefix="motet-sandbox")

    @property
    def backend(self) -> str:
        """The backend in use: `bubblewrap`, `namespaces` or `none`. Starts it if need be."""
        return self._pool.name

    def ready(self, within_s: float = 20.0) -> int:
        """How many cells are ready; waits until all are, at most `within_s` seconds."""
        return self._pool.ready(within_s)

    def run(
        self, program: str, *, stdin: str = "", files: Mapping[str, str] | None = None, limits: Limits | None = None
    ) -> Ran:
        """Run `program` as `python main.py`, with `stdin` as its input and `files` in its folder (relative names)."""
        limits = limits or self.limits
        job = make_job("script", program, limits, stdin=stdin, files=files)
        return begun(lambda: self._run(job, limits))

    def _run(self, job: dict[str, Any], limits: Limits) -> Ran:
        with self.cells(1, limits) as (cell,):
            one = Watched(cell, limits)
            watch = Watch([one], limits.wall_s)
            cell.hand_over(job)
            watch.until_ended()
            return judge(one, walled=self.backend != "none")

    async def arun(
        self, program: str, *, stdin: str = "", files: Mapping[str, str] | None = None, limits: Limits | None = None
    ) -> Ran:
        """`run` for an event loop: the loop goes on while the program runs."""
        loop = asyncio.get_running_loop()
        work = lambda: self.run(program, stdin=stdin, files=files, limits=limits)
        return await loop.run_in_executor(self._threads, work)

    def run_tests(
        self, program: str, tests: Sequence[Test], *, limits: Limits | None = None, stop_early: bool = False
    ) -> tuple[TestResult, ...]:
        """How `program` does on each of `tests`, in order, judged where it cannot reach (see `motet.sandbox.checks`).

        `limits` hold for each test. With `stop_early`, nothing is run after the first test that did not pass.
        """
        return run_tests(self, program, tests, limits or self.limits, stop_early)

    async def arun_tests(
        self, program: str, tests: Sequence[Test], *, limits: Limits | None = None, stop_early: bool = False
    ) -> tuple[TestResult, ...]:
        """`run_tests` for an event loop."""
        work = lambda: self.run_tests(program, tests, limits=limits, stop_early=stop_early)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @contextmanager
    def cells(self, number: int, limits: Limits) -> Iterator[list[Cell]]:
        """`number` ready cells for one piece of work, which counts as one of `parallel`."""
        if limits.fork and not counts_processes(self.backend):
            raise SandboxError(
                f"a program that starts processes cannot be bounded under {self.backend} with this user's rights",
                fix="leave fork off, or use a backend with a wall as an ordinary user or with all of root's rights",
            )
        with self._pool.permits, ExitStack() as stack:
            taken = []
            for _ in range(number):
                taken.append(self._pool.take())
                stack.callback(taken[-1].close)
            yield taken

    def close(self) -> None:
        """End every cell and the keeper. The next `run` starts them again."""
        self._pool.close()
        self._threads.shutdown(wait=False)
        self._threads = ThreadPoolExecutor(self.parallel, thread_name_prefix="motet-sandbox")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Choice:
    """What `shared` serves."""

    backend: BackendName = "auto"
    limits: Limits = field(default_factory=Limits)
    parallel: int | None = None


_chosen = _Choice()
_shared: dict[_Choice, Sandbox] = {}
_shared_lock = threading.Lock()


def shared(backend: BackendName | None = None) -> Sandbox:
    """The sandbox of this process, as `configure` chose it; started at first use, ended with the process.

    With a `backend`, that of another one under the same limits; there is one for each that was asked for.
    """
    with _shared_lock:
        choice = _chosen if backend is None else replace(_chosen, backend=backend)
        if choice not in _shared:
            _shared[choice] = Sandbox(choice.limits, backend=choice.backend, parallel=choice.parallel)
        return _shared[choice]


def configure(backend: BackendName = "auto", *, limits: Limits | None = None, parallel: int | None = None) -> str:
    """Choose what `shared()` serves in this process from now on, prove that it works, and return the backend in use.

    `limits`: the bounds of a program that is given none of its own. `parallel`: programs at a time, None or 0 for one
    per processor. Work that runs already goes on under what it began with. Raises `SandboxError` where no wall can be
    built: without one, programs run only for a `backend` of `none`, said aloud. What was chosen before then stays.
    """
    global _chosen
    before = _chosen
    _chosen = _Choice(backend, limits or Limits(), parallel or None)
    try:
        return shared().backend
    except SandboxError:
        _chosen = before
        raise
