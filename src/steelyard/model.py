"""The nouns of Steelyard: frozen dataclasses, no behaviour beyond their own identity. SI units throughout.

They have slots: without, what msgspec read back would be written without its defaults.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from steelyard.figure import Figure
from steelyard.observed import Observed, Whole

Count = Annotated[int, Meta(ge=0, lt=2**31)]
Scalar = str | Whole | float | bool
Parameters = Mapping[str, Scalar]
Better = Literal["higher", "lower", "none"]
Level = Literal["CLEAN", "UNSETTLED", "DISTURBED", "INVALID"]  # in the order of trust
Reach = Literal["figures", "machine", "program"]

# --------------------------------------------------------------------------- the machine


@dataclass(frozen=True, slots=True)
class Cache:
    """One instance of a cache: its level (1, 2, 3 …), kind ("data", "unified", "instruction"), bytes, and who shares it."""

    level: int
    kind: str
    size: int
    line: int
    cpus: tuple[int, ...]
    inclusive: bool | None = None  # None: the machine does not tell


@dataclass(frozen=True, slots=True)
class Core:
    """A physical core: `cpus` are its hardware threads (more than one with SMT)."""

    number: int
    socket: int
    node: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A memory node: bytes of memory, the processors near it, and the firmware's distance (SLIT) to every node."""

    number: int
    cpus: tuple[int, ...]
    memory: int
    distances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryModule:
    """One memory module as the firmware (SMBIOS) describes it: bytes and transfers per second."""

    slot: str
    size: int
    kind: str
    rate: float | None
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the machine that can change a measurement. `value` None: could not be read, `reason` says why."""

    name: str
    value: str | None
    source: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A compiler or an MPI found on the machine."""

    name: str
    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler with its flags; `name` is the factor's value in the records, as "gcc-12.2.0"."""

    name: str
    compiler: str
    version: str
    flags: str


@dataclass(frozen=True, slots=True)
class Site:
    """What the start of a parallel program needs besides the plan: the MPIs by their names in it, and who starts."""

    mpis: Mapping[str, Tool] = field(default_factory=dict)
    launcher: str = "mpiexec"  # or that of a scheduler, "srun"
    extra: tuple[str, ...] = ()  # further words for the launcher, as the user gave them


@dataclass(frozen=True, slots=True)
class Host:
    """A machine on which ranks may be started, by the name that the site's MPI or batch system knows; `slots` ranks fit on it."""

    name: str
    slots: int


@dataclass(frozen=True, slots=True)
class Device:
    """An OpenCL device: its number among all of the machine's, its kind ("CPU", "GPU", "accelerator"), bytes of its memory."""

    number: int
    name: str
    kind: str
    memory: int
    shares_memory: bool  # with the host: nothing has to be copied


@dataclass(frozen=True, slots=True)
class Library:
    """A numerical library of the site: its kind ("blas", "fftw"), its file, and whether it computes with several threads."""

    kind: str
    file: str
    threads: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """A physical ceiling of a metric, and how it was derived."""

    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Machine:
    """What was evaluated. `cpus` are those that this process may use; `cpu_quota` is in cores (None: no quota)."""

    system: str
    host: str
    processor: str
    vendor: str
    architecture: str
    cores: tuple[Core, ...]
    nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...]
    cpus: tuple[int, ...]
    cpu_quota: float | None
    memory: int  # bytes that this process may use: the least of what is installed and what its control group allows
    memory_available: int
    modules: tuple[MemoryModule, ...]
    fma_width: int | None  # doubles that one fused multiply-add instruction computes; None: unknown processor
    fma_units: int | None  # fused multiply-add pipes a core; None: unknown processor
    settings: tuple[Setting, ...]
    compilers: tuple[Tool, ...]
    mpis: tuple[Tool, ...]
    limits: Mapping[str, Limit] = field(default_factory=dict)  # "memory_bandwidth", "flops" … as given or derived
    notes: tuple[str, ...] = ()  # what could not be found out, and why
    devices: tuple[Device, ...] = ()  # for OpenCL
    hosts: tuple[Host, ...] = ()  # that a run's ranks are spread over; empty: this machine alone
    libraries: tuple[Library, ...] = ()  # of each kind the one that our programs find


# --------------------------------------------------------------------------- the plan


@dataclass(frozen=True, slots=True)
class Sampling:
    """How long a case is sampled: until the 95 % interval of the median is within ± `width` (relative), or `seconds` are over."""

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
    """What a run will do: launches in the order in which they are started, already shuffled with `seed`."""

    preset: str
    seed: int
    launches: tuple[Launch, ...]
    seconds: float  # expected duration without building


# --------------------------------------------------------------------------- what was measured


@dataclass(frozen=True, slots=True)
class Check:
    """The kernel's own verdict on its result."""

    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a record or a result may be believed, and the evidence for that, one sentence each.

    Only a result can be UNSETTLED: that too little is known shows over the launches of a case.
    """

    level: Level
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One case of one launch with all its samples.

    `samples` are seconds per operation, in the order of time; `work` is what one operation does (bytes, flops,
    messages, accesses …); `surroundings` is what was seen around and inside the samples (see docs/formats.md);
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


@dataclass(frozen=True, slots=True)
class Result:
    """All the records of one case over its launches, summarised. `parameters` include `toolchain`."""

    benchmark: str
    kernel: str
    parameters: Parameters
    records: tuple[Record, ...]
    metrics: Mapping[str, Value]
    verdict: Verdict


# --------------------------------------------------------------------------- what a benchmark declares


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with a unit that follows from the time of one operation.

    `of(seconds, record)` is monotone in `seconds`, so that the ends of an interval of the time become the ends
    of an interval of the metric; None where it does not apply to that record.
    """

    name: str
    unit: str
    better: Better
    title: str
    of: Callable[[float, Record], float | None]


@dataclass(frozen=True, slots=True)
class Axes:
    """A block of the parameter space: the cases are the product of `values` (every axis a tuple), each sampled by `sampling`.

    `kernel` is an axis like any other. `sampling` None: the preset's own. `keep` drops combinations that make no sense.
    `setup_seconds` is what a case is expected to take besides its samples.
    """

    values: Mapping[str, tuple[Scalar, ...]]
    sampling: Sampling | None = None
    setup_seconds: float = 0.0
    keep: Callable[[Parameters], bool] | None = None
    # Where the length follows from the case itself, as from a problem's class: its sampling and its setup_seconds.
    expected: Callable[[Parameters], tuple[Sampling, float]] | None = None
    # What a parameter may be set to, where nothing else makes sense; it need not be among `values`.
    choices: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    # The least and the greatest that a number may be set to, where that is not what its values suggest: one whose values are
    # all above 0 must be so, too.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # The size that the work is in proportion to: it grows with the threads or ranks in weak scaling. "": each has a size of
    # its own, and nothing need grow; None: there is no such size.
    weak: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The source of one program. A benchmark in several programming models has one for each: `model` is then its name."""

    path: str
    parallel: bool = False  # many processes (MPI), started by a launcher; otherwise one process with threads
    model: str = ""
    mpis: tuple[str, ...] | None = None  # those that it can be built with, where not with all


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark as its folder declares it: <group>/<name>.py beside <group>/<name>.cpp, or a folder <group>/<name>."""

    name: str  # "memory.stream"
    title: str  # the docstring's first line
    summary: str
    reading: str  # how to read its figures
    caution: str  # what its figures do not say
    source: str  # where its definition comes from
    sources: tuple[Source, ...]  # of its programs: usually one
    axes: Callable[[Machine, Effort], tuple[Axes, ...]]
    metrics: tuple[Metric, ...]
    limit: Callable[[str, Result, Machine], Limit | None]  # of the named metric
    figures: Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]


# --------------------------------------------------------------------------- the judgement


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


@dataclass(frozen=True, slots=True)
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
    site: Site = Site()
    job: str | None = None  # in which it ran: the scheduler and its number, "slurm 12"
    command: tuple[str, ...] = ()
    budget: float | None = None  # seconds asked for
    paths: tuple[str, ...] = ()  # folders with further benchmarks
    in_turn: InTurn | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run with everything that is judged from it: what the report, the terminal and the exports show."""

    run: Run
    benchmarks: Mapping[str, Benchmark]
    results: tuple[Result, ...]
    findings: tuple[Finding, ...]
