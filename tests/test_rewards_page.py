"""The recipes in docs/rewards.md are recipes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from motet.config.settings import CreditSection
from motet.credit.settings import PRESETS, CreditSettings

PAGE = Path(__file__).parents[1] / "docs" / "rewards.md"
FOUND = re.findall(r"^\| (.+?) \| `(credit: \{.*?\})` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
CREDIT = {name.strip("`"): yaml.safe_load(text)["credit"] for name, text in FOUND}


def test_all_published_mixes_are_there():
    assert {name: given["alpha"] for name, given in CREDIT.items()} == {
        "mathematics": 0.7, "Sudoku": 0.6, "Plan-Path": 0.5, "Sokoban": 0.4, "AT-GRPO, all tasks": 1.0,
        "voting": 1.0, "orchestrator_workers": 1.0, "evaluator_optimizer": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(CREDIT))
def test_each_is_a_credit_section_that_holds(name):
    made = CreditSettings(**CreditSection(**CREDIT[name]).model_dump())
    assert made.alpha == CREDIT[name]["alpha"]


@pytest.mark.parametrize("workflow", ["voting", "orchestrator_workers", "evaluator_optimizer"])
def test_those_of_the_study_are_the_presets_of_the_code(workflow):
    assert {"estimator": "grpo", **CREDIT[workflow]} == PRESETS[f"rllm_{workflow}"]
