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

from motet.build import Prepared, held_out, prepare
from motet.config import load
from motet.evaluate.statistics import wilson
from motet.policies import tiny
from motet.policies.models import load as load_model
from motet.policies.played_bases import PERFECT, PLAYED, Course, Play, PlayedBase, lessons_of, stock_of
from motet.policies.played_lessons import Manner, PlayedCast, Shown, learn, tiny_voice
from motet.policies.tiny_net import initial_weights
from motet.policies.warm_start import save
from motet.session import start

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


def supervised_lines(recipe: str, seed: int, seconds: float) -> tuple[list[dict[str, Any]], int]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        steps = supervise(prepare(load(recipe, [f"seed={seed}"])), seconds, seed, folder)
        overrides = [f"model={folder}", f"seed={seed}", "threads=1", "train.iterations=0", "update.schedule=constant"]
        prepared = prepare(load(recipe, [*overrides, "evaluate.variants=[team]", "evaluate.checkpoints=[base]"]))
        report = start(prepared, runs=Path(scratch) / "runs")
        assert report.result is not None
        lines = [dict(one) for one in report.result["evaluations"] if one["name"] == "team"]
    for one in lines:
        one |= {"name": "supervised", "checkpoint": "final"}
        one.pop("solved", None)
    return lines, steps


def majority_line(prepared: Prepared) -> dict[str, Any]:
    """One answer per role, always the same."""
    own, course = played(prepared, CONSTANT_FROM)
    counts: dict[str, Counter[Shown]] = {}
    voice = tiny_voice()
    for lesson in lessons_of(own, course, 999):
        said = Shown(lesson.role, (), lesson.answer_ids)
        counts.setdefault(lesson.role, Counter())[said] += 1
    answers = {role: voice.decode(count.most_common(1)[0][0].answer_ids) for role, count in counts.items()}
    number = prepared.settings.evaluate.num_tasks
    tasks = [task for _, task, _ in held_out(prepared.task_sets, prepared.settings.evaluate.split, number)]
    manner = Manner(PERFECT, PERFECT)

    async def play(task: Any) -> bool:
        constant = lambda role, task, values, kind, rng: answers.get(role, "")
        cast = PlayedCast(prepared.workflow, task, constant, manner, voice, "0")
        return bool((await prepared.workflow.run(task, cast)).success)

    async def play_all() -> list[bool]:
        return list(await asyncio.gather(*(play(task) for task in tasks)))

    solved = sum(asyncio.run(play_all()))
    low, high = wilson(solved, number)
    line: dict[str, Any] = {"name": "majority", "decoding": "sampled", "checkpoint": "final", "split": "test"}
    line |= {"num_tasks": number, "success": solved / number, "low": low, "high": high, "tokens": 0, "calls": 0}
    return line | {"said": answers}


def main(recipe: str, num_seeds: str = "99") -> None:
    torch.set_num_threads(1)
    folder = Path("docs/studies") / recipe
    runs = json.loads((folder / "results.json").read_text("utf-8"))
    seconds = min(run["train_seconds"] for run in runs)
    constant = majority_line(prepare(load(recipe)))
    print("majority", constant["success"], constant["said"])
    found: list[dict[str, Any]] = [] if int(num_seeds) else [{"evaluations": [constant]}]
    (folder / "supervised.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for run in runs[: int(num_seeds)]:
        lines, steps = supervised_lines(recipe, run["seed"], seconds)
        found.append({"seed": run["seed"], "seconds": seconds, "steps": steps, "evaluations": [*lines, constant]})
        print(run["seed"], steps, [(e["name"], e["decoding"], e["success"]) for e in lines], flush=True)
        (folder / "supervised.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
