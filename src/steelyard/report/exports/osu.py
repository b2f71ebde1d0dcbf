"""Tables in the form of the OSU micro-benchmarks 5 to 7: sizes with latencies, bandwidths and message rates.

https://mvapich.cse.ohio-state.edu/benchmarks/

The values of a collective operation are those of OSU: the mean, the least and the greatest time over the ranks. All other values
are medians over the launches. Comments have the case, the interval and the verdict of each value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from steelyard.errors import UsageError
from steelyard.model import Evaluation, Result, Scalar
from steelyard.report import values
from steelyard.report.exports._exported import make_line, name_writer, spell_evidence, spell_parameters, spell_verdict
from steelyard.statistics.results.messages import SIZE, rank_seconds
from steelyard.statistics.results.result import rests_on

VERSION = "7.4"  # of the tables; OSU prints its version in each heading, and readers search for it
SIZE_WIDTH, WIDTH, DECIMALS = 10, 18, 4  # columns of letters; OSU has 2 decimals
COLLECTIVE: tuple[str, ...] = ("Avg Latency(us)", "Min Latency(us)", "Max Latency(us)")
COLLECTIVES = {
    "bcast": "Broadcast", "reduce": "Reduce", "allreduce": "Allreduce", "gather": "Gather", "gatherv": "Gatherv",
    "scatter": "Scatter", "scatterv": "Scatterv", "allgather": "Allgather", "allgatherv": "Allgatherv",
    "alltoall": "All-to-All Personalized Exchange", "alltoallv": "All-to-Allv Personalized Exchange",
}  # fmt: skip
ONE_SIDED = {
    "put": "Put", "get": "Get", "accumulate": "Accumulate", "fetch_and_op": "Fetch_and_op",
    "compare_and_swap": "Compare_and_swap",
}  # fmt: skip
SYNCHRONISATIONS = {"flush": "MPI_Win_flush", "fence": "MPI_Win_fence", "lock": "MPI_Win_lock/unlock"}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: a metric times `factor`, under its heading."""

    heading: str
    metric: str
    factor: float


LATENCY = (Column(heading="Latency (us)", metric="latency", factor=1e6),)
BANDWIDTH = (Column(heading="Bandwidth (MB/s)", metric="bandwidth", factor=1e-6),)
PAIRS = (
    Column(heading="MB/s", metric="bandwidth", factor=1e-6),
    Column(heading="Messages/s", metric="message_rate", factor=1.0),
)
OVER_RANKS = (Column(heading=COLLECTIVE[0], metric="time", factor=1e6),)
# of the metrics of an imported result with three statistics
ENDINGS = ("", "_least_of_the_ranks", "_greatest_of_the_ranks")
IMPORTED = (
    tuple(Column(heading=h, metric=f"latency{e}", factor=1e6) for h, e in zip(COLLECTIVE, ENDINGS, strict=True)),
    LATENCY,
    PAIRS,
    BANDWIDTH,
)


@dataclass(frozen=True, kw_only=True)
class Test:
    """A program of OSU: what stands in its heading, further lines of the heading, and the columns."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[str, ...] = ()


def parts(evaluation: Evaluation) -> Iterator[str]:
    """Yields a table for each curve over the message size. UsageError if the run has none that OSU measures."""
    curves: dict[tuple[Test, str], list[Result]] = {}
    for result in evaluation.results:
        if SIZE in result.parameters and (test := _find_test(result)):
            curves.setdefault((test, _describe_case(result)), []).append(result)
    if not curves:
        raise UsageError(
            "The run has no results that the OSU micro-benchmarks measure, too. These are results of network.pingpong, "
            "network.rate, network.collectives and network.onesided. Choose another format."
        )
    run = evaluation.run
    not_osu = " It imported the values." if run.imported else " OSU did not measure it."
    yield f"# {name_writer(evaluation)} wrote this file in the form of the OSU micro-benchmarks.{not_osu}\n"
    yield f"# {', '.join(filter(None, (f'Run {run.id} on {make_line(run.machine.host)}', run.started)))}.\n"
    if not run.imported:
        yield "# Values are medians over the launches; OSU prints means.\n"
    for (test, case), results in curves.items():
        yield from _write_table(test, case, sorted(results, key=lambda r: float(r.parameters[SIZE])))


def _describe_case(result: Result) -> str:
    """Returns the comment with the case, by which `steelyard import` knows it; of an imported value it only informs readers."""
    source = "Imported" if values.level(result) == "FOREIGN" else "Steelyard"
    return f"{source} {result.benchmark} {result.kernel}: {spell_parameters(result.parameters, (SIZE,))}"


def _find_test(result: Result) -> Test | None:
    kernel, given = result.kernel, result.parameters
    match result.benchmark, kernel:
        case "network.pingpong", "pingpong":
            return Test(title="MPI Latency Test", columns=LATENCY)
        case "network.rate", "one_way" | "both_ways":
            return _find_pairs_test(kernel, given)
        case "network.collectives", _ if kernel in COLLECTIVES:
            return Test(title=f"MPI {COLLECTIVES[kernel]} Latency Test", columns=OVER_RANKS)
        case "network.onesided", _ if kernel in ONE_SIDED:
            return _find_one_sided_test(kernel, given)
    return _find_imported_test(result) if result.benchmark.startswith("osu.") else None


def _find_imported_test(result: Result) -> Test | None:
    """Returns the test of an imported result of OSU that no benchmark of Steelyard has."""
    columns = next((c for c in IMPORTED if all(column.metric in result.metrics for column in c)), None)
    name = result.kernel.replace("_", " ").capitalize()
    return Test(title=f"{result.parameters.get('api', 'MPI')} {name} Test", columns=columns) if columns else None


def _find_pairs_test(kernel: str, given: Mapping[str, Scalar]) -> Test | None:
    if given.get("pairs") == 1:
        way = "Bi-Directional Bandwidth" if kernel == "both_ways" else "Bandwidth"
        return Test(title=f"MPI {way} Test", columns=BANDWIDTH)
    if kernel == "both_ways":
        return None  # OSU measures both directions with one pair only
    line = f"[ pairs: {given.get('pairs')} ] [ window size: {given.get('window')} ]"
    return Test(title="MPI Multiple Bandwidth / Message Rate Test", columns=PAIRS, lines=(line,))


def _find_one_sided_test(kernel: str, given: Mapping[str, Scalar]) -> Test | None:
    synchronisation = SYNCHRONISATIONS.get(str(given.get("synchronisation")), "")
    lines = ("Window creation: MPI_Win_allocate", f"Synchronization: {synchronisation}")
    if given.get("window") == 1:
        return Test(title=f"MPI_{ONE_SIDED[kernel]} latency Test", columns=LATENCY, lines=lines)
    if kernel in ("put", "get"):
        return Test(title=f"MPI_{ONE_SIDED[kernel]} Bandwidth Test", columns=BANDWIDTH, lines=lines)
    return None


def _write_table(test: Test, case: str, results: Sequence[Result]) -> Iterator[str]:
    valid = [result for result in results if values.level(result) != "INVALID"]
    rows = {result.parameters[SIZE]: _summarise_ranks(result) if test.columns is OVER_RANKS else [] for result in valid}
    headings = COLLECTIVE
    if not rows or not all(rows.values()):
        rows = {result.parameters[SIZE]: _list_values(test, result) for result in valid}
        headings = tuple(column.heading for column in test.columns)
    yield f"\n# OSU {test.title} v{VERSION}\n# {case}\n"
    yield from (f"# {line}\n" for line in test.lines)
    yield f"{'# Size':<{SIZE_WIDTH}}{''.join(f'  {heading:>{WIDTH - 2}}' for heading in headings)}\n"
    for size, row in rows.items():
        if row:
            yield f"{size:<{SIZE_WIDTH}}{''.join(f'{number:{WIDTH}.{DECIMALS}f}' for number in row)}\n"
    yield "# Intervals (95 %) and verdicts of Steelyard:\n"
    yield from (f"# {result.parameters[SIZE]} B: {_describe_trust(test, result)}\n" for result in results)


def _list_values(test: Test, result: Result) -> list[float]:
    present = [column for column in test.columns if column.metric in result.metrics]
    return [result.metrics[c.metric].value * c.factor for c in present] if len(present) == len(test.columns) else []


def _describe_trust(test: Test, result: Result) -> str:
    level = values.level(result)
    if level == "INVALID":
        return f"INVALID, no value. {spell_evidence(result)}".strip()
    spans = []
    for column in test.columns:
        value = result.metrics.get(column.metric)
        if value and value.low is not None and value.high is not None:
            span = f"{value.low * column.factor:.{DECIMALS}f} to {value.high * column.factor:.{DECIMALS}f}"
            name = column.heading
            if test.columns is OVER_RANKS:
                name = f"from the first start to the last end (us) {value.value * column.factor:.{DECIMALS}f},"
            spans.append(f"{name} {span}")
    return ", ".join([*spans, spell_verdict(result)])


def _summarise_ranks(result: Result) -> list[float]:
    """Returns the mean, least and greatest time of an operation over the ranks, in µs; [] if their times are unknown."""
    printed = [result.metrics[name].value * 1e6 for e in ENDINGS if (name := f"time{e}") in result.metrics]
    if len(printed) == len(ENDINGS):
        return printed
    medians = []
    for record in rests_on(result):
        for row in rank_seconds(record):
            kept = [seconds for place, seconds in enumerate(row) if place not in record.aside]
            medians += [median(kept) / record.operations * 1e6] if kept else []
    return [fmean(medians), min(medians), max(medians)] if medians else []
