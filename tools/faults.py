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
        "wilson is the normal interval",
        "evaluate/statistics.py",
        "half = z / scale * math.sqrt(p * (1.0 - p) / num + z * z / (4 * num * num))",
        "half = z / scale * math.sqrt(p * (1.0 - p) / num)",
        ("tests/evaluate/test_statistics.py",),
    ),
)

FAULTS: tuple[Fault, ...] = (*CREDIT, *EVALUATE)
