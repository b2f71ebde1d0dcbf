"""A machine, its tools, and the site around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.model.scalars import Scalar

DOORS = {"opencl": "OpenCL", "cuda": "CUDA", "hip": "HIP"}  # interfaces that lead to devices


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


UNCHANGED = "default"  # the variant of a start without changes


@dataclass(frozen=True, slots=True)
class Variant:
    """A named change of the start of programs: variables of their environment, and further options of the launcher.

    `mpi`: it changes only the programs of this MPI, named by its flavour or as in the records; "": those of all.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    mpi: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """The MPIs by their names in the plan, the launcher and the variants: all that starts a program besides the plan."""

    mpis: Mapping[str, Tool] = field(default_factory=dict)
    launcher: str = "mpiexec"  # or the launcher of a scheduler, "srun"
    extra: tuple[str, ...] = ()  # further words for the launcher, as the user gave them
    variants: tuple[Variant, ...] = ()  # besides the start without changes, in the order in which the user gave them


@dataclass(frozen=True, slots=True)
class Host:
    """A machine for ranks, under its name for the MPI or the batch system; it has room for `slots` ranks.

    `processor` is the name of its processor; "": unknown.
    """

    name: str
    slots: int
    processor: str = ""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The names of the hosts in one enclosure; `kind` is "blade", "chassis", "switch" …"""

    kind: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """The cores, enclosure and price of a node, as the system file states them. None or "": not stated.

    `rack_units_per_enclosure` are the rack units of an enclosure of `nodes_per_enclosure` nodes. The prices are in `currency`,
    that of an hour is for a node.
    """

    cores_per_node: int | None = None
    nodes_per_enclosure: int | None = None
    rack_units_per_enclosure: float | None = None
    price_per_node: float | None = None
    price_per_kwh: float | None = None
    price_per_hour: float | None = None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Uplink:
    """The links from each switch of a kind to a switch of the kind `to`: their number, and the rate of each in bit/s.

    A kind that is linked to itself: the switches of this kind are linked with each other.
    """

    to: str
    links: int = 1
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A kind of switches. `each`: every enclosure of this kind has one for its nodes; "": there is one.

    `hosts` are its nodes if it belongs to no enclosure; empty: all nodes that no other switch has. `node_rate` is the rate of the
    link to each node in bit/s. Several `units` work side by side as one switch.
    """

    name: str
    each: str = ""
    hosts: tuple[str, ...] = ()
    node_rate: float | None = None
    units: int = 1
    uplinks: tuple[Uplink, ...] = ()


@dataclass(frozen=True, slots=True)
class Attached:
    """Machines beside the nodes, such as a file server: a name, their number, and their links to a switch."""

    name: str
    number: int
    uplink: Uplink


@dataclass(frozen=True, slots=True)
class Cluster:
    """The switches of a cluster and the machines beside its nodes, as a system file gives them; `node` describes a node."""

    node: str = ""
    switches: tuple[Switch, ...] = ()
    attached: tuple[Attached, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A network interface of a host, or a port of an InfiniBand adapter. None: unknown; `reasons` has the reason by field.

    `rto_min` is the smallest retransmission time-out of TCP in seconds: that of a route, or of the kernel (`rto_source`).
    """

    name: str
    kind: str  # "Ethernet", "InfiniBand", "bond", "virtual" …
    driver: str | None = None
    firmware: str = ""
    link_rate: float | None = None  # bit/s
    duplex: str | None = None  # "full", "half"
    mtu: int | None = None  # bytes
    offloads: Mapping[str, bool] = field(default_factory=dict)  # "tso", "gso", "gro", "lro"
    interrupts: Mapping[str, int] = field(default_factory=dict)  # their moderation: "rx_usecs", "adaptive_rx" …
    flow_control: str | None = None  # "on", "off", "receive", "send"
    rto_min: float | None = None
    rto_source: str = ""
    part_of: str = ""  # the bond or bridge that it belongs to
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network of hosts that have the same description: interfaces that are up, and settings of the kernel for TCP.

    `reason`: why the network of these hosts is unknown.
    """

    hosts: tuple[str, ...]
    interfaces: tuple[Interface, ...] = ()
    settings: tuple[Setting, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator: its number behind its door, its kind ("CPU", "GPU", "accelerator"), and its memory in bytes.

    `door` leads to it: "opencl", "cuda" or "hip"; a device behind several doors has the one that Steelyard uses. `bus` is its
    PCI address. `limits` are those of its data: "bandwidth" and "link" (B/s), "flops" and "flops_single" (flop/s). `facts`
    describe it in words and numbers; which ones are known depends on the driver.
    """

    number: int
    name: str
    kind: str
    memory: int
    shares_memory: bool  # with the host, so that nothing has to be copied
    door: str = field(default="opencl", kw_only=True)
    bus: str = field(default="", kw_only=True)
    limits: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    facts: Mapping[str, Scalar] = field(default_factory=dict, kw_only=True)


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
    equipment: Equipment = Equipment()
    cluster: Cluster = Cluster()  # given by a system file
    networks: tuple[Network, ...] = ()  # of the hosts of a run, or of this machine; empty: not described
    core_kinds: tuple[tuple[int, ...], ...] = ()  # the processors of each kind of core; empty: all are of one kind
    mpi_settings: tuple[Setting, ...] | None = None  # what steers the MPIs besides Steelyard; None: not recorded
    start_factors: Mapping[str, float] = field(default_factory=dict)  # time of starts over the expected one, by the MPI

    @property
    def processors(self) -> int:
        """Returns the number of all hardware threads, also of those that this process may not use."""
        return max(len(self.cpus), sum(len(core.cpus) for core in self.cores))

    @property
    def is_virtual(self) -> bool:
        """Returns whether the machine is known to run under a hypervisor."""
        return self.setting("hypervisor").value not in (None, "none")

    def setting(self, name: str) -> Setting:
        """Returns the setting of that name; one without a value where the machine has none of that name."""
        absent = Setting(name, None, "", "this machine's description does not mention it")
        return next((entry for entry in self.settings if entry.name == name), absent)
