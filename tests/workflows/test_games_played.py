"""Every game by every workflow of games: each role is heard, is paid by what it does, and can turn the outcome."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.runner import RolloutSettings, run_batch
from motet.tasks import sokoban_demonstrators, sudoku_demonstrators
from motet.tasks.games import Game
from motet.tasks.plan_path import PlanPath
from motet.tasks.plan_path_words import cell_words
from motet.tasks.sokoban import Sokoban
from motet.tasks.sudoku import Sudoku
from motet.tasks.walkers import play as walk
from motet.testing.check_workflow import check_workflow
from motet.types import Outcome, Prompt, Sampling
from motet.workflows import debate_games
from motet.workflows.base import Workflow
from motet.workflows.planner_executor import PlannerExecutor
from motet.workflows.single import Single
from motet.workflows.tool_planner import ToolPlanner

GAMES = {"plan_path": PlanPath(min_distance=5), "sudoku": Sudoku(), "sokoban": Sokoban(max_optimal=8)}
"""Each can be solved in one call."""


class GameDebate(Workflow):
    """Only the game's part of a debate."""

    roles = {"debater": 2, "judge": 1}
    prompts = debate_games.PROMPTS
    needs = (Game,)

    async def run(self, task: Any, cast: Any) -> Outcome:
        return await debate_games.play(task, cast, debaters=2, rounds=2)


WORKFLOWS: dict[str, Callable[[], Workflow]] = {
    "single": Single,
    "planner_executor": PlannerExecutor,
    "tool_planner": lambda: ToolPlanner(language="words"),
    "debate": GameDebate,
}
CELLS = [(workflow, game) for workflow in WORKFLOWS for game in GAMES]


def short_task(game: str, index: int = 0) -> Any:
    """A task that one call can solve."""
    found = (GAMES[game].task("train", one) for one in range(index, 1000))
    return next(t for t in found if getattr(t, "optimal", 0) <= getattr(t, "max_moves_per_call", 99))


def perfect(game: str, task: Any) -> str:
    if game == "plan_path":
        return cell_words(walk("shortest", task).walked, task.size)
    demonstrators: Any = {"sudoku": sudoku_demonstrators, "sokoban": sokoban_demonstrators}[game]
    return str(demonstrators.answer(task.start(), demonstrators.PERFECT, random.Random(0)))


class FunctionCast:
    """Roles that are functions of their compact prompt; keeps what each was shown, and in which dialects it can be."""

    def __init__(self, workflow: Workflow, says: dict[str, Callable[[str], str]]) -> None:
        self.workflow, self.says = workflow, says
        self.seen: list[tuple[str, str, str]] = []
        self.rewards: list[Any] = []

    def __getattr__(self, role: str) -> Any:
        async def act(prompt: Prompt, score: Callable[[str], Any]) -> Any:
            words = self.workflow.prompts[prompt.name]["compact"](prompt.values)
            chat = self.workflow.prompts[prompt.name]["chat"](prompt.values)
            assert isinstance(words, str) and not isinstance(chat, str)
            self.seen.append((role, words, "\n".join(str(message.content) for message in chat)))
            text = self.says[role](words)
            self.rewards.append(score(text))
            return SimpleNamespace(text=text, notes=self.rewards[-1].notes)

        slots = self.workflow.roles[role]
        seat: Any = SimpleNamespace(act=act)
        return seat if slots == 1 else [seat] * slots

    async def gather(self, *acts: Any) -> list[Any]:
        return [await act for act in acts]


def outcome(name: str, task: Any, says: dict[str, Callable[[str], str]]) -> tuple[Outcome, FunctionCast]:
    workflow = WORKFLOWS[name]()
    cast = FunctionCast(workflow, says)
    return asyncio.run(workflow.run(task, cast)), cast


def proposal(task: Any, prompt: str) -> str:
    """The last proposal in a compact prompt, copied as it stands."""
    start = task.start()
    num_here = len(start.show("compact").here.split())
    num_told = len(start.tell(start.read(""), "compact").split())
    words = prompt.split()[:-num_here][-num_told:]
    return " ".join(words) if num_here > 1 else " ".join(word for word in words if word != "_")


FIRST = {"planner_executor": "planner", "tool_planner": "tool", "debate": "debater"}
LAST = {"planner_executor": "executor", "tool_planner": "planner", "debate": "judge"}


@pytest.mark.parametrize(("name", "game"), CELLS)
def test_each_role_can_change_the_outcome_both_ways(name: str, game: str) -> None:
    task = short_task(game)
    good, bad = perfect(game, task), "no idea"
    if name == "single":
        assert outcome(name, task, {"solver": lambda _: good})[0].success
        assert not outcome(name, task, {"solver": lambda _: bad})[0].success
        return
    first, last = FIRST[name], LAST[name]
    copies = lambda prompt: proposal(task, prompt)
    assert outcome(name, task, {first: lambda _: good, last: copies})[0].success
    assert not outcome(name, task, {first: lambda _: bad, last: copies})[0].success
    assert outcome(name, task, {first: lambda _: bad, last: lambda _: good})[0].success
    assert not outcome(name, task, {first: lambda _: good, last: lambda _: bad})[0].success


@pytest.mark.parametrize(("name", "game"), [cell for cell in CELLS if cell[0] != "single"])
def test_case_03_what_the_first_role_says_stands_in_the_prompt_of_the_last(name: str, game: str) -> None:
    task = short_task(game)
    prompts = {}
    for text in (perfect(game, task), "no idea"):
        _, cast = outcome(name, task, {FIRST[name]: lambda _, text=text: text, LAST[name]: lambda _: ""})
        prompts[text] = next((words, chat) for role, words, chat in cast.seen if role == LAST[name])
    one, other = prompts.values()
    assert one[0] != other[0] and one[1] != other[1]
    assert len(one[0].split()) == len(other[0].split())


@pytest.mark.parametrize(("name", "game"), CELLS)
def test_case_12_every_later_prompt_starts_where_the_team_stands(name: str, game: str) -> None:
    task = short_task(game)
    step = perfect(game, task).split()[0] if game != "sudoku" else first_fill(task)
    mover = LAST.get(name, "solver")
    says = {FIRST.get(name, mover): lambda _: ""} | {mover: lambda _: step}
    _, cast = outcome(name, task, says)
    after = task.start().after(task.start().read(step))
    second = [entry for entry in cast.seen if entry[0] == mover][1]
    assert after.show("compact").now in second[1] and second[1].endswith(after.show("compact").here)
    assert after.show("chat").now in second[2]


def first_fill(task: Any) -> str:
    cell = task.clues.index(0)
    return " ".join(str(task.solution[cell]) if one == cell else "_" for one in range(len(task.clues)))


@pytest.mark.parametrize(("name", "game"), CELLS)
def test_every_cell_passes_the_check_that_is_shipped_for_ones_own(name: str, game: str) -> None:
    task = dataclasses.replace(short_task(game, index=3), max_turns=2)
    texts = (perfect(game, task), '#### ["R", "D"]', "#### [[0, 0, 1], [1, 1, 2]]", "1 2 3")
    passed = check_workflow(WORKFLOWS[name](), task, texts=texts)
    assert passed == ["fits", "dialects", "plays", "worth", "pure", "replay", "evaluation"]


def wander(game: str) -> Callable[[str, str, int, float], str]:
    """What a weak model may say: moves and fills at random, sometimes nothing."""

    def reply(policy: str, prompt: str, index: int, uniform: float) -> str:
        rng = random.Random(uniform)
        if game == "sudoku":
            return " ".join(rng.choice("1234_") for _ in range(16))
        here = prompt.split()[-1]
        row, column = int(here[1]), int(here[2])
        words = []
        for _ in range(rng.randrange(7)):
            down, right = rng.choice([(0, 1), (1, 0), (0, -1), (-1, 0)])
            row, column = row + down, column + right
            words.append(f"c{max(row, 0)}{max(column, 0)}")
        return " ".join(words)

    return reply


@pytest.mark.parametrize(("name", "game"), CELLS)
def test_each_role_has_unequal_groups_at_either_end_of_alpha(name: str, game: str) -> None:
    workflow = WORKFLOWS[name]()
    cast = Cast.per_role(
        workflow.roles,
        PolicySpec("base", engine="scripted"),
        train=Sampling(max_tokens=200),
        eval=Sampling(max_tokens=200),
    )
    episodes = run_batch(
        workflow,
        [(game, GAMES[game].task("train", index), 0) for index in range(4)],
        cast,
        {"scripted": ScriptedEngine(wander(game))},
        RolloutSettings(width=8),
        phase="train",
        ticket=0,
        seed=0,
        split="train",
    )
    unequal = {(role, end): 0 for role in workflow.roles for end in ("team", "local")}
    for episode in episodes:
        for call in episode.calls:
            for end in ("team", "local"):
                values = {getattr(candidate.reward, end) for candidate in call.candidates}
                unequal[call.key.role, end] += len(values) > 1
    assert min(unequal.values()) > 0, unequal
    assert all(episode.error is None for episode in episodes)


def test_a_view_that_a_game_does_not_have_is_refused() -> None:
    reason = PlannerExecutor(view="stale_map").fits(GAMES["sudoku"].task("train", 0))
    assert reason == "SudokuTask has no view 'stale_map'; it has full"
    assert all(PlannerExecutor().fits(task_set.task("train", 0)) is None for task_set in GAMES.values())
