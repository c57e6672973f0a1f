"""The learner: gradients against a reference, one optimiser and clock per policy, nothing bad in the weights."""

import copy
import math
from dataclasses import replace

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM
from update_fixtures import SIZES, TrueDouble, make_model, plain_logprobs, row, same, some_rows, weights

from motet.errors import ConfigError, UpdateError
from motet.losses.settings import LossSettings, UpdateSettings
from motet.policies import lora
from motet.policies.batching import parts_by_count, parts_by_group
from motet.policies.update import Learner, PolicyModel

QUIET = {"learning_rate": 1e-2, "max_grad_norm": None, "ratio_tolerance": 1e-5}


def learner_of(model, name="p", loss=None, **given):
    return Learner([PolicyModel(name, model)], UpdateSettings(**QUIET | given, loss=loss or LossSettings()))


def reference_gradients(model, rows, s, frozen=None):
    """Ten lines: every row by itself, every token in the open."""
    model.zero_grad(set_to_none=True)
    rows = [r for r in rows if r.weight > 0 and r.completion_ids]
    count = sum(len(r.completion_ids) for r in rows)
    divisor = {"token_mean": count, "sequence_mean": len(rows), "constant": len(rows) * (s.constant_tokens or 0)}
    for r in rows:
        logp = plain_logprobs(model, r.prompt_ids, r.completion_ids, r.temperature)
        gap = logp - torch.tensor(r.sampling_logprobs, dtype=logp.dtype)
        ratio = torch.exp(gap.mean().expand_as(gap) if s.ratio == "sequence" else gap)
        loss = -torch.minimum(ratio * r.advantage, ratio.clamp(1 - s.clip_low, 1 + s.clip_high) * r.advantage)
        if s.kl_coefficient(r.role):
            d = plain_logprobs(frozen, r.prompt_ids, r.completion_ids, r.temperature).detach() - logp
            loss = loss + s.kl_coefficient(r.role) * (torch.exp(d) - d - 1)
        length = len(r.completion_ids) if s.aggregation == "sequence_mean" else 1
        (loss.sum() / length / divisor[s.aggregation]).backward()
    return {n: p.grad.clone() for n, p in model.named_parameters()}


class Caught(torch.optim.AdamW):
    """An optimiser that keeps what it is given."""

    def step(self, closure=None):
        self.caught = [p.grad.clone() for p in self.param_groups[0]["params"]]
        return super().step(closure)


def caught_gradients(learner, policy, rows):
    learned = learner.policy(policy)
    learned.optimizer = Caught(learned.parameters, lr=1e-2)
    with TrueDouble():
        learner.update(policy, rows)
    return dict(zip(learned.named_parameters, learned.optimizer.caught, strict=True))


@pytest.mark.parametrize(
    "loss",
    [
        LossSettings(),
        LossSettings(aggregation="sequence_mean", clip_high=0.28),
        LossSettings(aggregation="constant", constant_tokens=6),
        LossSettings(ratio="sequence"),
        LossSettings(kl={"r": 0.3}),
    ],
    ids=["token_mean", "sequence_mean", "constant", "sequence", "anchor"],
)
@pytest.mark.parametrize("budget", [10_000, 12])
def test_gradients_equal_a_row_by_row_reference_however_batches_are_cut(loss, budget):
    sampler, model = make_model(seed=1), make_model(seed=0)
    rows = [replace(r, policy_version=9) for r in some_rows(sampler)]  # off-policy, so that ratios differ and clip
    rows += [row((1, 2), (), 5.0), row((1, 2), (3,), 5.0, weight=0.0)]
    frozen = make_model(seed=2)
    learner = Learner(
        [PolicyModel("p", model, reference=frozen)],
        UpdateSettings(**QUIET, micro_batch_tokens=budget, allow_stale=True, loss=loss),
    )
    with TrueDouble():
        want = reference_gradients(model, rows, loss, frozen)
    got = caught_gradients(learner, "p", rows)
    largest = max(float(g.abs().max()) for g in want.values())
    assert max(float((got[n] - want[n]).abs().max()) for n in want) <= 1e-10 * largest


def test_a_shared_policy_receives_the_sum_of_its_roles():
    model = make_model()
    loss = LossSettings(aggregation="constant", constant_tokens=4)
    roles = {role: some_rows(model, roles=(role,)) for role in ("planner", "executor")}
    roles["executor"] = [replace(r, advantage=-2 * r.advantage) for r in roles["executor"]]
    parts = {
        role: caught_gradients(learner_of(copy.deepcopy(model), loss=loss), "p", rows) for role, rows in roles.items()
    }
    both = caught_gradients(learner_of(copy.deepcopy(model), loss=loss), "p", roles["planner"] + roles["executor"])
    for name, gradient in both.items():  # the divisor counts the rows of both
        want = (parts["planner"][name] + parts["executor"][name]) / 2
        torch.testing.assert_close(gradient, want, rtol=1e-9, atol=1e-12)


def test_an_update_raises_good_answers_and_lowers_bad_ones():
    model = make_model()
    good, bad = row((1, 2), (3, 4), 1.0, model=model), row((1, 2), (5, 6), -1.0, model=model)
    learner = learner_of(model)
    metrics = learner.update("p", [good, bad])
    for r, sign in ((good, 1), (bad, -1)):
        gap = plain_logprobs(model, r.prompt_ids, r.completion_ids).sum().item() - sum(r.sampling_logprobs)
        assert sign * gap > 0.01
    assert metrics["update/updates"] == 1 and metrics["update/first_ratio_gap"] < 1e-9
    assert metrics["update/loss"] == pytest.approx(0.0, abs=1e-9)  # ratio 1: minus the mean advantage
    assert (metrics["update/ratio_min/r"], metrics["update/ratio_max/r"]) == pytest.approx((1.0, 1.0))
    assert learner.version("p") == 1


def test_an_error_in_a_later_step_leaves_the_version_at_the_steps_taken():
    model = make_model()
    rows = some_rows(model)
    learner = learner_of(model, rows_per_update=5)
    with pytest.raises(UpdateError, match="not finite"):
        learner.update("p", [*rows[:-1], replace(rows[-1], advantage=math.nan)])
    assert learner.version("p") == 1 and not same(weights(model), weights(make_model()))


def test_dropping_equal_groups_changes_no_denominator():
    model = make_model()
    rows = some_rows(model)
    dead = [replace(r, weight=0.0, advantage=0.0) for r in some_rows(model, roles=("q",))]
    alone, with_dead = copy.deepcopy(model), copy.deepcopy(model)
    learner_of(alone).update("p", rows)
    metrics = learner_of(with_dead).update("p", rows + dead)
    assert same(weights(alone), weights(with_dead))
    assert metrics["update/rows_left_out"] == 9 and "update/rows/q" not in metrics


def test_truncated_answers_are_masked_only_when_set():
    model = make_model()
    rows = some_rows(model)
    cut = [replace(rows[0], truncated=True), *rows[1:]]
    models = [copy.deepcopy(model) for _ in range(3)]
    learner_of(models[0], mask_truncated=True).update("p", cut)
    learner_of(models[1], mask_truncated=True).update("p", rows[1:])
    learner_of(models[2]).update("p", cut)
    assert same(weights(models[0]), weights(models[1]))
    assert not same(weights(models[0]), weights(models[2]))


def test_case_21_without_signal_no_step_is_taken_and_it_is_stated():
    model = make_model()
    learner = learner_of(model)
    learner.update("p", some_rows(model))
    learned, before = learner.policy("p"), weights(model)
    moments = {k: v.clone() for k, v in learned.optimizer.state[learned.parameters[0]].items()}
    for rows in ([], [replace(r, advantage=0.0, policy_version=1) for r in some_rows(model)]):
        metrics = learner.update("p", rows)
        assert (metrics["update/skipped"], metrics["update/updates"]) == (1, 0)
    assert same(before, weights(model)) and learner.version("p") == 1 and learned.ticks == 3
    after = learned.optimizer.state[learned.parameters[0]]
    assert all(torch.equal(moments[k], after[k]) for k in moments)


def test_case_23_a_first_pass_ratio_off_one_is_refused_by_policy_and_role():
    model = make_model()
    rows = some_rows(model, roles=("planner", "coder"))
    logprobs = rows[-1].sampling_logprobs
    wrong = [*rows[:-1], replace(rows[-1], sampling_logprobs=(logprobs[0] + 0.01, *logprobs[1:]))]
    learner, before = learner_of(model), weights(model)
    with pytest.raises(UpdateError, match=r"off 1 by 0\.00995") as caught:
        learner.update("p", wrong)
    assert caught.value.where["policy"] == "p" and caught.value.where["role"] == "coder"
    assert same(before, weights(model)) and learner.version("p") == 0
    learner_of(model, ratio_tolerance=None).update("p", wrong)


def test_later_passes_may_leave_the_ratio_of_one():
    model = make_model()
    metrics = learner_of(model, epochs=3, learning_rate=0.05).update("p", some_rows(model))
    assert metrics["update/updates"] == 3
    assert metrics["update/first_ratio_gap"] < 1e-9 < 1e-3 < metrics["update/ratio_max"] - 1
    assert metrics["update/clip_frac"] > 0 and metrics["update/approx_kl"] > 0


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_nothing_that_is_not_finite_reaches_weights_or_optimiser(poison):
    model = make_model()
    rows = some_rows(model)
    bad = [replace(rows[0], advantage=poison), *rows[1:]]
    learner, before = learner_of(model), weights(model)
    with pytest.raises(UpdateError, match="not finite"):
        learner.update("p", bad)
    skipping = learner_of(model, on_nonfinite="skip")
    metrics = skipping.update("p", bad)
    assert (metrics["update/nonfinite"], metrics["update/updates"], skipping.version("p")) == (1, 0, 0)
    assert same(before, weights(model)) and not skipping.policy("p").optimizer.state
    assert all(p.grad is None for p in model.parameters())
    assert skipping.update("p", rows)["update/updates"] == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"policy": "q"}, "belongs to policy 'q'"),
        ({"policy_version": 3}, "sampled by version 3"),
        ({"sampling_logprobs": (0.0,)}, "1 sampling log-probs"),
        ({"weight": math.nan}, "weight nan"),
    ],
)
def test_rows_that_contradict_their_policy_are_refused(change, says):
    model = make_model()
    with pytest.raises(UpdateError, match=says) as caught:
        learner_of(model).update("p", [replace(row((1, 2), (3, 4), model=model), **change)])
    assert caught.value.where["role"] == "r"


def test_stale_rows_are_taken_when_allowed_and_escape_the_ratio_check():
    model = make_model()
    rows = [replace(r, policy_version=7) for r in some_rows(make_model(seed=1))]
    assert learner_of(model, allow_stale=True).update("p", rows)["update/updates"] == 1


def test_gradient_clipping_bounds_the_norm_and_reports_the_one_before():
    model = make_model()
    learner = learner_of(model, max_grad_norm=0.01)
    learned = learner.policy("p")
    learned.optimizer = Caught(learned.parameters, lr=1e-2)
    metrics = learner.update("p", some_rows(model))
    norm = math.sqrt(sum(float((g**2).sum()) for g in learned.optimizer.caught))
    assert norm == pytest.approx(0.01, rel=1e-3) and metrics["update/grad_norm"] > 0.1


def test_entropy_bonus_raises_entropy():
    model = make_model()
    rows = [replace(r, advantage=0.0) for r in some_rows(model)]
    learner = learner_of(model, loss=LossSettings(entropy=1.0))
    first = learner.update("p", rows)["update/entropy"]
    rows = [replace(r, policy_version=1) for r in rows]
    assert (
        learner.update("p", [replace(r, sampling_logprobs=r.sampling_logprobs) for r in _resampled(model, rows)])[
            "update/entropy"
        ]
        > first
    )


def _resampled(model, rows):
    with torch.no_grad():
        return [
            replace(r, sampling_logprobs=tuple(plain_logprobs(model, r.prompt_ids, r.completion_ids).tolist()))
            for r in rows
        ]


def test_anchor_of_a_full_policy_is_its_weights_at_the_start_and_holds_one_role_only():
    model = make_model()
    rows = some_rows(model, roles=("a", "b"))
    learner = learner_of(model, loss=LossSettings(kl={"a": 0.5}))
    assert learner.update("p", rows)["update/anchor_kl/a"] == pytest.approx(0.0, abs=1e-12)
    later = [replace(r, policy_version=1) for r in _resampled(model, rows)]
    metrics = learner.update("p", later)
    assert metrics["update/anchor_kl/a"] > 1e-6
    reference = learner.policy("p").reference
    assert reference is not None and same(weights(reference), weights(make_model()))


# --- how many updates -----------------------------------------------------------------------------------------------


def test_the_schedule_ticks_once_per_iteration_whatever_the_rows():
    settings = {"warmup_iterations": 4, "learning_rate": 1.0e-3}
    one, many = (
        learner_of(make_model(), **settings, **extra) for extra in ({}, {"epochs": 2, "updates_per_iteration": 2})
    )
    rates = []
    for learner, roles in ((one, ("a",)), (many, ("a", "b", "c"))):
        learned, found = learner.policy("p"), []
        for _ in range(3):
            rows = some_rows(learned.model, roles=roles, policy_version=learner.version("p"))
            found.append(learner.update("p", rows)["update/lr"])
        found.append(learner.update("p", [])["update/lr"])
        rates.append(found)
    assert rates[0] == rates[1] == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, 1e-3])


@pytest.mark.parametrize("num_slots", [1, 3])
def test_three_slots_of_a_role_get_as_many_updates_as_one(num_slots):
    model = make_model()
    rows = [
        replace(r, slot=slot, group=(*r.group, slot), node=(*r.node, slot))
        for slot in range(num_slots)
        for r in some_rows(model, num_prompts=4)
    ]
    metrics = learner_of(model, updates_per_iteration=2).update("p", rows)
    assert (metrics["update/updates"], metrics["update/planned"]) == (2, 2)
    assert metrics["update/rows_per_update"] == num_slots * 6


def test_rows_per_update_gives_more_updates_to_more_rows():
    model = make_model()
    counts = []
    for num_slots in (1, 3):
        rows = [replace(r, slot=s) for s in range(num_slots) for r in some_rows(model)]  # 9 per slot
        metrics = learner_of(copy.deepcopy(model), rows_per_update=9).update("p", rows)
        counts.append((metrics["update/updates"], metrics["update/rows_per_update"]))
    assert counts == [(1, 9), (3, 9)]


def test_case_22_an_uneven_batch_is_neither_padded_nor_cut():
    model = make_model()
    rows = some_rows(model, roles=("a", "b"), num_prompts=3, width=3)[:17]
    for parts in (parts_by_group(rows, 4), parts_by_count(17, 5)):
        assert sorted(i for part in parts for i in part) == list(range(17)) and all(parts)
    for given in ({"updates_per_iteration": 4}, {"rows_per_update": 5}):
        metrics = learner_of(copy.deepcopy(model), **given).update("p", rows)
        assert (metrics["update/rows"], metrics["update/updates"]) == (17, 4)


def test_groups_stay_whole_and_roles_are_spread():
    model = make_model()
    rows = some_rows(None, roles=("planner", "coder"), num_prompts=4, width=3) if model else []
    parts = parts_by_group(rows, 2)
    for part in parts:
        assert sorted(rows[i].role for i in part) == ["coder"] * 6 + ["planner"] * 6
    owner = {i: n for n, part in enumerate(parts) for i in part}
    assert all(len({owner[i] for i, r in enumerate(rows) if r.group == g}) == 1 for g in {r.group for r in rows})


def test_fewer_groups_than_updates_give_fewer_updates():
    assert parts_by_group(some_rows(None, num_prompts=2), 5) == [[0, 1, 2], [3, 4, 5]]


def test_metrics_count_rows_and_tokens_by_role():
    model = make_model()
    rows = [row((1,), (2, 3), role="a", model=model), row((1,), (4,), -1.0, role="b", model=model)]
    metrics = learner_of(model).update("p", rows)
    assert (metrics["update/rows"], metrics["update/tokens"], metrics["update/packed_tokens"]) == (2, 3, 2)
    assert (metrics["update/rows/a"], metrics["update/tokens/a"], metrics["update/tokens/b"]) == (1, 2, 1)


# --- several policies -----------------------------------------------------------------------------------------------


def test_updating_one_full_policy_leaves_the_other_bit_identical():
    models = {"a": make_model(seed=1), "b": make_model(seed=2)}
    learner = Learner([PolicyModel(n, m) for n, m in models.items()], UpdateSettings(**QUIET))
    before = {n: weights(m) for n, m in models.items()}
    learner.update("a", some_rows(models["a"], policy="a"))
    assert not same(before["a"], weights(models["a"])) and same(before["b"], weights(models["b"]))
    assert (learner.version("a"), learner.version("b")) == (1, 0)
    assert not learner.policy("b").optimizer.state


def test_two_policies_on_the_same_weights_are_refused():
    model = make_model()
    with pytest.raises(ConfigError, match="share a trainable parameter"):
        Learner([PolicyModel("a", model), PolicyModel("b", model)])
    with pytest.raises(ConfigError, match="two policies are named"):
        Learner([PolicyModel("a", make_model()), PolicyModel("a", make_model())])
    lora.add_adapter(model, "x", 2)
    with pytest.raises(ConfigError, match="has adapters on it"):
        Learner([PolicyModel("a", model)])


def test_packing_that_is_refused_is_said_aloud_and_resolved():
    config = MistralConfig(**SIZES, num_attention_heads=4, num_key_value_heads=2, bos_token_id=0, eos_token_id=0)
    model = MistralForCausalLM(config).eval()
    with pytest.warns(UserWarning, match="MistralForCausalLM: not packed"):
        learner = Learner([PolicyModel("p", model)])
    resolved = learner.resolved()["p"]
    note = "MistralForCausalLM: not packed, its layers are sliding_attention"
    assert (resolved["packed"], resolved["notes"]) == (False, [note])
    assert learner.update("p", some_rows(model))["update/updates"] == 1


def test_resolved_names_kind_size_and_settings():
    model = make_model()
    resolved = learner_of(model).resolved()["p"]
    assert (resolved["kind"], resolved["packed"], resolved["logits"]) == ("full", True, "hidden")
    assert resolved["trainable_parameters"] == sum(p.numel() for p in model.parameters())
    assert resolved["settings"]["loss"]["clip_low"] == 0.2


def test_the_same_update_twice_gives_the_same_bits():
    models = [make_model(dtype=torch.float32) for _ in range(2)]
    for model in models:
        learner_of(model, updates_per_iteration=2, ratio_tolerance=1e-3).update("p", some_rows(model))
    assert same(weights(models[0]), weights(models[1]))
