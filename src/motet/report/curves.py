"""Which metrics are drawn, and together with which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from motet.report.plot import Series, line_plot

CHARTS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    (
        "success while training (sampled, tree sampling) and on validation",
        ("rollout/success", "validation/success", "validation/set_success"),
        True,
    ),
    ("team reward by role, all candidates", ("reward/team",), True),
    ("local reward by role, all candidates", ("reward/local",), True),
    ("groups whose rewards are all equal: no signal", ("credit/equal_groups_frac",), True),
    (
        "unequal groups by team reward alone (alpha 1)",
        ("credit/unequal_team_frac",),
        True,
    ),
    (
        "unequal groups by local reward alone (alpha 0)",
        ("credit/unequal_local_frac",),
        True,
    ),
    ("tokens per answer", ("rollout/answer_tokens",), False),
    ("tokens sampled per iteration", ("rollout/tokens",), False),
    ("tokens per second", ("time/tokens_per_s",), False),
    ("gradient norm", ("update/grad_norm",), False),
)
"""(title, keys or beginnings of keys, whether it is a fraction). A key that a run does not log leaves its chart out."""


def series_of(metrics: Sequence[Mapping[str, Any]], key: str) -> list[Series]:
    """One line for `key`, or one for each `key/...` below it.

    >>> [one.name for one in series_of([{"iteration": 1, "reward/team/planner": 0.5}], "reward/team")]
    ['planner']
    """
    found = dict.fromkeys(
        one for line in metrics for one in line if one == key or (one.startswith(key + "/") and key.count("/") >= 1)
    )
    made = []
    for one in found:
        points = [
            (float(line["iteration"]), float(line[one]))
            for line in metrics
            if isinstance(line.get(one), (int, float)) and not isinstance(line.get(one), bool) and "iteration" in line
        ]
        is_validation = one.startswith("validation/")
        name = one.removeprefix(key).strip("/") or ("all" if len(found) > 1 else key)
        if key == "rollout/success":
            name = "training" if one == key else f"training, {name}"
        elif is_validation and name != key:
            name = f"validation, {name}"
        made.append(Series(name, tuple(points), smooth=not is_validation, dots=is_validation))
    return made


def curves(metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    """The charts of `CHARTS` that this run has anything for."""
    plots = []
    for title, keys, is_fraction in CHARTS:
        series = [one for key in keys for one in series_of(metrics, key)]
        plots.append(line_plot(series, title=title, y_range=(0.0, 1.0) if is_fraction else None))
    return [plot for plot in plots if plot]


def others(metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    """A chart for every other metric, those of one quantity (`stage/quantity/...`) together."""
    drawn = [key for _, keys, _ in CHARTS for key in keys]
    quantities: dict[str, None] = {}
    for line in metrics:
        for key, value in line.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            quantity = "/".join(key.split("/")[:2])
            if is_number and "/" in key and quantity not in drawn:
                quantities[quantity] = None
    return [plot for key in sorted(quantities) if (plot := line_plot(series_of(metrics, key), title=key))]
