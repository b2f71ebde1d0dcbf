"""Sides of a comparison with planted values: machines of any number of cores, bandwidth, speed and latency."""

from collections.abc import Sequence
from dataclasses import replace

from builders import machine
from steelyard.compare.side import Side, SideCase, SideRun
from steelyard.model import Better, Limit, Value

SPREAD = 0.05  # of the range of another run


def value(number: float, unit: str, better: Better = "higher") -> Value:
    span = (number * (1 - SPREAD), number * (1 + SPREAD))
    return Value(number, unit, *span, better, now=span, best_seen=number)


def stream(threads: int, bandwidth: float) -> SideCase:
    return SideCase(
        benchmark="memory.stream", kernel="triad", parameters={"threads": threads, "elements": 100_000_000},
        kind="memory", metrics={"bandwidth": value(bandwidth, "B/s")}, level="CLEAN",
    )  # fmt: skip


def peak(threads: int, flops: float, limit: float = 0.0) -> SideCase:
    return SideCase(
        benchmark="core.peak", kernel="peak", parameters={"threads": threads, "precision": "double", "operation": "fma"},
        kind="compute", metrics={"flops": value(flops, "flop/s")}, level="CLEAN",
        limit=Limit(limit, "flop/s", "a test") if limit else None,
    )  # fmt: skip


def latency(seconds: float) -> SideCase:
    return SideCase(
        benchmark="memory.latency", kernel="chase", parameters={"threads": 1, "chains": 1, "bytes": 1 << 30},
        kind="memory", metrics={"latency": value(seconds, "s", "lower")}, level="CLEAN",
    )  # fmt: skip


def side(name: str, cores: int, cases: Sequence[SideCase]) -> Side:
    facts = {"machine": {"cores": str(cores)}}
    run = SideRun(
        run=name, path=name, started="2026-11-27T18:43:20+00:00", finished=True, machine=machine(cores=cores),
        facts=facts, cases=tuple(cases), cores=float(cores),
    )  # fmt: skip
    return Side(name=name, kind="run", runs=(run,))


def program(threads: int, seconds: float) -> SideCase:
    return SideCase(
        benchmark="application.npb_ft", kernel="ft", parameters={"threads": threads, "class": "A", "scale": 1, "model": "openmp"},
        kind="applications", metrics={"time": value(seconds, "s", "lower")}, level="CLEAN", timed=True,
    )  # fmt: skip


def imported(one: Side) -> Side:
    """The same values as another tool prints them: one each, without a range."""
    (run,) = one.runs
    cases = tuple(
        replace(case, level="FOREIGN", statistic="best of 10", metrics={
            name: Value(v.value, v.unit, None, None, v.better, statistic="best of 10") for name, v in case.metrics.items()
        })
        for case in run.cases
    )  # fmt: skip
    return Side(name=one.name, kind="imported", runs=(replace(run, imported=True, cases=cases),))
