"""Tables of a store: its sensors, and the energy of each in a period."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.measure.telemetry import overlap
from steelyard.measure.telemetry.energy import NANO, Course, Energy, course, energy, measure_reached
from steelyard.measure.telemetry.sampler import select_summed
from steelyard.model.sensor import Moments, Sensor
from steelyard.model.units import duration, percent, quantity
from steelyard.power.command_line.connections import say
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.time_ranges import When
from steelyard.power.message import Gap
from steelyard.show.command_line import tables
from steelyard.show.report.json_output import print_named_rows

if TYPE_CHECKING:
    from steelyard.measure.telemetry.watched import Stretch
    from steelyard.power.stores import Store

FIGURES = ("seconds", "energy", "low", "high", "mean", "greatest", "missing")
SHOWN = ("time", "energy", "95 % interval", "mean", "greatest")


def disagreements(rows: Sequence["Row"]) -> list[str]:
    """Returns sentences on sensors of a node that contain each other, and on sensors that contradict each other."""
    from steelyard.measure.telemetry import watched

    texts = []
    for node in dict.fromkeys(row.node for row in rows):
        of_this_node = [row for row in rows if row.node == node]
        by_sensor = overlap.resolve({row.sensor.name: row.course for row in of_this_node if row.course})
        sensors = [by_sensor[row.sensor.name].sensor if row.course else row.sensor for row in of_this_node]
        spent = {row.sensor.name: row.spent for row in of_this_node if row.spent}
        claims = watched.totals(select_summed(sensors), spent, overlap.doubtful(by_sensor))
        of_node = (*overlap.sentences(by_sensor), *watched.disagreements(sensors, claims))
        texts += [f"{node}: {sentence}" for sentence in of_node]
    return texts


def list_sensors(store: "Store") -> tuple[Sequence[str], list[Sequence[Any]]]:
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


def list_costs(store: "Store", parts: Iterable[Part], when: When) -> list[Row]:
    """Returns a row for each sensor. Between two given moments, the energy covers the time that readings reach.

    For a run or a job, it covers the whole time.
    """
    rows = []
    for part in parts:
        for sensor, trace in part.traces(store):
            whole = course(trace)
            values, spent = trace.value[find_inside(trace.at, part.stretches)], _integrate_part(whole, part, when)
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
                    course=overlap.thin_out(whole) if whole else None,
                )
            )
    return rows


def print_costs(rows: Sequence[Row], as_json: bool) -> None:
    """Prints a table for each node, or JSON."""
    if as_json:
        cells = [(f"{r.node}/{r.sensor.name}", r.readings, *list_figures(r.spent, r.mean, r.greatest)) for r in rows]
        print_named_rows(("sensor", "readings", *FIGURES), cells)
        return
    for node in dict.fromkeys(row.node for row in rows):
        of_node = [row for row in rows if row.node == node]
        shown = [
            (r.sensor.name, r.readings, *format_figures(r.spent, r.mean, r.greatest, "W" if r.spent else r.sensor.unit))
            for r in of_node
        ]
        tables.print_narrow_table(node, ("sensor", "readings", *SHOWN), shown)


def _integrate_part(whole: Course | None, part: Part, when: When) -> Energy | None:
    if not whole:
        return None
    integrate = energy if when.called else measure_reached
    return add_energies(
        [
            integrate(whole, stretch.begin, stretch.end, when.clock) if stretch.end > stretch.begin else None
            for stretch in part.stretches
        ]
    )


def add_energies(parts: Sequence[Energy | None]) -> Energy | None:
    """Returns the sum for one source over intervals that follow each other; None if one of them is unknown."""
    usable = [part for part in parts if part]
    if not usable or len(usable) < len(parts):
        return None
    seconds = sum(part.seconds for part in usable)
    peaks = [part.greatest for part in usable if part.greatest is not None]
    return Energy(
        joules=sum(part.joules for part in usable), low=sum(part.low for part in usable),
        high=sum(part.high for part in usable), seconds=seconds,
        greatest=max(peaks, default=None), over=usable[0].over,
        missing=sum(part.missing * part.seconds for part in usable) / seconds,
    )  # fmt: skip


def list_figures(spent: Energy | None, mean: float | None, most: float | None) -> tuple[float | None, ...]:
    """Returns FIGURES as numbers."""
    if spent is None:
        return None, None, None, None, mean, most, None
    return spent.seconds, spent.joules, spent.low, spent.high, mean, most, spent.missing


def format_figures(spent: Energy | None, mean: float | None, most: float | None, unit: str) -> tuple[str, ...]:
    """Returns SHOWN as text."""
    power = tuple("–" if value is None else quantity(value, unit) for value in (mean, most))
    if spent is None:
        return "–", "–", "–", *power
    # Where there is an energy, some readings exist: 99.96 % is not written as 100 %.
    lacks = f", {percent(min(spent.missing, 0.999), 1)} missing" if spent.missing >= 0.005 else ""
    bounds = f"{quantity(spent.low, 'J')} – {quantity(spent.high, 'J')}"
    return duration(spent.seconds) + lacks, quantity(spent.joules, "J"), bounds, *power


def find_inside(at: Moments, stretches: "Sequence[Stretch]") -> NDArray[np.bool_]:
    """Returns for each moment whether it lies in one of the intervals."""
    is_inside = np.zeros(len(at), dtype=bool)
    for stretch in stretches:
        is_inside[np.searchsorted(at, stretch.begin) : np.searchsorted(at, stretch.end, side="right")] = True
    return is_inside


def print_gaps(store: "Store", parts: Iterable[Part]) -> None:
    """Prints the gaps in the readings of the chosen sensors."""
    for part in parts:
        names = {sensor.name for sensor in part.sensors}
        for gap in store.gaps(part.node, part.start, part.end):
            touched = any(gap.start <= s.end and gap.end >= s.begin for s in part.stretches)
            if touched and (not gap.sensors or names & {*gap.sensors}):
                say(describe_gap(part.node, gap))


def describe_gap(node: str, gap: Gap) -> str:
    """Returns 'cluster/n1 has no readings of rapl/package-0 from … to …: buffer full.'"""
    first, last = (datetime.fromtimestamp(ns * NANO).isoformat(" ", "seconds") for ns in (gap.start, gap.end))
    return f"{node} has no readings of {', '.join(gap.sensors) or 'any sensor'} from {first} to {last}: {gap.why}."
