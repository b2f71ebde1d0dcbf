"""Energy of the cases: each record joined by its time with what the sensors said meanwhile."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from steelyard.model import Benchmark, Metric, Record, Result, Value
from steelyard.model.sensor import Power
from steelyard.statistics.results.result import judged
from steelyard.statistics.samples.launches import Spread, combine
from steelyard.telemetry.energy import Course, Energy
from steelyard.telemetry.watched import Stretch, cost, courses, modelled

WIDEST = 0.5  # half of the interval, relative: of a case too short for its sensor no energy is stated


def _later(seconds: float, record: Record) -> None:
    """Follows from the sensors, not from the record."""


POWER = Metric("power", "W", "lower", "mean power of the node while it ran", _later)
ENERGY = Metric("energy", "J", "lower", "energy of an operation, with the idle machine's", _later)
BEYOND = Metric("energy_above_idle", "J", "lower", "energy of an operation beyond the idle machine's", _later)
FLOPS = Metric("flops_per_joule", "flop/J", "higher", "floating-point operations of a joule", _later)
DELAY = Metric("energy_delay", "J s", "lower", "energy-delay product: energy times time of an operation", _later)
MODELLED = " (modelled from the load, not measured)"
METRICS = (POWER, ENERGY, BEYOND, FLOPS, DELAY)


def joined(
    results: Sequence[Result], benchmarks: Mapping[str, Benchmark], power: Power
) -> tuple[tuple[Result, ...], dict[str, Benchmark]]:
    """The results with the metrics of energy that can be stated, and the benchmarks that have these.

    They rest on the source whose sensors hold the most of the node; on a model only where nothing was measured, and are then
    called modelled. A case too short for it has none. Of a program of others an operation is a run from its start to its end,
    whatever part of that it timed itself.
    """
    known = courses(power.traces)
    stretches = [s for r in results for record in r.records if (s := stretch(record))]
    if not known or not stretches:
        return tuple(results), dict(benchmarks)
    first, last = min(s.begin for s in stretches), max(s.end for s in stretches)
    whole = cost(known, Stretch("run", first, last)).totals
    if not whole:
        return tuple(results), dict(benchmarks)
    source = max(whole, key=lambda name: whole[name].joules)
    idle = cost(known, Stretch("idle", *power.idle)).totals.get(source) if power.idle else None
    of_source = {name: each for name, each in known.items() if each.sensor.source == source}
    foreign = {name for name, each in benchmarks.items() if any(source.foreign for source in each.sources)}
    found = tuple(_with_energy(result, of_source, idle, result.benchmark in foreign) for result in results)
    return found, extended(benchmarks, found, power)


def extended(benchmarks: Mapping[str, Benchmark], results: Iterable[Result], power: Power) -> dict[str, Benchmark]:
    """The benchmarks, with the metrics of energy those that have such results."""
    names = {r.benchmark for r in results if POWER.name in r.metrics}
    guess = modelled(power.traces)
    metrics = tuple(replace(m, title=f"{m.title}{MODELLED}") for m in METRICS) if guess else METRICS
    return {n: replace(b, metrics=(*b.metrics, *metrics)) if n in names else b for n, b in benchmarks.items()}


def stretch(record: Record) -> Stretch | None:
    """From the first sample to the last; None where the record does not say when that was."""
    began, ended = record.surroundings.began, record.surroundings.ended
    if not began or not ended or ended <= began or not record.samples:
        return None
    return Stretch(record.benchmark, round(began * 1e9), round(ended * 1e9))


def runs(record: Record) -> list[Stretch]:
    """Of a program of others each run from its start to its end: between them lies what we do ourselves."""
    began, columns = record.surroundings.began, record.surroundings.samples
    if not began:
        return []
    ends = zip(columns.at or (), columns.seconds or (), strict=False)
    return [
        Stretch(record.benchmark, round((began + at) * 1e9), round((began + at + seconds) * 1e9))
        for at, seconds in ends
        if at is not None and seconds
    ]


def _with_energy(result: Result, known: Mapping[str, Course], idle: Energy | None, foreign: bool) -> Result:
    used, spread, _ = judged(result.records)
    if foreign:
        found = [spent for record in used if (spent := _spent_by_runs(record, known))]
        spread = _whole(used)
    else:
        found = [spent for record in used if (spent := _spent(record, known))]
    if not found or spread is None:
        return result
    power = _Range(
        median(e.power for e in found), min(e.low / e.seconds for e in found), max(e.high / e.seconds for e in found)
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
    return replace(result, metrics={**result.metrics, **{m.name: each.stated(m) for m, each in metrics.items()}})


def _spent(record: Record, known: Mapping[str, Course]) -> Energy | None:
    when = stretch(record)
    found = _total(when, known) if when else None
    return found if found and found.width <= WIDEST else None


def _spent_by_runs(record: Record, known: Mapping[str, Course]) -> Energy | None:
    """What all runs of a program of others used together; the time between them bounds it from above."""
    when = stretch(record)
    each = [found for run in runs(record) if (found := _total(run, known))]
    if not when or not each:
        return None
    whole = _total(when, known)
    high = sum(e.high for e in each)
    high = min(high, whole.high) if whole and len(each) == len(runs(record)) else high
    joules, seconds = min(sum(e.joules for e in each), high), sum(e.seconds for e in each)
    missing = sum(e.missing * e.seconds for e in each) / seconds
    found = Energy(
        joules=joules,
        low=sum(e.low for e in each),
        high=high,
        seconds=seconds,
        greatest=None,
        over=0.0,
        missing=missing,
    )
    return found if found.width <= WIDEST else None


def _total(when: Stretch, known: Mapping[str, Course]) -> Energy | None:
    return next(iter(cost(known, when).totals.values()), None)


def _whole(records: Sequence[Record]) -> Spread | None:
    """The time of a run from its start to its end, over the launches."""
    seconds = [[(run.end - run.begin) * 1e-9 for run in runs(record)] for record in records]
    return combine([row for row in seconds if row]) if any(seconds) else None


@dataclass(frozen=True)
class _Range:
    """A value and its interval; that of a product or a quotient holds those of both."""

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
