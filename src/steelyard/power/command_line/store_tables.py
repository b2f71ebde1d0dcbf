"""Tables of a store: its sensors, and the energy of each in a period."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.command_line import tables
from steelyard.model.sensor import Moments, Sensor
from steelyard.power.command_line.connections import say
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.time_ranges import When
from steelyard.power.message import Gap
from steelyard.telemetry import overlap
from steelyard.telemetry.energy import NANO, Course, Energy, course, energy, reached
from steelyard.units import duration, percent, quantity

if TYPE_CHECKING:
    from steelyard.power.stores import Store
    from steelyard.telemetry.watched import Stretch

FIGURES = ("seconds", "energy", "low", "high", "mean", "greatest", "missing")
SHOWN = ("time", "energy", "95 % interval", "mean", "greatest")


def disagreements(rows: Sequence["Row"]) -> list[str]:
    """Returns sentences on sensors of a node that contain each other, and on sensors that contradict each other."""
    from steelyard.telemetry import watched

    found = []
    for node in dict.fromkeys(row.node for row in rows):
        mine = [row for row in rows if row.node == node]
        known = overlap.resolved({row.sensor.name: row.course for row in mine if row.course})
        sensors = [known[row.sensor.name].sensor if row.course else row.sensor for row in mine]
        spent = {row.sensor.name: row.spent for row in mine if row.spent}
        totals = watched.totals(sensors, spent, overlap.doubtful(known))
        of_node = (*overlap.sentences(known), *watched.disagreements(sensors, totals))
        found += [f"{node}: {sentence}" for sentence in of_node]
    return found


def listed(store: "Store") -> tuple[Sequence[str], list[Sequence[Any]]]:
    """Returns the columns and a row for each sensor of the store."""
    rows: list[Sequence[Any]] = [
        (f"{node}/{sensor.name}", sensor.quantity, sensor.unit, sensor.source)
        for node, sensors in sorted(store.sensors().items())
        for sensor in sensors
    ]
    return ("sensor", "quantity", "unit", "source"), rows


@dataclass(frozen=True, kw_only=True)
class Row:
    """The readings of a sensor: their number; the energy, or for other quantities their mean and greatest value.

    `course` has fewer knots; the sentences on several sensors need it.
    """

    node: str
    sensor: Sensor
    readings: int
    spent: Energy | None
    mean: float | None
    greatest: float | None
    course: Course | None = None


def costs(store: "Store", parts: Iterable[Part], when: When) -> list[Row]:
    """Returns a row for each sensor. Between two given moments, the energy covers the time that readings reach.

    For a run or a job, it covers the whole time.
    """
    rows = []
    for part in parts:
        for sensor, trace in part.traces(store):
            known = course(trace)
            values, spent = trace.value[inside(trace.at, part.stretches)], _spent(known, part, when)
            if sensor.quantity in ("energy", "power") or not len(values):
                mean, most = (spent.power, spent.greatest) if spent else (None, None)
            else:
                mean, most = float(values.mean()), float(values.max())
            rows.append(
                Row(
                    node=part.node,
                    sensor=sensor,
                    readings=len(values),
                    spent=spent,
                    mean=mean,
                    greatest=most,
                    course=overlap.thinned(known) if known else None,
                )
            )
    return rows


def show(rows: Sequence[Row], as_json: bool) -> None:
    """Prints a table for each node, or JSON."""
    if as_json:
        cells = [(f"{r.node}/{r.sensor.name}", r.readings, *plain(r.spent, r.mean, r.greatest)) for r in rows]
        tables.print_rows(("sensor", "readings", *FIGURES), cells, True)
        return
    for node in dict.fromkeys(row.node for row in rows):
        mine = [row for row in rows if row.node == node]
        shown = [
            (r.sensor.name, r.readings, *words(r.spent, r.mean, r.greatest, "W" if r.spent else r.sensor.unit))
            for r in mine
        ]
        tables.print_narrow_table(node, ("sensor", "readings", *SHOWN), shown)


def _spent(known: Course | None, part: Part, when: When) -> Energy | None:
    if not known:
        return None
    of = energy if when.called else reached
    return summed(
        [of(known, each.begin, each.end, when.clock) if each.end > each.begin else None for each in part.stretches]
    )


def summed(found: Sequence[Energy | None]) -> Energy | None:
    """Returns the sum for one source over intervals that follow each other; None if one of them is unknown."""
    known = [each for each in found if each]
    if not known or len(known) < len(found):
        return None
    seconds = sum(each.seconds for each in known)
    peaks = [each.greatest for each in known if each.greatest is not None]
    return Energy(
        joules=sum(each.joules for each in known), low=sum(each.low for each in known),
        high=sum(each.high for each in known), seconds=seconds,
        greatest=max(peaks, default=None), over=known[0].over,
        missing=sum(each.missing * each.seconds for each in known) / seconds,
    )  # fmt: skip


def plain(spent: Energy | None, mean: float | None, most: float | None) -> tuple[float | None, ...]:
    """Returns FIGURES as numbers."""
    if spent is None:
        return None, None, None, None, mean, most, None
    return spent.seconds, spent.joules, spent.low, spent.high, mean, most, spent.missing


def words(spent: Energy | None, mean: float | None, most: float | None, unit: str) -> tuple[str, ...]:
    """Returns SHOWN as text."""
    power = tuple("–" if value is None else quantity(value, unit) for value in (mean, most))
    if spent is None:
        return "–", "–", "–", *power
    lacks = f", {percent(spent.missing)} missing" if spent.missing >= 0.005 else ""
    bounds = f"{quantity(spent.low, 'J')} – {quantity(spent.high, 'J')}"
    return duration(spent.seconds) + lacks, quantity(spent.joules, "J"), bounds, *power


def inside(at: Moments, stretches: "Sequence[Stretch]") -> NDArray[np.bool_]:
    """Returns for each moment whether it lies in one of the intervals."""
    found = np.zeros(len(at), dtype=bool)
    for each in stretches:
        found[np.searchsorted(at, each.begin) : np.searchsorted(at, each.end, side="right")] = True
    return found


def notes(store: "Store", parts: Iterable[Part]) -> None:
    """Prints the gaps in the readings of the chosen sensors."""
    for part in parts:
        names = {sensor.name for sensor in part.sensors}
        for gap in store.gaps(part.node, part.start, part.end):
            touched = any(gap.start <= s.end and gap.end >= s.begin for s in part.stretches)
            if touched and (not gap.sensors or names & {*gap.sensors}):
                say(sentence(part.node, gap))


def sentence(node: str, gap: Gap) -> str:
    """Returns 'cluster/n1 has no readings of rapl/package-0 from … to …: buffer full.'"""
    first, last = (datetime.fromtimestamp(ns * NANO).isoformat(" ", "seconds") for ns in (gap.start, gap.end))
    return f"{node} has no readings of {', '.join(gap.sensors) or 'any sensor'} from {first} to {last}: {gap.why}."
