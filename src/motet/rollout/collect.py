"""A batch with signal: trees with no difference to learn from are drawn anew (dynamic sampling, DAPO 2503.14476)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from motet.credit.rewards import mix
from motet.rollout.choice import has_reward
from motet.rollout.settings import RolloutSettings
from motet.types import Call, Episode

Tree = Sequence[Episode]
"""The episodes of one copy of a task: one, or `width` under independent sampling."""


def collect(
    play: Callable[[Sequence[tuple[str, Any, int]]], list[Episode]],
    tasks: Sequence[tuple[str, Any, int]],
    settings: RolloutSettings,
    *,
    max_extra_trees: int = 0,
    is_informative: Callable[[Tree], bool] | None = None,
) -> list[Episode]:
    """The episodes of a training batch, one tree per task, in order; `play` is `run_batch` for what else it needs.

    A tree for which `is_informative(tree)` is False (default: `has_signal`) is drawn anew as a new copy of its task,
    again and again while the batch has drawn fewer than `max_extra_trees` extra trees, in the order of the batch.
    What the tree that is thrown away cost is added to `extra_tokens` and `extra_calls` of the first episode that
    takes its place. A tree that stays without signal stays in the batch.
    """

    def draw(wanted: Sequence[tuple[str, Any, int]]) -> list[list[Episode]]:
        drawn = play(wanted)
        size = len(drawn) // len(wanted) if wanted else 1
        return [drawn[start : start + size] for start in range(0, len(drawn), size)]

    is_good = is_informative or (lambda tree: has_signal(tree, settings))
    trees = draw(tasks)
    next_copy: dict[str, int] = {}
    for _, task, copy in tasks:
        next_copy[task.id] = max(next_copy.get(task.id, 0), copy + 1)
    left = max_extra_trees
    while left > 0:
        places = [place for place, tree in enumerate(trees) if not is_good(tree)][:left]
        if not places:
            break
        wanted = []
        for place in places:
            name, task, _ = tasks[place]
            wanted.append((name, task, next_copy[task.id]))
            next_copy[task.id] += 1
        for place, tree in zip(places, draw(wanted)):
            trees[place] = [_charged(tree[0], trees[place]), *tree[1:]]
        left -= len(places)
    return [episode for tree in trees for episode in tree]


def has_signal(tree: Tree, settings: RolloutSettings) -> bool:
    """Whether any candidates that share a prompt differ in mixed reward: within a call, or across the episodes of a
    tree (calls of one key and prompt), or the episodes differ in `outcome.team`.
    """
    ended = [episode for episode in tree if episode.outcome is not None]
    if len({episode.outcome.team for episode in ended if episode.outcome}) > 1:
        return True
    nodes: dict[tuple[object, ...], set[float]] = {}
    for episode in ended:
        for call in episode.calls:
            nodes.setdefault((call.key, call.prompt_ids), set()).update(_worths(call, settings))
    return any(len(worths) > 1 for worths in nodes.values())


def _worths(call: Call, settings: RolloutSettings) -> set[float]:
    if not call.trainable:
        return set()
    rewards = [c.reward for c in call.candidates if c.reward is not None and has_reward(c.reward)]
    alpha = settings.alpha_of(call.key.role)
    return {mix(reward.team, reward.local, alpha, settings.mix) for reward in rewards}


def cost(episode: Episode) -> tuple[int, int]:
    """(tokens sampled, calls) of an episode, continuations and replaced trees included."""
    tokens = sum(len(candidate.token_ids) for call in episode.calls for candidate in call.candidates)
    return tokens + episode.extra_tokens, len(episode.calls) + episode.extra_calls


def _charged(episode: Episode, replaced: Tree) -> Episode:
    costs = [cost(old) for old in replaced]
    return replace(
        episode,
        extra_tokens=episode.extra_tokens + sum(tokens for tokens, _ in costs),
        extra_calls=episode.extra_calls + sum(calls for _, calls in costs),
    )
