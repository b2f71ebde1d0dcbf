"""A cluster as a drawing (SVG): enclosures in each other, switches, links with their rates, and nodes with their interfaces."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import escape

from steelyard.machine.network import rate_text, time_text
from steelyard.model import Attached, Interface, Machine, Network, Switch, Uplink
from steelyard.report.cluster_tree import Group, Nodes, build_tree, describe_hosts
from steelyard.words import plural

# Pixels. The width fits a telephone, so that letters stay readable; a letter is wider than most letters of the font.
WIDTH, GAP, LINE, LETTER = 420.0, 8.0, 17.0, 7.2
INDENT, BUS = 20.0, 7.0  # of the parts on a switch, and of the line from the switch to them
STACK = 3.0  # between the edges of equal parts
SQUARE, SQUARES, NAMED = (
    14.0,
    48,
    12,
)  # a node in a row of nodes: its size, how many are drawn, how many with their names
MOST_INTERFACES = 4  # of a node
UNDESCRIBED = Switch(name="Switches: not described in a system file")
# Colours of the report, which follow its dark mode and its print; the second ones count in a file of its own.
STYLE = (
    ".cluster{font:13px var(--sans,sans-serif)}.cluster text{fill:var(--ink,#1b2024);stroke:none}"
    ".cluster .title{font-weight:600}.cluster .soft{fill:var(--soft,#59626b)}"
    ".cluster .warn{fill:var(--warn,#9a4a00);font-weight:600}"
    ".cluster .enclosure{fill:var(--paper,#fcfcfb);stroke:var(--soft,#59626b)}"
    ".cluster .nodes,.cluster .attached{fill:var(--panel,#f5f5f2);stroke:var(--ink,#1b2024)}"
    ".cluster .switch{fill:var(--fill,#0072b2);stroke:var(--fill,#0072b2)}.cluster .on-switch{fill:var(--paper,#fcfcfb)}"
    ".cluster .unknown{fill:none;stroke:var(--soft,#59626b);stroke-dasharray:4 3}"
    ".cluster .node{fill:var(--track,#e2e4e2);stroke:var(--soft,#59626b)}"
    ".cluster path{fill:none;stroke:var(--soft,#59626b)}.cluster .wire{stroke:var(--fill,#0072b2);stroke-width:2}"
)


_Part = Nodes | Group | Attached


@dataclass(frozen=True)
class Drawing:
    """The SVG, and sentences on the parts of the cluster that it does not show."""

    svg: str
    omitted: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """The upper left corner and the width of a part. `wired`: a line comes from a switch; `above`: the switches around it."""

    x: float
    y: float
    width: float
    wired: bool = False
    above: tuple[Switch, ...] = ()


@dataclass
class _Canvas:
    """Elements in the order of drawing: a later one covers an earlier one. `words` is all text, for readers who do not see it."""

    machine: Machine
    elements: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def box(self, kind: str, at: _Place, height: float, before: int | None = None) -> None:
        """Draws a box, behind the element number `before` and all later ones."""
        sides = f'x="{at.x:.1f}" y="{at.y:.1f}" width="{at.width:.1f}" height="{height:.1f}"'
        self.elements.insert(len(self.elements) if before is None else before, f'<rect class="{kind}" {sides} rx="3"/>')

    def text(self, x: float, y: float, width: float, text: str, kind: str = "") -> float:
        """Writes the text in lines of the width. Returns the place below it."""
        if not text:
            return y
        self.words.append(text)
        return self._write(x, y, width, text, kind)

    def _write(self, x: float, y: float, width: float, text: str, kind: str) -> float:
        for line in textwrap.wrap(text, max(8, int(width / LETTER)), break_on_hyphens=False):
            name = f' class="{kind}"' if kind else ""
            self.elements.append(f'<text{name} x="{x:.1f}" y="{y + LINE * 0.75:.1f}">{escape(line)}</text>')
            y += LINE
        return y

    def name(self, x: float, y: float, text: str) -> None:
        """Writes a name that another text already has."""
        self._write(x, y, 1e9, text, "soft")

    def wire(self, *points: tuple[float, float]) -> None:
        self.elements.append(f'<path class="wire" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>')

    def stack(self, at: _Place, bottom: float) -> None:
        """Draws the edges of two further boxes behind a box."""
        for n in (1, 2):
            right, low = at.x + at.width + n * STACK, bottom + n * STACK
            self.elements.append(f'<path d="M{at.x + n * STACK:.1f} {low:.1f} H{right:.1f} V{at.y + n * STACK:.1f}"/>')


def draw(machine: Machine) -> Drawing | None:
    """Returns the drawing of the cluster of a run or of a system file; None for a machine alone."""
    built = build_tree(machine)
    if built is None:
        return None
    tree, omitted = built
    canvas = _Canvas(machine)
    bottom = _draw_group(canvas, tree, _Place(0.5, 0.5, WIDTH - 1))
    title = f"Cluster {machine.system}: {tree.size:,} nodes"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cluster" viewBox="0 0 {WIDTH:g} {bottom + 1:g}" '
        f'width="{WIDTH:g}" height="{bottom + 1:g}" role="img" aria-labelledby="cluster-title cluster-text">'
        f'<title id="cluster-title">{escape(title)}</title><desc id="cluster-text">{escape("; ".join(canvas.words))}</desc>'
        f"<style>{STYLE}</style>{''.join(canvas.elements)}</svg>\n"
    )
    return Drawing(svg, omitted)


def _draw_group(canvas: _Canvas, group: Group, at: _Place, folded: bool = False) -> float:
    """Draws a group and returns its lower edge. `folded`: the group stands for several, so its nodes have no names."""
    first, wired = len(canvas.elements), at.wired
    left = at.x + GAP + (INDENT if wired else 0)
    y = canvas.text(left, at.y + GAP / 2, at.x + at.width - GAP - left, _title(canvas.machine, group), "title")
    bus, start = at.x + GAP + BUS, at.y + GAP / 2 + LINE / 2
    if wired:
        canvas.wire((at.x, start), (bus, start))
    undescribed = not group.kind and not canvas.machine.cluster.switches
    switches = (UNDESCRIBED,) if undescribed else group.switches
    for switch in switches:
        if wired:
            canvas.wire((bus, start), (bus, y))
        start = _draw_switch(canvas, switch, _Place(at.x + GAP, y, at.width - 2 * GAP, wired, at.above))
        y, wired = start + GAP / 2, True
    inside = _Place(at.x + GAP + INDENT, y, at.width - 2 * GAP - INDENT, wired, (*at.above, *switches))
    end = start
    parts: tuple[_Part, ...] = (*group.nodes, *group.groups, *group.attached)
    for part in parts:
        y = canvas.text(inside.x, y, inside.width, _link_text(part, inside.above, switches), "soft")
        linked = wired and (not isinstance(part, Attached) or part.uplink.to in {switch.name for switch in switches})
        if linked:
            end = y + GAP / 2 + LINE / 2
            canvas.wire((bus, end), (inside.x, end))
        y = _draw_part(canvas, part, replace(inside, y=y, wired=linked), folded or group.count > 1) + GAP
    if wired and end > start:
        canvas.wire((bus, start), (bus, end))
    if group.further:
        text = f"{plural(group.further, 'further part')} with {group.further_nodes:,} nodes not drawn"
        y = canvas.text(inside.x, y, inside.width, text, "soft")
    canvas.box("enclosure", at, y - at.y, first)
    return y


def _draw_part(canvas: _Canvas, part: _Part, at: _Place, folded: bool) -> float:
    if isinstance(part, Nodes):
        return _draw_nodes(canvas, part, at, folded)
    if isinstance(part, Attached):
        number = f"{part.number} × " if part.number > 1 else ""
        text = f"{number}{part.name}"
        if not at.wired:
            text += f": {_uplink_text(part.uplink)} to {part.uplink.to}"
        return _draw_texts(canvas, "attached", at, [(text, "")])
    if part.count == 1:
        return _draw_group(canvas, part, at, folded)
    at = replace(at, width=at.width - 2 * STACK)
    bottom = _draw_group(canvas, part, at, True)
    canvas.stack(at, bottom)
    return bottom + 2 * STACK


def _draw_texts(canvas: _Canvas, kind: str, at: _Place, texts: Sequence[tuple[str, str]]) -> float:
    """Draws a box with texts, each with its style. Returns its lower edge."""
    first, y = len(canvas.elements), at.y + GAP / 2
    for text, style in texts:
        y = canvas.text(at.x + GAP, y, at.width - 2 * GAP, text, style)
    canvas.box(kind, at, y + GAP / 2 - at.y, first)
    return y + GAP / 2


def _draw_switch(canvas: _Canvas, switch: Switch, at: _Place) -> float:
    if switch is UNDESCRIBED:
        return _draw_texts(canvas, "unknown", at, [(switch.name, "soft")])
    above = {other.name for other in at.above}
    texts = [(f"{switch.units} × {switch.name}" if switch.units > 1 else switch.name, "title on-switch")]
    for uplink in switch.uplinks:
        if uplink.to == switch.name:
            texts.append((f"{_uplink_text(uplink)} to each other", "on-switch"))
        elif uplink.to not in above:
            texts.append((f"{_uplink_text(uplink)} to {uplink.to}", "on-switch"))
    return _draw_texts(canvas, "switch", at, texts)


def _draw_nodes(canvas: _Canvas, nodes: Nodes, at: _Place, folded: bool) -> float:
    """Draws equal nodes: their number, names and interfaces, and a small square for each one if they are few."""
    first, count = len(canvas.elements), len(nodes.hosts)
    x, width = at.x + GAP, at.width - 2 * GAP
    y = canvas.text(x, at.y + GAP / 2, width, plural(count, "node"), "title")
    named = not folded and count <= NAMED and max(map(len, nodes.hosts)) * LETTER < width / 4 - GAP
    texts = [("" if folded or named else describe_hosts(nodes.hosts), "soft"), (canvas.machine.cluster.node, "")]
    for text, style in (*texts, *_network_texts(nodes.network, at.above)):
        y = canvas.text(x, y, width, text, style)
    if 1 < count <= SQUARES or named:
        y = _draw_squares(canvas, nodes.hosts, replace(at, x=x, y=y + GAP / 4, width=width), named)
    canvas.box("nodes", at, y + GAP / 2 - at.y, first)
    return y + GAP / 2


def _draw_squares(canvas: _Canvas, hosts: Sequence[str], at: _Place, named: bool) -> float:
    step = at.width / 4 if named else SQUARE + GAP / 2
    height = LINE + 2 if named else SQUARE
    columns = 4 if named else max(1, int((at.width + GAP / 2) / step))
    for number, host in enumerate(hosts):
        row, column = divmod(number, columns)
        x, y = at.x + column * step, at.y + row * (height + GAP / 2)
        canvas.box("node", _Place(x, y, step - GAP / 2), height)
        if named:
            canvas.name(x + GAP / 2, y + 1, host)
    return at.y + -(-len(hosts) // columns) * (height + GAP / 2)


# ------------------------------------------------------------------ words


def _title(machine: Machine, group: Group) -> str:
    size = f"{group.size:,} nodes" if group.size > 1 else "1 node"
    if not group.kind and group.count == 1:
        return size if group.of_switch else f"{machine.system}: {size}"
    if not group.kind:
        return f"{group.count} × {size}"
    return f"{group.count} × {group.kind}: {size} each" if group.count > 1 else f"{group.kind}: {size}"


def _uplink_text(uplink: Uplink) -> str:
    rate = "link rate unknown" if uplink.rate is None else rate_text(uplink.rate)
    if uplink.links == 1:
        return rate
    return f"{uplink.links} links, rate unknown" if uplink.rate is None else f"{uplink.links} × {rate}"


def _link_text(part: _Part, above: Sequence[Switch], own: Sequence[Switch]) -> str:
    """Returns the words at the line from a switch to a part; "" if there is no such line, or if it leads on to further parts."""
    names = {switch.name for switch in above}
    if isinstance(part, Attached):
        return _uplink_text(part.uplink) if part.uplink.to in {switch.name for switch in own} else ""
    if isinstance(part, Group) and part.switches:
        links = [(s.name, u) for s in part.switches for u in s.uplinks if u.to in names and u.to != s.name]
        return ", ".join(f"{_uplink_text(uplink)} from each {name}" for name, uplink in links)
    if isinstance(part, Group):
        return ""
    rate = next((s.node_rate for s in reversed(above) if s.node_rate is not None), None)
    return f"{rate_text(rate)} to each node" if rate is not None else ""


def _network_texts(network: Network | None, above: Sequence[Switch]) -> Iterator[tuple[str, str]]:
    """Yields lines on the interfaces of equal nodes, each with its style."""
    if network is None:
        return
    if network.reason:
        yield f"network unknown: {network.reason}", "warn"
    stated = next((s.node_rate for s in reversed(above) if s.node_rate is not None), None)
    rates = [interface.link_rate for interface in network.interfaces if interface.link_rate is not None]
    for interface in network.interfaces[:MOST_INTERFACES]:
        yield _interface_text(interface), ""
    if stated is not None and rates and stated not in rates:
        yield f"the system file states {rate_text(stated)}", "warn"
    timeouts = dict.fromkeys(time_text(i.rto_min) for i in network.interfaces if i.rto_min is not None)
    if timeouts:
        yield f"RTO minimum {' / '.join(timeouts)}", ""


def _interface_text(interface: Interface) -> str:
    rate = "link rate unknown" if interface.link_rate is None else rate_text(interface.link_rate)
    duplex = f"{interface.duplex} duplex" if interface.duplex else ""
    mtu = f"MTU {interface.mtu}" if interface.mtu else ""
    driver = interface.driver or ("" if interface.kind == "Ethernet" else interface.kind)
    return f"{interface.name}: {', '.join(filter(None, (driver, rate, duplex, mtu)))}"
