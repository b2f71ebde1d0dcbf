"""What the harness observed around and inside the samples of a case, as records hold it. docs/formats.md explains each field.

Every part may be missing, or null where the platform does not give it.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

from steelyard.model.scalars import Number, Whole

Column = Sequence[Number] | None  # one element for each sample


class TimerClock(TypedDict, total=False):
    """The clock by which samples are timed."""

    source: str | None
    frequency: Number
    resolution: Number
    overhead: Number


class Around(TypedDict, total=False):
    """The true clock of each thread's core."""

    before: Column
    after: Column


class Samples(TypedDict, total=False):
    """What was observed of each sample."""

    at: Column
    seconds: Column
    waited: Column
    switches: Column
    faults: Column
    core_clock: Column
    issued: Column
    stream: Column
    chase: Column


class Reading(TypedDict, total=False):
    """The pace of cores and memory at one moment."""

    core_clock: Number
    issued: Number
    stream: Number
    chase: Number
    exchange: Number


class Looks(TypedDict, total=False):
    """The last two readings of each wait."""

    sample: Column
    core_clock: Column
    issued: Column
    stream: Column
    chase: Column


class Pace(TypedDict, total=False):
    """Before and after the samples, and how long quiet was waited for."""

    before: Reading | None
    after: Reading | None
    waited: Number
    looks: Looks | None


class ProcessorSeconds(TypedDict, total=False):
    """The system's accounts of the processors used."""

    elapsed: Number
    steal: Number
    other: Number
    interrupts: Number


class Counters(TypedDict, total=False):
    """The processor's own counts, for one operation."""

    instructions: Number
    cycles: Number
    cache_misses: Number
    l1_misses: Number
    share: Number
    energy: Number
    energy_source: str | None
    reason: str | None


class Pages(TypedDict, total=False):
    """Where the case's memory lay."""

    nodes: dict[str, Number] | None
    huge: Number
    bytes: Number


class RankClocks(TypedDict, total=False):
    """How well the ranks' clocks agreed."""

    offset: Column
    uncertainty: Column
    residual: Column


class RanksObserved(TypedDict, total=False):
    """What each rank saw."""

    hosts: list[str] | None
    cpus: list[Whole] | None
    seconds: list[list[Number]] | None
    waited: Column
    core_clock: Column
    issued: Column
    stream: Column
    chase: Column
    late: Number
    colocated: bool | None
    clock: RankClocks | None


class Observed(TypedDict, total=False):
    """All of it; `details` are the kernel's own, which its benchmark reads."""

    clock: TimerClock | None
    core_clock: Around | None
    began: Number
    ended: Number
    monotonic: Number
    samples: Samples | None
    pace: Pace | None
    processor_seconds: ProcessorSeconds | None
    machine_other: Number
    interrupts: Number
    throttled: Number
    oversubscribed: bool | None
    cpus: list[Whole] | None
    counters: Counters | None
    pages: Pages | None
    phases: dict[str, Number] | None
    details: dict[str, Any] | None
    ranks: RanksObserved | None
