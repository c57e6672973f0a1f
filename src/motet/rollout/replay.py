"""Runs a workflow again, answered from the record of an episode: calls and effects, nothing sampled, nothing done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from motet.engines.base import Engine
from motet.errors import ReplayError
from motet.policies.cast import Cast
from motet.rollout.act import EpisodeCast
from motet.rollout.answers import Answer, Ask
from motet.rollout.episode import Playable, play
from motet.rollout.failing import call_place
from motet.rollout.lookahead import PURE, check_same_prompt
from motet.rollout.order import Order
from motet.rollout.runner import run_to_end
from motet.rollout.scene import Scene
from motet.rollout.scoring import ScorePool
from motet.rollout.settings import RolloutSettings
from motet.types import CallKey, Episode


class RecordSource:
    """Answers from an episode, by call key and effect key."""

    def __init__(self, episode: Episode) -> None:
        self._calls = {call.key: call for call in episode.calls}
        self._effects = episode.effects
        self._where: dict[str, object] = {"task": episode.task_id}
        self.asked: set[CallKey] = set()

    async def answer(self, ask: Ask) -> Answer:
        known = self._calls.get(ask.key)
        if known is None:
            raise ReplayError(f"the record has no call {ask.key}", where=self._where | ask.where, fix=PURE)
        check_same_prompt(known, ask.prompt_ids, self._where | ask.where)
        self.asked.add(ask.key)
        unjudged = tuple(replace(candidate, reward=None) for candidate in known.candidates)
        return Answer(unjudged, known.policy_version, known.chosen)

    async def effect(self, key: str, order: Order, run: Callable[[], Awaitable[Any]]) -> Any:
        if key not in self._effects:
            raise ReplayError(f"the record has no effect {key!r}", where=self._where, fix=PURE)
        return self._effects[key]


def replay(
    workflow: Playable,
    task: Any,
    episode: Episode,
    cast: Cast,
    engines: Mapping[str, Engine],
    settings: RolloutSettings | None = None,
    *,
    should_check_rewards: bool = True,
) -> Episode:
    """The episode as the workflow plays it again; the engines only lend their voices.

    Notes are read anew by `read` and `score`, for all candidates, so the workflow gets the objects that it got at
    first. Raises `ReplayError` naming the call whose observation differs (and the first token), a call or effect that
    the record lacks or has in excess, another outcome, and, unless told otherwise, another reward. Rewards of
    lookahead come from continuations and are not compared; they are kept from the record.
    """
    return run_to_end(
        _replay(workflow, task, episode, cast, engines, settings or RolloutSettings(), should_check_rewards)
    )


async def _replay(
    workflow: Playable,
    task: Any,
    episode: Episode,
    cast: Cast,
    engines: Mapping[str, Engine],
    settings: RolloutSettings,
    should_check_rewards: bool,
) -> Episode:
    source = RecordSource(episode)
    async with ScorePool() as pool:
        scene = Scene(cast, engines, settings, workflow.prompts, pool, episode.phase, episode.ticket, 0, episode.split)
        again = EpisodeCast(scene, task.id, episode.copy, source=source)
        outcome = await play(workflow, task, again)
    for call in episode.calls:
        if call.key not in source.asked:
            raise ReplayError(
                "the workflow did not make this call again", where=again.where | call_place(call.key), fix=PURE
            )
    if outcome != episode.outcome:
        raise ReplayError(f"the outcome is {outcome}, recorded was {episode.outcome}", where=again.where, fix=PURE)
    replayed = replace(
        episode,
        calls=again.close(),
        outcome=outcome,
        effects={key: value for key, (_, value) in again.effects.items()},
    )
    if settings.rule == "lookahead":
        return replace(replayed, calls=episode.calls)
    if should_check_rewards:
        _check_rewards(episode, replayed, again.where)
    return replayed


def _check_rewards(episode: Episode, replayed: Episode, where: dict[str, object]) -> None:
    recorded = {call.key: call for call in episode.calls}
    for call in replayed.calls:
        for index, (new, old) in enumerate(zip(call.candidates, recorded[call.key].candidates)):
            worth = [(r.team, r.local) if (r := one.reward) else (None, None) for one in (new, old)]
            if worth[0] != worth[1]:
                raise ReplayError(
                    f"the reward is (team, local) = {worth[0]}, recorded was {worth[1]}",
                    where=where | call_place(call.key) | {"candidate": index},
                    fix="make score depend on its state and the text alone",
                )
