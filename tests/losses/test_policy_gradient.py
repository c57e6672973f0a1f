"""The loss by hand, then against a reference written from the formulas."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import ConfigError, UpdateError
from motet.losses.policy_gradient import denominator, policy_loss
from motet.losses.settings import LossSettings, UpdateSettings, check_trainable_sampling
from motet.types import Sampling


def log(*rows):
    return torch.tensor(rows, dtype=torch.float64).log()


def vector(*values):
    return torch.tensor(values, dtype=torch.float64)


def loss_of(policy, sampling, advantages, settings, lengths=None, **kwargs):
    lengths = lengths or [policy.shape[1]] * len(policy)
    mask = torch.arange(policy.shape[1])[None] < torch.tensor(lengths)[:, None]
    loss, stats = policy_loss(policy, sampling, advantages, mask, settings, **kwargs)
    return float(loss), stats


def reference(policy, sampling, advantages, lengths, weights, s):
    """Token by token in plain Python."""
    total, count, rows = 0.0, 0.0, 0.0
    for r, n in enumerate(lengths):
        gaps = [float(policy[r, t] - sampling[r, t]) for t in range(n)]
        for gap in gaps:
            ratio = math.exp(sum(gaps) / n if s.ratio == "sequence" else gap)
            a = float(advantages[r])
            value = -min(ratio * a, min(max(ratio, 1 - s.clip_low), 1 + s.clip_high) * a)
            if s.dual_clip and a < 0:
                value = min(value, s.dual_clip * -a)
            total += weights[r] * value / (n if s.aggregation == "sequence_mean" else 1)
        count, rows = count + weights[r] * n, rows + weights[r] * (n > 0)
    divisor = {"token_mean": count, "sequence_mean": rows, "constant": rows * (s.constant_tokens or 0)}[s.aggregation]
    return total / divisor if divisor else 0.0


def test_clips_apart_above_and_below():
    s = LossSettings(clip_low=0.1, clip_high=0.3)
    one = vector(1.0)
    assert loss_of(log([0.8]), log([0.5]), one, s)[0] == pytest.approx(-1.3)  # ratio 1.6, gain capped at 1.3
    assert loss_of(log([0.25]), log([0.5]), one, s)[0] == pytest.approx(-0.5)  # a fall is never capped when A > 0
    assert loss_of(log([0.25]), log([0.5]), -one, s)[0] == pytest.approx(0.9)  # ratio 0.5, gain capped at 0.9
    assert loss_of(log([0.8]), log([0.5]), -one, s)[0] == pytest.approx(1.6)


def test_dual_clip_bounds_the_loss_of_bad_rows_only():
    s = LossSettings(dual_clip=3.0)
    policy, sampling = log([0.8]), log([0.1])  # ratio 8
    assert loss_of(policy, sampling, vector(-2.0), s)[0] == pytest.approx(6.0)
    assert loss_of(policy, sampling, vector(-2.0), LossSettings())[0] == pytest.approx(16.0)
    assert loss_of(policy, sampling, vector(2.0), s)[0] == pytest.approx(-2.4)


def test_sequence_ratio_is_the_geometric_mean():
    policy, sampling = log([0.8, 0.2]), log([0.2, 0.2])  # ratios 4 and 1, geometric mean 2
    s = LossSettings(ratio="sequence", clip_high=9.0)
    assert loss_of(policy, sampling, vector(1.0), s)[0] == pytest.approx(-2.0)


def test_aggregations_of_a_long_and_a_short_row():
    zeros = torch.zeros(2, 3, dtype=torch.float64)  # ratio 1: a token's loss is -A
    a, lengths = vector(1.0, -2.0), [3, 1]
    assert loss_of(zeros, zeros, a, LossSettings(), lengths)[0] == pytest.approx((-3 + 2) / 4)
    assert loss_of(zeros, zeros, a, LossSettings(aggregation="sequence_mean"), lengths)[0] == pytest.approx(
        (-1 + 2) / 2
    )
    constant = LossSettings(aggregation="constant", constant_tokens=5)
    assert loss_of(zeros, zeros, a, constant, lengths)[0] == pytest.approx((-3 + 2) / 10)


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "constant"])
def test_rows_of_weight_zero_or_without_tokens_change_nothing(aggregation):
    s = LossSettings(aggregation=aggregation, constant_tokens=4)
    policy = torch.zeros(1, 2, dtype=torch.float64)
    alone = loss_of(policy, policy, vector(1.0), s, [2])[0]
    more = torch.cat([policy, torch.full((2, 2), torch.inf, dtype=torch.float64)])
    got = loss_of(more, more.clone(), vector(1.0, 7.0, 7.0), s, [2, 2, 0], weights=vector(1.0, 0.0, 1.0))[0]
    assert got == pytest.approx(alone)


def test_values_under_the_mask_are_ignored_in_value_and_gradient():
    policy = torch.tensor([[-1.0, torch.nan], [-1.0, torch.inf]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, False], [True, False]])
    loss, _ = policy_loss(policy, torch.full((2, 2), -1.0, dtype=torch.float64), vector(1.0, 2.0), mask, LossSettings())
    loss.backward()
    assert policy.grad.tolist() == [[-0.5, 0.0], [-1.0, 0.0]]


def test_statistics_by_hand():
    policy, sampling = log([0.6, 0.5, 0.9]), log([0.4, 0.5, 0.1])
    _, stats = loss_of(policy, sampling, vector(2.0), LossSettings(), [2])
    assert stats.tokens.tolist() == [2.0] and stats.clipped.tolist() == [1.0]
    assert float(stats.kl) == pytest.approx(1.5 - math.log(1.5) - 1)
    assert (float(stats.ratio_min), float(stats.ratio_max)) == pytest.approx((1.0, 1.5))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(UpdateError, match="shapes"):
        policy_loss(torch.zeros(2, 3), torch.zeros(2, 2), torch.zeros(2), torch.ones(2, 3) > 0, LossSettings())


@st.composite
def problems(draw):
    num_rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    real = st.floats(-2, 2)
    grid = st.lists(st.lists(real, min_size=width, max_size=width), min_size=num_rows, max_size=num_rows)
    column = st.lists(real, min_size=num_rows, max_size=num_rows)
    lengths = draw(st.lists(st.integers(0, width), min_size=num_rows, max_size=num_rows))
    weights = draw(st.lists(st.sampled_from([0.0, 1.0, 0.5]), min_size=num_rows, max_size=num_rows))
    aggregation = draw(st.sampled_from(["token_mean", "sequence_mean", "constant"]))
    s = LossSettings(
        clip_low=draw(st.sampled_from([0.1, 0.2])),
        clip_high=draw(st.sampled_from([0.2, 0.5])),
        ratio=draw(st.sampled_from(["token", "sequence"])),
        dual_clip=draw(st.sampled_from([None, 1.5])),
        aggregation=aggregation,
        constant_tokens=7,
    )
    make = lambda values: torch.tensor(values, dtype=torch.float64)
    return make(draw(grid)), make(draw(grid)), make(draw(column)), lengths, weights, s


@given(problems())
@settings(max_examples=150, deadline=None)
def test_loss_equals_the_token_by_token_reference(problem):
    policy, sampling, advantages, lengths, weights, s = problem
    got, _ = loss_of(policy, sampling, advantages, s, lengths, weights=vector(*weights))
    assert got == pytest.approx(reference(policy, sampling, advantages, lengths, weights, s), abs=1e-12)


def test_micro_batches_with_the_whole_denominator_add_up():
    generator = torch.Generator().manual_seed(0)
    policy, sampling = (torch.randn(5, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    advantages, weights = torch.randn(5, generator=generator, dtype=torch.float64), vector(1, 0, 1, 1, 1)
    mask = torch.arange(3)[None] < torch.tensor([3, 2, 1, 0, 2])[:, None]
    for aggregation in ("token_mean", "sequence_mean", "constant"):
        s = LossSettings(aggregation=aggregation, constant_tokens=9)
        whole, _ = policy_loss(policy, sampling, advantages, mask, s, weights=weights)
        total = denominator(mask.sum(1), weights, s)
        cuts = [slice(0, 2), slice(2, 5)]
        parts = [
            policy_loss(policy[c], sampling[c], advantages[c], mask[c], s, weights=weights[c], total=total)[0]
            for c in cuts
        ]
        assert float(sum(parts)) == pytest.approx(float(whole), abs=1e-14)


def test_learning_rates_by_hand():
    s = UpdateSettings(learning_rate=1.0, schedule="linear", warmup_iterations=2, total_iterations=6)
    assert [s.learning_rate_at(t) for t in range(8)] == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    s = UpdateSettings(learning_rate=2.0, schedule="cosine", total_iterations=4, min_learning_rate_frac=0.5)
    assert [s.learning_rate_at(t) for t in (0, 2, 4, 9)] == pytest.approx([2.0, 1.5, 1.0, 1.0])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LossSettings(clip_low=1.0),
        lambda: LossSettings(clip_high=-0.1),
        lambda: LossSettings(dual_clip=1.0),
        lambda: LossSettings(aggregation="constant"),
        lambda: LossSettings(aggregation="mean"),
        lambda: LossSettings(ratio="row"),
        lambda: LossSettings(kl_estimator="k4"),
        lambda: LossSettings(kl_form="both"),
        lambda: LossSettings(kl={"coder": -1.0}),
        lambda: UpdateSettings(epochs=0),
        lambda: UpdateSettings(rows_per_update=0),
        lambda: UpdateSettings(rows_per_update=4, updates_per_iteration=2),
        lambda: UpdateSettings(schedule="cosine"),
        lambda: UpdateSettings(on_nonfinite="hope"),
    ],
)
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ConfigError):
        wrong()


@pytest.mark.parametrize(
    ("sampling", "says"),
    [
        (Sampling(top_k=20), "top_k=20"),
        (Sampling(top_p=0.9), "top_p=0.9"),
        (Sampling(greedy=True), "greedy"),
        (Sampling(temperature=0.0), "temperature"),
    ],
)
def test_case_23_sampling_that_cuts_the_support_is_refused_in_training(sampling, says):
    with pytest.raises(ConfigError, match=says) as caught:
        check_trainable_sampling(sampling, "planner")
    assert caught.value.where["role"] == "planner"
