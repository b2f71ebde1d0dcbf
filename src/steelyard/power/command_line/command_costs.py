"""The energy of a command, on the terminal and as JSON."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.launch.watch import Outcome
from steelyard.model.sensor import Trace
from steelyard.power.command_line import readings_output
from steelyard.telemetry import overlap
from steelyard.telemetry.energy import Energy
from steelyard.telemetry.sampler import Sampler
from steelyard.telemetry.watched import Cost, Stretch, above, cost, courses, disagreements, not_idle
from steelyard.units import duration, percent, quantity


@dataclass(frozen=True, kw_only=True)
class Found:
    """The energy of the whole command and then of its phases; `idle`: of the idle machine before, with its `busy` cores.

    `reading` is the sampler's own cost (seconds of a core), `failures` how often each sensor could not be read.
    """

    stretches: tuple[Cost, ...]
    idle: Cost | None
    reading: float
    failures: Mapping[str, int]
    disagreements: tuple[str, ...]
    busy: float | None = None


def of(
    traces: Mapping[str, Trace], sampler: Sampler, outcome: Outcome, idle: Stretch | None, busy: float | None = None
) -> Found:
    known = courses(traces)
    costs = tuple(cost(known, stretch) for stretch in (outcome.whole, *outcome.phases))
    return Found(
        stretches=costs,
        idle=cost(known, idle) if idle else None,
        reading=sampler.cost,
        failures=dict(sampler.failures),
        disagreements=(
            *overlap.sentences(known),
            *disagreements([each.sensor for each in known.values()], costs[0].totals),
        ),
        busy=busy,
    )


def csv(traces: Mapping[str, Trace]) -> str:
    """Returns the readings in DCDB's format: Sensor,Time,Value, with times in ns since 1970."""
    return "".join(
        [
            readings_output.HEADER,
            *(piece for name, trace in traces.items() for piece in readings_output.csv(name, trace)),
        ]
    )


def show(found: Found, as_json: bool) -> None:
    """Prints JSON to standard output, or a table to standard error, because the command itself uses standard output."""
    if as_json:
        print(json.dumps(_plain(found), indent=1))
        return
    console = Console(file=sys.stderr)
    whole = found.stretches[0]
    if not whole.totals:
        _nothing(console, found)
        return
    table = Table(title=f"Energy of {escape(whole.stretch.name)}")
    for column in ("", "source"):
        table.add_column(column)
    for column in ("time", "energy", "95 % interval", "mean", "greatest", "above idle"):
        table.add_column(column, justify="right")
    for row in _rows(found):
        table.add_row(*row)
    console.print(table)
    for sentence in found.disagreements:
        console.print(escape(sentence))
    if doubt := not_idle(found.busy):
        console.print(escape(doubt))
    for name, times in found.failures.items():
        console.print(f"{escape(name)} could not be read {times} times.")
    seconds = whole.totals[next(iter(whole.totals))].seconds
    console.print(f"Reading the sensors took {percent(found.reading / seconds, 2)} of the time of one core.")


def _nothing(console: Console, found: Found) -> None:
    seconds = (found.stretches[0].stretch.end - found.stretches[0].stretch.begin) * 1e-9
    console.print(
        f"No sensor gave enough readings in {duration(seconds)}. Watch a longer command, or read more often with --every."
    )


def _rows(found: Found) -> Iterator[tuple[str, ...]]:
    for each in found.stretches:
        for source, spent in each.totals.items():
            idle = found.idle.totals.get(source) if found.idle else None
            yield (
                escape(each.stretch.name),
                escape(source),
                duration(spent.seconds),
                quantity(spent.joules, "J"),
                f"{quantity(spent.low, 'J')} – {quantity(spent.high, 'J')}",
                quantity(spent.power, "W"),
                "–" if spent.greatest is None else quantity(spent.greatest, "W"),
                quantity(above(spent, idle).joules, "J") if idle else "–",
            )


def _plain(found: Found) -> dict[str, Any]:
    return {
        "stretches": [_cost(each, found.idle) for each in found.stretches],
        "idle": {**_cost(found.idle, None), "busy_cores": found.busy, "doubt": not_idle(found.busy)}
        if found.idle
        else None,
        "reading_processor_seconds": found.reading,
        "failures": dict(found.failures),
        "disagreements": list(found.disagreements),
    }


def _cost(each: Cost, idle: Cost | None) -> dict[str, Any]:
    return {
        "name": each.stretch.name,
        "begin": each.stretch.begin,
        "end": each.stretch.end,
        "totals": {s: _energy(e, idle.totals.get(s) if idle else None) for s, e in each.totals.items()},
        "sensors": {s: _energy(e, idle.parts.get(s) if idle else None) for s, e in each.parts.items()},
    }


def _energy(spent: Energy, idle: Energy | None) -> dict[str, Any]:
    beyond = above(spent, idle) if idle else None
    return {
        "joules": spent.joules,
        "low": spent.low,
        "high": spent.high,
        "seconds": spent.seconds,
        "power": spent.power,
        "greatest": spent.greatest,
        "greatest_over_seconds": spent.over,
        "missing": spent.missing,
        "above_idle": {"joules": beyond.joules, "low": beyond.low, "high": beyond.high} if beyond else None,
    }
