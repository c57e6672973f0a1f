"""What is told while a run goes on: metrics of an iteration, the file they are written to, live progress.

Keys are `stage/quantity[/role or policy]`, all defined in docs/metrics.md; times are under `time/` and nothing else is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from motet.errors import CheckpointError, visible
from motet.types import SCHEMA, Call, Episode

Metrics = dict[str, Any]


class Callback(Protocol):
    """What may listen to a run. Every method is optional for a subclass of `Listener`."""

    def on_start(self, about: Mapping[str, Any]) -> None: ...
    def on_iteration(self, metrics: Mapping[str, Any]) -> None: ...
    def on_evaluation(self, evaluation: Mapping[str, Any]) -> None: ...
    def on_note(self, text: str) -> None: ...
    def on_end(self, about: Mapping[str, Any]) -> None: ...


class Listener:
    """A callback that does nothing; override what you need.

    >>> class Best(Listener):
    ...     best = 0.0
    ...     def on_iteration(self, metrics): self.best = max(self.best, metrics["rollout/success"])
    >>> listener = Best(); listener.on_iteration({"rollout/success": 0.5}); listener.best
    0.5
    """

    def on_start(self, about: Mapping[str, Any]) -> None: ...
    def on_iteration(self, metrics: Mapping[str, Any]) -> None: ...
    def on_evaluation(self, evaluation: Mapping[str, Any]) -> None: ...
    def on_note(self, text: str) -> None: ...
    def on_end(self, about: Mapping[str, Any]) -> None: ...


class Callbacks(Listener):
    """Several callbacks as one, told in order."""

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self._callbacks = list(callbacks)

    def on_start(self, about: Mapping[str, Any]) -> None:
        for callback in self._callbacks:
            callback.on_start(about)

    def on_iteration(self, metrics: Mapping[str, Any]) -> None:
        for callback in self._callbacks:
            callback.on_iteration(metrics)

    def on_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        for callback in self._callbacks:
            callback.on_evaluation(evaluation)

    def on_note(self, text: str) -> None:
        for callback in self._callbacks:
            callback.on_note(text)

    def on_end(self, about: Mapping[str, Any]) -> None:
        for callback in self._callbacks:
            callback.on_end(about)


class MetricsFile(Listener):
    """metrics.jsonl: a first line with the schema, then one line per iteration and one per validation, flushed at once.

    A resumed run cuts it back to what it was at its checkpoint.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            path.write_text(json.dumps({"schema": SCHEMA, "kind": "metrics"}) + "\n", encoding="utf-8")

    def on_iteration(self, metrics: Mapping[str, Any]) -> None:
        self._append(metrics)

    def on_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        self._append(evaluation)

    def _append(self, record: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")


def read_metrics(path: Path) -> list[Metrics]:
    """The lines of a metrics.jsonl, without the first. Raises `CheckpointError` with the first line that is broken.

    >>> import tempfile; path = Path(tempfile.mkdtemp()) / "metrics.jsonl"
    >>> MetricsFile(path).on_iteration({"iteration": 1}); read_metrics(path)
    [{'iteration': 1}]
    """
    found: list[Metrics] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            values = json.loads(line)
            if not isinstance(values, dict):
                raise ValueError("no map")
            found.append(values)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"the metrics cannot be read: {error}",
            where={"path": path, "line": len(found) + 1},
            fix="--resume cuts the file back to the last checkpoint; or delete what follows the line before",
        ) from error
    return found[1:]


def rollout_metrics(episodes: Sequence[Episode]) -> Metrics:
    """What was collected: success, failures, cost, and per role the rewards, lengths, cut answers and cut prompts.

    Success is over episodes that ended with an outcome; `rollout/failed_frac` is over all. Rewards are means over all
    candidates that have one, winners and losers alike; a role without any has no such key. Several task sets have
    numbers of their own beside those of all.
    """
    ended = [episode.outcome for episode in episodes if episode.outcome is not None and episode.error is None]
    by_role: dict[str, list[Call]] = {}
    for call in (call for episode in episodes for call in episode.calls):
        by_role.setdefault(call.key.role, []).append(call)
    extra = sum(episode.extra_tokens for episode in episodes)
    metrics: Metrics = {
        "rollout/episodes": len(episodes),
        "rollout/failed_frac": _mean([float(episode.error is not None) for episode in episodes]),
        "rollout/success": _mean([float(outcome.success) for outcome in ended]),
        "rollout/team": _mean([outcome.team for outcome in ended]),
        "rollout/calls": sum(len(episode.calls) + episode.extra_calls for episode in episodes),
        "rollout/tokens": extra + sum(_sampled(call) for calls in by_role.values() for call in calls),
        "rollout/extra_tokens": extra,
    }
    for role, calls in sorted(by_role.items()):
        metrics |= _role_metrics(role, calls)
    names = sorted({episode.task_set for episode in episodes})
    for name in names if len(names) > 1 else []:
        metrics |= _set_metrics(name, [episode for episode in episodes if episode.task_set == name])
    return {key: value for key, value in metrics.items() if value is not None}


def _set_metrics(name: str, episodes: Sequence[Episode]) -> Metrics:
    ended = [episode.outcome for episode in episodes if episode.outcome is not None and episode.error is None]
    return {
        f"rollout/episodes/{name}": len(episodes),
        f"rollout/success/{name}": _mean([float(outcome.success) for outcome in ended]),
        f"rollout/team/{name}": _mean([outcome.team for outcome in ended]),
    }


def _role_metrics(role: str, calls: Sequence[Call]) -> Metrics:
    candidates = [candidate for call in calls for candidate in call.candidates]
    rewards = [candidate.reward for candidate in candidates if candidate.reward is not None]
    return {
        f"reward/team/{role}": _mean([reward.team for reward in rewards if reward.team is not None]),
        f"reward/local/{role}": _mean([reward.local for reward in rewards if reward.local is not None]),
        f"rollout/answer_tokens/{role}": _mean([float(len(candidate.token_ids)) for candidate in candidates]),
        f"rollout/truncated_frac/{role}": _mean([float(candidate.finish == "length") for candidate in candidates]),
        f"rollout/prompt_tokens/{role}": _mean([float(len(call.prompt_ids)) for call in calls]),
        f"rollout/prompt_dropped_frac/{role}": _mean([float(call.prompt_dropped > 0) for call in calls]),
    }


def _sampled(call: Call) -> int:
    return sum(len(candidate.token_ids) for candidate in call.candidates)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _rewards(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(role, team, local) as text, for every role with a reward."""
    roles = sorted({key.split("/")[2] for key in metrics if key.startswith("reward/")})

    def text(key: str) -> str:
        return f"{metrics[key]:.3f}" if key in metrics else "-"

    return [(role, text(f"reward/team/{role}"), text(f"reward/local/{role}")) for role in roles]


def duration(seconds: float) -> str:
    """
    >>> duration(75), duration(3700)
    ('1:15', '1:01:40')
    """
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


class Progress(Listener):
    """Live progress on a terminal, one plain line per iteration elsewhere. Times are this run's own."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._total = self._first = 0
        self._evaluation = ""
        self._start = time.monotonic()

    def on_start(self, about: Mapping[str, Any]) -> None:
        self._total, self._first = about["iterations"], about["iteration"]
        self._start = time.monotonic()
        for line in about["lines"]:
            self._console.print(line, markup=False)
        self._console.print(_cast_table(about["cast"]))
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()

    def on_iteration(self, metrics: Mapping[str, Any]) -> None:
        done = metrics["iteration"] - self._first
        left = (time.monotonic() - self._start) / max(1, done) * (self._total - metrics["iteration"])
        if self._live is not None:
            self._live.update(self._table(metrics, left), refresh=True)
            return
        rewards = "  ".join(f"{role} team {team} local {local}" for role, team, local in _rewards(metrics))
        self._console.print(
            f"iteration {metrics['iteration']}/{self._total}  success {metrics['rollout/success']:.3f}  {rewards}  "
            f"{metrics['time/tokens_per_s']:.0f} tokens/s  {duration(left)} left",
            markup=False,
        )

    def on_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        found = {
            key.removeprefix("validation/success/"): value for key, value in evaluation.items() if "/success/" in key
        }
        self._evaluation = "validation success " + "  ".join(
            f"{decoding} {value:.3f}" for decoding, value in found.items()
        )
        if self._live is None:
            self._console.print(f"iteration {evaluation['iteration']}/{self._total}  {self._evaluation}", markup=False)

    def on_note(self, text: str) -> None:
        self._console.print(visible(text), markup=False)

    def on_end(self, about: Mapping[str, Any]) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _table(self, metrics: Mapping[str, Any], left: float) -> Table:
        table = Table(title=self._evaluation or None, title_justify="left")
        for heading in ("iteration", "success", "role", "team reward", "local reward", "tokens/s", "time left"):
            table.add_column(heading, justify="right")
        first = [f"{metrics['iteration']}/{self._total}", f"{metrics['rollout/success']:.3f}"]
        last = [f"{metrics['time/tokens_per_s']:.0f}", duration(left)]
        for index, row in enumerate(_rewards(metrics) or [("-", "-", "-")]):
            table.add_row(*(first if index == 0 else ["", ""]), *row, *(last if index == 0 else ["", ""]))
        return table


def _cast_table(cast: Sequence[tuple[str, str, str]]) -> Table:
    table = Table(title="who speaks with which weights", title_justify="left")
    for heading in ("role", "policy", "engine"):
        table.add_column(heading)
    for row in cast:
        table.add_row(*row)
    return table
