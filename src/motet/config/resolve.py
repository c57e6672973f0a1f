"""What settings mean for one workflow: every role with its settings, every (role, slot) with its policy. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from motet.config.load import Loaded, nearest
from motet.config.marks import Path
from motet.config.redact import redact
from motet.config.settings import GROUP_FIELDS, GROUPINGS, PolicySettings, RoleSettings, Section, Settings
from motet.errors import ConfigError

_OFF_POLICY = (
    "the update uses the log-probs of the full softmax, so the ratio of the first pass would not be 1 "
    "and the update would be silently off-policy"
)
_SEAT = re.compile(r"^([A-Za-z0-9_]+)(?:\[(\d+)\])?$")


def resolve(loaded: Loaded, roles: Mapping[str, int]) -> Settings:
    """Fill in roles, cast and policies; check what no single key can tell. `roles` maps a role to its number of slots.

    A fixed point: resolving the result again changes nothing. Raises `ConfigError` with the line of the key at fault.
    """
    settings = loaded.settings
    _refuse_unknown(loaded, ("roles",), settings.roles, roles, "role")
    cast = _cast(loaded, roles)
    used = list(dict.fromkeys(cast.values()))
    unused = [name for name in settings.policies if name not in used]
    if unused:
        raise _at(loaded, ("policies", unused[0]), f"policy '{unused[0]}' serves no role", nearest(unused[0], used))
    resolved = settings.model_copy(
        update={
            "cast": cast,
            "policies": {name: _merged(settings.policy, settings.policies.get(name)) for name in used},
            "roles": {name: _merged(settings.role, settings.roles.get(name)) for name in roles},
            "policy": PolicySettings(),
            "role": RoleSettings(),
        }
    )
    _check_policies(loaded, resolved)
    _check_roles(loaded, resolved)
    _check_credit(loaded, resolved)
    _check_update(loaded, resolved)
    return resolved


def settings_hash(settings: Settings) -> str:
    """Sixteen hex digits over everything that can change a result: all settings but the run's name and description, and
    the preset's name: what the preset says stands in the settings."""
    data = settings.model_dump(mode="json", exclude={"name", "description", "preset"})
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def seats(roles: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every (role, slot), in the order of the workflow."""
    return [(role, slot) for role, slots in roles.items() for slot in range(slots)]


def _at(loaded: Loaded, path: Path, what: str, fix: str) -> ConfigError:
    return ConfigError(what, where={"line": loaded.marked.place(path)}, fix=fix)


def _refuse_unknown(loaded: Loaded, path: Path, given: Any, known: Any, noun: str) -> None:
    for name in given:
        if name not in known:
            raise _at(loaded, (*path, name), f"the workflow has no {noun} '{name}'", nearest(name, known))


def _merged(default: Section, own: Section | None) -> Any:
    """`own` over `default`, key by key, sections within sections too; only keys that were written count."""

    def over(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
        both = dict(low)
        for key, value in high.items():
            both[key] = over(low[key], value) if isinstance(value, dict) and isinstance(low.get(key), dict) else value
        return both

    written = default.model_dump(exclude_unset=True)
    return type(default).model_validate(over(written, own.model_dump(exclude_unset=True)) if own else written)


def _cast(loaded: Loaded, roles: Mapping[str, int]) -> dict[str, str]:
    """The whole map, one entry per role, or one per slot where the slots of a role differ."""
    given = loaded.settings.cast
    if given == "shared":
        return dict.fromkeys(roles, "shared")
    if given == "per_role":
        return {role: role for role in roles}
    if given == "per_slot":
        return {
            seat: seat.replace("[", "_").rstrip("]")
            for role, slots in roles.items()
            for seat in ([role] if slots == 1 else [f"{role}[{slot}]" for slot in range(slots)])
        }
    assert isinstance(given, dict)
    for seat, policy in given.items():
        _check_seat(loaded, seat, policy, roles)
    for role, slots in roles.items():
        missing = [slot for slot in range(slots) if f"{role}[{slot}]" not in given]
        if role not in given and missing:
            seat = role if slots == 1 or len(missing) == slots else f"{role}[{missing[0]}]"
            raise _at(loaded, ("cast",), f"role '{seat}' is mapped to no policy", f"add '{seat}: POLICY' to cast")
    return dict(given)


def _check_seat(loaded: Loaded, seat: str, policy: str, roles: Mapping[str, int]) -> None:
    match = _SEAT.match(seat)
    role = match[1] if match else seat
    if match is None or role not in roles:
        raise _at(loaded, ("cast", seat), f"the workflow has no role '{role}'", nearest(role, roles))
    if match[2] is not None and int(match[2]) >= roles[role]:
        raise _at(
            loaded,
            ("cast", seat),
            f"role '{role}' has {roles[role]} slots",
            f"name {role}[0] to {role}[{roles[role] - 1}]",
        )
    if not re.match(r"^[A-Za-z0-9_]+$", policy):
        raise _at(loaded, ("cast", seat), f"'{policy}' is no policy name", "use letters, digits and _")
    declared = loaded.settings.policies
    if declared and policy not in declared:
        raise _at(loaded, ("cast", seat), f"there is no policy '{policy}'", nearest(policy, declared))


def _check_policies(loaded: Loaded, settings: Settings) -> None:
    for name, policy in settings.policies.items():
        if policy.kind != "remote":
            continue
        for key in ("base_url", "model"):
            if getattr(policy, key) is None:
                raise _at(loaded, ("policies", name), f"the remote policy '{name}' has no {key}", f"add {key}")
        written = policy.model_dump(mode="json")
        if redact(written) != written:
            raise _at(
                loaded,
                ("policies", name),
                f"the remote policy '{name}' seems to hold a secret, and settings are written to files",
                "put the key into an environment variable, and its name into api_key_env",
            )
    if settings.train.iterations and not trainable_policies(settings):
        raise _at(loaded, ("policies",), "no policy is trainable", "make one full or lora, or set train.iterations=0")


def trainable_policies(settings: Settings) -> list[str]:
    """Policies that learn: full or lora, and serving at least one trainable role. `settings` must be resolved."""
    assert isinstance(settings.cast, dict)
    learning = {policy for seat, policy in settings.cast.items() if settings.roles[seat.split("[")[0]].trainable}
    return [name for name, policy in settings.policies.items() if policy.kind in ("full", "lora") and name in learning]


def _check_roles(loaded: Loaded, settings: Settings) -> None:
    learning = trainable_policies(settings)
    for name, role in settings.roles.items():
        taught = [policy for policy in _policies_of(settings, name) if policy in learning]
        if taught and not role.trainable:
            raise _at(
                loaded,
                ("roles", name, "trainable"),
                f"role '{name}' is not trainable, and its policy '{taught[0]}' learns from another role",
                "give the role a policy of its own, of kind frozen",
            )
        if not taught:
            continue
        for key, off in (("top_p", 1.0), ("top_k", 0), ("greedy", False)):
            if getattr(role.train, key) != off:
                path: Path = ("roles", name, "train", key) if name in loaded.settings.roles else ("role", "train", key)
                raise _at(
                    loaded,
                    path,
                    f"role '{name}' would train with {key}={getattr(role.train, key)}: {_OFF_POLICY}",
                    f"keep {key} for `eval`, and train with {key}={off}",
                )
        alpha = settings.credit.alpha if role.alpha is None else role.alpha
        if settings.credit.mix == "convex" and alpha > 1:
            place: Path = ("credit", "alpha") if role.alpha is None else ("roles", name, "alpha")
            raise _at(
                loaded,
                place,
                f"a convex mix needs alpha in [0, 1], not {alpha}",
                "lower it, or set credit.mix=additive",
            )


def _policies_of(settings: Settings, role: str) -> list[str]:
    assert isinstance(settings.cast, dict)
    return [policy for seat, policy in settings.cast.items() if seat.split("[")[0] == role]


def _check_credit(loaded: Loaded, settings: Settings) -> None:
    credit, sampling = settings.credit, settings.sampling
    if isinstance(credit.grouping, str) and credit.grouping not in GROUPINGS:
        raise _at(loaded, ("credit", "grouping"), "unknown grouping", nearest(credit.grouping, GROUPINGS))
    if isinstance(credit.grouping, list):
        for field in credit.grouping:
            if field not in GROUP_FIELDS:
                raise _at(loaded, ("credit", "grouping"), f"no group field '{field}'", nearest(field, GROUP_FIELDS))
        if "tree" not in credit.grouping:
            raise _at(loaded, ("credit", "grouping"), "groups without 'tree' compare different tasks", "add tree")
    if (
        sampling.width == 1
        and credit.singleton == "zero"
        and credit.estimator != "reinforce"
        and credit.grouping in ("at_grpo", "node")
    ):
        raise _at(
            loaded,
            ("sampling", "width"),
            f"with one candidate per call every '{credit.grouping}' group has one member, and nothing would be learned",
            "set sampling.width to 2 or more, or credit.estimator=reinforce",
        )
    if credit.mix == "additive" and credit.estimator == "max_rl":
        raise _at(
            loaded,
            ("credit", "mix"),
            "max_rl needs rewards in [0, 1], an additive mix leaves them",
            "set credit.mix=convex",
        )
    if sampling.rule != "independent" and credit.rewards == "outcome":
        raise _at(
            loaded,
            ("credit", "rewards"),
            f"under `{sampling.rule}` sampling the losers of a call never lead to the outcome and would have no reward",
            "set sampling.rule=independent, or credit.rewards=score",
        )


def _check_update(loaded: Loaded, settings: Settings) -> None:
    update, iterations = settings.update, settings.train.iterations
    if update.schedule != "constant" and iterations and update.warmup >= iterations:
        raise _at(
            loaded,
            ("update", "warmup"),
            f"the warm-up takes {update.warmup} of {iterations} iterations, a {update.schedule} schedule has no end",
            "lower update.warmup, or raise train.iterations",
        )
    if update.rows_per_update and update.updates_per_iteration != 1:
        raise _at(
            loaded,
            ("update", "rows_per_update"),
            "rows_per_update and updates_per_iteration exclude each other",
            "keep one of them",
        )
