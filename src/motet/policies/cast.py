"""The cast: which policy serves which (role, slot), and how each role samples, in training and in evaluation.

Pure: no torch, no files. Built once from the configuration, before any model is loaded, so that a wrong name costs
nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from motet.errors import ConfigError
from motet.types import Phase, Sampling

Kind = Literal["full", "lora", "frozen", "remote"]
Seat = tuple[str, int]
SamplingOf = Sampling | Mapping[str, Sampling]

_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SEAT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """Weights that serve one or more roles: a full model, a LoRA adapter on a shared base, frozen, or remote.

    `engine` names the engine that samples for it. A frozen or remote policy is never trainable.

    >>> PolicySpec("judge", kind="remote").trainable
    False
    """

    name: str
    kind: Kind = "full"
    base: str = ""
    rank: int | None = None
    engine: str = "local"
    trainable: bool = True

    def __post_init__(self) -> None:
        if self.kind not in ("full", "lora", "frozen", "remote"):
            raise ConfigError(
                f"unknown kind {self.kind!r}", where={"policy": self.name}, fix="take full, lora, frozen or remote"
            )
        if self.kind == "lora" and (self.rank is None or self.rank < 1):
            raise ConfigError("a LoRA policy needs a rank", where={"policy": self.name}, fix="give rank: 1 or more")
        if self.kind in ("frozen", "remote"):
            object.__setattr__(self, "trainable", False)


@dataclass(frozen=True, slots=True)
class Cast:
    """(role, slot) -> policy, and the sampling settings of each role, train and eval apart.

    Every seat is filled and every policy is used: `ConfigError` names what is not, with the nearest right name.
    Look-ups are exact, so one role name may begin another.

    >>> cast = Cast.per_role({"planner": 1, "plan": 2}, PolicySpec("base"))
    >>> cast.policy("plan", 1).name, cast.policy("planner", 0).name
    ('plan', 'planner')
    """

    roles: Mapping[str, int]
    policies: Mapping[str, PolicySpec]
    seats: Mapping[Seat, str]
    train: Mapping[str, Sampling] = field(default_factory=dict)
    eval: Mapping[str, Sampling] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_roles(self.roles)
        for role, slot in self.seats:
            self._check_seat(role, slot)
        for seat, name in self.seats.items():
            if name not in self.policies:
                raise ConfigError(
                    f"unknown policy {name!r}", where={"seat": _seat_name(seat)}, fix=_nearest(name, self.policies)
                )
        empty = [_seat_name(seat) for seat in self._all_seats() if seat not in self.seats]
        if empty:
            raise ConfigError(f"no policy serves {', '.join(empty)}", fix="map every role to a policy")
        unused = sorted(set(self.policies) - set(self.seats.values()))
        if unused:
            raise ConfigError(f"no role uses the policy {', '.join(unused)}", fix="map a role to it or remove it")
        for phase, settings in (("train", self.train), ("eval", self.eval)):
            for role in settings:
                if role not in self.roles:
                    raise ConfigError(
                        f"sampling for the unknown role {role!r}",
                        where={"phase": phase},
                        fix=_nearest(role, self.roles),
                    )

    def policy(self, role: str, slot: int = 0) -> PolicySpec:
        """The policy of one seat. `ConfigError` with the nearest name for a role or slot that does not exist."""
        name = self.seats.get((role, slot))
        if name is None:
            self._check_seat(role, slot)
        return self.policies[self.seats[role, slot]]

    def sampling(self, role: str, phase: Phase) -> Sampling:
        """How `role` samples in `phase`; `Sampling()` where nothing was said."""
        if role not in self.roles:
            raise ConfigError(f"unknown role {role!r}", fix=_nearest(role, self.roles))
        return (self.train if phase == "train" else self.eval).get(role, Sampling())

    def table(self) -> list[tuple[str, str, str]]:
        """Rows (role, policy, engine) for the log, slots of one role with one policy in one row.

        >>> Cast.shared({"coder": 1, "voter": 3}, PolicySpec("team")).table()
        [('coder', 'team', 'local'), ('voter[0..2]', 'team', 'local')]
        """
        rows = []
        for role, num in self.roles.items():
            names = [self.seats[role, slot] for slot in range(num)]
            if len(set(names)) == 1:
                label = role if num == 1 else f"{role}[0..{num - 1}]"
                rows.append((label, names[0], self.policies[names[0]].engine))
            else:
                rows += [(f"{role}[{slot}]", name, self.policies[name].engine) for slot, name in enumerate(names)]
        return rows

    @classmethod
    def shared(
        cls,
        roles: Mapping[str, int],
        policy: PolicySpec,
        *,
        train: SamplingOf | None = None,
        eval: SamplingOf | None = None,
    ) -> Cast:
        """One policy serves every role."""
        return cls.explicit(roles, [policy], dict.fromkeys(roles, policy.name), train=train, eval=eval)

    @classmethod
    def per_role(
        cls,
        roles: Mapping[str, int],
        policy: PolicySpec | Mapping[str, PolicySpec],
        *,
        train: SamplingOf | None = None,
        eval: SamplingOf | None = None,
    ) -> Cast:
        """A policy for each role, named as the role: copies of one pattern, or as given per role."""
        if isinstance(policy, PolicySpec):
            policy = dict.fromkeys(roles, policy)
        specs = {role: replace(spec, name=role) for role, spec in policy.items()}
        return cls.explicit(roles, specs.values(), {role: role for role in specs}, train=train, eval=eval)

    @classmethod
    def per_slot(
        cls,
        roles: Mapping[str, int],
        policy: PolicySpec,
        *,
        train: SamplingOf | None = None,
        eval: SamplingOf | None = None,
    ) -> Cast:
        """A policy for each slot: `voter_0`, `voter_1`; a role of one slot keeps its own name.

        >>> sorted(Cast.per_slot({"voter": 2, "judge": 1}, PolicySpec("base")).policies)
        ['judge', 'voter_0', 'voter_1']
        """
        _check_roles(roles)
        names = {
            (role, slot): role if num == 1 else f"{role}_{slot}" for role, num in roles.items() for slot in range(num)
        }
        specs = [replace(policy, name=name) for name in names.values()]
        return cls.explicit(roles, specs, names, train=train, eval=eval)

    @classmethod
    def explicit(
        cls,
        roles: Mapping[str, int],
        policies: Iterable[PolicySpec],
        seats: Mapping[str, str] | Mapping[Seat, str],
        *,
        train: SamplingOf | None = None,
        eval: SamplingOf | None = None,
    ) -> Cast:
        """Any mix. `seats` maps "voter", "voter[1]" or ("voter", 1) to a policy name; a slot outranks its role.

        >>> pair = [PolicySpec("a"), PolicySpec("b", kind="lora", rank=4)]
        >>> Cast.explicit({"voter": 3}, pair, {"voter": "a", "voter[1]": "b"}).table()[1]
        ('voter[1]', 'b', 'local')
        """
        _check_roles(roles)
        by_name: dict[str, PolicySpec] = {}
        for spec in policies:
            if by_name.setdefault(spec.name, spec) != spec:
                raise ConfigError(f"two policies are named {spec.name!r}", fix="give each policy a name of its own")
        whole: dict[Seat, str] = {}
        single: dict[Seat, str] = {}
        for place, name in seats.items():
            role, slot = _parse_seat(place)
            if slot is None and role in roles:
                whole |= {(role, index): name for index in range(roles[role])}
            else:
                single[role, slot or 0] = name
        return cls(dict(roles), by_name, whole | single, _each_role(roles, train), _each_role(roles, eval))

    def _all_seats(self) -> list[Seat]:
        return [(role, slot) for role, num in self.roles.items() for slot in range(num)]

    def _check_seat(self, role: str, slot: int) -> None:
        if role not in self.roles:
            raise ConfigError(f"unknown role {role!r}", fix=_nearest(role, self.roles))
        if not 0 <= slot < self.roles[role]:
            raise ConfigError(
                f"role {role!r} has no slot {slot}", fix=f"take a slot in 0 .. {self.roles[role] - 1}, or declare more"
            )


def _check_roles(roles: Mapping[str, int]) -> None:
    for role, num in roles.items():
        if not _ROLE.fullmatch(role):
            raise ConfigError(f"{role!r} is no role name", fix="use letters, digits and _, not a digit first")
        if not isinstance(num, int) or num < 1:
            raise ConfigError(f"role {role!r} has {num!r} slots", fix="declare 1 or more")


def _parse_seat(place: str | Seat) -> tuple[str, int | None]:
    if not isinstance(place, str):
        return place[0], int(place[1])
    match = _SEAT.fullmatch(place)
    return (match[1], int(match[2])) if match else (place, None)


def _seat_name(seat: Seat) -> str:
    return f"{seat[0]}[{seat[1]}]"


def _each_role(roles: Mapping[str, int], sampling: SamplingOf | None) -> dict[str, Sampling]:
    if sampling is None:
        return {}
    return dict.fromkeys(roles, sampling) if isinstance(sampling, Sampling) else dict(sampling)


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    listed = f"known: {', '.join(names)}"
    return f"did you mean {close[0]!r}? ({listed})" if close else listed
