"""Lessons say what the workflow says; a build is a function of its seed; the shipped base is what its card claims."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from motet.errors import ConfigError
from motet.policies import tiny
from motet.policies.lessons import Lesson, Mixtures, Teacher
from motet.policies.warm_start import PERFECT_ONLY, Stage, build_base
from motet.tasks.plan_path import PlanPathTask, State
from motet.tasks.plan_path_moves import Moves
from motet.workflows.planner_executor_prompts import compact

WORDS = np.array(tiny.vocabulary())
WEAK = Mixtures((0.1, 0.6, 0.2, 0.1), (0.1, 0.6, 0.2, 0.1), (0.2, 0.4, 0.2, 0.2), (0.3, 0.4, 0.2, 0.1))


def words_of(ids: torch.Tensor) -> list[str]:
    return [str(word) for word in WORDS[ids.numpy()]]


def rendered(prompt: list[str], num_said: int) -> str:
    """What the workflow would say in the situation that a lesson's prompt describes."""
    goal, walls, said = prompt[0], tuple(int(w[1:]) for w in prompt[1:23] if w != "_"), prompt[23:]
    part = "move" if num_said > 4 else "plan"
    true = walls if part == "move" else tuple(range(22))
    task = PlanPathTask("t", 10, true, walls, 0, 99 if goal == "_" else int(goal[1:]), 18, 36)
    state = State(task, int(said[-1][1:]), int(said[2][1:]), last=said[1])  # type: ignore[arg-type]
    hides = part == "plan" or goal == "_"
    values = {"position": state, "part": part, "view": "stale_map" if hides else "full"}
    if num_said > 4:
        values["plan"] = Moves(tuple(int(w[1:]) for w in said[3:-1] if w != "_"))
    return compact(said[0], values)


@pytest.mark.parametrize(("role", "num_said"), [("planner", 4), ("executor", 12)])
def test_the_prompts_of_lessons_are_those_of_the_workflow(role: str, num_said: int) -> None:
    teacher = Teacher(0, num_grids=4, num_walks=4)
    lesson: Lesson = getattr(teacher, role)(WEAK, 0.5)
    assert lesson.prefix.shape == (4, 23)
    assert lesson.tails.shape == (4, 4, num_said + 8)
    for prefix, tails in zip(lesson.prefix, lesson.tails):
        for tail in tails:
            prompt = words_of(prefix) + words_of(tail[:num_said])
            assert " ".join(prompt) == rendered(prompt, num_said)


def test_half_of_the_lessons_hide_ten_walls_or_the_goal() -> None:
    teacher = Teacher(0, num_grids=4, num_walks=2)
    blanks = (teacher.planner(WEAK, 0.5).prefix == tiny.vocabulary().index("_")).sum(1)
    assert blanks.tolist() == [10, 10, 0, 0]
    blanks = (teacher.executor(WEAK, 0.5).prefix == tiny.vocabulary().index("_")).sum(1)
    assert blanks.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("role", ["planner", "executor"])
def test_targets_are_a_distribution_that_holds_the_walk_shown(role: str) -> None:
    lesson: Lesson = getattr(Teacher(1, num_grids=4, num_walks=8), role)(WEAK, 0.5)
    total = lesson.weights.sum(-1)
    assert bool(((total - 1).abs().lt(1e-5) | total.eq(0)).all())
    walked = lesson.tails[:, :, -8:]
    shown = ((lesson.targets[:, :, :8] == walked[..., None]) * lesson.weights[:, :, :8]).sum(-1)
    assert bool((shown[walked != 0] > 0).all())


@pytest.mark.slow
def test_a_build_depends_on_its_seed_alone(tmp_path: Path) -> None:
    stages = [Stage("skill", 2, 1e-3, PERFECT_ONLY), Stage("blur", 2, 1e-3, WEAK)]
    found = []
    for number, seed in enumerate((4, 4, 5)):
        torch.manual_seed(number)
        folder = build_base("tiny-s", tmp_path / str(number), seed=seed, stages=stages)
        found.append(load_file(folder / "model.safetensors"))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    assert not torch.equal(found[0]["model.norm.weight"], found[2]["model.norm.weight"])
    assert json.loads((tmp_path / "0" / "base.json").read_text())["steps_done"] == {"skill": 2, "blur": 2}


def test_a_build_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="already holds a model"):
        build_base("tiny-s", tmp_path, stages=[Stage("skill", 1, 1e-3, PERFECT_ONLY)])


def test_the_shipped_bases_are_small_and_speak_the_vocabulary() -> None:
    bases = Path(str(importlib.resources.files("motet").joinpath("bases")))
    shipped = [folder for folder in sorted(bases.iterdir()) if (folder / "config.json").exists()]
    assert "tiny-m" in [folder.name for folder in shipped]
    assert sum(path.stat().st_size for path in bases.rglob("*") if path.is_file()) < 8_000_000
    for folder in shipped:
        words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        assert sorted(words, key=words.__getitem__) == list(tiny.vocabulary())
        assert (folder / "base.json").exists()
