"""Who stands in whose place: casts made from casts, for swapped, single-policy and mixed-checkpoint evaluation.

A position keeps its prompts and its sampling caps; only the weights that answer there change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from motet.errors import ConfigError
from motet.evaluate.result import Checkpoint, Decoding
from motet.policies.cast import Cast


def recast(cast: Cast, places: Mapping[str, tuple[Cast, str]]) -> Cast:
    """`cast`, but each role in `places` is answered by the policy that another cast has for another role.

    `recast(final, {"planner": (base, "planner")})` is the final team with the planner it began with. A place with more
    slots than the role it borrows from uses that role's slot 0 for the slots beyond. Raises `ConfigError` where two
    different policies have one name: a policy of another checkpoint or run needs a name of its own (`planner@base`).

    >>> from motet.policies.cast import PolicySpec
    >>> team = Cast.per_role({"planner": 1, "executor": 1}, PolicySpec("tiny"))
    >>> recast(team, {"planner": (team, "executor")}).policy("planner").name
    'executor'
    """
    seats = dict(cast.seats)
    specs = dict(cast.policies)
    for role, (other, source) in places.items():
        for slot in range(cast.roles[role]):
            spec = other.policy(source, slot if slot < other.roles[source] else 0)
            if specs.setdefault(spec.name, spec) != spec:
                raise ConfigError(
                    f"two different policies are named {spec.name!r}",
                    where={"role": role},
                    fix="name the one of the other checkpoint or run apart, for example planner@base",
                )
            seats[role, slot] = spec.name
    used = set(seats.values())
    return replace(cast, seats=seats, policies={name: spec for name, spec in specs.items() if name in used})


def decoded(cast: Cast, decoding: Decoding) -> Cast:
    """`cast` with the evaluation sampling of every role set to one decoding.

    `greedy` takes the argmax; `sampled` keeps the role's evaluation sampling, by default that of training.
    """
    if decoding not in ("sampled", "greedy"):
        raise ConfigError(f"no decoding is called {decoding!r}", fix="use sampled or greedy")
    return replace(
        cast, eval={role: replace(cast.sampling(role, "eval"), greedy=decoding == "greedy") for role in cast.roles}
    )


def check_role(role: str, roles: Sequence[str], *, of: str = "this run") -> str:
    """`role`, or a `ConfigError` that names the roles there are and the nearest of them."""
    if role in roles:
        return role
    near = get_close_matches(role, roles, n=1)
    raise ConfigError(
        f"{of} has no role {role!r}; its roles are {', '.join(roles)}",
        fix=f"write {near[0]!r}" if near else f"use one of {', '.join(roles)}",
    )


def swap(cast: Cast, pairs: Sequence[tuple[str, str]] | None = None) -> Cast:
    """The team with roles swapped. Without `pairs` every role is answered by the next role's policy, the last by the
    first's.

    A pair (a, b) exchanges both. Raises `ConfigError` for an unknown role, a role named twice, or a team of one role.
    """
    roles = list(cast.roles)
    if pairs is None:
        if len(roles) < 2:
            raise ConfigError("a team of one role has nothing to swap")
        return recast(cast, {role: (cast, roles[(i + 1) % len(roles)]) for i, role in enumerate(roles)})
    places: dict[str, tuple[Cast, str]] = {}
    for left, right in pairs:
        for role, source in ((left, right), (right, left)):
            check_role(role, roles)
            if role in places:
                raise ConfigError(f"role {role!r} is swapped twice", fix="name each role in one pair only")
            places[role] = (cast, source)
    return recast(cast, places)


def alone(cast: Cast, role: str) -> Cast:
    """One policy in every place: that of `role`."""
    check_role(role, list(cast.roles))
    return recast(cast, dict.fromkeys(cast.roles, (cast, role)))


@dataclass(frozen=True, slots=True)
class PolicyFlag:
    """`ROLE=RUN2[:ROLE2][@base|peak|final]`: `role` is answered by what `run` has for `source` at `checkpoint`.

    An empty `run` is the run under evaluation itself.
    """

    role: str
    run: str
    source: str
    checkpoint: Checkpoint


_FLAG = re.compile(r"(?P<role>\w+)=(?P<run>[^@]*?)(?::(?P<source>\w+))?(?:@(?P<checkpoint>\w+))?")


def parse_policy(text: str) -> PolicyFlag:
    """Read one `--policy` flag. Raises `ConfigError` with the form it should have.

    >>> parse_policy("planner=runs/long:scout@base")
    PolicyFlag(role='planner', run='runs/long', source='scout', checkpoint='base')
    >>> parse_policy("planner=long")
    PolicyFlag(role='planner', run='long', source='planner', checkpoint='final')
    >>> parse_policy("planner=@base").run
    ''
    """
    found = _FLAG.fullmatch(text.strip())
    if not found or not (found["run"] or found["source"] or found["checkpoint"]):
        raise ConfigError(f"--policy {text!r} cannot be read", fix="write ROLE=RUN[:ROLE2][@base|peak|final]")
    checkpoint = found["checkpoint"] or "final"
    if checkpoint not in ("base", "peak", "final"):
        raise ConfigError(f"--policy {text!r}: no checkpoint is called {checkpoint!r}", fix="use base, peak or final")
    return PolicyFlag(found["role"], found["run"], found["source"] or found["role"], checkpoint)  # type: ignore[arg-type]


def parse_swap(text: str) -> tuple[str, str]:
    """Read one `--swap A=B`.

    >>> parse_swap("planner=executor")
    ('planner', 'executor')
    """
    left, sign, right = text.strip().partition("=")
    if not sign or not left.strip() or not right.strip() or left.strip() == right.strip():
        raise ConfigError(f"--swap {text!r} cannot be read", fix="write ROLE=OTHER_ROLE, for example planner=executor")
    return left.strip(), right.strip()


def mixed(cast: Cast, flags: Mapping[PolicyFlag, Cast]) -> Cast:
    """The team with some places filled from other runs or checkpoints: `flags` maps each flag to the cast it refers to.

    The caller has loaded those policies into an engine. Raises `ConfigError` for an unknown role or a role named twice.
    """
    places: dict[str, tuple[Cast, str]] = {}
    for flag, other in flags.items():
        check_role(flag.role, list(cast.roles))
        check_role(flag.source, list(other.roles), of=f"run {flag.run or 'here'}")
        if flag.role in places:
            raise ConfigError(f"--policy names role {flag.role!r} twice", fix="name each role once")
        places[flag.role] = (other, flag.source)
    return recast(cast, places)
