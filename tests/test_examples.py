"""The examples run, are short, and pass the checks that are shipped to users."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.runner import RolloutSettings, run_batch
from motet.tasks.base import draw
from motet.testing.check_task import check_task
from motet.testing.check_workflow import check_workflow
from motet.types import Episode

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_has_at_most_40_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 40


def hint_or_bisect(policy: str, prompt: str, index: int, uniform: float) -> str:
    """The hinter says the truth (its last candidate lies), the guesser halves what is left (others guess at random)."""
    words = prompt.split()
    if policy == "hinter":
        truth, lie = ("more", "less") if int(words[1]) > int(words[3]) else ("less", "more")
        return lie if index == 3 else truth
    if index != 0:
        return str(int(uniform * 100))
    low, high = 0, 99
    for guess, hint in zip(words[::2], words[1::2]):
        low, high = (int(guess) + 1, high) if hint == "more" else (low, int(guess) - 1)
    return str((low + high) // 2)


def play(phase: str, num: int) -> list[Episode]:
    module = load("guess_number")
    workflow = module.HintAndGuess()
    cast = Cast.per_role(workflow.roles, PolicySpec("base", engine="scripted"))
    tasks = draw([(module.hidden_numbers(), 1.0)], 0, "test", 0, num)
    engines = {"scripted": ScriptedEngine(hint_or_bisect)}
    settings = RolloutSettings(width=4)
    return run_batch(workflow, tasks, cast, engines, settings, phase=phase, ticket=0, seed=0, split="test")  # type: ignore[arg-type]


def test_the_tasks_of_the_example_pass_check_task() -> None:
    module = load("guess_number")
    passed = check_task(module.hidden_numbers(), score=lambda task, text: task.judge_guess(text))
    assert passed == ["splits", "pure", "value", "ids", "disjoint", "rewards"]
    check_task(module.hidden_numbers(), score=lambda task, text: task.judge_hint(50, text), texts=("more", "less"))


def test_the_workflow_of_the_example_passes_check_workflow() -> None:
    module = load("guess_number")
    task = module.hidden_numbers().task("test", 3)
    passed = check_workflow(module.HintAndGuess(), task, texts=("more", "less", "6", "40"))
    assert passed == ["fits", "dialects", "plays", "worth", "pure", "replay", "evaluation"]


def test_true_hints_and_halving_find_every_number_in_seven_guesses() -> None:
    for episode in play("eval", 12):
        assert episode.outcome is not None
        assert (episode.outcome.success, episode.outcome.team) == (True, 1.0)
        assert [call.key.role for call in episode.calls[:2]] == ["hinter", "guesser"]
        assert len(episode.calls) <= 14


def test_in_training_every_role_gets_unequal_rewards() -> None:
    for episode in play("train", 12):
        for call in episode.calls:
            rewards = [candidate.reward for candidate in call.candidates]
            assert len(rewards) == 4
            if call.key.role == "hinter":
                assert [reward.team for reward in rewards if reward] == [1.0, 1.0, 1.0, 0.0]
            else:
                assert len({reward.team for reward in rewards if reward}) > 1
