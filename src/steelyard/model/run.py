"""A run as its folder holds it, the findings, and all that is judged from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from steelyard.model.benchmark import Benchmark
from steelyard.model.machine import Machine, Site, Toolchain
from steelyard.model.plan import Plan
from steelyard.model.record import Record, Result
from steelyard.model.scalars import Reach

if TYPE_CHECKING:
    from steelyard.model.sensor import Power  # needs NumPy: loaded by those commands alone that read sensors


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement with its evidence. `serious` findings make the exit code 1.

    `effect`: how many times what it is about would change (what is over what could be, or what a figure says over what holds),
    1 or more; None where no number is known. `reach`: what that concerns, the "figures" of this run (of `benchmark`, or all of
    them), which it doubts; the "machine", whatever runs on it; or a "program" of one kind.
    """

    rule: str
    level: Literal["serious", "notice", "good"]
    seen: str
    evidence: tuple[str, ...]
    cause: str
    remedy: str
    benchmark: str = ""
    effect: float | None = None
    reach: Reach = "machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """Where the time of a traced program's ranks goes: POP's factors, of the time (s) that was measured.

    `load_balance`: mean of the ranks' computing by its greatest; `serialisation`: the greatest by the time on a network on which
    messages cost nothing; `transfer`: that time by the measured one. Their product is `parallel`. `computing` (s) is that of all
    ranks together. Source: POP Centre of Excellence, standard metrics.
    """

    name: str
    ranks: int
    time: float
    computing: float
    load_balance: float
    serialisation: float
    transfer: float
    parallel: float


@dataclass(frozen=True, slots=True)
class Shown:
    """The best pace that the machine had shown before a run (see `shown`): by key, in how many runs, since when."""

    best: Mapping[str, float] = field(default_factory=dict)
    runs: int = 0
    since: str = ""


@dataclass(frozen=True, slots=True)
class InTurn:
    """That a run was measured in turn with another: of the same series, on the other side; `notes` are of both."""

    series: str
    side: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One evaluation, read back from its folder."""

    id: str
    path: str
    started: str
    machine: Machine
    plan: Plan
    records: tuple[Record, ...]
    finished: bool
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what reading it back had to mend
    shown: Shown = Shown()
    toolchains: Mapping[str, Toolchain] = field(default_factory=dict)  # by the name that stands in the records
    site: Site = field(default_factory=Site)
    job: str | None = None  # in which it ran: the scheduler and its number, "slurm 12"
    command: tuple[str, ...] = ()
    budget: float | None = None  # seconds asked for
    paths: tuple[str, ...] = ()  # folders with further benchmarks
    in_turn: InTurn | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)  # what follows from it can be kept, see `once`
class Evaluation:
    """A run with everything that is judged from it: what the report, the terminal and the exports show."""

    run: Run
    benchmarks: Mapping[str, Benchmark]
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
    power: "Power | None" = None
    traces: tuple[Factors, ...] = ()  # of programs that were traced beside the run, as far as somebody names them
