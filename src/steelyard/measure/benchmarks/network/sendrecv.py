"""Sendrecv and Exchange along a chain

All ranks form a closed chain and communicate at once. In Sendrecv each rank sends a message to its right neighbour and receives
one from the left, by one call. In Exchange it sends to both neighbours and receives from both. The kernel runs with two ranks
at every distance (such as the same cache, another socket or another node) and with all ranks. It uses reused and fresh buffers,
with and without shared memory.

Reading: Compare the lines of reused and fresh buffers: if the reused ones are faster, their data lie in the caches. A rank
needs one buffer to send and one to receive. The advantage therefore ends where twice the message size exceeds a cache: first
the cache of a single core, then the caches that several cores share. Without shared memory the line is smooth, because the copy
by the network software has no such steps. If many ranks are slower than two, they share a cache, a memory or a link.

Caution: The bandwidth here counts the data that a rank sends in a second. It receives the same amount at the same time. IMB
counts both, and the metric `imb_bandwidth` does the same: it counts twice the message for Sendrecv and four times the message
for Exchange. Within one machine, a message is a copy in memory, and the benchmark does not measure a network.

Source: IMB Sendrecv and Exchange, with the walk through the caches as in IMB's option -off_cache. The effect of reused buffers
on Sendrecv: measurements of MPICH-MX on a Hitachi HA8000.
"""

from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.network.sizes import (
    ANYWHERE,
    BUFFERS,
    LARGEST,
    TWO_RANKS,
    limit_of_link,
    message_sizes,
    pairs,
    rank_counts,
    reuse_bands,
)
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import Messages

parallel = True
SHARE = 2  # the buffers of all ranks use at most half of the memory
FACTORS = ("ranks", "placement", "transport", "buffers", "mpi", "toolchain")
TITLES = {"sendrecv": "Sendrecv", "exchange": "Exchange"}
OWN_BUFFERS = {"sendrecv": 2, "exchange": 4}  # of each rank: one to send and one to receive, for each neighbour
demands = TWO_RANKS


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: two ranks in each placement, with and without shared memory; more ranks side by side."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.06 if quick else 0.3, effort.sampling.least, 2000)
    here = max(1, len(machine.cpus))

    def fits(point: Parameters) -> bool:
        # One message or two each way, and fresh buffers at two places at least.
        messages = (2 if point["kernel"] == "exchange" else 1) * (2 if point["buffers"] == "fresh" else 1)
        ranks = min(int(point["ranks"]), here)
        return 2 * messages * int(point["message_bytes"]) * ranks * SHARE <= machine.memory_available

    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("sendrecv", "exchange"),
        "ranks": (2,),
        "placement": pairs(machine),
        "transport": ("default",),
        "buffers": BUFFERS,
        "message_bytes": message_sizes(effort, largest=LARGEST),
    }
    blocks = [Axes(values, sampling, 0.03, fits, choices={"buffers": ANYWHERE})]
    within = tuple(p for p in pairs(machine) if p != "other node")
    apart: dict[str, tuple[Scalar, ...]] = {"placement": within, "transport": ("no shared memory",)}
    if quick:
        apart["kernel"] = ("sendrecv",)
    if within:
        blocks.append(Axes(values | apart, sampling, 0.03, fits))
    counts = tuple(n for n in rank_counts(machine, effort) if n > 2)
    for ranks, transport in ((counts[-1:] if quick else counts, "default"), (counts[-1:], "no shared memory")):
        many: dict[str, tuple[Scalar, ...]] = {"ranks": ranks, "placement": ("compact",), "transport": (transport,)}
        if ranks:
            blocks.append(Axes(values | many, sampling, 0.03, fits))
    return tuple(blocks)


bandwidth = per_second("bytes_sent")  # that a rank sends; it receives as many at the same time


def imb_bandwidth(seconds: float, record: Record) -> float | None:
    """Returns the bytes per second that a rank sends and receives: 2·X/t of Sendrecv, 4·X/t of Exchange."""
    return 2 * record.work["bytes_sent"] / seconds or None


metrics = (
    Metric("time", "s", "lower", "time of an exchange", elapsed),
    Metric("bandwidth", "B/s", "higher", "bytes that a rank sends per second (it receives as many)", bandwidth),
    Metric(
        "imb_bandwidth", "B/s", "higher", "bandwidth as in IMB: bytes that a rank sends and receives", imb_bandwidth
    ),
)

roles = (
    Messages("sendrecv", OWN_BUFFERS["sendrecv"], TITLES["sendrecv"]),
    Messages("exchange", OWN_BUFFERS["exchange"]),
)

limit = limit_of_link


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of time and bandwidth of both kernels against the size, for each placement and buffer."""
    size = Axis("message size", "B", log=True)
    zero = "A logarithmic axis cannot show a message of 0 bytes. The table has its time."
    drawn = []
    for kernel, title in TITLES.items():
        shown = select(results, kernel=kernel)
        sized = tuple(r for r in shown if r.parameters["message_bytes"])
        lines = against("message_bytes", "bandwidth", shown, names=FACTORS)
        sent = (
            "The bandwidth counts the bytes that a rank sends. IMB also counts the received bytes. Reused buffers lie in "
            "the caches."
        )
        drawn.append(
            Figure(f"{kernel}-bandwidth", f"{title}: bandwidth against the size of the message", "lines", size,
                   Axis("bandwidth", "B/s", log=True), lines, marks=cache_marks(machine),
                   bands=reuse_bands(shown, machine, OWN_BUFFERS[kernel]), caption=sent)
        )  # fmt: skip
        drawn.append(
            Figure(f"{kernel}-time", f"{title}: time against the size of the message", "lines", size,
                   Axis("time", "s", log=True), against("message_bytes", "time", sized, names=FACTORS),
                   marks=cache_marks(machine), caption=zero)
        )  # fmt: skip
    return tuple(drawn)
