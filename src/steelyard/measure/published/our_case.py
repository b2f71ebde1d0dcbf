"""The cases of Steelyard that the printed numbers of the five evaluations correspond to, or the reason why there is none."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from steelyard.measure.published import Published
from steelyard.model import Parameters, Scalar

MEASURED_ONE = "this run measured it, and the other figure is of a data sheet"
MACHINE = (
    "machine"  # instead of a benchmark: a figure of the machine's data sheet, which a run has without a measurement
)
DATA_SHEET = "data sheet"  # its kernel
SPREAD = "spread over "  # a statistic: (greatest - least) / median over the values of a parameter
AS_PRINTED = "as printed"  # the statistic of a number whose source names none
SPREAD_ENDING = "_spread"  # of the name of such a metric

# Conditions of a case besides the parameters of the benchmark.
HOSTS = "hosts"  # the number of hosts that the ranks are on
BETWEEN = "between"  # its value "hosts" means: the ranks are on more than one host
COMPILER = "compiler"  # the name of the toolchain without its version
UNIT = "unit"  # of a data sheet: NODE, SOCKET or CORE
CONDITIONS = (HOSTS, BETWEEN, COMPILER, UNIT)
RACK_UNITS = "rack_units"  # what the system takes up: no condition of the figure
NODE, SOCKET, CORE = "node", "socket", "core"
SINGLE, DOUBLE = "single", "double"  # values of the parameter `precision`
ALL = "all"  # threads: as many as the machine has processors


@dataclass(frozen=True, kw_only=True)
class OurCase:
    """A case of Steelyard with all parameters and `CONDITIONS` that a publication fixes.

    The printed value times `share` is the value of the case: 1/1080 if it was printed for 1,080 nodes and the case is one node.
    `note` says what differs in meaning.
    """

    benchmark: str
    kernel: str
    metric: str
    parameters: Parameters = field(default_factory=dict)
    share: float = 1.0
    statistic: str = AS_PRINTED
    note: str = ""


Answer = tuple[OurCase, ...] | str  # the cases, or the reason why there is none
Given = Mapping[str, Scalar]


def find_cases(entry: Published) -> Answer:
    """Returns the cases that correspond to a printed number, or the reason why Steelyard has none."""
    for names in ((entry.benchmark, entry.metric), (entry.benchmark, "")):
        rule = _RULES.get(names)
        if rule is not None:
            with suppress(KeyError, TypeError, ValueError, ZeroDivisionError):  # of damaged data
                return rule if isinstance(rule, str) else rule(entry.parameters)
            return "The data lack a condition of this number."
    return "Steelyard has no benchmark of this kind."


def _make(
    benchmark: str, kernel: str, metric: str, parameters: Given, share: float = 1.0, note: str = ""
) -> tuple[OurCase, ...]:
    case = OurCase(benchmark=benchmark, kernel=kernel, metric=metric, parameters=parameters, share=share, note=note)
    return (case,)


PLACEMENTS = {
    "full_system": "full system",
    "local_socket": "local socket",
    "local_numa_node": "local memory node",
    "remote_same_socket": "remote node, same socket",
    "remote_other_socket": "remote socket",
}


def _triad(given: Given) -> Answer:
    placement = str(given["placement"])
    named = _make("memory.placement", "triad", "bandwidth", {"placement": PLACEMENTS[placement]})
    (whole,) = _make("memory.stream", "triad", "bandwidth", {"threads": ALL, "pinning": "compact"})
    return (*named, replace(whole, statistic="best of 10")) if placement == "full_system" else named


_CORNERS: dict[Scalar, Given] = {"G": {"L": 1, "alpha": 1.0}, "L": {"L": 65536, "alpha": 0.001}}
_MEMORY: dict[Scalar, str] = {"one_socket": "local", "all_sockets": "interleave"}


def _apexmap(given: Given) -> Answer:
    where = {"threads": given["threads"], "accumulators": 1, "memory_policy": _MEMORY[given["memory"]]}
    parameters = {**_CORNERS[given["point"]], **where, COMPILER: given["compiler"]}
    return _make("memory.apexmap", "gather", "cost", parameters)


def _flops(given: Given) -> Answer:
    # The program communicates. A core of the Core 2 Duo is a rank; a node of the cluster has one core, and all of it counts.
    where: Given = {HOSTS: 1, "ranks": given["cores"]} if "cores" in given else {HOSTS: given["nodes"]}
    cases = _make("cluster.flops", "task", "flops", where)
    if given.get("cores") == 2:  # the whole processor, a Core 2 Duo
        cases += _make("cluster.flops", "task", "flops", {}, note="all ranks of this run beside the whole processor")
    return cases


def _spread(given: Given) -> Answer:
    (latency,) = _make("network.transfer", "transfer", "latency", {"message_bytes": 0, BETWEEN: "hosts"})
    return (replace(latency, statistic=f"{SPREAD}partner"),)


def _transfer(given: Given) -> Answer:
    parameters: Given = {"direction": "two-way", "message_bytes": given["message_bytes"], BETWEEN: "hosts"}
    return _make("network.transfer", "transfer", "bandwidth", parameters)


def _nettest(given: Given) -> Answer:
    parameters: Given = {"topology": given["topology"], "direction": "two-way", HOSTS: given["nodes"]}
    return _make("network.nettest", "nettest", "throughput", {**parameters, "ranks": given["nodes"]})


VARIANTS: dict[Scalar, str] = {"open-mx": "Open-MX"}  # protocols that a run has as variants of this name


KERNEL = "kernel"  # the driver of the kernel; also the parameter that says how a kernel was changed


def _pingpong(metric: str) -> Callable[[Given], Answer]:
    def find(given: Given) -> Answer:
        # IMB, which printed the numbers, uses its buffers again. A latency is that of an empty message.
        wire: Given = {"transport": "tcp"} if given["stack"] == "tcp" else {"variant": VARIANTS[given["stack"]]}
        parameters: Given = {"placement": "other node", BETWEEN: "hosts", "buffers": "reused", **wire}
        if metric == "latency":
            parameters = {**parameters, "message_bytes": 0}
        if given.get("driver", KERNEL) == KERNEL:
            return _make("network.pingpong", "pingpong", metric, parameters)
        # A run that has no variant for it may have been started with this driver.
        named = {**parameters, "variant": f"{given['driver']} driver {given.get(KERNEL, '')}".strip()}
        unnamed = _make("network.pingpong", "pingpong", metric, parameters, note="over the driver that this run used")
        return *_make("network.pingpong", "pingpong", metric, named), *unnamed

    return find


def _peak(metric: str, precision: str = "") -> Callable[[Given], Answer]:
    """Returns the rule for a figure of a data sheet; `precision`: a speed, which a run also measures."""

    def find(given: Given) -> Answer:
        unit, nodes = given.get("unit"), given.get("nodes", 1)
        if unit == "gpu":
            return "Steelyard knows the peak of processors only, not of a GPU."
        if nodes != 1 and unit is None:
            return "The number adds GPUs to processors. Steelyard knows the peak of processors only."
        of = SOCKET if given.get("socket") == 1 else NODE
        note = f"one of {nodes} nodes" if nodes != 1 else ""
        sheet = _make(MACHINE, DATA_SHEET, metric, {UNIT: of}, 1 / float(nodes), note)
        where: Given = {"precision": precision, "threads": ALL}
        text = ", ".join(filter(None, (note, MEASURED_ONE)))
        measured = _make("core.peak", "peak", metric, where, 1 / float(nodes), text) if of == NODE and precision else ()
        # The data sheets of machines, which system files have too, are for double precision.
        return (
            measured or "Steelyard measures this speed for whole nodes only."
            if precision == SINGLE
            else (*sheet, *measured)
        )

    return find


def _cache(level: int) -> Callable[[Given], Answer]:
    def find(given: Given) -> Answer:
        return _make(MACHINE, DATA_SHEET, f"l{level}_cache", {UNIT: CORE if given["each"] == "core" else SOCKET})

    return find


_MODES: dict[Scalar, Given] = {
    "1 cpu": {"mode": "threads", "threads": 1},
    "2 cpu": {"mode": "threads", "threads": ALL},
    "gpu": {"mode": "opencl", "device": "GPU"},
    "gpu+1 cpu": {"mode": "mixed", "device": "GPU"},
}


def _power(given: Given) -> Answer:
    if given["state"] == "idle":
        return "The idle power belongs to no case. The page Power shows yours beside it."
    note = "the source has one core for the GPU and one that computes" if given["state"] == "gpu+1 cpu" else ""
    return _make("node.stencil", "stencil", "power", _MODES[given["state"]], 1.0, note)


def _program(name: str, metric: str) -> Callable[[Given], Answer]:
    return lambda given: _make(f"application.{name}", name, metric, {n: given[n] for n in ("ranks", RACK_UNITS)})


_OTHER_SYSTEM = (
    "A ratio to another system, of which the source prints no absolute number. Compare two runs with each other."
)
_SEVERAL = "A ratio of several cases. The source prints none of them."
_REPLAY = "A property of a program's trace. `steelyard whatif TRACE` gives yours."
_REGION = "A border of a curve. The findings on reused buffers and on protocols give yours."

_RULES: Mapping[tuple[str, str], str | Callable[[Given], Answer]] = {
    ("stream", "triad_bandwidth"): _triad,
    (
        "stream",
        "triad_above",
    ): "A difference of two systems. The source draws the absolute numbers and does not print them.",
    ("stream", "triad_ratio"): _OTHER_SYSTEM,
    ("stream", "triad_loss"): "A ratio of two rows of the table, which does not agree with it.",
    ("apexmap", "cycles_per_access"): _apexmap,
    ("flops", "cluster_speed"): _flops,
    ("flops", "calculation_time"): "The time is for a task whose size is not printed. Compare the speed.",
    ("flops", "node_speed"): "The speed of one of several nodes. The figure on the speed of each node shows yours.",
    ("operations", "time"): "An upper bound for all operations together, which this network cannot keep.",
    ("transfer", "latency_spread"): _spread,
    ("transfer", "bandwidth"): _transfer,
    ("nettest", "bandwidth"): _nettest,
    ("pingpong", "latency"): _pingpong("latency"),
    ("pingpong", "bandwidth"): _pingpong("bandwidth"),
    ("pingpong", "bandwidth_gain"): "A ratio. The source draws the bandwidths below 64 kB and does not print them.",
    ("pingpong", ""): "A ratio of two rows that are in the data.",
    ("peak", "flops"): _peak("flops", DOUBLE),
    ("peak", "flops_dp"): _peak("flops", DOUBLE),
    ("peak", "flops_sp"): _peak("flops", SINGLE),
    ("peak", "memory_bandwidth"): _peak("memory_bandwidth"),
    ("peak", "network_bandwidth"): _peak("network_bandwidth"),
    ("peak", "socket_link_bandwidth"): "Steelyard cannot read the bandwidth of the link between sockets.",
    **{("peak", f"l{level}_cache"): _cache(level) for level in (1, 2, 3)},
    ("power", "power"): _power,
    ("power", "power_max"): "The greatest of all kernels. The page Power shows yours beside it.",
    **{(name, metric): _program(name, metric) for name in ("comd", "minife") for metric in ("time", "power", "energy")},
    (
        "applications",
        "strong_efficiency",
    ): "An efficiency follows from several cases. The page Scaling draws it beside yours.",
    (
        "applications",
        "weak_efficiency",
    ): "An efficiency follows from several cases. The page Scaling prints it beside yours.",
    ("applications", "above_half_efficiency"): "A number of programs, not a figure of one.",
    ("applications", ""): _OTHER_SYSTEM,
    ("kernels", ""): _OTHER_SYSTEM,
    ("npb", ""): _SEVERAL,
    ("npb_ua", ""): _OTHER_SYSTEM,
    ("retransmissions", ""): _REPLAY,
    ("noise", ""): _REPLAY,
    ("sendrecv", ""): _REGION,
}
