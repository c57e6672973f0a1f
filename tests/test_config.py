from dataclasses import replace
from pathlib import Path

import pytest

from motet.build import credit_settings, rollout_settings, update_settings
from motet.config import Settings, load, nearest, parse_yaml, recipes, redact, resolve, settings_hash
from motet.config.describe import key_table
from motet.config.marks import apply_overrides
from motet.config.settings import GROUP_FIELDS, GROUPINGS
from motet.credit.grouping import FIELDS, KEYS
from motet.credit.settings import CreditSettings
from motet.errors import ConfigError
from motet.losses.settings import UpdateSettings
from motet.rollout.settings import RolloutSettings

BASE = "tasks:\n- name: plan_path\nworkflow:\n  name: planner_executor\n"
ROLES = {"planner": 1, "executor": 1}
VOTERS = {"voter": 3, "judge": 1}


def loaded(text="", overrides=()):
    return load(parse_yaml(BASE + text, "mine.yaml"), overrides)


def refusal(text, roles=None, overrides=()):
    with pytest.raises(ConfigError) as caught:
        found = loaded(text, overrides)
        if roles:
            resolve(found, roles)
    return str(caught.value)


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_right_key():
    assert refusal("credit:\n  estimater: grpo\n") == (
        "unknown key 'credit.estimater' [line=mine.yaml line 6]. To fix it: did you mean 'estimator'? "
        "Known: alpha, epsilon, equal_groups, estimator, grouping, mix, rewards, singleton, std"
    )


def test_an_unknown_key_inside_a_named_role_is_refused_with_its_line():
    text = "roles:\n  planner:\n    max_tokens: 8\n    train:\n      temprature: 2\n"
    assert "unknown key 'roles.planner.train.temprature' [line=mine.yaml line 9]" in refusal(text)
    assert "did you mean 'temperature'?" in refusal(text)


def test_an_unknown_key_inside_a_list_is_refused_with_its_line():
    with pytest.raises(ConfigError, match=r"unknown key 'tasks.0.wieght' \[line=r.yaml line 3\]"):
        load(parse_yaml("tasks:\n- name: a\n  wieght: 2\nworkflow: {name: b}\n", "r.yaml"))


def test_an_unknown_key_on_the_command_line_is_refused_with_the_words_typed():
    assert "[line=command line 'update.lrr=1']" in refusal("", overrides=["update.lrr=1"])


def test_a_value_out_of_range_is_refused_with_its_line_and_meaning():
    text = refusal("update:\n  lr: -1\n")
    assert "'update.lr': input should be greater than 0 [line=mine.yaml line 6]" in text
    assert "learning rate at its peak" in text


def test_a_word_that_is_no_choice_is_refused_with_the_choices():
    assert "'tree', 'independent' or 'lookahead'" in refusal("sampling: {rule: treee}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nseed: 2\n", r"key 'seed' is given twice \[line=r.yaml line 2\]"),
        ("- a\n", "a recipe is a mapping"),
        ("a: [1\n", r"not valid YAML.*line=r.yaml line"),
    ],
)
def test_text_that_is_no_recipe_is_refused_with_its_line(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_yaml(text, "r.yaml")


def test_overrides_are_applied_in_order_and_read_as_yaml():
    settings = loaded(
        "", ["update.lr=3e-4", "update.lr=0.5", "tasks.0.weight=2", "evaluate.decodings=[greedy]"]
    ).settings
    assert (settings.update.lr, settings.tasks[0].weight, settings.evaluate.decodings) == (0.5, 2.0, ["greedy"])


@pytest.mark.parametrize("override", ["update.lr", "=3", "tasks.7.name=x", "seed.more=1", "seed=[1"])
def test_an_override_that_means_nothing_is_refused(override):
    with pytest.raises(ConfigError):
        loaded("seed: 3\n", [override])


def test_a_scientific_number_is_a_number_even_in_free_settings():
    marked = parse_yaml("a: {b: 3e-4}\n", "r.yaml")
    apply_overrides(marked, ["a.c=1e3"])
    assert marked.data == {"a": {"b": 3e-4, "c": 1000.0}}


def test_resolving_fills_in_every_role_and_policy_and_is_a_fixed_point():
    found = loaded("role: {max_tokens: 9, train: {temperature: 0.7}}\nroles: {executor: {train: {temperature: 0.5}}}\n")
    settings = resolve(found, ROLES)
    assert settings.cast == {"planner": "planner", "executor": "executor"}
    assert [(role.max_tokens, role.train.temperature) for role in settings.roles.values()] == [(9, 0.7), (9, 0.5)]
    again = load(settings.model_dump(mode="json"))
    assert resolve(again, ROLES) == settings
    assert settings_hash(again.settings) == settings_hash(settings)


@pytest.mark.parametrize(
    ("cast", "expected"),
    [
        ("shared", {"voter": "shared", "judge": "shared"}),
        ("per_role", {"voter": "voter", "judge": "judge"}),
        (
            "per_slot",
            {"voter[0]": "voter_0", "voter[1]": "voter_1", "voter[2]": "voter_2", "judge": "judge"},
        ),
        ("{voter: a, 'voter[1]': b, judge: a}", {"voter": "a", "voter[1]": "b", "judge": "a"}),
    ],
)
def test_every_form_of_cast_becomes_one_explicit_map(cast, expected):
    assert resolve(loaded(f"cast: {cast}\n"), VOTERS).cast == expected


def test_policies_take_what_they_do_not_say_from_the_common_policy():
    settings = resolve(loaded("policy: {kind: lora, rank: 4}\npolicies: {executor: {rank: 16}}\n"), ROLES)
    assert {name: (one.kind, one.rank) for name, one in settings.policies.items()} == {
        "planner": ("lora", 4),
        "executor": ("lora", 16),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "roles: {plannner: {max_tokens: 3}}\n",
            "no role 'plannner' [line=mine.yaml line 5]. To fix it: did you mean 'planner'?",
        ),
        ("cast: {planner: a}\n", "role 'executor' is mapped to no policy [line=mine.yaml line 5]"),
        (
            "cast: {planner: a, exekutor: b}\n",
            "no role 'exekutor' [line=mine.yaml line 5]. To fix it: did you mean 'executor'?",
        ),
        ("policies: {planner: {}, executor: {}, spare: {}}\n", "policy 'spare' serves no role [line=mine.yaml line 5]"),
        (
            "cast: {planner: aa, executor: ab}\npolicies: {aa: {}, ac: {}}\n",
            "there is no policy 'ab' [line=mine.yaml line 5]",
        ),
        ("cast: {planner: a, 'executor[1]': b}\n", "role 'executor' has 1 slots"),
        ("policy: {kind: frozen}\n", "no policy is trainable"),
        ("credit: {grouping: at_gpro}\n", "did you mean 'at_grpo'?"),
        ("credit: {grouping: [role, turn]}\n", "groups without 'tree' compare different tasks"),
        ("credit: {grouping: [tree, roll]}\n", "did you mean 'role'?"),
        ("sampling: {width: 1}\n", "every 'at_grpo' group has one member, and nothing would be learned"),
        ("credit: {rewards: outcome}\n", "the losers of a call never lead to the outcome"),
        ("credit: {mix: additive, estimator: max_rl}\n", "max_rl needs rewards in [0, 1]"),
        ("credit: {alpha: 1.5}\n", "a convex mix needs alpha in [0, 1], not 1.5"),
        (
            "update: {schedule: cosine, warmup: 5}\ntrain: {iterations: 5}\n",
            "the warm-up takes 5 of 5 iterations, a cosine schedule has no end [line=mine.yaml line 5]",
        ),
        ("update: {rows_per_update: 8, updates_per_iteration: 2}\n", "exclude each other"),
        ("cast: shared\nroles: {planner: {trainable: false}}\n", "its policy 'shared' learns from another role"),
    ],
)
def test_case_18_a_contradiction_is_refused_before_any_model_loads(text, message):
    assert message in refusal(text, ROLES)


@pytest.mark.parametrize("cut", ["top_p: 0.9", "top_k: 20", "greedy: true"])
def test_case_23_sampling_below_full_support_is_refused_in_training_with_the_reason(cut):
    text = refusal("roles: {planner: {train: {" + cut + "}}}\n", ROLES)
    assert "role 'planner' would train with" in text
    assert "the ratio of the first pass would not be 1" in text
    resolve(loaded("roles: {planner: {eval: {" + cut + "}}}\n"), ROLES)


def test_a_frozen_role_may_be_greedy_in_training():
    text = "policies: {planner: {kind: frozen}}\nroles: {planner: {train: {greedy: true}}}\n"
    assert resolve(loaded(text), ROLES).roles["planner"].train.greedy


def test_the_hash_sees_every_setting_but_name_and_description():
    first = resolve(loaded(), ROLES)
    assert settings_hash(first) == settings_hash(first.model_copy(update={"name": "other", "description": "x"}))
    assert settings_hash(first) != settings_hash(first.model_copy(update={"seed": 1}))


def test_every_shipped_recipe_is_valid_and_described_in_one_line():
    found = recipes()
    assert {"plan_path", "plan_path_shared", "plan_path_lora", "plan_path_single", "smoke"} <= set(found)
    for name, description in found.items():
        assert 10 < len(description) < 120 and "\n" not in description, name
        assert isinstance(load(name).settings, Settings)


def test_a_recipe_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'plan_path'"):
        load("plan_pth")
    with pytest.raises(ConfigError, match="no recipe file"):
        load("nowhere.yaml")


def test_the_name_of_a_run_is_that_of_its_recipe_unless_given():
    assert load("smoke").settings.name == "smoke"
    assert load("smoke", ["name=mine"]).settings.name == "mine"


def test_the_paper_preset_holds_the_numbers_of_appendix_c1():
    settings = resolve(load("pettingllms_paper"), ROLES)
    assert (settings.model, settings.sampling.width, settings.sampling.trees) == ("Qwen/Qwen3-1.7B", 4, 128)
    update, credit = settings.update, settings.credit
    assert (update.lr, update.weight_decay, update.max_grad_norm, update.kl, update.entropy) == (1e-6, 0.01, 1.0, 0, 0)
    assert (update.updates_per_iteration, credit.mix, credit.alpha, credit.grouping) == (2, "additive", 1.0, "at_grpo")
    for role in settings.roles.values():
        assert (role.max_tokens, role.train.temperature, role.train.top_p, role.train.top_k) == (4096, 1.0, 1.0, 0)


def test_secrets_are_taken_out_by_key_by_shape_and_by_environment():
    data = {
        "hub_token": "anything",
        "note": "use hf_abcdefghijklmnopqrst now",
        "where": "https://me:pw@host/x",
        "copied": "value-of-variable",
        "max_tokens": 12,
        "tokens": [1, 2],
    }
    assert redact(data, environ={"MY_API_KEY": "value-of-variable", "HOME": "/root"}) == {
        "hub_token": "<redacted>",
        "note": "use <redacted> now",
        "where": "https://<redacted>@host/x",
        "copied": "<redacted>",
        "max_tokens": 12,
        "tokens": [1, 2],
    }


def test_nearest_names_what_is_close_and_always_what_there_is():
    assert nearest("zzz", ["b", "a"]) == "Known: a, b"


def test_the_documentation_states_every_key_and_default():
    page = (Path(__file__).parents[1] / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert page.endswith("\n" + key_table()), "put the output of `motet recipes --keys` at the end of docs/recipes.md"


def test_defaults_are_those_of_the_parts_they_configure():
    settings = resolve(loaded(), ROLES)
    assert rollout_settings(settings) == RolloutSettings()
    assert credit_settings(settings) == CreditSettings()
    found = update_settings(settings)
    assert replace(found, total_iterations=None, loss=replace(found.loss, kl={})) == UpdateSettings()


def test_every_grouping_of_credit_can_be_named():
    assert {*GROUPINGS} == {*KEYS, "node"} and GROUP_FIELDS == FIELDS
