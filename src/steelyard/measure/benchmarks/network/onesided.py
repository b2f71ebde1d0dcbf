"""One-sided communication (put, get, accumulate, atomics)

A rank writes into the memory of another rank, reads it, adds to it, or changes a single word atomically (fetch and add, compare
and swap). The other rank takes no part. The kernel uses MPI windows. For the latency, the kernel measures the time of one
operation with the synchronisation that completes it. For bandwidth and rate, it measures 64 operations with one
synchronisation.

Reading: If the network hardware carries out one-sided operations, a put takes about one trip through the network and a get
about one round trip. At small sizes both are faster than a message. If they take longer than a ping-pong, the MPI implements
them with messages. There are three kinds of synchronisation. Fence synchronises both ranks. Lock asks the target first. Flush
under a permanent lock is the fastest. With fresh buffers, every operation uses other memory, in the window, too, until twice
the size of all last-level caches is used.

Caution: The target calls MPI again and again while it waits. An MPI that implements one-sided operations with messages needs
this: it would not answer during a long computation without calls to MPI. Within one machine windows lie in shared memory, and a
put is a copy. The transport "no shared memory" keeps windows out of shared memory, too, if the MPI allows it. Open MPI 4
crashes at a compare and swap between two ranks of one machine. For this case, the kernel uses a window of
MPI_Win_allocate_shared, and the record says so. The times are measured at the origin, which is the rank that starts the
operation.

Source: MPI 3.1, chapter 11; latency and bandwidth with a window of 64 as in osu_put_latency, osu_put_bw and related programs,
with MPI_Win_allocate and flush.
"""

from statistics import median

from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.network.sizes import BUFFERS, TWO_RANKS, limit_of_link, message_sizes, pairs
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure
from steelyard.statistics.results.messages import rank_seconds

parallel = True

MOVING = ("put", "get", "accumulate")
ATOMIC = ("fetch_and_op", "compare_and_swap")
WINDOW = 64  # operations before a synchronisation, as in the OSU benchmarks
WINDOW_BYTES = 4 << 20  # of all operations together: for larger sizes, one operation fills the link
FRESH = (1 << 13, 1 << 17)  # bytes, in a quick run: fresh buffers need half a second of set-up
demands = {
    **TWO_RANKS,
    "buffers=fresh needs put or get": lambda p: p["buffers"] != "fresh" or p["kernel"] in ("put", "get"),
    "atomic operations need 8 bytes": lambda p: p["message_bytes"] == 8 or p["kernel"] not in ATOMIC,
    "accumulate needs a multiple of 8 bytes": lambda p: p["message_bytes"] % 8 == 0 or p["kernel"] != "accumulate",
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each operation over the sizes, one and 64 at a time; synchronisations, fresh buffers, transports."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.04 if quick else 0.15, effort.sampling.least, 2000)
    sizes = message_sizes(effort, least=8, largest=(1 << 22) if quick else (1 << 24))
    nearest = pairs(machine)[:1] if quick else pairs(machine)

    def block(values: dict[str, tuple[Scalar, ...]], setup: float = 0.02) -> Axes:
        every: dict[str, tuple[Scalar, ...]] = {
            "kernel": MOVING,
            "ranks": (2,),
            "placement": nearest,
            "transport": ("default",),
            "synchronisation": ("flush",),
            "buffers": ("reused",),
            "window": (1,),
            "message_bytes": sizes,
        }
        choices = {"synchronisation": ("flush", "fence", "lock"), "buffers": BUFFERS}
        return Axes(every | values, sampling, setup, _fits, choices=choices)

    blocks = [
        block({"window": (1, WINDOW)}),
        block({"kernel": ATOMIC, "window": (1, WINDOW), "message_bytes": (8,)}),
        block(
            {
                "kernel": ("put", "get"),
                "synchronisation": ("fence", "lock"),
                "message_bytes": (8, 1 << 15) if quick else sizes,
            }
        ),
        block(
            {
                "kernel": ("put",) if quick else ("put", "get"),
                "buffers": ("fresh",),
                "message_bytes": FRESH if quick else sizes[3:],
            },
            0.4,
        ),
    ]
    within = tuple(p for p in pairs(machine) if p != "other node")[:1]
    if within and not quick:
        alone: dict[str, tuple[Scalar, ...]] = {"placement": within, "transport": ("no shared memory",)}
        blocks += [block(alone), block(alone | {"kernel": ATOMIC, "message_bytes": (8,)})]
    return tuple(blocks)


def _fits(point: Parameters) -> bool:
    return point["window"] == 1 or int(point["window"]) * int(point["message_bytes"]) <= WINDOW_BYTES


def _origin_seconds(seconds: float, record: Record) -> float:
    """Returns the time of the origin. The target ends one message later."""
    if record.parameters.get("synchronisation") == "fence":
        return seconds
    seconds_of_origin = next(iter(rank_seconds(record)), ())
    return (
        seconds * median(seconds_of_origin) / record.operations / median(record.samples)
        if seconds_of_origin and record.samples
        else seconds
    )


def latency(seconds: float, record: Record) -> float | None:
    """Returns the seconds of an operation with its synchronisation; None if several operations share one."""
    return _origin_seconds(seconds, record) if record.work["messages"] == 1 else None


def bandwidth(seconds: float, record: Record) -> float | None:
    """Returns the bytes per second; None for atomic operations, which change a single word."""
    return None if record.kernel in ATOMIC else record.work["bytes"] / _origin_seconds(seconds, record)


def rate(seconds: float, record: Record) -> float:
    """Returns the operations per second, one after the other or several at a time."""
    return record.work["messages"] / _origin_seconds(seconds, record)


metrics = (
    Metric("latency", "s", "lower", "time of one operation, complete at the target", latency),
    Metric("bandwidth", "B/s", "higher", "bandwidth", bandwidth),
    Metric("rate", "1/s", "higher", "operations per second", rate),
)

limit = limit_of_link


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of latency and bandwidth against the size, and of the atomic operations."""
    moving = tuple(r for r in results if r.kernel in MOVING)
    names = ("kernel", "placement", "transport", "synchronisation", "buffers", "mpi", "toolchain")
    size = Axis("bytes of an operation", "B", log=True)
    single = Figure(
        name="onesided-latency",
        title="Time of one operation against its size",
        kind="lines",
        x=size,
        y=Axis("time until it is complete", "s", log=True),
        series=against("message_bytes", "latency", select(moving, window=1), names=names),
        marks=cache_marks(machine),
        caption="The time includes the synchronisation that completes the operation.",
    )
    rates = Figure(
        name="onesided-bandwidth",
        title="Bandwidth of one-sided operations against their size",
        kind="lines",
        x=size,
        y=Axis("bandwidth", "B/s", log=True),
        series=against("message_bytes", "bandwidth", moving, names=("kernel", "window", *names[1:])),
        marks=cache_marks(machine),
        caption=f"With window 1, each operation completes before the next one starts. With window {WINDOW}, {WINDOW} "
        "operations run at the same time.",
    )
    atomics = Figure(
        name="onesided-atomic",
        title="Atomic operations on one word of another rank",
        kind="lines",
        x=Axis("operations before a synchronisation"),
        y=Axis("operations per second", "1/s", log=True),
        series=against("window", "rate", tuple(r for r in results if r.kernel in ATOMIC), names=names),
    )
    return single, rates, atomics
