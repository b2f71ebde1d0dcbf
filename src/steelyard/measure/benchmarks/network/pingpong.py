"""Latency and bandwidth of a pair (ping-pong)

Two ranks send a message back and forth; the time of one way is half of the round trip. Sizes go from zero to 64 MiB. The kernel
measures with reused buffers and with fresh buffers. With fresh buffers, each message uses other memory, until twice the size of
all last-level caches is used. Only then are the first addresses used again.

Reading: The left end of a curve shows the latency, the right end the bandwidth. If reused buffers are faster than fresh ones,
the data of the reused buffers lie in the caches. An application whose messages are not in the caches gets the speed of fresh
buffers. If the time jumps between two sizes, the MPI changes its protocol there, from eager to rendezvous.

Caution: Within one machine, a message is a copy in memory, and the benchmark does not measure a network. The time of one way is
half of the round trip, so the result does not show whether one direction is slower. `--set buffers=device` uses the memory of
devices, which the ranks of a host take in turn. An MPI that does not state that it can send such memory is refused.

Source: MPI_Send and MPI_Recv as in IMB PingPong and osu_latency; the walk through the caches as in IMB's option -off_cache; the
effect of reused buffers: measurements of MPICH-MX on a Hitachi HA8000.
"""

from steelyard.measure.benchmarks.figures import against, cache_marks, select
from steelyard.measure.benchmarks.network.protocol import hockney
from steelyard.measure.benchmarks.network.sizes import (
    ANYWHERE,
    BUFFERS,
    TWO_RANKS,
    limit_of_link,
    message_sizes,
    pairs,
    reuse_bands,
)
from steelyard.measure.benchmarks.rates import per_second, seconds_for_each
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Machine, Metric, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import Headline, Messages
from steelyard.statistics.results import messages

parallel = True
demands = TWO_RANKS


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each placement of two ranks, both kinds of buffers, all sizes; with and without shared memory."""
    sampling = Sampling(effort.sampling.width, 0.1 if effort.name == "quick" else 0.4, effort.sampling.least, 2000)
    values: dict[str, tuple[Scalar, ...]] = {
        "kernel": ("pingpong",),
        "ranks": (2,),
        "placement": pairs(machine),
        "buffers": BUFFERS,
        "message_bytes": message_sizes(effort),
    }
    within = tuple(p for p in pairs(machine) if p != "other node")
    blocks = [Axes({**values, "transport": ("default",)}, sampling, 0.02, choices={"buffers": ANYWHERE})]
    if within:
        alone: dict[str, tuple[Scalar, ...]] = {**values, "placement": within, "transport": ("no shared memory",)}
        blocks.append(Axes(alone, sampling, 0.02))
    return tuple(blocks)


metrics = (
    Metric("latency", "s", "lower", "time of one way", seconds_for_each("messages")),
    Metric("bandwidth", "B/s", "higher", "bandwidth of one way", per_second("bytes")),
)

# Reused buffers lie in a cache, which changes the time of each message that is not empty.
_USUAL = (("transport", "default"), ("buffers", "fresh"))
LONG_MESSAGE = 256 << 10  # bytes: the start-up time is then small
OWN_BUFFERS = 2  # of each rank: one to send, one to receive
roles = (
    Headline(
        name="message",
        title="Short message, one way",
        unit="s",
        order=50,
        least=("ranks", "message_bytes"),
        usual=_USUAL,
    ),
    Headline(
        name="messages",
        title="Long messages, one way",
        unit="B/s",
        order=51,
        least=("ranks",),
        usual=_USUAL,
        fits=lambda result: messages.size(result) >= LONG_MESSAGE,
    ),
    Messages("pingpong", OWN_BUFFERS, "ping-pong"),
)

limit = limit_of_link


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of time and bandwidth against the size for each placement, transport and buffer; Hockney's lines."""
    shown = select(results, kernel="pingpong")
    names = ("placement", "transport", "buffers", "mpi", "toolchain")
    size = Axis("message size", "B", log=True)
    times, rates = (against("message_bytes", metric, shown, names=names) for metric in ("latency", "bandwidth"))
    time = Figure(
        name="pingpong-time",
        title="Time of one way against the size of the message",
        kind="lines",
        x=size,
        y=Axis("time of one way", "s", log=True),
        series=(*times, *draw_printed("network.pingpong", "pingpong", "latency", "message_bytes", times)),
        marks=cache_marks(machine),
        caption="A logarithmic axis cannot show a message of 0 bytes. The table has its time.",
    )
    rate = Figure(
        name="pingpong-bandwidth",
        title="Bandwidth of one way against the size of the message",
        kind="lines",
        x=size,
        y=Axis("bandwidth", "B/s", log=True),
        series=(*rates, *draw_printed("network.pingpong", "pingpong", "bandwidth", "message_bytes", rates)),
        marks=cache_marks(machine),
        bands=reuse_bands(shown, machine, OWN_BUFFERS),
        caption="Reused buffers lie in the caches. In an application, expect the bandwidth of fresh buffers.",
    )
    return time, rate, *hockney(results)
