"""The figures of `motet bench` for a reader: one table, and below it what the machine and the peers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from motet.bench_peers import PEERS
from motet.errors import visible

HEADINGS = ("prompt", "", "completions/s", "range", "motet is", "range", "share of the limit", "processor")


def show(reports: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """The table of all reports, one row per trainer and work, then the bounds, the machine, versions and settings."""
    console = console or Console(highlight=False, width=None if Console().is_terminal else 120)
    work = reports[0]["work"]
    title = (
        f"{work['num_prompts']} prompts x {work['num_candidates']}, {work['new_tokens']} new tokens, rollout + update"
    )
    table = Table(title=title, title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "" else "right")
    for report in reports:
        for name in ("motet", *PEERS):
            if f"{name}.completions_per_s" in report:
                table.add_row(*row(name, report))
    console.print(table)
    for text in notes(reports):
        console.print(visible(text), markup=False, soft_wrap=True)


def row(name: str, report: Mapping[str, Any]) -> tuple[str, ...]:
    """
    >>> report = {"work": {"prompt_tokens": 110}, "trl.completions_per_s": 70.4, "trl.completions_per_s.low": 68.0,
    ...           "trl.completions_per_s.high": 71.0, "trl.ratio": 8.15, "trl.ratio.low": 8.0, "trl.ratio.high": 8.3,
    ...           "trl.processor_frac": 0.995}
    >>> row("trl", report)
    ('110', 'trl', '70.4', '68.0..71.0', '8.2 x', '8.0..8.3', '', '100%')
    """
    rate, ratio = f"{name}.completions_per_s", f"{name}.ratio"
    return (
        str(report["work"]["prompt_tokens"]),
        name,
        f"{report[rate]:.1f}",
        f"{report[f'{rate}.low']:.1f}..{report[f'{rate}.high']:.1f}",
        f"{report[ratio]:.1f} x" if ratio in report else "",
        f"{report[f'{ratio}.low']:.1f}..{report[f'{ratio}.high']:.1f}" if ratio in report else "",
        f"{report['limit.share']:.0%}" if name == "motet" else "",
        f"{report[f'{name}.processor_frac']:.0%}",
    )


def notes(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    """What else must be read beside the table: bounds, machine, load, versions and settings, and who is missing."""
    first, last = reports[0], reports[-1]
    found = [
        f"prompt {one['work']['prompt_tokens']}: {one['work.gflop']:.1f} GFLOP and {one['work.gbyte']:.2f} GB "
        f"an iteration; a large product runs at {one['roof.gflop_per_s']:.0f} GFLOP/s, "
        f"a copy at {one['roof.gbyte_per_s']:.1f} GB/s; "
        f"the products of this work allow {one['limit.completions_per_s']:.0f} completions/s"
        for one in reports
    ]
    found.append(
        f"{first['hardware']}, {first['cores']} cores, {first['threads']} threads, torch {first['torch']}, "
        f"at least {min(one['runs'] for one in reports)} rounds after one not counted, "
        f"load {first['load'][0]:.1f} before and {last['load'][-1]:.1f} after"
    )
    for name in PEERS:
        if f"{name}.versions" in first:
            versions = ", ".join(f"{package} {number}" for package, number in first[f"{name}.versions"].items())
            settings = ", ".join(f"{key}={value}" for key, value in first[f"{name}.settings"].items())
            found.append(f"{name}: {versions}; {settings}")
    for one in reports:
        for name in PEERS:
            if f"{name}.missing" in one:
                found.append(f"prompt {one['work']['prompt_tokens']}: no figure of {name}: {one[f'{name}.missing']}")
    return found
