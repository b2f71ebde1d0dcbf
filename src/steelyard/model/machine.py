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
    inclusive: bool | None = None  # None: unknown


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
    """A setting of the machine that can change a measurement. `value` None: it could not be read; `reason` says why."""

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
    """A compiler with its flags; `name` is its value in the records: "gcc-12.2.0"."""

    name: str
    compiler: str
    version: str
    flags: str


@dataclass(frozen=True, slots=True)
class Site:
    """The MPIs by their names in the plan, and the launcher: all that starts a parallel program besides the plan."""

    mpis: Mapping[str, Tool] = field(default_factory=dict)
    launcher: str = "mpiexec"  # or the launcher of a scheduler, "srun"
    extra: tuple[str, ...] = ()  # further words for the launcher, as the user gave them


@dataclass(frozen=True, slots=True)
class Host:
    """A machine for ranks, under its name for the MPI or the batch system; it has room for `slots` ranks."""

    name: str
    slots: int


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The names of the hosts in one enclosure; `kind` is "blade", "chassis", "switch" …"""

    kind: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """An OpenCL device: its number on the machine, its kind ("CPU", "GPU", "accelerator"), and its memory in bytes."""

    number: int
    name: str
    kind: str
    memory: int
    shares_memory: bool  # with the host, so that nothing has to be copied


@dataclass(frozen=True, slots=True)
class Library:
    """A numerical library of the site: its kind ("blas", "fftw"), its file, and whether it computes with several threads."""

    kind: str
    file: str
    threads: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """A physical limit of a metric, and the source of its value."""

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
    memory: int  # bytes that this process may use: the installed memory, or less if its control group limits it
    memory_available: int
    modules: tuple[MemoryModule, ...]
    fma_width: int | None  # doubles that one fused multiply-add instruction computes; None: unknown processor
    fma_units: int | None  # fused multiply-add pipes per core; None: unknown processor
    settings: tuple[Setting, ...]
    compilers: tuple[Tool, ...]
    mpis: tuple[Tool, ...]
    limits: Mapping[str, Limit] = field(default_factory=dict)  # "memory_bandwidth", "flops" …
    notes: tuple[str, ...] = ()  # facts that could not be read, and why
    devices: tuple[Device, ...] = ()  # for OpenCL
    hosts: tuple[Host, ...] = ()  # the hosts of a run's ranks; empty: only this machine
    libraries: tuple[Library, ...] = ()  # for each kind the library that our programs load
    enclosures: tuple[Enclosure, ...] = ()  # of a cluster, the smallest kind first; empty: not given
