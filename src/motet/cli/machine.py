"""`motet recipes`, `motet doctor`, `motet bench`, `motet matrix`: what there is, what runs here, how fast, and whether
everything holds together."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def recipes(
    keys: Annotated[
        bool, typer.Option("--keys", help="List every key a recipe can hold, with default and meaning.")
    ] = False,
) -> int:
    """List the recipes that come with the package, the workflows, and the published reward mixes (`preset=NAME`).

    Example: motet recipes --keys
    """
    from motet.config import PRESETS
    from motet.config import recipes as shipped
    from motet.config.describe import key_table
    from motet.matrix import KINDS

    if keys:
        typer.echo(key_table(), nl=False)
        return 0
    found = shipped()
    for name, description in found.items():
        typer.echo(f"{name:<{max(map(len, found))}}  {description}")
    typer.echo("\nworkflows, by kind of task (motet train smoke 'tasks=[{name: arithmetic}]' workflow.name=voting)")
    for kind, (sets, workflows) in KINDS.items():
        typer.echo(f"{kind:<6} {', '.join(sets)} ...: {', '.join(workflows)}")
    typer.echo("\npresets: mixes of rewards as published, for any recipe (motet train plan_path preset=at_grpo)")
    for name, preset in PRESETS.items():
        typer.echo(f"{name:<{max(map(len, PRESETS))}}  {preset.meaning} ({preset.source})")
    return 0


def doctor(as_json: JsonOption = False) -> int:
    """Say what this machine can run.

    Example: motet doctor
    """
    from motet.doctor import examine

    findings = examine()
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        marks = {"ok": "ok", "missing": "MISSING", "note": "-"}
        for one in findings:
            typer.echo(f"{marks[one.verdict]:<8}{one.subject:<24}{one.found:<44}{one.meaning}".rstrip())
    return 1 if any(finding.verdict == "missing" for finding in findings) else 0


def bench(
    as_json: JsonOption = False,
    seconds: Annotated[float, typer.Option(min=1, help="Time to measure for, per prompt length.")] = 30.0,
    runs: Annotated[int, typer.Option(min=1, help="Rounds to measure at least.")] = 5,
    prompt_tokens: Annotated[
        list[int] | None, typer.Option(min=1, max=960, help="Prompt length; may be given again.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; none: what torch takes.")] = None,
    peers: Annotated[Path | None, typer.Option(help="Folder of tools/peers.py install: measure them too.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the JSON here as well.")] = None,
) -> int:
    """Measure completions per second of a whole iteration, and the share of this machine's limit. Exit code 1 where a
    peer that was asked for leaves no figure.

    Example: motet bench --json
    """
    from motet.bench import Work, measure
    from motet.bench_peers import PEERS
    from motet.bench_table import show

    say = lambda text: typer.echo(text, err=True)
    reports = [
        measure(seconds, min_runs=runs, work=Work(prompt_tokens=length), threads=threads, peers=peers, progress=say)
        for length in prompt_tokens or [Work().prompt_tokens]
    ]
    found = reports[0] | ({"variants": reports} if len(reports) > 1 else {})
    if output is not None:
        output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    else:
        show(reports)
    return int(any(f"{name}.missing" in one for one in reports for name in PEERS))


def matrix(
    only: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CELL]...", help="Kinds, task sets, workflows or TASKS:WORKFLOW; none: all cells."),
    ] = None,
    tier: Annotated[str, typer.Option(help="smoke: tiny models of random weights; chat: a real chat model.")] = "smoke",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    as_json: JsonOption = False,
) -> int:
    """Train every kind of task with every workflow that is made for it, two iterations each, and show whether each role
    had something to learn from. Exit code 1 where a cell does not hold.

    Example: motet matrix plan_path:planner_executor voting
    """
    from motet.matrix import run_matrix
    from motet.matrix_table import line, show

    found = run_matrix(tier, only or (), seed=seed, progress=lambda one: typer.echo(line(one), err=True))
    if as_json:
        typer.echo(json.dumps({"tier": tier, "seed": seed, "cells": [one.to_json() for one in found]}, indent=1))
    else:
        show(found, tier)
    return 0 if all(one.holds for one in found) else 1
