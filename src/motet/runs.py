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
from pathlib import Path
from typing import Any

import yaml

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
        with open(self.path / ".lock", "a+", encoding="utf-8") as file:
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
        before = yaml.safe_load(self.config.read_text(encoding="utf-8"))
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
        data = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        settings = Settings.model_validate(data["settings"])
        if settings_hash(settings) != data["settings_hash"]:
            raise CheckpointError(
                "config.yaml was changed after the run was started",
                where={"file": self.config},
                fix="put it back, or start a new run with the changed settings",
            )
        return settings


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
    root.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
            continue
        (path / "checkpoints").mkdir()
        return RunFolder(path)


def latest(root: Path, name: str) -> RunFolder:
    """The newest run of `name` under `root`, by number. Raises `CheckpointError` where there is none."""
    pattern = re.compile(re.escape(name) + r"(?:-(\d+))?$")
    found = [(int(match[1] or 1), path) for path in root.glob(f"{name}*") if (match := pattern.match(path.name))]
    if not found:
        raise CheckpointError(
            f"there is no run '{name}' to resume", where={"folder": root}, fix="start it without --resume"
        )
    return RunFolder(max(found)[1])


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
