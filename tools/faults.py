"""The planted faults: each a change to one place of the source that a named test must notice.

`old` must stand in `file` exactly once; where code moved, the runner says so and the entry is to be moved along.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """`old` becomes `new` in src/motet/`file`; pytest `tests` must then fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


CREDIT = (
    Fault(
        "advantage has the wrong sign",
        "credit/advantages.py",
        "return [(reward - mean) / (deviation + epsilon) for reward in rewards]",
        "return [(mean - reward) / (deviation + epsilon) for reward in rewards]",
        ("tests/credit/test_advantages.py",),
    ),
    Fault(
        "sample std is taken for population",
        "credit/advantages.py",
        'degrees = len(rewards) - (1 if std == "sample" else 0)',
        "degrees = len(rewards) - 1",
        ("tests/credit/test_advantages.py",),
    ),
    Fault(
        "a group of one keeps its reward when it should give zero",
        "credit/advantages.py",
        'return singleton == "zero" if len(rewards) == 1 else are_equal(rewards)',
        "return False if len(rewards) == 1 else are_equal(rewards)",
        ("tests/credit/test_advantages.py",),
    ),
    Fault(
        "the group key forgets the turn",
        "credit/grouping.py",
        '"at_grpo": ("tree", "role", "slot", "turn", "visit"),',
        '"at_grpo": ("tree", "role", "slot", "visit"),',
        ("tests/credit/test_grouping.py",),
    ),
    Fault(
        "two copies of a task share a group",
        "credit/grouping.py",
        "return (episode.ticket, episode.task_set, episode.task_id, episode.copy)",
        "return (episode.ticket, episode.task_set, episode.task_id, 0)",
        ("tests/credit/test_grouping.py", "tests/credit/test_assign.py"),
    ),
    Fault(
        "alpha weighs local and not team",
        "credit/rewards.py",
        "return _finite(alpha * team + local_weight * local)",
        "return _finite(alpha * local + local_weight * team)",
        ("tests/credit/test_rewards.py",),
    ),
    Fault(
        "the outcome is paid to losers of a node",
        "credit/rewards.py",
        "if len(call.candidates) > 1:",
        "if len(call.candidates) > 99:",
        ("tests/credit/test_rewards.py", "tests/credit/test_assign.py"),
    ),
    Fault(
        "all candidates of a call get the first one's reward",
        "credit/assign.py",
        "team, local = reward_parts(episode, call, index, settings.rewards)",
        "team, local = reward_parts(episode, call, 0, settings.rewards)",
        ("tests/credit/test_assign.py",),
    ),
    Fault(
        "equal groups stay in the denominators",
        "credit/assign.py",
        "groups.append(Group(key, tuple(members), tuple(advantages), 0.0 if is_dropped else 1.0))",
        "groups.append(Group(key, tuple(members), tuple(advantages), 1.0))",
        ("tests/credit/test_assign.py",),
    ),
)

EVALUATE = (
    Fault(
        "swapped roles answer for themselves",
        "evaluate/casting.py",
        "seats[role, slot] = spec.name",
        "seats[role, slot] = cast.policy(role, slot).name",
        ("tests/evaluate/test_casting.py",),
    ),
    Fault(
        "shuffled plans are each episode's own",
        "evaluate/variants.py",
        "order[(start + step) % len(order)]",
        "order[(start + step - 1) % len(order)]",
        ("tests/evaluate/test_variants.py",),
    ),
    Fault(
        "wilson is the normal interval",
        "evaluate/statistics.py",
        "half = z / scale * math.sqrt(p * (1.0 - p) / num + z * z / (4 * num * num))",
        "half = z / scale * math.sqrt(p * (1.0 - p) / num)",
        ("tests/evaluate/test_statistics.py",),
    ),
)

ROLLOUT = (
    Fault(
        "the worst branch goes on",
        "rollout/choice.py",
        "return mixed.index(max(mixed))",
        "return mixed.index(min(mixed))",
        ("tests/rollout/test_tree.py",),
    ),
    Fault(
        "the workflow reads on from another candidate than the chosen one",
        "rollout/call.py",
        "return self._notes[self._record.chosen]",
        "return self._notes[0]",
        ("tests/rollout/test_tree.py",),
    ),
    Fault(
        "settle misses the losers",
        "rollout/call.py",
        "tuple(with_reward(c, r) for c, r in zip(candidates, kept))",
        "tuple(with_reward(c, kept[self._record.chosen]) for c in candidates)",
        ("tests/rollout/test_settle.py",),
    ),
    Fault(
        "lookahead continues from the chosen candidate only",
        "rollout/lookahead.py",
        "chosen = self._index if known is self._fork else known.record.chosen",
        "chosen = known.record.chosen",
        ("tests/rollout/test_lookahead.py",),
    ),
    Fault(
        "replay ignores a prompt that differs",
        "rollout/lookahead.py",
        "if recorded.prompt_ids == tuple(prompt_ids):",
        "if len(recorded.prompt_ids) >= 0:",
        ("tests/rollout/test_replay.py",),
    ),
    Fault(
        "the draw of a candidate depends on how many there are",
        "rollout/counters.py",
        "return tuple(_mix(key + (index + 1) * GAMMA) for index in range(num))",
        "return tuple(_mix(key + (index + num) * GAMMA) for index in range(num))",
        ("tests/rollout/test_counters.py",),
    ),
    Fault(
        "two copies of a task draw the same",
        "rollout/counters.py",
        "json.dumps([seed, phase, ticket, task_id, copy, fork, role, slot, turn, visit]",
        "json.dumps([seed, phase, ticket, task_id, 0, fork, role, slot, turn, visit]",
        ("tests/rollout/test_counters.py",),
    ),
    Fault(
        "failed episodes are never too many",
        "rollout/runner.py",
        "if self._num_failed <= allowed:",
        "if self._num_failed <= allowed + len(self._jobs):",
        ("tests/rollout/test_runner.py::test_case_07_a_bounded_fraction_may_fail_and_gives_nothing",),
    ),
)

LOSSES = (
    Fault(
        "the clip keeps the better side",
        "losses/policy_gradient.py",
        "value = torch.maximum(plain, bounded)",
        "value = torch.minimum(plain, bounded)",
        ("tests/losses/test_policy_gradient.py",),
    ),
    Fault(
        "the mask is shifted by one",
        "losses/packing.py",
        "source.append(offset + num_prompt - 1)",
        "source.append(offset + max(num_prompt - 2, 0))",
        ("tests/losses/test_packing.py",),
    ),
    Fault(
        "a micro-batch side by side passes its budget",
        "losses/packing.py",
        "length = max(length, longest(packs[stop]) - 1)",
        "length = longest(packs[start]) - 1",
        ("tests/losses/test_packing.py",),
    ),
    Fault(
        "answers of a pack do not all continue the prompt",
        "losses/packing.py",
        "where.extend(range(num_prompt, num_prompt + fed))",
        "where.extend(range(len(where), len(where) + fed))",
        ("tests/losses/test_packing.py",),
    ),
    Fault(
        "the anchor pushes away",
        "losses/kl.py",
        "d = reference_logprobs.detach() - policy_logprobs",
        "d = policy_logprobs - reference_logprobs.detach()",
        ("tests/losses/test_kl.py",),
    ),
)

POLICIES = (
    Fault(
        "one answer of a pack sees another",
        "policies/logprobs.py",
        "allowed = ((keys == 0) | (keys == queries)) & causal",
        "allowed = (keys >= 0) & causal",
        ("tests/policies/test_update_logprobs.py::test_packed_equals_single_rows_in_float64[qwen3-sdpa]",),
    ),
    Fault(
        "the temperature is left out of the log-probs",
        "policies/logprobs.py",
        "logits = logits / temperature[:, None]",
        "logits = logits / torch.ones_like(temperature)[:, None]",
        ("tests/policies/test_update_logprobs.py::test_packed_equals_single_rows_in_float64[qwen3-sdpa]",),
    ),
    Fault(
        "the wrong adapter computes the update",
        "policies/step.py",
        "with lora.activate(policy.model, policy.adapter):",
        "with lora.activate(policy.model, policy.adapter and lora.adapters(policy.model)[0]):",
        (
            "tests/policies/test_lora.py::test_case_19_an_update_of_one_adapter_leaves_the_others_and_the_base_bit_identical[planner-plain]",
        ),
    ),
    Fault(
        "rows of an older policy version are learned from",
        "policies/update.py",
        "if row.policy_version != policy.version and not policy.settings.allow_stale:",
        "if row.policy_version > policy.version and not policy.settings.allow_stale:",
        ("tests/policies/test_update_stale.py",),
    ),
    Fault(
        "a first-pass ratio off 1 goes unnoticed",
        "policies/step.py",
        "if tolerance is None or float(away[worst]) <= tolerance:",
        "if tolerance is None or float(away[worst]) >= 0.0:",
        ("tests/policies/test_update.py::test_case_23_a_first_pass_ratio_off_one_is_refused_by_policy_and_role",),
    ),
    Fault(
        "rows of weight 0 are learned from",
        "policies/update.py",
        "r for r in rows if r.weight > 0.0 and r.completion_ids",
        "r for r in rows if r.weight >= 0.0 and r.completion_ids",
        ("tests/policies/test_update.py::test_dropping_equal_groups_changes_no_denominator",),
    ),
    Fault(
        "the schedule ticks once per step",
        "policies/update.py",
        "learned.ticks += 1",
        "learned.ticks += len(reports)",
        ("tests/policies/test_update.py::test_the_schedule_ticks_once_per_iteration_whatever_the_rows",),
    ),
)

CHECKPOINTS = (
    Fault(
        "a checkpoint forgets the state of the optimiser",
        "policies/checkpoint.py",
        "for key, value in policy.optimizer.state.get(parameter, {}).items()",
        "for key, value in dict[str, Tensor]().items()",
        (
            "tests/policies/test_checkpoint.py::test_case_20_a_resumed_run_takes_the_same_next_steps_as_one_that_did_not_stop[dtype0]",
        ),
    ),
    Fault(
        "a checkpoint forgets the clock of the schedule",
        "policies/checkpoint.py",
        'policy.version, policy.ticks = about["version"], about["ticks"]',
        'policy.version = about["version"]',
        (
            "tests/policies/test_checkpoint.py::test_case_20_a_resumed_run_takes_the_same_next_steps_as_one_that_did_not_stop[dtype0]",
        ),
    ),
)

ENGINES = (
    Fault(
        "sampling ignores the temperature",
        "engines/draw.py",
        "scaled = logits.double() / rows.temperature[:, None]",
        "scaled = logits.double()",
        ("tests/engines/test_draw.py",),
    ),
    Fault(
        "an answer sees the padding before its prompt",
        "engines/decode.py",
        "hidden = torch.arange(slots, device=keys.device)[None] < (width - row_lengths)[:, None]",
        "hidden = torch.arange(slots, device=keys.device)[None] < (0 * row_lengths)[:, None]",
        ("tests/engines/test_local.py::test_samples_equal_a_sampler_that_knows_no_cache_batch_or_padding[neox-0.5]",),
    ),
    Fault(
        "a row reads the prompt of its neighbour's block",
        "engines/lean_rows.py",
        "return slot, owners.repeat_interleave(num_blocks)",
        "return slot, owners.repeat_interleave(num_blocks).roll(1)",
        ("tests/engines/test_lean.py",),
    ),
    Fault(
        "a prompt's padding is seen by its answers",
        "engines/backprop.py",
        "back += masks.padding",
        "back += 0.0 * masks.padding.isnan()",
        ("tests/engines/test_lean.py",),
    ),
    Fault(
        "the gradient of a norm forgets the mean",
        "engines/backprop.py",
        "return dy.addcmul_(y, mean).mul_(r)",
        "return dy.mul_(r)",
        ("tests/engines/test_lean.py",),
    ),
    Fault(
        "joined weights outlive an update",
        "engines/lean.py",
        "        finally:\n            for one in linears:\n                one.keep(False)",
        "        finally:\n            pass",
        ("tests/engines/test_lean.py",),
    ),
    Fault(
        "the anchor is taken from the policy itself",
        "policies/logprobs.py",
        "hidden_states(path.lean.on(model), ",
        "hidden_states(path.lean, ",
        ("tests/policies/test_update.py",),
    ),
)

TASKS = (
    Fault(
        "the budget of moves is not enforced",
        "tasks/plan_path.py",
        "room = min(task.max_moves_per_call, state.moves_left)",
        "room = task.max_moves_per_call",
        ("tests/tasks/test_plan_path.py", "tests/tasks/test_plan_path_moves.py"),
    ),
    Fault(
        "a detour costs nothing",
        "tasks/plan_path_rewards.py",
        "return SHORT_OF_GOAL * (gained / best) * (1.0 + gained / spent) / 2.0",
        "return SHORT_OF_GOAL * (gained / best)",
        ("tests/tasks/test_plan_path_rewards.py",),
    ),
    Fault(
        "splits share grids",
        "tasks/plan_path.py",
        "if split_of(self.settings.size, walls) == split:",
        "if split in self.splits:",
        ("tests/tasks/test_plan_path.py",),
    ),
)

FAULTS: tuple[Fault, ...] = (*CREDIT, *EVALUATE, *ROLLOUT, *LOSSES, *POLICIES, *CHECKPOINTS, *ENGINES, *TASKS)
