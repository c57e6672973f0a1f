"""Line plots and interval plots as SVG text. Colours and fonts are left to the page (classes `s0` to `s5`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 520, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 34
NUM_COLOURS = 6
MAX_POINTS = 240


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a name and (x, y) points in order of x; `lows`, `highs` draw a band, `smooth` a moving average."""

    name: str
    points: tuple[tuple[float, float], ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    smooth: bool = True
    dots: bool = False


def ticks(low: float, high: float, num: int = 5) -> list[float]:
    """Round numbers that cover [low, high], about `num` of them.

    >>> ticks(0.0, 1.0), ticks(0, 87), ticks(2.0, 2.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [2.0, 3.0])
    """
    if not high > low:
        return [low, low + 1.0]
    rough = (high - low) / num
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def number(value: float) -> str:
    """A tick label.

    >>> number(0.25), number(1500.0), number(3.0), number(2500000.0), number(1e-6)
    ('0.25', '1.5k', '3', '2.5M', '1e-06')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}" if value == 0 or abs(value) >= 1e-4 else f"{value:.0e}"


def thinned(points: Sequence[tuple[float, float]], num: int = MAX_POINTS) -> list[tuple[float, float]]:
    """At most `num` points: means over runs of neighbours.

    >>> thinned([(0, 1.0), (1, 3.0), (2, 5.0), (3, 7.0)], 2)
    [(0.5, 2.0), (2.5, 6.0)]
    """
    if len(points) <= num:
        return list(points)
    size = math.ceil(len(points) / num)
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in parts]


def smoothed(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A centred moving average over a twentieth of the points; windows are cut at the ends.

    >>> smoothed([(0, 0.0), (1, 1.0)])
    [(0, 0.0), (1, 1.0)]
    """
    half = len(points) // 40
    values = [y for _, y in points]
    windows = [values[max(0, index - half) : index + half + 1] for index in range(len(points))]
    return [(x, sum(window) / len(window)) for (x, _), window in zip(points, windows)]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Maps values to the drawing."""

    xs: list[float]
    ys: list[float]

    def x(self, value: float) -> float:
        span = (self.xs[-1] - self.xs[0]) or 1.0
        return LEFT + (value - self.xs[0]) / span * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        span = (self.ys[-1] - self.ys[0]) or 1.0
        return HEIGHT - BOTTOM - (value - self.ys[0]) / span * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)


def line_plot(
    series: Sequence[Series], *, title: str, x_label: str = "iteration", y_range: tuple[float, float] | None = None
) -> str:
    """An SVG of `series` over one pair of axes, with a legend. Points that are not finite are left out.

    Only whole numbers of x are marked. Everything that comes from outside is escaped. Returns an empty text where
    there is no point at all.
    """
    kept = [_finite(one) for one in series]
    kept = [one for one in kept if one.points]
    if not kept:
        return ""
    xs = [x for one in kept for x, _ in one.points]
    ys = [y for one in kept for y in (*[y for _, y in one.points], *one.lows, *one.highs)]
    low, high = y_range or (min(0.0, *ys), max(ys) if max(ys) > min(0.0, *ys) else 1.0)
    x_ticks = [x for x in ticks(min(xs), max(xs)) if min(xs) <= x <= max(xs) and x == int(x)]
    frame = _Frame([min(xs), max(xs)], ticks(low, high))
    parts = [*_axes(frame, x_ticks, x_label)]
    for index, one in enumerate(kept):
        parts += _line(frame, one, index % NUM_COLOURS)
    body = "".join(parts)
    names = "".join(
        f'<span class="key"><i class="s{index % NUM_COLOURS}"></i>{escape(one.name)}</span>'
        for index, one in enumerate(kept if len(kept) > 1 else [])
    )
    return (
        f'<figure><figcaption>{escape(title)}<span class="legend">{names}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{body}</svg></figure>'
    )


def _finite(one: Series) -> Series:
    points = tuple(point for point in one.points if math.isfinite(point[1]))
    if len(points) != len(one.points):
        return Series(one.name, points, smooth=one.smooth, dots=one.dots)
    return one


def _axes(frame: _Frame, x_ticks: Sequence[float], x_label: str) -> list[str]:
    parts = []
    for value in frame.ys:
        y = frame.y(value)
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{number(value)}</text>')
    bottom = HEIGHT - BOTTOM
    for value in x_ticks:
        x = frame.x(value)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{number(value)}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="tick" x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>')
    return parts


def _line(frame: _Frame, one: Series, colour: int) -> list[str]:
    parts = []
    if one.lows and one.highs:
        xs = [x for x, _ in one.points]
        band = [*zip(xs, one.highs), *reversed(list(zip(xs, one.lows)))]
        parts.append(f'<path class="band s{colour}" d="{frame.path(band)}Z"/>')
    points = thinned(one.points)
    is_smooth = one.smooth and len(points) >= 40
    parts.append(f'<path class="line s{colour}{" faint" if is_smooth else ""}" d="{frame.path(points)}"/>')
    if is_smooth:
        parts.append(f'<path class="line s{colour}" d="{frame.path(smoothed(points))}"/>')
    if one.dots or len(points) == 1:
        parts += [
            f'<circle class="dot s{colour}" cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="3"/>' for x, y in points
        ]
    return parts


@dataclass(frozen=True, slots=True)
class Mark:
    """One success rate with its interval, in [0, 1]."""

    success: float
    low: float
    high: float


def interval_plot(rows: Sequence[tuple[str, Sequence[Mark | None]]], *, title: str, keys: Sequence[str]) -> str:
    """An SVG with a line per player and, on it, one dot with its interval per key. None: nothing there."""
    height, left, width = 26, 232, 620
    bottom = height * len(rows) + 8
    span = width - left - 14

    def x(value: float) -> float:
        return left + value * span

    parts = []
    for tenth in range(0, 11, 2):
        at = x(tenth / 10)
        parts.append(f'<line class="rule" x1="{at:.1f}" x2="{at:.1f}" y1="4" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 14}" text-anchor="middle">{tenth * 10}%</text>')
    for index, (name, marks) in enumerate(rows):
        y = height * index + height / 2 + 4
        parts.append(f'<text class="name" x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for colour, mark in enumerate(marks):
            if mark is None:
                continue
            line = y + (colour - (len(keys) - 1) / 2) * 7
            about = f"{name}, {keys[colour]}: {100 * mark.success:.1f}% [{100 * mark.low:.1f}, {100 * mark.high:.1f}]"
            ends = f'x1="{x(mark.low):.1f}" x2="{x(mark.high):.1f}" y1="{line:.1f}" y2="{line:.1f}"'
            dot = f'<circle class="dot s{colour}" cx="{x(mark.success):.1f}" cy="{line:.1f}" r="3.5"/>'
            parts.append(f'<g><title>{escape(about)}</title><line class="span s{colour}" {ends}/>{dot}</g>')
    names = "".join(f'<span class="key"><i class="s{index}"></i>{escape(key)}</span>' for index, key in enumerate(keys))
    return (
        f'<figure><figcaption>{escape(title)}<span class="legend">{names}</span></figcaption>'
        f'<svg viewBox="0 0 {width} {bottom + 20}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
        "</figure>"
    )
