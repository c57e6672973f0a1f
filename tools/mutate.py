"""Plants one fault at a time in a copy of the project and checks that the tests notice.

    python tools/mutate.py                 all faults
    python tools/mutate.py sign wilson     those whose name holds one of the words

First the untouched copy must pass every test the faults name. Then, fault by fault, the named tests must fail. The exit
status is 1 when they do not notice one (it survives), and when the list itself is wrong: the old text is not found
exactly once, or the fault keeps the tests from being collected at all.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "README.md")
PRELOADED = ("numpy", "pytest", "hypothesis", "torch", "transformers", "peft", "safetensors.torch")
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
TIMEOUT_S = 120
PASSED, FAILED, NOT_THE_COPY = 0, 1, 70


def copy_project(target: Path) -> None:
    """Source, tests and what tests read, without caches: stale byte code would hide a fault."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", ".hypothesis", "runs")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.is_file():
            shutil.copy2(source, target / name)


def preload() -> None:
    """Imports what every test run would import anew, but never motet itself: runs are forks of this process."""
    os.environ.update(ENVIRONMENT)
    sys.dont_write_bytecode = True
    for name in PRELOADED:
        importlib.import_module(name)


def run_tests(copy: Path, tests: tuple[str, ...], *, stop_early: bool) -> tuple[int, str]:
    """pytest's exit status and output, run in the copy; a run over its time has noticed something."""
    log = copy / "pytest.log"
    child = os.fork()
    if child == 0:
        os._exit(_tested(copy, log, tests, stop_early))
    limit = time.monotonic() + TIMEOUT_S * (1 if stop_early else 4)
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return FAILED, f"still running after {TIMEOUT_S} s"
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(found[1]), log.read_text(encoding="utf-8", errors="replace").strip()


def _tested(copy: Path, log: Path, tests: tuple[str, ...], stop_early: bool) -> int:
    """In the child: pytest's status, its output in `log`."""
    import pytest

    with open(log, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path.insert(0, str(copy / "src"))
    import motet

    if not Path(motet.__file__).is_relative_to(copy):
        print(f"the tests would import {motet.__file__}, not the copy", flush=True)
        return NOT_THE_COPY
    options = ["-c", "pyproject.toml", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    status = int(pytest.main([*options, *(["-x"] if stop_early else []), *tests]))
    sys.stdout.flush()
    return status


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
    tests = tuple(dict.fromkeys(one for fault in faults for one in fault.tests))
    status, output = run_tests(copy, tests, stop_early=False)
    return None if status == PASSED else "the tests fail without any fault:\n" + "\n".join(output.splitlines()[-15:])


def main(words: list[str]) -> int:
    faults = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    if not faults:
        print(f"no fault has one of {words} in its name")
        return 1
    start = time.monotonic()
    preload()
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
