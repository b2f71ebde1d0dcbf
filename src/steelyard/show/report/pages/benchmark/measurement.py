"""How a benchmark's results were measured, in words: launches, samples, clocks, toolchain."""

from collections.abc import Iterable
from typing import Any

from steelyard.measure.plan.variants import meanings
from steelyard.model import Attempt, Evaluation, Result, units
from steelyard.model.observed import TimerClock
from steelyard.model.words import plural
from steelyard.show.report import counter_columns, values
from steelyard.show.report.axes import capital

_WORDED = {"pinning", "memory_policy", "page_size", "mpi"}  # factors of the measurement, not of the question


def how(evaluation: Evaluation, results: tuple[Result, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of what and how, each only where the records tell it."""
    records = [record for result in results for record in result.attempts]
    if not records:
        return ()
    facts = (
        ("Launches", _describe_launches(results)),
        ("Samples", _samples(records)),
        ("Sampling", _sampling(evaluation, {r.benchmark for r in results})),
        (
            "Summary",
            "median of the samples and its 95 % interval, which assumes no distribution; the run folder keeps all "
            "samples",
        ),
        ("Repeated", _describe_repeated(records)),
        ("Clock", _clock(records)),
        ("Core clock", _core_clock(records)),
        ("Counters", counter_columns.how(records, results)),
        ("Toolchain", _distinct(r.parameters.get("toolchain") for r in results)),
        ("Variants", "; ".join(f"{name}: {text}" for name, text in meanings(evaluation.run.site.variants).items())),
        *((capital(values.words(n)), _distinct(r.parameters.get(n) for r in results)) for n in sorted(_WORDED)),
    )
    return tuple((what, text) for what, text in facts if text)


def _span(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    return str(ordered[0]) if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def _describe_launches(results: tuple[Result, ...]) -> str:
    counts = [len({record.launch for record in result.attempts}) for result in results if result.attempts]
    return f"{_span(counts)} for each case, in random order"


def _samples(records: list[Attempt]) -> str:
    counted = [record.count for record in records if record.count]
    if not counted:
        return ""
    total = f"{sum(counted):,}".replace(",", "\u202f")
    return f"{_span(counted)} for each case and launch, {total} in total"


def _sampling(evaluation: Evaluation, benchmarks: set[str]) -> str:
    asked = {
        (case.sampling.width, case.sampling.seconds)
        for launch in evaluation.run.plan.launches
        if launch.benchmark in benchmarks
        for case in launch.cases
    }
    if not asked:
        return ""
    goals = (f"± {units.quantity(w, '%', 2)} or {values.duration(s)}" for w, s in sorted(asked))
    return f"until the interval of the median is within {'; '.join(goals)}"


def _describe_repeated(records: list[Attempt]) -> str:
    again = sum(record.attempt > 1 for record in records)
    return f"{plural(again, 'disturbed case')} {'was' if again == 1 else 'were'} measured again later" if again else ""


def _clock(records: list[Attempt]) -> str:
    clocks = (record.surroundings.clock for record in records)
    return next((f"{clock.source}{_precision(clock)}" for clock in clocks if clock.source), "")


def _precision(clock: TimerClock) -> str:
    facts = (("resolution", clock.resolution), ("overhead", clock.overhead))
    parts = [f"{name} {units.quantity(value, 's')}" for name, value in facts if value is not None]
    return f" ({', '.join(parts)})" if parts else ""


def _core_clock(records: list[Attempt]) -> str:
    """The least and greatest core clock in hertz that a dependent chain showed around the samples."""
    clocks: list[float] = []
    for record in records:
        clock = record.surroundings.core_clock
        clocks += [v for end in (clock.before, clock.after) for v in end or () if v and v > 0]
    if not clocks:
        return ""
    low, high = units.quantity(min(clocks), "Hz"), units.quantity(max(clocks), "Hz")
    return (
        f"{low if low == high else f'{low} to {high}'}, measured by a chain of additions in which each one waits for the "
        "one before"
    )


def _distinct(found: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in found if value not in {None, ""}))
