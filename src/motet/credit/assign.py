"""Episodes in, rows out: mix, group, estimate.

episodes -> members (one per trainable candidate) -> groups -> advantages -> rows + report
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from motet.credit.advantages import estimate, is_without_signal
from motet.credit.grouping import check_prompts, group_key, node_id, tree_id
from motet.credit.report import CreditReport, Group, Member, make_report
from motet.credit.rewards import mix, place, reward_parts
from motet.credit.settings import CreditSettings
from motet.errors import CreditError
from motet.types import Call, Episode, Row


@dataclass(frozen=True, slots=True)
class Credited:
    """The rows of one step and what is to be said about them."""

    rows: list[Row]
    report: CreditReport


def _members(episodes: Iterable[Episode], settings: CreditSettings) -> list[Member]:
    """One member per candidate of every trainable call, in an order that no arrival order can change."""
    seen: set[tuple[Any, ...]] = set()
    members: list[Member] = []
    for episode in sorted(episodes, key=lambda e: (tree_id(e), e.branch)):
        identity = (tree_id(episode), episode.branch)
        if identity in seen:
            raise CreditError(
                "one episode came twice",
                where={"task": episode.task_id, "copy": episode.copy, "branch": episode.branch},
                fix="never pad a batch with duplicates: they would change the mean and std of their group",
            )
        seen.add(identity)
        for call in sorted((c for c in episode.calls if c.trainable), key=lambda c: c.key):
            if (node := node_id(episode, call)) in seen:
                raise CreditError("two calls of one episode have one key", where=place(episode, call))
            seen.add(node)
            members.extend(_member(episode, call, index, settings) for index in range(len(call.candidates)))
    return members


def _member(episode: Episode, call: Call, index: int, settings: CreditSettings) -> Member:
    team, local = reward_parts(episode, call, index, settings.rewards)
    try:
        reward = mix(team, local, settings.alpha_of(call.key.role), settings.mix)
    except CreditError as error:
        raise CreditError(error.what, where={**error.where, **place(episode, call)}, fix=error.fix) from error
    return Member(episode, call, index, team, local, reward)


def _check_presence(group: Sequence[Member]) -> None:
    """Members of one role and group have the same parts: 0.3 of a mix and 0.3 of `team` alone do not compare."""
    first: dict[str, Member] = {}
    for member in group:
        other = first.setdefault(member.call.key.role, member)
        for name, here, there in (("team", member.team, other.team), ("local", member.local, other.local)):
            if (here is None) != (there is None):
                raise CreditError(
                    f"some candidates of a group have a {name} reward and some have none",
                    where=place(member.episode, member.call),
                    fix=f"let score return a {name} reward for each candidate (0.0: nothing earned) or for none",
                )


def make_groups(episodes: Iterable[Episode], settings: CreditSettings) -> list[Group]:
    """The groups of all episodes that did not fail, with advantages and weights; members in the order of the rows."""
    by_key: dict[tuple[Any, ...], list[Member]] = {}
    for member in _members([e for e in episodes if e.error is None], settings):
        by_key.setdefault(group_key(settings.grouping, member.episode, member.call), []).append(member)
    groups = []
    for key, members in by_key.items():
        if settings.grouping == "node":
            check_prompts(key, [member.call.prompt_ids for member in members])
        _check_presence(members)
        rewards = [member.reward for member in members]
        advantages = estimate(
            rewards,
            settings.estimator,
            std=settings.std,
            epsilon=settings.epsilon,
            singleton=settings.singleton,
            where=place(members[0].episode, members[0].call),
        )
        is_dropped = settings.equal_groups == "drop" and is_without_signal(
            rewards, settings.estimator, settings.singleton
        )
        groups.append(Group(key, tuple(members), tuple(advantages), 0.0 if is_dropped else 1.0))
    return groups


def _row(member: Member, advantage: float, group: Group) -> Row:
    call, candidate = member.call, member.call.candidates[member.index]
    return Row(
        policy=call.policy,
        policy_version=call.policy_version,
        role=call.key.role,
        slot=call.key.slot,
        turn=call.key.turn,
        prompt_ids=call.prompt_ids,
        completion_ids=candidate.token_ids,
        sampling_logprobs=candidate.sampling_logprobs,
        temperature=call.temperature,
        advantage=advantage,
        reward=member.reward,
        group=group.key,
        node=node_id(member.episode, call),
        truncated=candidate.finish == "length",
        weight=group.weight,
    )


def rows(episodes: Iterable[Episode], settings: CreditSettings) -> Credited:
    """One row per candidate of every trainable call, winners and losers alike, and the report.

    A failed episode (`error` is set) gives no rows; it is counted. Rows come in the order (ticket, task set, task id,
    copy, branch, role, slot, turn, visit, candidate), whatever the order of the episodes and of the calls in them.
    Rows of a group without signal have weight 0 under `equal_groups: drop`.
    Raises `CreditError`, naming task and call, for a call without reward, a part that is missing for some members of a
    group, an episode or call that came twice, and a `node` group with several prompts.

    >>> from motet.types import CallKey, Candidate, Reward
    >>> answers = tuple(Candidate("", (token,), (-1.0,), "eos", Reward(team=token)) for token in (1, 0))
    >>> call = Call(CallKey("planner"), "p", 0, "tok", (7,), answers, chosen=0)
    >>> credited = rows([Episode("grids", "g1", "train", "train", 0, 0, 0, (call,), None)], CreditSettings(alpha=1.0))
    >>> [(row.completion_ids, round(row.advantage, 6)) for row in credited.rows]
    [((1,), 1.0), ((0,), -1.0)]
    """
    episodes = list(episodes)
    groups = make_groups(episodes, settings)
    made = [(_order(m), _row(m, a, group)) for group in groups for m, a in zip(group.members, group.advantages)]
    made.sort(key=lambda pair: pair[0])
    failed = sum(episode.error is not None for episode in episodes)
    report = make_report(groups, failed, settings.grouping, settings.group_size)
    return Credited([row for _, row in made], report)


def _order(member: Member) -> tuple[Any, ...]:
    return (*node_id(member.episode, member.call), member.index)


def silent_trees(episodes: Iterable[Episode], settings: CreditSettings) -> set[tuple[int, str, str, int]]:
    """The trees (ticket, task set, task id, copy) whose rows all lie in groups without signal, failed episodes apart.

    What a batch can draw anew (DAPO, 2503.14476). A tree without any trainable row is silent too.

    >>> silent_trees([Episode("grids", "g1", "train", "train", 0, 0, 0, (), None)], CreditSettings())
    {(0, 'grids', 'g1', 0)}
    """
    episodes = [episode for episode in episodes if episode.error is None]
    heard = {
        tree_id(member.episode)
        for group in make_groups(episodes, settings)
        for member, advantage in zip(group.members, group.advantages)
        if advantage != 0.0
    }
    return {tree_id(episode) for episode in episodes} - heard
