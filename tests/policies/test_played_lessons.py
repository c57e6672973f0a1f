"""Lessons from played episodes are what the workflow would show; batches hold each of them; a build is a function of
its seed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from motet.config import load, recipes
from motet.errors import EngineError
from motet.policies import played_bases, played_voices, tiny
from motet.policies.models import locate
from motet.policies.played_bases import PERFECT, PLAYED, Course, Play, PlayedBase, lessons_of
from motet.policies.played_lessons import Manner, Shown, Stock, answer_loss, batch_of, harvest, tiny_voice
from motet.policies.played_programs import FirstTurn, QuickPrograms
from motet.policies.tiny_net import TinyNet, initial_weights
from motet.policies.warm_start import build_base
from motet.tasks.arithmetic import Arithmetic, ArithmeticTask
from motet.tasks.sudoku import Sudoku
from motet.workflows.base import make_workflow
from motet.workflows.voting import Voting

VOICE = tiny_voice()
SUM = ArithmeticTask("37+45", 37, "+", 45)
WRONG_SAID = {"*": (0.0, 1.0, 0.0)}
TINY = Course("skill", PERFECT, (Play("voting", 4),), 2, 1e-3, batch=4)


def told(lessons: list[Shown]) -> list[tuple[str, str, str]]:
    return [(one.role, VOICE.decode(one.prompt_ids), VOICE.decode(one.answer_ids)) for one in lessons]


def test_what_is_said_goes_on_and_what_is_taught_is_learnt() -> None:
    lessons = harvest(Voting(voters=2), [SUM], played_voices.arithmetic, Manner(WRONG_SAID, PERFECT), voice=VOICE)
    assert told(lessons) == [
        ("voter", "3 7 + 4 5 = voter", "8 2"),
        ("voter", "3 7 + 4 5 = voter", "8 2"),
        ("aggregator", "3 7 + 4 5 = voter 7 2 voter 7 2 aggregator", "1"),
    ]
    assert all(one.answer_ids[-1] == VOICE.tokenizer.eos_token_id for one in lessons)


@pytest.mark.parametrize(
    ("workflow", "tasks", "speak"),
    [
        ("evaluator_optimizer", Arithmetic(), played_voices.arithmetic),
        ("single", Sudoku(), played_voices.sudoku),
        ("planner_executor", Sudoku(), played_voices.sudoku),
    ],
)
def test_a_harvest_is_a_function_of_its_arguments(workflow: str, tasks: Any, speak: Any) -> None:
    def drawn(seed: int) -> list[Shown]:
        some, manner = [tasks.task("train", index) for index in range(6)], Manner(played_bases.MIXED, PERFECT)
        return harvest(make_workflow(workflow), some, speak, manner, voice=VOICE, seed=seed)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


@pytest.mark.slow
def test_an_evaluator_is_taught_both_verdicts() -> None:
    tasks = [Arithmetic().task("train", index) for index in range(40)]
    workflow, manner = make_workflow("evaluator_optimizer"), Manner(played_bases.MIXED, PERFECT)
    lessons = harvest(workflow, tasks, played_voices.arithmetic, manner, voice=VOICE)
    assert {answer for role, _, answer in told(lessons) if role == "evaluator"} == {"yes", "no"}


def test_a_word_that_the_models_do_not_have_is_refused() -> None:
    speak = lambda *_: "zebra"
    with pytest.raises(EngineError, match="a word that the tiny models do not have"):
        harvest(Voting(), [SUM], speak, Manner(PERFECT, PERFECT), voice=VOICE)


@pytest.mark.slow
def test_a_forgotten_carry_is_wrong_only_where_there_is_one() -> None:
    for index in range(60):
        task = Arithmetic().task("train", index)
        carries = task.left % 10 + task.right % 10 >= 10 or task.answer >= 100
        said = played_voices.arithmetic("voter", task, {}, played_voices.WRONG, Random(0))
        assert task.check(said) == float(not carries)


def test_a_first_turn_of_programs_is_that_of_the_workflow() -> None:
    task = QuickPrograms().task("train", 0)
    lessons = harvest(FirstTurn(), [task], played_voices.mini_code, Manner(PERFECT, PERFECT), voice=VOICE)
    assert [(role, prompt) for role, prompt, _ in told(lessons)] == [
        ("coder", f"{task.words} coder"),
        ("tester", f"{task.words} tester"),
    ]


def test_a_stock_gives_every_lesson_once_before_any_twice() -> None:
    lessons = [Shown("a", (1, 2), (index,)) for index in range(8)]
    stock = Stock(lessons, 4, seed=0)
    for _ in range(2):
        assert Counter(lesson for sheet in stock.draw() + stock.draw() for lesson in sheet) == Counter(lessons)


def test_a_batch_has_prompts_of_one_length_and_roles_in_their_shares() -> None:
    lessons = [Shown(role, (1,) * length, (5,)) for role in "ab" for length in (2, 3) for _ in range(4)]
    stock = Stock(lessons, 2, seed=0, share={"a": 3.0})
    drawn = [[lesson for sheet in stock.draw() for lesson in sheet] for _ in range(400)]
    assert all(len({(one.role, len(one.prompt_ids)) for one in batch}) == 1 for batch in drawn)
    assert 0.65 < sum(batch[0].role == "a" for batch in drawn) / 400 < 0.85


def test_roles_that_are_shown_the_same_share_a_sheet() -> None:
    coder, tester, other = (
        Shown("coder", (7, 8, 1), (5,)),
        Shown("tester", (7, 8, 2), (6,)),
        Shown("coder", (9, 9, 1), ()),
    )
    stock = Stock([coder, tester, other, coder], 1, seed=0, shared=True)
    assert {stock.draw()[0] for _ in range(40)} == {(coder, tester), (other,)}


def test_the_loss_of_a_batch_is_the_mean_over_the_words_of_its_answers() -> None:
    size = tiny.size_of("tiny-s")
    net = TinyNet(size, initial_weights(size, 0))
    one, two, three = Shown("a", (4, 5), (6, 1)), Shown("a", (7, 8), (9, 10, 1)), Shown("b", (4, 11), (2, 1))
    prefix, tails, targets, mask = batch_of([(one,), (two,)])
    assert (prefix.tolist(), tails.tolist()) == ([[4], [7]], [[[5, 6, 1]], [[8, 9, 10]]])
    assert (targets.tolist(), mask.tolist()) == ([[[6, 1, 0]], [[9, 10, 1]]], [[[1, 1, 0]], [[1, 1, 1]]])
    apart = [float(answer_loss(net, [(lesson,)])) for lesson in (one, two, three)]
    assert float(answer_loss(net, [(one,), (two,)])) == pytest.approx((2 * apart[0] + 3 * apart[1]) / 5, abs=1e-5)
    assert float(answer_loss(net, [(one, three)])) == pytest.approx((apart[0] + apart[2]) / 2, abs=1e-5)


def test_a_build_depends_on_its_seed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLAYED, "toy", PlayedBase("tiny-s", "arithmetic", (TINY, replace(TINY, name="blur"))))
    found = []
    for number, seed in enumerate((3, 3, 4)):
        torch.manual_seed(number)
        folder = build_base("toy", tmp_path / str(number), seed=seed)
        found.append(load_file(folder / "model.safetensors"))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    assert not torch.equal(found[0]["model.norm.weight"], found[2]["model.norm.weight"])
    assert '"skill": 2' in (tmp_path / "0" / "base.json").read_text()


def test_every_recipe_on_a_played_base_finds_its_weights_and_the_tasks_it_went_to_school_with() -> None:
    settings = [load(name).settings for name in recipes()]
    found = {one.model: one.tasks[0].name for one in settings if one.model in PLAYED}
    assert {"tiny-s-arithmetic", "tiny-s-sudoku", "tiny-s-mini-code"} <= set(found)
    for model, tasks in found.items():
        about = json.loads((Path(locate(model)) / "base.json").read_text())
        assert (about["name"], about["tasks"]) == (model, tasks)


@pytest.mark.parametrize("name", PLAYED)
def test_every_base_learns_on_the_train_split_alone(name: str) -> None:
    base = PLAYED[name]
    assert base.courses[0].taught == PERFECT
    plays = tuple(replace(play, episodes=2) for play in base.courses[0].plays)
    lessons = lessons_of(base, replace(base.courses[0], plays=plays), 0)
    assert len(lessons) >= 4
    assert max(len(one.prompt_ids) + len(one.answer_ids) for one in lessons) < tiny.MAX_POSITIONS
