"""The differences between the clocks of a node's devices, from sensors that measure the same load."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.power.command_line.sensor_selection import Part
from steelyard.show.report.json_output import print_named_rows

if TYPE_CHECKING:
    from steelyard.power.clocks import Offset
    from steelyard.power.stores import Store

COLUMNS = ("sensor", "against", "behind", "low", "high", "correlation")


def print_offsets(store: "Store", parts: Sequence[Part], as_json: bool) -> None:
    """Prints the offset of each sensor of power or energy against the node's first one. UsageError if no node has two."""
    from steelyard.model.units import quantity, significant
    from steelyard.show.command_line import tables

    offsets = [(part.node, first, name, offset) for part in parts for first, name, offset in _compare_node(store, part)]
    if not offsets:
        raise UsageError(
            "To compare clocks, a node needs two sensors of power or energy, but the nodes that you named have fewer. Name "
            "another node."
        )
    if as_json:
        rows = [(f"{node}/{name}", f"{node}/{first}", *_list_numbers(offset)) for node, first, name, offset in offsets]
        print_named_rows(COLUMNS, rows)
        return
    for node, first in dict.fromkeys((node, first) for node, first, *_ in offsets):
        cells = []
        for _, _, name, o in (row for row in offsets if row[0] == node):
            said = (quantity(o.seconds, "s"), f"{quantity(o.low, 's')} … {quantity(o.high, 's')}") if o else ()
            words = (*said, significant(o.correlation, 2)) if o else ("no changes in common", "–", "–")
            cells.append((name, *words))
        tables.print_narrow_table(
            f"{node}: clock delays against {first}",
            ("sensor", "behind", "95 % interval", "correlation"),
            cells,
        )


def _compare_node(store: "Store", part: Part) -> "list[tuple[str, str, Offset | None]]":
    from steelyard.power.clocks import estimate_offset

    comparable = part.with_power()
    if len(comparable.sensors) < 2:
        return []
    (first, reference), *others = comparable.traces(store, margin=0)
    return [(first.name, sensor.name, estimate_offset(reference, trace)) for sensor, trace in others]


def _list_numbers(offset: "Offset | None") -> tuple[float | None, ...]:
    return (offset.seconds, offset.low, offset.high, offset.correlation) if offset else (None,) * 4
