"""JSON in the form of Google Benchmark 1.7 to 1.9, as its tools/compare.py reads it.

https://github.com/google/benchmark/blob/main/docs/tools.md

A launch is a repetition: its time is the median of its samples, for one operation. The aggregate `median` is the value of
Steelyard: the median of the launches. Counters have the other metrics, and the ends of their 95 % intervals as `NAME_low` and
`NAME_high`. The label is the verdict. Steelyard measures no processor time: `cpu_time` is the elapsed time.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from statistics import fmean, median, stdev
from typing import Any

from steelyard.errors import UsageError
from steelyard.model import Evaluation, Metric, Record, Result
from steelyard.report.exports._exported import (
    find_start,
    list_measured,
    make_word,
    name_case,
    name_writer,
    spell_verdict,
)
from steelyard.statistics.results.result import rests_on, undisturbed
from steelyard.telemetry.coverage import words

NS = 1e9
USUAL = {("bandwidth", "B/s"): "bytes_per_second", ("rate", "1/s"): "items_per_second"}  # counters of the library


def parts(evaluation: Evaluation) -> Iterator[str]:
    """Yields the context and the benchmarks. UsageError if no result has a time."""
    written = _list_benchmarks(evaluation)
    first = next(written, "")
    if not first:
        raise UsageError(
            "The run has no result with a time, which each benchmark of this format needs. Choose another format."
        )
    yield f'{{"context": {json.dumps(_make_context(evaluation))},\n"benchmarks": [\n{first}'
    yield from (f",\n{entry}" for entry in written)
    yield "\n]}\n"


def _list_benchmarks(evaluation: Evaluation) -> Iterator[str]:
    """Yields the entries of all results that have a time."""
    families: dict[tuple[str, str], tuple[int, int]] = {}  # number of the family, and of its last member
    for result in list_measured(evaluation):
        members = (result.benchmark, result.kernel)
        family, last = families.get(members, (len(families), -1))
        families[members] = (family, last + 1)
        index = {"family_index": family, "per_family_instance_index": last + 1}
        for entry in _list_entries(evaluation, result):
            yield json.dumps({"name": entry.pop("name"), **index, **entry})


def _make_context(evaluation: Evaluation) -> dict[str, Any]:
    run, moment = evaluation.run, find_start(evaluation)
    machine = run.machine
    clock = next((r.surroundings.clock.frequency for r in run.records if r.surroundings.clock.frequency), None)
    return {
        "date": moment.isoformat(timespec="seconds") if moment else run.started,
        "host_name": machine.host,
        "executable": name_writer(evaluation),
        "num_cpus": len(machine.cpus),
        "mhz_per_cpu": round(clock / 1e6) if clock else 0,
        "caches": [
            {"type": c.kind.capitalize(), "level": c.level, "size": c.size, "num_sharing": len(c.cpus)}
            for c in machine.caches
        ],
        "load_avg": [],
        "library_build_type": "release",
        "run": run.id,
        "cpu_time": "equal to real_time, since Steelyard measures the elapsed time only",
    }


def _list_times(result: Result, used: Sequence[Record]) -> list[float]:
    """Returns the seconds of an operation in each launch; of an imported result the first metric that is a time."""
    imported = [value.value for value in result.metrics.values() if value.unit == "s"]
    return [median(undisturbed(record)) for record in used] or imported[:1]


def _list_entries(evaluation: Evaluation, result: Result) -> Iterator[dict[str, Any]]:
    """Yields the repetitions of a result and, if there are several, the aggregates over them; nothing without a time."""
    used = rests_on(result)
    times = _list_times(result, used)
    name = name_case(result) + "".join(f"/{name}:{make_word(value)}" for name, value in result.parameters.items())
    scopes = dict.fromkeys(value.scope for value in result.metrics.values() if value.scope)
    common = {
        "run_name": name,
        "repetitions": len(times),
        "threads": result.parameters.get("threads", 1),
        "label": "; ".join((spell_verdict(result), *(f"energy of the {words(scope)}" for scope in scopes))),
        "time_unit": "ns",
    }
    benchmark = evaluation.benchmarks.get(result.benchmark)
    several = len(times) > 1
    for number, seconds in enumerate(times):
        iterations = len(used[number].samples) * used[number].operations if used else 1
        counters = (
            _read_launch_counters(benchmark.metrics, seconds, used[number])
            if several and benchmark
            else _read_counters(result)
        )
        head = {"name": name, "run_type": "iteration", "repetition_index": number, "iterations": iterations}
        yield {**head, **common, **_make_times(seconds * NS), **counters}
    if several:
        spread = stdev(times)
        for kind, seconds in {"mean": fmean(times), "median": median(times), "stddev": spread}.items():
            counters = _read_counters(result) if kind == "median" else {}
            yield {**_make_aggregate(name, kind, "time", len(times)), **common, **_make_times(seconds * NS), **counters}
        cv = _make_aggregate(name, "cv", "percentage", len(times))
        yield {**cv, **common, **_make_times(spread / fmean(times))}


def _make_aggregate(name: str, kind: str, unit: str, repetitions: int) -> dict[str, Any]:
    return {
        "name": f"{name}_{kind}",
        "run_type": "aggregate",
        "aggregate_name": kind,
        "aggregate_unit": unit,
        "iterations": repetitions,
    }


def _make_times(time: float) -> dict[str, float]:
    return {"real_time": time, "cpu_time": time}


def _read_launch_counters(metrics: Sequence[Metric], seconds: float, record: Record) -> dict[str, float]:
    """Returns the counters of one launch, without those that its record does not give."""
    counters = {}
    for metric in metrics:
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            if (value := metric.of(seconds, record)) is not None:
                counters[_name_counter(metric.name, metric.unit)] = value
    return counters


def _read_counters(result: Result) -> dict[str, float]:
    """Returns the counters of the result with the ends of their intervals."""
    counters = {}
    for name, value in result.metrics.items():
        counter = _name_counter(name, value.unit)
        counters[counter] = value.value
        if value.low is not None and value.high is not None:
            counters |= {f"{counter}_low": value.low, f"{counter}_high": value.high}
    return counters


def _name_counter(name: str, unit: str) -> str:
    return USUAL.get((name, unit), name)
