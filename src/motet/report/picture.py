"""A grid as SVG text: walls, start, goal, the proposal, the walk, and where it bumped."""

from __future__ import annotations

from collections.abc import Sequence

from motet.evaluate.scenes import Grid

CELL = 16


def draw(grid: Grid) -> str:
    """The SVG of one moment.

    Grey squares are walls (hatched: not on the out-of-date map), the ring the start, the square the goal, the thin
    line the walk so far, the dashed line the proposal, the thick line this turn's walk, the cross an illegal move, the
    dot where it stands.
    """
    size = grid.size * CELL
    parts = [f'<rect class="ground" width="{size}" height="{size}"/>']
    for cell in grid.walls:
        x, y = _corner(grid, cell)
        kind = "wall unmapped" if cell in grid.unmapped else "wall"
        parts.append(f'<rect class="{kind}" x="{x + 0.5}" y="{y + 0.5}" width="{CELL - 1}" height="{CELL - 1}"/>')
    x, y = _corner(grid, grid.goal)
    parts.append(f'<rect class="goal" x="{x + 2.5}" y="{y + 2.5}" width="{CELL - 5}" height="{CELL - 5}" rx="2"/>')
    x, y = _middle(grid, grid.start)
    parts.append(f'<circle class="start" cx="{x}" cy="{y}" r="5"/>')
    for kind, cells in (("trail", grid.trail), ("proposal", grid.proposal), ("steps", grid.steps)):
        if len(cells) > 1:
            shift = 2.5 if kind == "proposal" else 0.0
            parts.append(f'<polyline class="{kind}" points="{_points(grid, cells, shift)}"/>')
    if grid.bump is not None:
        parts.append(_cross(grid, *grid.bump))
    x, y = _middle(grid, grid.at)
    parts.append(f'<circle class="at" cx="{x}" cy="{y}" r="4"/>')
    return (
        f'<svg class="grid" viewBox="-1 -1 {size + 2} {size + 2}" role="img" aria-label="grid">{"".join(parts)}</svg>'
    )


def _corner(grid: Grid, cell: int) -> tuple[float, float]:
    row, column = divmod(cell, grid.size)
    return column * CELL, row * CELL


def _middle(grid: Grid, cell: int) -> tuple[float, float]:
    x, y = _corner(grid, cell)
    return x + CELL / 2, y + CELL / 2


def _points(grid: Grid, cells: Sequence[int], shift: float) -> str:
    return " ".join(f"{x + shift:g},{y + shift:g}" for x, y in (_middle(grid, cell) for cell in cells))


def _cross(grid: Grid, stood: int, towards: int) -> str:
    """A cross on the cell that could not be entered; off the grid, on the cell where the walk ended."""
    x, y = _middle(grid, stood if towards < 0 else towards)
    return f'<path class="bump" d="M{x - 4},{y - 4}l8,8m0,-8l-8,8"/>'
