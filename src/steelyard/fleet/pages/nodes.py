"""The nodes of a cluster beside each other: the slow ones, a map of nodes and figures, and a map of the enclosures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.compare.side import Side
from steelyard.errors import SteelyardError
from steelyard.fleet import fleet_screen
from steelyard.fleet.nodes import LEAST_NODES, Fleet, NodeFigure, find_worst, gather, judge_fleet, uses_several_hosts
from steelyard.fleet.printing import nest
from steelyard.measure.machine.hostlist import short_name
from steelyard.model import Enclosure, Evaluation
from steelyard.model.figure import Axis, Figure, Point
from steelyard.model.words import joined
from steelyard.show.command_line.evaluated_run import find_older_summary
from steelyard.show.report import drawing
from steelyard.show.report.sides_of_report import ReportSides
from steelyard.show.report.summary import Summary

PLACE, TITLE = 9, "Nodes"
SIDES = LEAST_NODES

MOST_NODES = 48  # rows of the map: the slowest ones
MOST_NAMED = 4  # nodes in a title
VALUE = Axis("more time than other nodes", "%")
NODES = "Time of each node compared with that of the others"
CAPTION = "The slowest nodes are at the top. Neither chance nor the usual spread of nodes explains a framed cell."
PLACES = "Worst main figure of each node, at its place"
PLACES_CAPTION = "Each cell is a node, in the order of the system file. Framed nodes are slow."


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The data of the page. `sentences` are those of `steelyard fleet`; `hidden` nodes are not in the map."""

    fleet: Fleet
    sentences: tuple[tuple[str, tuple[str, ...]], ...]
    figures: tuple[drawing.Drawn, ...]
    hidden: int


def data(evaluation: Evaluation | None, sides: ReportSides) -> Page | None:
    """Returns the comparison of the nodes; None if the sides are not runs of three nodes or more with the same cases."""
    runs = [side for side in sides.sides if not side.is_foreign and _is_node(side)]
    nodes = gather(runs)
    if len(nodes) < LEAST_NODES:
        return None
    fleet = judge_fleet(nodes, _read_summaries(runs))
    main = [figure for figure in fleet.figures if figure.main]
    if not main:
        return None
    worst = find_worst(main)
    order = sorted({*fleet.nodes, *worst}, key=lambda name: (-worst.get(name, 0.0), name))
    machine = runs[0].runs[0].machine
    figures = [_draw_nodes(main, order[:MOST_NODES], fleet)]
    if machine and (places := _place(machine.enclosures, fleet.nodes)):
        figures.append(_draw_places(places, worst, fleet))
    return Page(
        fleet=fleet,
        sentences=tuple(nest(fleet_screen.list_sentences(fleet, everything=False))),
        figures=tuple(map(drawing.plain, figures)),
        hidden=max(0, len(order) - MOST_NODES),
    )


def has_figures(page: Page) -> bool:
    """Returns whether the page has figures: always."""
    return bool(page.figures)


def _is_node(side: Side) -> bool:
    """Returns whether a side is the runs of one host."""
    hosts = {run.machine.host if run.machine else "" for run in side.runs}
    return len(hosts) == 1 and hosts != {""} and not uses_several_hosts(side)


def _read_summaries(sides: Sequence[Side]) -> Iterator[Summary]:
    for path in (Path(run.path) for side in sides for run in side.runs):
        try:
            yield find_older_summary(path, ())[0]
        except SteelyardError:
            continue


def _find_share(figure: NodeFigure, name: str) -> float | None:
    return _round(figure.nodes[name].ratio) if name in figure.nodes else None


def _round(ratio: float) -> float:
    """Returns the additional time as a share, to a tenth of a percent."""
    return round(ratio - 1, 3)


def _draw_nodes(main: Sequence[NodeFigure], order: Sequence[str], fleet: Fleet) -> Figure:
    columns = tuple(figure.title for figure in main)
    slow = [
        Point(figure.title, node.name, "")
        for figure in main
        for node in figure.sweep.nodes
        if node.slow and node.name in order
    ]
    return Figure(
        name="nodes-figures", title=f"{NODES}: {_name_slow(fleet)}", kind="heat", x=Axis("figure"), y=Axis("node"),
        value=VALUE, caption=CAPTION, columns=columns, rows=tuple(order), points=tuple(slow),
        z=tuple(tuple(_find_share(figure, name) for figure in main) for name in order),
    )  # fmt: skip


def _name_slow(fleet: Fleet) -> str:
    names = [node.name for node in fleet.slow]
    if not names:
        return "no slow node"
    if len(names) > MOST_NAMED:
        return f"{len(names)} nodes are slow"
    return f"{joined(names)} {'is' if len(names) == 1 else 'are'} slow"


def _place(enclosures: Sequence[Enclosure], nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the nodes of each enclosure of the smallest kind, by its name; empty if a node is in none of them."""
    kind = enclosures[0].kind if enclosures else ""
    known = {short_name(node): node for node in nodes}
    rows = {
        f"{kind} {e.hosts[0]} to {e.hosts[-1]}": tuple(
            known[short_name(host)] for host in e.hosts if short_name(host) in known
        )
        for e in enclosures
        if e.kind == kind
    }
    found = {name: hosts for name, hosts in rows.items() if hosts}
    return found if sum(map(len, found.values())) == len(nodes) and len(found) > 1 else {}


def _draw_places(places: dict[str, tuple[str, ...]], worst: dict[str, float], fleet: Fleet) -> Figure:
    width = max(map(len, places.values()))
    slow = {node.name for node in fleet.slow}
    rows = [[_round(worst[host]) if host in worst else None for host in hosts] for hosts in places.values()]
    named = [Point(at, row, name) for row, hosts in places.items() for at, name in enumerate(hosts, 1) if name in slow]
    return Figure(
        name="nodes-places", title=f"{PLACES}: {_name_slow(fleet)}", kind="heat", x=Axis("node"), y=Axis("enclosure"),
        value=VALUE, caption=PLACES_CAPTION, columns=tuple(range(1, width + 1)), rows=tuple(places), points=tuple(named),
        z=tuple((*row, *([None] * (width - len(row)))) for row in rows),
    )  # fmt: skip
