"""Lines of Hockney's model through the times of messages, one for each protocol, and the results that belong together."""

from collections.abc import Iterable, Sequence

from steelyard.benchmarks.figures import select
from steelyard.model import Result, Scalar
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.statistics.models.hockney import Region, half_bandwidth, regions, switches
from steelyard.units import binary_size, quantity
from steelyard.words import find_words

APART = ("placement", "transport", "mpi", "toolchain")  # what differs in one of these is another network


def networks(results: Iterable[Result]) -> dict[str, tuple[Result, ...]]:
    """Results by what they measured: relation, transport, MPI and toolchain; named by those that differ, "" if none does."""
    groups: dict[tuple[Scalar, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(result.parameters.get(name, "") for name in APART), []).append(result)
    varying = [i for i in range(len(APART)) if len({key[i] for key in groups}) > 1]
    return {
        ", ".join(find_words(APART[i], key[i]) or str(key[i]) for i in varying): tuple(members)
        for key, members in sorted(groups.items(), key=lambda item: tuple(map(str, item[0])))
    }


def named(*words: str) -> str:
    """The words that say anything, separated by commas."""
    return ", ".join(filter(None, words))


def sizes_of(first: float, last: float) -> str:
    """'0 B to 4 KiB'."""
    return f"{binary_size(int(first))} to {binary_size(int(last))}"


def places(first: float, last: float) -> tuple[float, ...]:
    """Sizes from `first` to `last`, each twice the one before, for a line between them: on logarithmic axes it is a curve."""
    found = [max(1.0, first)]
    while found[-1] * 2 < last:
        found.append(found[-1] * 2)
    return (*found, last) if last > found[-1] else tuple(found)


def hockney(results: Sequence[Result]) -> tuple[Figure, Figure]:
    """From results of ping-pong: time of one way with a fitted line for each protocol, and what the lines leave over.

    Reused buffers only: with fresh ones the caches, not the protocols, make the steps.
    """
    series: list[Series] = []
    left: list[Series] = []
    marks: list[Mark] = []
    for name, members in networks(select(results, kernel="pingpong", buffers="reused")).items():
        points = sorted((float(r.parameters["message_bytes"]), r.metrics["latency"]) for r in members if r.metrics)
        found = regions([(size, value.value) for size, value in points])
        observed = [(size, value.value) for size, value in points if size > 0]
        series.append(Series(named(name, "measured"), *_columns(observed), connected=False))
        series += [_line(name, region) for region in found]
        over = [r for region in found for r in region.residuals]
        pairs = [(size, r) for (size, _), r in zip(points, over, strict=False) if size > 0]
        left.append(Series(name or "residual", *_columns(pairs), connected=False))
        marks += [Mark("x", s.size, named(name, f"×{s.factor:.2g}: another protocol")) for s in switches(found)]
    return _figures(tuple(series), tuple(left), tuple(marks))


def _figures(series: tuple[Series, ...], left: tuple[Series, ...], marks: tuple[Mark, ...]) -> tuple[Figure, Figure]:
    size = Axis("message", "B", log=True)
    fitted = Figure(
        name="hockney",
        title="Time of one way, and lines for each protocol (Hockney's model)",
        kind="lines",
        x=size,
        y=Axis("time of one way", "s", log=True),
        series=series,
        marks=marks,
        caption="t = s + n/r∞; half of the bandwidth r∞ is reached at n½ bytes. The number of lines is chosen by the data; "
        "a mark stands where the time jumps from one to the next. Reused buffers.",
    )
    over = Figure(
        name="hockney-residuals",
        title="What Hockney's lines leave over",
        kind="lines",
        x=size,
        y=Axis("(measured − line) / measured", "%"),
        series=left,
    )
    return fitted, over


def _line(name: str, region: Region) -> Series:
    rate = half_bandwidth(region)
    says = f"r∞ {quantity(rate.rate, 'B/s')}" if rate else "no growth"
    if rate and rate.half is not None:
        says += f", n½ {quantity(rate.half, 'B')}"
    sizes = [s for s in places(region.first, region.last) if region.seconds(s) > 0]
    return Series(
        named(name, f"{sizes_of(region.first, region.last)}: {says}"),
        tuple(sizes),
        tuple(region.seconds(s) for s in sizes),
    )


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
