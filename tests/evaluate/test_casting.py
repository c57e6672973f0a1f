from __future__ import annotations

import pytest

from motet.errors import ConfigError
from motet.evaluate.casting import PolicyFlag, alone, decoded, mixed, parse_policy, parse_swap, recast, swap
from motet.policies.cast import Cast, PolicySpec
from motet.types import Sampling

ROLES = {"planner": 1, "executor": 1, "judge": 1}


@pytest.fixture
def team() -> Cast:
    return Cast.per_role(ROLES, PolicySpec("tiny"), eval=Sampling(temperature=0.6, max_tokens=9, stop=("\n",)))


def served(cast: Cast) -> dict[str, str]:
    return {role: cast.policy(role).name for role in cast.roles}


def test_a_pair_exchanges_two_roles_and_leaves_the_third(team):
    found = served(swap(team, [("planner", "executor")]))
    assert found == {"planner": "executor", "executor": "planner", "judge": "judge"}


def test_without_pairs_each_role_is_answered_by_the_next(team):
    assert served(swap(team)) == {"planner": "executor", "executor": "judge", "judge": "planner"}


def test_a_swap_names_each_role_once_and_knows_it(team):
    with pytest.raises(ConfigError, match="'planner' is swapped twice"):
        swap(team, [("planner", "executor"), ("planner", "judge")])
    with pytest.raises(ConfigError, match=r"no role 'planer'.*write 'planner'"):
        swap(team, [("planer", "executor")])
    with pytest.raises(ConfigError, match="nothing to swap"):
        swap(Cast.per_role({"solver": 1}, PolicySpec("tiny")))


def test_alone_puts_one_policy_everywhere_and_drops_the_others(team):
    cast = alone(team, "executor")
    assert served(cast) == dict.fromkeys(ROLES, "executor") and list(cast.policies) == ["executor"]


def test_a_swapped_place_keeps_its_own_sampling(team):
    other = Cast.per_role(ROLES, PolicySpec("tiny"), eval={"planner": Sampling(max_tokens=3)})
    assert swap(other, [("planner", "executor")]).sampling("planner", "eval").max_tokens == 3


def test_slots_borrow_slot_by_slot_and_slot_0_beyond():
    voters = Cast.per_slot({"voter": 3, "judge": 2}, PolicySpec("tiny"))
    cast = recast(voters, {"voter": (voters, "judge")})
    assert [cast.policy("voter", slot).name for slot in range(3)] == ["judge_0", "judge_1", "judge_0"]


def test_two_checkpoints_under_one_name_are_refused(team):
    other = Cast.per_role(ROLES, PolicySpec("other", kind="lora", rank=4))
    with pytest.raises(ConfigError, match=r"two different policies are named 'planner'.*planner@base"):
        recast(team, {"planner": (other, "planner")})


def test_greedy_takes_the_argmax_and_sampled_keeps_the_evaluation_sampling(team):
    assert decoded(team, "sampled").sampling("judge", "eval") == Sampling(0.6, 9, ("\n",))
    assert decoded(team, "greedy").sampling("judge", "eval") == Sampling(0.6, 9, ("\n",), greedy=True)
    with pytest.raises(ConfigError, match="'beam'"):
        decoded(team, "beam")


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("planner=long", PolicyFlag("planner", "long", "planner", "final")),
        ("planner=runs/a-b.2", PolicyFlag("planner", "runs/a-b.2", "planner", "final")),
        ("planner=long:scout", PolicyFlag("planner", "long", "scout", "final")),
        ("planner=long@peak", PolicyFlag("planner", "long", "planner", "peak")),
        ("planner=long:scout@base", PolicyFlag("planner", "long", "scout", "base")),
        ("planner=@base", PolicyFlag("planner", "", "planner", "base")),
        ("planner=:executor", PolicyFlag("planner", "", "executor", "final")),
    ],
)
def test_a_policy_flag_is_read_in_every_form(text, flag):
    assert parse_policy(text) == flag


@pytest.mark.parametrize("text", ["planner", "planner=", "=long", "", "planner=long@", "planner=long@best@x"])
def test_a_broken_policy_flag_is_refused_with_its_form(text):
    with pytest.raises(ConfigError, match=r"ROLE=RUN\[:ROLE2\]"):
        parse_policy(text)


def test_an_unknown_checkpoint_is_refused():
    with pytest.raises(ConfigError, match=r"no checkpoint is called 'best'.*base, peak or final"):
        parse_policy("planner=long@best")


@pytest.mark.parametrize("text", ["planner", "planner=", "=executor", "planner=planner"])
def test_a_broken_swap_flag_is_refused(text):
    with pytest.raises(ConfigError, match="planner=executor"):
        parse_swap(text)


def test_mixed_fills_places_from_other_runs_and_names_the_run_that_lacks_a_role(team):
    scouts = Cast.explicit({"scout": 1}, [PolicySpec("scout@long")], {"scout": "scout@long"})
    cast = mixed(team, {parse_policy("planner=long:scout"): scouts})
    assert served(cast) == {"planner": "scout@long", "executor": "executor", "judge": "judge"}
    with pytest.raises(ConfigError, match="run long has no role 'scoot'"):
        mixed(team, {parse_policy("planner=long:scoot"): scouts})
    with pytest.raises(ConfigError, match="names role 'planner' twice"):
        mixed(team, {parse_policy("planner=long:scout"): scouts, parse_policy("planner=long:scout@base"): scouts})
