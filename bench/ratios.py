"""What follows from the series: medians, ratios paired by round, and the table. Pure."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contenders import OURS, Rates, figure

HEAD = (
    "stores",
    "threads",
    "contender",
    "says",
    "GB/s",
    "[low, high]",
    "quiet",
    "ours/it, alike",
    "our median/it",
)
WANTED = 0.98  # of the best peer: what the project promises for Triad
QUIET_CORES = 0.05  # kept busy by others; steelyard.machine.load waits for the same
QUIET_STEAL = 0.01  # of the processors' time: moves a rate by as much


@dataclass(frozen=True)
class Load:
    """What others did meanwhile: cores kept busy, share of all processors' time stolen; None: unknown."""

    other: float | None
    steal: float | None

    @property
    def quiet(self) -> bool:
        """Whether neither can have moved a rate by much. The unknown is not held against it."""
        return (self.other or 0.0) <= QUIET_CORES and (self.steal or 0.0) <= QUIET_STEAL


@dataclass(frozen=True)
class Measurement:
    """One contender once. `rates` None: it failed, as `error` says; `waited`: it had become quiet before."""

    round: int
    name: str
    stores: str
    threads: int
    rates: Rates | None
    load: Load
    waited: bool
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Range:
    """The median of some values with the least and the greatest, and how many they are."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Standing:
    """A peer beside ours: `alike` compares the same statistic, `strict` our median with the peer's figure."""

    name: str
    stores: str
    threads: int
    statistic: str
    alike: Range | None
    alike_quiet: Range | None  # from the rounds in which nothing disturbed either
    strict: Range | None


Value = Callable[[Rates], float | None]


def span(values: Sequence[float]) -> Range | None:
    """None where there are no values."""
    return Range(statistics.median(values), min(values), max(values), len(values)) if values else None


def rates_of(series: Sequence[Measurement], name: str, stores: str, threads: int) -> Range | None:
    """The rates that this contender is known by, over the rounds."""
    rows = [m for m in series if (m.name, m.stores, m.threads) == (name, stores, threads) and m.rates]
    values = [figure(m.rates)[0] for m in rows if m.rates]
    return span([v for v in values if v is not None])


def paired(above: Sequence[Measurement], below: Sequence[Measurement], a: Value, b: Value) -> Range | None:
    """The ratio of both in each round that has both: what drifts over minutes drops out."""
    tops = {m.round: a(m.rates) for m in above if m.rates}
    ratios = []
    for m in below:
        top, bottom = tops.get(m.round), b(m.rates) if m.rates else None
        if top is not None and bottom:
            ratios.append(top / bottom)
    return span(ratios)


def standings(series: Sequence[Measurement]) -> list[Standing]:
    """Every peer beside ours with the same stores and threads; the fastest (when quiet) first of each."""
    groups = sorted({(m.stores, m.threads) for m in series})
    return [s for stores, threads in groups for s in _group(series, stores, threads)]


def _group(series: Sequence[Measurement], stores: str, threads: int) -> list[Standing]:
    here = [m for m in series if (m.stores, m.threads) == (stores, threads)]
    own = [m for m in here if m.name == OURS]
    own_calm = [m for m in own if m.load.quiet]
    found: list[tuple[float, Standing]] = []
    for name in sorted({m.name for m in here} - {OURS}):
        theirs = [m for m in here if m.name == name]
        rate = rates_of(here, name, stores, threads)
        if rate is None:
            continue
        statistic = next(figure(m.rates)[1] for m in theirs if m.rates)
        alike: Value = (lambda r: r.best) if statistic == "best" else (lambda r: r.mean)
        calm = [m for m in theirs if m.load.quiet]
        standing = Standing(
            name,
            stores,
            threads,
            statistic,
            alike=paired(own, theirs, alike, alike),
            alike_quiet=paired(own_calm, calm, alike, alike),
            strict=paired(own, theirs, lambda r: r.median, lambda r: figure(r)[0]),
        )
        found.append(((rates_of(calm, name, stores, threads) or rate).median, standing))
    return [standing for _, standing in sorted(found, key=lambda pair: -pair[0])]


def table(series: Sequence[Measurement]) -> list[list[str]]:
    """The rows of the table, its head first: each contender's rate, and ours over it."""
    rows = [list(HEAD)]
    known = {(s.stores, s.threads, s.name): s for s in standings(series)}
    contenders = {(m.stores, m.threads, m.name) for m in series}
    found = {key: rates_of(series, key[2], key[0], key[1]) for key in contenders}
    order = sorted(contenders, key=lambda k: (k[0], k[1], -(r.median if (r := found[k]) else 0.0)))
    for key in order:
        stores, threads, name = key
        rate, standing = found[key], known.get(key)
        if rate is None:
            rows.append([stores, str(threads), name, "failed", *[""] * (len(HEAD) - 4)])
            continue
        says = standing.statistic if standing else "best"
        limits = f"[{rate.low / 1e9:.2f}, {rate.high / 1e9:.2f}]"
        ratios = [_ratio(standing.alike), _ratio(standing.strict)] if standing else ["", ""]
        quiet = [m.load.quiet for m in series if (m.stores, m.threads, m.name) == key]
        calm = f"{sum(quiet)} of {len(quiet)}"
        rows.append([stores, str(threads), name, says, f"{rate.median / 1e9:.2f}", limits, calm, *ratios])
    return rows


def _ratio(found: Range | None) -> str:
    return f"{found.median:.3f} [{found.low:.3f}, {found.high:.3f}]" if found else "unknown"


def summary(series: Sequence[Measurement]) -> list[str]:
    """One sentence for each kind of stores and number of threads: ours beside the fastest peer."""
    lines = []
    best: dict[tuple[str, int], Standing] = {}
    for standing in standings(series):
        best.setdefault((standing.stores, standing.threads), standing)
    for stores, threads in sorted({(m.stores, m.threads) for m in series}):
        head = f"{stores} stores, {threads} thread{'s' if threads > 1 else ''}: "
        peer = best.get((stores, threads))
        if peer is None or peer.alike is None:
            lines.append(head + "no ratio, because ours or every peer is missing")
            continue
        text = f"ours is {_ratio(peer.alike)} of {peer.name} ({peer.statistic} with {peer.statistic})"
        calm = peer.alike_quiet
        if calm is None:
            text += "; no round was quiet for both"
        elif calm.count < peer.alike.count:
            text += f"; {_ratio(calm)} in the {calm.count} of {peer.alike.count} rounds quiet for both"
        judged = calm or peer.alike
        doubt = "" if calm else " (disturbed)"
        below = f"  <-- BELOW {WANTED}{doubt}" if judged.median < WANTED else ""
        lines.append(head + text + below)
    return lines


def layout(rows: Sequence[Sequence[str]]) -> str:
    """The rows as aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
