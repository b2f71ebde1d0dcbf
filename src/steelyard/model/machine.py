"""A machine, its tools, and the site around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    """A memory node: bytes of memory, the processors near it, and the firmware's distance (SLIT) to every node.

    `kind`: "DRAM", "HBM", "CXL", "GPU", "persistent", "none" (no memory), or "unknown" (no processors and no evidence of a kind).
    """

    number: int
    cpus: tuple[int, ...]
    memory: int
    distances: tuple[int, ...]
    kind: str = "DRAM"


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
    """Needed besides the plan to start a parallel program: the MPIs by their names in the plan, and the launcher."""

    mpis: Mapping[str, Tool] = field(default_factory=dict)
    launcher: str = "mpiexec"  # or that of a scheduler, "srun"
    extra: tuple[str, ...] = ()  # further words for the launcher, as the user gave them


@dataclass(frozen=True, slots=True)
class Host:
    """A machine on which ranks may be started, by the name that the site's MPI or batch system knows; `slots` ranks fit on it."""

    name: str
    slots: int


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Hosts that stand in one thing, by their names; `kind` is what it is: "blade", "chassis", "switch" …"""

    kind: str
    hosts: tuple[str, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that was evaluated. `cpus` are those that this process may use; `cpu_quota` is in cores (None: no quota)."""

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
    enclosures: tuple[Enclosure, ...] = ()  # of a cluster, the smallest kind first; empty: nobody said
