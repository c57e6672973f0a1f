"""`motet eval`, `motet play`, `motet report`: the commands that look at a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[str, typer.Argument(help="The folder of a run, or its name under --runs.")]
RunsOption = Annotated[Path, typer.Option("--runs", help="Folder that holds the runs.")]
SplitOption = Annotated[str, typer.Option(help="Split the tasks are taken from.")]
CheckpointOption = Annotated[str, typer.Option(help="base, peak or final.")]
DecodingOption = Annotated[str, typer.Option(help="sampled, greedy, or both.")]


def evaluate(
    run: RunArgument,
    swap: Annotated[list[str] | None, typer.Option(help="ROLE=OTHER: the two exchange places.")] = None,
    single: Annotated[str | None, typer.Option(help="ROLE: this role alone.")] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="ROLE=RUN2[:ROLE2][@base|peak|final]: the place is taken by what that run has for it."),
    ] = None,
    variants: Annotated[str | None, typer.Option(help="Lines of the final table, comma-separated, or all.")] = None,
    checkpoint: CheckpointOption = "final",
    decoding: DecodingOption = "both",
    tasks: Annotated[int, typer.Option(min=0, help="Number of tasks; 0: as the recipe says.")] = 0,
    split: SplitOption = "test",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    runs: RunsOption = Path("runs"),
) -> int:
    """Evaluate a run: the team, and beside it the same team with places swapped, filled from elsewhere, or left out.

    Example: motet eval plan_path --swap planner=executor --json
    """
    from motet.assess import Question, assess
    from motet.evaluate.table import show_table

    question = Question(
        swaps=tuple(swap or ()),
        single=single,
        policies=tuple(policy or ()),
        variants=tuple(name.strip() for name in variants.split(",")) if variants else (),
        checkpoint=checkpoint,
        decoding=decoding,
        num_tasks=tasks,
        split=split,
    )
    found = assess(run, question, runs=runs)
    if as_json:
        typer.echo(json.dumps({"evaluations": [one.to_json() for one in found]}, indent=1))
    else:
        show_table(found)
    return 0


def play(
    run: RunArgument,
    seed: Annotated[int, typer.Option(min=0, help="Which task of the split, and which random numbers.")] = 0,
    checkpoint: CheckpointOption = "final",
    decoding: Annotated[str, typer.Option(help="sampled or greedy.")] = "sampled",
    split: SplitOption = "test",
    runs: RunsOption = Path("runs"),
) -> int:
    """Play one episode and draw it turn by turn.

    Example: motet play plan_path --seed 3
    """
    from motet.assess import play_one

    play_one(run, seed=seed, checkpoint=checkpoint, decoding=decoding, split=split, runs=runs)
    return 0


def report(run: RunArgument, runs: RunsOption = Path("runs")) -> int:
    """Write report.html of a run anew, from what the run left.

    Example: motet report plan_path
    """
    from motet.report import write_report
    from motet.runs import find

    typer.echo(str(write_report(find(runs, run))))
    return 0
