"""Python values as JSON and back, so that results can be compared where the program that made them cannot reach.

What arrives is built anew from the plain types below; no class, method or `__eq__` of the program comes along.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

_EXACT = 1 << 53
_MOST_ITEMS = 100_000


class PlainError(Exception):
    """Text that stands for no plain value."""


class Opaque:
    """What is left of a value that is not plain: whether it was true, and its looks. Equal to nothing but itself."""

    def __init__(self, kind: str, text: str, truth: bool) -> None:
        self.kind, self._text, self._truth = kind, text, truth

    def __bool__(self) -> bool:
        return self._truth

    def __repr__(self) -> str:
        return self._text


def encode(value: Any) -> Any:
    """`value` as something JSON holds. Subclasses become their plain base; an iterator becomes its items; anything else
    becomes an `Opaque`. Raises `RecursionError` for a value that holds itself and `PlainError` for an iterator of more
    than 100,000 items.

    >>> encode((1, {"a": 2.5, (3,): None}))
    {'t': [1, {'d': [['a', {'f': '0x1.4000000000000p+1'}], [{'t': [3]}, None]]}]}
    """
    if value is None or isinstance(value, (bool, str)):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, int):
        return int(value) if -_EXACT < value < _EXACT else {"i": hex(value)}
    if isinstance(value, float):
        return {"f": float(value).hex()}
    if isinstance(value, complex):
        return {"c": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {"d": [[encode(key), encode(item)] for key, item in value.items()]}
    for tag, kind in (("t", tuple), ("s", set), ("z", frozenset)):
        if isinstance(value, kind):
            return {tag: [encode(item) for item in value]}
    if isinstance(value, (Iterator, range)):
        items = list(itertools.islice(value, _MOST_ITEMS + 1))
        if len(items) > _MOST_ITEMS:
            raise PlainError(f"an iterator of more than {_MOST_ITEMS:,} items")
        return {"q": [encode(item) for item in items]}
    if isinstance(value, (bytes, bytearray)):
        return {"b": value.hex()}
    return {"o": [type(value).__name__, f"{value!r:.200}", bool(value)]}


def decode(form: Any) -> Any:
    """The value that `encode` was given, built of plain types. Raises `PlainError` for anything `encode` never writes.

    >>> value = (1, {"a": [2.5, {3}]}, b"x", 2**70, 1j, None)
    >>> decode(encode(value)) == value
    True
    >>> list(decode(encode(x * x for x in range(3))))
    [0, 1, 4]
    """
    if form is None or isinstance(form, (bool, int, str)):
        return form
    if isinstance(form, list):
        return [decode(item) for item in form]
    if isinstance(form, dict) and len(form) == 1:
        ((tag, body),) = form.items()
        if tag in _DECODERS:
            try:
                return _DECODERS[tag](body)
            except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as problem:
                raise PlainError(f"no plain value: {problem}") from None
    raise PlainError("no plain value")


def _items(body: Any) -> list[Any]:
    if not isinstance(body, list):
        raise PlainError("no plain value")
    return [decode(item) for item in body]


def _opaque(body: Any) -> Opaque:
    name, text, truth = body
    return Opaque(str(name), str(text), truth is True)


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "i": lambda body: int(body, 16),
    "f": float.fromhex,
    "c": lambda body: complex(float.fromhex(body[0]), float.fromhex(body[1])),
    "d": lambda body: {decode(key): decode(item) for key, item in body},
    "t": lambda body: tuple(_items(body)),
    "s": lambda body: set(_items(body)),
    "z": lambda body: frozenset(_items(body)),
    "q": lambda body: iter(_items(body)),
    "b": bytes.fromhex,
    "o": _opaque,
}


def same(got: Any, wanted: Any, tolerance: float = 0.0) -> bool:
    """Whether two plain values are equal; a tuple and a list of the same items are. Numbers may differ by `tolerance`,
    absolute or relative, whichever allows more.

    >>> same([1, (2, 3)], [1, [2, 3]]), same([1], [1, 2]), same(0.1 + 0.2, 0.3), same(0.1 + 0.2, 0.3, 1e-9)
    (True, False, False, True)
    """
    if isinstance(got, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(got) == len(wanted) and all(same(a, b, tolerance) for a, b in zip(got, wanted))
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same(got[key], wanted[key], tolerance) for key in got)
    if tolerance and isinstance(got, (int, float)) and isinstance(wanted, (int, float)):
        return got == wanted or abs(got - wanted) <= tolerance * max(1.0, abs(wanted))
    return bool(got == wanted)
