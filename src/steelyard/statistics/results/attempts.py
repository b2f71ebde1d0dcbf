"""Reduces records to what is stored of them beside the results."""

from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from statistics import median
from typing import Any, TypeVar

from steelyard.model import Attempt, Record, Result
from steelyard.model.observed import Observed, Part
from steelyard.statistics.results.usable_samples import is_measured, undisturbed
from steelyard.statistics.validity.pace import rate, stream

KEPT = (
    "clock", "core_clock", "began", "ended", "throttled", "oversubscribed", "cpus", "counters", "pages", "phases", "details",
    "ranks",
)  # fmt: skip
OF_RANKS = ("hosts", "cpus", "memory", "late", "colocated")
P = TypeVar("P", bound=Part)


def reduce_records(records: Iterable[Record]) -> tuple[Attempt, ...]:
    """Returns for each record what it says without its samples."""
    return tuple(map(_reduce_record, records))


def list_attempts(results: Iterable[Result]) -> Iterator[Attempt]:
    """Yields the attempts of all results."""
    return chain.from_iterable(result.attempts for result in results)


def _reduce_record(record: Record) -> Attempt:
    return Attempt(
        launch=record.launch,
        case=record.case,
        attempt=record.attempt,
        count=len(record.samples),
        seconds=median(undisturbed(record)) if is_measured(record) else None,
        operations=record.operations,
        work=record.work,
        check=record.check,
        verdict=record.verdict,
        surroundings=_drop_columns(record.surroundings),
        error=record.error,
        aside=record.aside,
        rate=rate(record),
        stream=stream(record),
    )


def _drop_columns(around: Observed) -> Observed:
    kept = _select_fields(around, KEPT)
    if kept.details:
        vars(kept)["details"] = _drop_arrays(kept.details)
    if "ranks" in vars(kept):
        vars(kept)["ranks"] = _select_fields(kept.ranks, OF_RANKS)
    return kept


def _select_fields(part: P, names: Collection[str]) -> P:
    """Returns a part with the given fields of these names only, as if the others had never been given."""
    chosen = object.__new__(type(part))
    vars(chosen).update({name: value for name, value in vars(part).items() if name in names})
    return chosen


def _drop_arrays(value: Any) -> Any:
    """Returns details without the long columns of numbers (see `measure/records/compact`)."""
    if isinstance(value, dict):
        return {name: _drop_arrays(item) for name, item in value.items() if not isinstance(item, array)}
    if isinstance(value, list):
        return [_drop_arrays(item) for item in value if not isinstance(item, array)]
    return value
