"""Builds the tiny bases: a warm start on weak demonstrators, in stages.

    stage "skill":  perfect walks alone, until the model plans well
    stage "blur":   mostly walks that are wrong in a coherent way, so that the skill is there but seldom shown

`tiny-m` knows both roles of Plan-Path; `tiny-m-planner` and `tiny-m-executor` part at the blur, which teaches each of
them to say nothing where the prompt is the other role's.

What comes out fails most tasks under sampling and under greedy decoding, and reinforcement learning sharpens it fast.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from motet.errors import ConfigError, EngineError
from motet.policies import tiny
from motet.policies.lessons import Lesson, Mixture, Mixtures, Teacher
from motet.policies.optimiser import Optimiser, rate_at
from motet.policies.played_bases import PLAYED, courses_as_json, school
from motet.policies.tiny_net import TinyNet, initial_weights

LessonLoss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_ALL: Mixture = (1.0, 0.0, 0.0, 0.0)
_WEAK: Mixture = (0.1, 0.7, 0.2, 0.0)
_COPY: Mixture = (0.1, 0.65, 0.25, 0.0)
_LONE: Mixture = (0.15, 0.65, 0.2, 0.0)
_LONE_COPY: Mixture = (0.15, 0.6, 0.25, 0.0)
_SAID: Mixture = (0.4, 0.4, 0.2, 0.0)
_NONE: Mixture = (0.0, 0.0, 0.0, 1.0)
PERFECT_ONLY = Mixtures(_ALL, _ALL, _ALL, _ALL)


@dataclass(frozen=True, slots=True)
class Stage:
    """`steps` optimiser steps on one mixture of demonstrators.

    The learning rate rises over the first `warm_up` of the steps, stays, and falls linearly over the last `decay` to
    `floor` times `lr`. `executor_frac` of the lessons are an executor's; `stale_frac` of a planner's and `blind_frac`
    of an executor's grids are of the complementary recipe.
    """

    name: str
    steps: int
    lr: float
    mixtures: Mixtures
    warm_up: float = 0.03
    decay: float = 0.75
    floor: float = 0.02
    executor_frac: float = 0.33
    stale_frac: float = 0.25
    blind_frac: float = 0.5

    def lr_at(self, step: int) -> float:
        """The learning rate of step 0 .. steps - 1.

        >>> stage = Stage("s", 100, 1.0, PERFECT_ONLY, warm_up=0.1, decay=0.5)
        >>> [round(stage.lr_at(step), 2) for step in (0, 20, 75, 99)]
        [0.02, 1.0, 0.5, 0.02]
        """
        return self.lr * rate_at(step / self.steps, warm_up=self.warm_up, decay=self.decay, floor=self.floor)


SKILL = Stage("skill", 2600, 4e-3, PERFECT_ONLY)


def blur(planner: Mixture, executor: Mixture, follower: Mixture, stale_frac: float) -> Stage:
    """The short last stage that hides the skill."""
    mixtures = Mixtures(planner, executor, follower, _SAID)
    return Stage("blur", 160, 1e-3, mixtures, 0.05, 0.9, 0.05, executor_frac=0.4, stale_frac=stale_frac)


BASES: dict[str, tuple[str, tuple[Stage, ...]]] = {
    "tiny-s": ("tiny-s", (SKILL, blur(_WEAK, _WEAK, _COPY, 0.25))),
    "tiny-m": ("tiny-m", (SKILL, blur(_WEAK, _WEAK, _COPY, 0.25))),
    "tiny-l": ("tiny-l", (SKILL, blur(_WEAK, _WEAK, _COPY, 0.25))),
    "tiny-m-planner": ("tiny-m", (SKILL, blur(_LONE, _NONE, _NONE, 0.5))),
    "tiny-m-executor": ("tiny-m", (SKILL, blur(_NONE, _LONE, _LONE_COPY, 0.5))),
}
"""Bases of Plan-Path: name -> (size, stages). Those of other tasks stand in `played_bases.PLAYED`."""


def lesson_loss(net: TinyNet) -> LessonLoss:
    """Cross entropy against what the demonstrator might do next, mean over the points of all walks, in nats."""

    def loss(prefix: Tensor, tails: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        _, hidden = net.hidden(prefix, tails)
        logprobs = net.logits(hidden[:, :, -targets.shape[2] :]).log_softmax(-1)
        return -(logprobs.gather(-1, targets) * weights).sum() / weights.sum()

    return loss


def warm_start(
    weights: dict[str, Tensor],
    size: tiny.TinySize,
    stages: Sequence[Stage],
    seed: int,
    *,
    compiled: bool = False,
    max_seconds: float | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, int]:
    """Trains `weights` in place through `stages`; returns the steps done by stage name.

    Deterministic in (weights, stages, seed) for one thread count, unless `max_seconds` cuts: it gives each stage the
    share of the time that it has of the steps, and its schedule is cut, not squeezed. `compiled` is about twice as
    fast after minutes of compilation, and needs a C++ compiler.
    """
    for weight in weights.values():
        weight.requires_grad_(True)
    plain = lesson_loss(TinyNet(size, weights))
    loss: LessonLoss = torch.compile(plain, dynamic=False) if compiled else plain
    total, done = sum(stage.steps for stage in stages), {}
    for number, stage in enumerate(stages):
        teacher, optimiser = Teacher(seed * 1000 + number), Optimiser(weights)
        until = None if max_seconds is None else time.monotonic() + max_seconds * stage.steps / total
        step = 0
        while step < stage.steps and (until is None or time.monotonic() < until):
            lesson = _next(teacher, stage)
            value = loss(lesson.prefix, lesson.tails, lesson.targets, lesson.weights)
            value.backward()  # type: ignore[no-untyped-call]
            optimiser.step(stage.lr_at(step))
            step += 1
            if step % 50 == 0:
                report(f"{stage.name} {step}/{stage.steps} loss {value.item():.3f}")
        done[stage.name] = step
    return done


def _next(teacher: Teacher, stage: Stage) -> Lesson:
    if teacher.rng.random() < stage.executor_frac:
        return teacher.executor(stage.mixtures, stage.blind_frac)
    return teacher.planner(stage.mixtures, stage.stale_frac)


def build_base(
    name: str,
    out_dir: Path | str,
    *,
    seed: int = 0,
    stages: Sequence[Stage] | None = None,
    max_seconds: float | None = None,
    compiled: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> Path:
    """Builds a base of `BASES` or of `played_bases.PLAYED` into `out_dir`: a Hugging Face folder of float16 weights,
    tokenizer and `base.json`.

    `stages` replaces those of `BASES`, and `compiled` is for them alone. The same (name, seed, stages) gives the same
    weights for one thread count.
    About 40 minutes for tiny-m on one core, half of that with `compiled`. Raises `ConfigError` where `out_dir` already
    holds a model, `EngineError` for an unknown name.

    >>> import tempfile
    >>> short = [Stage("skill", 1, 1e-3, PERFECT_ONLY)]
    >>> folder = build_base("tiny-s", tempfile.mkdtemp(), stages=short)
    >>> sorted(path.name for path in folder.glob("*.json"))
    ['base.json', 'config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json']
    """
    folder = Path(out_dir)
    if (folder / "config.json").exists():
        raise ConfigError(f"{folder} already holds a model", fix="name another folder or delete this one")
    if name not in BASES and name not in PLAYED:
        raise EngineError(f"no base {name!r} can be built", fix=f"use one of {', '.join((*BASES, *PLAYED))}")
    started = time.monotonic()
    size_name, weights, course = _trained(name, seed, stages, max_seconds=max_seconds, compiled=compiled, report=report)
    about = {
        "schema": 1,
        "name": name,
        "size": size_name,
        "seed": seed,
        **course,
        "minutes": round((time.monotonic() - started) / 60, 2),
        "threads": torch.get_num_threads(),
        "compiled": compiled,
        "versions": {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__},
    }
    save(size_name, weights, folder, about)
    return folder


def _trained(
    name: str, seed: int, stages: Sequence[Stage] | None, *, compiled: bool, **settings: Any
) -> tuple[str, dict[str, Tensor], dict[str, Any]]:
    """Size, weights, and what `base.json` says of how they were trained."""
    if name in PLAYED:
        base = PLAYED[name]
        weights = initial_weights(tiny.size_of(base.size), seed)
        steps = school(base, weights, seed, **settings)
        return base.size, weights, {"tasks": base.tasks, "courses": courses_as_json(base), "steps_done": steps}
    size_name, planned = BASES[name]
    stages = planned if stages is None else stages
    weights = initial_weights(tiny.size_of(size_name), seed)
    steps = warm_start(weights, tiny.size_of(size_name), stages, seed, compiled=compiled, **settings)
    return size_name, weights, {"stages": [asdict(stage) for stage in stages], "steps_done": steps}


def save(size_name: str, weights: dict[str, Tensor], folder: Path, about: dict[str, Any]) -> None:
    """Writes the folder that `AutoModelForCausalLM` and `AutoTokenizer` read, and `base.json` with `about`."""
    model = transformers.Qwen3ForCausalLM(tiny.config(size_name))
    model.load_state_dict({key: weight.detach() for key, weight in weights.items()}, strict=False)
    model.tie_weights()
    model.half().save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    tiny.tokenizer().save_pretrained(folder)
    (folder / "base.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
