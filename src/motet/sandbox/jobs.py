"""What is handed to a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.errors import SandboxError
from motet.sandbox.limits import Limits


def make_job(
    mode: str, program: str, limits: Limits, *, stdin: str = "", files: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The job of one cell, as JSON holds it. Raises `SandboxError` for a file name that would leave its folder.

    >>> make_job("script", "", Limits(), files={"../x": ""})
    Traceback (most recent call last):
    motet.errors.SandboxError: file name '../x'. To fix it: names of files are relative to the program's folder
    """
    for name in files or {}:
        if name.startswith("/") or ".." in name.split("/") or "\0" in name or not name:
            raise SandboxError(f"file name {name!r}", fix="names of files are relative to the program's folder")
    job = {"mode": mode, "source": program, "limits": limits.as_job(), "stdin": stdin, "files": dict(files or {})}
    return {**job, **more}
