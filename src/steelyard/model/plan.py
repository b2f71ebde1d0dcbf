"""The plan of a run: cases and launches."""

from dataclasses import dataclass
from typing import Literal

from steelyard.model.scalars import Parameters


@dataclass(frozen=True, slots=True)
class Sampling:
    """Length of the sampling of a case: until the 95 % interval of the median is within ± `width` (relative), or `seconds` are
    over."""

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
    """A preset: how many launches, how wide the intervals, and which share of the parameter space."""

    name: Literal["quick", "standard", "full"]
    launches: int
    sampling: Sampling
    seconds: float | None = None  # which a plan should not exceed for each toolchain, before it gets less precise
    promised: float | None = None  # seconds in which it should end with each toolchain, disturbed cases repeated


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of one program with many cases. `number` is unique in the run, `repetition` counts equal launches."""

    number: int
    benchmark: str
    toolchain: str
    repetition: int
    cases: tuple[Case, ...]
    model: str = ""  # the programming model, of a benchmark that has a program for each


@dataclass(frozen=True, slots=True)
class Plan:
    """The launches of a run in the order of their start, already shuffled with `seed`."""

    preset: str
    seed: int
    launches: tuple[Launch, ...]
    seconds: float  # expected duration without building
