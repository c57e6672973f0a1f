"""Resolves the dependencies in an empty environment and writes requirements.lock and requirements-dev.lock.

    python tools/lock.py

Only names and versions are written: where packages come from is the business of whoever installs them. A build tag of
torch (`+cpu`) is dropped for the same reason.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# {what}, exactly. Made by `make lock`.\n"


def freeze(python: Path) -> dict[str, str]:
    """name -> `name==version` of everything installed, pip itself left out."""
    lines = subprocess.check_output([str(python), "-m", "pip", "freeze", "--all"], text=True).splitlines()
    pins = [line.split("+cpu")[0] for line in lines if "==" in line and not line.startswith("#")]
    return {pin.split("==")[0]: pin for pin in pins if not pin.startswith("pip==")}


def write(path: Path, what: str, pins: list[str]) -> None:
    path.write_text(HEAD.format(what=what) + "\n".join(sorted(pins, key=str.lower)) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(pins)} packages")


def main() -> int:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    builder = settings["build-system"]["requires"]
    extra = [*settings["dependency-groups"]["dev"], *project["optional-dependencies"]["gguf"]]
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(Path(scratch) / "venv", with_pip=True)
        python = Path(scratch) / "venv" / "bin" / "python"
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *project["dependencies"], *builder], check=True)
        core = freeze(python)
        subprocess.run([*pip, *extra, *core.values()], check=True)
        everything = freeze(python)
    write(ROOT / "requirements.lock", "What motet needs, and what builds its editable install", list(core.values()))
    dev = [pin for name, pin in everything.items() if name not in core]
    write(ROOT / "requirements-dev.lock", "What the checks, the tests and the gguf extra need besides", dev)
    return 0


if __name__ == "__main__":
    sys.exit(main())
