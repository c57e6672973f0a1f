"""Lines beside a study's own: a team of other weights on the recipe's test tasks, and a player that is no model."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from motet.build import Prepared, held_out, prepare
from motet.config import load
from motet.evaluate.statistics import wilson
from motet.session import start

STUDIES = Path("docs/studies")
Line = dict[str, Any]


def team_lines(recipe: str, seed: int, overrides: Sequence[str]) -> list[Line]:
    """The recipe's team with `overrides` (other weights), untrained, on its test tasks under both decodings."""
    settings = [f"seed={seed}", "threads=1", "train.iterations=0", "update.schedule=constant"]
    settings += ["evaluate.variants=[team]", "evaluate.checkpoints=[base]"]
    with tempfile.TemporaryDirectory() as scratch:
        report = start(prepare(load(recipe, [*overrides, *settings])), runs=Path(scratch))
    assert report.result is not None
    lines = [dict(one) for one in report.result["evaluations"] if one["name"] == "team"]
    for line in lines:
        line |= {"name": "supervised", "checkpoint": "final"}
        line.pop("solved", None)
    return lines


def held_out_tasks(prepared: Prepared) -> list[Any]:
    """The tasks that the recipe's evaluation at the end plays."""
    own = prepared.settings.evaluate
    return [task for _, task, _ in held_out(prepared.task_sets, own.split, own.num_tasks)]


def line_of(name: str, solved: int, number: int) -> Line:
    """How a player does that has no weights, no tokens and one way to play."""
    low, high = wilson(solved, number)
    line: Line = {"name": name, "decoding": "sampled", "checkpoint": "final", "split": "test", "num_tasks": number}
    return line | {"success": solved / number, "low": low, "high": high, "tokens": 0, "calls": 0}


def write_lines(recipe: str, num_seeds: int, lines_for: Callable[[int, float], tuple[list[Line], Any]]) -> None:
    """`lines_for(seed, seconds)` for runs of the study, into its supervised.json; `seconds`: of its quickest run."""
    runs = json.loads((STUDIES / recipe / "results.json").read_text("utf-8"))
    seconds = min(run["train_seconds"] for run in runs)
    found = []
    for run in runs[:num_seeds]:
        lines, steps = lines_for(run["seed"], seconds)
        found.append({"seed": run["seed"], "seconds": seconds, "steps": steps, "evaluations": lines})
        print(run["seed"], steps, [(e["name"], e["decoding"], e["success"]) for e in lines], flush=True)
        text = json.dumps(found, indent=1) + "\n"
        (STUDIES / recipe / "supervised.json").write_text(text, "utf-8")
