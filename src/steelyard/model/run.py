"""A run as in its folder, its findings, and its evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from steelyard.model.benchmark import Benchmark
from steelyard.model.foreign import Imported
from steelyard.model.machine import Machine, Site, Toolchain
from steelyard.model.plan import Plan
from steelyard.model.proofs import NO_PROOFS, Proofs
from steelyard.model.record import Record, Result
from steelyard.model.scalars import About, Reach

if TYPE_CHECKING:
    from steelyard.model.sensor import Power  # needs NumPy, which only commands that read sensors load


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A text with a command between `text` and `then`: its words after `steelyard`.

    `seconds` is how long the command takes on the measured machine; None if this is unknown.
    """

    text: str
    command: tuple[str, ...]
    then: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement with its evidence, or (level "undecided") a question that the rule could not answer because of its `cause`.

    `about`: the finding is about the machine (and what runs on it), or about the quality of this measurement. With `--strict`,
    a serious finding makes the exit code 1; without it, only a serious finding about the machine does.

    `effect`: how many times better the value could be or should be, at least 1; None if it is unknown. `reach`: what the finding
    concerns. "figures": the figures of this run, those of `benchmark` if one is named; "machine": all programs on this machine;
    "program": programs of one kind.

    `brief` has what is wrong and how much, and `action` what to do, in at most 15 words each, for the first screen.
    """

    rule: str
    level: Literal["serious", "notice", "good", "undecided"]
    seen: str
    evidence: tuple[str, ...]
    cause: str
    remedy: str | Remedy
    benchmark: str = ""
    effect: float | None = None
    reach: Reach = "machine"
    about: About = "machine"
    brief: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """The POP efficiency factors of a traced program; `time` is the measured time in seconds.

    `load_balance`: mean computing time of the ranks divided by the greatest; `serialisation`: the greatest computing time divided
    by the time on an ideal network, on which messages cost nothing; `transfer`: that time divided by the measured one. Their
    product is `parallel`. `computing` (s) is the sum over all ranks. Source: POP Centre of Excellence, standard metrics.
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
    """The paces of the machine before a run: the best by key, the number of earlier runs, and the time of the first.

    `slow` has by kind the share of the best that 5 % of the records of a usual run do not reach.
    `rule` says how the best was found: 1, the third best median of a record, grew with the number of readings, and is not used.
    """

    best: Mapping[str, float] = field(default_factory=dict)
    runs: int = 0
    since: str = ""
    slow: Mapping[str, float] = field(default_factory=dict)
    rule: int = 1


@dataclass(frozen=True, slots=True)
class InTurn:
    """The series and the side of a run that was measured in turn with another; `notes` are about both runs."""

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
    records: Sequence[Record]  # of a stored evaluation they are read from the disk when one is asked for
    finished: bool
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # problems of the folder's files
    shown: Shown = Shown()
    toolchains: Mapping[str, Toolchain] = field(default_factory=dict)  # by their names in the records
    site: Site = field(default_factory=Site)
    job: str | None = None  # the scheduler and the number of the job, "slurm 12"
    command: tuple[str, ...] = ()
    budget: float | None = None  # seconds asked for
    paths: tuple[str, ...] = ()  # folders with further benchmarks
    in_turn: InTurn | None = None
    imported: Imported | None = None  # values of other tools instead of records


@dataclass(frozen=True, slots=True, kw_only=True)
class Had:
    """Shares of the machine's best pace that the launches of a run had: median, first and ninth tenth; 1 if undisturbed.

    `full` is the share of the launches whose pace was undisturbed.
    """

    median: float
    low: float
    high: float
    full: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The condition of the machine during a run. `shared`: its cores, memory or network were often slower.

    `had` has by kind of pace (`observed.Kind`) what the run had of it; `load` is the share of the launches in which other
    processes used the measured processors. `causes` are the kinds of evidence that this condition explains. `foreign`: other
    tools measured the values, so the condition is unknown. `proofs` show why the machine was slow.
    """

    shared: bool
    had: Mapping[str, Had]
    load: float
    causes: tuple[str, ...]
    foreign: bool = False
    proofs: Proofs = NO_PROOFS


DEDICATED = Condition(shared=False, had={}, load=0.0, causes=())
FOREIGN = Condition(shared=False, had={}, load=0.0, causes=(), foreign=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A run with its results and findings, as the report, the terminal and the exports show them."""

    run: Run
    benchmarks: Mapping[str, Benchmark]
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
    power: "Power | None" = None
    traces: tuple[Factors, ...] = ()  # of traced programs that the user names
    condition: Condition = DEDICATED
