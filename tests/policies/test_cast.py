from __future__ import annotations

import pytest

from motet.errors import ConfigError
from motet.policies.cast import Cast, PolicySpec
from motet.types import Sampling

ROLES = {"plan": 1, "planner": 1, "voter": 3}


def test_one_role_name_may_begin_another():
    cast = Cast.per_role(ROLES, PolicySpec("base"))
    assert [cast.policy(role).name for role in ROLES] == ["plan", "planner", "voter"]


def test_shared_per_role_per_slot_and_any_mix():
    base = PolicySpec("base", base="tiny-m")
    assert {Cast.shared(ROLES, base).policy("voter", i).name for i in range(3)} == {"base"}
    assert sorted(Cast.per_slot(ROLES, base).policies) == ["plan", "planner", "voter_0", "voter_1", "voter_2"]
    assert Cast.per_slot(ROLES, base).policy("voter", 2) == PolicySpec("voter_2", base="tiny-m")
    mixed = Cast.explicit(
        ROLES,
        [base, PolicySpec("adapter", "lora", rank=4), PolicySpec("judge", "remote", engine="openai")],
        {"voter[1]": "adapter", "voter": "base", "plan": "judge", ("planner", 0): "adapter"},
    )
    assert mixed.table() == [
        ("plan", "judge", "openai"), ("planner", "adapter", "local"),
        ("voter[0]", "base", "local"), ("voter[1]", "adapter", "local"), ("voter[2]", "base", "local"),
    ]  # fmt: skip


def test_per_role_takes_unequal_policies():
    specs = {
        "plan": PolicySpec("x", "lora", rank=4),
        "planner": PolicySpec("y", "lora", rank=16),
        "voter": PolicySpec("z", "frozen"),
    }
    cast = Cast.per_role(ROLES, specs)
    assert [(s.name, s.rank, s.trainable) for s in cast.policies.values()] == [
        ("plan", 4, True), ("planner", 16, True), ("voter", None, False),
    ]  # fmt: skip


def test_sampling_per_role_in_training_and_in_evaluation_apart():
    hot, cold = Sampling(temperature=1.5), Sampling(greedy=True)
    cast = Cast.shared(ROLES, PolicySpec("p"), train={"plan": hot}, eval=cold)
    assert cast.sampling("plan", "train") == hot
    assert cast.sampling("planner", "train") == Sampling()
    assert {cast.sampling(role, "eval") for role in ROLES} == {cold}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("p")], {"plan": "p", "planer": "p", "voter": "p"}),
            "unknown role 'planer'.*did you mean 'planner'",
        ),
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("p")], {"plan": "p", "voter": "p"}),
            r"no policy serves planner\[0\]",
        ),
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("p")], {"plan": "p", "planner": "p", "voter[0]": "p"}),
            r"no policy serves voter\[1\], voter\[2\]",
        ),
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("p"), PolicySpec("spare")], dict.fromkeys(ROLES, "p")),
            "no role uses the policy spare",
        ),
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("policy")], dict.fromkeys(ROLES, "polcy")),
            r"unknown policy 'polcy' \[seat=plan\[0\]\].*did you mean 'policy'",
        ),
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("p")], {**dict.fromkeys(ROLES, "p"), "voter[3]": "p"}),
            "'voter' has no slot 3",
        ),
        (
            lambda: Cast.explicit(ROLES, [PolicySpec("p"), PolicySpec("p", rank=3)], dict.fromkeys(ROLES, "p")),
            "two policies are named 'p'",
        ),
        (lambda: Cast.per_role(ROLES, {"plan": PolicySpec("p")}), r"no policy serves planner\[0\], voter"),
        (
            lambda: Cast.shared(ROLES, PolicySpec("p"), train={"votr": Sampling()}),
            "sampling for the unknown role 'votr'.*phase=train.*'voter'",
        ),
        (lambda: Cast.shared({"my role": 1}, PolicySpec("p")), "'my role' is no role name"),
        (lambda: Cast.shared({"a": 0}, PolicySpec("p")), "'a' has 0 slots"),
        (lambda: PolicySpec("p", "lora"), "needs a rank.*policy=p"),
        (lambda: PolicySpec("p", "lor"), "unknown kind 'lor'"),
    ],
)
def test_case_18_a_wrong_cast_is_refused_with_the_nearest_name(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_looking_up_what_is_not_there_is_named():
    cast = Cast.shared(ROLES, PolicySpec("p"))
    for look, message in [
        (lambda: cast.policy("vot"), "unknown role 'vot'.*'voter'"),
        (lambda: cast.policy("voter", 3), "no slot 3.*0 .. 2"),
        (lambda: cast.sampling("pla", "train"), "unknown role 'pla'.*'plan'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            look()
