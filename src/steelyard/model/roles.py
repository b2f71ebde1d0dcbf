"""The roles that a benchmark can have in a run. Findings and reports use these, and no benchmark by its name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steelyard.model.record import Result
from steelyard.model.scalars import Scalar

SIZES = (
    "elements",
    "particles",
    "bytes",
    "working_set",
    "working_set_bytes",
    "size",
)  # parameters that give the size of a problem


@dataclass(frozen=True, slots=True)
class Headline:
    """A main figure of a run: the metric with this unit, of the case whose parameters are at their least or most.

    `name` identifies it in findings; a lower `order` comes earlier. `usual`: values that are preferred if they were measured.
    The fastest value of the parameter `best` is taken, clean or not, since other values are slower by their nature. `fits`:
    whether a result may have this title. `of_memory`: the figure says so if its data fit into a cache. `says` explains the title
    to readers who do not know the benchmark, before the conditions of the case.
    """

    name: str
    title: str
    unit: str
    order: int
    kernel: str | None = None
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    usual: tuple[tuple[str, Scalar], ...] = ()
    best: str = ""
    fits: Callable[[Result], bool] = lambda result: True
    of_memory: bool = False
    says: str = ""


@dataclass(frozen=True, slots=True)
class Peak:
    """The fastest results are the arithmetic limits of the roofline: the metric "flops" in double precision, vector and scalar.

    Parameters: `precision`; `vector_width` or `width` ("scalar", or bits); `operation` ("add_mul": not fused).
    """


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Its `kernel`, over working sets, gives the limit of each memory level: the metrics "traffic" and "bandwidth".

    The records have their working set as `working_set` or `bytes` of their work.
    """

    kernel: str


@dataclass(frozen=True, slots=True)
class TolerancePoint:
    """A case whose cost should fall as threads are added. It shows how well threads hide the latency of memory.

    `point` is its short name ("G"), `title` the operation in words; a lower `order` comes earlier. `at` chooses the results of
    the point, with all numbers of threads, from those of `kernel`. If there are several, the one at the `least` or `most` of
    these parameters stands for the point. `shared`: a sentence on what the threads share if they hide little. `remedy`: what
    to do then, and a `command` of Steelyard after it; "{threads}" stands for the largest number of threads. "": see from how many
    threads the cost no longer falls.
    """

    point: str
    title: str
    order: int
    kernel: str
    shared: str
    at: Callable[[Sequence[Result]], Sequence[Result]] = lambda results: results
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    remedy: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class PairsPoint:
    """Its `kernel` sends messages between `pairs` pairs of ranks at once, and shows how well they hide the network's latency.

    `title` is the name of the message rate.
    """

    kernel: str
    title: str


@dataclass(frozen=True, slots=True)
class Witness:
    """A benchmark in whose `kernel` all ranks do the same work, so that their times show a slow node or rank."""

    kernel: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A benchmark in whose `kernel` all ranks wait for each other: the samples show the time that the system takes away."""

    kernel: str


@dataclass(frozen=True, slots=True)
class Messages:
    """An operation of its `kernel` sends messages of `message_bytes`: a curve over the size, with the metric "bandwidth".

    `reused`: the number of buffers of each rank if the parameter `buffers` is "reused" or "fresh"; 0: they are not compared.
    `title`: the name of a curve in which changes of the MPI's protocol are searched for; "": no search.
    """

    kernel: str
    reused: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Its `kernel` runs on the processors of one memory node, with the memory of the same node or of another one.

    It runs on all processors of the node if `whole`, otherwise on the first. Its `pinning` and `memory_policy` depend on the
    machine; comparisons with other machines and published results use the general name of the placement.
    """

    kernel: str
    whole: bool


Role = Headline | Peak | Bandwidth | TolerancePoint | PairsPoint | Witness | Waiting | Messages | Placed
"""The roles of a benchmark in a run, for benchmarks of Steelyard and of other packages."""
