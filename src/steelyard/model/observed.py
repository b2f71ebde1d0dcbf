"""What the harness observed around and inside the samples of a case, as records hold it. docs/formats.md explains each field.

What was not observed is None. A part that a record lacks is there, with nothing in it. Only what was given is written: each
object keeps its own fields in its dictionary, and the class has the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.model.scalars import Number, Whole

Column = Sequence[Number] | None  # one element for each sample, rank or thread
Kind = Literal["core_clock", "issued", "stream", "chase", "exchange"]  # of what is read beside the samples


class Part:
    """Of what was observed: its fields in the order in which they are written."""

    def given(self) -> dict[str, Any]:
        """Returns the given fields, in their order, as plain data."""
        return {name: value.given() if isinstance(value, Part) else value for name, value in vars(self).items()}


class Columns(Part):
    """A part with readings of the pace of cores and memory."""

    def of(self, kind: Kind) -> Column:
        """The readings of that kind; None also for one that is not read here."""
        found: Column = getattr(self, kind, None)
        return found


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
        """The reading of that kind."""
        found: Number = getattr(self, kind)
        return found


@dataclass(frozen=True, kw_only=True)
class Looks(Columns):
    """The last two readings of each wait."""

    sample: Column = None
    core_clock: Column = None
    issued: Column = None
    stream: Column = None
    chase: Column = None


@dataclass(frozen=True, kw_only=True)
class Pace(Part):
    """Before and after the samples, and how long quiet was waited for."""

    before: Reading = Reading()
    after: Reading = Reading()
    waited: Number = None
    looks: Looks = Looks()


@dataclass(frozen=True, kw_only=True)
class ProcessorSeconds(Part):
    """The system's accounts of the processors used."""

    elapsed: Number = None
    steal: Number = None
    other: Number = None
    interrupts: Number = None


@dataclass(frozen=True, kw_only=True)
class Counters(Part):
    """The processor's own counts, for one operation."""

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
    """Where the case's memory lay."""

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
    seconds: Sequence[Sequence[Number]] | None = None
    waited: Column = None
    core_clock: Column = None
    issued: Column = None
    stream: Column = None
    chase: Column = None
    late: Number = None
    colocated: bool | None = None
    clock: RankClocks = RankClocks()


@dataclass(frozen=True, kw_only=True)
class Observed(Part):
    """All of it; `details` are the kernel's own, which its benchmark reads."""

    clock: TimerClock = TimerClock()
    core_clock: Around = Around()
    began: Number = None
    ended: Number = None
    monotonic: Number = None
    samples: Samples = Samples()
    pace: Pace = Pace()
    processor_seconds: ProcessorSeconds = ProcessorSeconds()
    machine_other: Number = None
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


def without_null_parts(around: Mapping[str, Any], whole: Part = NOTHING) -> dict[str, Any]:
    """Plain data of what was observed, without the parts in it that are null: they are as missing ones."""
    found: dict[str, Any] = {}
    for name, value in around.items():
        inner = getattr(whole, name, None)
        if isinstance(inner, Part) and isinstance(value, dict):
            found[name] = without_null_parts(value, inner)
        elif value is not None or not isinstance(inner, Part):
            found[name] = value
    return found
