"""The differences between the clocks of a node's devices, from sensors that measure the same load."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.power.command_line.sensor_selection import Part

if TYPE_CHECKING:
    from steelyard.power.clocks import Offset
    from steelyard.power.stores import Store

COLUMNS = ("sensor", "against", "behind", "low", "high", "correlation")


def show(store: "Store", parts: Sequence[Part], as_json: bool) -> None:
    """Prints the offset of each sensor of power or energy against the node's first one. UsageError if no node has two."""
    from steelyard.command_line import tables
    from steelyard.units import quantity, significant

    found = [(part.node, first, name, offset) for part in parts for first, name, offset in _of_node(store, part)]
    if not found:
        raise UsageError(
            "To compare clocks, a node needs two sensors of power or energy, and these nodes have fewer. Name another node."
        )
    if as_json:
        rows = [(f"{node}/{name}", f"{node}/{first}", *_numbers(offset)) for node, first, name, offset in found]
        tables.print_rows(COLUMNS, rows, True)
        return
    for node, first in dict.fromkeys((node, first) for node, first, *_ in found):
        cells = []
        for _, _, name, o in (row for row in found if row[0] == node):
            said = (quantity(o.seconds, "s"), f"{quantity(o.low, 's')} … {quantity(o.high, 's')}") if o else ()
            words = (*said, significant(o.correlation, 2)) if o else ("no changes in common", "–", "–")
            cells.append((name, *words))
        tables.print_narrow_table(
            f"{node}: clocks behind that of {first}", ("sensor", "behind", "95 % interval", "correlation"), cells
        )


def _of_node(store: "Store", part: Part) -> "list[tuple[str, str, Offset | None]]":
    from steelyard.power.clocks import offset

    reported = Part(part.node, tuple(s for s in part.sensors if s.quantity in ("energy", "power")), part.stretches)
    if len(reported.sensors) < 2:
        return []
    (first, reference), *others = reported.traces(store, margin=0)
    return [(first.name, sensor.name, offset(reference, trace)) for sensor, trace in others]


def _numbers(found: "Offset | None") -> tuple[float | None, ...]:
    return (found.seconds, found.low, found.high, found.correlation) if found else (None,) * 4
