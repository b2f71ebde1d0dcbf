"""The parts that a benchmark can play for a whole run. Findings and reports know these, and no benchmark by its name."""

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
)  # parameters that say how large a problem is


@dataclass(frozen=True, slots=True)
class Headline:
    """A main figure of a run: where it comes from, by parameters at their least or most, and a metric recognised by its unit.

    `name` tells it from others for who writes sentences about it; `order`: the lower the earlier. `usual`: values that are taken
    where they were measured. Takes the fastest of the values of `best`, clean or not, since other values are slower by their
    nature. `fits`: what a result must be to bear the title at all. `of_memory`: where its data fit a cache it says so.
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


@dataclass(frozen=True, slots=True)
class Peak:
    """Its fastest results are the roofs of arithmetic: the metric "flops" in double precision, on vectors and on scalars.

    Parameters: `precision`; `vector_width` or `width` ("scalar", or bits); `operation` ("add_mul": not fused).
    """


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Its `kernel`, over working sets, is the roof that each level of the memory sets: the metrics "traffic" and "bandwidth".

    The records tell their working set, as `working_set` or `bytes` of their work.
    """

    kernel: str


@dataclass(frozen=True, slots=True)
class TolerancePoint:
    """A case whose cost should fall as threads are added: how well they hide the latency of memory.

    `point` is its short name ("G"), `title` what an operation is, in words; the lower `order` the earlier. `at` chooses from the
    results of `kernel` those of the point, of all numbers of threads. Of several kinds of it that one stands for the point
    which is at the `least` or `most` of these parameters. `shared`: what the threads share where they hide little, a sentence;
    `remedy`: what to do then, in which "{threads}" is the most that were measured; "": see from how many on it no longer falls.
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


@dataclass(frozen=True, slots=True)
class PairsPoint:
    """Its `kernel` sends messages between `pairs` pairs of ranks at once: how well they hide the latency of the network.

    `title` is what their rate is called.
    """

    kernel: str
    title: str


@dataclass(frozen=True, slots=True)
class Witness:
    """In its `kernel` all ranks do the same, and none has a part of its own: a slow node or rank shows in their times."""

    kernel: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """In its `kernel` every rank waits for all others: what the system takes from one of them shows in the samples."""

    kernel: str


@dataclass(frozen=True, slots=True)
class Messages:
    """An operation of its `kernel` sends messages of `message_bytes`: a curve over the size, with the metric "bandwidth".

    `reused`: how many buffers of a message's size each rank uses, where `buffers` says whether they are "reused" or "fresh"; 0
    where that is not compared. `title`: what a curve is called where the MPI's changes of protocol are looked for in it; ""
    where they are not.
    """

    kernel: str
    reused: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Its `kernel` runs on the processors of one memory node, with the memory of the same or another one.

    On all of them where it is `whole`, otherwise on the first. Its `pinning` and `memory_policy` spell out for one machine what
    has a name on all of them: by that it is paired with another machine's, and found where others published it.
    """

    kernel: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Results of its `kernel` are of the kind that others published as benchmark `published` ("pingpong")."""

    published: str
    kernel: str


Role = Headline | Peak | Bandwidth | TolerancePoint | PairsPoint | Witness | Waiting | Messages | Placed | Counterpart
"""What a benchmark plays for a whole run: one from outside as well as ours."""
