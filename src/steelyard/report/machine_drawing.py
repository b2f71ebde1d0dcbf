"""The topology of a machine as a drawing (SVG): boxes of sockets, memory nodes, caches and cores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from steelyard.report.pages.machine import CoreBox, Group, MachinePage, NodeBox, SocketBox

GAP, LINE, LETTER = 8, 18, 7.2  # pixels: between boxes, of a line of text, of a letter
ACROSS = 8  # cores in a row
# Colours that stay apart for the colour-blind and in print (light to dark by depth).
FILLS = {"socket": "#f4f4f2", "node": "#e3edf7", "cache": "#fdf1d6", "core": "#ffffff", "foreign": "#d0d0d0"}


@dataclass(frozen=True)
class Box:
    """A rectangle with lines of text above the boxes within, whose places are relative to it."""

    kind: str
    lines: tuple[str, ...]
    children: tuple[tuple[float, float, "Box"], ...] = ()
    width: float = 0
    height: float = 0


def draw(page: MachinePage) -> str:
    """Returns a complete SVG document."""
    boxes = [_socket(socket) for socket in page.sockets]
    facts = dict(page.facts)
    title = f"{facts['Host']}: {facts['Processor']}"
    outer = _stack("socket", (), boxes, 1)
    width, height = max(outer.width, len(title) * LETTER + 2 * GAP), outer.height + LINE + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="12" role="img">'
        f"<title>{escape(title)}</title>"
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="{GAP}" y="{LINE}" font-weight="bold">{escape(title)}</text>'
    )
    body = "".join(_render(child, x, y + LINE) for x, y, child in outer.children)
    return f"{head}{body}</svg>\n"


def _socket(socket: SocketBox) -> Box:
    return _stack("socket", (f"socket {socket.number}",), [_node(node) for node in socket.nodes], 2)


def _node(node: NodeBox) -> Box:
    text = f"memory node {node.number}" + (f": {node.memory}" if node.memory else "")
    return _stack("node", (text,), [_group(group) for group in node.groups], 2)


def _group(group: Group) -> Box:
    lines = tuple(filter(None, (group.cache, f"each core: {group.each}" if group.each else "")))
    return _stack("cache", lines or ("cores",), [_core(core) for core in group.cores], ACROSS)


def _core(core: CoreBox) -> Box:
    lines = (f"core {core.number}", f"thread{'s' if ',' in core.threads else ''} {core.threads}", *core.caches)
    return _stack("core" if core.usable else "foreign", lines, [], 1)


def _stack(kind: str, lines: Sequence[str], boxes: Sequence[Box], across: int) -> Box:
    """Puts boxes side by side, `across` in a row, below the lines of text."""
    y = len(lines) * LINE + GAP
    width = max((len(line) for line in lines), default=0) * LETTER + 2 * GAP
    widest = max((box.width for box in boxes), default=0.0)
    boxes = [replace(box, width=widest) for box in boxes]
    placed = []
    for start in range(0, len(boxes), across):
        x = float(GAP)
        for box in boxes[start : start + across]:
            placed.append((x, float(y), box))
            x += box.width + GAP
        width = max(width, x)
        y += int(max(box.height for box in boxes[start : start + across])) + GAP
    return Box(kind, tuple(lines), tuple(placed), width, y)


def _render(box: Box, x: float, y: float) -> str:
    lines = "".join(
        f'<text x="{x + GAP:.1f}" y="{y + (n + 0.75) * LINE:.1f}">{escape(line)}</text>'
        for n, line in enumerate(box.lines)
    )
    inside = "".join(_render(child, x + left, y + top) for left, top, child in box.children)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="3" fill="{FILLS[box.kind]}" '
        f'stroke="#555555"/>{lines}{inside}'
    )
