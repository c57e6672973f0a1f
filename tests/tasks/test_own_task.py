"""The page on a task of one's own is true: its code runs, and its task set has at most 40 lines."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

PAGE = Path(__file__).parents[2] / "docs" / "own_task.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_runs_from_top_to_bottom():
    space = {"__name__": "own_task"}
    for code in blocks("python"):
        exec(compile(code, str(PAGE), "exec", dont_inherit=True), space)
    assert space["task"].question.startswith("Spell ")


def test_the_task_set_has_at_most_40_lines_of_code():
    code = [line for line in blocks("python")[0].splitlines() if line.strip()]
    assert len(code) <= 40


def test_the_recipe_names_the_class():
    (recipe,) = map(yaml.safe_load, blocks("yaml"))
    assert recipe["tasks"][0]["name"].endswith(":Reversals")
