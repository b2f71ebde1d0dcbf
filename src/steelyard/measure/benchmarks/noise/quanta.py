"""Noise of the operating system (fixed work and fixed time quanta)

The operating system and other programs interrupt a program from time to time (noise). The kernel runs one thread on every
processor. In the first part (fixed work), each thread repeats the same piece of work of about 100 µs, without access to memory.
If a piece takes longer than usual, something else used the processor. In the second part (fixed time), the threads count how
much work they do in intervals of 100 µs.

Reading: A quantum is one piece of work or one interval. A detour is an interruption that makes a quantum longer. One processor
often loses only a small share of its time. In a parallel program, however, all ranks wait for the rank with the longest detour.
With thousands of ranks, one of them is nearly always interrupted. Lines in the spectrum show periodic events. A line at 100,
250 or 1000 Hz is the timer of the operating system; lines at lower frequencies are usually background programs (daemons). If
all threads have a point at the same moment, one event stopped all of them.

Caution: The results include everything that uses the machine: other programs, and in a virtual machine also the hypervisor. If
other programs ran, the record is called DISTURBED. The work does not access memory, so it does not show that detours also slow
down later memory accesses. A frequency above half of the rate of the quanta appears as a lower frequency in the spectrum. A
measurement of seconds does not show rare events, such as one interruption in an hour.

Source: Fixed work and fixed time quanta after the FTQ and FWQ micro-benchmarks (M. Sottile and R. Minnich, Analysis of
Microbenchmarks for Performance Tuning of Clusters, Cluster 2004); detours as P. Beckman and others define them, The Influence
of Operating Systems on the Performance of Collective Operations at Extreme Scale, Cluster 2006.
"""

from itertools import chain

from steelyard.measure.benchmarks.noise.series import (
    amplitudes,
    median_detours,
    slices,
    threads,
    threads_with_detours,
    tones,
)
from steelyard.model import Axes, Effort, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.model.units import quantity
from steelyard.statistics.models.detours import Detours, expected_collective_slowdown, histogram

QUANTA = 100  # of a series: 10 ms without a gap
SERIES = 100  # gives 10 000 quanta for each thread: 1 s
MOST_POINTS = 3000  # of a figure
BURSTS = (1e-4, 1e-3, 1e-2)  # seconds of computing between two synchronisations
MOST_RANKS = 1 << 16
unread = ("page_size", "memory_policy")


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: both kernels on all processors. The duration is fixed, because rare interruptions matter, not the median."""
    sampling = Sampling(effort.sampling.width, 1.0 if effort.name == "quick" else 2.0, SERIES, SERIES)
    every = (len(machine.cpus),)
    values: dict[str, tuple[Scalar, ...]] = {"kernel": ("fixed_work", "fixed_time"), "threads": every}
    values |= {"pinning": ("compact",), "quantum": (1e-4,), "quanta": (QUANTA,)}
    return (Axes(values, sampling, 0.1 + SERIES * QUANTA * 1e-4, bounds={"quantum": (1e-5, 1e-2)}),)


def find_lost_share(seconds: float, record: Record) -> float | None:
    """Returns the lost share of the time of all threads; None if the clock shows no loss."""
    if record.kernel == "fixed_time":
        shares = list(chain.from_iterable(s.lost for s in slices(record)))
        share = sum(shares) / len(shares) if shares else 0.0
    else:
        all_detours = [s for _, s in threads_with_detours(record)]
        total = sum(s.seconds for s in all_detours)
        share = sum(s.lost * s.seconds for s in all_detours) / total if all_detours else 0.0
    return share if share > 0 else None


def find_lost_together(seconds: float, record: Record) -> float | None:
    """Returns the lost share of the median series, which ends with its slowest thread; None for fixed slices."""
    all_detours = [s for _, s in threads_with_detours(record)]
    least = (
        max((s.base for s in all_detours), default=0.0)
        * record.work["quanta"]
        / int(record.parameters.get("threads", 1))
    )
    return 1 - least / seconds if 0 < least < seconds else None


def find_longest(seconds: float, record: Record) -> float | None:
    """Returns the longest detour of all threads, in seconds; None if there is no detour."""
    return max((s.greatest for _, s in threads_with_detours(record) if s.greatest), default=None)


def rate(seconds: float, record: Record) -> float | None:
    """Returns the mean detours per second of one thread; None if there is no detour."""
    all_detours = [s for _, s in threads_with_detours(record)]
    return sum(s.count for s in all_detours) / sum(s.seconds for s in all_detours) or None if all_detours else None


metrics = (
    Metric("lost", "%", "lower", "share of the time that is lost", find_lost_share),
    Metric(
        "lost_together",
        "%",
        "lower",
        "share of the time that is lost if all threads wait for the slowest one after a series of quanta",
        find_lost_together,
    ),
    Metric("longest", "s", "lower", "longest detour", find_longest),
    Metric("rate", "1/s", "lower", "detours per second and processor", rate),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of the detours over time, their durations, their frequencies, and the loss of programs of many ranks."""
    records = [r for result in results for r in result.records if r.verdict.level != "INVALID"]
    worked = next((r for r in records if threads(r)), None)
    sliced = next((r for r in records if slices(r)), None)
    all_detours = [s for r in records for _, s in threads_with_detours(r)]
    cost = _cost(median_detours(worked) if worked else None)
    return _draw_over_time(worked), _lengths(all_detours), _spectrum(sliced, worked), cost


def _draw_over_time(record: Record | None) -> Figure:
    measured = threads_with_detours(record) if record else ()
    most = MOST_POINTS // max(1, len(measured))
    series = []
    for number, (thread, losses) in enumerate(measured):
        pairs = sorted(zip(losses.durations, losses.indices, strict=True), reverse=True)[:most]
        points = sorted((thread.starts[i], duration) for duration, i in pairs)
        if points:
            x, y = zip(*points, strict=True)
            series.append(Series(f"thread {number}", x, y, connected=False))
    return Figure(
        name="noise-time",
        title="Detours over the time",
        kind="lines",
        x=Axis("time", "s"),
        y=Axis("duration of the detour", "s", log=True),
        series=tuple(series),
        caption=f"The figure shows the detours of the first record. For each thread, it shows at most the {most} "
        "longest ones.",
    )


def _lengths(all_detours: list[Detours]) -> Figure:
    total = sum(s.seconds for s in all_detours)
    bins = histogram([d for s in all_detours for d in s.durations])
    names = tuple(f"{quantity(b.low, 's', 2)} to {quantity(b.high, 's', 2)}" for b in bins)
    series = Series("detours", names, tuple(b.count / total if b.count else None for b in bins))
    return Figure(
        name="noise-lengths",
        title="Durations of the detours",
        kind="bars",
        x=Axis("duration of the detour"),
        y=Axis("detours per second and processor", "1/s", log=True),
        series=(series,) if bins else (),
        caption="The figure contains all records of fixed work. Five bars cover a factor of ten in duration.",
    )


def _spectrum(sliced: Record | None, worked: Record | None) -> Figure:
    series = []
    for number, thread in enumerate(slices(sliced) if sliced else ()):
        points = amplitudes(thread)
        if points and number < MOST_POINTS // 300:
            x, y = zip(*points, strict=True)
            series.append(Series(f"thread {number}", x, y))
    marks = tuple(Mark("x", t.frequency, quantity(t.frequency, "Hz")) for t in (tones(worked) if worked else ()))
    return Figure(
        name="noise-spectrum",
        title="Frequencies of the lost time",
        kind="lines",
        x=Axis("frequency", "Hz", log=True),
        y=Axis("amplitude of the lost share", "%", log=True),
        series=tuple(series),
        marks=marks,
        caption="Each line shows the share of the time that a thread loses in the part with fixed time. The vertical marks "
        "come from the part with fixed work: its detours have these frequencies, and chance cannot explain them.",
    )


def _cost(losses: Detours | None) -> Figure:
    ranks = tuple(4**k for k in range(9) if 4**k <= MOST_RANKS)
    series = []
    for burst in BURSTS:
        slower = [expected_collective_slowdown(losses, n, burst).slowdown for n in ranks] if losses else []
        if any(slower):
            name = f"after each {quantity(burst, 's', 1)} of computing"
            series.append(Series(name, tuple(map(float, ranks)), tuple(s or None for s in slower)))
    return Figure(
        name="noise-cost",
        title="Expected loss of a program whose ranks wait for each other",
        kind="lines",
        x=Axis("ranks", log=True),
        y=Axis("slower by", "%", log=True),
        series=tuple(series),
        caption="This is a model, not a measurement. It assumes that each rank has the same detours as the processor "
        "with the median loss, at random moments.",
    )
