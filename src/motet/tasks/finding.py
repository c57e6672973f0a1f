"""Finds task sets and workflows by name: a built-in one, an import path, or an entry point. Refuses what it does not
know.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

from motet.errors import ConfigError


def near(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown name: the nearest known one, or all of them.

    >>> near("plan_pth", ["plan_path", "jsonl"])
    "did you mean 'plan_path'?"
    >>> near("x", ["plan_path", "jsonl"])
    'known: jsonl, plan_path'
    """
    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else f"known: {', '.join(sorted(known)) or 'none'}"


def refuse_unknown(given: Iterable[str], known: Collection[str], where: Mapping[str, object]) -> None:
    """Raise `ConfigError` for the first name in `given` that is not in `known`.

    >>> refuse_unknown({"size": 3}, ["size"], {})
    """
    for name in given:
        if name not in known:
            raise ConfigError(f"unknown setting {name!r}", where=dict(where), fix=near(name, known))


def refuse_wrong_type(name: str, value: Any, default: Any, where: Mapping[str, object]) -> None:
    """Raise `ConfigError` where `value` is of another kind than the default: text for a number, a fraction for a count.

    >>> refuse_wrong_type("walls", 0, 0.22, {})
    >>> refuse_wrong_type("size", "ten", 10, {})
    Traceback (most recent call last):
    motet.errors.ConfigError: size is 'ten'. To fix it: set size to a whole number, such as 10
    """
    kinds: dict[type, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    kind = type(default)
    if kind in kinds and (not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind is not bool)):
        fix = f"set {name} to {words[kind]}, such as {default!r}"
        raise ConfigError(f"{name} is {value!r}", where=dict(where), fix=fix)


def find(kind: str, name: str, builtin: Mapping[str, str], group: str) -> Any:
    """The class called `name`: a key of `builtin` (short name -> import path), an entry point of `group`, or
    `package.module:Class`.

    Raises `ConfigError` with the nearest known name, or with what went wrong on import.

    >>> find("task set", "plan_path", {"plan_path": "motet.tasks.plan_path:PlanPath"}, "motet.tasks").__name__
    'PlanPath'
    """
    if ":" in name:
        return _load(kind, name)
    if name in builtin:
        return _load(kind, builtin[name])
    plugged = {point.name: point for point in entry_points(group=group)}
    if name in plugged:
        return _load(kind, plugged[name].value)
    raise ConfigError(f"no {kind} called {name!r}", fix=near(name, [*builtin, *plugged]))


def _load(kind: str, path: str) -> Any:
    module_name, _, attribute = path.partition(":")
    where: dict[str, object] = {kind.replace(" ", "_"): path}
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"cannot import {module_name!r}: {error}", where=where, fix="check the path and sys.path"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{module_name!r} raised {type(error).__name__} on import: {error}",
            where=where,
            fix="import it alone first",
        ) from error
    if not hasattr(module, attribute):
        raise ConfigError(f"{module_name} has no {attribute!r}", where=where, fix=near(attribute, vars(module)))
    return getattr(module, attribute)
