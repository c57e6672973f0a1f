"""The mix of team and local, and which rewards a rule hands out."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.credit.advantages import estimate
from motet.credit.rewards import convex_alpha, mix, reward_parts
from motet.errors import CreditError

few = settings(max_examples=40, deadline=None)
unit = st.floats(0.0, 1.0)


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, 0.25), (0.0, 1.0), (0.5, 0.625), (0.7, 0.475)])
def test_convex_mix_weighs_team_with_alpha_and_local_with_the_rest(alpha, expected):
    assert mix(0.25, 1.0, alpha) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, 1.25), (0.0, 1.0), (2.0, 1.5)])
def test_additive_mix_adds_alpha_team_to_local(alpha, expected):
    assert mix(0.25, 1.0, alpha, "additive") == expected


@pytest.mark.parametrize("form", ["convex", "additive"])
def test_a_missing_part_leaves_the_other_alone_and_unweighted(form):
    assert mix(0.25, None, 0.7, form) == 0.25
    assert mix(None, 0.25, 0.7, form) == 0.25


@pytest.mark.parametrize(
    ("team", "local", "alpha", "form", "message"),
    [
        (None, None, 0.5, "convex", "neither a team nor a local reward"),
        (0.5, None, 0.0, "convex", "takes the local reward alone, and there is none"),
        (None, 0.5, 1.0, "convex", "takes the team reward alone, and there is none"),
        (0.5, None, 0.0, "additive", "takes the local reward alone, and there is none"),
        (math.nan, 0.5, 0.5, "convex", "the mixed reward is nan"),
    ],
)
def test_a_reward_that_does_not_exist_is_refused_and_not_invented(team, local, alpha, form, message):
    with pytest.raises(CreditError, match=message):
        mix(team, local, alpha, form)


def test_a_part_of_weight_zero_may_be_missing():
    assert mix(0.25, None, 1.0) == 0.25
    assert mix(None, 0.25, 0.0) == 0.25
    assert mix(None, 0.25, 0.0, "additive") == 0.25


@pytest.mark.parametrize(
    ("alpha", "form"), [(1.01, "convex"), (-0.1, "convex"), (-0.1, "additive"), (math.nan, "additive")]
)
def test_alpha_outside_its_domain_is_refused(alpha, form):
    with pytest.raises(CreditError, match="alpha is"):
        mix(0.5, 0.5, alpha, form)


def test_an_unknown_mix_is_refused_with_the_known_ones():
    with pytest.raises(CreditError, match=r"unknown mix 'sum'.*convex, additive"):
        mix(0.5, 0.5, 0.5, "sum")


def test_convex_alpha_of_the_paper_is_one_half():
    assert [convex_alpha(a) for a in (0.0, 1.0, 3.0)] == [0.0, 0.5, 0.75]


@few
@given(unit, unit, st.floats(0.0, 20.0))
def test_additive_is_one_plus_alpha_times_convex_at_alpha_over_one_plus_alpha(team, local, alpha):
    assert mix(team, local, alpha, "additive") == pytest.approx((1 + alpha) * mix(team, local, convex_alpha(alpha)))


@pytest.mark.parametrize("estimator", ["grpo", "max_rl"])
@few
@given(
    pairs=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=8), alpha=st.floats(0.1, 5.0)
)
def test_additive_and_convex_are_one_axis_under_scale_free_estimators(estimator, pairs, alpha):
    additive = [mix(team / 20, local / 20, alpha, "additive") for team, local in pairs]
    convex = [mix(team / 20, local / 20, convex_alpha(alpha)) for team, local in pairs]
    if 0.0 < max(convex) - min(convex) < 1e-6:
        return  # differences by rounding only: nothing to compare
    assert estimate(additive, estimator, epsilon=0.0) == pytest.approx(
        estimate(convex, estimator, epsilon=0.0), abs=1e-7
    )


def test_mean_only_keeps_the_factor_between_the_two_forms():
    additive = [mix(team, 0.5, 1.0, "additive") for team in (1.0, 0.0)]
    convex = [mix(team, 0.5, 0.5) for team in (1.0, 0.0)]
    assert estimate(additive, "mean_only") == [0.5, -0.5]
    assert estimate(convex, "mean_only") == [0.25, -0.25]


def test_score_hands_out_what_was_scored(call, episode):
    speaking = call("coder", [(0.5, 0.25), (None, 1.0)])
    played = episode([speaking], team=1.0)
    assert reward_parts(played, speaking, 0, "score") == (0.5, 0.25)
    assert reward_parts(played, speaking, 1, "score") == (None, 1.0)


def test_outcome_reaches_every_call_of_an_independent_episode_and_keeps_local(call, episode):
    first, second = call("coder", [(0.5, 0.25)]), call("tester", [None])
    played = episode([first, second], team=0.75)
    assert reward_parts(played, first, 0, "outcome") == (0.75, 0.25)
    assert reward_parts(played, second, 0, "outcome") == (0.75, None)


def test_outcome_is_refused_by_name_where_a_call_has_losers(call, episode):
    speaking = call("coder", [0.5, 0.25], turn=2)
    with pytest.raises(CreditError, match=r"'outcome' would pay 1 candidates.*task=t0.*coder\[0\] turn 2.*independent"):
        reward_parts(episode([speaking], team=1.0), speaking, 0, "outcome")


def test_outcome_without_an_outcome_is_refused(call, episode):
    speaking = call("coder", [0.5])
    with pytest.raises(CreditError, match="no outcome"):
        reward_parts(episode([speaking]), speaking, 0, "outcome")


def test_score_never_takes_the_outcome_for_an_unscored_call(call, episode):
    speaking = call("coder", [None])
    with pytest.raises(CreditError, match=r"has no reward.*coder\[0\] turn 0.*settle"):
        reward_parts(episode([speaking], team=1.0), speaking, 0, "score")
