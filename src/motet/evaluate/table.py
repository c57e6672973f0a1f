"""The final table on a terminal, or as plain lines where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from motet.evaluate.result import NAMES, Checkpoint, Decoding, Evaluation

LABELS = {
    "team": "team",
    "single": "single agent",
    "planner_alone": "planner alone",
    "executor_alone": "executor alone, same budget",
    "shuffled_plans": "team, plans shuffled across tasks",
    "base_planner": "team with the base planner",
    "swapped": "roles swapped",
}
Column = tuple[Decoding, Checkpoint]
CHECKPOINTS = ("base", "peak", "final")


def label(evaluation: Evaluation) -> str:
    """How a line is called.

    >>> label(Evaluation.of_counts("walker_greedy", "sampled", "base", "test", [True], tokens=0, calls=0))
    'walker: greedy (no model)'
    """
    if evaluation.name.startswith("walker_"):
        return f"walker: {evaluation.name.removeprefix('walker_').replace('_', ' ')} (no model)"
    text = LABELS.get(evaluation.name, evaluation.name)
    if evaluation.name == "team" and evaluation.role:
        return f"team with {evaluation.role}"
    return f"{text} ({evaluation.role})" if evaluation.name == "single" and evaluation.role else text


def percent(success: float, low: float, high: float) -> str:
    """A success rate with its interval, in percent.

    >>> percent(0.865, 0.8108, 0.9056)
    '86.5 [81.1, 90.6]'
    """
    return f"{100 * success:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def rows(evaluations: Sequence[Evaluation]) -> tuple[list[str], list[list[str]]]:
    """Head and body of the table: a line per player, a column per (decoding, checkpoint), then tokens and calls per
    task.

    Tokens and calls are those of the last checkpoint under sampled decoding, or of what there is. A walker needs no
    model, so its figure stands in the first column alone. Best-of-n of the single agent gets a line of its own.
    """
    lines = [one for one in evaluations if not one.name.startswith("walker_")]
    columns = sorted(
        {(one.decoding, one.checkpoint) for one in lines},
        key=lambda column: (column[0] != "sampled", CHECKPOINTS.index(column[1])),
    )
    head = ["", *(f"{checkpoint}, {decoding}" for decoding, checkpoint in columns), "tokens/task", "calls/task"]
    body = []
    for name, role in _players(lines):
        mine = {(one.decoding, one.checkpoint): one for one in lines if _player(one) == (name, role)}
        body.append(_row(mine, columns))
        if any(one.best_of for one in mine.values()):
            body.append(_best_row(mine, columns))
    for one in evaluations:
        if one.name.startswith("walker_"):
            blank = [""] * max(0, len(columns) - 1)
            body.append([label(one), percent(one.success, one.low, one.high), *blank, "0", "0"])
    return head, body


def _player(one: Evaluation) -> tuple[str, str | None]:
    """Lines of one player share a row: a mixed team (its `role` says what is mixed in) is a player of its own."""
    return one.name, one.role if one.name == "team" else None


def _players(lines: Sequence[Evaluation]) -> list[tuple[str, str | None]]:
    return sorted(
        dict.fromkeys(_player(one) for one in lines),
        key=lambda player: (NAMES.index(player[0]) if player[0] in NAMES else len(NAMES), player[1] or ""),
    )


def _row(mine: dict[Column, Evaluation], columns: Sequence[Column]) -> list[str]:
    cells = [percent(mine[c].success, mine[c].low, mine[c].high) if c in mine else "" for c in columns]
    cost = _cost(mine)
    # the single agent may be another role in each column; only one that is the same everywhere goes into the name
    name = label(cost) if len({one.role for one in mine.values()}) == 1 else LABELS[cost.name]
    return [name, *cells, f"{cost.tokens_per_task:.1f}", f"{cost.calls / cost.num_tasks:.1f}"]


def _best_row(mine: dict[Column, Evaluation], columns: Sequence[Column]) -> list[str]:
    cells = []
    for column in columns:
        best = mine[column].best_of if column in mine else None
        cells.append(f"{percent(best.success, best.low, best.high)} n={best.num_tries}" if best else "")
    cost = _cost({key: one for key, one in mine.items() if one.best_of})
    assert cost.best_of is not None
    tokens, calls = cost.best_of.tokens / cost.num_tasks, cost.best_of.calls / cost.num_tasks
    return ["single agent, best of n (any try counts)", *cells, f"{tokens:.1f}", f"{calls:.1f}"]


def _cost(mine: dict[Column, Evaluation]) -> Evaluation:
    return mine[max(mine, key=lambda column: (column[0] == "sampled", CHECKPOINTS.index(column[1])))]


def caption(evaluations: Sequence[Evaluation]) -> str:
    """What the numbers are, in one line."""
    first = evaluations[0]
    return f"success in % [Wilson 95%] on {first.num_tasks} tasks of split {first.split}, one answer per call"


def show_table(evaluations: Sequence[Evaluation], console: Console | None = None) -> None:
    """Print the table: ruled on a terminal, tab-separated lines where the output is none."""
    if not evaluations:
        return
    console = console or Console()
    head, body = rows(evaluations)
    if not console.is_terminal:
        for line in [[caption(evaluations)], head, *body]:
            console.file.write("\t".join(line) + "\n")
        return
    wide = console.width >= sum(max(map(len, column)) + 3 for column in zip(head, *body))
    if not wide:  # an interval below its rate, so that everything fits into 80 columns
        head = [name.replace(", ", ",\n").replace("/", "/\n") for name in head]
        body = [[line[0], *(cell.replace(" [", "\n[").replace(", ", "-") for cell in line[1:])] for line in body]
    table = Table(
        title=caption(evaluations),
        title_justify="left",
        header_style="bold",
        box=SIMPLE_HEAD if wide else None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for index, name in enumerate(head):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=index > 0)
    for line in body:
        table.add_row(*line, style="bold" if line[0] == "team" else None)
    console.print(table)
