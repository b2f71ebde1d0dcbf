"""The energy of a run, its cases or a job: for each node and source, and in total."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from steelyard.measure.telemetry import overlap
from steelyard.measure.telemetry.coverage import best_of_parts, by_source
from steelyard.measure.telemetry.energy import Course, Energy
from steelyard.measure.telemetry.watched import Stretch, cost, courses, describe_impossible, disagreements
from steelyard.model.scope import Parts, words
from steelyard.model.units import quantity
from steelyard.power.command_line.connections import say
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.store_tables import FIGURES, SHOWN, add_energies, format_figures, list_figures
from steelyard.power.command_line.time_ranges import When
from steelyard.power.peers import Above, Member, find_above_peers
from steelyard.show.report.json_output import print_json

if TYPE_CHECKING:
    from steelyard.power.stores import Store


@dataclass(frozen=True)
class Row:
    """The energy of a node by one source while a case ran ("": all the time); None if there are too few readings.

    `scope` names the parts of the node that it contains.
    """

    node: str
    case: str
    source: str
    spent: Energy | None
    scope: Parts = ()


@dataclass(frozen=True, kw_only=True)
class Total:
    """The energy (J) by one source of `nodes` nodes out of `of`; its bounds are the sums of the nodes' bounds."""

    source: str
    scope: Parts
    nodes: int
    of: int
    energy: float
    low: float
    high: float


def list_rows(store: "Store", parts: Sequence[Part], when: When) -> tuple[list[Row], list[Above]]:
    """Returns the energies of the sensors that are part of no other, and the nodes that drew more than their peers.

    Modelled sensors count only on a node without measured ones.
    """
    energies, nodes = [], []
    for part in parts:
        traces = {sensor.name: trace for sensor, trace in part.with_power().traces(store)}
        courses_by_name = courses(traces)
        silent = {s.source: s.name for s in best_of_parts(part.sensors) if s.name not in courses_by_name}
        for source, name in silent.items():
            say(f"{source} gives no energy for {part.node}: {name} has no readings in that time.")
        energies += list(_list_node_rows(part, courses_by_name, {*silent}, when.clock))
        doubts = (*overlap.sentences(courses_by_name), *describe_impossible(traces))
        for sentence in (*doubts, *_list_disagreements(part, courses_by_name, when.clock)):
            say(f"{part.node}: {sentence}")
        nodes.append(Member(part.node, courses_by_name, part.stretches))
    return energies, find_above_peers(nodes, when.clock)


def _list_disagreements(part: Part, courses_by_name: dict[str, Course], clock: float) -> list[str]:
    """Returns the disagreements in the longest interval, whose bounds are the narrowest."""
    if not part.stretches:
        return []
    longest = max(part.stretches, key=lambda stretch: stretch.end - stretch.begin)
    return disagreements(
        [course.sensor for course in courses_by_name.values()], cost(courses_by_name, longest, clock).claims
    )


def _list_node_rows(part: Part, courses_by_name: dict[str, Course], silent: set[str], clock: float) -> Iterator[Row]:
    sources = by_source(course.sensor for course in courses_by_name.values())
    named: dict[str, list[Stretch]] = {}
    for stretch in part.stretches:
        named.setdefault(stretch.name, []).append(stretch)
    for case, stretches in named.items():
        costs = [cost(courses_by_name, stretch, clock).totals for stretch in stretches]
        for source, covered in sources.items():
            is_silent = any(sensor.source in silent for sensor in covered.sensors)
            spent = None if is_silent else add_energies([totals.get(source) for totals in costs])
            is_modelled = any(sensor.modelled for sensor in covered.sensors)
            called = f"{source}, modelled" if is_modelled else source
            yield Row(part.node, case, called, spent, covered.scope)
        if not sources:
            yield Row(part.node, case, "", None)


def add_totals(energies: Sequence[Row], of: int) -> list[Total]:
    """Returns the total of each source over the nodes whose energies are all known."""
    made = []
    for source, scope in dict.fromkeys((row.source, row.scope) for row in energies if row.source):
        nodes: dict[str, list[Energy | None]] = {}
        for row in energies:
            if (row.source, row.scope) == (source, scope):
                nodes.setdefault(row.node, []).append(row.spent)
        sums = [total for spent in nodes.values() if (total := add_energies(spent))]
        if sums:
            joules, low, high = (sum(getattr(e, name) for e in sums) for name in ("joules", "low", "high"))
            made.append(Total(source=source, scope=scope, nodes=len(sums), of=of, energy=joules, low=low, high=high))
    return made


def print_costs(
    energies: Sequence[Row], in_all: Sequence[Total], more: Sequence[Above], when: When, as_json: bool
) -> None:
    """Prints a table, the totals and the nodes that drew more than others; or all three as JSON."""
    from steelyard.show.command_line import tables

    if as_json:
        print_json(_to_plain(energies, in_all, more, when))
        return
    nodes, cases = len({row.node for row in energies}) > 1, any(row.case for row in energies)
    columns = [*(["node"] if nodes or not cases else []), *(["case"] if cases else []), "source", "covers", *SHOWN[:-1]]
    cells = []
    for row in energies:
        named = {"node": row.node, "case": row.case, "source": row.source or "no sensor", "covers": words(row.scope)}
        named |= zip(SHOWN, format_figures(*_list_figures(row.spent), "W"), strict=True)
        cells.append([named[column] for column in columns])
    tables.print_narrow_table(when.called + ("" if "node" in columns else f" on {energies[0].node}"), columns, cells)
    for total in in_all:
        share = f"{total.nodes} of {total.of}" if total.nodes < total.of else str(total.nodes)
        bounds = f"{quantity(total.low, 'J')} – {quantity(total.high, 'J')}"
        what = f"{quantity(total.energy, 'J')} ({bounds}), {share} node{'' if total.of == 1 else 's'}"
        print(f"Total of the {words(total.scope)} by {total.source}: {what}.")
    for node_above in more:
        print(node_above.sentence)


def _list_figures(spent: Energy | None) -> tuple[Energy | None, float | None, float | None]:
    return (spent, spent.power, spent.greatest) if spent else (None, None, None)


def _to_plain(energies: Sequence[Row], in_all: Sequence[Total], more: Sequence[Above], when: When) -> dict[str, Any]:
    return {
        "of": when.called,
        "from": when.start,
        "to": when.end,
        "nodes": [
            {
                "node": row.node,
                "case": row.case or None,
                "source": row.source or None,
                "scope": list(row.scope),
                **dict(zip(FIGURES, list_figures(*_list_figures(row.spent)), strict=True)),
            }
            for row in energies
        ],
        "totals": [asdict(total) for total in in_all],
        "above_peers": [asdict(item) for item in more],
    }
