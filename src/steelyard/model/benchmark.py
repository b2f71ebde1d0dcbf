"""The declaration of a benchmark."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from steelyard.model.figure import Figure
from steelyard.model.machine import Limit, Machine
from steelyard.model.plan import Effort, Sampling
from steelyard.model.record import Record, Result
from steelyard.model.roles import Role
from steelyard.model.scalars import Better, Parameters, Scalar

# Conditions of a case, on all its parameters.
Demands = Mapping[str, Callable[[Mapping[str, Any]], bool]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with a unit that follows from the time of one operation.

    `of(seconds, record)` is monotone in `seconds`, so that the ends of an interval of the time give the ends of an
    interval of the metric; None if the metric does not apply to that record.
    """

    name: str
    unit: str
    better: Better
    title: str
    of: Callable[[float, Record], float | None]


@dataclass(frozen=True, slots=True)
class Axes:
    """A block of the parameter space: the cases are the product of `values` (every axis a tuple), each sampled by `sampling`.

    `kernel` is an axis like any other. `sampling` None: the preset's. `keep` drops combinations that add nothing.
    `setup_seconds` is the expected time of a case outside its samples.
    """

    values: Mapping[str, tuple[Scalar, ...]]
    sampling: Sampling | None = None
    setup_seconds: float = 0.0
    keep: Callable[[Parameters], bool] | None = None
    # Returns sampling and setup_seconds of a case if they depend on its parameters, such as a problem's class.
    expected: Callable[[Parameters], tuple[Sampling, float]] | None = None
    # All values that a parameter may have, if no others make sense; the parameter need not be in `values`.
    choices: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    # The least and the greatest value of a number. Without bounds, a parameter whose `values` are all above 0 must be above 0.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # The size in proportion to the work, which grows with the threads or ranks in weak scaling. "": each thread or rank has
    # its own size, and nothing needs to grow; None: there is no such size.
    weak: str | None = None
    # A setting without which the block is not planned, such as "model"; "": none.
    when: str = ""
    # Parameters that the program reads besides `values` if they are set. In a block of a model, they count only together with
    # the model (the threads of each rank): without it, such a setting is for the programs that have only threads.
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The source of one program. A benchmark in several programming models has a source for each; `model` is its name."""

    path: str
    parallel: bool = False  # many processes (MPI), started by a launcher; otherwise one process with threads
    model: str = ""
    mpis: tuple[str, ...] | None = None  # MPIs that it can be built with; None: all
    foreign: bool = False  # not a source, but a file that describes a program which Steelyard does not build


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark as its folder declares it: <group>/<name>.py beside <group>/<name>.cpp, or a folder <group>/<name>."""

    name: str  # "memory.stream"
    title: str  # the docstring's first line
    summary: str
    reading: str  # how to read its figures
    caution: str  # what its figures do not show
    source: str  # where its definition comes from
    sources: tuple[Source, ...]  # of its programs, usually one
    axes: Callable[[Machine, Effort], tuple[Axes, ...]]
    metrics: tuple[Metric, ...]
    figures: Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]
    limit: Callable[[str, Result, Machine], Limit | None] | None = None  # of the named metric
    roles: tuple[Role, ...] = ()  # that it plays for the whole run
    # Its programs refuse a case for which one of these is false. The name of a condition ends the sentence of the refusal.
    demands: Demands = field(default_factory=dict)
    unread: tuple[str, ...] = ()  # parameters of every kernel (plan/refusal.py, GENERAL) that its kernels do not read
    heading: str = ""  # under which it stands if its group is none of Steelyard's; "": the name of the group

    def known_limit(self, metric: str, result: Result, machine: Machine) -> Limit | None:
        """Returns the limit; None also if the declaration fails on a damaged result or on another machine's description."""
        with suppress(Exception):
            return self.limit(metric, result, machine) if self.limit else None
        return None
