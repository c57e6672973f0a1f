"""`result.json`: what an evaluation is, and the file a run leaves of all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from motet.errors import ConfigError
from motet.evaluate.statistics import wilson
from motet.types import SCHEMA, Episode

Decoding = Literal["sampled", "greedy"]
Checkpoint = Literal["base", "peak", "final"]

NAMES = ("team", "single", "planner_alone", "executor_alone", "shuffled_plans", "base_planner", "swapped")
"""Every evaluation is one of these, or `walker_...` for a player that needs no model."""


@dataclass(frozen=True, slots=True)
class BestOf:
    """`num_tries` independent tries per task; a task counts as solved when any try solved it.

    Somebody must pick the right try, so this is an upper bound that favours the player it is reported for.
    """

    num_tries: int
    success: float
    low: float
    high: float
    tokens: int
    calls: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One line of the table: one player, one decoding, one checkpoint, `num_tasks` held-out tasks.

    `success` is the fraction of tasks solved, `low` and `high` its Wilson 95% interval. `tokens` and `calls` are sums
    over all tasks of what was sampled (prompts are in `prompt_tokens`). `team_reward` is the mean final team reward,
    `failed` the number of episodes that an error ended: they count as not solved. `solved` has one character per task,
    in task order, so that two players can be compared task by task. `role` names who played alone.

    >>> Evaluation.of_counts("team", "greedy", "final", "test", (True, False), tokens=30, calls=4).success
    0.5
    """

    name: str
    decoding: Decoding
    checkpoint: Checkpoint
    split: str
    num_tasks: int
    success: float
    low: float
    high: float
    tokens: int
    calls: int
    team_reward: float = 0.0
    prompt_tokens: int = 0
    truncated: int = 0
    failed: int = 0
    role: str | None = None
    best_of: BestOf | None = None
    solved: str = ""

    @classmethod
    def of_counts(
        cls,
        name: str,
        decoding: Decoding,
        checkpoint: Checkpoint,
        split: str,
        solved: Sequence[bool],
        *,
        tokens: int,
        calls: int,
        **extras: Any,
    ) -> Evaluation:
        """An evaluation from which tasks were solved. Raises `ConfigError` for an unknown name or without a task."""
        if name not in NAMES and not name.startswith("walker_"):
            raise ConfigError(f"no evaluation is called {name!r}", fix=f"use one of {', '.join(NAMES)} or walker_...")
        if not solved:
            raise ConfigError("an evaluation needs at least one task", where={"evaluation": name})
        low, high = wilson(sum(solved), len(solved))
        return cls(
            name=name,
            decoding=decoding,
            checkpoint=checkpoint,
            split=split,
            num_tasks=len(solved),
            success=sum(solved) / len(solved),
            low=low,
            high=high,
            tokens=tokens,
            calls=calls,
            solved="".join("1" if one else "0" for one in solved),
            **extras,
        )

    @property
    def tokens_per_task(self) -> float:
        return self.tokens / self.num_tasks

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is None is left out."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Evaluation:
        """The inverse of `to_json`; keys of a later schema are ignored."""
        known = {field.name for field in fields(cls)}
        kept = {key: value for key, value in values.items() if key in known}
        if isinstance(kept.get("best_of"), Mapping):
            kept["best_of"] = BestOf(**kept["best_of"])
        return cls(**kept)


def is_solved(episode: Episode) -> bool:
    """Whether the episode ended in success; an episode that an error ended did not."""
    return episode.outcome is not None and episode.outcome.success


def summarise(
    episodes: Sequence[Episode],
    *,
    name: str,
    decoding: Decoding,
    checkpoint: Checkpoint,
    split: str,
    role: str | None = None,
) -> Evaluation:
    """One evaluation out of one episode per task.

    `tokens` counts every sampled id, end tokens included, and what an episode cost beyond its stored calls.
    """
    candidates = [candidate for episode in episodes for call in episode.calls for candidate in call.candidates]
    worth = [episode.outcome.team for episode in episodes if episode.outcome is not None]
    return Evaluation.of_counts(
        name,
        decoding,
        checkpoint,
        split,
        [is_solved(episode) for episode in episodes],
        tokens=sum(len(one.token_ids) for one in candidates) + sum(episode.extra_tokens for episode in episodes),
        calls=sum(len(episode.calls) + episode.extra_calls for episode in episodes),
        team_reward=sum(worth) / len(episodes) if episodes else 0.0,
        prompt_tokens=sum(len(call.prompt_ids) for episode in episodes for call in episode.calls),
        truncated=sum(one.finish == "length" for one in candidates),
        failed=sum(episode.error is not None for episode in episodes),
        role=role,
    )


def best_of(tries: Sequence[Sequence[Episode]]) -> BestOf:
    """Success of any of n tries per task: `tries[i]` holds try i of every task, in task order.

    Raises `ConfigError` where the tries do not cover the same tasks in the same order.
    """
    if not tries or not tries[0]:
        raise ConfigError("best-of-n needs at least one try of one task")
    order = [(episode.task_set, episode.task_id) for episode in tries[0]]
    if any([(episode.task_set, episode.task_id) for episode in one] != order for one in tries):
        raise ConfigError(
            "the tries of best-of-n play different tasks", fix="give every try the same tasks in one order"
        )
    solved = [any(is_solved(one[index]) for one in tries) for index in range(len(order))]
    low, high = wilson(sum(solved), len(solved))
    calls = [call for one in tries for episode in one for call in episode.calls]
    return BestOf(
        num_tries=len(tries),
        success=sum(solved) / len(solved),
        low=low,
        high=high,
        tokens=sum(len(candidate.token_ids) for call in calls for candidate in call.candidates),
        calls=len(calls),
    )


def make_result(
    evaluations: Iterable[Evaluation],
    *,
    train_seconds: float,
    seed: int,
    settings_hash: str,
    versions: Mapping[str, str],
    hardware: Mapping[str, Any],
    **extras: Any,
) -> dict[str, Any]:
    """What `result.json` holds, as plain values; `motet.runs.write_result` writes it.

    `train_seconds` runs from the first sample to the last update: compile and warm-up in, evaluation out.
    """
    return {
        "schema": SCHEMA,
        "evaluations": [one.to_json() for one in evaluations],
        "train_seconds": round(float(train_seconds), 3),
        "seed": seed,
        "settings_hash": settings_hash,
        "versions": dict(versions),
        "hardware": dict(hardware),
        **extras,
    }


def read_result(path: Path) -> dict[str, Any]:
    """`result.json` as plain values. Raises `ConfigError` where it is missing, broken or of another schema."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            "the run has no result.json", where={"path": path}, fix="let the run end, or `motet eval` it"
        ) from None
    except json.JSONDecodeError as broken:
        raise ConfigError(f"result.json cannot be read: {broken}", where={"path": path}) from None
    if result.get("schema") != SCHEMA:
        raise ConfigError(
            f"result.json has schema {result.get('schema')!r}, this version reads {SCHEMA}", where={"path": path}
        )
    return result


def evaluations_of(result: Mapping[str, Any]) -> list[Evaluation]:
    """The evaluations of a `result.json`, as records."""
    return [Evaluation.from_json(one) for one in result["evaluations"]]
