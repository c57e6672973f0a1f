"""Rows of data sets: from a local file (JSON lines, a JSON list, parquet; gzipped or not) or from the model hub."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from motet.errors import ConfigError, TaskError

SPLITS = ("train", "validation", "test")
HUB = "hub:"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: a file or hub id, and its line or number from 1.

    >>> str(Place("a.jsonl", 3))
    'a.jsonl:3'
    """

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}"

    def wrong(self, what: str, key: str, fix: str) -> TaskError:
        """The error for a malformed row: file, line and key."""
        return TaskError(what, where={"file": self, "key": key}, fix=fix)


class LeftOut(Exception):
    """A row that is well formed and of no use (no tests); the reason is counted."""


@dataclass(frozen=True, slots=True)
class HubId:
    """Where a set lives on the hub: `hub:owner/name`, then `:config` and `:split` where needed; or
    `hub:owner/name@file+file`, JSON-lines files of its repository.

    >>> HubId.read("hub:openai/gsm8k:main:test").split, HubId.read("hub:a/b@one.jsonl+two.jsonl").files
    ('test', ('one.jsonl', 'two.jsonl'))
    """

    name: str
    config: str = ""
    split: str = "train"
    files: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> HubId:
        head, _, files = text.removeprefix(HUB).partition("@")
        name, *rest = head.split(":")
        if not name or len(rest) > 2 or (rest and files):
            fix = "write hub:owner/name, hub:owner/name:config:split or hub:owner/name@file.jsonl"
            raise ConfigError(f"hub id is {text!r}", fix=fix)
        return cls(
            name, rest[0] if rest else "", rest[1] if len(rest) > 1 else "train", tuple(filter(None, files.split("+")))
        )

    def load(self, datasets: Any) -> Any:
        """The rows, by the library `datasets`."""
        if not self.files:
            return datasets.load_dataset(self.name, self.config or None, split=self.split)
        paths = [f"hf://datasets/{self.name}/{file}" for file in self.files]
        return datasets.load_dataset("json", data_files=paths, split="train")


def read_rows(source: str, make: str, task_set: str) -> Iterator[tuple[Place, Row]]:
    """Every row of `source` with its place. `make` is the command that makes a missing file.

    Raises `TaskError` naming the path, for a missing or empty file, text that is no JSON, or a row that is no object.
    """
    if source.startswith(HUB):
        yield from _from_hub(source, task_set)
        return
    for path in paths_of(source):
        yield from _from_file(path, make, task_set)


def paths_of(source: str) -> list[Path]:
    """The files that `source` names; a name with `*` stands for all that fit, in order of name."""
    path = Path(source)
    if "*" not in path.name:
        return [path]
    return sorted(path.parent.glob(path.name)) or [path]


def _from_file(path: Path, make: str, task_set: str) -> Iterator[tuple[Place, Row]]:
    where: dict[str, object] = {"task_set": task_set}
    how = f"run: {make}" if make else "write one JSON object per line to it"
    if not path.is_file():
        raise TaskError(f"no data file {path}", where=where, fix=how)
    num = 0
    for place, row in _from_parquet(path) if path.suffix == ".parquet" else _from_json(path):
        if not isinstance(row, dict):
            raise TaskError(f"row is a {type(row).__name__}", where={"file": place}, fix="make each row a JSON object")
        num += 1
        yield place, row
    if not num:
        raise TaskError(f"data file {path} is empty", where=where, fix=how)


def _from_json(path: Path) -> Iterator[tuple[Place, Any]]:
    opening = gzip.open if path.suffix == ".gz" else open
    with opening(path, "rt", encoding="utf-8") as file:
        if path.name.removesuffix(".gz").endswith(".json"):
            yield from _from_list(path, _next(file.read, Place(str(path), 1)))
            return
        line = 0
        while text := _next(file.readline, Place(str(path), line := line + 1)):
            if text.strip():
                yield Place(str(path), line), _json(text, Place(str(path), line))


def _next(read: Callable[[], str], place: Place) -> str:
    try:
        return read()
    except (UnicodeDecodeError, EOFError, OSError, zlib.error) as error:  # no UTF-8; a gzip file that is cut or none
        raise TaskError(f"cannot read the file: {error}", where={"file": place}, fix="fetch it again") from error


def _from_list(path: Path, text: str) -> Iterator[tuple[Place, Any]]:
    found = _json(text, Place(str(path), 1)) if text.strip() else []
    if not isinstance(found, list):
        raise TaskError(f"{path} holds a {type(found).__name__}", fix="make it a JSON list of objects, or .jsonl")
    for number, row in enumerate(found, start=1):
        yield Place(str(path), number), row


def _json(text: str, place: Place) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError alone: a whole number of thousands of digits
        raise TaskError(f"no JSON: {error}", where={"file": place}, fix="write one JSON object per line") from error


def _from_parquet(path: Path) -> Iterator[tuple[Place, Any]]:
    parquet = extra("pyarrow.parquet", "pyarrow", "hub")
    line = 0
    for batch in parquet.ParquetFile(path).iter_batches(1_000):
        for row in batch.to_pylist():
            line += 1
            yield Place(str(path), line), row


def _from_hub(source: str, task_set: str) -> Iterator[tuple[Place, Row]]:
    datasets = extra("datasets", "datasets", "hub")
    try:
        rows = HubId.read(source).load(datasets)
    except (OSError, ValueError, RuntimeError) as error:  # the kinds that a missing net, id, config or split takes
        fix = "check the id and the net, or give a file"
        raise TaskError(f"cannot load {source}: {error}", where={"task_set": task_set}, fix=fix) from error
    for line, row in enumerate(rows, start=1):
        yield Place(source, line), dict(row)


def extra(module: str, package: str, name: str) -> Any:
    """The module of an optional package; a `ConfigError` that says how to install it where it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{package} is not installed ({error})", fix=f'pip install "motet[{name}]"') from error


def text_of(row: Row, keys: Sequence[str], place: Place) -> str:
    """The first of `keys` that the row has, which must be a text that is not blank.

    >>> text_of({"problem": "2 + 2?"}, ["question", "problem"], Place("a.jsonl", 1))
    '2 + 2?'
    """
    key = next((key for key in keys if row.get(key) is not None), None)
    if key is None:
        raise place.wrong(
            "the row lacks its text", " or ".join(keys), f"it has {', '.join(map(str, row)) or 'nothing'}"
        )
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise place.wrong(f"{key!r} is {_shown(value)}", key, "make it a text that is not blank")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


UNREADABLE = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, MemoryError)
"""What a reader raises on a row of another shape than the one it knows, where it does not name the key itself."""
UNFIT = "the row is not of the shape of its set"


class RowTasks:
    """A task set out of rows: one source per split, one function that makes a task of a row.

    `sources` maps a split to a path or a hub id. `validation_rows` moves that many tasks of `train` to `validation`,
    chosen by a hash of their ids. A row that came before in the same split is left out (`same` gives what two rows must
    share for that: the question), and so is one that the function gives up with `LeftOut`; `left_out` counts both. The
    same question in two splits is a `TaskError`, unless `drop_overlap` takes it out of the one that is named first in
    train, validation, test.
    """

    def __init__(
        self,
        name: str,
        sources: dict[str, str],
        read: Callable[[Row, Place], Any],
        *,
        make: str = "",
        validation_rows: int = 0,
        drop_overlap: bool = False,
        same: Callable[[Any], Hashable] = lambda task: task.question,
    ) -> None:
        self.name, self.make, self._sources, self._read, self._same = name, make, sources, read, same
        self._validation_rows, self._drop_overlap = validation_rows, drop_overlap
        self.left_out: dict[str, int] = {}
        where: dict[str, object] = {"task_set": name}
        if validation_rows and ("train" not in sources or "validation" in sources):
            fix = "give a source for train and none for validation, or set it to 0"
            raise ConfigError(f"'validation_rows' is {validation_rows}", where=where, fix=fix)
        self.splits = tuple(s for s in SPLITS if s in sources or (s == "validation" and validation_rows))
        if not self.splits:
            raise ConfigError("no split has a source", where=where, fix="set train, validation or test to a file")
        for split, source in sources.items():
            for path in [] if source.startswith(HUB) else paths_of(source):
                if not path.is_file():
                    how = f"run: {make}" if make else f"put the file there, or set {split} to hub"
                    raise TaskError(f"no data file {path}", where=where, fix=how)
        self._rows: dict[str, tuple[Any, ...]] | None = None

    def size(self, split: str) -> int | None:
        return len(self._of(split))

    def task(self, split: str, index: int) -> Any:
        rows = self._of(split)
        if not 0 <= index < len(rows):
            where: dict[str, object] = {"task_set": self.name, "split": split}
            raise TaskError(f"no task {index}", where=where, fix=f"use an index below {len(rows)}")
        return rows[index]

    def _of(self, split: str) -> tuple[Any, ...]:
        if split not in self.splits:
            known = ", ".join(self.splits)
            raise TaskError(f"no split {split!r}", where={"task_set": self.name}, fix=f"use one of {known}")
        if self._rows is None:
            self._rows = self._load()
        return self._rows[split]

    def _load(self) -> dict[str, tuple[Any, ...]]:
        """All splits at once, so that a question in two of them is found before anything is trained."""
        self.left_out.clear()
        home: dict[str, tuple[str, Place]] = {}
        seen: set[tuple[str, Hashable]] = set()
        rows: dict[str, list[Any]] = {}
        for split in reversed([split for split in SPLITS if split in self._sources]):
            rows[split] = []
            for place, row in read_rows(self._sources[split], self.make, self.name):
                try:
                    task = self._read(row, place)
                except LeftOut as reason:
                    self._count(str(reason))
                    continue
                except UNREADABLE as error:
                    raise TaskError(
                        f"{UNFIT}: {error!r:.200}", where={"file": place}, fix="see docs/tasks.md"
                    ) from error
                first, same = home.setdefault(task.question, (split, place)), (split, self._same(task))
                if first[0] != split and not self._drop_overlap:
                    fix = f"see {first[1]}, or set drop_overlap to true"
                    raise TaskError(
                        f"a question of {first[0]} stands in {split} as well", where={"file": place}, fix=fix
                    )
                if first[0] != split or same in seen:
                    self._count("question seen before" if first[0] == split else f"question in {first[0]}")
                    continue
                seen.add(same)
                rows[split].append(task)
        if self._validation_rows:
            rows["train"], rows["validation"] = self._parted(rows["train"])
        for split, found in rows.items():
            if not found:
                raise TaskError(f"no task is left in {split!r}", where={"task_set": self.name, **self.left_out})
        return {split: _unique(found) for split, found in rows.items()}

    def _count(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def _parted(self, tasks: list[Any]) -> tuple[list[Any], list[Any]]:
        ranked = sorted(tasks, key=lambda task: hashlib.blake2b(task.id.encode(), digest_size=8).digest())
        chosen = {task.question for task in ranked[: self._validation_rows]}
        return [t for t in tasks if t.question not in chosen], [t for t in tasks if t.question in chosen]


def _unique(tasks: list[Any]) -> tuple[Any, ...]:
    """Ids that occur twice get a number behind, so that an id names one task."""
    seen: dict[str, int] = {}
    out = []
    for task in tasks:
        count = seen[task.id] = seen.get(task.id, 0) + 1
        out.append(task if count == 1 else replace(task, id=f"{task.id}#{count}"))
    return tuple(out)
