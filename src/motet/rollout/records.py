"""Episodes on disk: `episodes.jsonl.gz`, one JSON line each, behind a first line that names the schema.

The same episodes give the same bytes (no time stamps). Each append is a gzip member of its own, so a run that is killed
loses at most the iteration it was writing.
"""

from __future__ import annotations

import dataclasses
import enum
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from motet.errors import CheckpointError
from motet.types import SCHEMA, Call, CallKey, Candidate, Episode, Outcome, Reward

KIND = "motet.episodes"
_LEVEL = 3


def write_episodes(path: Path | str, episodes: Sequence[Episode], *, append: bool = False) -> None:
    """Writes episodes; with `append` behind those that are there (a file that is not there is begun).

    Notes and effects are stored as JSON: dataclasses as maps, tuples and sets as lists, enums by value, anything else
    as {"repr": ...}. Raises `CheckpointError` when the file exists and `append` is not set, or has another schema.
    """
    path = Path(path)
    lines = [_encoded(episode) for episode in episodes]
    if path.exists():
        if not append:
            raise CheckpointError("the file exists", where={"path": path}, fix="append to it or take another name")
        _check_header(_first_line(path), path)
    else:
        lines.insert(0, json.dumps({"schema": SCHEMA, "kind": KIND}))
    member = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=member, mode="wb", compresslevel=_LEVEL, mtime=0) as out:
        out.write("".join(line + "\n" for line in lines).encode())
    with path.open("ab") as file:
        file.write(member.getvalue())


def read_episodes(path: Path | str) -> list[Episode]:
    """All episodes of a file, in order. Numbers come back bit-equal; notes come back as JSON values.

    Raises `CheckpointError` naming the first line that is missing or broken; `repair_episodes` cuts the file there.
    """
    path = Path(path)
    lines, is_whole = _read_lines(path)
    episodes: list[Episode] = []
    for number, line in enumerate(lines, start=1):
        if number == 1:
            _check_header(line, path)
            continue
        try:
            episodes.append(decode_episode(line))
        except (ValueError, KeyError, TypeError) as error:
            raise _broken(path, number) from error
    if not is_whole or not lines:
        raise _broken(path, len(lines) + 1)
    return episodes


def repair_episodes(path: Path | str) -> int:
    """Keeps what can be read, drops the rest, and returns the number of episodes kept. Leaves a whole file as it is."""
    path = Path(path)
    lines, is_whole = _read_lines(path)
    if not lines:
        raise CheckpointError("nothing can be read", where={"path": path}, fix="delete the file")
    _check_header(lines[0], path)
    kept: list[Episode] = []
    for line in lines[1:]:
        try:
            kept.append(decode_episode(line))
        except (ValueError, KeyError, TypeError):
            is_whole = False
            break
    if not is_whole:
        new = path.with_name(path.name + ".repaired")
        new.unlink(missing_ok=True)
        write_episodes(new, kept)
        new.replace(path)
    return len(kept)


def _encoded(episode: Episode) -> str:
    try:
        return encode_episode(episode)
    except (ValueError, TypeError, RecursionError) as error:
        raise CheckpointError(
            f"an episode cannot be written: {type(error).__name__}: {error}",
            where={"task_set": episode.task_set, "task": episode.task_id},
            fix="keep notes, effects and metrics to JSON: text, finite numbers, lists, maps",
        ) from error


def encode_episode(episode: Episode) -> str:
    """One line of JSON. A number that is not finite, outside notes, is a ValueError."""
    values = _shallow(episode)
    values["calls"] = [_call_json(call) for call in episode.calls]
    values["outcome"] = None if episode.outcome is None else to_json(episode.outcome)
    values["effects"] = to_json(episode.effects)
    return json.dumps(values, separators=(",", ":"), allow_nan=False)


def decode_episode(line: str) -> Episode:
    """The episode of a line. Raises ValueError, KeyError or TypeError for anything else."""
    values = json.loads(line)
    values["calls"] = tuple(_call(call) for call in values["calls"])
    values["outcome"] = Outcome(**values["outcome"]) if values["outcome"] is not None else None
    return Episode(**values)


def to_json(value: Any) -> Any:
    """A value as JSON: dataclasses as maps, tuples and sets as lists, enums by value, the unknown as {"repr": text}.

    >>> to_json({"at": (1, 2), "seen": {3}})
    {'at': [1, 2], 'seen': [3]}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return value if value - value == 0.0 else {"repr": repr(value)}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): to_json(one) for key, one in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if isinstance(value, (set, frozenset)):
        return sorted((to_json(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    return {"repr": repr(value)}


def _shallow(record: Any) -> dict[str, Any]:
    """Field -> value, not looking into values: token ids and log-probs are JSON already, and there are many."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _call_json(call: Call) -> dict[str, Any]:
    values = _shallow(call)
    values["key"] = _shallow(call.key)
    values["candidates"] = [_candidate_json(candidate) for candidate in call.candidates]
    return values


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    values = _shallow(candidate)
    if candidate.reward is not None:
        reward = _shallow(candidate.reward)
        reward["notes"], reward["parts"] = to_json(candidate.reward.notes), to_json(candidate.reward.parts)
        values["reward"] = reward
    return values


def _call(values: dict[str, Any]) -> Call:
    values["key"] = CallKey(**values["key"])
    values["prompt_ids"] = tuple(values["prompt_ids"])
    values["candidates"] = tuple(_candidate(candidate) for candidate in values["candidates"])
    return Call(**values)


def _candidate(values: dict[str, Any]) -> Candidate:
    values["token_ids"] = tuple(values["token_ids"])
    values["sampling_logprobs"] = tuple(values["sampling_logprobs"])
    values["reward"] = Reward(**values["reward"]) if values["reward"] is not None else None
    return Candidate(**values)


def _pieces(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        while piece := file.read1(1 << 20):
            yield piece


def _read_lines(path: Path) -> tuple[list[str], bool]:
    """The whole lines that can be read, and whether that is all of the file."""
    if not path.exists():
        raise CheckpointError("there is no such file", where={"path": path})
    data = bytearray()
    is_whole = True
    try:
        for piece in _pieces(path):
            data += piece
    except (EOFError, zlib.error, gzip.BadGzipFile):
        is_whole = False
    *lines, rest = bytes(data).split(b"\n")
    return [line.decode(errors="replace") for line in lines], is_whole and not rest


def _first_line(path: Path) -> str:
    with gzip.open(path, "rb") as file:
        try:
            return file.readline().decode(errors="replace")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise _broken(path, 1) from error


def _check_header(line: str, path: Path) -> None:
    try:
        header = json.loads(line)
    except ValueError as error:
        raise _broken(path, 1) from error
    if not isinstance(header, dict) or header.get("kind") != KIND or header.get("schema") != SCHEMA:
        raise CheckpointError(
            "the first line names another kind or schema",
            where={"path": path, "line": 1},
            fix=f"read it with the version that wrote it; this one reads {KIND} schema {SCHEMA}",
        )


def _broken(path: Path, line: int) -> CheckpointError:
    return CheckpointError(
        "the file is cut off or broken", where={"path": path, "line": line}, fix="cut it with repair_episodes(path)"
    )
