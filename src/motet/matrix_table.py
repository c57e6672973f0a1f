"""The cells of `motet matrix` for a reader: one line while they run, one table at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from motet.errors import visible
from motet.matrix import CellFound, RoleFound

HEADINGS = (
    "tasks",
    "workflow",
    "role",
    "unequal groups",
    "team alone",
    "local alone",
    "read",
    "team",
    "local",
    "failed",
    "s",
    "",
)


def line(found: CellFound) -> str:
    """One cell in one line.

    >>> line(CellFound("maths", "arithmetic", "single", {}, 0, 0, 1.5, ("no episode",)))
    'arithmetic single: does not hold (1.5 s): no episode'
    """
    verdict = "holds" if found.holds else "does not hold"
    said = "; ".join(found.problems)
    return visible(f"{found.tasks} {found.workflow}: {verdict} ({found.seconds:.1f} s){': ' + said if said else ''}")


def show(found: Sequence[CellFound], tier: str, console: Console | None = None) -> None:
    """The table of all cells, one row per trainable role, and below it what does not hold."""
    console = console or Console(highlight=False, width=None if Console().is_terminal else 160)
    table = Table(title=f"two iterations of each cell, tier {tier}", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("tasks", "workflow", "role", "") else "right")
    for cell in found:
        rows = [(name, *_role(role)) for name, role in cell.roles.items()] or [("-", *["-"] * 6)]
        for number, row in enumerate(rows):
            first = number == 0
            end = (f"{cell.failed}/{cell.episodes}", f"{cell.seconds:.0f}", "holds" if cell.holds else "DOES NOT HOLD")
            table.add_row(
                *((cell.tasks, cell.workflow) if first else ("", "")), *row, *(end if first else ("", "", ""))
            )
    console.print(table)
    for cell in found:
        if cell.problems:
            console.print(line(cell), markup=False, soft_wrap=True)
    console.print(f"{sum(cell.holds for cell in found)} of {len(found)} cells hold")


def _role(role: RoleFound) -> tuple[str, ...]:
    """
    >>> _role(RoleFound(8, 3, 1, 2, 0.25, (0.0, 0.5), None))
    ('3/8', '1', '2', '0.250', '0.00..0.50', '-')
    """
    return (
        f"{role.unequal}/{role.groups}",
        str(role.unequal_team),
        str(role.unequal_local),
        "-" if role.parsed is None else f"{role.parsed:.3f}",
        *("-" if span is None else f"{span[0]:.2f}..{span[1]:.2f}" for span in (role.team, role.local)),
    )
