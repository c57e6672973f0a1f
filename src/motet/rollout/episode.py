"""Plays one episode: runs the workflow, checks what it returned, and turns the cast's record into an `Episode`."""

from __future__ import annotations

import asyncio
import reprlib
from typing import Any, Protocol

from motet.errors import WorkflowError
from motet.rollout.act import EpisodeCast
from motet.rollout.choice import has_reward
from motet.rollout.failing import call_place, placed
from motet.rollout.lookahead import value_calls
from motet.rollout.order import begin_scope
from motet.rollout.rendering import Prompts
from motet.rollout.scene import Scene
from motet.types import Call, Episode, Outcome


class Playable(Protocol):
    """What the runner needs of a workflow."""

    @property
    def prompts(self) -> Prompts: ...

    async def run(self, task: Any, cast: Any) -> Outcome: ...


async def play(workflow: Playable, task: Any, cast: EpisodeCast) -> Outcome:
    """Runs the workflow once and closes the cast. Every failure gets its task, role and turn."""
    begin_scope()
    try:
        outcome = await workflow.run(task, cast)
        cast.close()
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
            raise
        last = call_place(cast.last_key) if cast.last_key else {}
        raise placed(error, cast.where | last, "the workflow raised ") from error
    if not isinstance(outcome, Outcome):
        raise WorkflowError(
            f"run returned {reprlib.repr(outcome)}", where=cast.where, fix="return Outcome(success=..., team=...)"
        )
    return outcome


def is_being_cancelled() -> bool:
    """Whether somebody asked this task to stop; a workflow that raises `CancelledError` by itself did not."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def play_episode(scene: Scene, workflow: Playable, task_set: str, task: Any, copy: int, branch: int) -> Episode:
    """One whole episode under the scene's rule, continuations of `lookahead` included."""
    rule, is_train = scene.settings.rule, scene.phase == "train"
    width = scene.settings.width if rule != "independent" else 1
    fork = str(branch) if rule == "independent" and is_train else ""
    cast = EpisodeCast(scene, task.id, copy, fork, width=width)
    outcome = await play(workflow, task, cast)
    calls, tokens, extra = cast.close(), 0, 0
    if rule == "lookahead" and is_train:
        calls, tokens, extra = await _valued(workflow, task, cast)
    elif rule == "tree" and is_train:
        check_worth(calls, cast.where)
    return Episode(
        task_set=task_set,
        task_id=task.id,
        split=scene.split,
        phase=scene.phase,
        ticket=scene.ticket,
        copy=copy,
        branch=branch,
        calls=calls,
        outcome=outcome,
        effects={key: value for key, (_, value) in cast.effects.items()},
        extra_tokens=tokens,
        extra_calls=extra,
    )


async def _valued(workflow: Playable, task: Any, cast: EpisodeCast) -> tuple[tuple[Call, ...], int, int]:
    try:
        return await value_calls(cast, lambda continuation: play(workflow, task, continuation))
    except ExceptionGroup as group:
        raise placed(group, cast.where, "a continuation raised ") from group


def check_worth(calls: tuple[Call, ...], where: dict[str, object]) -> None:
    """Refuses a trainable call that was neither scored nor settled."""
    for call in calls:
        if call.trainable and not has_reward(call.candidates[0].reward):
            raise WorkflowError(
                "a trainable call was neither scored nor settled",
                where=where | call_place(call.key),
                fix="give act a score, settle the call before the episode ends, or sample by lookahead or independent",
            )
