"""Published ways to make one number of team and local reward, as fragments of a recipe: `preset: at_grpo_sudoku`.

A preset says how rewards are mixed and nothing else; what the rewards of a role are is the workflow's
(docs/rewards.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from motet.config.marks import Marked, Path
from motet.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Preset:
    """One fragment, what it does in one line, and where it was published."""

    meaning: str
    source: str
    settings: Mapping[str, Mapping[str, Any]]


_AT_GRPO = "arXiv 2510.11062"


def _convex(alpha: float, task: str) -> Preset:
    meaning = f"{alpha:g} team + {1 - alpha:g} local, the paper's weight for {task}"
    return Preset(meaning, f"{_AT_GRPO}, appendix A", {"credit": {"mix": "convex", "alpha": alpha, "rewards": "score"}})


PRESETS: Mapping[str, Preset] = {
    "at_grpo": Preset(
        "team + local, every task alike",
        f"{_AT_GRPO}, section on credit: alpha 1, not tuned",
        {"credit": {"mix": "additive", "alpha": 1.0, "rewards": "score"}},
    ),
    "at_grpo_maths": _convex(0.7, "mathematics"),
    "at_grpo_sudoku": _convex(0.6, "Sudoku"),
    "at_grpo_plan_path": _convex(0.5, "Plan-Path"),
    "at_grpo_sokoban": _convex(0.4, "Sokoban"),
    "outcome_broadcast": Preset(
        "every call of an episode gets the outcome of the episode, whatever it said itself",
        "arXiv 2605.24202",
        {
            "credit": {"mix": "convex", "alpha": 1.0, "rewards": "outcome"},
            "sampling": {"rule": "independent"},
        },
    ),
}


def apply_preset(marked: Marked, name: Any, *, over: bool) -> None:
    """Write the fragment `name` into a recipe: under what the recipe says, or over it.

    In a file `preset` is what the recipe starts from, so keys written beside it outrank it; on the command line it
    comes later than the recipe, so it outranks that, and what follows on the command line outranks the preset.

    >>> recipe = Marked({"credit": {"alpha": 0.2}})
    >>> apply_preset(recipe, "at_grpo_sudoku", over=False); recipe.data["credit"]["alpha"], recipe.data["credit"]["mix"]
    (0.2, 'convex')
    >>> apply_preset(recipe, "at_grpo_sudoku", over=True); recipe.data["credit"]["alpha"], recipe.data["preset"]
    (0.6, 'at_grpo_sudoku')
    """
    place = marked.place(("preset",))
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is None:
        raise ConfigError(f"there is no preset '{name}'", where={"line": place}, fix=f"take {', '.join(PRESETS)}")
    marked.data["preset"] = name
    for section, values in preset.settings.items():
        own = marked.data.setdefault(section, {})
        if not isinstance(own, dict):
            continue  # what stands there is no section, and is refused as such when the settings are read
        for key, value in values.items():
            if over or key not in own:
                own[key] = value
                path: Path = (section, key)
                marked.marks[path] = f"preset '{name}'"
