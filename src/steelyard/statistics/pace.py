"""The pace of cores, memory and messages beside a case's samples: what counts as undisturbed, and which samples were.

Samples are chosen by the readings before and after them, never by their own times: whatever a neighbour does to a sample
whose surroundings looked undisturbed stays in it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.model import Record
from steelyard.statistics.interval import Array
from steelyard.statistics.seen import Seen, number, numbers, part
from steelyard.units import percent

Kind = Literal["core_clock", "issued", "stream", "chase", "exchange"]
Mask = NDArray[np.bool_]

# Relative to the best that the machine has shown. The core's readings scatter by 1 to 3 %, and another thread on it takes a
# fifth to a half; the memory's stream scatters by 15 % where nobody else reads, its chase by 5 %.
CORE_LOSS, STREAM_LOSS, CHASE_LOSS, EXCHANGE_LOSS = 0.10, 0.33, 0.12, 0.50
HIT = 0.01  # of a sample, lost while its threads waited for a processor: half of the width that is usually asked of the interval
THIRD = 3  # of readings the third best counts: one or two gone wrong do not
LEAST_KEPT = 6  # undisturbed samples, or all: fewer state no interval


@dataclass(frozen=True)
class Measure:
    """One kind of pace: whether more of it is better, and how much may be lost of the best before it counts."""

    kind: Kind
    higher: bool
    loss: float
    cause: str  # the keyword of what it is taken for
    words: str  # around a reading
    scale: float
    unit: str

    def written(self, reading: float) -> str:
        return f"{reading * self.scale:.3g} {self.unit}"

    def best(self, readings: Iterable[float]) -> float:
        return (max if self.higher else min)(readings)

    def leading(self, readings: Iterable[float]) -> list[float]:
        """The best of them, as many as can count: the last stands for what was shown."""
        return sorted(readings, reverse=self.higher)[:THIRD]

    def share(self, reading: float, best: float) -> float:
        """Of the best; 1 is as good."""
        return reading / best if self.higher else best / reading

    def bound(self, best: float) -> float:
        """What counts as undisturbed, from the best."""
        return best * (1 - self.loss) if self.higher else best / (1 - self.loss)

    def holds(self, reading: Array, bound: float) -> Mask:
        """Readings within the bound; one that was not taken is."""
        return ~(reading < bound) if self.higher else ~(reading > bound)


MEASURES = {
    m.kind: m
    for m in (
        Measure("core_clock", True, CORE_LOSS, "core clock", "the core ran at {}", 1e-9, "GHz"),
        Measure("issued", True, CORE_LOSS, "shared core", "the core issued {}", 1, "additions per cycle"),
        Measure("stream", True, STREAM_LOSS, "shared memory", "a read of the memory reached {}", 1e-9, "GB/s"),
        Measure("chase", False, CHASE_LOSS, "shared memory", "an access to the memory took {}", 1e9, "ns"),
        Measure("exchange", False, EXCHANGE_LOSS, "slow messages", "a message there and back took {}", 1e6, "µs"),
    )
}


@dataclass(frozen=True)
class Bounds:
    """The best of each kind that the machine has shown for such a case (see `shown`); what is missing is not asked for."""

    best: Mapping[Kind, float]

    def bound(self, kind: Kind) -> float | None:
        best = self.best.get(kind)
        return None if best is None else MEASURES[kind].bound(best)


UNBOUNDED = Bounds({})


def typical(record: Record, kind: Kind, ends: bool = True) -> float | None:
    """The median of what was read beside the samples of a record, with `ends` also before and after them; None: nothing was."""
    found: list[float] = numbers(part(record.surroundings, "samples").get(kind)).tolist()
    if ends:
        around = part(record.surroundings, "pace")
        found += [x for when in ("before", "after") if (x := _end(around, when, kind)) is not None]
    known = [x for x in found if x > 0]  # NaN is not
    return median(known) if known else None


def seconds_waited(record: Record) -> float:
    """How long the case waited for a quiet machine."""
    return number(part(record.surroundings, "pace").get("waited")) or 0.0


@dataclass(frozen=True)
class Choice:
    """Which samples were disturbed (`aside`), and by what: the keyword with the number of samples, and a sentence for each."""

    aside: Mask
    causes: Mapping[str, int]
    sentences: tuple[str, ...]

    @property
    def enough(self) -> bool:
        """Whether figures can rest on the others."""
        kept = int((~self.aside).sum())
        return kept >= min(LEAST_KEPT, len(self.aside)) and kept > 0


def choose(seen: Seen, bounds: Bounds) -> Choice:
    """The samples whose own surroundings were disturbed: a reading beside them beyond a bound, or threads that waited."""
    aside = np.zeros(len(seen.row), dtype=bool)
    causes: dict[str, int] = {}
    sentences: list[str] = []
    for kind, measure in MEASURES.items():
        bound = bounds.bound(kind)
        if bound is None:
            continue
        beside = _beside(seen, measure, bound)
        if beside.hit.any():
            cause = measure.cause
            causes[cause] = max(causes.get(cause, 0), int(beside.hit.sum()))
            sentences.append(_sentence(seen, kind, beside, bounds))
            aside |= beside.hit
    waiting = _waited(seen)
    if waiting.any():
        causes["competing load"] = int(waiting.sum())
        aside |= waiting
    return Choice(aside, causes, tuple(sentences))


@dataclass(frozen=True)
class _Beside:
    hit: Mask
    worst: float


def _beside(seen: Seen, measure: Measure, bound: float) -> _Beside:
    """The samples between two readings of which one is beyond the bound."""
    kind = measure.kind
    column = seen.column(kind)
    rows = column if column is not None else np.full(len(seen.row), np.nan)
    before, after = (_end(seen.part("pace"), when, kind) for when in ("before", "after"))
    readings = np.concatenate(([np.nan if before is None else before], rows, [np.nan if after is None else after]))
    at = np.flatnonzero(np.isfinite(readings))
    if not at.size:
        return _Beside(np.zeros(len(rows), dtype=bool), np.nan)
    holds = measure.holds(readings[at], bound)
    # Reading number i + 1 follows sample i; the one before a sample is the last with a number up to the sample's own.
    number_of = np.arange(len(rows))
    earlier = np.searchsorted(at, number_of, side="right") - 1
    later = np.searchsorted(at, number_of + 1, side="left")
    spared = np.where(earlier >= 0, holds[np.maximum(earlier, 0)], True)
    spared &= np.where(later < at.size, holds[np.minimum(later, at.size - 1)], True)
    known = readings[at]
    return _Beside(~spared, float(known.min() if measure.higher else known.max()))


def _end(around: Mapping[str, Any], when: str, kind: Kind) -> float | None:
    return number(part(around, when).get(kind))


def _waited(seen: Seen) -> Mask:
    waited = seen.column("waited")
    if waited is None or seen.lengths is None:
        return np.zeros(len(seen.row), dtype=bool)
    hit = np.isfinite(waited) & (waited > HIT * seen.lengths)
    hit[1:] |= hit[:-1]  # the next one finds the caches as the other process left them
    return np.asarray(hit)


def _sentence(seen: Seen, kind: Kind, beside: _Beside, bounds: Bounds) -> str:
    measure, hit = MEASURES[kind], int(beside.hit.sum())
    many = f"{hit} of {len(beside.hit)} samples" if len(beside.hit) > 1 else "the sample"
    worst = measure.words.format(measure.written(beside.worst))
    best = measure.written(bounds.best[kind])
    return f"{measure.cause}: beside {many} {worst}; the best that this machine has shown is {best}.{_rank(seen, kind)}"


def _rank(seen: Seen, kind: Kind) -> str:
    """Which of many ranks it was, where its slowest reading is clearly beyond the others'."""
    ranks = seen.part("ranks")
    readings, hosts, cpus = numbers(ranks.get(kind)), ranks.get("hosts"), ranks.get("cpus")
    if not (isinstance(hosts, list) and isinstance(cpus, list)) or not len(readings) == len(hosts) == len(cpus) > 1:
        return ""
    if np.isfinite(readings).sum() < 2:
        return ""
    measure = MEASURES[kind]
    worst = int(np.nanargmin(readings) if measure.higher else np.nanargmax(readings))
    others = float(np.nanmedian(np.delete(readings, worst)))
    loss = 1 - measure.share(readings[worst], others)
    if loss < CORE_LOSS:
        return ""
    where = f"processor {cpus[worst]}" if cpus[worst] is not None and cpus[worst] >= 0 else "not pinned"
    return f" Mostly it was rank {worst} on {hosts[worst]} ({where}), {percent(loss)} behind the others."
