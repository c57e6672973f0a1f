"""What stands beside a study of a base that went to school in played episodes: supervised learning, and one answer.

    python tools/beside.py arithmetic_voting        # every seed of the study
    python tools/beside.py arithmetic_voting 1      # one of them; 0: `majority` alone

For each run of docs/studies/RECIPE/results.json: the recipe's base goes on learning from perfect demonstrators, in
episodes of the recipe's own workflow and tasks, for the seconds that the quickest run trained (one torch thread;
drawing the lessons is not counted); then it plays every role on the test tasks (`supervised`). `majority` says in every
role what its perfect demonstrator says most often on the train split.

Writes docs/studies/RECIPE/supervised.json; `tools/study.py` puts it into the table.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from study_lines import STUDIES, Line, held_out_tasks, line_of, team_lines, write_lines

from motet.build import Prepared, prepare
from motet.config import load
from motet.policies import tiny
from motet.policies.models import load as load_model
from motet.policies.played_bases import PERFECT, PLAYED, Course, Play, PlayedBase, lessons_of, stock_of
from motet.policies.played_lessons import Manner, PlayedCast, Shown, learn, tiny_voice
from motet.policies.tiny_net import initial_weights
from motet.policies.warm_start import save

LR, TIMED_STEPS, EPISODES, CONSTANT_FROM = 2e-3, 10, 4000, 1000


def played(prepared: Prepared, episodes: int) -> tuple[PlayedBase, Course]:
    """The recipe's base, and perfect lessons in the recipe's own workflow and tasks."""
    settings = prepared.settings
    own = PLAYED[settings.model]
    play = Play(settings.workflow.name, episodes, settings.workflow.settings, settings.tasks[0].settings)
    return own, replace(own.courses[0], name="supervised", taught=PERFECT, plays=(play,), steps=TIMED_STEPS, lr=LR)


def supervise(prepared: Prepared, seconds: float, seed: int, out: Path) -> int:
    """Save the base after `seconds` of perfect lessons to `out`; returns the steps."""
    own, course = played(prepared, EPISODES)
    size = tiny.size_of(own.size)
    found = load_model(prepared.settings.model).model.state_dict()
    weights = {name: found[name].detach().clone().float() for name in initial_weights(size, 0)}
    lessons = lessons_of(own, course, 1000 + seed)
    begun = time.monotonic()
    trial = {name: weight.clone() for name, weight in weights.items()}
    learn(trial, size, stock_of(course, lessons, seed), steps=TIMED_STEPS, lr=LR)
    steps = max(1, round(seconds * TIMED_STEPS / (time.monotonic() - begun)))
    until = time.monotonic() + seconds
    done = learn(
        weights,
        size,
        stock_of(course, lessons, seed),
        steps=steps,
        lr=LR,
        until=lambda: time.monotonic() >= until,
    )
    about = {"schema": 1, "name": "supervised", "seed": seed, "steps": done}
    save(own.size, {name: weight.detach() for name, weight in weights.items()}, out, about)
    return done


def lines_for(recipe: str, seed: int, seconds: float) -> tuple[list[Line], int]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        steps = supervise(prepare(load(recipe, [f"seed={seed}"])), seconds, seed, folder)
        return team_lines(recipe, seed, [f"model={folder}"]), steps


def majority_line(prepared: Prepared) -> Line:
    """One answer per role, always the same."""
    own, course = played(prepared, CONSTANT_FROM)
    counts: dict[str, Counter[Shown]] = {}
    voice = tiny_voice()
    for lesson in lessons_of(own, course, 999):
        said = Shown(lesson.role, (), lesson.answer_ids)
        counts.setdefault(lesson.role, Counter())[said] += 1
    answers = {role: voice.decode(count.most_common(1)[0][0].answer_ids) for role, count in counts.items()}
    tasks = held_out_tasks(prepared)
    manner = Manner(PERFECT, PERFECT)

    async def play(task: Any) -> bool:
        constant = lambda role, task, values, kind, rng: answers.get(role, "")
        cast = PlayedCast(prepared.workflow, task, constant, manner, voice, "0")
        return bool((await prepared.workflow.run(task, cast)).success)

    async def play_all() -> list[bool]:
        return list(await asyncio.gather(*(play(task) for task in tasks)))

    return line_of("majority", sum(asyncio.run(play_all())), len(tasks)) | {"said": answers}


def main(recipe: str, num_seeds: str = "99") -> None:
    torch.set_num_threads(1)
    constant = majority_line(prepare(load(recipe)))
    print("majority", constant["success"], constant["said"])
    if not int(num_seeds):
        found = json.dumps([{"evaluations": [constant]}], indent=1)
        (STUDIES / recipe / "supervised.json").write_text(f"{found}\n", "utf-8")

    def lines(seed: int, seconds: float) -> tuple[list[Line], int]:
        own, steps = lines_for(recipe, seed, seconds)
        return [*own, constant], steps

    write_lines(recipe, int(num_seeds), lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
