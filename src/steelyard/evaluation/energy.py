"""Energy of the cases: each record joined by its time with what the sensors said meanwhile."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from steelyard.model import Benchmark, Metric, Record, Result, Value
from steelyard.model.sensor import Power
from steelyard.statistics.results.result import judge_case
from steelyard.statistics.samples.launches import Spread, combine
from steelyard.telemetry.energy import Course, Energy
from steelyard.telemetry.watched import Stretch, cost, courses, modelled

WIDEST = 0.5  # half of the interval, relative: a wider one belongs to a case that is too short for its sensor


def _later(seconds: float, record: Record) -> None:
    """Returns nothing: the values follow from the sensors, not from the record."""


POWER = Metric("power", "W", "lower", "mean power of the node while it ran", _later)
ENERGY = Metric("energy", "J", "lower", "energy of an operation, including that of the idle machine", _later)
BEYOND = Metric("energy_above_idle", "J", "lower", "energy of an operation above that of the idle machine", _later)
FLOPS = Metric("flops_per_joule", "flop/J", "higher", "floating-point operations per joule", _later)
DELAY = Metric("energy_delay", "J s", "lower", "energy-delay product: energy × time of an operation", _later)
MODELLED = " (modelled from the load, not measured)"
METRICS = (POWER, ENERGY, BEYOND, FLOPS, DELAY)


def add_energy(
    results: Sequence[Result], benchmarks: Mapping[str, Benchmark], power: Power
) -> tuple[tuple[Result, ...], dict[str, Benchmark]]:
    """Returns the results with their metrics of energy, and the benchmarks that have these metrics.

    The metrics come from the source whose sensors cover the largest part of the node. A model is used only if nothing was
    measured, and its metrics are called modelled. A case that is too short for the sensor has none. An operation of a foreign
    program is a run from its start to its end, whatever part of it the program timed.
    """
    traces = courses(power.traces)
    whole = spend(results, power)
    if whole is None:
        return tuple(results), dict(benchmarks)
    source, idle = whole.source, whole.idle
    of_source = {name: course for name, course in traces.items() if course.sensor.source == source}
    foreign = {name for name, course in benchmarks.items() if any(source.foreign for source in course.sources)}
    extended_results = tuple(_with_energy(result, of_source, idle, result.benchmark in foreign) for result in results)
    return extended_results, add_metrics(benchmarks, extended_results, power)


@dataclass(frozen=True)
class Spent:
    """The energy of the node from the first sample of a run to the last, by the source that covers most; `idle` before it."""

    source: str
    energy: Energy
    idle: Energy | None


def spend(results: Iterable[Result], power: Power) -> Spent | None:
    """Returns the energy of the whole run; None without usable readings meanwhile."""
    traces = courses(power.traces)
    stretches = [s for r in results for record in r.records if (s := find_stretch(record))]
    if not traces or not stretches:
        return None
    first, last = min(s.begin for s in stretches), max(s.end for s in stretches)
    whole = cost(traces, Stretch("run", first, last)).totals
    if not whole:
        return None
    source = max(whole, key=lambda name: whole[name].joules)
    idle = cost(traces, Stretch("idle", *power.idle)).totals.get(source) if power.idle else None
    return Spent(source, whole[source], idle)


def add_metrics(benchmarks: Mapping[str, Benchmark], results: Iterable[Result], power: Power) -> dict[str, Benchmark]:
    """Returns the benchmarks, and adds the metrics of energy to those that have such results."""
    names = {r.benchmark for r in results if POWER.name in r.metrics}
    guess = modelled(power.traces)
    metrics = tuple(replace(m, title=f"{m.title}{MODELLED}") for m in METRICS) if guess else METRICS
    return {n: replace(b, metrics=(*b.metrics, *metrics)) if n in names else b for n, b in benchmarks.items()}


def find_stretch(record: Record) -> Stretch | None:
    """Returns the time from the first sample to the last, or None if the record does not hold it."""
    began, ended = record.surroundings.began, record.surroundings.ended
    if not began or not ended or ended <= began or not record.samples:
        return None
    return Stretch(record.benchmark, round(began * 1e9), round(ended * 1e9))


def find_runs(record: Record) -> list[Stretch]:
    """Returns the runs of a foreign program, from their starts to their ends, without Steelyard's own work between them."""
    began, columns = record.surroundings.began, record.surroundings.samples
    if not began:
        return []
    ends = zip(columns.at or (), columns.seconds or (), strict=False)
    return [
        Stretch(record.benchmark, round((began + at) * 1e9), round((began + at + seconds) * 1e9))
        for at, seconds in ends
        if at is not None and seconds
    ]


def _with_energy(result: Result, traces: Mapping[str, Course], idle: Energy | None, foreign: bool) -> Result:
    used, spread, _ = judge_case(result.records)
    if foreign:
        energies = [spent for record in used if (spent := _spent_by_runs(record, traces))]
        spread = _whole(used)
    else:
        energies = [spent for record in used if (spent := _spent(record, traces))]
    if not energies or spread is None:
        return result
    power = _Range(
        median(e.power for e in energies),
        min(e.low / e.seconds for e in energies),
        max(e.high / e.seconds for e in energies),
    )
    seconds = _Range(spread.value, spread.low, spread.high)
    energy = power.times(seconds)
    metrics = {POWER: power, ENERGY: energy, DELAY: energy.times(seconds)}
    if idle:
        base = _Range(idle.power, idle.low / idle.seconds, idle.high / idle.seconds)
        metrics[BEYOND] = power.less(base).times(seconds)
    flops = used[0].work.get("flops")
    if flops and energy.low:
        metrics[FLOPS] = energy.under(flops)
    return replace(
        result, metrics={**result.metrics, **{m.name: interval.stated(m) for m, interval in metrics.items()}}
    )


def _spent(record: Record, traces: Mapping[str, Course]) -> Energy | None:
    when = find_stretch(record)
    energy = _total(when, traces) if when else None
    return energy if energy and energy.width <= WIDEST else None


def _spent_by_runs(record: Record, traces: Mapping[str, Course]) -> Energy | None:
    """Returns the energy of all runs of a foreign program; the energy with the time between them is the upper bound."""
    when = find_stretch(record)
    energies = [energy for run in find_runs(record) if (energy := _total(run, traces))]
    if not when or not energies:
        return None
    whole = _total(when, traces)
    high = sum(e.high for e in energies)
    high = min(high, whole.high) if whole and len(energies) == len(find_runs(record)) else high
    joules, seconds = min(sum(e.joules for e in energies), high), sum(e.seconds for e in energies)
    missing = sum(e.missing * e.seconds for e in energies) / seconds
    energy = Energy(
        joules=joules,
        low=sum(e.low for e in energies),
        high=high,
        seconds=seconds,
        greatest=None,
        over=0.0,
        missing=missing,
    )
    return energy if energy.width <= WIDEST else None


def _total(when: Stretch, traces: Mapping[str, Course]) -> Energy | None:
    return next(iter(cost(traces, when).totals.values()), None)


def _whole(records: Sequence[Record]) -> Spread | None:
    """Returns the time of a run from its start to its end, over the launches."""
    seconds = [[(run.end - run.begin) * 1e-9 for run in find_runs(record)] for record in records]
    return combine([row for row in seconds if row]) if any(seconds) else None


@dataclass(frozen=True)
class _Range:
    """A value and its interval. The interval of a product or a quotient covers both intervals."""

    value: float
    low: float | None
    high: float | None

    def times(self, other: "_Range") -> "_Range":
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return _Range(self.value * other.value, None, None)
        low = self.low * (other.low if self.low >= 0 else other.high)
        return _Range(self.value * other.value, low, self.high * (other.high if self.high >= 0 else other.low))

    def less(self, other: "_Range") -> "_Range":
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return _Range(self.value - other.value, None, None)
        return _Range(self.value - other.value, self.low - other.high, self.high - other.low)

    def under(self, amount: float) -> "_Range":
        low, high = (amount / end if end else None for end in (self.high, self.low))
        return _Range(amount / self.value, low, high)

    def stated(self, metric: Metric) -> Value:
        return Value(self.value, metric.unit, self.low, self.high, metric.better)
