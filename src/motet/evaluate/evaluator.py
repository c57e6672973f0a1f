"""One evaluation: play held-out tasks with one candidate per call, and count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motet.evaluate.casting import decoded
from motet.evaluate.result import Checkpoint, Decoding, Evaluation, summarise
from motet.policies.cast import Cast
from motet.rollout.runner import run_batch
from motet.types import Episode

EVAL_TICKET = 0
"""Every evaluation draws from the same counters, so two players meet the same tasks with the same uniforms."""

Tasks = Sequence[tuple[str, Any, int]]
"""(task set name, task, copy), as `motet.rollout.runner.run_batch` takes them."""


def play_tasks(
    workflow: Any,
    tasks: Tasks,
    cast: Cast,
    engines: Any,
    settings: Any,
    *,
    decoding: Decoding,
    split: str = "test",
    seed: int = 0,
    ticket: int = EVAL_TICKET,
) -> list[Episode]:
    """One episode per task, in task order, one candidate per call; no reward influences any choice."""
    return run_batch(
        workflow,
        tasks,
        decoded(cast, decoding),
        engines,
        settings,
        phase="eval",
        ticket=ticket,
        seed=seed,
        split=split,
    )


def evaluate(
    workflow: Any,
    tasks: Tasks,
    cast: Cast,
    engines: Any,
    settings: Any,
    *,
    decoding: Decoding,
    name: str = "team",
    checkpoint: Checkpoint = "final",
    split: str = "test",
    seed: int = 0,
    role: str | None = None,
) -> Evaluation:
    """Success of `cast` on `tasks` under one decoding, with tokens, calls and its Wilson 95% interval."""
    episodes = play_tasks(workflow, tasks, cast, engines, settings, decoding=decoding, split=split, seed=seed)
    return summarise(episodes, name=name, decoding=decoding, checkpoint=checkpoint, split=split, role=role)


def tries_within(budget_tokens: float, tokens_per_try: float, *, max_tries: int = 64) -> int:
    """How many tries fit the budget: floor(budget / cost + 0.05), at least 1 and at most `max_tries`.

    A twentieth of a try is forgiven: a team of two equal roles that says 1.99 times what one of them says pays for two.

    >>> tries_within(100.0, 30.0), tries_within(59.8, 30.0), tries_within(10.0, 30.0), tries_within(100.0, 0.0)
    (3, 2, 1, 64)
    """
    if tokens_per_try <= 0:
        return max_tries
    return max(1, min(max_tries, int(budget_tokens / tokens_per_try + 0.05)))


def repeat(
    workflow: Any,
    tasks: Tasks,
    cast: Cast,
    engines: Any,
    settings: Any,
    *,
    num_tries: int,
    split: str = "test",
    seed: int = 0,
    first: Sequence[Episode] | None = None,
) -> list[list[Episode]]:
    """`num_tries` independent sampled tries of every task; `first` is try 0 where it was already played.

    Try i draws from the counters of ticket i, so try 0 is the ordinary sampled evaluation.
    """
    tries = [list(first)] if first is not None else []
    for ticket in range(len(tries), num_tries):
        tries.append(
            play_tasks(
                workflow, tasks, cast, engines, settings, decoding="sampled", split=split, seed=seed, ticket=ticket
            )
        )
    return tries
