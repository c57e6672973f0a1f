"""Installs into an empty environment, counts and weighs what came, times `import motet`, holds the limits.

    python tools/install_size.py

The limits are for the CPU build of torch. Exit status 1 when one is broken.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_PACKAGES, MAX_MB, MAX_IMPORT_S = 45, 1300, 0.3
TIMER = (
    "import time; start = time.perf_counter(); import motet; seconds = time.perf_counter() - start; "
    "import sys; assert 'torch' not in sys.modules; print(seconds)"
)


def install(folder: Path) -> Path:
    """An environment with the locked dependencies and the package; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(ROOT / "requirements.lock")], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(ROOT)], check=True)
    return python


def measure(folder: Path) -> tuple[int, float]:
    """(packages but pip, megabytes that the whole environment takes on disk)."""
    (site,) = folder.glob("lib/python3*/site-packages")
    names = {found.metadata["Name"].lower() for found in distributions(path=[str(site)])} - {"pip"}
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return len(names), sum(path.stat().st_blocks * 512 for path in files) / 1e6


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        python = install(Path(scratch) / "venv")
        num_packages, megabytes = measure(Path(scratch) / "venv")
        times = [float(subprocess.check_output([str(python), "-c", TIMER], cwd=scratch)) for _ in range(5)]
    found = [
        ("packages", float(num_packages), MAX_PACKAGES),
        ("megabytes", megabytes, MAX_MB),
        ("seconds to import motet", min(times), MAX_IMPORT_S),
    ]
    for name, value, limit in found:
        print(f"{name}: {value:.4g} of at most {limit}{'' if value <= limit else '  TOO MUCH'}")
    return int(any(value > limit for _, value, limit in found))


if __name__ == "__main__":
    sys.exit(main())
