"""Defaults and refusals."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from motet.credit.settings import PRESETS, CreditSettings, preset
from motet.errors import CreditError


def test_the_defaults_are_those_of_the_documentation():
    settings = CreditSettings()
    assert (settings.grouping, settings.estimator, settings.std, settings.epsilon) == (
        "at_grpo",
        "grpo",
        "population",
        1e-8,
    )
    assert (settings.equal_groups, settings.singleton, settings.rewards) == ("drop", "zero", "score")
    assert (settings.mix, settings.alpha, settings.group_size) == ("convex", 0.7, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grouping": "nodes"}, "unknown grouping 'nodes'"),
        ({"estimator": "gae"}, "unknown estimator 'gae'"),
        ({"std": "n"}, "unknown std 'n'"),
        ({"equal_groups": "keep"}, "unknown equal_groups 'keep'"),
        ({"singleton": "one"}, "unknown singleton 'one'"),
        ({"rewards": "final"}, "unknown reward rule 'final'"),
        ({"mix": "max"}, "unknown mix 'max'"),
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"role_alpha": {"coder": -1.0}}, "alpha is -1.0"),
        ({"group_size": 0}, "group_size is 0"),
    ],
)
def test_each_wrong_setting_is_refused_by_name(changes, message):
    with pytest.raises(CreditError, match=message):
        CreditSettings(**changes)


def test_an_alpha_above_one_is_meant_for_the_additive_mix():
    assert CreditSettings(mix="additive", alpha=1.5).alpha_of("anyone") == 1.5


def test_a_role_alpha_for_a_role_that_is_not_there_names_the_nearest():
    with pytest.raises(CreditError, match=r"unknown role 'planer'.*did you mean 'planner'"):
        CreditSettings(role_alpha={"planer": 0.5}).check_roles({"planner": 1, "executor": 1})


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid(name):
    assert isinstance(preset(name), CreditSettings)


def test_the_at_grpo_preset_is_the_papers_additive_form_at_alpha_one():
    settings = preset("at_grpo")
    assert (settings.grouping, settings.mix, settings.alpha) == ("at_grpo", "additive", 1.0)


def test_unknown_presets_and_changes_are_refused():
    with pytest.raises(CreditError, match=r"unknown credit preset 'ppo'.*verl"):
        preset("ppo")
    with pytest.raises(CreditError, match=r"unknown credit setting 'alfa'.*did you mean 'alpha'"):
        preset("verl", alfa=1.0)


def test_credit_imports_neither_torch_nor_numpy():
    code = (
        "import sys, motet.credit.assign; sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_examples_of_the_documentation_run():
    page = Path(__file__).parents[2] / "docs" / "credit.md"
    assert doctest.testfile(str(page), module_relative=False) == (0, 2)
