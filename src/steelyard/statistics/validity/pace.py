"""Pace of cores, memory and messages beside the samples of a case, and the choice of undisturbed samples.

Samples are chosen by the readings before and after them, never by their own times. Other work that disturbs a sample but
not these readings stays in the sample.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.model import Evidence, Record
from steelyard.model.evidence import noted
from steelyard.model.observed import Column, Kind, Observed
from steelyard.model.scalars import Number
from steelyard.model.units import percent
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.validity.measures import (
    MEASURES,
    Measure,
)
from steelyard.statistics.validity.observations import Measured, numbers

Mask = NDArray[np.bool_]

HIT = 0.01  # of a sample, lost while its threads waited for a processor: half of the width that is usually asked of the interval
STRAY = 0.05  # share of a case's readings: if fewer lie beyond the bound, they may be wrong and cannot move its median
LISTED = 2 << 20  # bytes of an array from which the harness lists its pages (native/buffers.cpp)
LEAST_KEPT = 6  # undisturbed samples that are needed, or all: fewer give no interval


MOST_WAITED = 0.99  # share of the time of a thread


@dataclass(frozen=True)
class Bounds:
    """The plateau of each kind of the machine for such a case; missing kinds have no bound.

    `host_kinds` has the kind of each host of the case, if the hosts of the run are of several kinds.
    """

    best: Mapping[Kind, float]
    host_kinds: Mapping[str, str] = field(default_factory=dict)

    def bound(self, kind: Kind) -> float | None:
        best = self.best.get(kind)
        return None if best is None else MEASURES[kind].bound(best)


UNBOUNDED = Bounds({})

Beyond = Sequence[tuple[Measure, float]]  # kinds of which a reading lies beyond its bound, and that bound


def find_typical(record: Record, kind: Kind) -> float | None:
    """Returns the median of the readings beside the samples of a record; None without readings."""
    return _take_median(record.surroundings.samples.of(kind))


def rate(record: Record) -> float | None:
    """Returns the additions per second that the cores gave the threads, less the time for which these waited; None: not read."""
    issued, clock = find_typical(record, "issued"), find_typical(record, "core_clock")
    return issued * clock * (1 - _find_waiting_share(record)) if issued and clock else None


def _find_waiting_share(record: Record) -> float:
    """Returns the share of the samples for which a thread waited for its processor, because other programs had it."""
    samples = record.surroundings.samples
    waited, seconds = (sum(x for x in column or () if x is not None) for column in (samples.waited, samples.seconds))
    return min(waited / seconds, MOST_WAITED) if waited > 0 and 0 < seconds < math.inf else 0.0


def stream(record: Record) -> float | None:
    """Returns the bandwidth that readings of the memory reached beside the samples, in B/s; None: not read."""
    return find_typical(record, "stream")


def find_typicals(record: Record) -> dict[Kind, float]:
    """Returns the median of each kind, with the readings before and after the samples."""
    samples, pace = record.surroundings.samples, record.surroundings.pace
    medians = [(kind, _take_median(samples.of(kind), pace.before.of(kind), pace.after.of(kind))) for kind in MEASURES]
    return {kind: middle for kind, middle in medians if middle is not None}


def _take_median(column: Column, *ends: Number) -> float | None:
    positive = sorted(filter(None, (*(column or ()), *ends)))
    if positive and not (positive[0] > 0 and sum(positive) < math.inf):
        positive = sorted([x for x in positive if 0 < x < math.inf])
    middle = len(positive) // 2
    if not positive:
        return None
    return float(positive[middle] if len(positive) % 2 else (positive[middle - 1] + positive[middle]) / 2)


def readings_of(record: Record, kind: Kind) -> list[float]:
    """Returns all readings of that kind beside the samples, before, after and while the case waited."""
    samples, pace = record.surroundings.samples, record.surroundings.pace
    columns = (samples.of(kind) or (), pace.looks.of(kind) or (), (pace.before.of(kind), pace.after.of(kind)))
    return [reading for column in columns for reading in column if reading and 0 < reading < math.inf]


def slowdown(record: Record, bounds: Bounds) -> float:
    """Returns the greatest factor by which the pace beside a record explains a longer time; 1 if it was undisturbed.

    It is that of the slowest tenth of the readings, of the kind that lost most.
    """
    shares = [1.0]
    for kind, best in bounds.best.items():
        measure = MEASURES[kind]
        if readings := sorted(readings_of(record, kind), reverse=not measure.higher):
            shares.append(measure.share(readings[len(readings) // 10], best))
    return 1 / min(shares)


def is_cached(record: Record) -> bool:
    """Returns whether the arrays of the case fit into the private caches of the cores, so that the memory's pace says nothing.

    The harness lists arrays from 2 MiB on. A record of another program says nothing of its arrays.
    """
    around, elements = record.surroundings, record.parameters.get("elements", 0)
    listed = around.pages is not None and around.pages.bytes is not None
    return around.clock.source is not None and not listed and isinstance(elements, int) and 8 * elements < LISTED


def seconds_waited(record: Record) -> float:
    """Returns the seconds that the case waited for a quiet machine."""
    return record.surroundings.pace.waited or 0.0


@dataclass(frozen=True)
class Choice:
    """The disturbed samples (`aside`), and their causes: each kind with its number of samples.

    If too few samples are left without them, `evidence` names each kind.
    """

    aside: Mask
    causes: Mapping[str, int]
    evidence: tuple[Evidence, ...] = ()

    @cached_property
    def enough(self) -> bool:
        """Returns whether enough undisturbed samples are left for figures."""
        kept = len(self.aside) - int(np.count_nonzero(self.aside))
        return kept >= min(LEAST_KEPT, len(self.aside)) and kept > 0


def choose(case: Measured, bounds: Bounds, beyond: Beyond | None = None) -> Choice:
    """Returns the disturbed samples: those with a reading beyond a bound beside them, or with waiting threads.

    `beyond` is the result of `find_exceeded` if it is known.
    """
    aside = np.zeros(len(case.row), dtype=bool)
    causes: dict[str, int] = {}
    hits: list[tuple[Kind, _Beside]] = []
    for measure, bound in find_exceeded(case.surroundings, bounds) if beyond is None else beyond:
        beside = _find_beyond(case, measure, bound)
        if beside.hit.any():
            cause = measure.cause
            causes[cause] = max(causes.get(cause, 0), int(beside.hit.sum()))
            hits.append((measure.kind, beside))
            aside |= beside.hit
    waiting = _mark_waiting(case)
    if waiting.any():
        causes["competing load"] = int(waiting.sum())
        aside |= waiting
    choice = Choice(aside, causes)
    if choice.enough:
        return choice
    return replace(choice, evidence=tuple(_make_evidence(case, kind, beside, bounds) for kind, beside in hits))


def may_have_waited(surroundings: Observed) -> bool:
    """Returns whether threads may have waited for a processor."""
    return any(surroundings.samples.waited or ())


def find_exceeded(surroundings: Observed, bounds: Bounds) -> Beyond:
    """Returns the kinds with a reading beyond the bound, and that bound; it uses no arrays, since most records have none."""
    samples, pace = surroundings.samples, surroundings.pace
    beyond = []
    for kind, measure in MEASURES.items():
        bound = bounds.bound(kind)
        if bound is None:
            continue
        for column in (samples.of(kind), pace.looks.of(kind), (pace.before.of(kind), pace.after.of(kind))):
            worst = _find_worst(column, measure) if column else None
            if worst is not None and (worst < bound if measure.higher else worst > bound):
                beyond.append((measure, bound))
                break
    return beyond


def _find_worst(readings: Sequence[float | None], measure: Measure) -> float | None:
    """Returns the worst of the readings that were taken."""
    worst_of = min if measure.higher else max
    try:
        return worst_of(readings, default=None)  # type: ignore[type-var]
    except TypeError:  # some of the samples have no reading
        return worst_of((x for x in readings if x is not None), default=None)


@dataclass(frozen=True)
class _Beside:
    hit: Mask
    worst: float


def _find_beyond(case: Measured, measure: Measure, bound: float) -> _Beside:
    """Returns the samples with a reading beyond the bound beside them."""
    count = len(case.row)
    place, readings = _list_readings(case, measure.kind)
    taken = np.isfinite(readings) & ~measure.is_wrong(readings, bound)
    place, readings = place[taken], readings[taken]
    if not readings.size:
        return _Beside(np.zeros(count, dtype=bool), np.nan)
    holds = measure.holds(readings, bound)
    if np.count_nonzero(~holds) <= STRAY * holds.size:
        return _Beside(np.zeros(count, dtype=bool), np.nan)
    # Before a sample is the last reading at its own place or an earlier one, after it the first at a later one.
    number_of = np.arange(count)
    earlier = np.searchsorted(place, number_of, side="right") - 1
    later = np.searchsorted(place, number_of + 1, side="left")
    spared = np.where(earlier >= 0, holds[np.maximum(earlier, 0)], True)
    spared &= np.where(later < place.size, holds[np.minimum(later, place.size - 1)], True)
    return _Beside(~spared, float(readings.min() if measure.higher else readings.max()))


def _list_readings(case: Measured, kind: Kind) -> tuple[NDArray[np.intp], Array]:
    """Returns all readings in the order of time (NaN: missing), each with the number of the next sample."""
    count = len(case.row)
    column = case.column(case.surroundings.samples.of(kind))
    rows = column if column is not None else np.full(count, np.nan)
    pace = case.surroundings.pace
    before, after = (np.nan if (x := when.of(kind)) is None else x for when in (pace.before, pace.after))
    places, looked = numbers(pace.looks.sample), numbers(pace.looks.of(kind))
    if len(places) != len(looked) or not len(places) or not np.isfinite(places).all():
        return np.arange(count + 2), np.concatenate(([before], rows, [after]))
    place = np.concatenate((np.arange(count + 2), places)).astype(np.intp)
    order = np.argsort(place, kind="stable")  # a look follows what was read right after the sample before it
    return place[order], np.concatenate(([before], rows, [after], looked))[order]


def _mark_waiting(case: Measured) -> Mask:
    waited = case.waited
    if waited is None or case.lengths is None:
        return np.zeros(len(case.row), dtype=bool)
    hit = np.isfinite(waited) & (waited > HIT * case.lengths)
    hit[1:] |= hit[:-1]  # the next one finds the caches as the other process left them
    return np.asarray(hit)


def _make_evidence(case: Measured, kind: Kind, beside: _Beside, bounds: Bounds) -> Evidence:
    measure, hit = MEASURES[kind], int(beside.hit.sum())
    many = f"{hit} of {len(beside.hit)} samples" if len(beside.hit) > 1 else "the sample"
    worst = measure.words.format(measure.written(beside.worst))
    best = measure.written(bounds.best[kind])
    mostly, of_rank = _find_rank(case, kind, bounds.host_kinds)
    numbers = {"samples": hit, "of": len(beside.hit), kind: beside.worst, "best": bounds.best[kind], **of_rank}
    text = f"the machine was slow beside {many}. In the worst case, {worst}; the best value of this machine is {best}.{mostly}"
    return noted(measure.cause, text, **numbers)


def _find_rank(case: Measured, kind: Kind, host_kinds: Mapping[str, str]) -> tuple[str, Mapping[str, float]]:
    """Returns a sentence on the rank whose slowest reading is clearly beyond that of the others on hosts of the same kind."""
    ranks = case.surroundings.ranks
    readings, hosts, cpus = numbers(ranks.of(kind)), ranks.hosts or (), ranks.cpus or ()
    if not len(readings) == len(hosts) == len(cpus) > 1:
        return "", {}
    kinds = np.array([host_kinds.get(host, "") for host in hosts])
    losses = [_find_loss(np.where(kinds == one, readings, np.nan), MEASURES[kind]) for one in np.unique(kinds)]
    loss, worst = max(losses)
    if loss < MEASURES[kind].loss:
        return "", {}
    where = f"processor {cpus[worst]}" if cpus[worst] >= 0 else "not pinned"
    words = f" Rank {worst} on {hosts[worst]} ({where}) was the slowest, {percent(loss)} behind the others."
    return words, {"rank": worst, "behind": loss}


def _find_loss(readings: Array, measure: Measure) -> tuple[float, int]:
    """Returns the loss of the worst rank from the median of the others, and its number; no loss without others."""
    if np.isfinite(readings).sum() < 2:
        return 0.0, 0
    worst = int(np.nanargmin(readings) if measure.higher else np.nanargmax(readings))
    return 1 - measure.share(readings[worst], float(np.nanmedian(np.delete(readings, worst)))), worst
