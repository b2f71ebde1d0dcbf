"""What proves why the cores or the memory of a machine were slow; `statistics.validity.cause` derives the cause."""

from collections.abc import Mapping
from dataclasses import dataclass, field

WSL = "WSL2"  # a hypervisor under Windows, whose programs share the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """Readings of one kind beyond their bound: their share of all, their median, and the best value of the same place.

    `steady`: all readings were equally slow, so that only earlier runs show a better value.
    """

    share: float
    typical: float | None = None
    best: float | None = None
    steady: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """Observations beside slow cores or a slow memory. None or "": unknown.

    `others` is the number of processors (of `processors`) that other processes of this machine used on average, `largest` the
    process with the most time. `steal` is the share of the time of ready threads in which the hypervisor did not run them. `slow`
    has the slow readings by kind of pace (`observed.Kind`). `since` is the date of the first earlier run.
    """

    hypervisor: str | None = None
    processors: int = 0
    others: float | None = None
    largest: str = ""
    largest_processors: float = 0.0
    steal: float | None = None
    load_average: float | None = None
    slow: Mapping[str, Slow] = field(default_factory=dict)
    since: str = ""

    @property
    def stolen(self) -> float:
        """Returns `steal`, or 0 if it is unknown. Without a hypervisor, an account of it is a fault of the kernel."""
        return 0.0 if self.hypervisor == "none" else self.steal or 0.0


NO_PROOFS = Proofs()
