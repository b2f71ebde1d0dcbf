"""The energy of a command, on the terminal and as JSON."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.measure.launch.watch import Outcome
from steelyard.measure.telemetry import overlap, watched
from steelyard.measure.telemetry.energy import Energy
from steelyard.measure.telemetry.sampler import Sampler
from steelyard.measure.telemetry.watched import Cost, Stretch, above, cost, courses, disagreements, name_load
from steelyard.model.account import Account
from steelyard.model.scope import words
from steelyard.model.sensor import Trace
from steelyard.model.units import duration, percent, quantity
from steelyard.power.command_line import readings_output
from steelyard.show.report.json_output import print_json


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
    busy: Account | None = None


def compute_costs(
    traces: Mapping[str, Trace], sampler: Sampler, outcome: Outcome, idle: Stretch | None, busy: Account | None = None
) -> Found:
    resolved = courses(traces)
    costs = tuple(cost(resolved, stretch) for stretch in (outcome.whole, *outcome.phases))
    return Found(
        stretches=costs,
        idle=cost(resolved, idle) if idle else None,
        reading=sampler.cost,
        failures=dict(sampler.failures),
        disagreements=(
            *overlap.sentences(resolved),
            *watched.describe_impossible(traces),
            *disagreements([course.sensor for course in resolved.values()], costs[0].claims),
        ),
        busy=busy,
    )


def format_trace(traces: Mapping[str, Trace]) -> str:
    """Returns the readings in DCDB's format: Sensor,Time,Value, with times in ns since 1970."""
    return "".join(
        [
            readings_output.HEADER,
            *(line for name, trace in traces.items() for line in readings_output.format_csv(name, trace)),
        ]
    )


def print_costs(costs: Found, as_json: bool) -> None:
    """Prints JSON to standard output, or a table to standard error, because the command itself uses standard output."""
    if as_json:
        print_json(_to_plain(costs))
        return
    console = Console(file=sys.stderr)
    whole = costs.stretches[0]
    if not whole.totals:
        _print_shortage(console, costs)
        return
    table = Table(title=f"Energy of {escape(whole.stretch.name)}")
    for column in ("", "source"):
        table.add_column(column)
    for column in ("time", "energy", "95 % interval", "mean", "greatest", "above idle"):
        table.add_column(column, justify="right")
    for row in _list_rows(costs):
        table.add_row(*row)
    console.print(table)
    for source in whole.totals:
        console.print(escape(f"{source} covers: {words(whole.scopes[source])}."))
    for sentence in costs.disagreements:
        console.print(escape(sentence))
    if doubt := name_load(costs.busy):
        console.print(escape(doubt))
    for name, times in costs.failures.items():
        console.print(f"{escape(name)} could not be read {times} times.")
    seconds = whole.totals[next(iter(whole.totals))].seconds
    console.print(f"Reading the sensors took {percent(costs.reading / seconds, 2)} of the time of one core.")


def _print_shortage(console: Console, costs: Found) -> None:
    seconds = (costs.stretches[0].stretch.end - costs.stretches[0].stretch.begin) * 1e-9
    console.print(
        f"No sensor gave enough readings in {duration(seconds)}. Watch a longer command, or read more often with --every."
    )


def _list_rows(costs: Found) -> Iterator[tuple[str, ...]]:
    for part in costs.stretches:
        for source, spent in part.totals.items():
            idle = costs.idle.totals.get(source) if costs.idle else None
            yield (
                escape(part.stretch.name),
                escape(source),
                duration(spent.seconds),
                quantity(spent.joules, "J"),
                f"{quantity(spent.low, 'J')} – {quantity(spent.high, 'J')}",
                quantity(spent.power, "W"),
                "–" if spent.greatest is None else quantity(spent.greatest, "W"),
                quantity(above(spent, idle).joules, "J") if idle else "–",
            )


def _to_plain(costs: Found) -> dict[str, Any]:
    busy = costs.busy
    return {
        "stretches": [_cost_to_plain(part, costs.idle) for part in costs.stretches],
        "idle": {**_cost_to_plain(costs.idle, None), "busy_cores": busy and busy.cores, "doubt": name_load(busy)}
        if costs.idle
        else None,
        "reading_processor_seconds": costs.reading,
        "failures": dict(costs.failures),
        "disagreements": list(costs.disagreements),
    }


def _cost_to_plain(part: Cost, idle: Cost | None) -> dict[str, Any]:
    return {
        "name": part.stretch.name,
        "begin": part.stretch.begin,
        "end": part.stretch.end,
        "totals": {
            s: {"scope": list(part.scopes[s]), **_energy_to_plain(e, idle.totals.get(s) if idle else None)}
            for s, e in part.totals.items()
        },
        "sensors": {s: _energy_to_plain(e, idle.parts.get(s) if idle else None) for s, e in part.parts.items()},
    }


def _energy_to_plain(spent: Energy, idle: Energy | None) -> dict[str, Any]:
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
