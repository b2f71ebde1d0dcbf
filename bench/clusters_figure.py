"""Strong and weak scaling over nodes, as the prototype's figure 9: speed-up and efficiency of each, a line a program."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

PANEL_X, PANEL_Y, LEFT, TOP, GAP_X, GAP_Y = 330, 230, 66, 40, 84, 70
COLOURS = {"NPB CG": "#0072b2", "NPB LU": "#d55e00", "finite elements": "#009e73", "molecular dynamics": "#cc79a7"}
DASHES = {"Mont-Blanc": "", "fat tree": "6 4", "four hosts here": "1 4"}
WORDS = {
    "Mont-Blanc": "Mont-Blanc prototype, simulated",
    "fat tree": "fat tree of 100 Gbit/s, simulated",
    "four hosts here": "four hosts on two processors, measured",
}
INK, PALE, LEVELS = "#333", "#999", (0.5, 0.7, 0.9)
MOST = 64


@dataclass(frozen=True)
class Line:
    """A program on a cluster: its time (s) by nodes; `weak`: the work grows with them."""

    program: str
    cluster: str
    weak: bool
    times: Mapping[int, float]

    def efficiency(self, nodes: int) -> float:
        """Against the fewest nodes."""
        base = min(self.times)
        ideal = self.times[base] if self.weak else self.times[base] * base / nodes
        return ideal / self.times[nodes]

    def speedup(self, nodes: int) -> float:
        """Of the work done in a second, in the worth of one node."""
        return self.efficiency(nodes) * nodes


def drawn(lines: Sequence[Line]) -> str:
    """SVG."""
    width, height = LEFT + 2 * PANEL_X + GAP_X + 20, TOP + 2 * PANEL_Y + GAP_Y + 150
    parts = []
    for row, weak in enumerate((False, True)):
        mine = [line for line in lines if line.weak is weak]
        kind = "work that grows with the nodes" if weak else "the same work"
        for column, (title, of) in enumerate((("speed-up", Line.speedup), ("efficiency", Line.efficiency))):
            x, y = LEFT + column * (PANEL_X + GAP_X), TOP + row * (PANEL_Y + GAP_Y)
            parts += _panel(x, y, f"{title}, {kind}", column == 0, mine, of)
    parts += _legend(TOP + 2 * PANEL_Y + GAP_Y + 56)
    size = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12"'
    background = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', background, *parts, "</svg>"]) + "\n"


def _panel(
    left: float, top: float, title: str, factors: bool, lines: Sequence[Line], of: Callable[[Line, int], float]
) -> list[str]:
    def x(nodes: float) -> float:
        return left + PANEL_X * math.log2(nodes) / math.log2(MOST)

    def y(value: float) -> float:
        share = math.log2(max(value, 0.5) * 2) / math.log2(2 * MOST) if factors else min(value, 1.2) / 1.2
        return top + PANEL_Y * (1 - share)

    found = [f'<rect x="{left}" y="{top}" width="{PANEL_X}" height="{PANEL_Y}" fill="none" stroke="{PALE}"/>']
    found.append(_text(left, top - 9, title, "start"))
    for nodes in (1, 2, 4, 8, 16, 32, 64):
        found.append(f'<path d="M{x(nodes):.1f} {top + PANEL_Y}v5" stroke="{PALE}"/>')
        found.append(_text(x(nodes), top + PANEL_Y + 18, str(nodes), "middle"))
    found.append(_text(left + PANEL_X / 2, top + PANEL_Y + 34, "nodes", "middle"))
    for value in (1, 2, 4, 8, 16, 32, 64) if factors else (0, 0.5, 0.7, 0.9, 1):
        words = str(value) if factors else f"{100 * value:.0f} %"
        found.append(_text(left - 9, y(value) + 4, words, "end"))
        found.append(f'<path d="M{left} {y(value):.1f}h-5" stroke="{PALE}"/>')
    if factors:
        found.append(f'<path d="M{x(1)} {y(1):.1f}L{x(MOST)} {y(MOST):.1f}" stroke="{PALE}"/>')
    else:
        found += [f'<path d="M{left} {y(level):.1f}h{PANEL_X}" stroke="#ddd"/>' for level in LEVELS]
    for line in lines:
        points = [(x(n), y(of(line, n))) for n in sorted(line.times)]
        found += _course(points, COLOURS[line.program], DASHES[line.cluster])
    return found


def _course(points: Sequence[tuple[float, float]], colour: str, dash: str) -> list[str]:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    hollow = dash == DASHES["four hosts here"]
    fill = "#fff" if hollow else colour
    found = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>']
    return [
        *found,
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{fill}" stroke="{colour}"/>' for x, y in points),
    ]


def _legend(top: float) -> list[str]:
    found = []
    for number, (name, colour) in enumerate(COLOURS.items()):
        y = top + 21 * number
        found += [*_course([(LEFT, y), (LEFT + 30, y)], colour, ""), _text(LEFT + 44, y + 4, name, "start")]
    left = LEFT + PANEL_X + GAP_X - 60
    for number, (name, dash) in enumerate(DASHES.items()):
        y = top + 21 * number
        found += [*_course([(left, y), (left + 44, y)], INK, dash), _text(left + 58, y + 4, WORDS[name], "start")]
    found.append(f'<path d="M{left} {top + 63}h44" stroke="{PALE}"/>')
    return [*found, _text(left + 58, top + 67, "all nodes count in full; levels: 50, 70 and 90 %", "start")]


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{words}</text>'
