"""Questions and answers from local files: one JSON object per line, one file per split."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from motet.errors import TaskError

SPLITS = ("train", "validation", "test")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


@dataclass(frozen=True, slots=True)
class Question:
    """One row. `check` compares the last line of an answer, or what follows its last `####`, with the right one.
    `words` is the question in the words of the tiny models, "" where there are none.

    >>> Question("q", "2 + 2?", "4").check("Two and two: #### 4.0"), Question("q", "Capital?", "Rome").check("rome.")
    (1.0, 1.0)
    """

    id: str
    question: str
    answer: str
    words: str = ""

    def check(self, text: str) -> float:
        """1 for the right answer, else 0; numbers are compared as numbers, text without case and final full stop."""
        last = _last_line(text)
        return float(bool(last) and _plain(last) == _plain(self.answer))

    def answer_in(self, text: str) -> str | None:
        """What `check` compares: a number in its shortest form, or text without case and final full stop."""
        found = _plain(_last_line(text))
        return f"{found:.15g}" if isinstance(found, float) else found or None

    def form(self, text: str) -> float:
        """1 where `text` has a line that begins with `####`, as the default form asks, else 0."""
        return float(any(line.strip().startswith("####") for line in text.splitlines()))


def _last_line(text: str) -> str:
    lines = text.rpartition("####")[2].strip().splitlines()
    return lines[-1] if lines else ""


def _plain(text: str) -> str | float:
    bare = text.strip().rstrip(".").strip()
    try:
        value = float(_THOUSANDS.sub("", bare))
    except ValueError:
        return bare.casefold()
    return value if math.isfinite(value) and "_" not in bare else bare.casefold()


class JsonlTasks:
    """Task set `jsonl`: `folder/train.jsonl`, `folder/validation.jsonl`, `folder/test.jsonl`, whichever exist.

    Each line is an object with the texts `id`, `question`, `answer` and, if wanted, `words`. Nothing is downloaded and
    nothing stands in for a file that is missing. `make` is the command that makes the files; an error repeats it.

    Raises `TaskError`, naming path and line, for a missing or empty file, a malformed row, an id twice, or a question
    in two splits.
    """

    def __init__(self, folder: str, make: str = "", name: str = "jsonl") -> None:
        self.folder, self.make, self.name = Path(folder), make, name
        self.splits = tuple(split for split in SPLITS if self._path(split).exists())
        if not self.splits:
            raise self._missing("train")

    def size(self, split: str) -> int | None:
        return len(self._rows_of(split))

    def task(self, split: str, index: int) -> Question:
        rows = self._rows_of(split)
        if not 0 <= index < len(rows):
            where: dict[str, object] = {"task_set": self.name, "split": split}
            raise TaskError(f"no task {index}", where=where, fix=f"use an index below {len(rows)}")
        return rows[index]

    def _path(self, split: str) -> Path:
        return self.folder / f"{split}.jsonl"

    def _missing(self, split: str) -> TaskError:
        how = f"run: {self.make}" if self.make else "write one JSON object per line with id, question and answer to it"
        return TaskError(f"no data file {self._path(split)}", where={"task_set": self.name}, fix=how)

    def _rows_of(self, split: str) -> tuple[Question, ...]:
        if split not in self._rows:
            raise self._missing(split)
        return self._rows[split]

    @cached_property
    def _rows(self) -> dict[str, tuple[Question, ...]]:
        """All splits at once, so that a question in two of them is found before anything is trained."""
        rows: dict[str, tuple[Question, ...]] = {}
        seen: dict[str, str] = {}
        for split in self.splits:
            path, found = self._path(split), []
            for line, row in _read(path):
                for what in (f"id {row.id!r}", f"question {row.question!r}"):
                    if what in seen and (what.startswith("id") or not seen[what].startswith(f"{path}:")):
                        raise TaskError(
                            f"{what} occurs twice", where={"file": f"{path}:{line}"}, fix=f"see {seen[what]}"
                        )
                    seen.setdefault(what, f"{path}:{line}")
                found.append(row)
            if not found:
                how = f"run: {self.make}" if self.make else "put one JSON object per line in it"
                raise TaskError(f"data file {path} is empty", where={"task_set": self.name}, fix=how)
            rows[split] = tuple(found)
        return rows


def _read(path: Path) -> Iterator[tuple[int, Question]]:
    """(line number from 1, row) of every line that is not blank."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # a text may hold other ends of lines
    except UnicodeDecodeError as error:
        raise TaskError(f"no UTF-8: {error}", where={"file": path}, fix="save it as UTF-8") from error
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        where: dict[str, object] = {"file": f"{path}:{line}"}
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:  # ValueError alone: a whole number of thousands of digits
            raise TaskError(f"no JSON: {error}", where=where, fix="write one JSON object per line") from error
        if not isinstance(row, dict):
            raise TaskError(f"row is a {type(row).__name__}", where=where, fix="write one JSON object per line")
        for key in ("id", "question", "answer"):
            if not isinstance(row.get(key), str):
                raise TaskError(
                    f"{key!r} is {row.get(key)!r}", where=where, fix="id, question and answer must be texts"
                )
        words = row.get("words", "")
        if not isinstance(words, str):
            raise TaskError(f"'words' is {words!r}", where=where, fix="make it a text, or leave it out")
        yield line, Question(row["id"], row["question"], row["answer"], words)
