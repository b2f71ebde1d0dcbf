"""Measurements: a record, its verdict, and the result of several records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.model.machine import Limit
from steelyard.model.observed import Observed
from steelyard.model.scalars import Better, Count, Level, Parameters, Whole


@dataclass(frozen=True, slots=True)
class Check:
    """The kernel's check of its result."""

    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation: its kind (see the table of kinds; "" for none), and a sentence.

    `numbers` has the numbers of the sentence by name, in SI units; unknown numbers are missing.
    """

    kind: str
    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The level of trust in a record or a result, and the evidence for it.

    Only a result can be UNSETTLED, since that depends on all launches of a case.
    """

    level: Level
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One case of one launch with all its samples.

    `samples` are seconds per operation, in the order of time. `work` is the work of one operation (bytes, flops,
    messages, accesses …). `surroundings` has the observations around and inside the samples (see docs/formats.md).
    `aside` has the indexes of the disturbed samples, which the figures do not use. `error` says why a case failed.
    """

    benchmark: str
    kernel: str
    parameters: Parameters
    launch: Count
    case: Count  # index of the case in its launch
    attempt: Count  # 1, and one more for each repetition of a disturbed case
    samples: tuple[float, ...]
    operations: Whole  # operations in each sample
    work: Mapping[str, float]
    check: Check
    verdict: Verdict
    surroundings: Observed
    error: str | None = None
    aside: tuple[Count, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A record without its samples. Most readers of a result need no more.

    `count` is the number of samples, `seconds` the median of those that figures use (None without a possible one). `rate` and
    `stream` are the pace beside them, in additions per second and B/s. `surroundings` has no columns of samples, ranks or
    threads. All other fields are those of the record.
    """

    launch: Count
    case: Count
    attempt: Count
    count: Count
    seconds: float | None
    operations: Whole
    work: Mapping[str, float]
    check: Check
    verdict: Verdict
    surroundings: Observed
    error: str | None = None
    aside: tuple[Count, ...] = ()
    rate: float | None = None
    stream: float | None = None


Attempted = Record | Attempt  # for readers of what both say

Span = tuple[float, float]  # least and greatest


@dataclass(frozen=True, slots=True)
class Value:
    """A metric's value. `low` and `high`: 95 % interval of this run, None if there are too few samples for one.

    `typical` is the median of all launches and samples, also of the disturbed ones. `best` is the value that the machine gives if
    nothing disturbs; None if this run did not show it. `best_seen` is that of the shortest sample of all. The value of another
    run lies within `now` if it follows right after this one, and within `later` at another hour, both with 95 %; None if only one
    launch was measured. Of a CLEAN result, it lies within `undisturbed` if nothing disturbs the other run, too.
    `statistic` says how another tool made the value, such as "best of 9"; "" for the medians of Steelyard. `scope` of an
    energy or a power names the parts of the machine that it contains (see `telemetry.coverage`); () for other values.
    """

    value: float
    unit: str
    low: float | None
    high: float | None
    better: Better
    typical: float | None = field(default=None, kw_only=True)
    best: float | None = field(default=None, kw_only=True)
    now: Span | None = field(default=None, kw_only=True)
    later: Span | None = field(default=None, kw_only=True)
    undisturbed: Span | None = field(default=None, kw_only=True)
    best_seen: float | None = field(default=None, kw_only=True)
    statistic: str = field(default="", kw_only=True)
    scope: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTime:
    """The median time of one launch of a case: seconds for one unit of work.

    `began` is the start of the launch in seconds; None if it is unknown. Launches that began at about the same time share the
    state of the machine. `rate` and `stream` are the pace beside the launch, in additions per second and B/s.
    """

    launch: Count
    began: float | None
    seconds: float
    disturbed: bool
    rate: float | None = None
    stream: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSummary:
    """The summary of all records of one case over its launches. `parameters` include `toolchain`.

    `seconds` is the median time of one operation; None without usable records. By metric, `launches` has the values of the
    launches that the value uses, and `limits` the physical limit, if one is known. `times` has all launches that are not
    INVALID, and `work` is the unit of their work ("byte", "flop" …, or "second" if the kernel counts none). `hosts` is the
    number of machines on which the ranks ran; 0 if it is unknown. `timed`: the case is a whole program, which was verified, ran
    long enough, and had a processor for each worker.
    """

    benchmark: str
    kernel: str
    parameters: Parameters
    metrics: Mapping[str, Value]
    verdict: Verdict
    seconds: Value | None = None
    launches: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    work: str = ""
    times: tuple[LaunchTime, ...] = ()
    hosts: Count = 0
    timed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(CaseSummary):
    """A case with its records, which are read from the disk when one is asked for if the result is stored.

    `attempts` has what they say without samples.
    """

    records: Sequence[Record]
    attempts: Sequence[Attempt] = ()
