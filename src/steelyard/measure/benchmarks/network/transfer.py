"""Transfer between nodes, and all pairs of ranks

Rank 0 exchanges messages with each other rank in turn: back and forth (one-way), and in both directions at once (two-way). Then
the kernel measures all pairs of ranks in rounds, as in a tournament in which each rank meets one other rank per round. The
result is a matrix. With several hosts each host has one rank, so the matrix is one of nodes.

Reading: All partners of rank 0 should have nearly the same values, if their messages pass the same number of switches. A point
far from the others means a slow node or a slow link. The matrix shows which of the two it is. If a whole row and column are
brighter, the node is slow. If a single cell is brighter, a link is slow. If a block is brighter, the messages pass an
additional or slow switch. Two-way should reach nearly twice the bandwidth of one-way if the links are full duplex.

Caution: Within one machine messages are copies in memory, and the matrix shows which caches two processors share. The pairs of
a round run at the same time. If they share a link or a memory, the load of the other pairs makes each pair slower. With --set
together=no the pairs run one after the other; the preset full measures both. The time of a pair is the time of the slower of
its two ranks.

Source: Test "transfer" of the MPI tests of Moscow State University's computing centre: If N messages of L bytes each way take T
seconds, the bandwidth is R = 2·N·L / T, for one-way and for two-way (the sum of both directions). The latency is S = T / 2N for
empty messages. The spread of the partners is (greatest value − lowest value) / median. The rounds follow the circle method of
tournaments (T. P. Kirkman 1847).
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from steelyard.measure import published as others
from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.network.sizes import ANYWHERE, TWO_RANKS, message_sizes, rank_counts
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.roles import Messages
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results import messages
from steelyard.statistics.results.messages import hosts_of
from steelyard.statistics.results.pairs import pair_seconds, variants
from steelyard.statistics.results.partners import LARGE, spreads

parallel = True
MATRIX_SIZES = (8, LARGE)
MOST_PARTNERS = {"quick": 15, "standard": 63, "full": 1023}  # of rank 0; of more partners, an evenly spread selection
# Up to this number, all partners are measured with all sizes. Of more, only the first and the last are, and the others with
# an empty and a large message. Sizes that the user sets (--set message_bytes=…) apply to all partners.
MOST_SWEPT = {"quick": 2, "standard": 7, "full": 1023}
MOST_ROUNDS = 63  # planned at least, for users who set more ranks than there are processors
MOST_BY_TURNS = 64  # ranks: turns take ranks / 2 times longer
CHOICES: dict[str, tuple[Scalar, ...]] = {
    "direction": ("one-way", "two-way"),
    "together": ("yes", "no"),
    "buffers": ANYWHERE,
}
FACTORS = ("ranks", "placement", "transport", "buffers", "mpi", "toolchain")


def partners(ranks: int, most: int) -> tuple[int, ...]:
    """Returns the partners of rank 0: up to `most` if this covers all ranks, else a selection with the last rank."""
    if ranks - 1 <= most:
        return tuple(range(1, most + 1))
    return tuple(sorted({*range(1, ranks, -(-(ranks - 1) // most)), ranks - 1}))


demands = {
    **TWO_RANKS,
    "partner must be below the ranks": lambda p: p.get("partner", 1) < p["ranks"],
    "these ranks have fewer rounds": lambda p: p.get("round", 0) < (p["ranks"] - 1 | 1),
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: rank 0 with each other rank (with many ranks, all sizes only for the first and the last), and all pairs."""
    quick, width = effort.name == "quick", effort.sampling.width
    ranks = len(machine.hosts) if len(machine.hosts) > 1 else rank_counts(machine, effort)[-1]
    common: dict[str, tuple[Scalar, ...]] = {"ranks": (ranks,), "placement": ("compact",), "transport": ("default",)}
    if len(machine.hosts) > 1:
        common["ranks_per_node"] = (1,)

    def has_data(point: Parameters) -> bool:
        return point["message_bytes"] != 0 or point["direction"] == "one-way"

    def is_swept(point: Parameters) -> bool:
        last = int(point["ranks"]) - 1
        return has_data(point) and (int(point["partner"]) in (1, last) or last <= MOST_SWEPT[effort.name])

    def is_at_once(point: Parameters) -> bool:
        return point["together"] == "yes"

    def is_by_turns(point: Parameters) -> bool:
        return point["together"] == "no" and int(point["ranks"]) > 3  # with three ranks, a round has one pair

    single: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("transfer",),
        **common,
        "direction": ("one-way", "two-way"),
        "partner": partners(ranks, MOST_PARTNERS[effort.name]),
        "buffers": ("reused",),
        "message_bytes": message_sizes(effort),
    }
    every: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("pairs",),
        **common,
        "together": ("yes",),
        "round": tuple(range(max(ranks, MOST_ROUNDS))),
        "buffers": ("reused",),
        "message_bytes": MATRIX_SIZES,
    }
    pairs = Sampling(width, 0.05 if quick else 0.15, effort.sampling.least, 2000)
    turns = max(ranks // 2, 8)  # the samples are shared among the pairs of a round
    shared = Sampling(width, 0.02 * turns, 6 * turns, 200 * turns)
    # With "yes", no point of this block is left. A user who sets together=no replaces it.
    turned = {**every, "together": ("no",) if effort.name == "full" and ranks <= MOST_BY_TURNS else ("yes",)}
    sampling = Sampling(width, 0.08 if quick else 0.3, effort.sampling.least, 2000)
    return (
        Axes(single, sampling, 0.02, is_swept, choices=CHOICES),
        Axes({**single, "message_bytes": (0, LARGE)}, sampling, 0.02, has_data),
        Axes(every, pairs, 0.01, is_at_once, choices=CHOICES),
        Axes(turned, shared, 0.01, is_by_turns, choices=CHOICES),
    )


def latency(seconds: float, record: Record) -> float | None:
    """Returns S = T/2N of one way; in a round, of the slowest pair. None for both ways at once."""
    return None if _is_two_way(record.parameters) else seconds * record.work["pairs"] / record.work["messages"]


def exchange_time(seconds: float, record: Record) -> float | None:
    """Returns the seconds of sending and receiving at once; None for one way."""
    return seconds if _is_two_way(record.parameters) else None


def bandwidth(seconds: float, record: Record) -> float | None:
    """Returns R = 2NL/T of a pair; in a round, of the slowest pair."""
    return record.work["bytes"] / record.work["pairs"] / seconds or None


metrics = (
    Metric("latency", "s", "lower", "time of one way", latency),
    Metric("exchange_time", "s", "lower", "time of one message in each direction at once", exchange_time),
    Metric("bandwidth", "B/s", "higher", "bandwidth of a pair (for two-way: the sum of both directions)", bandwidth),
)

roles = (Messages("transfer", title="transfer"),)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the link's rate if a system file gives it and each node has one rank; twice the rate for two-way."""
    link = machine.limits.get("network_bandwidth")
    if metric != "bandwidth" or link is None or len(machine.hosts) < 2 or result.parameters.get("ranks_per_node") != 1:
        return None
    if _is_two_way(result.parameters):
        return Limit(2 * link.value, link.unit, f"both directions of a full-duplex link: twice {link.source}")
    return link


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of latency and bandwidth of each partner of rank 0, of bandwidth against size, and the matrices."""
    single = select(results, kernel="transfer")
    partner, rate = Axis("rank"), Axis("bandwidth", "B/s")
    empty, large = (select(single, message_bytes=s) for s in (0, LARGE))
    names = ("direction", *FACTORS)
    return (
        Figure("transfer-latency", "Latency between rank 0 and each other rank", "lines", partner, Axis("latency", "s"),
               _points(against("partner", "latency", empty, names=FACTORS)),
               caption=f"The latency is half of the round trip of an empty message.{_spread(empty)}{_printed_spread()}"),
        Figure("transfer-partners", "Bandwidth between rank 0 and each other rank (1 MiB)", "lines", partner, rate,
               _points(against("partner", "bandwidth", large, names=names)),
               caption=f"Two-way is the sum of both directions.{_spread(large)}"),
        *_draw_sizes(single, machine),
        *_matrices(results),
    )  # fmt: skip


def _spread(results: Sequence[Result]) -> str:
    """Returns a sentence on the spread with a leading space; "" for one partner."""
    words = [
        f"{quantity(one.share, '%', 2)} ({one.results[0].parameters['direction']}, "
        f"{messages.describe_ranks(one.results[0])})"
        for one in spreads(results)
    ]
    return f" Spread of the partners, (greatest − lowest) / median: {'; '.join(words)}." if words else ""


def _printed_spread() -> str:
    """Returns a sentence on the published spreads of the latency, with a leading space."""
    words = [
        f"less than {quantity(entry.value, '%', 2)} ({entry.system})"
        for entry in others.select("network.transfer", "latency_spread")
    ]
    return f" Published: {'; '.join(words)}." if words else ""


def _draw_sizes(single: Sequence[Result], machine: Machine) -> list[Figure]:
    """Draws one figure of up to two partners, or one figure for each direction with a line for each partner."""
    ranks = sorted({int(r.parameters["partner"]) for r in single if r.parameters["message_bytes"] not in (0, LARGE)})
    names = ("direction", *FACTORS)
    title, drawn = "Bandwidth between two ranks against the size of the message", []
    for way in ("one-way", "two-way") if len(ranks) > 2 else ("",):
        of_way = select(single, direction=way) if way else single
        lines = [
            replace(line, name=f"rank {rank}, {line.name}" if line.name != "bandwidth" else f"rank {rank}")
            for rank in ranks
            for line in against("message_bytes", "bandwidth", select(of_way, partner=rank), names=names)
        ]
        printed = draw_printed("network.transfer", "transfer", "bandwidth", "message_bytes", lines)
        drawn.append(
            Figure(f"transfer-size{'-' if way else ''}{way}", f"{title}{', ' if way else ''}{way}", "lines",
                   Axis("message size", "B", log=True), Axis("bandwidth", "B/s", log=True),
                   (*lines, *(printed if way != "one-way" else ())), marks=cache_marks(machine),
                   caption=f"Rank 0 with {'each' if way else 'the first and the last'} other rank."
                   f"{'' if way == 'one-way' else ' Two-way is the sum of both directions.'}"))  # fmt: skip
    return drawn


def _is_two_way(parameters: Parameters) -> bool:
    return parameters.get("direction") == "two-way"


def _points(lines: Sequence[Series]) -> tuple[Series, ...]:
    """Returns the lines as single points: the ranks form no trend."""
    return tuple(replace(line, connected=False) for line in lines)


def _matrices(results: Sequence[Result]) -> tuple[Figure, ...]:
    """Draws a matrix for each variant and size; without measurements, only the titles."""
    groups = variants(record for result in results for record in result.records)
    varying = {name for key in groups for name, value in key if any(dict(k).get(name) != value for k in groups)}
    matrices = []
    for key, records in groups.items() or [((), ())]:
        words = ", ".join(f"{name} {value}" for name, value in key if name in varying)
        sizes = sorted({int(r.parameters["message_bytes"]) for r in records})
        for name, size in zip(("small", "large"), (sizes[0], sizes[-1]) if sizes else MATRIX_SIZES, strict=True):
            matrices.append(_matrix(records, name, size, words))
    return tuple(matrices)


def _matrix(records: Sequence[Record], name: str, size: int, words: str) -> Figure:
    seconds = {pair: median(times) for pair, times in pair_seconds(records, size).items()}
    ranks, where = sorted({rank for pair in seconds for rank in pair}), hosts_of(records)
    labels = tuple(f"{rank} {where[rank]}" if len(set(where)) > 1 else str(rank) for rank in ranks)
    return Figure(
        name="-".join(["transfer-matrix", name, *words.replace(",", "").split()]),
        title=f"All pairs: time of one way of {'a small' if name == 'small' else 'a large'} message"
        + (f" ({words})" if words else ""),
        kind="heat",
        x=Axis("rank"),
        y=Axis("rank"),
        columns=labels,
        rows=labels,
        z=tuple(tuple(seconds.get((min(a, b), max(a, b))) for b in ranks) for a in ranks),
        value=Axis("time of one way", "s"),
        caption=_describe(seconds, size),
    )


def _describe(seconds: dict[tuple[int, int], float], size: int) -> str:
    """Describes the spread over the pairs."""
    if not seconds:
        return "No pair was measured."
    if len(seconds) == 1:
        return f"Messages of {binary_size(size)}, median of the launches. There is one pair."
    worst, middle = max(seconds, key=lambda pair: seconds[pair]), median(seconds.values())
    measured = f"Messages of {binary_size(size)}, medians of the launches. {len(seconds)} pairs were measured."
    return f"{measured} The slowest, {worst[0]} and {worst[1]}, takes {seconds[worst] / middle:.2f} times the median."
