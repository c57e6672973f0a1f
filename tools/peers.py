"""Makes the environment in which `motet bench --peers FOLDER` runs other trainers on the same work.

    python tools/peers.py install .peers

A virtual environment of its own with the versions below, the peer programs beside it and FOLDER/peers.json, which says
where they are. Done again, it only brings the programs up to date. Needs about 2.5 GB (the CPU build of torch) and a
package registry; nothing of motet's own environment is used or changed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
PINNED = (
    "torch==2.13.0",
    "transformers==5.24.0",
    "tokenizers==0.23.3",
    "accelerate==1.15.0",
    "datasets==5.2.0",
    "numpy==2.4.6",
    "wandb==0.31.0",
    "trl==1.16.0",
    "comlrl==1.4.3",
)
PROGRAMS = {"trl": "peer_trl.py", "comlrl": "peer_comlrl.py"}
SHARED = ("peer_protocol.py",)


def install(folder: Path, packages: tuple[str, ...] = PINNED) -> None:
    """Environment, packages, programs; the manifest comes last, so that half an installation is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    if packages:
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True
        )
    for name in (*PROGRAMS.values(), *SHARED):
        shutil.copyfile(TOOLS / name, folder / name)
    manifest = {"python": "bin/python", "programs": PROGRAMS}
    (folder / "peers.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["install"])
    parser.add_argument("folder", type=Path)
    found = parser.parse_args()
    try:
        install(found.folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{found.folder} is not installed: {error}", file=sys.stderr)
        return 1
    print(f"installed: motet bench --peers {found.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
