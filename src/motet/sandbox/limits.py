"""What a program may use, and what is known of it after it ran."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from motet.errors import SandboxError

Status = Literal["ok", "error", "timeout", "memory", "output"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one program.

    `cpu_s`: seconds of processor time of the program, all threads together; each process that it starts is ended at
    about twice that. `wall_s`: seconds in which it may sleep or work; those in which it was ready to work and this
    machine had no processor for it do not count, up to 100 times `wall_s`, so a busy machine changes no verdict.
    `memory_mb`: address space of each process, interpreter included. `file_mb`: the size of one file. `output_kb`:
    standard output and error together, and each value a call returns. `tasks`: processes and threads together. `fork`:
    without it the program may start threads but no process, and `memory_mb` bounds the whole program; with it the bound
    is `tasks * memory_mb`.

    Raises `SandboxError` for a bound that is not positive.

    >>> Limits(wall_s=2).memory_mb
    512
    >>> Limits(memory_mb=0)
    Traceback (most recent call last):
    motet.errors.SandboxError: memory_mb is 0. To fix it: give a positive bound
    """

    wall_s: float = 20.0
    cpu_s: float = 10.0
    memory_mb: int = 512
    file_mb: int = 16
    output_kb: int = 1024
    tasks: int = 16
    open_files: int = 64
    fork: bool = False

    def __post_init__(self) -> None:
        for name in ("wall_s", "cpu_s", "memory_mb", "file_mb", "output_kb", "tasks", "open_files"):
            value = getattr(self, name)
            if not value > 0 or not math.isfinite(value):
                raise SandboxError(f"{name} is {value!r}", fix="give a positive bound")

    def as_job(self) -> dict[str, Any]:
        """The part of the bounds that is held behind the wall, in the kernel's units."""
        return {
            "cpu_s": self.cpu_s,
            "memory_bytes": self.memory_mb << 20,
            "file_bytes": self.file_mb << 20,
            "tasks": self.tasks,
            "open_files": self.open_files,
            "fork": self.fork,
        }


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program did. `status`:

    - `ok`: it ended by itself with exit code 0. That says nothing of what it printed.
    - `error`: it ended with another code, or by a signal (`exit_code` is then minus the signal's number).
    - `timeout`: it used up its wall or CPU time. `memory`: it ended as it got no more. `output`: it wrote too much.

    `stdout` and `stderr` are cut at the bound; bytes that are no UTF-8 become U+FFFD. `seconds` counts from its
    beginning to its end. `cpu_s` and `peak_mb` are those of the interpreter and the program together.
    """

    status: Status
    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    cpu_s: float = 0.0
    peak_mb: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status == "ok"
