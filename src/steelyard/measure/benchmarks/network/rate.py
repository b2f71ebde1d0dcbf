"""Message rate and bandwidth of many pairs

Ranks i and i + P/2 are a pair. One, two, four … pairs send windows of 64 messages at once, without waiting for each message.
With one way, the receiver acknowledges each window with one byte. With both ways, each rank sends a window while it receives
one. The message rate counts the messages of all pairs, the bandwidth all their bytes: in one direction for one way, in both
directions for both ways.

Reading: With more pairs, the message rate rises as long as each additional core can send more messages. The bandwidth rises
until it reaches the limit of the network. If a line falls again, the network or the memory cannot carry the load. Where the
lines over the message size become level, larger messages bring no further gain: your messages should have at least this size.
Both ways should reach twice the value of one way if the links are full duplex.

Caution: Within one machine all messages are copies in memory, and the pairs share its bandwidth. The time of a window ends when
the slowest pair ends; the program osu_mbw_mr uses the mean of the senders. Here each message of a window has its own place in
memory. The program osu_bw uses the same place for all messages (here: --set places=one), so they stay in a cache. With more
than two nodes the pairs lie across the middle of the list of nodes.

Source: One way: osu_bw and osu_mbw_mr of the OSU micro-benchmarks, and IMB Uniband; both ways: osu_bibw and IMB Biband. The
window of 64 messages is that of OSU (IMB: 256 since version 2021.2).
"""

from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.network.pairs_tolerance import tolerance_figure
from steelyard.measure.benchmarks.network.sizes import ANYWHERE, RANKS_FOR_PAIRS, message_sizes, rank_counts
from steelyard.measure.benchmarks.rates import per_second
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Result, Sampling
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import PairsPoint

parallel = True
WINDOW = 64
LARGEST = 1 << 20  # bytes: a window has 64 MiB, far more than the half-bandwidth length of any network
SHARE = 4  # the two buffers of all ranks use at most a quarter of the memory
SMALL, LARGE = 8, 1 << 20  # bytes of the messages that are drawn against the pairs
MOST_PAIRS = 64  # planned at least, for users who set more ranks than there are processors
MOST_HALVES = 1024  # pairs up to which any half of the ranks that a user sets is planned, too
FACTORS = ("kernel", "pairs", "window", "places", "buffers", "transport", "mpi", "toolchain")
demands = RANKS_FOR_PAIRS


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: all ranks; 1, 2, 4 … and all pairs; each size for one pair and for all pairs, few sizes for the others."""
    ranks = rank_counts(machine, effort)[-1]
    per_rank = machine.memory_available // (SHARE * min(ranks, len(machine.cpus) or 1))
    sizes = tuple(size for size in message_sizes(effort, largest=LARGEST) if 2 * WINDOW * size <= per_rank)
    few = tuple(sorted({SMALL, LARGE} & set(sizes)))
    sampling = Sampling(effort.sampling.width, 0.1 if effort.name == "quick" else 0.3, effort.sampling.least, 2000)

    def is_planned(point: Parameters) -> bool:
        half, pairs = int(point["ranks"]) // 2, int(point["pairs"])
        if pairs & (pairs - 1) and pairs != half:
            return False
        return pairs in (1, half) or point["message_bytes"] in few

    values = {
        "kernel": ("one_way", "both_ways"),
        "ranks": (ranks,),
        "placement": ("compact",),
        "transport": ("default",),
        "pairs": _list_pairs(ranks),
        "window": (WINDOW,),
        "places": ("own", "one") if effort.name == "full" else ("own",),
        "buffers": ("reused",),
        "message_bytes": sizes,
    }
    return (Axes(values, sampling, 0.05, is_planned, choices={"places": ("own", "one"), "buffers": ANYWHERE}),)


def _list_pairs(ranks: int) -> tuple[int, ...]:
    """Returns the numbers of pairs that may be planned: of tens of thousands of pairs only powers of two, and all."""
    most = max(ranks // 2, MOST_PAIRS)
    powers = {1 << n for n in range(most.bit_length()) if 1 << n <= most}
    return tuple(sorted({*range(1, min(most, MOST_HALVES) + 1), *powers, ranks // 2}))


message_rate = per_second("messages")
bandwidth = per_second("bytes")
metrics = (
    Metric("message_rate", "message/s", "higher", "messages of all pairs", message_rate),
    Metric("bandwidth", "B/s", "higher", "bandwidth of all pairs (both directions if both are used)", bandwidth),
)

roles = (PairsPoint("one_way", "message rate"),)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of bandwidth and rate against the number of pairs ("tolerance of the network") and the size."""
    pairs, size = Axis("pairs", log=True), Axis("message size", "B", log=True)
    rate, width = Axis("message rate", "message/s", log=True), Axis("bandwidth", "B/s", log=True)
    many = tuple(name for name in FACTORS if name != "pairs")
    small, large = (select(results, message_bytes=size) for size in (SMALL, LARGE))
    sized = tuple(r for r in results if r.parameters["message_bytes"])
    together = (
        "The figures show the sum of all pairs. If a line falls, the network cannot carry the load of more pairs."
    )
    return (
        Figure("rate-pairs-bandwidth", "Tolerance: bandwidth against the number of pairs (1 MiB)", "lines", pairs, width,
               against("pairs", "bandwidth", large, names=many), caption=together),
        Figure("rate-pairs-messages", "Tolerance: message rate against the number of pairs (8 B)", "lines", pairs, rate,
               against("pairs", "message_rate", small, names=many)),
        Figure("rate-size-bandwidth", "Bandwidth of windows of messages against their size", "lines", size, width,
               against("message_bytes", "bandwidth", results, names=FACTORS), marks=cache_marks(machine)),
        Figure("rate-size-messages", "Message rate against the size", "lines", size, rate,
               against("message_bytes", "message_rate", sized, names=FACTORS),
               caption="A logarithmic axis cannot show a message of 0 bytes. The table has its rate."),
        *tolerance_figure(select(results, kernel="one_way"), "network.rate"),
    )  # fmt: skip
