"""What follows from sweeps over message sizes: which size reached its width, ratios paired by round, and the table. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from imb import SIZES, Printed, Row
from pace import Around
from ratios import Range, Ratio, Rounds, cells, doubt, ratio, sentence, span

from steelyard.model.units import percent, quantity
from steelyard.statistics.samples.summary import summarise

OURS = "ours"
WIDTH = 0.02  # of the median: what each size is asked to reach
ONE_WAY = {"pingpong": 2, "sendrecv": 1}  # parts of an operation of ours that IMB counts as its time
SMALL, LARGE, CACHED = 8, 1 << 20, 1 << 17  # bytes: a latency, a bandwidth, and the size at which caches serve most
HEAD = ("mpi", "pattern", "what", "ours", "peer", "it says", "ours/peer", "rounds", "all rounds")
EXPECTED = (0.95, 1.05)  # of the plain loop's time at 8 B
WANTED = 1.2  # of IMB's time for the same sweep, at most


@dataclass(frozen=True)
class Point:
    """Of one size, in seconds as IMB counts them. Ours: `seconds` is the median, `low` … `high` its 95 % interval (None: too
    few samples to state one). The peer's: its mean, and what rounding leaves open.
    """

    seconds: float
    mean: float
    low: float | None
    high: float | None
    count: int

    @property
    def reached(self) -> bool:
        """Whether half of the interval is within `WIDTH`."""
        return self.low is not None and self.high is not None and (self.high - self.low) / 2 <= WIDTH * self.seconds


@dataclass(frozen=True)
class Sweep:
    """A run over the sizes: the seconds of its sweep and of the whole start, and page faults: ours within the samples alone
    (`faulty` of which have some), the peer's in its whole start.
    """

    points: Mapping[int, Point]
    sweep: float
    whole: float
    faults: int
    faulty: int | None = None  # of all samples together; None: the peer's


@dataclass(frozen=True)
class Measurement:
    """One side once. `sweep` None: it failed, as `error` says; `waited`: it had become quiet before."""

    round: int
    mpi: str
    pattern: str
    side: str
    buffers: str
    sweep: Sweep | None
    around: Around
    waited: bool
    error: str = ""


@dataclass(frozen=True)
class Quantity:
    """A number from one side's sweeps of a round, by their buffers."""

    name: str
    unit: str
    of: Callable[[Mapping[str, Sweep]], float]
    buffers: tuple[str, ...] = ("reused",)


LATENCIES = (
    Quantity("time at 8 B, our median", "s", lambda s: s["reused"].points[SMALL].seconds),
    Quantity("time at 8 B, our mean", "s", lambda s: s["reused"].points[SMALL].mean),
)
SWEEP = Quantity(f"sweep of {len(SIZES)} sizes", "s", lambda s: s["reused"].sweep)
QUANTITIES = (
    *LATENCIES,
    Quantity("bandwidth at 1 MiB, our median", "B/s", lambda s: LARGE / s["reused"].points[LARGE].seconds),
    Quantity("bandwidth at 1 MiB, our mean", "B/s", lambda s: LARGE / s["reused"].points[LARGE].mean),
    SWEEP,
    Quantity("the same, start to end", "s", lambda s: s["reused"].whole),
    Quantity(
        "fresh over reused at 128 KiB",
        "",
        lambda s: s["fresh"].points[CACHED].seconds / s["reused"].points[CACHED].seconds,
        ("reused", "fresh"),
    ),
)


@dataclass(frozen=True)
class Standing:
    """Ours beside the peer in one quantity: each alone, and the ratio of both."""

    mpi: str
    pattern: str
    quantity: str
    peer: str
    ours: Range | None
    theirs: Range | None
    ratio: Ratio


# --------------------------------------------------------------------------- from answers and tables


def our_sweep(
    answers: Mapping[int, Mapping[str, Any]], pattern: str, cpus: Sequence[int], sweep: float, whole: float
) -> Sweep:
    """From the records of a sweep. ValueError where one failed, or ran on other processors than `cpus`."""
    points: dict[int, Point] = {}
    faults: list[int] = []
    for size, answer in answers.items():
        check = answer.get("check", {})
        if answer.get("error") or not check.get("passed"):
            raise ValueError(f"ours at {size} B: {answer.get('error') or check.get('detail') or 'the check failed'}")
        used = answer["surroundings"]["ranks"]["cpus"]
        if list(used) != list(cpus):
            raise ValueError(f"ours ran on the processors {used}, and was given {list(cpus)}")
        found, parts = summarise(answer["samples"]), ONE_WAY[pattern]
        low, high = (None if v is None else v / parts for v in (found.low, found.high))
        points[size] = Point(found.median / parts, found.mean / parts, low, high, found.count)
        faults += answer["surroundings"]["samples"]["faults"]
    return Sweep(points, sweep, whole, sum(faults), sum(f > 0 for f in faults))


def their_sweep(told: Printed) -> Sweep:
    """From what a peer printed."""
    return Sweep({size: their_point(row) for size, row in told.rows.items()}, told.sweep, told.whole, told.faults)


def their_point(row: Row) -> Point:
    """A mean that is rounded to the last digit."""
    around = row.seconds - row.resolution, row.seconds + row.resolution
    return Point(row.seconds, row.seconds, *around, row.repetitions)


# --------------------------------------------------------------------------- ratios


def standings(series: Sequence[Measurement], quantities: Sequence[Quantity] = QUANTITIES) -> list[Standing]:
    """Every quantity of every MPI and pattern."""
    return [standing(series, *group, q) for group in groups(series) for q in quantities]


def groups(series: Sequence[Measurement]) -> list[tuple[str, str]]:
    """MPI and pattern."""
    return sorted({(m.mpi, m.pattern) for m in series})


def standing(series: Sequence[Measurement], mpi: str, pattern: str, asked: Quantity) -> Standing:
    """Of the rounds in which both sides have all that the quantity needs."""
    here = [m for m in series if (m.mpi, m.pattern) == (mpi, pattern)]
    peer = next((m.side for m in here if m.side != OURS), "")
    own, other = values(here, OURS, asked), values(here, peer, asked)
    ours, theirs = (span([v for v, _ in values_of.values()]) for values_of in (own, other))
    return Standing(mpi, pattern, asked.name, peer, ours, theirs, ratio(own, other))


def values(series: Sequence[Measurement], side: str, asked: Quantity) -> Rounds:
    """The side's value in each round that has all of it."""
    found = {}
    for number in sorted({m.round for m in series}):
        parts = [m for m in series if (m.round, m.side) == (number, side) and m.buffers in asked.buffers]
        have = {m.buffers: m.sweep for m in parts if m.sweep}
        if set(have) == set(asked.buffers) and math.isfinite(value := asked.of(have)):
            found[number] = value, all(m.around.full for m in parts)
    return found


def verdict(own: Point, other: Point) -> str:
    """Where the peer's figure lies: "within" our interval (as far as its rounding tells), or "above" or "below" it."""
    if own.low is None or own.high is None or other.low is None or other.high is None:
        return "unknown"
    if other.low > own.high:
        return "above"
    return "below" if other.high < own.low else "within"


# --------------------------------------------------------------------------- shown


def table(series: Sequence[Measurement], quantities: Sequence[Quantity] = QUANTITIES) -> list[list[str]]:
    """The rows of the table, its head first."""
    rows = [list(HEAD)]
    units = {q.name: q.unit for q in quantities}
    for s in standings(series, quantities):
        unit = units[s.quantity]
        shown = [quantity(r.median, unit) if r else "failed" for r in (s.ours, s.theirs)]
        rows.append([s.mpi, s.pattern, s.quantity, shown[0], s.peer, shown[1], *cells(s.ratio)])
    return rows


def summary(series: Sequence[Measurement]) -> list[str]:
    """For each MPI and pattern: whose time at 8 B is less, the sizes that reached their width, and page faults."""
    lines = []
    for mpi, pattern in groups(series):
        here = [m for m in series if (m.mpi, m.pattern) == (mpi, pattern)]
        peer = next((m.side for m in here if m.side != OURS), "the peer")
        lines.append(f"{mpi}, {pattern}: {latency(here, peer)}; {widths(here)}; {page_faults(here, peer)}")
        lines.append(f"{mpi}, {pattern}: {length(series, mpi, pattern)}")
    return lines


def latencies(series: Sequence[Measurement]) -> list[str]:
    """For each MPI: our time at 8 bytes over the plain loop's, and whether it is what was expected."""
    lines = []
    for found in standings(series, LATENCIES[:1]):
        known, (low, high) = found.ratio.best_known, EXPECTED
        off = known is not None and not low <= known.median <= high
        mark = f"  <-- NOT WITHIN {low} … {high}{doubt(found.ratio)}" if off else ""
        lines.append(f"{found.mpi}: our median at {SMALL} B over the plain loop's mean: {sentence(found.ratio)}{mark}")
    return lines


def latency(series: Sequence[Measurement], peer: str) -> str:
    """How often the peer's mean at 8 B lies above, within and below our median's interval."""
    found = {(m.round, m.side): m.sweep.points[SMALL] for m in series if m.sweep and m.buffers == "reused"}
    both = sorted(n for n, side in found if side == OURS and (n, peer) in found)
    seen = [verdict(found[n, OURS], found[n, peer]) for n in both]
    counted = ", ".join(f"{word} it {seen.count(word)}×" for word in dict.fromkeys(sorted(seen)))
    return f"at 8 B the mean of {peer} beside our median's interval: {counted or 'one of both failed'}"


def length(series: Sequence[Measurement], mpi: str, pattern: str) -> str:
    """How long our sweep takes, beside the peer's."""
    found = standing(series, mpi, pattern, SWEEP)
    known = found.ratio.best_known
    late = f"  <-- ABOVE {WANTED}{doubt(found.ratio)}" if known and known.median > WANTED else ""
    return f"our sweep over the peer's: {sentence(found.ratio)}{late}"


def widths(series: Sequence[Measurement]) -> str:
    """How many sizes of ours reached their width."""
    own = [m.sweep.points.values() for m in series if m.sweep and m.side == OURS and m.buffers == "reused"]
    reached = span([sum(p.reached for p in points) for points in own])
    some = f"{reached.median:g} [{reached.low}, {reached.high}]" if reached else "none"
    return f"{some} of our {len(SIZES)} sizes reached ± {percent(WIDTH)}"


def page_faults(series: Sequence[Measurement], peer: str) -> str:
    """Those within our fresh samples, and in how many samples; those of the peer's whole start with fresh buffers."""
    fresh = [(m.side, m.sweep) for m in series if m.sweep and m.buffers == "fresh"]
    own = [sweep for side, sweep in fresh if side == OURS]
    samples = sum(p.count for sweep in own for p in sweep.points.values())
    text = (
        f"page faults: {sum(s.faults for s in own)} in {sum(s.faulty or 0 for s in own)} of our {samples} fresh samples"
    )
    theirs = span([float(sweep.faults) for side, sweep in fresh if side == peer])
    return text + (f", {theirs.median:.0f} in a whole fresh start of {peer}" if theirs else "")
