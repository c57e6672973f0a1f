"""What the front pages show is what the code has: example, picture, links, commands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_shows_the_example_and_the_dataflow_as_they_are():
    assert text("examples/guess_number.py").strip() in text("README.md")
    flow = text("docs/dataflow.md")
    picture = flow[flow.index("    TaskSet --Task") : flow.index("`loop.py` holds")].rstrip()
    assert picture in text("README.md")


def test_the_example_is_at_most_40_lines():
    assert len(text("examples/guess_number.py").splitlines()) <= 40


@pytest.mark.parametrize("page", PAGES)
def test_every_local_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", text(page)):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", text(page))) <= targets


def test_every_motet_command_of_the_readme_exists():
    from motet.cli.app import app

    names = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert set(re.findall(r"^    motet ([a-z]+)", text("README.md"), re.MULTILINE)) <= names
