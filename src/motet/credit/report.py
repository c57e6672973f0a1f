"""What credit found, per role: how many groups had something to compare, and how big the advantages are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from motet.credit.advantages import are_equal
from motet.credit.grouping import is_single_prompt
from motet.types import Call, Episode


@dataclass(frozen=True, slots=True)
class Member:
    """One candidate of a group, with both parts of its reward and their mix."""

    episode: Episode
    call: Call
    index: int
    team: float | None
    local: float | None
    reward: float

    @property
    def is_chosen(self) -> bool:
        return self.index == self.call.chosen


@dataclass(frozen=True, slots=True)
class Group:
    """Members that were compared, their advantages, and the weight (0 or 1) of their rows."""

    key: tuple[Any, ...]
    members: tuple[Member, ...]
    advantages: tuple[float, ...]
    weight: float

    @property
    def is_single(self) -> bool:
        return len(self.members) == 1

    @property
    def is_equal(self) -> bool:
        """Two members or more, and no difference at the run's alpha."""
        return not self.is_single and are_equal([member.reward for member in self.members])

    @property
    def is_unequal(self) -> bool:
        return not self.is_single and not self.is_equal

    @property
    def roles(self) -> set[str]:
        return {member.call.key.role for member in self.members}


@dataclass(frozen=True, slots=True)
class RoleCredit:
    """Counts and means of one role. A group with members of several roles counts for each of them.

    groups = single + equal + unequal. `unequal_team` and `unequal_local` count the groups with differences at alpha 1
    (team alone) and at alpha 0 (local alone); a missing part makes no difference. Means are None where no candidate has
    the part. `dropped` counts rows of weight 0; advantage statistics are over rows of weight 1.
    """

    calls: int
    candidates: int
    groups: int
    ragged: int
    single: int
    equal: int
    unequal: int
    unequal_team: int
    unequal_local: int
    mixed_prompts: int
    min_group: int
    max_group: int
    dropped: int
    truncated: int
    reward: float | None
    team: float | None
    local: float | None
    team_chosen: float | None
    local_chosen: float | None
    advantage_mean: float | None
    advantage_std: float | None
    advantage_max_abs: float | None

    @property
    def has_signal(self) -> bool:
        """Whether any row that counts has an advantage other than 0."""
        return bool(self.advantage_max_abs)


@dataclass(frozen=True, slots=True)
class CreditReport:
    """Per role and over all. `statements` says in words what a reader must know: no signal, groups of one."""

    roles: dict[str, RoleCredit]
    rows: int
    groups: int
    equal: int
    single: int
    ragged: int
    failed_episodes: int
    statements: tuple[str, ...] = ()

    @property
    def has_signal(self) -> bool:
        """Whether this step can change any weight through the policy term."""
        return any(role.has_signal for role in self.roles.values())

    def metrics(self) -> dict[str, float]:
        """Metric key -> number, `stage/quantity[/role]`. What does not exist (no team reward, no row) has no key."""
        out: dict[str, float | None] = {
            "credit/rows": self.rows,
            "credit/groups": self.groups,
            "credit/equal_groups_frac": _frac(self.equal, self.groups),
            "credit/single_groups_frac": _frac(self.single, self.groups),
            "credit/ragged_groups_frac": _frac(self.ragged, self.groups),
            "credit/has_signal": float(self.has_signal),
            "credit/failed_episodes": self.failed_episodes,
        }
        for name, role in self.roles.items():
            out.update(
                {
                    f"reward/mixed/{name}": role.reward,
                    f"reward/team/{name}": role.team,
                    f"reward/local/{name}": role.local,
                    f"reward/team_chosen/{name}": role.team_chosen,
                    f"reward/local_chosen/{name}": role.local_chosen,
                    f"credit/calls/{name}": role.calls,
                    f"credit/rows/{name}": role.candidates,
                    f"credit/groups/{name}": role.groups,
                    f"credit/ragged_groups_frac/{name}": _frac(role.ragged, role.groups),
                    f"credit/single_groups_frac/{name}": _frac(role.single, role.groups),
                    f"credit/equal_groups_frac/{name}": _frac(role.equal, role.groups),
                    f"credit/unequal_groups_frac/{name}": _frac(role.unequal, role.groups),
                    f"credit/unequal_team_frac/{name}": _frac(role.unequal_team, role.groups),
                    f"credit/unequal_local_frac/{name}": _frac(role.unequal_local, role.groups),
                    f"credit/mixed_prompt_groups_frac/{name}": _frac(role.mixed_prompts, role.groups),
                    f"credit/dropped_rows_frac/{name}": _frac(role.dropped, role.candidates),
                    f"credit/truncated_frac/{name}": _frac(role.truncated, role.candidates),
                    f"credit/advantage_mean/{name}": role.advantage_mean,
                    f"credit/advantage_std/{name}": role.advantage_std,
                    f"credit/advantage_max_abs/{name}": role.advantage_max_abs,
                }
            )
        return {key: float(value) for key, value in out.items() if value is not None}


def _frac(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _std(values: Sequence[float]) -> float | None:
    if not values:
        return None
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5


def has_differences(values: Sequence[float | None]) -> bool:
    """Whether two values that exist differ.

    >>> has_differences([0.0, 1.0]), has_differences([0.5, 0.5]), has_differences([None, 1.0]), has_differences([])
    (True, False, False, False)
    """
    known = [value for value in values if value is not None]
    return len(known) > 1 and not are_equal(known)


def full_size(sizes: Sequence[int], group_size: int | None) -> int:
    """The size of a group that is not ragged: `group_size`, else the most common size (of two, the larger).

    >>> full_size([8, 8, 7], None), full_size([7, 8], None), full_size([7, 7], 8)
    (8, 8, 8)
    """
    if group_size is not None:
        return group_size
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size))


def _role_credit(role: str, groups: Sequence[Group], group_size: int | None) -> RoleCredit:
    rows = [(m, a, g.weight) for g in groups for m, a in zip(g.members, g.advantages) if m.call.key.role == role]
    members = [member for member, _, _ in rows]
    chosen = [member for member in members if member.is_chosen]
    advantages = [advantage for _, advantage, weight in rows if weight]
    sizes = [len(group.members) for group in groups]
    size = full_size(sizes, group_size)
    return RoleCredit(
        calls=len(chosen),
        candidates=len(members),
        groups=len(groups),
        ragged=sum(number != size for number in sizes),
        single=sum(group.is_single for group in groups),
        equal=sum(group.is_equal for group in groups),
        unequal=sum(group.is_unequal for group in groups),
        unequal_team=sum(has_differences([m.team for m in group.members]) for group in groups),
        unequal_local=sum(has_differences([m.local for m in group.members]) for group in groups),
        mixed_prompts=sum(not is_single_prompt([m.call.prompt_ids for m in group.members]) for group in groups),
        min_group=min(sizes),
        max_group=max(sizes),
        dropped=len(rows) - len(advantages),
        truncated=sum(m.call.candidates[m.index].finish == "length" for m in members),
        reward=_mean([m.reward for m in members]),
        team=_mean([m.team for m in members]),
        local=_mean([m.local for m in members]),
        team_chosen=_mean([m.team for m in chosen]),
        local_chosen=_mean([m.local for m in chosen]),
        advantage_mean=_mean(advantages),
        advantage_std=_std(advantages),
        advantage_max_abs=max((abs(a) for a in advantages), default=None),
    )


def make_report(
    groups: Sequence[Group], failed_episodes: int, grouping: object, group_size: int | None = None
) -> CreditReport:
    """Counts, means and statements over all groups of a step. `grouping` is named in the statements."""
    of_role: dict[str, list[Group]] = {}
    for group in groups:
        for name in group.roles:
            of_role.setdefault(name, []).append(group)
    roles = {name: _role_credit(name, of_role[name], group_size) for name in sorted(of_role)}
    statements = []
    if not groups:
        statements.append("no rows: this step has nothing to learn from")
    elif not any(role.has_signal for role in roles.values()):
        statements.append(f"no signal: none of {len(groups)} groups has a difference that counts")
    for name, role in roles.items():
        if not role.has_signal:
            statements.append(
                f"{name}: no signal ({role.equal} equal and {role.single} single of {role.groups} groups)"
            )
        if role.single:
            statements.append(
                f"{name}: the grouping {grouping!r} leaves {role.single} of {role.groups} groups with one member"
            )
    sizes = [len(group.members) for group in groups]
    size = full_size(sizes, group_size) if sizes else 0
    return CreditReport(
        roles=roles,
        rows=sum(sizes),
        groups=len(groups),
        equal=sum(group.is_equal for group in groups),
        single=sum(group.is_single for group in groups),
        ragged=sum(number != size for number in sizes),
        failed_episodes=failed_episodes,
        statements=tuple(statements),
    )
