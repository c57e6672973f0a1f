"""A run's folder: made once, never overwritten, locked while it is written.

runs/<name>/config.yaml           settings, resolved and hashed, with versions and hardware
            metrics.jsonl         one line per iteration, keys defined in docs/metrics.md
            episodes.jsonl.gz     every episode of training
            checkpoints/          base, peak, final and the last few iterations
            result.json           what the evaluation found, under names that others read
            report.html           one page that opens without a network
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import IO, Any

import yaml
from pydantic import ValidationError

from motet.config import Settings, redact, settings_hash
from motet.errors import CheckpointError, ConfigError
from motet.types import SCHEMA

PACKAGES = ("motet", "torch", "transformers", "peft", "numpy")


@dataclass(frozen=True)
class RunFolder:
    """The files of one run, by name."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def episodes(self) -> Path:
        return self.path / "episodes.jsonl.gz"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for writing; a second process is refused. The lock ends with its process."""
        with writing(self.path / ".lock", "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.seek(0)
                raise ConfigError(
                    f"run '{self.name}' is being written by another process",
                    where={"folder": self.path, "pid": file.read().strip() or "?"},
                    fix="wait for it, or give this run another name",
                ) from error
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def write_config(self, settings: Settings, **resolved: Any) -> None:
        """Write settings, versions and hardware, and beside them what parts of the run resolved (`engine=...`)."""
        text = yaml.safe_dump({**described(settings), **resolved}, sort_keys=False, allow_unicode=True)
        write_atomically(self.config, text)

    def moved(self) -> list[str]:
        """What is not as it was when config.yaml was written: versions and hardware, each as "then -> now"."""
        before = self._described()
        now = {"versions": versions(), "hardware": hardware()}
        return [
            f"{key} {before[part].get(key)} -> {value}"
            for part, values in now.items()
            for key, value in values.items()
            if before[part].get(key) != value
        ]

    def read_config(self) -> Settings:
        """The resolved settings this run was started with. Raises `CheckpointError` if the file was changed since."""
        if not self.config.is_file():
            raise CheckpointError(
                "this folder holds no run", where={"folder": self.path}, fix="give the folder of a run"
            )
        data = self._described()
        try:
            settings = Settings.model_validate(data["settings"])
        except ValidationError as error:
            raise self._unreadable(f"{error.error_count()} settings are not those of this version") from error
        if settings_hash(settings) != data["settings_hash"]:
            raise CheckpointError(
                "config.yaml was changed after the run was started",
                where={"file": self.config},
                fix="put it back, or start a new run with the changed settings",
            )
        return settings

    def _described(self) -> dict[str, Any]:
        """config.yaml as plain values, with every part that `described` writes."""
        try:
            data = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise self._unreadable(str(error).partition("\n")[0]) from error
        parts: dict[str, type] = {"settings": dict, "settings_hash": str, "versions": dict, "hardware": dict}
        broken = [] if isinstance(data, dict) else ["schema"]
        broken = broken or [key for key, kind in parts.items() if not isinstance(data.get(key), kind)]
        if broken:
            raise self._unreadable(f"its part '{broken[0]}' is missing or broken")
        found: dict[str, Any] = data
        return found

    def _unreadable(self, reason: str) -> CheckpointError:
        return CheckpointError(
            f"config.yaml cannot be read: {reason}", where={"file": self.config}, fix="put it back as it was written"
        )


@contextmanager
def writing(path: Path, mode: str) -> Iterator[IO[str]]:
    """Open a file of a run for writing. Raises `ConfigError` where the folder does not let us."""
    try:
        file = path.open(mode, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error
    with file:
        yield file


def unwritable(path: Path, error: OSError) -> ConfigError:
    """The error of a folder in which nothing can be written."""
    return ConfigError(
        f"cannot write here: {error.strerror or error}", where={"path": path}, fix="name another folder with --runs"
    )


def described(settings: Settings) -> dict[str, Any]:
    """What config.yaml holds: settings without secrets, their hash, the versions and the machine."""
    return {
        "schema": SCHEMA,
        "settings_hash": settings_hash(settings),
        "settings": redact(settings.model_dump(mode="json")),
        "versions": versions(),
        "hardware": hardware(),
    }


def create(root: Path, name: str) -> RunFolder:
    """A new folder: `name`, or the next free of name-2, name-3, ... Two processes never get the same one."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = root / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                continue
            (path / "checkpoints").mkdir()
            break
    except OSError as error:
        raise unwritable(root, error) from error
    return RunFolder(path)


def latest(root: Path, name: str) -> RunFolder:
    """The newest run of `name` under `root`, by number. Raises `CheckpointError` where there is none."""
    pattern = re.compile(re.escape(name) + r"(?:-(\d+))?$")
    found = [
        (int(match[1] or 1), path)
        for path in root.glob(f"{name}*")
        if path.is_dir() and (match := pattern.match(path.name)) and not _has_other_name(RunFolder(path), name)
    ]
    if not found:
        raise CheckpointError(
            f"there is no run '{name}' to resume", where={"folder": root}, fix="start it without --resume"
        )
    return RunFolder(max(found)[1])


def _has_other_name(folder: RunFolder, name: str) -> bool:
    """Whether the run in `folder` was itself called something else: `demo-2` may be a name, not the second `demo`."""
    if folder.name == name or not folder.config.is_file():
        return False
    return bool(folder.read_config().name != name)


def find(root: Path, run: str) -> RunFolder:
    """The run that a user names on the command line: a folder, or a name under `root`."""
    for path in (Path(run), root / run):
        if (path / "config.yaml").is_file():
            return RunFolder(path)
    known = sorted(path.parent.name for path in root.glob("*/config.yaml"))
    raise CheckpointError(
        f"there is no run '{run}'",
        where={"folder": root},
        fix="runs here: " + (", ".join(known) or "none, train one first"),
    )


def write_atomically(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old file or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_result(folder: RunFolder, result: Mapping[str, Any]) -> None:
    write_atomically(folder.result, json.dumps(redact(result), indent=1) + "\n")


def versions() -> dict[str, str]:
    """Python and the packages that can change a result."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Processor, cores and memory of this machine, without its name."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_gib": round(_memory_bytes() / 2**30, 1),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    """Physical memory, or the limit of the control group where that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text(encoding="utf-8").strip()).isdigit():
        return min(total, int(text))
    return total
