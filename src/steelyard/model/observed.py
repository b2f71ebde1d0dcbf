"""The harness's observations around and inside the samples of a case, as records have them. docs/formats.md explains each field.

None: not observed. A part that a record lacks is an empty object. Only the given fields are written: an object has these in
its dictionary, and the class has the defaults of the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.model.scalars import Number, Whole

Column = Sequence[Number] | None  # one element for each sample, rank or thread
Kind = Literal["core_clock", "issued", "stream", "chase", "exchange"]  # of a reading beside the samples


class Part:
    """A group of observations. Its fields are written in the order of the class."""

    def given(self) -> dict[str, Any]:
        """Returns the given fields, in their order, as plain data."""
        return {name: value.given() if isinstance(value, Part) else value for name, value in vars(self).items()}


class Columns(Part):
    """A part with readings of the pace of cores and memory."""

    def of(self, kind: Kind) -> Column:
        """Returns the readings of that kind; None also for a kind that this part does not have."""
        values: Column = getattr(self, kind, None)
        return values


@dataclass(frozen=True, kw_only=True)
class TimerClock(Part):
    """The clock by which samples are timed."""

    source: str | None = None
    frequency: Number = None
    resolution: Number = None
    overhead: Number = None


@dataclass(frozen=True, kw_only=True)
class Around(Part):
    """The true clock of each thread's core."""

    before: Column = None
    after: Column = None


@dataclass(frozen=True, kw_only=True)
class Samples(Columns):
    """Observations of each sample."""

    at: Column = None
    seconds: Column = None
    waited: Column = None
    switches: Column = None
    faults: Column = None
    core_clock: Column = None
    issued: Column = None
    stream: Column = None
    chase: Column = None


@dataclass(frozen=True, kw_only=True)
class Reading(Part):
    """The pace of cores, memory and messages at one moment."""

    core_clock: Number = None
    issued: Number = None
    stream: Number = None
    chase: Number = None
    exchange: Number = None

    def of(self, kind: Kind) -> Number:
        """Returns the reading of that kind."""
        value: Number = getattr(self, kind)
        return value


@dataclass(frozen=True, kw_only=True)
class Looks(Columns):
    """The last two readings of each wait for a quiet machine."""

    sample: Column = None
    core_clock: Column = None
    issued: Column = None
    stream: Column = None
    chase: Column = None


@dataclass(frozen=True, kw_only=True)
class Pace(Part):
    """The pace before and after the samples, and the seconds of waiting for a quiet machine."""

    before: Reading = Reading()
    after: Reading = Reading()
    waited: Number = None
    looks: Looks = Looks()


@dataclass(frozen=True, kw_only=True)
class ProcessorSeconds(Part):
    """The operating system's accounting of the used processors, in seconds, added over the `processors` that it covers.

    `most_steal`, `most_interrupts` and `most_other` are those of the one processor that lost most; older records lack them, and
    unpinned threads `most_other`. `own` is the time of an external program, whose threads are unknown.
    """

    elapsed: Number = None
    steal: Number = None
    other: Number = None
    interrupts: Number = None
    processors: Number = None
    most_steal: Number = None
    most_interrupts: Number = None
    most_other: Number = None
    own: Number = None


@dataclass(frozen=True, kw_only=True)
class Counters(Part):
    """The processor's hardware counters, for one operation."""

    instructions: Number = None
    cycles: Number = None
    cache_misses: Number = None
    l1_misses: Number = None
    share: Number = None
    energy: Number = None
    energy_source: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Pages(Part):
    """The place of the case's memory: bytes per memory node, and huge pages."""

    nodes: Mapping[str, Number] | None = None
    huge: Number = None
    bytes: Number = None


@dataclass(frozen=True, kw_only=True)
class RankClocks(Part):
    """Agreement of the clocks of the ranks."""

    offset: Column = None
    uncertainty: Column = None
    residual: Column = None


@dataclass(frozen=True, kw_only=True)
class RanksObserved(Columns):
    """Observations of each rank."""

    hosts: Sequence[str] | None = None
    cpus: Sequence[Whole] | None = None
    memory: Column = None
    seconds: Sequence[Sequence[Number]] | None = None
    waited: Column = None
    throttled: Column = None
    core_clock: Column = None
    issued: Column = None
    stream: Column = None
    chase: Column = None
    late: Number = None
    colocated: bool | None = None
    clock: RankClocks = RankClocks()


@dataclass(frozen=True, kw_only=True)
class Observed(Part):
    """All observations of a case. Its benchmark reads `details`, which the kernel wrote."""

    clock: TimerClock = TimerClock()
    core_clock: Around = Around()
    began: Number = None
    ended: Number = None
    monotonic: Number = None
    samples: Samples = Samples()
    pace: Pace = Pace()
    processor_seconds: ProcessorSeconds = ProcessorSeconds()
    machine_other: Number = None
    machine_processors: Number = None
    interrupts: Number = None
    throttled: Number = None
    oversubscribed: bool | None = None
    cpus: Sequence[Whole] | None = None
    counters: Counters = Counters()
    pages: Pages | None = None
    phases: Mapping[str, Number] | None = None
    details: dict[str, Any] | None = None
    ranks: RanksObserved = RanksObserved()


NOTHING = Observed()


def remove_null_parts(around: Mapping[str, Any], whole: Part = NOTHING) -> dict[str, Any]:
    """Returns plain data of observations without the parts that are null, which mean the same as missing parts."""
    parts: dict[str, Any] = {}
    for name, value in around.items():
        inner = getattr(whole, name, None)
        if isinstance(inner, Part) and isinstance(value, dict):
            parts[name] = remove_null_parts(value, inner)
        elif value is not None or not isinstance(inner, Part):
            parts[name] = value
    return parts
