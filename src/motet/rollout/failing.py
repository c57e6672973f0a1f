"""Gives a failure its place: task, role, turn."""

from __future__ import annotations

from collections.abc import Mapping

from motet.errors import MotetError, WorkflowError
from motet.types import CallKey


def call_place(key: CallKey) -> dict[str, object]:
    """The `where` of a call.

    >>> call_place(CallKey("planner", turn=2))
    {'role': 'planner', 'slot': 0, 'turn': 2}
    """
    place: dict[str, object] = {"role": key.role, "slot": key.slot, "turn": key.turn}
    return place | {"visit": key.visit} if key.visit else place


def placed(error: BaseException, where: Mapping[str, object], what: str = "") -> MotetError:
    """The same failure with its place. A `MotetError` keeps its class and what it said; others become `WorkflowError`.
    Of a group the first counts.

    >>> str(placed(TypeError("no len()"), {"task": "t-1"}))
    'TypeError: no len() [task=t-1]'
    """
    error = first_of(error)
    if isinstance(error, MotetError):
        named = type(error)(error.what, where={**where, **error.where}, fix=error.fix)
    else:
        named = WorkflowError(f"{what}{type(error).__name__}: {error}", where=dict(where))
    named.__cause__ = error
    return named


def first_of(error: BaseException) -> BaseException:
    """The error itself, or the first one inside an `ExceptionGroup`, however deep.

    >>> first_of(ExceptionGroup("two", [ValueError("a"), KeyError("b")]))
    ValueError('a')
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
