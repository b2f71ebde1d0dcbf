"""Lines of Hockney's model through the times of messages, one for each protocol; results grouped by network."""

from collections.abc import Iterable, Sequence

from steelyard.measure.benchmarks.figures import select
from steelyard.model import Result, Scalar
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.model.units import binary_size, quantity
from steelyard.model.words import find_words
from steelyard.statistics.models.hockney import Region, fit_regions, half_bandwidth, switches

APART = ("placement", "transport", "mpi", "toolchain")  # a difference in one of these is another network


def networks(results: Iterable[Result]) -> dict[str, tuple[Result, ...]]:
    """Groups results by placement, transport, MPI and toolchain. Differing ones name the group; "" if none differs."""
    groups: dict[tuple[Scalar, ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(result.parameters.get(name, "") for name in APART), []).append(result)
    varying = [i for i in range(len(APART)) if len({key[i] for key in groups}) > 1]
    return {
        ", ".join(find_words(APART[i], key[i]) or str(key[i]) for i in varying): tuple(members)
        for key, members in sorted(groups.items(), key=lambda item: tuple(map(str, item[0])))
    }


def join_words(*words: str) -> str:
    """Joins the words that are not empty by commas."""
    return ", ".join(filter(None, words))


def sizes_of(first: float, last: float) -> str:
    """Returns a range of sizes in words, as '0 B to 4 KiB'."""
    return f"{binary_size(int(first))} to {binary_size(int(last))}"


def places(first: float, last: float) -> tuple[float, ...]:
    """Returns sizes from `first` to `last`, each twice the one before, for a line that is a curve on logarithmic axes."""
    sizes = [max(1.0, first)]
    while sizes[-1] * 2 < last:
        sizes.append(sizes[-1] * 2)
    return (*sizes, last) if last > sizes[-1] else tuple(sizes)


def hockney(results: Sequence[Result]) -> tuple[Figure, Figure]:
    """Returns figures of ping-pong's time with a fitted line for each protocol, and of the residuals.

    They use reused buffers only: with fresh buffers, the caches cause the steps, not the protocols.
    """
    series: list[Series] = []
    left: list[Series] = []
    marks: list[Mark] = []
    for name, members in networks(select(results, kernel="pingpong", buffers="reused")).items():
        points = sorted((float(r.parameters["message_bytes"]), r.metrics["latency"]) for r in members if r.metrics)
        fitted = fit_regions([(size, value.value) for size, value in points])
        measured = [(size, value.value) for size, value in points if size > 0]
        series.append(Series(join_words(name, "measured"), *_columns(measured), connected=False))
        series += [_line(name, region) for region in fitted]
        over = [r for region in fitted for r in region.residuals]
        pairs = [(size, r) for (size, _), r in zip(points, over, strict=False) if size > 0]
        left.append(Series(name or "residual", *_columns(pairs), connected=False))
        marks += [Mark("x", s.size, join_words(name, f"×{s.factor:.2g}: another protocol")) for s in switches(fitted)]
    return _figures(tuple(series), tuple(left), tuple(marks))


def _figures(series: tuple[Series, ...], left: tuple[Series, ...], marks: tuple[Mark, ...]) -> tuple[Figure, Figure]:
    size = Axis("message size", "B", log=True)
    fitted = Figure(
        name="hockney",
        title="Time of one way, and lines for each protocol (Hockney's model)",
        kind="lines",
        x=size,
        y=Axis("time of one way", "s", log=True),
        series=series,
        marks=marks,
        caption="The model says that a message of n bytes takes t = s + n/r∞: s is the start-up time, and r∞ the bandwidth "
        "of very long messages. Messages of n½ bytes reach half of r∞. The number of lines follows from the measured "
        "times. A mark shows where the time jumps from one line to the next. The buffers are reused.",
    )
    over = Figure(
        name="hockney-residuals",
        title="Residuals of Hockney's lines",
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
        join_words(name, f"{sizes_of(region.first, region.last)}: {says}"),
        tuple(sizes),
        tuple(region.seconds(s) for s in sizes),
    )


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
