"""Results from records: the launches of each case combined, with metrics and their intervals."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

import numpy as np

from steelyard.model import Attempt, Benchmark, Evidence, Level, Metric, Record, Result, Value, Verdict
from steelyard.model.evidence import distinct, noted
from steelyard.model.record import Span
from steelyard.model.units import percent
from steelyard.statistics.results.attempts import reduce_records
from steelyard.statistics.results.identity import identity
from steelyard.statistics.results.ranges import UNKNOWN_PACES, Launched, Paces, Ranges, find_ranges
from steelyard.statistics.results.usable_samples import are_possible, is_measured, undisturbed
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.launches import Spread, combine, combine_summaries, widen_for_runs
from steelyard.statistics.samples.summary import quantiles, summarise_all
from steelyard.statistics.validity.trust import WIDEST
from steelyard.statistics.validity.verdict import name_disturbance

# Largest half-width of an interval: two such results agree within 10 % in 95 of 100 cases, as the interval of their
# ratio is √2 times as wide.
SETTLED_WIDTH = 0.07
# A disturbed launch may be below the interval by this share: disturbances do not make a program faster.
FASTER = 0.05
# Best samples of two launches of a program hardly differ by more, unless other work slowed one of them all the time.
APART = 0.2
HARDLY_FASTER = 0.1  # share of the time by which another run may be faster than an undisturbed one
# A disturbed run did not see the machine as it is at a quiet hour. With this factor, ranges of recorded pairs hold 93 to 98 %.
UNKNOWN_HOUR = 1.08
SAMPLES_FOR_SCATTER = 5  # fewer do not show it
# Kinds of evidence of lost time: how much of it a sample lost, no reading of the pace says.
TIME_LOST = ("competing load", "steal", "throttled", "page faults", "oversubscribed", "interrupts")

A = TypeVar("A", Record, Attempt)


def results(
    records: Iterable[Record], benchmarks: Mapping[str, Benchmark], paces: Paces = UNKNOWN_PACES
) -> tuple[Result, ...]:
    """Returns one result for each case, in the order of its first record, without records of unknown benchmarks.

    `paces` are those of the machine, from which the ranges of the values follow.
    """
    cases: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        if record.benchmark in benchmarks:
            cases.setdefault(identity(record), []).append(record)
    believed_of = [(members, *select_believed(members)) for members in cases.values()]
    summaries = iter(summarise_all([undisturbed(r) for _, used, _ in believed_of for r in used]))
    all_results = []
    for (members, used, verdict), expected in zip(believed_of, _expect_other_runs(cases.values(), paces), strict=True):
        spread = widen_for_runs(combine_summaries([next(summaries) for _ in used])) if used else None
        settled = _add_doubt(members, used, spread, verdict, paces)
        result = _make_result(members, used, spread, settled, benchmarks[members[0].benchmark], expected)
        all_results.append(result)
    return tuple(all_results)


def select_believed(records: Sequence[A]) -> tuple[list[A], Verdict]:
    """Returns the records that the value uses, and the verdict of all together.

    The last attempt of each launch counts. If there are clean records, only they are used. Otherwise the disturbed ones
    are used, and the result is called disturbed. The evidence says how many launches were left out.
    """
    last = last_attempts(records)
    groups: dict[str, list[A]] = {"CLEAN": [], "DISTURBED": [], "INVALID": []}
    for record in last:
        level = record.verdict.level
        groups[level if level in groups and is_measured(record) else "INVALID"].append(record)
    invalid = groups["INVALID"]
    if groups["CLEAN"]:
        left = len(last) - len(groups["CLEAN"])
        text = f"{left} of {len(last)} launches were disturbed or invalid and were left out."
        evidence = [noted("", text, launches=left, of=len(last))] if left else []
        evidence += [_add_launch(r.launch, e) for r in invalid for e in r.verdict.evidence[:1]]
        return groups["CLEAN"], Verdict("CLEAN", tuple(evidence))
    if groups["DISTURBED"]:
        disturbed = groups["DISTURBED"]
        return disturbed, Verdict("DISTURBED", distinct(e for r in disturbed for e in r.verdict.evidence))
    return [], Verdict("INVALID", distinct(e for r in invalid for e in r.verdict.evidence))


def last_attempts(records: Iterable[A]) -> list[A]:
    """Returns the last attempt of each launch."""
    return list({r.launch: r for r in sorted(records, key=lambda r: r.attempt)}.values())


@dataclass(frozen=True)
class _Expected:
    """The seconds of a typical launch, and the ranges of another run; None if they are unknown."""

    typical: float | None = None
    ranges: Ranges | None = None


def _expect_other_runs(cases: Iterable[Sequence[Record]], paces: Paces) -> list[_Expected]:
    launches = [[r for r in last_attempts(c) if r.verdict.level != "INVALID" and is_measured(r)] for c in cases]
    samples = [r.samples if are_possible(r.samples) else undisturbed(r) for measured in launches for r in measured]
    places = iter(quantiles([np.asarray(row) for row in samples], (0.1, 0.5, 0.9)))
    launched = [_summarise_launches(measured, [next(places) for _ in measured], paces) for measured in launches]
    ranges = iter(find_ranges([one for one in launched if one], paces))
    return [_Expected(float(np.median(one.medians)), next(ranges)) if one else _Expected() for one in launched]


def _summarise_launches(measured: Sequence[Record], places: Sequence[Array], paces: Paces) -> Launched | None:
    """Returns the launches of a case; `places` are the first and ninth tenths and the medians of their samples."""
    if not measured:
        return None
    many = [row for r, row in zip(measured, places, strict=True) if len(r.samples) >= SAMPLES_FOR_SCATTER]
    return Launched(
        benchmark=measured[0].benchmark,
        medians=np.array([row[1] for row in places]),
        scatter=float(np.median([math.log(row[2] / row[0]) for row in many])) if many else None,
        losses=np.stack([paces.losses(r) for r in measured]),
        clean=np.array([r.verdict.level == "CLEAN" for r in measured]),
    )


def rests_on(result: Result) -> list[Record]:
    """Returns the records that the value of the result uses (see `select_believed`)."""
    return select_believed(result.records)[0]


def used_attempts(result: Result) -> list[Attempt]:
    """Returns those records without their samples."""
    return select_believed(result.attempts)[0]


def _add_launch(launch: int, evidence: Evidence) -> Evidence:
    return replace(evidence, numbers={**evidence.numbers, "launch": launch})


def judge_case(records: Sequence[Record]) -> tuple[list[Record], Spread | None, Verdict]:
    """Returns the records that the value of a case uses, their spread (None without usable ones), and the verdict of all."""
    used, verdict = select_believed(records)
    spread = widen_for_runs(combine([undisturbed(r) for r in used])) if used else None
    return used, spread, _add_doubt(records, used, spread, verdict)


def _add_doubt(
    records: Sequence[Record],
    used: Sequence[Record],
    spread: Spread | None,
    verdict: Verdict,
    paces: Paces | None = None,
) -> Verdict:
    """Returns the verdict, UNSETTLED instead of CLEAN if another run may give a different figure."""
    doubt = None
    if spread and verdict.level == "CLEAN":
        doubt = _find_doubt(records, used, spread) or (_find_unexplained(records, paces) if paces else None)
    return Verdict("UNSETTLED", (doubt, *verdict.evidence)) if doubt else verdict


def _find_doubt(records: Sequence[Record], used: Sequence[Record], spread: Spread) -> Evidence | None:
    """Returns the reason why another run may give a different figure (too few samples, or too far apart), or None."""
    if spread.low is None or spread.high is None:
        counted = sum(len(undisturbed(r)) for r in used)
        if counted == 1:
            return noted("few samples", "one sample is not enough for an interval.", samples=counted)
        text = f"{counted} samples are not enough for an interval, because they are too few or depend on each other."
        return noted("few samples", text, samples=counted)
    width = (spread.high / spread.low) ** 0.5 - 1 if spread.low > 0 else math.inf
    if width > SETTLED_WIDTH:
        rests = "one launch" if spread.launches == 1 else f"{spread.launches} launches"
        wide = f"the 95 % interval is ± {percent(width, 1)}, more than ± {percent(SETTLED_WIDTH)}"
        if width > 1:
            wide = f"the ends of the 95 % interval differ by a factor of {spread.high / spread.low:.2g}"
        return noted("wide interval", f"{wide}. The figure comes from {rests}.", width=width, launches=spread.launches)
    disturbed = (r for r in records if r.verdict.level == "DISTURBED" and r.samples)
    fastest = min((median(r.samples) for r in disturbed), default=math.inf)
    if fastest < (1 - FASTER) * spread.low:
        faster = 1 - fastest / spread.low
        text = f"a disturbed launch took {percent(faster)} less time than the interval, which no disturbance explains."
        return noted("launches differ", text, faster=faster)
    return None


def _find_unexplained(records: Sequence[Record], paces: Paces) -> Evidence | None:
    """Returns evidence of two launches whose best samples differ more than the pace beside them explains, or None.

    Such launches had another state that no reading shows: the place of their memory, or the way of their messages.
    """
    launches = [r for r in last_attempts(records) if r.verdict.level != "INVALID" and are_possible(r.samples)]
    launches = [r for r in launches if name_disturbance(r.verdict) not in TIME_LOST]
    if len(launches) < 2:
        return None
    fastest = min(launches, key=lambda r: min(r.samples))
    ratio, slowest = max(
        ((min(r.samples) / min(fastest.samples) / paces.slowdown(r), r.launch) for r in launches),
        key=lambda pair: pair[0],
    )
    if ratio <= 1 + APART:
        return None
    text = (
        f"the best sample of launch {slowest} took {percent(ratio - 1)} more time than that of launch {fastest.launch}, "
        "beyond what the pace of the cores and the memory explains."
    )
    return noted("launches differ", text, apart=ratio - 1, launch=slowest)


def _make_result(
    records: Sequence[Record],
    used: Sequence[Record],
    spread: Spread | None,
    verdict: Verdict,
    benchmark: Benchmark,
    expected: _Expected,
) -> Result:
    first = records[0]
    metrics: dict[str, Value] = {}
    launches: dict[str, tuple[float, ...]] = {}
    if spread:
        # The record nearest to the value stands for what differs between launches besides the time, as the core clock.
        nearest = min(used, key=lambda r: abs(median(undisturbed(r)) - spread.value)) if len(used) > 1 else used[0]
        fastest = min((r for r in records if are_possible(r.samples)), key=lambda r: min(r.samples), default=None)
        for metric in benchmark.metrics:
            try:
                value = _make_value(metric, nearest, spread, expected, verdict.level)
                if value and fastest:
                    value = replace(value, best_seen=metric.of(min(fastest.samples), fastest))
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                text = (
                    f"the metric '{metric.name}' cannot be computed from the record ({type(error).__name__}: {error})."
                )
                verdict = Verdict("INVALID", (noted("damaged", text), *verdict.evidence))
                continue
            if value is not None:
                metrics[metric.name] = value
                launches[metric.name] = tuple(_list_values(metric, used))
    return Result(
        benchmark=first.benchmark,
        kernel=first.kernel,
        parameters=first.parameters,
        records=tuple(records),
        metrics=metrics,
        verdict=verdict,
        attempts=reduce_records(records),
        seconds=Value(spread.value, "s", spread.low, spread.high, "lower") if spread else None,
        launches=launches,
    )


def _list_values(metric: Metric, used: Iterable[Record]) -> Iterator[float]:
    """Yields the value of the metric in each launch; not of a launch whose record lacks what the metric needs."""
    for record in used:
        with suppress(ArithmeticError, LookupError, TypeError, ValueError):
            if (value := metric.of(median(undisturbed(record)), record)) is not None:
                yield value


def _limit_range(seconds: Span, spread: Spread, level: Level) -> Span | None:
    """Returns the range with the value itself; None if it is too wide to say anything."""
    low, high = min(seconds[0], spread.value), max(seconds[1], spread.value)
    if level == "CLEAN":  # nothing disturbed it: another run is hardly faster
        low = max(low, min(*spread.medians, spread.value if spread.low is None else spread.low) * (1 - HARDLY_FASTER))
    return (low, high) if high <= WIDEST * low else None


def _make_value(metric: Metric, nearest: Record, spread: Spread, expected: _Expected, level: Level) -> Value | None:
    value = metric.of(spread.value, nearest)
    if value is None:
        return None

    def ends(seconds: Iterable[float | None] | None) -> Span | None:
        """An interval of no width belongs to a metric that does not follow from the median, as a best of N: it has none."""
        limits = sorted(x for end in seconds or () if end is not None and (x := metric.of(end, nearest)) is not None)
        return (limits[0], limits[1]) if len(limits) == 2 and limits[0] < limits[1] else None

    low, high = ends((spread.low, spread.high)) or (None, None)
    ranges = expected.ranges
    return Value(
        value=value,
        unit=metric.unit,
        low=low,
        high=high,
        better=metric.better,
        typical=None if expected.typical is None else metric.of(expected.typical, nearest),
        best=value if level == "CLEAN" else None,
        now=ends(_limit_range(ranges.now, spread, level)) if ranges else None,
        later=ends(_limit_range(_widen_to_other_hour(ranges, level), spread, level)) if ranges else None,
        undisturbed=ends(_find_undisturbed_range(spread, ranges)) if level == "CLEAN" and ranges else None,
    )


def _widen_to_other_hour(ranges: Ranges, level: Level) -> Span:
    """Returns the range at another hour; a run that was disturbed throughout knows less of the others."""
    low, high = ranges.later
    return (low / UNKNOWN_HOUR, high * UNKNOWN_HOUR) if level == "DISTURBED" else (low, high)


def _find_undisturbed_range(spread: Spread, ranges: Ranges) -> Span | None:
    """Returns the range of another undisturbed run: both are as uncertain as this interval says, and within `now`."""
    if not spread.low or not spread.high:
        return None
    down, up = ((spread.value / spread.low) ** math.sqrt(2), (spread.high / spread.value) ** math.sqrt(2))
    return max(spread.value / down, ranges.now[0]), min(spread.value * up, ranges.now[1])
