"""The plan of a run: cases and launches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from steelyard.model.scalars import Count, Parameters


@dataclass(frozen=True, slots=True)
class Sampling:
    """The end of the sampling of a case: the 95 % interval of the median is within ± `width` (relative), or `seconds` are over.

    The number of samples is from `least` to `most`."""

    width: float = 0.02
    seconds: float = 1.0
    least: int = 5
    most: int = 2000


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a benchmark's parameter space."""

    benchmark: str
    kernel: str
    parameters: Parameters
    sampling: Sampling = Sampling()
    setup_seconds: float = 0.0  # expected time outside the samples: allocation, first touch, check


@dataclass(frozen=True, slots=True)
class Effort:
    """A preset: the number of launches, the width of the intervals, and the share of the parameter space."""

    name: Literal["quick", "standard", "full"]
    launches: int
    sampling: Sampling
    seconds: float | None = None  # length of a plan per toolchain; longer plans get less precise
    promised: float | None = (
        None  # seconds per toolchain in which a run should end, with repetitions of disturbed cases
    )
    # Seconds per toolchain of a plan that does not get shorter; beyond it, cases are left out.
    most: float | None = field(default=None, kw_only=True)
    # Seconds per toolchain of the whole command, with its set-up, evaluation and report, on any machine.
    limit: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of one program with many cases. `number` is unique in the run, `repetition` counts equal launches."""

    number: int
    benchmark: str
    toolchain: str
    repetition: int
    cases: tuple[Case, ...]
    model: str = ""  # programming model, if the benchmark has several


@dataclass(frozen=True, slots=True)
class Plan:
    """The launches of a run in the order of their start, already shuffled with `seed`."""

    preset: str
    seed: int
    launches: tuple[Launch, ...]
    seconds: float  # expected duration without building
    left_out: Mapping[str, Count] = field(default_factory=dict)  # cases by benchmark for which the budget has no time

    def benchmarks(self) -> list[str]:
        """Returns the sorted names of the benchmarks that are planned."""
        return sorted({launch.benchmark for launch in self.launches})
