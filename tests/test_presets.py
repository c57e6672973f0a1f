import pytest

from motet.cli.app import run
from motet.config import PRESETS, load, parse_yaml, resolve, settings_hash
from motet.errors import ConfigError

BASE = "tasks:\n- name: plan_path\nworkflow:\n  name: planner_executor\n"
ROLES = {"planner": 1, "executor": 1}


def mixed(text="", overrides=()):
    credit = resolve(load(parse_yaml(BASE + text, "mine.yaml"), overrides), ROLES).credit
    return credit.mix, credit.alpha


@pytest.mark.parametrize(
    ("name", "mix", "alpha"),
    [
        ("at_grpo", "additive", 1.0),
        ("at_grpo_maths", "convex", 0.7),
        ("at_grpo_sudoku", "convex", 0.6),
        ("at_grpo_plan_path", "convex", 0.5),
        ("at_grpo_sokoban", "convex", 0.4),
        ("outcome_broadcast", "convex", 1.0),
    ],
)
def test_every_preset_holds_the_published_numbers_and_can_be_run(name, mix, alpha):
    assert mixed(f"preset: {name}\n") == (mix, alpha) == mixed(overrides=[f"preset={name}"])


def test_no_preset_is_left_without_a_test():
    assert len(PRESETS) == 6 and all(preset.source.startswith("arXiv") for preset in PRESETS.values())


def test_outcome_broadcast_pays_by_the_outcome_of_independent_episodes():
    settings = resolve(load(parse_yaml(BASE + "preset: outcome_broadcast\n", "r.yaml")), ROLES)
    assert (settings.credit.rewards, settings.sampling.rule) == ("outcome", "independent")


def test_in_a_file_what_is_written_beside_a_preset_outranks_it():
    assert mixed("preset: at_grpo_sudoku\ncredit: {alpha: 0.25}\n") == ("convex", 0.25)
    assert mixed("credit: {alpha: 0.25}\npreset: at_grpo\n") == ("additive", 0.25)


def test_on_the_command_line_a_preset_outranks_the_recipe_and_what_follows_outranks_the_preset():
    text = "credit: {mix: additive, alpha: 3.0}\n"
    assert mixed(text, ["preset=at_grpo_sokoban"]) == ("convex", 0.4)
    assert mixed(text, ["preset=at_grpo_sokoban", "credit.alpha=0.9"]) == ("convex", 0.9)
    assert mixed(text, ["credit.alpha=0.9", "preset=at_grpo_sokoban"]) == ("convex", 0.4)
    assert mixed("preset: at_grpo\n", ["preset=at_grpo_sokoban"]) == ("convex", 0.4)


@pytest.mark.parametrize(
    ("text", "overrides", "place"),
    [
        ("preset: at_grpoo\n", [], "mine.yaml line 5"),
        ("preset: 3\n", [], "mine.yaml line 5"),
        ("", ["preset=at_grpoo"], "command line 'preset=at_grpoo'"),
    ],
)
def test_a_preset_that_does_not_exist_is_refused_with_its_place_and_those_that_do(text, overrides, place):
    with pytest.raises(ConfigError) as caught:
        mixed(text, overrides)
    assert place in str(caught.value) and "take at_grpo, at_grpo_maths" in caught.value.fix


def test_a_value_of_a_preset_that_clashes_is_refused_with_the_name_of_the_preset():
    with pytest.raises(ConfigError, match=r"additive mix leaves them \[line=preset 'at_grpo'\]"):
        mixed("preset: at_grpo\ncredit: {estimator: max_rl}\n")


def test_a_section_that_is_none_is_refused_as_such():
    with pytest.raises(ConfigError, match="'credit'"):
        mixed("preset: at_grpo\ncredit: 3\n")


def test_resolved_settings_are_read_again_as_they_are():
    settings = resolve(load(parse_yaml(BASE + "preset: at_grpo\ncredit: {alpha: 0.25}\n", "r.yaml")), ROLES)
    again = resolve(load(settings.model_dump(mode="json")), ROLES)
    assert again == settings and again.credit.alpha == 0.25


def test_the_hash_is_that_of_the_same_settings_without_a_preset():
    named = resolve(load(parse_yaml(BASE + "preset: at_grpo_sudoku\n", "r.yaml")), ROLES)
    plain = resolve(load(parse_yaml(BASE + "credit: {alpha: 0.6}\n", "r.yaml")), ROLES)
    assert settings_hash(named) == settings_hash(plain)


def test_train_shows_what_a_preset_sets(capsys):
    assert run(["train", "smoke", "preset=at_grpo_sokoban", "--show"]) == 0
    shown = capsys.readouterr().out
    assert "preset: at_grpo_sokoban" in shown and "alpha: 0.4" in shown
    assert "mix: convex" in shown
