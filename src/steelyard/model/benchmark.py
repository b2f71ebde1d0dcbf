"""The declaration of a benchmark."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from steelyard.model.figure import Figure
from steelyard.model.machine import Limit, Machine
from steelyard.model.plan import Effort, Sampling
from steelyard.model.record import Record, Result
from steelyard.model.roles import Role
from steelyard.model.scalars import Better, Parameters, Scalar


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with a unit that follows from the time of one operation.

    `of(seconds, record)` is monotone in `seconds`, so that the ends of an interval of the time become the ends
    of an interval of the metric; None where it does not apply to that record.
    """

    name: str
    unit: str
    better: Better
    title: str
    of: Callable[[float, Record], float | None]


@dataclass(frozen=True, slots=True)
class Axes:
    """A block of the parameter space: the cases are the product of `values` (every axis a tuple), each sampled by `sampling`.

    `kernel` is an axis like any other. `sampling` None: the preset's own. `keep` drops combinations that make no sense.
    `setup_seconds` is what a case is expected to take besides its samples.
    """

    values: Mapping[str, tuple[Scalar, ...]]
    sampling: Sampling | None = None
    setup_seconds: float = 0.0
    keep: Callable[[Parameters], bool] | None = None
    # Where the length follows from the case itself, as from a problem's class: its sampling and its setup_seconds.
    expected: Callable[[Parameters], tuple[Sampling, float]] | None = None
    # What a parameter may be set to, where nothing else makes sense; it need not be among `values`.
    choices: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    # The least and the greatest that a number may be set to, where that is not what its values suggest: one whose values are
    # all above 0 must be so, too.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # The size that the work is in proportion to: it grows with the threads or ranks in weak scaling. "": each has a size of
    # its own, and nothing need grow; None: there is no such size.
    weak: str | None = None
    # A setting without which the block is not planned: "model" of one that only who names it wants.
    when: str = ""
    # Parameters that its program reads besides `values` where they are set together with the model: the threads of each rank.
    # Without the model they are meant for the programs that have nothing but threads.
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The source of one program. A benchmark in several programming models has one for each: `model` is then its name."""

    path: str
    parallel: bool = False  # many processes (MPI), started by a launcher; otherwise one process with threads
    model: str = ""
    mpis: tuple[str, ...] | None = None  # those that it can be built with, where not with all
    foreign: bool = False  # no source: a file that describes somebody else's program, of which nothing is built


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark as its folder declares it: <group>/<name>.py beside <group>/<name>.cpp, or a folder <group>/<name>."""

    name: str  # "memory.stream"
    title: str  # the docstring's first line
    summary: str
    reading: str  # how to read its figures
    caution: str  # what its figures do not say
    source: str  # where its definition comes from
    sources: tuple[Source, ...]  # of its programs: usually one
    axes: Callable[[Machine, Effort], tuple[Axes, ...]]
    metrics: tuple[Metric, ...]
    limit: Callable[[str, Result, Machine], Limit | None]  # of the named metric
    figures: Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]
    roles: tuple[Role, ...] = ()  # that it plays for the whole run

    def known_limit(self, metric: str, result: Result, machine: Machine) -> Limit | None:
        """The limit; None, too, where a damaged result, or another machine's description, makes the declaration stumble."""
        with suppress(Exception):
            return self.limit(metric, result, machine)
        return None
