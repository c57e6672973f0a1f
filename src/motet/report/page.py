"""Puts the page together out of what a run left: config.yaml, metrics.jsonl, result.json, and episodes to draw.

Every text of the run (what a model said above all) is escaped; the page loads nothing from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import yaml
from markupsafe import Markup

from motet.errors import visible
from motet.evaluate.result import NAMES, Evaluation, evaluations_of, is_solved, read_result
from motet.evaluate.scenes import frames
from motet.evaluate.table import caption, label, rows
from motet.report.curves import curves, others
from motet.report.picture import draw
from motet.report.plot import Mark, interval_plot
from motet.runs import RunFolder, write_atomically
from motet.tracking import read_metrics
from motet.types import Episode


def write_report(folder: RunFolder, shown: Sequence[tuple[Any, Episode]] = (), *, shown_as: str = "") -> Path:
    """Write `report.html` into the folder of a run and return its path.

    `shown` are (task, episode) pairs to draw turn by turn, `shown_as` says what they are. What the run has not left
    yet (no evaluation, no metrics) is left out of the page.
    """
    result = read_result(folder.result) if folder.result.is_file() else {}
    metrics = read_metrics(folder.metrics) if folder.metrics.is_file() else []
    config = yaml.safe_load(folder.config.read_text(encoding="utf-8")) if folder.config.is_file() else {}
    write_atomically(folder.report, render(folder.name, config, metrics, result, shown, shown_as))
    return folder.report


def render(
    name: str,
    config: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    result: Mapping[str, Any],
    shown: Sequence[tuple[Any, Episode]] = (),
    shown_as: str = "",
) -> str:
    """The page as text."""
    evaluations = evaluations_of(result) if result else []
    settings = config.get("settings", {})
    head, body = rows(evaluations) if evaluations else ([], [])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        name=name,
        description=settings.get("description", ""),
        tiles=_tiles(evaluations, metrics, result),
        intervals=[Markup(plot) for plot in _intervals(evaluations)],
        caption=caption(evaluations) if evaluations else "",
        head=head,
        body=body,
        curves=[Markup(plot) for plot in curves(metrics)],
        others=[Markup(plot) for plot in others(metrics)],
        cast=cast_rows(settings),
        episodes=[_drawn(task, episode) for task, episode in shown],
        shown_as=shown_as,
        settings=yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True) if settings else "",
        about=_about(config, result),
    )


def cast_rows(settings: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Role, policy, its kind, what it started from, and its engine, out of resolved settings.

    >>> cast_rows({"cast": {"judge": "j"}, "policies": {"j": {"kind": "remote", "url": "x"}}, "model": "tiny-m"})
    [('judge', 'j', 'remote', 'tiny-m', 'openai')]
    """
    cast = settings.get("cast")
    if not isinstance(cast, Mapping):
        return []
    made = []
    for seat, policy in cast.items():
        spec = settings.get("policies", {}).get(policy, {})
        kind = spec.get("kind", "full") + (f", rank {spec['rank']}" if spec.get("kind") == "lora" else "")
        engine = "openai" if spec.get("kind") == "remote" else "local"
        made.append((seat, policy, kind, spec.get("base") or settings.get("model", ""), engine))
    return made


def _tiles(
    evaluations: Sequence[Evaluation], metrics: Sequence[Mapping[str, Any]], result: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    """What to see first: (label, value, remark)."""
    team = {(one.decoding, one.checkpoint): one for one in evaluations if one.name == "team"}
    tiles = []
    for decoding in ("sampled", "greedy"):
        last = team.get((decoding, "final")) or team.get((decoding, "peak"))  # type: ignore[call-overload]
        first = team.get((decoding, "base"))  # type: ignore[call-overload]
        if last is not None:
            before = f"; base {100 * first.success:.1f}%" if first is not None else ""
            remark = f"95% interval {100 * last.low:.1f} to {100 * last.high:.1f}{before}"
            tiles.append((f"team success, {decoding}", f"{100 * last.success:.1f}%", remark))
    if "train_seconds" in result:
        minutes, seconds = divmod(round(result["train_seconds"]), 60)
        tiles.append(("training time", f"{minutes}:{seconds:02d}", "first sample to last update"))
    rounds = [one for one in metrics if "rollout/episodes" in one]
    if rounds:
        tokens = sum(one.get("rollout/tokens", 0) for one in rounds)
        tiles.append(("iterations", str(len(rounds)), f"{tokens:,} tokens sampled"))
    return tiles


def _intervals(evaluations: Sequence[Evaluation]) -> list[str]:
    plots = []
    for decoding in ("sampled", "greedy"):
        mine = [one for one in evaluations if one.decoding == decoding or one.name.startswith("walker_")]
        keys = [key for key in ("base", "peak", "final") if any(one.checkpoint == key for one in mine)]
        if not any(one.decoding == decoding and not one.name.startswith("walker_") for one in mine):
            continue
        lines = []
        found = dict.fromkeys(one.name for one in mine)
        for name in dict.fromkeys([*(name for name in NAMES if name in found), *found]):
            of = {one.checkpoint: one for one in mine if one.name == name}
            marks = [Mark(of[key].success, of[key].low, of[key].high) if key in of else None for key in keys]
            lines.append((label(next(iter(of.values()))).partition(" (")[0], marks))
            best = [of[key].best_of if key in of else None for key in keys]
            if any(best):
                tries = [Mark(one.success, one.low, one.high) if one else None for one in best]
                lines.append(("single agent, best of n", tries))
        plots.append(interval_plot(lines, title=f"success, {decoding} decoding, with 95% intervals", keys=keys))
    return plots


def _drawn(task: Any, episode: Episode) -> dict[str, Any]:
    return {
        "id": visible(episode.task_id),
        "solved": is_solved(episode),
        "error": visible(episode.error or ""),
        "frames": [
            {
                "turn": one.turn,
                "said": [(role, visible(text)) for role, text in one.said],
                "note": one.note,
                "grid": Markup(draw(one.grid)) if one.grid else "",
                "drawing": "" if one.grid else one.drawing,
            }
            for one in frames(task, episode)
        ],
    }


def _about(config: Mapping[str, Any], result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Seed, hash, versions, machine."""
    about = {
        "seed": result.get("seed", config.get("settings", {}).get("seed", "")),
        "settings hash": result.get("settings_hash", config.get("settings_hash", "")),
        **dict(result.get("versions") or config.get("versions") or {}),
        **dict(result.get("hardware") or config.get("hardware") or {}),
    }
    return [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in about.items()]
