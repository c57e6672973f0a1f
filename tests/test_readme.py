"""What the front pages show is what the code has: example, picture, links, commands."""

import re
import shlex
from pathlib import Path

import pytest

from motet.build import prepare
from motet.config import load
from motet.errors import SandboxError
from motet.sandbox import configure
from motet.workflows.base import BUILTIN
from motet.workflows.fitting import ANSWERS, GAMES, PROGRAMS

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


def rows_of_workflows():
    """(workflow names, roles, kinds it plays, overrides) of each row of the table of workflows."""
    section = text("README.md").split("## Tasks and workflows")[1].split("\n## ")[0]
    rows = [row.strip("|").split("|") for row in section.splitlines() if row.startswith("| `")]
    return [(re.findall(r"`(\w+)`", row[0]), row[1], row[3], shlex.split(row[4].strip().strip("`"))) for row in rows]


def test_the_table_names_every_shipped_workflow_and_what_it_plays():
    kinds = {"games": GAMES, "questions": ANSWERS, "programs": PROGRAMS}
    rows = rows_of_workflows()
    assert sorted(name for names, *_ in rows for name in names) == sorted(BUILTIN)
    for names, _, plays, _ in rows:
        assert {kind for kind in kinds if kind in plays} == {kind for kind, made in kinds.items() if names[0] in made}


@pytest.mark.parametrize("row", rows_of_workflows(), ids=lambda row: row[0][0])
def test_every_command_of_the_table_prepares_a_run_with_the_roles_it_tells(row):
    names, roles, _, overrides = row
    try:
        prepared = prepare(load("smoke", overrides))
    except SandboxError as problem:
        pytest.skip(problem.what)
    finally:
        configure()
    assert prepared.settings.workflow.name in names
    assert re.findall(r"[a-z]+", roles.replace("x N", "")) == list(prepared.workflow.roles)
    assert [slots > 1 for slots in prepared.workflow.roles.values()] == ["x N" in role for role in roles.split(",")]
