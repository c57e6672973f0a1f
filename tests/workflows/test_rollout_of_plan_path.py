"""Planner and executor under the real sampler, with scripted answers."""

from __future__ import annotations

import random

import pytest

from motet.engines.scripted import CharacterVoice, ScriptedEngine
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.records import decode_episode, encode_episode
from motet.rollout.replay import replay
from motet.rollout.runner import RolloutSettings, run_batch
from motet.tasks.base import draw
from motet.tasks.plan_path import PlanPath, PlanPathTask
from motet.tasks.plan_path_grid import neighbours
from motet.tasks.plan_path_moves import parse_moves
from motet.tasks.plan_path_words import cell_words
from motet.types import Call, Episode, Sampling
from motet.workflows.planner_executor import PlannerExecutor
from motet.workflows.single import Single


def wander(policy: str, prompt: str, index: int, uniform: float) -> str:
    """A random walk of up to 8 cells that reads no more than the prompt, walls ignored one time in five."""
    words = prompt.split()
    rng = random.Random(uniform)
    here = int(words[-1][1:])
    walls = {int(word[1:]) for word in words if word[0] == "x"} - {here}
    cells = []
    for _ in range(rng.randrange(9)):
        ways = [cell for cell in neighbours(here, 10) if cell not in walls or rng.random() < 0.2]
        here = rng.choice(ways or [here])
        cells.append(here)
    return cell_words(cells, 10)


def play(
    workflow: PlannerExecutor | Single, num: int = 6, **settings: object
) -> tuple[list[PlanPathTask], list[Episode]]:
    cast = Cast.per_role(
        workflow.roles,
        PolicySpec("base", engine="scripted"),
        train=Sampling(max_tokens=200),
        eval=Sampling(max_tokens=200),
    )
    tasks = draw([(PlanPath(hidden_walls=0.3), 1.0)], 0, "train", 0, num)
    batch = run_batch(
        workflow,
        tasks,
        cast,
        {"scripted": ScriptedEngine(wander)},
        RolloutSettings(width=8, **settings),  # type: ignore[arg-type]
        phase="train",
        ticket=0,
        seed=0,
        split="train",
    )
    return [task for _, task, _ in tasks], batch


def prompt_of(call: Call) -> str:
    return CharacterVoice().decode(call.prompt_ids)


@pytest.mark.parametrize("view", ["full", "stale_map"])
def test_case_04_the_chosen_walk_is_the_one_that_moved_the_team(view: str) -> None:
    for task, episode in zip(*play(PlannerExecutor(view=view))):
        state = task.start()
        for call in episode.calls:
            words = prompt_of(call).split()
            assert words[-1] == f"c{state.cell:02d}"
            assert f"n{state.moves_left}" in words
            if call.key.role == "executor":
                state = state.after(parse_moves(call.text))
        assert episode.outcome is not None
        assert episode.outcome.success == state.at_goal
        assert episode.outcome.team == state.progress


def test_case_03_the_executors_prompt_holds_the_chosen_plan_of_its_turn() -> None:
    for _, episode in zip(*play(PlannerExecutor())):
        for plan, move in zip(episode.calls[::2], episode.calls[1::2]):
            assert (plan.key.role, move.key.role, plan.key.turn) == ("planner", "executor", move.key.turn)
            shown = prompt_of(move).split()[-9:-1]
            assert shown == [*plan.text.split(), *["_"] * (8 - len(plan.text.split()))]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_each_role_has_unequal_groups_at_either_end_of_alpha(alpha: float) -> None:
    unequal = {"planner": 0, "executor": 0}
    for _, episode in zip(*play(PlannerExecutor(), alpha=alpha)):
        for call in episode.calls:
            rewards = [candidate.reward for candidate in call.candidates if candidate.reward]
            assert len(rewards) == 8
            values = {reward.team if alpha == 1.0 else reward.local for reward in rewards}
            unequal[call.key.role] += len(values) > 1
    assert min(unequal.values()) >= 6


def test_one_role_alone_runs_under_the_same_sampler() -> None:
    for task, episode in zip(*play(Single(), num=2)):
        assert {call.key.role for call in episode.calls} == {"solver"}
        assert episode.outcome is not None
        assert episode.outcome.metrics["moves"] <= task.max_moves


def test_the_same_seed_plays_the_same_episodes() -> None:
    assert play(PlannerExecutor(), num=3)[1] == play(PlannerExecutor(), num=3)[1]


@pytest.mark.parametrize("view", ["full", "stale_map"])
def test_a_record_read_back_replays_with_the_same_prompts_and_rewards(view: str) -> None:
    workflow = PlannerExecutor(view=view)
    cast = Cast.per_role(workflow.roles, PolicySpec("base", engine="scripted"))
    for task, episode in zip(*play(workflow, num=3)):
        stored = decode_episode(encode_episode(episode))
        again = replay(workflow, task, stored, cast, {"scripted": ScriptedEngine(wander)})
        assert again.outcome == episode.outcome
        assert [call.prompt_ids for call in again.calls] == [call.prompt_ids for call in episode.calls]
