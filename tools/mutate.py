"""Plants one fault at a time in a copy of the project and checks that the tests notice.

    python tools/mutate.py                 all faults
    python tools/mutate.py sign wilson     those whose name holds one of the words

First the untouched copy must pass every test the faults name. Then, fault by fault, the named tests must fail. The exit
status is 1 when they do not notice one (it survives), and when the list itself is wrong: the old text is not found
exactly once, or the fault keeps the tests from being collected at all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "README.md")
TIMEOUT_S = 120
PASSED, FAILED = 0, 1


def copy_project(target: Path) -> None:
    """Source, tests and what tests read, without caches: stale byte code would hide a fault."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", ".hypothesis", "runs")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.is_file():
            shutil.copy2(source, target / name)


def run(copy: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """A command of this interpreter in the copy, where `motet` is the copy's."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S * (1 if "-x" in arguments else 4),
        check=False,
    )


def run_tests(copy: Path, tests: tuple[str, ...], *, stop_early: bool) -> tuple[int, str]:
    """pytest's exit status and last lines; a run over its time has noticed something."""
    options = ["-m", "pytest", "-p", "no:cacheprovider", "--no-header", "--tb=line", *(["-x"] if stop_early else [])]
    try:
        done = run(copy, [*options, *tests])
    except subprocess.TimeoutExpired:
        return FAILED, f"still running after {TIMEOUT_S} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def first_failure(output: str) -> str:
    """The name of the test that noticed."""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0].rsplit("::", 1)[-1]
    return output.splitlines()[-1] if output else ""


def plant(copy: Path, fault: Fault) -> tuple[str, str]:
    """(verdict, detail) of one fault; the copy is as before afterwards."""
    path = copy / "src" / "motet" / fault.file
    if not path.is_file():
        return "ERROR", f"no file {fault.file}"
    text = path.read_text(encoding="utf-8")
    found = text.count(fault.old)
    if found != 1:
        return "ERROR", f"the old text stands {found} times in {fault.file}"
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        status, output = run_tests(copy, fault.tests, stop_early=True)
    finally:
        path.write_text(text, encoding="utf-8")
    if status == PASSED:
        return "SURVIVED", " ".join(fault.tests)
    if status == FAILED:
        return "caught", first_failure(output)
    return "ERROR", f"pytest ended with {status}: {first_failure(output)}"


def check_copy(copy: Path, faults: list[Fault]) -> str | None:
    """Why the untouched copy cannot judge faults, or None."""
    probe = run(copy, ["-c", "import motet; print(motet.__file__)"])
    if str(copy) not in probe.stdout:
        return f"the tests would import {probe.stdout.strip() or probe.stderr.strip()}, not the copy"
    tests = tuple(dict.fromkeys(one for fault in faults for one in fault.tests))
    status, output = run_tests(copy, tests, stop_early=False)
    return None if status == PASSED else "the tests fail without any fault:\n" + "\n".join(output.splitlines()[-15:])


def main(words: list[str]) -> int:
    faults = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    if not faults:
        print(f"no fault has one of {words} in its name")
        return 1
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="motet-mutate-") as folder:
        copy = Path(folder).resolve()
        copy_project(copy)
        if (problem := check_copy(copy, faults)) is not None:
            print(problem)
            return 1
        print(f"untouched copy: all named tests pass ({time.monotonic() - start:.0f} s)", flush=True)
        width = max(len(fault.name) for fault in faults)
        verdicts = []
        for fault in faults:
            begun = time.monotonic()
            verdict, detail = plant(copy, fault)
            verdicts.append(verdict)
            print(f"{verdict:8}  {fault.name:{width}}  {time.monotonic() - begun:5.1f} s  {detail}", flush=True)
    caught = verdicts.count("caught")
    print(f"{caught} of {len(faults)} faults caught in {time.monotonic() - start:.0f} s")
    return 0 if caught == len(faults) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
