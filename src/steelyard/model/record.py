"""Measurements: a record, its verdict, and the result of several records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.model.observed import Observed
from steelyard.model.scalars import Better, Count, Level, Parameters, Whole


@dataclass(frozen=True, slots=True)
class Check:
    """The kernel's own verdict on its result."""

    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was observed: of which kind (see the table of kinds; "" where it is of none), and what, in a sentence.

    `numbers` are the figures in it by name, in SI units; one that is not known is not there.
    """

    kind: str
    text: str
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a record or a result may be believed, and the evidence for that.

    Only a result can be UNSETTLED: that too little is known shows over the launches of a case.
    """

    level: Level
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One case of one launch with all its samples.

    `samples` are seconds per operation, in the order of time; `work` is what one operation does (bytes, flops,
    messages, accesses …); `surroundings` is what was observed around and inside the samples (see docs/formats.md);
    `aside` are the places of the samples whose own surroundings were disturbed: figures rest on the others;
    `error` says why there are no samples (the case failed), otherwise None.
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


@dataclass(frozen=True, slots=True)
class Value:
    """A metric's value with its 95 % interval. `low`/`high` are None where too little was measured to state one."""

    value: float
    unit: str
    low: float | None
    high: float | None
    better: Better


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Result:
    """All the records of one case over its launches, summarised. `parameters` include `toolchain`."""

    benchmark: str
    kernel: str
    parameters: Parameters
    records: tuple[Record, ...]
    metrics: Mapping[str, Value]
    verdict: Verdict
