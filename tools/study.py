"""Gather finished runs into docs/studies/NAME: results.json, curves.svg, and the table inside README.md.

    python tools/study.py plan_path runs/plan_path runs/plan_path-2 runs/plan_path-3
    python tools/study.py plan_path        # the table once more, from results.json and supervised.json

The README of the study keeps its own words; what stands between the marks `<!-- table -->` and `<!-- end -->` is
replaced.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from motet.evaluate.result import NAMES
from motet.report.plot import Series, line_plot

BEGIN, END = "<!-- table -->", "<!-- end -->"
COLOURS = ("#0b6e99", "#c2541b", "#3d8b37", "#8a4fa3", "#a08000", "#555555")
STYLE = (
    "text{font:11px sans-serif;fill:#444}.rule{stroke:#ddd}.axis{stroke:#888}path{fill:none;stroke-width:1.8}"
    + "".join(f"path.s{i}{{stroke:{c}}}circle.s{i}{{fill:{c}}}" for i, c in enumerate(COLOURS))
)


def read_run(folder: Path) -> dict[str, Any]:
    """What a study keeps of one run: its result and the validation curve, no episode and no path."""
    result = json.loads((folder / "result.json").read_text("utf-8"))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    curve, seconds = [], 0.0
    for line in lines:
        seconds = line.get("time/train_s", seconds)
        if "validation/success/sampled" in line:
            curve.append(
                {
                    "iteration": line["iteration"],
                    "train_s": round(seconds, 1),
                    "sampled": line["validation/success/sampled"],
                    "greedy": line.get("validation/success/greedy"),
                }
            )
    signal = {
        key.removeprefix("credit/"): statistics.mean(line[key] for line in lines if key in line)
        for key in sorted({key for line in lines for key in line if key.startswith("credit/unequal")})
    }
    for evaluation in result["evaluations"]:
        evaluation.pop("solved", None)
    return result | {"curve": curve, "signal": signal}


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """One line per player and checkpoint: mean over the seeds, the seeds themselves, the widest Wilson interval."""
    cells: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        for one in run["evaluations"]:
            cells.setdefault((one["name"], one["checkpoint"], one["decoding"]), []).append(one)
    order = {name: index for index, name in enumerate((*NAMES, "supervised", "demonstrators", "majority"))}
    keys = sorted({key[:2] for key in cells}, key=lambda k: (k[1] != "base", order.get(k[0], 99), k[0]))
    text = "| player | weights | sampled: mean (seeds) [95%] | greedy: mean (seeds) [95%] | tokens per task |\n"
    text += "|---|---|---|---|--:|\n"
    for name, checkpoint in keys:
        found = [cells.get((name, checkpoint, decoding), []) for decoding in ("sampled", "greedy")]
        tokens = statistics.mean(e["tokens"] / e["num_tasks"] for e in found[0] or found[1])
        weights = "" if name.startswith("walker_") or name in ("demonstrators", "majority") else checkpoint
        text += f"| {name} | {weights} | {cell(found[0])} | {cell(found[1])} | {tokens:.0f} |\n"
    return text


def with_supervised(runs: Sequence[Mapping[str, Any]], target: Path) -> list[Mapping[str, Any]]:
    """The runs, and behind them the lines of `tools/supervised.py` where it was run."""
    found = target / "supervised.json"
    return [*runs, *(json.loads(found.read_text("utf-8")) if found.exists() else [])]


def cell(found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    mean = statistics.mean(e["success"] for e in found)
    each = " ".join(f"{100 * e['success']:.1f}" for e in found)
    low, high = min(e["low"] for e in found), max(e["high"] for e in found)
    if len({e["success"] for e in found}) == 1:
        return f"{100 * mean:.1f} [{100 * low:.0f}, {100 * high:.0f}]"
    return f"**{100 * mean:.1f}** ({each}) [{100 * low:.0f}, {100 * high:.0f}]"


def curves(runs: Sequence[Mapping[str, Any]]) -> str:
    """Validation success over minutes of training, one line per seed and decoding, as a file of its own."""
    series = [
        Series(
            f"seed {run['seed']} {decoding}",
            tuple((point["train_s"] / 60, point[decoding]) for point in run["curve"]),
            smooth=False,
            dots=True,
        )
        for run in runs
        for decoding in ("sampled", "greedy")
        if run["curve"] and run["curve"][0][decoding] is not None
    ]
    plot = line_plot(series, title="validation success", x_label="minutes of training", y_range=(0.0, 1.0))
    if not plot:
        return ""
    svg = plot[plot.index("<svg") : plot.index("</svg>")]
    svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1).replace(">", f"><style>{STYLE}</style>", 1)
    legend = "".join(
        f'<text x="300" y="{150 + 13 * i}" style="fill:{COLOURS[i % len(COLOURS)]}">{one.name}</text>'
        for i, one in enumerate(series)
    )
    return svg + legend + "</svg>\n"


def main(name: str, folders: Sequence[str]) -> None:
    target = Path("docs/studies") / name
    target.mkdir(parents=True, exist_ok=True)
    if folders:
        runs = sorted((read_run(Path(folder)) for folder in folders), key=lambda run: run["seed"])
    else:
        runs = json.loads((target / "results.json").read_text("utf-8"))
    (target / "results.json").write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    if plot := curves(runs):
        (target / "curves.svg").write_text(plot, "utf-8")
    seconds = [run["train_seconds"] for run in runs]
    head = (
        f"Seeds {', '.join(str(run['seed']) for run in runs)}; {runs[0]['evaluations'][0]['num_tasks']} test tasks; "
        f"training took {', '.join(f'{s / 60:.1f}' for s in seconds)} minutes.\n\n"
    )
    readme = target / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else f"# {name}\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n{head}{table(with_supervised(runs, target))}{END}{after}", "utf-8")
    print(head + table(with_supervised(runs, target)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
