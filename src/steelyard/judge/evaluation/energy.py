"""Energy of the cases: each record joined by its time with what the sensors said meanwhile."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from steelyard.measure.telemetry import coverage, overlap
from steelyard.measure.telemetry.coverage import Coverage
from steelyard.measure.telemetry.energy import Course, Energy
from steelyard.measure.telemetry.energy import energy as measure
from steelyard.measure.telemetry.possible_readings import find_possible
from steelyard.measure.telemetry.watched import Stretch, cost, courses, disagreements, is_modelled, supplies, total
from steelyard.model import Attempt, Attempted, Benchmark, Evaluation, Machine, Metric, Record, Result, Value
from steelyard.model.account import Account
from steelyard.model.scope import Parts, words
from steelyard.model.sensor import Power, Trace
from steelyard.model.words import joined, plural
from steelyard.statistics.results import messages
from steelyard.statistics.results.energy_metrics import BEYOND, DELAY, ENERGY, FLOPS, METRICS, MODELLED, POWER
from steelyard.statistics.results.result import judge_case
from steelyard.statistics.samples.launches import Spread, combine

MISSING = 0.1  # share of a case's time: if more is missing, the lack of readings explains a too wide interval
WIDEST = 0.5  # half of the relative interval: a wider one belongs to a case that is too short for its sensor


def add_energy(
    results: Sequence[Result], benchmarks: Mapping[str, Benchmark], power: Power, machine: Machine | None = None
) -> tuple[tuple[Result, ...], dict[str, Benchmark]]:
    """Returns the results with their metrics of energy, and the benchmarks that have these metrics.

    The energy is that of the sensors that count (see `coverage`). A case has one only if they cover all parts that computed, on
    all of its hosts, and if it is long enough for them. A model is used only if nothing was measured, and its metrics are
    called modelled. An operation of a foreign program is a run from its start to its end, whatever part of it the program timed.
    """
    traces = courses(power.traces)
    if not traces:
        return tuple(results), dict(benchmarks)
    foreign = {name for name, item in benchmarks.items() if any(source.foreign for source in item.sources)}
    resting: dict[Coverage, Energy | None] = {}
    extended = list(results)
    for place, (result, counted) in enumerate(zip(results, _sensors(results, traces, machine), strict=True)):
        if counted.scope and not coverage.missing(counted.scope, result.parameters, machine):
            if counted not in resting:
                resting[counted] = _sum_idle(traces, counted, power)
            is_foreign = result.benchmark in foreign
            extended[place] = _add_energy(result, traces, counted, resting[counted], is_foreign)
    return tuple(extended), add_metrics(benchmarks, extended, power)


def _sensors(results: Sequence[Result], traces: Mapping[str, Course], machine: Machine | None) -> Iterator[Coverage]:
    """Yields for each result the sensors whose sum is the energy of its hosts."""
    sensors = [item.sensor for item in traces.values()]
    of_hosts: dict[tuple[str, ...], Coverage] = {}
    every = [_hosts(result, machine) for result in results]
    others = dict.fromkeys(name for hosts in every for name in hosts)
    for hosts in every:
        if hosts not in of_hosts:
            of_hosts[hosts] = coverage.of_hosts(sensors, machine, hosts, others)
        yield of_hosts[hosts]


def _hosts(result: Result, machine: Machine | None) -> tuple[str, ...]:
    """Returns the hosts that computed; () for this machine. Of ranks without a record of their hosts all those of the run."""
    if messages.shared_a_machine(result):
        return ()
    every = machine.hosts if machine and "ranks" in result.parameters else ()
    return tuple(dict.fromkeys(messages.hosts_of(result.attempts) or (host.name for host in every)))


def name_uncovered(evaluation: Evaluation) -> str:
    """Returns the sentence on cases whose energy the sensors do not cover: which parts they lack; "" if there is none."""
    lacks = count_missing_parts(evaluation, evaluation.results)
    number, parts = sum(lacks.values()), joined(f"{part} ({count})" for part, count in lacks.items())
    if not lacks:
        return ""
    have = "has" if number == 1 else "have"
    return f"{number} of {plural(len(evaluation.results), 'case')} {have} no energy, because no sensor covers {parts}."


def count_missing_parts(evaluation: Evaluation, results: Iterable[Result]) -> dict[str, int]:
    """Returns the parts that compute in results without energy, and that no sensor covers, each with the number of results."""
    return dict(Counter(part for _, _, part in _list_without_energy(evaluation, results) if part))


def count_missing_reasons(evaluation: Evaluation) -> dict[str, int]:
    """Returns why cases that the sensors cover have no energy, each with the number of cases; "" for cases that are too short."""
    power, traces = evaluation.power, _sum_run_sensors(evaluation)[0]
    cases = [(r, counted) for r, counted, part in _list_without_energy(evaluation, evaluation.results) if not part]
    return dict(Counter(_find_reason(r, traces, counted, power) for r, counted in cases)) if power else {}


def _find_reason(result: Result, traces: Mapping[str, Course], counted: Coverage, power: Power) -> str:
    """Returns which sensor has too few readings in most launches of a case, and why; "" if all have enough."""
    stretches = [when for record in result.records if (when := find_stretch(record, record.benchmark))]
    reasons = Counter(
        next(filter(None, (_find_loss(traces[s.name], power.traces, when) for s in counted.sensors)), "")
        for when in stretches
    )
    return reasons.most_common(1)[0][0] if reasons else ""


def _find_loss(course: Course, traces: Mapping[str, Trace], when: Stretch) -> str:
    """Returns why the sensor has too few readings in that time; "" if it has enough."""
    sensor, trace = course.sensor, traces[course.sensor.name]
    spent = measure(course, when.begin, when.end)
    if spent and spent.missing <= MISSING:
        return ""
    inside = (trace.at >= when.begin) & (trace.at <= when.end)
    if (inside & ~find_possible(trace, sensor.name in supplies(traces))).any():
        return f"{sensor.name} reported impossible values"
    stuck = sensor.quantity == "energy" and inside.any() and not np.ptp(trace.value[inside])
    return f"{sensor.name} {'did not change' if stuck else 'has too few readings'}"


def _list_without_energy(evaluation: Evaluation, results: Iterable[Result]) -> Iterator[tuple[Result, Coverage, str]]:
    """Yields the results without energy, the sensors that count for them, and the parts that these lack ("" for none)."""
    traces, machine = _sum_run_sensors(evaluation)[0], evaluation.run.machine
    results = [r for r in results if r.metrics and POWER.name not in r.metrics] if traces else []
    for result, counted in zip(results, _sensors(results, traces, machine), strict=True):
        several = "" if counted.sensors else "all hosts" if len(_hosts(result, machine)) > 1 else "the host of the case"
        yield result, counted, several or coverage.missing(counted.scope, result.parameters, machine)


@dataclass(frozen=True)
class Spent:
    """The energy of a run from its first sample to its last, by the sensors that count, and that of the idle machine before."""

    courses: Mapping[str, Course]  # the courses of all sensors, by their names
    coverage: Coverage
    stretch: tuple[int, int]  # begin and end in ns since 1970
    energy: Energy
    idle: Energy | None


def measure_run(evaluation: Evaluation) -> Spent | None:
    """Returns the energy of the whole run, and the idle power; None without usable readings of all of its hosts meanwhile."""
    traces, counted = _sum_run_sensors(evaluation)
    if not traces:
        return None
    stretches = [s for r in evaluation.results for attempt in r.attempts if (s := find_stretch(attempt, r.benchmark))]
    if not stretches:
        return None
    first, last = min(s.begin for s in stretches), max(s.end for s in stretches)
    spent = total(traces, counted, Stretch("run", first, last))
    return Spent(traces, counted, (first, last), spent, _sum_idle(traces, counted, evaluation.power)) if spent else None


def list_contradictions(spent: Spent) -> list[str]:
    """Returns a sentence for each two sensors of the run of which one must be wrong."""
    claims = cost(spent.courses, Stretch("run", *spent.stretch)).claims
    sensors = [item.sensor for item in spent.courses.values()]
    return [*overlap.sentences(spent.courses, wrong=True), *disagreements(sensors, claims)]


def find_load(evaluation: Evaluation) -> Account | None:
    """Returns the processors that other processes used while the idle power was measured; None if it is not known."""
    return Account.of(evaluation.power.busy, evaluation.run.machine.processors, 1) if evaluation.power else None


def measure_idle(evaluation: Evaluation) -> tuple[Coverage, Energy] | None:
    """Returns the energy of the idle machine before the run, and the sensors that count; None without usable readings."""
    traces, counted = _sum_run_sensors(evaluation)
    spent = _sum_idle(traces, counted, evaluation.power)
    return (counted, spent) if spent else None


def _sum_run_sensors(evaluation: Evaluation) -> tuple[Mapping[str, Course], Coverage]:
    """Returns the courses, and the sensors whose sum is the energy of all hosts of the run."""
    traces = courses(evaluation.power.traces) if evaluation.power else {}
    return traces, coverage.of_hosts(
        [item.sensor for item in traces.values()], evaluation.run.machine, _list_hosts(evaluation)
    )


def _list_hosts(evaluation: Evaluation) -> dict[str, None]:
    machine = evaluation.run.machine
    return dict.fromkeys(name for r in evaluation.results for name in _hosts(r, machine) or (machine.host,))


def describe_other_hosts(evaluation: Evaluation) -> list[str]:
    """Returns a sentence on each sensor whose name has another host than those of the run."""
    sensors = [trace.sensor for trace in evaluation.power.traces.values()] if evaluation.power else []
    names = [coverage.shorten(name) for name in (evaluation.run.machine.host, *_list_hosts(evaluation))]
    others = {sensor.name: host for sensor in sensors if (host := coverage.find_other_host(sensor, names))}
    return [
        f"{name} does not count, because {host} is not one of the hosts of this run." for name, host in others.items()
    ]


def _sum_idle(traces: Mapping[str, Course], counted: Coverage, power: Power | None) -> Energy | None:
    return total(traces, counted, Stretch("idle", *power.idle)) if power and power.idle and counted.sensors else None


def add_metrics(benchmarks: Mapping[str, Benchmark], results: Iterable[Result], power: Power) -> dict[str, Benchmark]:
    """Returns the benchmarks, and adds the metrics of energy to those that have such results. Their titles name the scope."""
    powers = (
        (r.benchmark, r.metrics[POWER.name]) for r in results if r.benchmark in benchmarks and POWER.name in r.metrics
    )
    scopes: dict[str, dict[str, None]] = {}
    for name, value in powers:
        scopes.setdefault(name, {})[words(value.scope)] = None
    guess = MODELLED if scopes and is_modelled(power.traces) else ""
    extended = dict(benchmarks)
    for name, scope in scopes.items():
        about = f" ({' or '.join(scope)}{guess})"
        metrics = (replace(metric, title=f"{metric.title}{about}") for metric in METRICS)
        extended[name] = replace(benchmarks[name], metrics=(*benchmarks[name].metrics, *metrics))
    return extended


def find_stretch(record: Attempted, benchmark: str) -> Stretch | None:
    """Returns the time from the first sample to the last, or None if the record does not hold it."""
    began, ended = record.surroundings.began, record.surroundings.ended
    count = record.count if isinstance(record, Attempt) else len(record.samples)
    if not began or not ended or ended <= began or not count:
        return None
    return Stretch(benchmark, round(began * 1e9), round(ended * 1e9))


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


def _add_energy(
    result: Result, traces: Mapping[str, Course], counted: Coverage, idle: Energy | None, foreign: bool
) -> Result:
    used, spread, _ = judge_case(result.records)
    if foreign:
        energies = [spent for record in used if (spent := _measure_runs_energy(record, traces, counted))]
        spread = _spread_whole_time(used)
    else:
        energies = [spent for record in used if (spent := _measure_energy(record, traces, counted))]
    if not energies or spread is None:
        return result
    power = _Range(
        median(e.power for e in energies),
        min(e.low / e.seconds for e in energies),
        max(e.high / e.seconds for e in energies),
    )
    seconds = _Range(spread.value, spread.low, spread.high)
    energy = power.multiply(seconds)
    metrics = {POWER: power, ENERGY: energy, DELAY: energy.multiply(seconds)}
    if idle:
        base = _Range(idle.power, idle.low / idle.seconds, idle.high / idle.seconds)
        metrics[BEYOND] = power.subtract(base).multiply(seconds)
    flops = used[0].work.get("flops")
    if flops and energy.low:
        metrics[FLOPS] = energy.divide_from(flops)
    values = {m.name: interval.make_value(m, counted.scope) for m, interval in metrics.items()}
    return replace(result, metrics={**result.metrics, **values})


def _measure_energy(record: Record, traces: Mapping[str, Course], counted: Coverage) -> Energy | None:
    when = find_stretch(record, record.benchmark)
    energy = total(traces, counted, when) if when else None
    return energy if energy and energy.width <= WIDEST else None


def _measure_runs_energy(record: Record, traces: Mapping[str, Course], counted: Coverage) -> Energy | None:
    """Returns the energy of all runs of a foreign program; the energy with the time between them is the upper bound."""
    when = find_stretch(record, record.benchmark)
    energies = [energy for run in find_runs(record) if (energy := total(traces, counted, run))]
    if not when or not energies:
        return None
    whole = total(traces, counted, when)
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


def _spread_whole_time(records: Sequence[Record]) -> Spread | None:
    """Returns the time of a run from its start to its end, over the launches."""
    seconds = [[(run.end - run.begin) * 1e-9 for run in find_runs(record)] for record in records]
    return combine([row for row in seconds if row]) if any(seconds) else None


@dataclass(frozen=True)
class _Range:
    """A value and its interval. The interval of a product or a quotient covers both intervals."""

    value: float
    low: float | None
    high: float | None

    def multiply(self, other: "_Range") -> "_Range":
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return _Range(self.value * other.value, None, None)
        low = self.low * (other.low if self.low >= 0 else other.high)
        return _Range(self.value * other.value, low, self.high * (other.high if self.high >= 0 else other.low))

    def subtract(self, other: "_Range") -> "_Range":
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return _Range(self.value - other.value, None, None)
        return _Range(self.value - other.value, self.low - other.high, self.high - other.low)

    def divide_from(self, amount: float) -> "_Range":
        low, high = (amount / end if end else None for end in (self.high, self.low))
        return _Range(amount / self.value, low, high)

    def make_value(self, metric: Metric, scope: Parts) -> Value:
        return Value(self.value, metric.unit, self.low, self.high, metric.better, scope=scope)
