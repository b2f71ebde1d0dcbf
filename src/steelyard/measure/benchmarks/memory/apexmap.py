"""Memory access by locality (APEX-MAP)

The kernel reads blocks of L consecutive words from an array of 512 MB, at random start addresses. L is the spatial locality.
The exponent alpha is the temporal locality: with alpha = 1, all addresses are equally likely; with alpha near 0, nearly all
reads go to the same place. The kernel measures the time of a read for many pairs of L and alpha. The result is a surface. It
shows how much caches, prefetchers and address translation help a program with a given locality. Every thread has its own array.

Reading: Point G (L = 1, alpha = 1) has the worst locality: each read goes to a random address. Point L (L = 65536, alpha =
0.001) has the best: long blocks, nearly always the same one. The time at G divided by the time at L shows how much a program
gains from good locality on this machine. In the figure with several threads, "all threads together" is the time of a read
divided by the number of threads. If this time falls with more threads, the machine hides the latency of its memory: it
processes many reads at the same time. Steelyard calculates the cycles with the measured clock of the cores, not with the
nominal one.

Caution: The original program adds all words to one variable (one accumulator), so each addition waits for the one before. Point
L then measures the adder and the compiler, not the memory. With several accumulators, point L measures the cache that holds a
block of 512 KB. At G the addresses do not depend on each other, so several reads overlap. Therefore the time at G is shorter
than the latency of the memory (see memory.latency). The time at G depends strongly on the page size, because nearly every read
also needs an address translation that is not cached. The publication that named the points G and L does not print their
coordinates. We assume that they are the ends of the standard grid. The published cycles can be compared with ours only if this
is right.

Source: E. Strohmaier and H. Shan, Architecture Independent Performance Characterization and Benchmarking for Scientific
Applications, MASCOTS 2004; grid, counting and block starts as in their sequential version 3.0. The closed form of the sum and
the test of the distribution, which check each result, are ours.
"""

from collections.abc import Sequence

from steelyard.measure.benchmarks.axes import USUAL, memory_policies, page_sizes, thread_counts
from steelyard.measure.benchmarks.cycles import access_cycles, access_time, cycles_of
from steelyard.measure.benchmarks.figures import against, cell, select, table
from steelyard.measure.benchmarks.rates import per_second
from steelyard.measure.published import Published
from steelyard.measure.published import select as select_published
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Point
from steelyard.model.roles import SIZES, Headline, TolerancePoint
from steelyard.model.units import quantity
from steelyard.statistics.results import cases

WORDS = 64 << 20  # M of the standard grid: 512 MB
LENGTHS = tuple(4**i for i in range(9))  # L: 1 … 65536 words
ALPHAS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001)
QUICK_LENGTHS = LENGTHS[::2]
QUICK_ALPHAS = (1.0, 0.25, 0.05, 0.01, 0.001)
CORNERS = {"G": (LENGTHS[0], ALPHAS[0]), "L": (LENGTHS[-1], ALPHAS[-1])}  # worst and best locality
INFERRED = "The publication does not print the coordinates of its points. Steelyard assumes that they are the ends of the grid."
# Best corner of the coarser grid of a quick run: blocks of many pages, nearly all in the first cache.
LONG_BLOCKS, NEAR_START = 4096, 0.01
SEVERAL = 32  # accumulators: 4 vector registers of 8 doubles hide the 4 cycles of an addition

MEMORY = {"one_socket": "local", "all_sockets": "interleave"}  # names of the published evaluation

LARGEST_SHARE = 0.6  # of the available memory: other processes need the rest
demands = {"L must be at most elements / 2": lambda p: 2 <= p["elements"] // p["L"] <= 1 << 32}


def elements(machine: Machine, threads: int = 1) -> int:
    """Returns the words of each thread's array: 64 Mi, halved until the memory suffices."""
    words = WORDS
    while words > 4 * LENGTHS[-1] and 8 * words * threads > machine.memory_available * LARGEST_SHARE:
        words //= 2
    return words


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the grid with one thread; its corners with all numbers of threads, memory policies and page sizes."""
    quick = effort.name == "quick"
    threads = thread_counts(machine)
    sampling = Sampling(effort.sampling.width, 0.5 if quick else 1.0, 6 if quick else 10, 1000 if quick else 4000)

    def block(keep_corners: bool, **values: tuple[Scalar, ...]) -> Axes:
        every: dict[str, tuple[Scalar, ...]] = {"kernel": ("gather",), "threads": (1,), "pinning": ("compact",)}
        every |= {"elements": (elements(machine),), "L": LENGTHS, "alpha": ALPHAS, "accumulators": (1,)}
        return Axes(
            every | values,
            sampling,
            0.05,
            is_corner if keep_corners else None,
            choices={"accumulators": (1, 8, SEVERAL)},
            bounds={"alpha": (0, 1)},
        )

    grid = block(False, L=QUICK_LENGTHS, alpha=QUICK_ALPHAS) if quick else block(False)
    of_all = (elements(machine, threads[-1]),)
    corners = [block(True, threads=threads, elements=of_all, accumulators=(1, SEVERAL))]
    several = len(memory_policies(machine)) > 1
    if quick and several:  # table 3 of the evaluation: one thread, memory of the nearest socket or of all sockets
        corners.append(block(True, elements=of_all, memory_policy=("interleave",)))
    if not quick:
        ends = tuple(sorted({1, threads[-1]}))
        corners.append(block(True, threads=ends, elements=of_all, page_size=page_sizes(machine)))
        if several:
            corners.append(block(True, threads=ends, elements=of_all, memory_policy=("interleave",)))
    return grid, *corners


def is_corner(point: Parameters) -> bool:
    """Returns whether the point is G or L."""
    return (point["L"], point["alpha"]) in CORNERS.values()


def cost(seconds: float, record: Record) -> float | None:
    """Returns the cycles for each access, divided by the number of threads, as the published evaluation counts."""
    return cycles_of(seconds / record.work["accesses"], record)


metrics = (
    Metric("access_time", "s", "lower", "time of an access of one thread", access_time),
    Metric("cycles", "cycle", "lower", "cycles of an access of one thread", access_cycles),
    Metric("cost", "cycle", "lower", "cycles per access, all threads together", cost),
    Metric("bandwidth", "B/s", "higher", "bandwidth of the words read", per_second("bytes")),
)


def _is_worst(result: Result) -> bool:
    return cases.number(result, "L") == cases.number(result, "alpha") == 1


def _is_best(result: Result) -> bool:
    length, alpha = cases.number(result, "L"), cases.number(result, "alpha")
    return length is not None and alpha is not None and length >= LONG_BLOCKS and alpha <= NEAR_START


def _select_best_corner(gather: Sequence[Result]) -> list[Result]:
    """Returns the results with the longest blocks and the least alpha, if they are near the corner."""
    longest = cases.select_greatest(gather, "L")
    least = min((a for r in longest if (a := cases.number(r, "alpha")) is not None), default=None)
    return [r for r in longest if cases.number(r, "alpha") == least and _is_best(r)]


roles = (
    Headline(
        name="G",
        title="Random access (G)",
        unit="cycle",
        order=30,
        says="random access",
        least=("threads", "accumulators", "L"),
        most=("alpha", *SIZES),
        usual=USUAL,
        fits=_is_worst,
    ),
    # With one accumulator, an access at the best corner waits for the previous addition, not for the memory.
    Headline(
        name="L",
        title="Access in order (L)",
        unit="cycle",
        order=31,
        says="access in order",
        least=("threads", "alpha"),
        most=("L", *SIZES),
        usual=USUAL,
        best="accumulators",
        fits=_is_best,
    ),
    TolerancePoint(
        point="G",
        title="the worst corner of APEX-MAP (G)",
        order=20,
        kernel="gather",
        shared="The threads wait for a shared resource: the memory's channels or banks, or the queues of a shared cache.",
        at=lambda results: [r for r in results if _is_worst(r)],
        least=("accumulators",),
    ),
    TolerancePoint(
        point="L",
        title="the best corner of APEX-MAP (L)",
        order=30,
        kernel="gather",
        shared="The threads share a resource of the cores: the clock drops, or two threads use the units of one core.",
        at=_select_best_corner,
        most=("accumulators",),
    ),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the surface and the map of each toolchain, and both corners against threads."""
    surfaces = []
    toolchains = sorted({str(r.parameters.get("toolchain", "")) for r in results}) or [""]
    for toolchain in toolchains:
        of_it = tuple(r for r in results if str(r.parameters.get("toolchain", "")) == toolchain)
        surfaces += _surfaces(of_it, toolchain if len(toolchains) > 1 else "")
    return *surfaces, *(_corner(results, name) for name in CORNERS), _compilers(results, machine)


def _compilers(results: tuple[Result, ...], machine: Machine) -> Figure:
    """Draws the cycles at G and L of each compiler with nearest and interleaved memory: one thread, one accumulator."""
    alone = select(results, threads=1, accumulators=1, page_size=None)
    ways = [(point, policy) for point in CORNERS for policy in ("local", "interleave")]
    rows = []
    for toolchain in sorted({str(r.parameters.get("toolchain", "")) for r in alone}):
        of_it = [r for r in alone if str(r.parameters.get("toolchain", "")) == toolchain]
        rows.append((machine.system, toolchain, *(cell(_find_corner(of_it, *way), "cycles") for way in ways)))
    for system, compiler in dict.fromkeys((e.system, e.parameters.get("compiler")) for e in _printed()):
        published_cycles = {
            (str(e.parameters["point"]), MEMORY[str(e.parameters["memory"])]): e.value
            for e in _printed()
            if (e.system, e.parameters.get("compiler")) == (system, compiler)
        }
        cycles = (quantity(published_cycles.get(way), "cycle") for way in ways)
        rows.append((f"{system} (published)", str(compiler), *cycles))
    one = (
        ""
        if len(memory_policies(machine)) > 1
        else " This machine has one memory node only, so nearest memory and all memory nodes are the same."
    )
    return Figure(
        name="apex-compilers",
        title="Cycles per access at G and L: compilers, and memory of one socket or of all",
        kind="table",
        x=Axis("compiler"),
        y=Axis("cycles per access", "cycle"),
        headings=(
            "system",
            "compiler",
            "G, nearest memory",
            "G, all memory nodes",
            "L, nearest memory",
            "L, all memory nodes",
        ),
        cells=tuple(rows) if any(r[0] == machine.system for r in rows) else (),
        caption=f"One thread adds all words to one variable. “All memory nodes” means interleaved memory.{one} {INFERRED}",
    )


def _printed() -> tuple[Published, ...]:
    return select_published("apexmap", "cycles_per_access", threads=1)


def _find_corner(results: Sequence[Result], point: str, policy: str) -> Result | None:
    """Returns the result at a corner, with the smallest array, which both policies have."""
    length, alpha = CORNERS[point]
    members = select(results, L=length, alpha=alpha, memory_policy=policy)
    return min(members, key=lambda r: int(r.parameters["elements"]), default=None)


def _surfaces(results: tuple[Result, ...], toolchain: str) -> list[Figure]:
    grid = cases.select_greatest(
        select(results, threads=1, accumulators=1, page_size=None, memory_policy=None), "elements"
    )
    metric, value = "cycles", Axis("cycles per access", "cycle", log=True)
    if not any(metric in r.metrics for r in grid):  # the true clock is unknown
        metric, value = "access_time", Axis("time per access", "s", log=True)
    columns, rows, z = table(grid, "L", "alpha", metric)
    ending = f", {toolchain}" if toolchain else ""
    return [
        Figure(
            name="-".join(filter(None, ("apex", kind, toolchain))),
            title=f"APEX {'surface' if kind == 'surface' else 'map'}: {value.title}, one thread{ending}",
            kind="surface" if kind == "surface" else "heat",
            x=Axis("spatial locality L", "", log=True),
            y=Axis("temporal locality α", "", log=True),
            columns=columns,
            rows=rows,
            z=z,
            value=value,
            points=tuple(Point(L, alpha, name) for name, (L, alpha) in CORNERS.items()),
            caption="G marks the worst locality, L the best. All words are added to one variable, as in the original "
            f"program. {INFERRED}",
        )
        for kind in ("surface", "map")
    ]


def _corner(results: tuple[Result, ...], name: str) -> Figure:
    length, alpha = CORNERS[name]
    members = select(results, L=length, alpha=alpha)
    # Only sizes with a sweep over threads make a line. If memory is scarce, the grid has another size.
    swept = {r.parameters["elements"] for r in members if int(r.parameters.get("threads", 1)) > 1}
    lines = tuple(r for r in members if not swept or r.parameters["elements"] in swept)
    names = ("accumulators", "page_size", "memory_policy", "toolchain")
    measured = against("threads", "cost", lines, names=names, label="this machine")
    corner = {"L": length, "alpha": alpha}
    return Figure(
        name=f"apex-{name}-threads",
        title=f"Point {name} ({'worst' if name == 'G' else 'best'} locality) against threads",
        kind="lines",
        x=Axis("threads"),
        y=Axis("cycles per access, all threads together", "cycle", log=True),
        series=(*measured, *draw_printed("memory.apexmap", "gather", "cost", "threads", measured, where=corner)),
        caption="Time of an access divided by the number of threads. If the threads hide the latency completely, "
        f"twice the threads halve this time. {INFERRED}",
    )
