"""Runs a batch of episodes: every tree of every task, a bounded number at once, failures counted and never hidden."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from motet.engines.base import Engine
from motet.errors import MotetError, WorkflowError
from motet.policies.cast import Cast
from motet.rollout.episode import Playable, play_episode
from motet.rollout.scene import Scene
from motet.rollout.scoring import ScorePool
from motet.rollout.settings import RolloutSettings
from motet.types import Episode, Phase

T = TypeVar("T")

_log = logging.getLogger("motet.rollout")

__all__ = ["RolloutSettings", "play_batch", "run_batch"]


def run_batch(
    workflow: Playable,
    tasks: Sequence[tuple[str, Any, int]],
    cast: Cast,
    engines: Mapping[str, Engine],
    settings: RolloutSettings,
    *,
    phase: Phase,
    ticket: int,
    seed: int,
    split: str,
) -> list[Episode]:
    """The episodes of `tasks`, a list of (task set name, task, copy), in that order, branches in order.

    Under `independent` each task gives `width` episodes in training, else one. In evaluation every call draws one
    candidate. Works inside a running event loop too (a notebook): the batch then runs on a loop of its own in a thread.
    A failure names task, role and turn. It stops the batch, unless at most `max_failed_frac` of its episodes failed:
    then those come back with `error` set, without calls and without an outcome.
    """
    scene = Scene(cast, engines, settings, workflow.prompts, ScorePool(), phase, ticket, seed, split)
    return run_to_end(play_batch(scene, workflow, tasks))


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, whether or not an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=work, name="motet-rollout", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


async def play_batch(scene: Scene, workflow: Playable, tasks: Sequence[tuple[str, Any, int]]) -> list[Episode]:
    """`run_batch` for callers that are themselves async; the scene's pool is opened and closed here."""
    check_tasks(tasks)
    settings = scene.settings
    num_branches = settings.width if settings.rule == "independent" and scene.phase == "train" else 1
    jobs = [(name, task, copy, branch) for name, task, copy in tasks for branch in range(num_branches)]
    async with scene.pool:
        batch = _Batch(scene, workflow, jobs)
        workers = [asyncio.ensure_future(batch.work()) for _ in range(min(settings.max_parallel, len(jobs)))]
        try:
            if workers:
                await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
    return [episode for episode in batch.episodes if episode is not None]


def check_tasks(tasks: Sequence[tuple[str, Any, int]]) -> None:
    """Two trees of one name would draw the same numbers: refused."""
    seen: set[tuple[str, int]] = set()
    for _, task, copy in tasks:
        if (task.id, copy) in seen:
            raise WorkflowError(
                "a batch holds the same tree twice",
                where={"task": task.id, "copy": copy},
                fix="number the copies of a task",
            )
        seen.add((task.id, copy))


class _Batch:
    """Workers take the next episode until none is left; results keep their place."""

    def __init__(self, scene: Scene, workflow: Playable, jobs: Sequence[tuple[str, Any, int, int]]) -> None:
        self._scene, self._workflow, self._jobs = scene, workflow, jobs
        self._next = iter(range(len(jobs)))
        self.episodes: list[Episode | None] = [None] * len(jobs)
        self._num_failed = 0

    async def work(self) -> None:
        for index in self._next:
            name, task, copy, branch = self._jobs[index]
            try:
                run = play_episode(self._scene, self._workflow, name, task, copy, branch)
                self.episodes[index] = await asyncio.get_running_loop().create_task(run)
            except MotetError as error:
                self._count(error)
                self.episodes[index] = Episode(
                    name,
                    task.id,
                    self._scene.split,
                    self._scene.phase,
                    self._scene.ticket,
                    copy,
                    branch,
                    (),
                    None,
                    error=str(error),
                )

    def _count(self, error: MotetError) -> None:
        self._num_failed += 1
        allowed = math.floor(self._scene.settings.max_failed_frac * len(self._jobs) + 1e-9)
        if self._num_failed <= allowed:
            _log.warning("episode failed (%d of at most %d): %s", self._num_failed, allowed, error)
            return
        if allowed:
            what = f"{self._num_failed} of {len(self._jobs)} episodes failed, {allowed} may; the last: {error.what}"
            raise type(error)(what, where=error.where, fix=error.fix) from error
        raise error
