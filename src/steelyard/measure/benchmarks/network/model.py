"""Cost of a message: latency, overhead and gap (LogGP)

One rank sends several messages in a row (a train) to another rank and waits for one answer. In some trains, the sender computes
between two messages. From the growth of the time with the number of messages, Steelyard calculates the parameters of the LogGP
model: the latency L, the time o that the sender's processor spends on a message (overhead), the time g between two messages
(gap), and the time G for each additional byte. A second kernel measures the overhead of the receiver: the time of a receive
whose message has already arrived.

Reading: For a program with few large messages, G matters most. For a program with many small messages, g matters most. For a
program that computes while messages are on their way, o matters most. Each protocol of the MPI (eager and rendezvous) has its
own parameters and its own line, fitted to the gaps. Where the points lie far from the lines, the model does not describe the
network.

Caution: Within one machine, the sender and the receiver both copy the message, and the sender waits if the buffer between them
is full. The gap is then the time of the slower copy, and the overhead of large messages contains this time. If the receiver
works while the message is still arriving, both overheads together exceed half of the round trip, and L cannot be calculated. In
this case, use half of the round trip.

Source: A. Alexandrov and others, LogGP: Incorporating Long Messages into the LogP Model, SPAA 1995; trains PRTT(n, d, s) after
T. Hoefler, A. Lichei and W. Rehm, Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks, IPDPS 2007.
"""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.measure.benchmarks.network.protocol import join_words, networks, places, sizes_of
from steelyard.measure.benchmarks.network.sizes import TWO_RANKS, pairs
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.statistics.models.hockney import fit_regions
from steelyard.statistics.models.loggp import LogGP, Train, fit_parameters

parallel = True

SIZES = (1, *(1 << k for k in range(4, 19)))  # bytes: up to 256 KiB, each step twice the last
QUICK = (1, 16, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
TRAIN = 16  # messages: the time of a further message is then about as accurate as that of one message
# Seconds. The sender's overhead shows if the delay covers the gap, best if it only just does.
DELAYS = (2e-6, 5e-6, 2e-5, 5e-5, 5e-4)
QUICK_DELAYS = (5e-6, 2e-5)
SHORT = (5e-6, 4096)  # (seconds, bytes): shorter delays do not cover the gaps of larger messages
ANSWERED = 5e-4  # seconds after which the answer has certainly arrived, before the receive is timed
PIECE = 1024  # bytes for which G is shown
BOUNDS = {"delay": (0, 1)}
demands = TWO_RANKS


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: round trips and trains over sizes and delays, for each placement of two ranks; receives of short messages."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.03 if quick else 0.15, effort.sampling.least, 2000)
    common: dict[str, tuple[Scalar, ...]] = {
        "ranks": (2,),
        "placement": pairs(machine),
        "transport": ("default",),
        "message_bytes": QUICK if quick else SIZES,
    }
    trains: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("trains",),
        "messages": (1, TRAIN),
        "delay": (0.0, *(QUICK_DELAYS if quick else DELAYS)),
    }
    receive: dict[str, tuple[Scalar, ...]] = {"kernel": ("receive",), "message_bytes": (1, 1024), "delay": (ANSWERED,)}
    blocks = [
        Axes(common | trains, sampling, 0.02, _is_useful, bounds=BOUNDS),
        Axes(common | receive, sampling, 0.02, bounds=BOUNDS),
    ]
    within = tuple(p for p in pairs(machine) if p != "other node")[:1]
    if within and not quick:
        alone: dict[str, tuple[Scalar, ...]] = {"placement": within, "transport": ("no shared memory",)}
        blocks += [replace(block, values={**block.values, **alone}) for block in blocks]
    return tuple(blocks)


def _is_useful(point: Parameters) -> bool:
    """Returns whether the delay has an effect: none on a single message, and a short delay none on long gaps."""
    delay = float(point["delay"])
    if point["messages"] == 1:
        return delay == 0
    return delay == 0 or delay > SHORT[0] or int(point["message_bytes"]) <= SHORT[1]


def train(seconds: float, record: Record) -> float | None:
    """Returns PRTT(n, d, s), in seconds; None for kernel `receive`."""
    return seconds if record.kernel == "trains" else None


def latency(seconds: float, record: Record) -> float | None:
    """Returns half of the round trip of a single message; None for trains."""
    return seconds / 2 if record.kernel == "trains" and record.parameters.get("messages") == 1 else None


def receive(seconds: float, record: Record) -> float | None:
    """Returns the median receive of the record; None for trains, and if it is shorter than a reading of the clock."""
    details = record.surroundings.details or {}
    return details.get("receive") if record.kernel == "receive" else None


metrics = (
    Metric("train", "s", "lower", "time of a train of messages and its answer", train),
    Metric("latency", "s", "lower", "half of a round trip", latency),
    Metric("receive", "s", "lower", "time to receive a message that has already arrived", receive),
)


def fits(results: Sequence[Result]) -> tuple[tuple[str, LogGP], ...]:
    """Returns (sizes, parameters) of each protocol in the results of one network, with sizes as "1 B to 4 KiB".

    The regions are those of the round trips (statistics.hockney). If it finds no regions, all sizes form one.
    """
    trains, received = _trains(results), _read_receive_times(results)
    alone = [(float(t.size), t.seconds / 2) for t in trains if t.messages == 1]
    borders = [(r.first, r.last) for r in fit_regions(alone)]
    borders = borders or ([(min(alone)[0], max(alone)[0])] if alone else [])
    fitted = []
    for first, last in borders:
        inside = [t for t in trains if first <= t.size <= last]
        fitted.append((sizes_of(first, last), fit_parameters(inside, received)))
    return tuple(fitted)


def _trains(results: Sequence[Result]) -> list[Train]:
    return [
        Train(
            int(r.parameters["messages"]),
            float(r.parameters["delay"]),
            int(r.parameters["message_bytes"]),
            r.metrics["train"].value,
        )
        for r in results
        if "train" in r.metrics
    ]


def _read_receive_times(results: Sequence[Result]) -> dict[int, float]:
    return {int(r.parameters["message_bytes"]): r.metrics["receive"].value for r in results if "receive" in r.metrics}


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of gaps and overheads with a line for each protocol, of the residuals, and of the parameters."""
    points: list[Series] = []
    left: list[Series] = []
    bars: list[Series] = []
    for name, members in networks(results).items():
        received = _read_receive_times(members)
        for sizes, fit in fits(members):
            points += _gaps(join_words(name, sizes), fit)
            left += _draw_left_out(join_words(name, sizes), fit)
            bars += _parameters(join_words(name, sizes), fit, received)
    size = Axis("message size", "B", log=True)
    gaps = Figure(
        name="loggp-gaps",
        title="Time of each further message, and the lines of the LogGP model",
        kind="lines",
        x=size,
        y=Axis("time for each further message", "s", log=True),
        series=tuple(points),
        caption="Gap: time between messages that are sent without a pause. Overhead: processor time of the sender. "
        "The lines show g + (s − 1)·G for the message size s.",
    )
    residuals = Figure(
        name="loggp-residuals",
        title="Residuals of the model's lines",
        kind="lines",
        x=size,
        y=Axis("(measured − line) / measured", "%"),
        series=tuple(left),
    )
    table = Figure(
        name="loggp-parameters",
        title="The parameters of LogGP for each protocol",
        kind="bars",
        x=Axis("parameter"),
        y=Axis("time", "s", log=True),
        series=tuple(bars),
        caption="L, o and half of the round trip are the values at the smallest size of each protocol. Values that "
        "are not positive are left out.",
    )
    return gaps, residuals, table


def _gaps(name: str, fit: LogGP) -> list[Series]:
    series = []
    for what, pairs_ in (("gap", fit.gaps), ("overhead", fit.overheads)):
        shown = [(float(size), value) for size, value in pairs_ if value > 0]
        if shown:
            x, y = zip(*shown, strict=True)
            series.append(Series(join_words(name, what), x, y, connected=False))
    if len(fit.gaps) > 1 and fit.gap is not None:
        sizes = places(fit.gaps[0][0], fit.gaps[-1][0])
        series.append(Series(join_words(name, "g + (s − 1)·G"), sizes, tuple(_predict_time(fit, s) for s in sizes)))
    return series


def _draw_left_out(name: str, fit: LogGP) -> list[Series]:
    if len(fit.gaps) < 2 or fit.gap is None:
        return []
    pairs_ = [(float(size), (value - _predict_time(fit, size)) / value) for size, value in fit.gaps if value > 0]
    x, y = zip(*pairs_, strict=True)
    return [Series(name, x, y, connected=False)]


def _predict_time(fit: LogGP, size: float) -> float:
    return (fit.gap or 0.0) + max(0.0, size - 1) * (fit.gap_per_byte or 0.0)


def _parameters(name: str, fit: LogGP, received: dict[int, float]) -> list[Series]:
    least = min((size for size, _ in fit.overheads), default=None)
    values = {
        "L, latency": fit.latency,
        "o, sender's overhead": fit.overhead,
        "receiver's overhead": received.get(least) if least is not None else None,
        "g, gap": fit.gap,
        f"G · {PIECE} B": None if fit.gap_per_byte is None else fit.gap_per_byte * PIECE,
        "half of the round trip": fit.half_round_trip,
    }
    return [Series(name, tuple(values), tuple(values.values()))] if any(values.values()) else []
