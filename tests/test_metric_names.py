"""docs/metrics.md and the code name the same metrics, as `stage/quantity`; a role or policy behind is left aside."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "metrics.md"
KEY = re.compile(r"^[a-z]+/[a-z][a-z0-9_]*")
READERS = ("report",)
"""Packages that draw metrics and make none."""


def documented():
    text = PAGE.read_text(encoding="utf-8")
    quoted = (word for part in re.findall(r"`([^`\n]+)`", text) for word in part.split(", "))
    return {found.group() for word in quoted if (found := KEY.match(word)) and not word.endswith((".py", ".md"))}


def literal_start(node):
    """The text of a string up to its first placeholder."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        return node.values[0].value
    return ""


def source_trees():
    package = ROOT / "src" / "motet"
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in READERS:
            yield ast.parse(path.read_text(encoding="utf-8"))


def written_keys():
    """The start of every string that is a key: of a dictionary, or the index of an assignment."""
    for tree in source_trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                yield from (literal_start(key) for key in node.keys if key is not None)
            elif isinstance(node, ast.DictComp):
                yield literal_start(node.key)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                yield literal_start(node.slice)


def emitted():
    return {found.group() for start in written_keys() if (found := KEY.match(start))}


@pytest.mark.skipif(not PAGE.is_file(), reason="docs/metrics.md is not written")
def test_every_metric_of_the_code_is_defined_in_the_documentation():
    assert sorted(emitted() - documented()) == []


@pytest.mark.skipif(not PAGE.is_file(), reason="docs/metrics.md is not written")
def test_every_metric_of_the_documentation_is_made_by_the_code():
    assert sorted(documented() - emitted()) == []


def test_the_reader_of_keys_sees_plain_formatted_and_assigned_keys():
    assert {"credit/rows", "credit/advantage_std", "update/clip_frac"} <= emitted()
