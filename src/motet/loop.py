"""The loop.

    tasks = draw(...)                 which problems this batch holds
    episodes = collect(...)           the workflow is run, every call gives K scored candidates
    credited = rows(episodes, ...)    reward is mixed, candidates are grouped, advantages estimated
    learn(learner, rows)              each policy takes its rows
    parts.publish()                   the engine serves the new versions
    tell, validate, save              metrics, held-out tasks, checkpoints, each when due

Nothing here knows which algorithm, workflow or backend runs: that was chosen when the parts were built.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from motet.build import held_out
from motet.credit.assign import Credited, rows, silent_trees
from motet.evaluate.evaluator import evaluate
from motet.parts import Parts
from motet.policies.update import Learner
from motet.record import Progressed, Record
from motet.rollout.collect import collect
from motet.rollout.runner import run_batch
from motet.tasks.base import draw
from motet.tracking import Callback, Metrics, rollout_metrics
from motet.types import Episode, Row


def train(
    parts: Parts,
    progress: Progressed,
    record: Record,
    callback: Callback,
    should_stop: Callable[[], bool] = lambda: False,
) -> Progressed:
    """Run the iterations that are left. Returns when all are done, or after the iteration that is to be the last.

    Batch `ticket` depends on (settings, seed, ticket, weights) alone, so a run that stops and resumes is the run that
    did not stop. Any error ends the run; nothing is skipped but what `sampling.max_failed_frac` allows.
    """
    prepared, settings = parts.prepared, parts.prepared.settings
    clock = Clock(progress.seconds)
    while progress.iteration < settings.train.iterations:
        ticket, watch = progress.iteration, Watch()
        with watch.lap("rollout"):
            tasks = draw(prepared.task_sets, settings.seed, "train", ticket, settings.sampling.trees)
            episodes = gather(parts, tasks, ticket)
        with watch.lap("credit"):
            credited = rows(episodes, prepared.credit)
        with watch.lap("update"):
            updates = learn(parts.learner, credited.rows)
            parts.publish()
        progress.iteration += 1
        progress.seconds = clock.seconds
        record.write_episodes(episodes)
        callback.on_iteration(measure(progress, episodes, credited, updates, watch))
        say(callback, progress.iteration, credited)
        progress.stopped = should_stop()
        if is_due(progress, settings.train.eval_every, settings.train.iterations):
            with clock.stopped():
                validation = validate(parts, progress.iteration, callback)
            record.keep_best(parts, progress, validation)
        if is_due(progress, settings.train.checkpoint_every, settings.train.iterations) or progress.stopped:
            record.save(parts, progress)
        if progress.stopped:
            break
    return progress


class Clock:
    """Seconds since it was made, behind those of `before`, without those spent inside `stopped`."""

    def __init__(self, before: float = 0.0) -> None:
        self._start = time.perf_counter() - before

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def stopped(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - start


class Watch:
    """Seconds per stage of one iteration."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.laps[name] = time.perf_counter() - start

    @property
    def total(self) -> float:
        return sum(self.laps.values())


def gather(parts: Parts, tasks: Sequence[tuple[str, Any, int]], ticket: int) -> list[Episode]:
    """The episodes of one batch, trees without signal drawn anew as often as the settings allow."""
    prepared, settings = parts.prepared, parts.prepared.settings

    def play(wanted: Sequence[tuple[str, Any, int]]) -> list[Episode]:
        return run_batch(
            prepared.workflow, wanted, prepared.cast, parts.engines, prepared.rollout,
            phase="train", ticket=ticket, seed=settings.seed, split="train",
        )  # fmt: skip

    return collect(
        play,
        tasks,
        prepared.rollout,
        max_extra_trees=settings.sampling.max_extra_trees,
        is_informative=lambda tree: not silent_trees(tree, prepared.credit),
    )


def learn(learner: Learner, batch: Sequence[Row]) -> Metrics:
    """Give each policy its own rows, and name what it reports after it.

    A policy without a row is called all the same: its schedule ticks with the iteration.
    """
    metrics: Metrics = {}
    for policy in learner.policies:
        own = [row for row in batch if row.policy == policy]
        roles = {row.role for row in own}
        for key, value in learner.update(policy, own).items():
            stage, quantity, *role = key.split("/")
            if not role or len(roles) > 1:
                metrics["/".join([stage, quantity, policy, *role])] = value
    return metrics


def measure(
    progress: Progressed, episodes: Sequence[Episode], credited: Credited, updates: Metrics, watch: Watch
) -> Metrics:
    """The line of metrics.jsonl of one iteration; docs/metrics.md defines each key."""
    rolled = rollout_metrics(episodes)
    return {
        "iteration": progress.iteration,
        **rolled,
        **credited.report.metrics(),
        **updates,
        "time/rollout_s": round(watch.laps["rollout"], 4),
        "time/credit_s": round(watch.laps["credit"], 4),
        "time/update_s": round(watch.laps["update"], 4),
        "time/iteration_s": round(watch.total, 4),
        "time/train_s": round(progress.seconds, 4),
        "time/tokens_per_s": round(rolled["rollout/tokens"] / max(watch.laps["rollout"], 1e-9), 1),
    }


def say(callback: Callback, iteration: int, credited: Credited) -> None:
    """State it where an iteration gave a role nothing to learn from."""
    silent = [name for name, role in credited.report.roles.items() if not role.has_signal]
    if silent or not credited.report.roles:
        for statement in credited.report.statements:
            callback.on_note(f"iteration {iteration}: {statement}")


def validate(parts: Parts, iteration: int, callback: Callback) -> Metrics:
    """Success on held-out tasks, never those of the test split, under each decoding."""
    prepared, settings = parts.prepared, parts.prepared.settings
    start = time.perf_counter()
    tasks = held_out(prepared.task_sets, "validation", settings.train.eval_tasks)
    found: Metrics = {"iteration": iteration}
    for decoding in settings.evaluate.decodings:
        one = evaluate(
            prepared.workflow,
            tasks,
            prepared.cast,
            parts.engines,
            prepared.rollout,
            decoding=decoding,
            split="validation",
            seed=settings.seed,
        )
        found |= {
            f"validation/success/{decoding}": one.success,
            f"validation/low/{decoding}": one.low,
            f"validation/high/{decoding}": one.high,
            f"validation/tokens/{decoding}": one.tokens,
        }
        found |= success_by_set(decoding, [name for name, _, _ in tasks], one.solved)
    found["time/validation_s"] = round(time.perf_counter() - start, 4)
    callback.on_evaluation(found)
    return found


def success_by_set(decoding: str, names: Sequence[str], solved: str) -> Metrics:
    """The fraction solved of each task set, empty where there is one. `names[i]` is the set of task i, `solved[i]` its
    mark, 1 or 0.

    >>> success_by_set("greedy", ["sums", "grids", "sums"], "110")
    {'validation/set_success/greedy/grids': 1.0, 'validation/set_success/greedy/sums': 0.5}
    """
    marks = {name: [mark for of, mark in zip(names, solved) if of == name] for name in sorted(set(names))}
    if len(marks) < 2:
        return {}
    return {f"validation/set_success/{decoding}/{name}": own.count("1") / len(own) for name, own in marks.items()}


def is_due(progress: Progressed, every: int, last: int) -> bool:
    """After each `every` iterations and after the last one; never where `every` is 0.

    >>> [is_due(Progressed(iteration=n), 2, 5) for n in (1, 2, 5)], is_due(Progressed(iteration=5), 0, 5)
    ([False, True, True], False)
    """
    return every > 0 and (progress.iteration % every == 0 or progress.iteration == last)
