"""Runs the scores of a batch off the event loop, all candidates of a call in one hop, under a time limit.

Jobs that become ready in the same turn of the event loop travel together and come back together, so that the calls
behind them reach the engine together and it can sample them as one batch. A job that takes long holds nobody up: what
is done is handed back every quarter of a second, and more threads join when one does not get through.

Threads cannot be stopped. A score that does not return in time is named and left behind in a daemon thread; its late
result is ignored and it keeps neither the run nor the interpreter from ending.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST_TICK_S = 0.02
"""A batch that is not done by then gets more threads."""
TICK_S = 0.05
"""How often late scores are looked for."""
DELIVER_S = 0.25
"""How often results of an unfinished batch are handed back; shorter would split the engine's batches."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a function raised for one argument, or that it did not return in time (`error` is a TimeoutError)."""

    index: int
    error: BaseException


def attempt(function: Callable[..., Any], argument: tuple[Any, ...], index: int) -> Any:
    """function(*argument), or the `Failure` that it raised.

    >>> attempt(int, ("7",), 0), type(attempt(int, ("x",), 0)).__name__
    (7, 'Failure')
    """
    try:
        return function(*argument)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - handed to the caller, which names the call and raises it
        return Failure(index, error)


class LateScore(Exception):
    """A score did not return in time: which one (`what`, candidate `index`)."""

    def __init__(self, what: str, index: int, limit_s: float) -> None:
        super().__init__(f"no result within {limit_s:g} s")
        self.what, self.index = what, index


@dataclass(slots=True, eq=False)
class Job:
    """One function over the candidates of one call. `values` holds a result or a `Failure` each."""

    work: Callable[[Job], list[Any]]
    future: asyncio.Future[list[Any]]
    limit_s: float
    what: str = "score"
    index: int = 0
    started: float | None = None
    abandoned: bool = False

    def apply(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """function(*argument) or its `Failure` for each argument; awaitables run together on a loop of this thread."""
        values: list[Any] = []
        for self.index, argument in enumerate(arguments):
            self.started = time.monotonic()
            values.append(attempt(function, argument, self.index))
        if any(inspect.isawaitable(value) for value in values):
            self.started = time.monotonic()
            values = asyncio.run(_resolve(values, self.limit_s))
        return values


async def _resolve(values: list[Any], limit_s: float) -> list[Any]:
    async def one(index: int, value: Any) -> Any:
        if not inspect.isawaitable(value):
            return value
        try:
            return await asyncio.wait_for(_awaited(value), limit_s)
        except Exception as error:  # noqa: BLE001 - handed to the caller, which names the call and raises it
            return Failure(index, error)

    return list(await asyncio.gather(*(one(index, value) for index, value in enumerate(values))))


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


@dataclass(slots=True, eq=False)
class _Batch:
    """Jobs that travel together."""

    waiting: deque[Job]
    running: set[Job] = field(default_factory=set)
    done: deque[tuple[Job, list[Any] | Failure]] = field(default_factory=deque)
    left: int = 0
    delivered: float = field(default_factory=time.monotonic)


class ScorePool:
    """Threads for one event loop. `async with ScorePool() as pool: values = await pool.run(work, limit_s)`."""

    def __init__(self, max_threads: int | None = None) -> None:
        self._max_threads = max_threads or min(32, 4 + (os.cpu_count() or 1))
        self._inbox: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ready: list[Job] = []
        self._num_threads = 0
        self._num_idle = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> ScorePool:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for _ in range(self._num_threads):
            self._inbox.put(None)

    async def run(self, work: Callable[[Job], list[Any]], limit_s: float) -> list[Any]:
        """The values of `work(job)`, computed in a thread. Raises `LateScore` after `limit_s` for one argument."""
        assert self._loop is not None
        job = Job(work, self._loop.create_future(), limit_s)
        if not self._ready:
            self._loop.call_soon(self._dispatch)
        self._ready.append(job)
        return await job.future

    def _dispatch(self) -> None:
        assert self._loop is not None
        batch = _Batch(deque(self._ready), left=len(self._ready))
        self._ready = []
        self._hand_out(batch)
        self._loop.call_later(FIRST_TICK_S, self._tick, batch)

    def _hand_out(self, batch: _Batch) -> None:
        with self._lock:
            spawn = self._num_idle == 0 and self._num_threads < self._max_threads
            self._num_threads += spawn
        self._inbox.put(batch)
        if spawn:
            threading.Thread(target=self._serve, name="motet-score", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._num_idle += 1
            batch = self._inbox.get()
            with self._lock:
                self._num_idle -= 1
            if batch is None or not self._work_through(batch):
                return

    def _work_through(self, batch: _Batch) -> bool:
        """Runs jobs of the batch until none waits. False when this thread was given up for lost meanwhile."""
        while True:
            with self._lock:
                if not batch.waiting:
                    return True
                job = batch.waiting.popleft()
                batch.running.add(job)
            values = [] if job.future.cancelled() else attempt(job.work, (job,), 0)
            with self._lock:
                batch.running.discard(job)
                if job.abandoned:
                    return False
                batch.done.append((job, values))
                batch.left -= 1
                last = batch.left == 0
            if last:
                self._call_loop(self._deliver, batch)

    def _call_loop(self, function: Callable[..., Any], batch: _Batch) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(function, batch)
        except RuntimeError:
            if not self._loop.is_closed():
                raise

    def _deliver(self, batch: _Batch) -> None:
        while batch.done:
            job, values = batch.done.popleft()
            if job.future.done():
                continue
            if isinstance(values, Failure):
                job.future.set_exception(values.error)
            else:
                job.future.set_result(values)

    def _tick(self, batch: _Batch) -> None:
        """On the event loop: hands back what is done, gives up what is late, lets more threads join."""
        assert self._loop is not None
        now = time.monotonic()
        if now - batch.delivered >= DELIVER_S or not batch.left:
            batch.delivered = now
            self._deliver(batch)
        with self._lock:
            late = [
                job for job in batch.running if job.started is not None and now - job.started > job.limit_s + TICK_S
            ]
            for job in late:
                job.abandoned = True
                batch.running.discard(job)
                batch.left -= 1
                self._num_threads -= 1
            waiting, left = len(batch.waiting), batch.left
        for job in late:
            if not job.future.done():
                job.future.set_exception(LateScore(job.what, job.index, job.limit_s))
        for _ in range(min(waiting, self._max_threads)):
            self._hand_out(batch)
        if left or batch.done:
            self._loop.call_later(TICK_S, self._tick, batch)
