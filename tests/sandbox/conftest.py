"""Sandboxes for the tests: one per backend that works on this machine. Each says in the summary which it was."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.errors import SandboxError
from motet.sandbox import Limits, Sandbox

sys.path.insert(0, str(Path(__file__).parent))

from hostile_programs import SECRET

QUICK = Limits(wall_s=2, cpu_s=1, memory_mb=160, file_mb=4, output_kb=64)
_used: dict[str, str] = {}


def _try(backend: str) -> Sandbox:
    os.environ["MOTET_TEST_SECRET"] = SECRET
    sandbox = Sandbox(QUICK, backend=backend, parallel=2, warm=3, disk_mb=8)  # type: ignore[arg-type]
    try:
        _used[backend] = sandbox.backend
    except SandboxError as problem:
        _used[backend] = f"not here: {problem.what}"
        pytest.skip(problem.what)
    return sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The backend that `auto` finds."""
    with _try("auto") as found:
        yield found


@pytest.fixture(scope="session", params=["bubblewrap", "namespaces"])
def each(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Every backend with a wall, one after the other."""
    with _try(request.param) as found:
        yield found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for asked, used in _used.items():
        terminalreporter.write_line(f"sandbox {asked}: {used}")
