"""What follows from the series: medians, ratios paired by round, and the table. Pure."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pace
from contenders import OURS, Rates, figure
from pace import Around

HEAD = (
    "stores",
    "threads",
    "contender",
    "says",
    "GB/s",
    "[low, high]",
    "ours/it, alike",
    "rounds",
    "all rounds",
    "our median/it",
)
NONE = "no round at full pace"
WANTED = 0.98  # of the best peer: what the project promises for Triad


@dataclass(frozen=True)
class Measurement:
    """One contender once. `rates` None: it failed, as `error` says; `waited`: it had become quiet before."""

    round: int
    name: str
    stores: str
    threads: int
    rates: Rates | None
    around: Around
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
class Ratio:
    """Of two sides: over all rounds that have both, and over those in which both had the machine's full pace."""

    all: Range | None
    full: Range | None

    @property
    def best_known(self) -> Range | None:
        """By which it is judged: the rounds at full pace, where there are some."""
        return self.full or self.all

    @property
    def whole(self) -> bool:
        """Whether no round was set aside."""
        return self.all is not None and self.full == self.all


@dataclass(frozen=True)
class Standing:
    """A peer beside ours: `alike` compares the same statistic, `strict` our median with the peer's figure."""

    name: str
    stores: str
    threads: int
    statistic: str
    alike: Ratio
    strict: Ratio


Value = Callable[[Rates], float | None]
Rounds = Mapping[int, tuple[float, bool]]  # round → a side's value, and whether it had the machine's full pace


def span(values: Sequence[float]) -> Range | None:
    """None where there are no values."""
    return Range(statistics.median(values), min(values), max(values), len(values)) if values else None


def ratio(above: Rounds, below: Rounds) -> Ratio:
    """Paired by round, so that what drifts over minutes drops out. One in which either side was disturbed is set aside."""
    both = {
        n: (above[n][0] / below[n][0], above[n][1] and below[n][1]) for n in above if n in below and below[n][0] > 0
    }
    return Ratio(span([r for r, _ in both.values()]), span([r for r, full in both.values() if full]))


def rates_of(series: Sequence[Measurement], name: str, stores: str, threads: int) -> Range | None:
    """The rates that this contender is known by, over the rounds."""
    rows = [m for m in series if (m.name, m.stores, m.threads) == (name, stores, threads) and m.rates]
    values = [figure(m.rates)[0] for m in rows if m.rates]
    return span([v for v in values if v is not None])


def rounds(series: Sequence[Measurement], value: Value) -> Rounds:
    """One contender's values; a round in which it has none is left out."""
    found = {m.round: (value(m.rates), m.around.full) for m in series if m.rates}
    return {n: (v, full) for n, (v, full) in found.items() if v is not None}


def standings(series: Sequence[Measurement]) -> list[Standing]:
    """Every peer beside ours with the same stores and threads; the fastest (at full pace) first of each."""
    groups = sorted({(m.stores, m.threads) for m in series})
    return [s for stores, threads in groups for s in _group(series, stores, threads)]


def _group(series: Sequence[Measurement], stores: str, threads: int) -> list[Standing]:
    here = [m for m in series if (m.stores, m.threads) == (stores, threads)]
    own = [m for m in here if m.name == OURS]
    found: list[tuple[float, Standing]] = []
    for name in sorted({m.name for m in here} - {OURS}):
        theirs = [m for m in here if m.name == name]
        rate = rates_of(here, name, stores, threads)
        if rate is None:
            continue
        statistic = next(figure(m.rates)[1] for m in theirs if m.rates)
        alike: Value = (lambda r: r.best) if statistic == "best" else (lambda r: r.mean)
        standing = Standing(
            *(name, stores, threads, statistic),
            alike=ratio(rounds(own, alike), rounds(theirs, alike)),
            strict=ratio(rounds(own, lambda r: r.median), rounds(theirs, lambda r: figure(r)[0])),
        )
        undisturbed = rates_of([m for m in theirs if m.around.full], name, stores, threads)
        found.append(((undisturbed or rate).median, standing))
    return [standing for _, standing in sorted(found, key=lambda pair: -pair[0])]


# --------------------------------------------------------------------------- shown


def written(found: Range | None) -> str:
    """A ratio's median with its range."""
    return f"{found.median:.3f} [{found.low:.3f}, {found.high:.3f}]" if found else "none"


def cells(found: Ratio) -> list[str]:
    """Of a table: the ratio at full pace, how many rounds that are, and the ratio of all where some were set aside."""
    if found.all is None:
        return ["none", "", ""]
    full = f"{found.full.count if found.full else 0} of {found.all.count}"
    return [written(found.full) if found.full else NONE, full, "" if found.whole else written(found.all)]


def sentence(found: Ratio) -> str:
    """The same in words."""
    if found.all is None:
        return "no ratio, because one of both is missing"
    if found.whole:
        return written(found.all)
    if found.full is None:
        return f"{NONE}; {written(found.all)} in all {found.all.count}"
    rounds_of_it = f"the {found.full.count} of {found.all.count} rounds at full pace"
    return f"{written(found.full)} in {rounds_of_it}, {written(found.all)} in all"


def doubt(found: Ratio) -> str:
    """Behind a mark that says what is too low or too high."""
    return "" if found.full else " (disturbed)"


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
        beside = [*cells(standing.alike), written(standing.strict.best_known)] if standing else [""] * 4
        rows.append([stores, str(threads), name, says, f"{rate.median / 1e9:.2f}", limits, *beside])
    return rows


def summary(series: Sequence[Measurement]) -> list[str]:
    """One sentence for each kind of stores and number of threads: ours beside the fastest peer."""
    lines = []
    best: dict[tuple[str, int], Standing] = {}
    for standing in standings(series):
        best.setdefault((standing.stores, standing.threads), standing)
    for stores, threads in sorted({(m.stores, m.threads) for m in series}):
        head = f"{stores} stores, {threads} thread{'s' if threads > 1 else ''}: "
        peer = best.get((stores, threads))
        known = peer.alike.best_known if peer else None
        if peer is None or known is None:
            lines.append(head + "no ratio, because ours or every peer is missing")
            continue
        text = f"ours over {peer.name} ({peer.statistic} with {peer.statistic}): {sentence(peer.alike)}"
        lines.append(head + text + (f"  <-- BELOW {WANTED}{doubt(peer.alike)}" if known.median < WANTED else ""))
    return lines


def layout(rows: Sequence[Sequence[str]]) -> str:
    """The rows as aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def paces(sides: Iterable[tuple[str, Around]]) -> str:
    """The table of the sides' paces, what they are shares of, and how many measurements are set aside."""
    known = list(sides)
    series = [around for _, around in known]
    best = series[0].best if series else {}
    return f"{layout(pace.table(known))}\n{pace.best_shown(best)}\n{pace.summary(series)}"
