"""The lock files hold exact versions that satisfy pyproject.toml, few of them, and no address of any registry."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def pins(name):
    lines = (ROOT / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def versions():
    return dict(
        pin.lower().replace("_", "-").split("==") for pin in pins("requirements.lock") + pins("requirements-dev.lock")
    )


def test_every_line_is_one_exact_version():
    for pin in pins("requirements.lock") + pins("requirements-dev.lock"):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin), pin


def test_the_core_is_at_most_45_packages_with_motet_itself():
    assert len(pins("requirements.lock")) + 1 <= 45


def test_no_package_is_locked_twice():
    names = [pin.split("==")[0].lower() for pin in pins("requirements.lock") + pins("requirements-dev.lock")]
    assert len(names) == len(set(names))


def test_the_locks_satisfy_the_project():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *settings["project"]["dependencies"],
        *settings["build-system"]["requires"],
        *settings["dependency-groups"]["dev"],
        *settings["project"]["optional-dependencies"]["gguf"],
    ]
    locked = versions()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(locked[requirement.name.lower()]), requirement
