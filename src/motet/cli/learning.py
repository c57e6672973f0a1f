"""`motet train`, `motet sft`, `motet base build`: the commands that make weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunsOption = Annotated[Path, typer.Option("--runs", help="Folder that holds the runs.")]
base = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make the tiny base models.")


def train(
    recipe: Annotated[str, typer.Argument(help="A name of `motet recipes`, or a YAML file.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Settings to change.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the resolved settings and stop.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest run of this name.")] = False,
    runs: RunsOption = Path("runs"),
) -> int:
    """Train a team.

    Example: motet train plan_path seed=1 credit.alpha=0.5
    """
    import yaml

    from motet.build import prepare
    from motet.config import load
    from motet.runs import described

    loaded = load(recipe, overrides or [])
    prepared = prepare(loaded)
    if show:
        typer.echo(yaml.safe_dump(described(prepared.settings), sort_keys=False, allow_unicode=True), nl=False)
        return 0
    from motet.session import start
    from motet.tracking import Progress

    report = start(prepared, runs=runs, resume=resume, callbacks=[Progress()])
    if report.result is None:
        return 130
    if report.result["evaluations"]:
        from motet.evaluate.result import evaluations_of
        from motet.evaluate.table import show_table

        show_table(evaluations_of(report.result))
    typer.echo(
        f"trained {report.iterations} iterations in {report.train_seconds:.1f} s; report: {report.folder.report}"
    )
    return 0


def sft(
    source: Annotated[str, typer.Argument(help="A JSONL file of answers, or a run whose winning answers are taken.")],
    role: Annotated[str, typer.Option(help="Role that learns.")],
    out: Annotated[Path, typer.Option(help="Folder for the new model.")],
    model: Annotated[str, typer.Option(help="Model to start from.")] = "tiny-m",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the answers.")] = 1,
    lr: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    runs: RunsOption = Path("runs"),
) -> int:
    """Warm-start one role by supervision.

    Example: motet sft runs/plan_path --role planner --out warm/planner
    """
    from motet.supervise import supervise

    losses = [
        step["sft/loss"]
        for step in supervise(source, role=role, out=out, model=model, epochs=epochs, lr=lr, seed=seed, runs=runs)
    ]
    typer.echo(f"{len(losses)} steps, loss {losses[0]:.4f} -> {losses[-1]:.4f} nats per token; model in {out}")
    return 0


@base.command("build")
def build(
    name: Annotated[str, typer.Argument(help="tiny-s, tiny-m, tiny-l, or another base of docs/bases.md.")],
    out: Annotated[Path, typer.Option(help="Folder for the new base.")],
    seconds: Annotated[float, typer.Option(min=0, help="Cut the training after this time; 0: to its end.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    threads: Annotated[int, typer.Option(min=0, help="Threads of torch; 0: the cores that are free.")] = 0,
    compiled: Annotated[bool, typer.Option("--compiled", help="Compile first: minutes, then twice as fast.")] = False,
) -> int:
    """Warm-start a tiny base on weak demonstrations of the bundled tasks.

    Example: motet base build tiny-m --out bases/tiny-m
    """
    import torch

    from motet.doctor import threads_to_use
    from motet.policies.warm_start import build_base

    torch.set_num_threads(threads or threads_to_use())
    typer.echo(str(build_base(name, out, seed=seed, max_seconds=seconds or None, compiled=compiled, report=typer.echo)))
    return 0
