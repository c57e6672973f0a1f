"""`motet play`: one episode, drawn turn by turn on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from motet.errors import visible
from motet.evaluate.evaluator import play_tasks
from motet.evaluate.result import Decoding, is_solved
from motet.evaluate.scenes import Grid, frames
from motet.policies.cast import Cast
from motet.types import Episode

LEGEND = "# wall  . free  S start  G goal  @ where it stands  o walked before  * walked now  + proposed  x illegal move"

STYLES = {
    "#": "dim",
    ".": "dim",
    "@": "bold cyan",
    "G": "bold green",
    "S": "bold",
    "*": "cyan",
    "+": "yellow",
    "x": "red",
}


def play(
    workflow: Any,
    task: tuple[str, Any, int],
    cast: Cast,
    engines: Any,
    settings: Any,
    *,
    decoding: Decoding = "sampled",
    split: str = "test",
    seed: int = 0,
    console: Console | None = None,
) -> Episode:
    """Play one episode of `task` (task set, task, copy), draw it, and return it."""
    (episode,) = play_tasks(workflow, [task], cast, engines, settings, decoding=decoding, split=split, seed=seed)
    show_episode(task[1], episode, console or Console())
    return episode


def show_episode(task: Any, episode: Episode, console: Console) -> None:
    """Draw an episode: what each role said in each turn, the grid after it, and how it ended.

    What was said is never read as markup, nor obeyed by the terminal.
    """
    console.print(Text(visible(f"{episode.task_set} {episode.task_id}"), style="bold"))
    made = frames(task, episode)
    if any(frame.grid is not None for frame in made):
        console.print(Text(LEGEND, style="dim"))
    for frame in made:
        console.print()
        console.print(Text(f"turn {frame.turn + 1}" + (f": {frame.note}" if frame.note else ""), style="bold"))
        for role, text in frame.said:
            console.print(Text.assemble((f"{role}: ", "bold"), visible(text) or "(nothing)"))
        if frame.grid is not None:
            console.print(coloured(letters(frame.grid)))
        elif frame.drawing:
            console.print(Text(frame.drawing))
    console.print()
    if episode.error:
        console.print(Text(visible(f"ended by an error: {episode.error}"), style="red"))
    elif is_solved(episode):
        console.print(Text("solved", style="bold green"))
    else:
        console.print(Text("not solved", style="bold red"))


def letters(grid: Grid) -> str:
    """The grid in letters, one line per row; later marks cover earlier ones: trail, proposal, this walk, start, goal,
    `@`, `x`.

    >>> print(letters(Grid(3, (4,), 0, 8, 2, trail=(0,), steps=(0, 1, 2), proposal=(0, 3), bump=(2, -1))))
    S * @
    + # .
    . . G
    """
    marks = ["."] * (grid.size * grid.size)
    for mark, cells in (
        ("#", grid.walls),
        ("o", grid.trail),
        ("+", [cell for cell in grid.proposal if cell not in grid.walls]),
        ("*", grid.steps),
        ("S", [grid.start]),
        ("G", [grid.goal]),
        ("@", [grid.at]),
        ("x", [grid.bump[1]] if grid.bump is not None and grid.bump[1] >= 0 else []),
    ):
        for cell in cells:
            marks[cell] = mark
    return "\n".join(" ".join(marks[row : row + grid.size]) for row in range(0, len(marks), grid.size))


def coloured(text: str) -> Text:
    """Letters of a grid with a colour each; the text stays the same."""
    made = Text()
    for mark in text:
        made.append(mark, style=STYLES.get(mark))
    return made
