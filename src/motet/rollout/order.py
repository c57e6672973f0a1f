"""The place of a call in its episode, independent of which answer arrives first.

A place is (count), or (count, branch, count ...) with one (count, branch) per enclosing `gather`: the third thing a
workflow does has place (3); the first call of the second part of a gather that it does next, (4, 1, 1).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

from motet.errors import WorkflowError

Order = tuple[int, ...]
T = TypeVar("T")


@dataclass(slots=True)
class _Scope:
    """Where a coroutine stands in its episode: its own count, behind one (count, branch) per enclosing `gather`."""

    prefix: Order
    owner: asyncio.Task[Any] | None = None
    count: int = 0

    def next(self) -> Order:
        if self.owner is not asyncio.current_task():
            raise WorkflowError(
                "the workflow acts from a task that it started by itself, so the order of its calls would be chance",
                fix="use cast.gather(...) in place of asyncio.gather, create_task or a TaskGroup; await calls directly",
            )
        self.count += 1
        return (*self.prefix, self.count)


_scope: contextvars.ContextVar[_Scope] = contextvars.ContextVar("motet_scope")


def begin_scope() -> None:
    """Starts the order of an episode in this task."""
    _scope.set(_Scope((), asyncio.current_task()))


def next_order() -> Order:
    """The place of what this coroutine does next."""
    return _scope.get().next()


async def gather(*parts: Awaitable[T]) -> list[T]:
    """Runs the parts side by side; the results come in the order given. The first error cancels the others and is
    raised after they ended; of several errors, the one of the first part.
    """
    order = next_order()
    tasks = []
    for branch, part in enumerate(parts):
        context = contextvars.copy_context()
        scope = _Scope((*order, branch))
        context.run(_scope.set, scope)
        scope.owner = asyncio.get_running_loop().create_task(_awaited(part), context=context)
        tasks.append(scope.owner)
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        pending = [task for task in tasks if not task.done()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)
    errors = [error for task in tasks if not task.cancelled() and (error := task.exception()) is not None]
    if errors:
        raise errors[0]
    return [task.result() for task in tasks]


async def _awaited(part: Awaitable[T]) -> T:
    return await part
