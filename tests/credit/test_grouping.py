"""Each key by exact tuples."""

import pytest

from motet.credit.grouping import check_prompts, group_key, grouping_fields, tree_id
from motet.errors import CreditError

TREE = (0, "grids", "t0", 0)


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        ("none", (TREE,)),
        ("agent", (TREE, "voter", 2)),
        ("turn", (TREE, 1)),
        ("at_grpo", (TREE, "voter", 2, 1, 3)),
        ("rllm_voting", (TREE, "voter", 2)),
        ("rllm_orchestrator_workers", (TREE, "voter")),
        ("rllm_evaluator_optimizer", (TREE, "voter")),
        ("dr_mas", (TREE, "voter", 2)),
        (("role", "tree"), ("voter", TREE)),
        (("tree", "role", "turn"), (TREE, "voter", 1)),
    ],
)
def test_a_key_is_the_tuple_of_its_fields(grouping, expected, call, episode):
    speaking = call("voter", [1, 0], slot=2, turn=1, visit=3)
    assert group_key(grouping, episode([speaking]), speaking) == expected


def test_branches_of_a_tree_share_a_key_and_copies_tickets_tasks_and_task_sets_do_not(call, episode):
    speaking = call("coder", [1])
    plain = group_key("at_grpo", episode([speaking]), speaking)
    assert group_key("at_grpo", episode([speaking], branch=5), speaking) == plain
    for change in ({"copy": 1}, {"ticket": 1}, {"task": "t1"}, {"task_set": "code"}):
        assert group_key("at_grpo", episode([speaking], **change), speaking) != plain


def test_tree_id_keeps_two_task_sets_with_one_task_id_apart(call, episode):
    assert tree_id(episode([], task_set="a")) == (0, "a", "t0", 0)


def test_node_of_a_call_with_several_candidates_is_its_sampling_event(call, episode):
    speaking = call("voter", [1, 0], slot=2, turn=1, visit=3)
    assert group_key("node", episode([speaking], branch=4), speaking) == (TREE, 4, "voter", 2, 1, 3)


def test_node_across_independent_episodes_is_task_role_and_prompt(call, episode):
    speaking = call("voter", [1], slot=2, turn=1, prompt=(7, 8))
    assert group_key("node", episode([speaking], branch=4, copy=2), speaking) == (0, "grids", "t0", "voter", (7, 8))


def test_node_members_with_another_prompt_are_refused():
    check_prompts(("g",), [(1, 2), (1, 2)])
    with pytest.raises(CreditError, match="2 different prompts"):
        check_prompts(("g",), [(1, 2), (1, 2), (1,)])


@pytest.mark.parametrize(
    ("grouping", "message"),
    [
        ("at-grpo", r"unknown grouping 'at-grpo'.*at_grpo"),
        (("tree", "agent"), r"unknown field 'agent'.*tree, role, slot, turn, visit"),
        ((), "no field"),
        (("tree", "tree"), "a field given twice"),
    ],
)
def test_unknown_keys_are_refused_with_the_known_ones(grouping, message):
    with pytest.raises(CreditError, match=message):
        grouping_fields(grouping)
