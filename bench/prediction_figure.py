"""The figure of predictions against measurements: both axes logarithmic, a mark for each program, bands of 10 and 20 %."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, LEFT, TOP, SIDE = 760, 520, 70, 46, 420
COLOURS = {
    "CG": "#0072b2",
    "LU": "#d55e00",
    "stencil": "#009e73",
}  # Okabe and Ito: the colour-blind can tell them apart
INK, PALE = "#333", "#888"
STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Row:
    """A condition of a program: s measured and predicted, the range of the runs and of the replay's draws."""

    program: str
    condition: str
    measured: float
    spread: tuple[float, float]
    predicted: float
    drawn: tuple[float, float]

    @property
    def error(self) -> float:
        """Of the prediction, as a share of what was measured."""
        return self.predicted / self.measured - 1


class _Scale:
    """Seconds on both axes."""

    def __init__(self, rows: Sequence[Row]) -> None:
        times = [time for row in rows for time in (row.measured, row.predicted)]
        self.low, self.high = min(times) / 1.4, max(times) * 1.4

    def at(self, time: float) -> float:
        """The share of the axis."""
        time = min(max(time, self.low), self.high)
        return math.log(time / self.low) / math.log(self.high / self.low)

    def x(self, time: float) -> float:
        return LEFT + SIDE * self.at(time)

    def y(self, time: float) -> float:
        return TOP + SIDE * (1 - self.at(time))

    def ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)))
        return [step * 10.0**p for p in powers for step in STEPS if self.low <= step * 10.0**p <= self.high]


def drawn(rows: Sequence[Row]) -> str:
    """SVG."""
    scale = _Scale(rows)
    parts = [*_bands(scale), *_axes(scale), *(_mark(row, scale) for row in rows), *_legend()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def _bands(scale: _Scale) -> list[str]:
    found = []
    for share, colour in ((0.2, "#f0f0f0"), (0.1, "#dcdcdc")):
        ends = [(scale.low, 1 - share), (scale.high, 1 - share), (scale.high, 1 + share), (scale.low, 1 + share)]
        points = " ".join(f"{scale.x(time):.1f},{scale.y(time * factor):.1f}" for time, factor in ends)
        found.append(f'<polygon points="{points}" fill="{colour}"/>')
    ends = f'x1="{LEFT}" y1="{TOP + SIDE}" x2="{LEFT + SIDE}" y2="{TOP}"'
    return [*found, f'<line {ends} stroke="{PALE}" stroke-dasharray="5 4"/>']


def _axes(scale: _Scale) -> list[str]:
    found = [f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{PALE}"/>']
    for time in scale.ticks():
        x, y, label = scale.x(time), scale.y(time), f"{time:g}"
        found.append(f'<path d="M{x:.1f} {TOP + SIDE}v5M{LEFT} {y:.1f}h-5" stroke="{PALE}"/>')
        found.append(_text(x, TOP + SIDE + 19, label, "middle"))
        found.append(_text(LEFT - 9, y + 4, label, "end"))
    found.append(_text(LEFT + SIDE / 2, TOP + SIDE + 40, "measured, s", "middle"))
    found.append(_text(LEFT - 40, TOP - 12, "predicted by the replay, s", "start"))
    return found


def _mark(row: Row, scale: _Scale) -> str:
    x, y, colour = scale.x(row.measured), scale.y(row.predicted), COLOURS[row.program]
    ranges = f"M{scale.x(row.spread[0]):.1f} {y:.1f}H{scale.x(row.spread[1]):.1f}"
    ranges += f"M{x:.1f} {scale.y(row.drawn[0]):.1f}V{scale.y(row.drawn[1]):.1f}"
    title = f"<title>{row.program}, {row.condition}: {100 * row.error:+.1f} %</title>"
    lines = f'<path d="{ranges}" stroke="{colour}" stroke-width="1" opacity="0.6"/>'
    return f"<g>{title}{lines}{_shape(row.condition, x, y, colour)}</g>"


def _shape(condition: str, x: float, y: float, colour: str) -> str:
    style = f'fill="{colour}" fill-opacity="0.75" stroke="{colour}"'
    if "loss" in condition:
        return f'<path d="M{x:.1f} {y - 6:.1f}l5.5 10h-11z" {style}/>'
    if "bit" in condition:
        return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" {style}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {style}/>'


def _legend() -> list[str]:
    left, found = LEFT + SIDE + 34, []
    for number, (name, colour) in enumerate(COLOURS.items()):
        y = TOP + 16 + 24 * number
        found.append(f'<rect x="{left - 8}" y="{y - 5}" width="16" height="10" fill="{colour}"/>')
        found.append(_text(left + 20, y + 4, "NPB " + name if name.isupper() else name, "start"))
    shapes = {
        "added delay: 0.1, 1, 10 ms": "",
        "rate: 10, 100, 1000 Mbit/s": "bit",
        "loss: 0.1, 1 %; RTO 200, 5 ms": "loss",
    }
    for number, (words, kind) in enumerate(shapes.items()):
        y = TOP + 106 + 24 * number
        found += [_shape(kind, left, y, INK), _text(left + 20, y + 4, words, "start")]
    for number, (words, colour) in enumerate({"within 10 %": "#dcdcdc", "within 20 %": "#f0f0f0"}.items()):
        y = TOP + 196 + 24 * number
        found.append(f'<rect x="{left - 8}" y="{y - 7}" width="16" height="14" fill="{colour}" stroke="{PALE}"/>')
        found.append(_text(left + 20, y + 4, words, "start"))
    for number, words in enumerate(("lines: range of the runs,", "and of 95 % of the replay's draws")):
        found.append(_text(left - 8, TOP + 262 + 18 * number, words, "start"))
    return found


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{words}</text>'
