"""Values as text: a number always has its unit, and its verdict unless that is CLEAN."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from steelyard.model import (
    Benchmark,
    Evaluation,
    Evidence,
    Level,
    Limit,
    Metric,
    Parameters,
    Result,
    Scalar,
    Value,
    scope,
    units,
)
from steelyard.model.evidence import distinct, sentences
from steelyard.model.record import Span
from steelyard.model.words import find_words, joined
from steelyard.statistics.results.energy_metrics import ENERGY
from steelyard.statistics.results.parameters import number
from steelyard.statistics.validity.limits import find_share, is_above
from steelyard.statistics.validity.trust import ORDER, WIDEST, is_marked, worst

_BYTES = ("bytes", "working_set", "size")  # parameters whose names end so are sizes in bytes
_SECONDS = ("pause",)  # parameters that are lengths of time
RANGE, INTERVAL, STATISTIC = "another run (95 %)", "95 % interval", "statistic"  # headings
NO_RESULT = "This run has no results, so its speed is unknown."
_NO_EVIDENCE: dict[Level, str] = {
    "UNSETTLED": "Too little is known to rely on it. The record gives no reason.",
    "DISTURBED": "The measurement was disturbed. The record gives no evidence.",
    "INVALID": "The result cannot be used. The record gives no evidence.",
}


class HasParameters(Protocol):
    """A case: a result, or a row of a table."""

    @property
    def parameters(self) -> Parameters: ...


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A metric of a result, ready to be shown. `value` is "" if INVALID.

    `best`, `best_seen`, `typical`, `later` and `statistic` are those of `Value` as text; "" if unknown; `launches` replaces a
    range. The typical one is another number only beside a value at its best, since all else that Steelyard says is of `value`.
    `now` is the range of another run, for a CLEAN result that of another undisturbed one (`undisturbed`, if they differ).
    `share`: of the limit, 1.0 is all; `above`: certainly more than all. `level` is the verdict.
    """

    value: str
    interval: str
    limit: str
    limit_source: str
    share: float | None
    level: Level
    evidence: tuple[Evidence, ...]
    best: str = ""
    best_seen: str = ""
    typical: str = ""
    now: str = ""
    later: str = ""
    undisturbed: bool = False
    launches: str = ""
    statistic: str = ""
    above: bool = False

    @property
    def several(self) -> bool:
        """Returns whether the value at the best and the typical one are not one, as on a dedicated machine."""
        return bool(self.now) and (self.typical not in ("", self.value) or self.best not in ("", self.value))

    @property
    def range(self) -> str:
        """Returns the range of another run; the 95 % interval, the launches or the statistic of this one where there is none."""
        return self.now or self.interval or self.launches or self.statistic

    @property
    def why(self) -> str:
        """The evidence in one text."""
        return sentences(self.evidence)

    @property
    def marked(self) -> str:
        """The value with its verdict's word: what stands in running text."""
        return " ".join(part for part in (self.value, self.level if is_marked(self.level) else "") if part)


def shown(result: Result, metric: str) -> Shown | None:
    """Returns the metric of that name as text, or None if the result has no such metric and no error."""
    value = result.metrics.get(metric)
    level = result.verdict.level
    if level == "INVALID" or (value is None and any(attempt.error for attempt in result.attempts)):
        return Shown(
            value="",
            interval="",
            limit="",
            limit_source="",
            share=None,
            level="INVALID",
            evidence=evidence(result),
        )
    if value is None:
        return None
    limit = result.limits.get(metric)
    return Shown(
        value=quantity(value.value, value.unit),
        interval="" if value.statistic else span(limit_span(_interval(value), value, limit), value.unit, value.value),
        limit=quantity(limit.value, limit.unit) if limit else "",
        limit_source=limit.source if limit else "",
        share=find_share(value, limit),
        above=is_above(value, limit),
        level=level,
        evidence=evidence(result),
        best="" if value.best is None else quantity(value.best, value.unit),
        best_seen="" if value.best_seen is None else quantity(value.best_seen, value.unit),
        typical="" if value.typical is None else quantity(value.typical if value.best else value.value, value.unit),
        now=span(limit_span(value.undisturbed or value.now, value, limit), value.unit, value.value),
        undisturbed=value.undisturbed is not None and value.undisturbed != value.now,
        launches=_describe_launches(result, metric) if value.now is None and _interval(value) is None else "",
        later=span(limit_span(value.later, value, limit), value.unit, value.value),
        statistic=value.statistic,
    )


def range_heading(all_shown: Iterable[Shown | None]) -> str:
    """Returns the heading of a column of `Shown.range`."""
    shown_ones = [one for one in all_shown if one]
    if shown_ones and all(one.statistic for one in shown_ones):
        return STATISTIC
    return RANGE if any(one.now for one in shown_ones) else INTERVAL


def _describe_launches(result: Result, metric: str) -> str:
    """Returns what the launches measured, where no range can be stated: '2 launches: 0.4 and 2.6 µs'."""
    found, unit = result.launches.get(metric, ()), result.metrics[metric].unit
    if len(found) < 2 or len(found) > 3:
        return ""
    return f"{len(found)} launches: {joined(quantity(x, unit) for x in found)}"


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """`units.quantity` as it is read in a sentence: '306 cycles'."""
    text = units.quantity(value, unit, digits)
    return f"{text}s" if unit == "cycle" and value is not None else text


def duration(seconds: float) -> str:
    """Returns a duration as text: '2 min 5 s', '40 ms'."""
    return units.duration(seconds) if seconds >= 0.95 or seconds == 0 else quantity(seconds, "s", 2)


def percent(part: float | None) -> str:
    """0.8 → '80 %'; '' for None."""
    return "" if part is None else units.quantity(part, "%", 3 if part >= 0.995 else 2)


def interval(value: Value) -> str:
    """Returns the 95 % interval of this run (see `span`)."""
    return span(_interval(value), value.unit, value.value)


def _interval(value: Value) -> Span | None:
    """Returns the interval of this run; None if there is none, or if it is too wide to say anything."""
    if value.low is None or value.high is None or (value.low > 0 and value.high > WIDEST * value.low):
        return None
    return value.low, value.high


def span(ends: Span | None, unit: str, near: float | None = None) -> str:
    """Returns `units.span` as it is read in a sentence, or '' without an interval."""
    if ends is None:
        return ""
    return f"{units.span(*ends, unit, near=near)}{'s' if unit == 'cycle' else ''}"


def limit_span(ends: Span | None, value: Value, limit: Limit | None) -> Span | None:
    """Returns the interval up to the limit, or to the value if that is beyond it."""
    if ends is None or limit is None or value.better == "none":
        return ends
    if value.better == "higher":
        return ends[0], min(ends[1], max(limit.value, value.value))
    return max(ends[0], min(limit.value, value.value)), ends[1]


def evidence(result: Result) -> tuple[Evidence, ...]:
    """Returns each reason why a result is not CLEAN: its evidence or that of its records, and their errors."""
    if result.verdict.level == "CLEAN" and not any(attempt.error for attempt in result.attempts):
        return ()
    errors = [Evidence("", r.error) for r in result.attempts if r.error]
    failed = [Evidence("", r.check.detail) for r in result.attempts if not r.check.passed and r.check.detail]
    # The evidence of a CLEAN record did not matter, so it is no reason for UNSETTLED.
    record_evidence = (
        () if result.verdict.level == "UNSETTLED" else chain(*(r.verdict.evidence for r in result.attempts))
    )
    chosen = result.verdict.evidence or tuple(record_evidence)
    reasons = distinct((*chosen, *errors, *(failed if not chosen else ())))
    return reasons or (Evidence("", _NO_EVIDENCE.get(result.verdict.level, _NO_EVIDENCE["INVALID"])),)


def why(result: Result) -> str:
    """The same in one text."""
    return sentences(evidence(result))


def energies(given: Mapping[str, Value]) -> str:
    """Returns for example 'node: 45.1 W, 2.31 J per operation, 1.42 Gflop/J' of metrics by their names; '' without any."""
    words = {ENERGY.name: "{} per operation"}
    scopes = dict.fromkeys(scope.words(v.scope) for v in given.values())
    amounts = ", ".join(words.get(n, "{}").format(quantity(v.value, v.unit)) for n, v in given.items())
    return f"{'; '.join(scopes)}: {amounts}" if amounts else ""


def level(result: Result) -> Level:
    """Returns the verdict of the result; INVALID if every record failed."""
    if result.attempts and all(record.error for record in result.attempts):
        return "INVALID"
    return result.verdict.level


def weakest(*results: Result) -> Level:
    """Returns the worst level of the results, for values that are calculated from all of them."""
    return worst(map(level, results))


def counts(results: tuple[Result, ...]) -> dict[Level, int]:
    """Returns the number of results with each verdict."""
    levels = [level(result) for result in results]
    return {name: count for name in ORDER if (count := levels.count(name)) or name != "FOREIGN"}


def varying(results: Sequence[HasParameters]) -> tuple[str, ...]:
    """Returns the parameters in which the results differ, in the order in which they first appear.

    One that only some of them have, always with the same value, is none of these where others do: `partial` has it.
    """
    names = dict.fromkeys(name for result in results for name in result.parameters)
    several = {n for n in names if len({r.parameters[n] for r in results if n in r.parameters}) > 1}
    apart = _count_variants(results, several)
    for name in names:
        # A parameter with the same value in all of them distinguishes none.
        if name not in several and any(name not in r.parameters for r in results):
            names_apart = _count_variants(results, {*several, name})
            if names_apart > apart:
                several.add(name)
                apart = names_apart
    return tuple(name for name in names if name in several)


def _count_variants(results: Sequence[HasParameters], names: Iterable[str]) -> int:
    return len({tuple((n, r.parameters.get(n)) for n in sorted(names)) for r in results})


def apart(results: Sequence[Result], labels: Sequence[str]) -> tuple[str, ...]:
    """Returns for each result the words that distinguish it from others with the same label; "" if the label is unique."""
    alike: dict[str, list[Result]] = {}
    for result, text in zip(results, labels, strict=True):
        alike.setdefault(text, []).append(result)
    return tuple(_difference(r, tuple(alike[text])) for r, text in zip(results, labels, strict=True))


def _difference(result: Result, among: tuple[Result, ...]) -> str:
    kernel = [phrase("kernel", result.kernel)] if len({r.kernel for r in among}) > 1 else []
    telling = [*varying(among), *find_partly_present(among)]
    return ", ".join([*kernel, *(phrase(n, result.parameters[n]) for n in telling if n in result.parameters)])


def find_partly_present(results: Sequence[HasParameters]) -> dict[str, Scalar]:
    """Returns the parameters that only some of the results have, with the value that these share."""
    others = {*varying(results), *constant(results)}
    return {name: value for result in results for name, value in result.parameters.items() if name not in others}


def constant(results: Sequence[HasParameters]) -> dict[str, Scalar]:
    """Returns the parameters that all results share, with their values."""
    if not results:
        return {}
    first = results[0].parameters
    return {name: first[name] for name in first if all(r.parameters.get(name) == first[name] for r in results)}


def parameter(name: str, value: Scalar | None) -> str:
    """A parameter's value as text: sizes with binary prefixes, counts in groups of three, '–' for None."""
    if value is None or isinstance(value, str):
        return "–" if value is None else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _SECONDS:
        return quantity(value, "s", 2)
    if name.endswith(_BYTES) and float(value).is_integer():
        return units.binary_size(int(value))
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:.6g}"


def words(name: str) -> str:
    """Returns the name of a parameter as words: 'memory_policy' → 'memory policy', 'mpi' → 'MPI'."""
    return re.sub(r"\b(cpu|mpi)\b", lambda match: match[0].upper(), name.replace("_", " "))


def phrase(name: str, value: Scalar | None) -> str:
    """A parameter and its value in running text: '4 threads', 'streaming stores', 'mode: mixed'."""
    if name in ("kernel", "toolchain", "bytes", "elements"):  # alone they would not tell what they are
        return f"{words(name)}: {parameter(name, value)}"
    if (text := find_words(name, value)) is not None:
        return text
    return f"{words(name)}: {parameter(name, value)}"


def order(result: Result) -> tuple[object, ...]:
    """A key that sorts results by their parameters, numbers by size."""
    key: list[object] = []
    for name, value in sorted(result.parameters.items()):
        size = number(value)
        key += [name, size is None, size or 0, "" if size is not None else str(value)]
    return tuple(key)


def of_benchmark(evaluation: Evaluation, name: str) -> tuple[Result, ...]:
    """The results of one benchmark: kernels as they come first, each with its parameters in order."""
    results = [result for result in evaluation.results if result.benchmark == name]
    kernels = list(dict.fromkeys(result.kernel for result in results))
    return tuple(sorted(results, key=lambda result: (kernels.index(result.kernel), order(result))))


def groups(benchmark: Benchmark, results: tuple[Result, ...]) -> tuple[tuple[Metric | None, tuple[Result, ...]], ...]:
    """The results by their main metric, the first declared that they have; each group fits one table."""
    of_kernel: dict[str, Metric | None] = {}
    mains = [next((metric for metric in benchmark.metrics if metric.name in r.metrics), None) for r in results]
    for result, main in zip(results, mains, strict=True):
        of_kernel[result.kernel] = of_kernel.get(result.kernel) or main
    first = benchmark.metrics[0] if benchmark.metrics else None
    grouped: dict[str, tuple[Metric | None, list[Result]]] = {}
    for result, main in zip(results, mains, strict=True):
        # A failed case has no metrics, and stands with the others of its kernel.
        metric = of_kernel[result.kernel] or first
        metric = main if main and metric and metric.name not in result.metrics else metric
        grouped.setdefault(metric.name if metric else "", (metric, []))[1].append(result)
    return tuple((metric, tuple(members)) for metric, members in grouped.values())
