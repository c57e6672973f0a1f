"""YAML with line marks, and `key=value` overrides: plain values beside the place each of them came from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from motet.errors import ConfigError

Path = tuple[str | int, ...]

MAX_DEPTH = 40
"""Levels of a recipe; YAML can refer to itself and would have no end."""


class _Loader(yaml.SafeLoader):
    """The safe loader, with `3e-4` read as a number (YAML 1.1 would read a string)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d[\d_]*)(?:\.\d*)?[eE][-+]?\d+$"),
    list("-+0123456789"),
)


@dataclass
class Marked:
    """A tree of plain values and, for each path in it, where it was written.

    >>> marked = parse_yaml("credit:\\n  alpha: 0.7", source="mine.yaml")
    >>> marked.data, marked.place(("credit", "alpha"))
    ({'credit': {'alpha': 0.7}}, 'mine.yaml line 2')
    """

    data: dict[str, Any]
    marks: dict[Path, str] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        """The place of `path`, or of the nearest enclosing key that has one."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.marks:
                return self.marks[path[:length]]
        return "defaults"


def parse_yaml(text: str, source: str) -> Marked:
    """Read one YAML mapping. Refuses what is no YAML, no mapping, or names a key twice, with its line.

    >>> parse_yaml("a: 1\\na: 2", source="r.yaml")
    Traceback (most recent call last):
    motet.errors.ConfigError: key 'a' is given twice [line=r.yaml line 2]. To fix it: keep one of them
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source} line {mark.line + 1}" if mark else source
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigError(f"this is not valid YAML: {problem}", where={"line": place}) from error
    if node is None:
        return Marked({})
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError("a recipe is a mapping of keys to values", where={"line": f"{source} line 1"})
    marks: dict[Path, str] = {}
    return Marked(_build(loader, node, (), source, marks), marks)


def _plain(loader: _Loader, node: yaml.Node, source: str) -> Any:
    """The value of a scalar. Tags of other languages and dates that do not exist are refused with their line."""
    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        place = f"{source} line {node.start_mark.line + 1}"
        raise ConfigError(
            f"this is no value: {problem}", where={"line": place}, fix="quote it to make it text"
        ) from error


def _build(loader: _Loader, node: yaml.Node, path: Path, source: str, marks: dict[Path, str]) -> Any:
    if len(path) > MAX_DEPTH:
        place = f"{source} line {node.start_mark.line + 1}"
        raise ConfigError(f"more than {MAX_DEPTH} levels", where={"line": place}, fix="take out what refers to itself")
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(_plain(loader, key_node, source))
            place = f"{source} line {key_node.start_mark.line + 1}"
            if key in mapping:
                raise ConfigError(f"key '{key}' is given twice", where={"line": place}, fix="keep one of them")
            marks[(*path, key)] = place
            mapping[key] = _build(loader, value_node, (*path, key), source, marks)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        items = []
        for index, item in enumerate(node.value):
            marks[(*path, index)] = f"{source} line {item.start_mark.line + 1}"
            items.append(_build(loader, item, (*path, index), source, marks))
        return items
    return _plain(loader, node, source)


def apply_overrides(marked: Marked, overrides: Iterable[str]) -> None:
    """Write `dotted.key=value` items into `marked`, in order; values are YAML, a number in the key is a list index.

    >>> marked = parse_yaml("tasks:\\n- name: a", source="r.yaml")
    >>> apply_overrides(marked, ["tasks.0.weight=2", "update.lr=3e-4"]); marked.data
    {'tasks': [{'name': 'a', 'weight': 2}], 'update': {'lr': 0.0003}}
    """
    for override in overrides:
        key, equals, text = override.partition("=")
        path: Path = tuple(int(part) if part.isdigit() else part for part in key.strip().split("."))
        if not equals or not all(str(part) for part in path):
            raise ConfigError(f"override '{override}' is not key=value", fix="write for instance update.lr=3e-4")
        try:
            node = _Loader(text).get_single_node()
        except yaml.YAMLError as error:
            raise ConfigError(f"the value of '{override}' is not valid YAML", fix="quote it") from error
        value = None if node is None else _build(_Loader(""), node, (), f"command line '{override}'", {})
        _write(marked, path, value, override)


def _write(marked: Marked, path: Path, value: Any, override: str) -> None:
    at: Any = marked.data
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(at, list):
            if not isinstance(part, int) or part >= len(at):
                raise ConfigError(
                    f"override '{override}' names no item of a list of {len(at)}",
                    where={"key": ".".join(map(str, path[:depth]))},
                    fix="count from 0",
                )
        elif isinstance(at, dict):
            part = str(part)
        else:
            raise ConfigError(
                f"override '{override}' goes below a plain value", where={"key": ".".join(map(str, path[:depth]))}
            )
        if last:
            at[part] = value
        else:
            if isinstance(at, dict) and not isinstance(at.get(part), (dict, list)):
                if at.get(part) is not None and not isinstance(at.get(part), str):
                    raise ConfigError(f"override '{override}' goes below a plain value", where={"key": str(part)})
                at[part] = {}
            at = at[part]
    for old in [mark for mark in marked.marks if mark[: len(path)] == path]:
        del marked.marks[old]
    marked.marks[path] = f"command line '{override}'"
