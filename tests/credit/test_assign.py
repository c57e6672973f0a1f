"""Episodes in, rows out: exact rows, exact groups, exact counts."""

import math
import random
from collections import Counter

import pytest

from motet.credit.assign import make_groups, rows, silent_trees
from motet.credit.settings import CreditSettings, preset
from motet.errors import CreditError

GLOBAL = CreditSettings(alpha=1.0, epsilon=0.0)


def test_a_row_holds_what_was_sampled_by_whom_and_compared_with_whom(call, episode):
    played = episode(
        [call("coder", [1, 0], slot=1, turn=2, prompt=(5, 6), finish="length")], task="t9", copy=1, ticket=4
    )
    first, second = rows([played], GLOBAL).rows
    assert (first.policy, first.policy_version, first.role, first.slot, first.turn) == ("coder", 3, "coder", 1, 2)
    assert (first.prompt_ids, first.completion_ids, first.sampling_logprobs) == ((5, 6), (100,), (-0.5,))
    assert (first.reward, first.advantage, first.weight, first.truncated) == (1.0, 1.0, 1.0, True)
    assert first.group == ((4, "grids", "t9", 1), "coder", 1, 2, 0)
    assert first.node == second.node == ((4, "grids", "t9", 1), 0, "coder", 1, 2, 0)
    assert (second.completion_ids, second.reward, second.advantage) == ((101,), 0.0, -1.0)


def test_case_01_thirty_two_problems_eight_candidates_two_roles_give_groups_of_exactly_eight(call, episode):
    generator = random.Random(0)
    batch = [
        episode(
            [
                call(role, [generator.randint(0, 9) / 9 for _ in range(8)], prompt=(task, r))
                for r, role in enumerate("ab")
            ],
            task=f"t{task}",
        )
        for task in range(32)
    ]
    credited = rows(batch, GLOBAL)
    by_group = {}
    for row in credited.rows:
        by_group.setdefault(row.group, []).append(row)
    assert len(by_group) == 64 and {len(members) for members in by_group.values()} == {8}
    for (tree, role, _, turn, _), members in by_group.items():
        assert {(row.role, row.turn, row.prompt_ids) for row in members} == {
            (role, turn, (int(tree[2][1:]), "ab".index(role)))
        }
    assert [(r.groups, r.min_group, r.max_group, r.mixed_prompts) for r in credited.report.roles.values()] == [
        (32, 8, 8, 0)
    ] * 2


def test_case_02_the_second_role_is_paid_by_its_own_candidates(call, episode):
    played = episode([call("a", [0.44, 0.47, 0.64, 0.67], chosen=3), call("b", [0.1, 0.2, 0.3, 0.4], turn=0, chosen=3)])
    credited = rows([played], GLOBAL)
    assert [row.reward for row in credited.rows] == [0.44, 0.47, 0.64, 0.67, 0.1, 0.2, 0.3, 0.4]
    # b: mean 0.25, squares 2 * (0.15^2 + 0.05^2) = 0.05, std sqrt(0.0125)
    std = math.sqrt(0.0125)
    assert [row.advantage for row in credited.rows[4:]] == pytest.approx(
        [-0.15 / std, -0.05 / std, 0.05 / std, 0.15 / std]
    )
    assert all(role.has_signal and role.unequal == 1 for role in credited.report.roles.values())


def test_case_05_the_candidates_of_a_call_that_ended_the_episode_are_kept(call, episode):
    played = episode([call("a", [1, 0, 0, 0]), call("b", [0.5, 0, 0, 0]), call("a", [0, 1, 0, 0], turn=1, chosen=1)])
    counts = Counter((row.role, row.turn) for row in rows([played], GLOBAL).rows)
    assert counts == {("a", 0): 4, ("b", 0): 4, ("a", 1): 4}


def test_case_06_four_roles_two_policies_and_a_second_visit_are_counted_exactly(call, episode):
    played = episode(
        [
            call("plan", [1, 0], policy="p"),
            call("code", [1, 0], policy="q"),
            call("plan", [1, 0], visit=1, policy="p"),
            call("test", [1, 0], policy="q"),
            call("judge", [1, 0], policy="q"),
        ]
    )
    credited = rows([played], GLOBAL)
    assert Counter(row.role for row in credited.rows) == {"plan": 4, "code": 2, "test": 2, "judge": 2}
    assert Counter(row.policy for row in credited.rows) == {"p": 4, "q": 6}
    assert credited.report.roles["plan"].groups == 2


def test_case_21_equal_rewards_groups_of_one_and_no_signal_are_zero_counted_and_stated(call, episode):
    batch = [
        episode([call("a", [0.1, 0.1, 0.1])], task="t0"),
        episode([call("a", [0.7])], task="t1"),
        episode([call("a", [0.0, 0.0])], task="t2"),
    ]
    credited = rows(batch, CreditSettings())
    report, role = credited.report, credited.report.roles["a"]
    assert [row.advantage for row in credited.rows] == [0.0] * 6
    assert [row.weight for row in credited.rows] == [0.0] * 6
    assert (role.groups, role.equal, role.single, role.unequal, role.dropped) == (3, 2, 1, 0, 6)
    assert not report.has_signal and report.metrics()["credit/has_signal"] == 0.0
    assert report.statements == (
        "no signal: none of 3 groups has a difference that counts",
        "a: no signal (2 equal and 1 single of 3 groups)",
        "a: the grouping 'at_grpo' leaves 1 of 3 groups with one member",
    )
    assert not any(math.isnan(value) for value in report.metrics().values())


def test_case_22_a_batch_padded_with_duplicates_is_refused_before_it_shifts_a_mean(call, episode):
    batch = [episode([call("a", [1, 0])], task=f"t{i}") for i in range(3)]
    with pytest.raises(CreditError, match=r"one episode came twice \[task=t1"):
        rows([*batch, batch[1]], GLOBAL)


def test_two_calls_with_one_key_are_refused(call, episode):
    with pytest.raises(CreditError, match=r"two calls of one episode have one key .*a\[0\] turn 0"):
        rows([episode([call("a", [1, 0]), call("a", [1, 0])])], GLOBAL)


def test_rows_do_not_depend_on_the_order_of_episodes_and_calls(call, episode):
    def batch(shuffle):
        generator = random.Random(shuffle)
        episodes = []
        for task in range(4):
            calls = [
                call(role, [task / 4, 0.3, 1], turn=turn, slot=slot)
                for role in "ab"
                for turn in (0, 1)
                for slot in (0, 1)
            ]
            generator.shuffle(calls)
            episodes.append(episode(calls, task=f"t{task}"))
        generator.shuffle(episodes)
        return rows(episodes, CreditSettings(grouping="turn"))

    first = batch(0)
    assert all(batch(seed) == first for seed in range(1, 5))
    assert [(row.role, row.slot, row.turn) for row in first.rows[:13:3]] == [
        ("a", 0, 0), ("a", 0, 1), ("a", 1, 0), ("a", 1, 1), ("b", 0, 0),
    ]  # fmt: skip


def test_only_trainable_calls_give_rows(call, episode):
    played = episode([call("a", [1, 0]), call("judge", [None], trainable=False)])
    credited = rows([played], GLOBAL)
    assert {row.role for row in credited.rows} == {"a"} and set(credited.report.roles) == {"a"}


def test_a_failed_episode_gives_no_rows_and_leaves_its_group_ragged(call, episode):
    batch = [
        episode(
            [call("a", [branch / 3])], branch=branch, task=task, error="boom" if (task, branch) == ("t1", 2) else None
        )
        for task in ("t0", "t1", "t2")
        for branch in range(4)
    ]
    report = rows(batch, GLOBAL).report
    assert (report.rows, report.failed_episodes, report.ragged) == (11, 1, 1)
    role = report.roles["a"]
    assert (role.groups, role.ragged, role.min_group, role.max_group) == (3, 1, 3, 4)
    assert report.metrics()["credit/ragged_groups_frac/a"] == pytest.approx(1 / 3)


def test_ragged_is_measured_against_the_stated_group_size(call, episode):
    batch = [episode([call("a", [1, 0, 0])], task=f"t{i}") for i in range(2)]
    assert rows(batch, CreditSettings()).report.roles["a"].ragged == 0
    assert rows(batch, CreditSettings(group_size=4)).report.roles["a"].ragged == 2


@pytest.mark.parametrize(
    ("equal_groups", "singleton", "expected"),
    [
        ("drop", "zero", [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
        ("count", "zero", [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]),
        ("drop", "raw", [(0.0, 0.0), (0.0, 0.0), (0.5, 1.0)]),
        ("count", "raw", [(0.0, 1.0), (0.0, 1.0), (0.5, 1.0)]),
    ],
)
def test_equal_groups_and_singletons_get_advantage_and_weight_as_set(equal_groups, singleton, expected, call, episode):
    batch = [episode([call("a", [1, 1])], task="t0"), episode([call("a", [0.5])], task="t1")]
    made = rows(batch, CreditSettings(equal_groups=equal_groups, singleton=singleton)).rows
    assert [(row.advantage, row.weight) for row in made] == expected


def test_reinforce_drops_nothing(call, episode):
    made = rows([episode([call("a", [1, 1])])], CreditSettings(estimator="reinforce")).rows
    assert [(row.advantage, row.weight) for row in made] == [(1.0, 1.0), (1.0, 1.0)]


def test_the_verl_preset_is_sample_std_count_and_raw(call, episode):
    batch = [
        episode([call("a", [1, 0, 0, 0])], task="t0"),
        episode([call("a", [1, 1])], task="t1"),
        episode([call("a", [0.5])], task="t2"),
    ]
    made = rows(batch, preset("verl", alpha=1.0)).rows
    winner = 0.75 / (0.5 + 1e-6)
    assert [row.advantage for row in made] == pytest.approx([winner, -winner / 3, -winner / 3, -winner / 3, 0, 0, 0.5])
    assert [row.weight for row in made] == [1.0] * 7


def test_alpha_decides_who_wins_and_a_role_may_have_its_own(call, episode):
    played = episode([call(role, [(1.0, 0.0), (0.0, 1.0)]) for role in ("coder", "tester")])
    settings = CreditSettings(alpha=1.0, role_alpha={"tester": 0.0}, epsilon=0.0)
    assert [(row.role, row.reward, row.advantage) for row in rows([played], settings).rows] == [
        ("coder", 1.0, 1.0),
        ("coder", 0.0, -1.0),
        ("tester", 0.0, -1.0),
        ("tester", 1.0, 1.0),
    ]


def test_the_report_counts_unequal_groups_at_alpha_zero_at_one_and_at_the_runs_own(call, episode):
    batch = [
        episode([call("a", [(1.0, 0.5), (0.0, 0.5)])], task="t0"),  # team alone differs
        episode([call("a", [(0.5, 1.0), (0.5, 0.0)])], task="t1"),  # local alone differs
        episode([call("a", [(1.0, 0.0), (0.0, 1.0)])], task="t2"),  # both differ and cancel at alpha 1/2
        episode([call("a", [(0.5, 0.5), (0.5, 0.5)])], task="t3"),
    ]
    role = rows(batch, CreditSettings(alpha=0.5)).report.roles["a"]
    assert (role.unequal, role.equal, role.unequal_team, role.unequal_local) == (2, 2, 2, 2)
    assert rows(batch, CreditSettings(alpha=1.0)).report.roles["a"].unequal == 2
    assert rows(batch, CreditSettings(alpha=0.7)).report.roles["a"].unequal == 3


def test_the_report_tells_team_from_local_and_all_candidates_from_the_chosen(call, episode):
    played = episode([call("a", [(1.0, 0.0), (0.0, 0.5)], chosen=1)])
    credited = rows([played], CreditSettings(alpha=0.5, epsilon=0.0))
    role, metrics = credited.report.roles["a"], credited.report.metrics()
    assert (role.team, role.local, role.team_chosen, role.local_chosen) == (0.5, 0.25, 0.0, 0.5)
    assert role.reward == 0.375
    assert (role.advantage_mean, role.advantage_std, role.advantage_max_abs) == (0.0, 1.0, 1.0)
    assert (metrics["reward/team/a"], metrics["reward/local_chosen/a"], metrics["reward/mixed/a"]) == (0.5, 0.5, 0.375)


def test_a_reward_that_does_not_exist_has_no_metric(call, episode):
    metrics = rows([episode([call("a", [(1.0, None), (0.0, None)])])], GLOBAL).report.metrics()
    assert "reward/local/a" not in metrics and metrics["reward/team/a"] == 0.5
    assert metrics["credit/unequal_local_frac/a"] == 0.0 and metrics["credit/unequal_team_frac/a"] == 1.0


def test_a_part_that_only_some_members_have_is_refused(call, episode):
    with pytest.raises(
        CreditError, match=r"some candidates of a group have a local reward and some have none.*task=t0"
    ):
        rows([episode([call("a", [(1.0, 0.5), (1.0, None)])])], CreditSettings())


def test_an_unscored_trainable_call_is_refused_with_its_place(call, episode):
    with pytest.raises(
        CreditError, match=r"a trainable call has no reward \[task=t7 copy=0 branch=0 call=b\[0\] turn 1\]"
    ):
        rows([episode([call("a", [1, 0]), call("b", [None, None], turn=1)], task="t7")], CreditSettings())


def test_local_only_does_not_fall_back_on_team(call, episode):
    with pytest.raises(CreditError, match=r"takes the local reward alone, and there is none \[task=t0.*a\[0\] turn 0"):
        rows([episode([call("a", [(1.0, None), (0.0, None)])])], CreditSettings(alpha=0.0))


def test_the_outcome_is_broadcast_to_all_roles_of_independent_episodes(call, episode):
    batch = [
        episode([call("a", [None], prompt=(1,)), call("b", [None], prompt=(2, branch))], branch=branch, team=team)
        for branch, team in enumerate([1.0, 0.0, 0.0, 0.0])
    ]
    credited = rows(batch, CreditSettings(rewards="outcome", alpha=1.0, epsilon=0.0, std="sample"))
    assert [(row.role, row.advantage) for row in credited.rows] == [
        ("a", 1.5), ("b", 1.5), ("a", -0.5), ("b", -0.5), ("a", -0.5), ("b", -0.5), ("a", -0.5), ("b", -0.5),
    ]  # fmt: skip
    assert (credited.report.roles["a"].mixed_prompts, credited.report.roles["b"].mixed_prompts) == (0, 1)


def test_the_outcome_rule_is_refused_for_a_tree(call, episode):
    with pytest.raises(CreditError, match="the reward rule 'outcome' would pay 1 candidates"):
        rows([episode([call("a", [1, 0])], team=1.0)], CreditSettings(rewards="outcome"))


def test_node_warns_by_name_when_it_leaves_groups_of_one(call, episode):
    batch = [
        episode([call("a", [branch / 4], prompt=(1,)), call("b", [branch / 4], prompt=(2, branch))], branch=branch)
        for branch in range(4)
    ]
    report = rows(batch, CreditSettings(grouping="node")).report
    assert (report.roles["a"].groups, report.roles["a"].single) == (1, 0)
    assert (report.roles["b"].groups, report.roles["b"].single) == (4, 4)
    assert "b: the grouping 'node' leaves 4 of 4 groups with one member" in report.statements
    assert not any(statement.startswith("a:") for statement in report.statements)


def test_voting_keys_keep_slots_apart_and_worker_keys_pool_them(call, episode):
    def batch(role):
        return [
            episode([call(role, [None], slot=slot) for slot in range(3)], branch=branch, team=branch / 8)
            for branch in range(8)
        ]

    assert Counter(row.group for row in rows(batch("generator"), preset("rllm_voting")).rows) == {
        ((0, "grids", "t0", 0), "generator", slot): 8 for slot in range(3)
    }
    assert Counter(row.group for row in rows(batch("worker"), preset("rllm_orchestrator_workers")).rows) == {
        ((0, "grids", "t0", 0), "worker"): 24
    }


def test_pooled_turns_count_long_episodes_more_often(call, episode):
    """Evaluator-optimizer: a failing episode of three turns weighs three times in the mean, 1/4 and not 1/2."""
    solved = episode([call("generator", [None])], branch=0, team=1.0)
    failed = episode([call("generator", [None], turn=turn) for turn in range(3)], branch=1, team=0.0)
    settings = preset("rllm_evaluator_optimizer", estimator="mean_only")
    assert [row.advantage for row in rows([solved, failed], settings).rows] == [0.75, -0.25, -0.25, -0.25]


def test_a_group_of_several_roles_counts_for_each_and_once_over_all(call, episode):
    report = rows(
        [episode([call("a", [1, 0]), call("b", [0.5, 0.5])])], CreditSettings(grouping="none", alpha=1.0)
    ).report
    assert (report.groups, report.roles["a"].groups, report.roles["b"].groups) == (1, 1, 1)
    assert (report.roles["a"].candidates, report.roles["b"].candidates) == (2, 2)
    assert report.roles["b"].advantage_max_abs == 0.0 and not report.roles["b"].has_signal
    assert "b: no signal (0 equal and 0 single of 1 groups)" in report.statements


def test_no_episodes_are_no_rows_and_said_so():
    credited = rows([], CreditSettings())
    assert credited.rows == [] and credited.report.statements == ("no rows: this step has nothing to learn from",)
    assert credited.report.metrics()["credit/rows"] == 0.0


def test_silent_trees_are_those_that_could_be_drawn_anew(call, episode):
    batch = [
        episode([call("a", [1, 1]), call("b", [0, 0])], task="t0"),
        episode([call("a", [1, 1]), call("b", [1, 0])], task="t1"),
        episode([call("a", [0, 0])], task="t1", copy=1),
    ]
    assert silent_trees(batch, GLOBAL) == {(0, "grids", "t0", 0), (0, "grids", "t1", 1)}


def test_groups_keep_members_in_the_order_of_rows(call, episode):
    (group,) = make_groups([episode([call("a", [0.2, 0.6])])], GLOBAL)
    assert [(m.index, m.reward, m.is_chosen) for m in group.members] == [(0, 0.2, True), (1, 0.6, False)]
