"""Compared with whom: the key that puts candidates into one group.

A key is an explicit tuple of fields out of `tree, role, slot, turn, visit`; a name stands for one of them.
"""

from __future__ import annotations

from typing import Any

from motet.errors import CreditError
from motet.types import Call, Episode

FIELDS = ("tree", "role", "slot", "turn", "visit")

KEYS: dict[str, tuple[str, ...]] = {
    "none": ("tree",),
    "agent": ("tree", "role", "slot"),
    "turn": ("tree", "turn"),
    "at_grpo": ("tree", "role", "slot", "turn", "visit"),
    # rLLM: {task}_{trajectory name}, all turns pooled. What a name holds depends on the workflow: the voters are
    # generator0, generator1, ... (slots apart), the workers are all called worker (slots pooled).
    "rllm_voting": ("tree", "role", "slot"),
    "rllm_orchestrator_workers": ("tree", "role"),
    "rllm_evaluator_optimizer": ("tree", "role"),
    # Dr. MAS: {task}_{agent}, all turns pooled.
    "dr_mas": ("tree", "role", "slot"),
}
"""Names and their fields. `node` is no tuple of fields: see `group_key`."""

Grouping = str | tuple[str, ...]


def grouping_fields(grouping: Grouping) -> tuple[str, ...] | None:
    """The fields of a grouping, None for `node`. Refuses unknown names, unknown or repeated fields and the empty tuple.

    >>> grouping_fields("turn"), grouping_fields(("tree", "role")), grouping_fields("node")
    (('tree', 'turn'), ('tree', 'role'), None)
    """
    if grouping == "node":
        return None
    if isinstance(grouping, str):
        if grouping not in KEYS:
            raise CreditError(
                f"unknown grouping {grouping!r}", fix=f"take one of {', '.join([*KEYS, 'node'])}, or a tuple of fields"
            )
        return KEYS[grouping]
    unknown = [name for name in grouping if name not in FIELDS]
    if not grouping or unknown or len(set(grouping)) < len(grouping):
        what = f"unknown field {unknown[0]!r}" if unknown else "no field" if not grouping else "a field given twice"
        raise CreditError(f"{what} in the grouping {tuple(grouping)!r}", fix=f"take fields out of {', '.join(FIELDS)}")
    return tuple(grouping)


def tree_id(episode: Episode) -> tuple[int, str, str, int]:
    """`Episode.tree` with the task set in it, for two task sets may use one task id."""
    return (episode.ticket, episode.task_set, episode.task_id, episode.copy)


def node_id(episode: Episode, call: Call) -> tuple[Any, ...]:
    """The sampling event: (tree, branch, role, slot, turn, visit). Candidates of one event share a prompt."""
    key = call.key
    return (tree_id(episode), episode.branch, key.role, key.slot, key.turn, key.visit)


def group_key(grouping: Grouping, episode: Episode, call: Call) -> tuple[Any, ...]:
    """The group of every candidate of `call`.

    none     (tree)                                one copy of a task, all roles and turns together
    agent    (tree, role, slot)
    turn     (tree, turn)
    at_grpo  (tree, role, slot, turn, visit)
    node     the sampling event where a call has several candidates (tree, lookahead); where it has one (independent
             episodes), the same question asked of the same role: (ticket, task set, task id, role, prompt ids), slots,
             copies and turns pooled

    tree is (ticket, task set, task id, copy). The branches of one tree share a group under every key but `node`.
    Whether the members of a `node` group share prompt ids is checked by `check_prompts`.

    >>> from motet.types import Call, CallKey, Candidate, Episode
    >>> call = Call(CallKey("planner", 0, 2), "p", 0, "tok", (1, 2), (Candidate("a", (3,), (-0.5,), "eos"),), 0)
    >>> episode = Episode("grids", "g7", "train", "train", 4, 0, 1, (call,), None)
    >>> group_key("at_grpo", episode, call)
    ((4, 'grids', 'g7', 0), 'planner', 0, 2, 0)
    >>> group_key("node", episode, call)
    (4, 'grids', 'g7', 'planner', (1, 2))
    """
    fields = grouping_fields(grouping)
    key = call.key
    if fields is None:
        if len(call.candidates) > 1:
            return node_id(episode, call)
        return (episode.ticket, episode.task_set, episode.task_id, key.role, call.prompt_ids)
    values = {"tree": tree_id(episode), "role": key.role, "slot": key.slot, "turn": key.turn, "visit": key.visit}
    return tuple(values[name] for name in fields)


def is_single_prompt(prompts: list[tuple[int, ...]]) -> bool:
    """Whether all members of a group answered the very same token ids.

    >>> is_single_prompt([(1, 2), (1, 2)]), is_single_prompt([(1, 2), (1, 3)])
    (True, False)
    """
    return all(prompt == prompts[0] for prompt in prompts)


def check_prompts(group: tuple[Any, ...], prompts: list[tuple[int, ...]]) -> None:
    """Refuses a `node` group whose members answered different prompts."""
    if not is_single_prompt(prompts):
        raise CreditError(
            f"a node group holds {len(set(prompts))} different prompts",
            where={"group": group},
            fix="candidates of one node answer one prompt; if that is not meant, take another grouping",
        )
