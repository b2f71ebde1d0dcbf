"""Access to an array that is spread over all nodes, by locality (APEX-MAP)

One array is divided into equal parts, and each rank holds one part. Every rank reads blocks of L consecutive words at random
start addresses. L is the spatial locality. The exponent alpha is the temporal locality. With alpha = 1, all addresses of the
array are equally likely; with alpha near 0, nearly all reads go to the rank's own part. A rank reads the blocks of other ranks
with one-sided communication (a get from a window), or with two-sided communication (it sends a list of requests to each owner,
and the owner answers between its own reads).

Reading: With alpha = 1 and L = 1, nearly every word comes from another rank, one at a time: this is the hardest case for a
network. Towards the right, the blocks are longer, and the bandwidth of the network limits the speed. Towards the bottom, alpha
is smaller, and the memory limits the speed. The ratio between these corners shows how much a program gains from good locality
on this cluster. With two-sided communication, one message carries many words of the same owner. With one-sided communication,
each block is a message of its own.

Caution: The kernel requests a thousand blocks at a time, so latencies overlap, and the result is not the time of a single
access. The bytes are those of all words that are read, including words of the rank's own part. Within one machine, windows are
shared memory, and the benchmark does not measure a network.

Source: E. Strohmaier and H. Shan, Architecture Independent Performance Characterization and Benchmarking for Scientific
Applications, MASCOTS 2004, and their parallel version, Concurrency and Computation 19, 2007. Their program was not available to
us. How the array is divided, how remote blocks are requested, and how the share of remote blocks is checked, is our own work.
"""

from steelyard.measure.benchmarks.figures import against, select, table
from steelyard.measure.benchmarks.memory.apexmap import ALPHAS, CORNERS, LENGTHS, is_corner
from steelyard.measure.benchmarks.network.sizes import rank_counts
from steelyard.measure.machine.rank_placement import ranks_here
from steelyard.model import Axes, Effort, Machine, Metric, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure
from steelyard.statistics.results.messages import hosts

parallel = True

KERNELS = ("one_sided", "two_sided")
WORDS = 8 << 20  # of each rank: 64 MiB, beyond most caches, and still quick to set up for each case
QUICK_WORDS = 2 << 20
QUICK_LENGTHS = (1, 64, 4096)
QUICK_ALPHAS = (1.0, 0.25, 0.01)
SHARE = 0.3  # of the available memory for the arrays; messages and windows need more
demands = {
    "L must divide elements into 2 blocks or more": lambda p: p["elements"] % p["L"] == 0 < p["elements"] // p["L"] - 1,
    "alpha must be above 0 and at most 1": lambda p: 0 < p["alpha"] <= 1,
    "all ranks may have 2^32 blocks": lambda p: p["ranks"] * p["elements"] // p["L"] <= 1 << 32,
}


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the grid on all ranks with both kernels; its corners with fewer ranks."""
    quick = effort.name == "quick"
    sampling = Sampling(effort.sampling.width, 0.1 if quick else 0.4, 6 if quick else 10, 1000)
    *fewer, most = rank_counts(machine, effort)

    def values(ranks: tuple[int, ...]) -> dict[str, tuple[Scalar, ...]]:
        return {
            "kernel": KERNELS,
            "ranks": ranks,
            "placement": ("compact",),
            "elements": (elements(machine, most, QUICK_WORDS if quick else WORDS),),
            "L": QUICK_LENGTHS if quick else LENGTHS,
            "alpha": QUICK_ALPHAS if quick else ALPHAS,
        }

    grid = Axes(values((most,)), sampling, 0.05, bounds={"alpha": (0, 1)})
    return (grid,) if quick or not fewer else (grid, Axes(values(tuple(fewer)), sampling, 0.05, is_corner))


def elements(machine: Machine, ranks: int, words: int) -> int:
    """Returns the words of each rank's part: `words`, halved until the memory of a node suffices."""
    here = ranks_here(machine, ranks, None)
    while words > 2 * LENGTHS[-1] and 8 * words * here > machine.memory_available * SHARE:
        words //= 2
    return words


def nodes(record: Record) -> int:
    """Returns the number of hosts of the ranks; 1 if it is not recorded."""
    return max(1, len(set(hosts(record))))


def bandwidth(seconds: float, record: Record) -> float:
    """Returns the bytes per second that the ranks of a node read, also local ones, with eight bytes for each word."""
    return record.work["bytes"] / seconds / nodes(record)


def access_time(seconds: float, record: Record) -> float:
    """Returns the seconds of one word of one rank. `accesses` of the work counts all ranks."""
    return seconds * int(record.parameters["ranks"]) / record.work["accesses"]


def remote(seconds: float, record: Record) -> float | None:
    """Returns the remote share of the blocks that rank 0 drew; None if there was none."""
    return (record.surroundings.details or {}).get("remote") or None


metrics = (
    Metric("bandwidth", "B/s", "higher", "bandwidth of the words read, per node", bandwidth),
    Metric("access_time", "s", "lower", "time of an access of one rank", access_time),
    Metric("remote", "%", "none", "share of blocks that belong to another rank", remote),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the map of each kernel on the most ranks; bandwidth against ranks at both corners if there are several counts."""
    counts = {int(r.parameters["ranks"]) for r in results}
    most = max(counts, default=0)
    maps = [_map(select(results, kernel=kernel, ranks=most), kernel, most) for kernel in KERNELS]
    return *maps, *(_corner(results, name) for name in CORNERS if len(counts) > 1)


def _map(results: tuple[Result, ...], kernel: str, ranks: int) -> Figure:
    columns, rows, z = table(results, "L", "alpha", "bandwidth")
    return Figure(
        name=f"cluster-apex-{kernel}",
        title=f"Bandwidth per node, {ranks} ranks, {kernel.replace('_', '-')}",
        kind="heat",
        x=Axis("spatial locality L", "", log=True),
        y=Axis("temporal locality α", "", log=True),
        columns=columns,
        rows=rows,
        z=z,
        value=Axis("bandwidth per node", "B/s", log=True),
        caption="The bandwidth counts all words that are read, local and remote. At α = 1, the ranks read all parts "
        "of the array equally often.",
    )


def _corner(results: tuple[Result, ...], name: str) -> Figure:
    lengths, alphas = ({r.parameters[axis] for r in results} for axis in ("L", "alpha"))
    # A quick run has a coarser grid with other corners.
    length = (min if name == "G" else max)(lengths, default=CORNERS[name][0])
    alpha = (max if name == "G" else min)(alphas, default=CORNERS[name][1])
    return Figure(
        name=f"cluster-apex-{name}-ranks",
        title=f"Bandwidth per node at point {name} (L = {length}, α = {alpha}) against ranks",
        kind="lines",
        x=Axis("ranks"),
        y=Axis("bandwidth per node", "B/s", log=True),
        series=against(
            "ranks", "bandwidth", select(results, L=length, alpha=alpha), names=("kernel", "mpi", "toolchain")
        ),
        caption="G marks the worst locality, L the best.",
    )
