"""The quantities by which whole machines are compared and judged, each at the best use of the machine that was measured.

A measured value and one of a data sheet are two quantities, so that they are never compared with each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.compare.average import average
from steelyard.compare.like import goodness, list_data_sheet
from steelyard.compare.side import Side, SideCase, SideRun
from steelyard.measure.published.our_case import ALL, BETWEEN, HOSTS, MACHINE
from steelyard.model import Level, Limit, Parameters, Scalar, Value
from steelyard.model.devices import find_device
from steelyard.model.record import Span
from steelyard.model.roles import SIZES
from steelyard.model.scope import NODE
from steelyard.model.units import binary_size, quantity
from steelyard.model.words import find_words, plural
from steelyard.statistics.results.energy_metrics import POWER
from steelyard.statistics.results.parameters import extreme, number, prefer
from steelyard.statistics.results.variants import select_plain
from steelyard.statistics.validity.limits import is_above

USUAL: tuple[tuple[str, Scalar], ...] = (
    ("page_size", "default"), ("memory_policy", "local"), ("pinning", "compact"), ("transport", "default"),
    ("placement", "other node"), ("buffers", "fresh"), ("precision", "double"), ("operation", "fma"),
)  # fmt: skip
LONG = 256 << 10  # bytes: from this size on, the start of a message costs little
SHORT = 64  # bytes: up to this size, the length of a message costs nothing
PER_CORE = " per core"  # ends the title of such a reading
EQUAL = 0.05  # relative difference of the fastest samples below which two uses are equally good
NAMED = (
    "threads", "ranks", "nodes", "hosts", "cores", "message_bytes", "placement", "driver", "stack", "topology", "direction",
    "device",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Pick:
    """Chooses one case of a benchmark: first by `where` and `fits`, then by the `least` and `most` of parameters.

    Of the rest, such as all numbers of threads, the best use of the machine is chosen: the fastest samples are compared, since
    they differ least from run to run. Of those that are equally good the one with most threads is chosen, then the first by its
    parameters, whatever its verdict, so that each run of a machine has the same case; of values without samples, the best.
    """

    benchmark: str
    metric: str
    kernel: str = ""
    where: Mapping[str, Scalar] = field(default_factory=dict)
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    fits: Callable[[SideCase], bool] = lambda case: True

    def matching(self, cases: Iterable[SideCase]) -> list[SideCase]:
        """Returns all cases of this quantity."""
        return [case for case in cases if case.benchmark == self.benchmark and self._is_of(case)]

    def choose(self, cases: Iterable[SideCase]) -> SideCase | None:
        """Returns the case that stands for the quantity; None without a case."""
        kept = self.matching(cases)
        for names, pick in ((self.least, min), (self.most, max)):
            for name in names:
                kept = extreme(kept, name, pick)
        usual = prefer(kept, USUAL)
        sound = [
            case for case in usual if not is_above(case.metrics[self.metric], _limit(case, case.metrics[self.metric]))
        ]
        best = max((self._seen(case) for case in sound or usual), default=0.0)
        near = [case for case in sound or usual if self._seen(case) >= best - EQUAL * abs(best)]
        return min(near, key=self._rank, default=None)

    def _is_of(self, case: SideCase) -> bool:
        given = case.parameters
        return (
            self.kernel in ("", case.kernel)
            and self.metric in case.metrics
            and all(given.get(name) == value for name, value in self.where.items())
            and self.fits(case)
        )

    def _seen(self, case: SideCase) -> float:
        """Returns the value of the fastest sample, or the value; greater is better."""
        value = case.metrics[self.metric]
        return goodness(value if value.best_seen is None else replace(value, value=value.best_seen))

    def _rank(self, case: SideCase) -> tuple[float, float, list[tuple[str, str]]]:
        best_first = -goodness(case.metrics[self.metric]) if case.level == "FOREIGN" else 0.0
        most_threads = -(number(case.parameters.get("threads")) or 0)
        return best_first, most_threads, sorted((name, str(value)) for name, value in case.parameters.items())


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity: its name for rules, its title for readers, and the cases that have it.

    `grows`: a machine of more cores has more of it, so that it is compared per core, too.
    """

    name: str
    title: str
    picks: tuple[Pick, ...]
    grows: bool = False


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The value of a quantity on one side, with its condition and the benchmark that measured it.

    `cores` are those of the node whose value it is, for a quantity that grows with them; else None, also for several nodes.
    `power` is the mean power of the same case; None if it was not measured. `kernel` and `parameters` say which case it is.
    """

    quantity: str
    title: str
    value: Value
    condition: str
    benchmark: str
    parameters: Parameters
    level: Level
    limit: Limit | None = None
    hosts: int = 0
    cores: float | None = None
    power: Value | None = None
    kernel: str = ""

    @property
    def number(self) -> float:
        return self.value.value

    @property
    def nodes(self) -> float:
        """Returns the number of nodes whose value it is together; 0 if it states none."""
        return max(self.hosts, *(number(self.parameters.get(name)) or 0 for name in (HOSTS, "nodes")))

    @property
    def per_core(self) -> "Reading | None":
        """Returns the value for each core; None if the cores are unknown, or if more of them do not make it greater."""
        if not self.cores:
            return None
        value = Value(self.number / self.cores, self.value.unit, None, None, self.value.better)
        return replace(self, title=f"{self.title}{PER_CORE}", value=value, limit=None, cores=None)

    def is_of(self, case: SideCase) -> bool:
        """Returns whether it is the value of this case."""
        return (self.benchmark, self.kernel) == (case.benchmark, case.kernel) and self.parameters == case.parameters

    @property
    def is_above_limit(self) -> bool:
        """Returns whether the value or its limit is wrong, so that it ranks nowhere."""
        return is_above(self.value, self.limit)

    @property
    def text(self) -> str:
        """Returns the value with its unit, and with its verdict unless that is CLEAN or the value is published."""
        mark = "" if self.level in ("CLEAN", "FOREIGN") else f" {self.level}"
        plural = "s" if self.value.unit == "cycle" else ""
        return f"{quantity(self.value.value, self.value.unit)}{plural}{mark}"


Readings = Mapping[str, Reading]


def find_span(value: Value) -> Span | None:
    """Returns the range of another run at another hour, or the widest one that is known; None without one."""
    low, high = value.later or value.now or (value.low, value.high)
    return None if low is None or high is None else (low, high)


def _is_long(case: SideCase) -> bool:
    return (number(case.parameters.get("message_bytes")) or LONG) >= LONG


def _is_short(case: SideCase) -> bool:
    return (number(case.parameters.get("message_bytes")) or 0) <= SHORT


def is_between_nodes(case: SideCase) -> bool:
    """Returns whether the ranks are on several nodes."""
    given = case.parameters
    hosts = number(given.get(HOSTS)) or case.hosts
    return hosts > 1 or BETWEEN in given or given.get("placement") == "other node"


def _is_on_one_node(case: SideCase) -> bool:
    unknown = case.level == "FOREIGN" and not case.hosts and not {HOSTS, "placement"} & case.parameters.keys()
    return not unknown and not is_between_nodes(case)


def _is_no_data_sheet(case: SideCase) -> bool:
    """Returns whether somebody measured the peak: those of published systems, with all threads, are of data sheets."""
    return case.parameters.get("threads") != ALL


_BOTH_WAYS: Mapping[str, Scalar] = {"direction": "two-way"}
_ONE_WAY: Mapping[str, Scalar] = {"direction": "one-way"}
_CHAOS: Mapping[str, Scalar] = {"topology": "chaos", "direction": "two-way"}
_WORST: Mapping[str, Scalar] = {"L": 1, "alpha": 1.0, "accumulators": 1}
_DOUBLE: Mapping[str, Scalar] = {"precision": "double"}
_HALF: Mapping[str, Scalar] = {"precision": "half"}
_PINNED: Mapping[str, Scalar] = {"memory": "pinned"}
_SUM: Mapping[str, Scalar] = {"operation": "sum", "place": "out of place", "precision": "float", "nodes": 1}
_NODE: Mapping[str, Scalar] = {"unit": "node"}


def _pick_placed(name: str) -> Pick:
    """Returns the pick of Triad with this placement of threads and memory."""
    return Pick(benchmark="memory.placement", metric="bandwidth", kernel="triad", where={"placement": name})


QUANTITIES = (
    Quantity(name="triad", title="Triad bandwidth", grows=True, picks=(
        Pick(benchmark="memory.stream", metric="bandwidth", kernel="triad", most=("elements",)), _pick_placed("full system"))),
    Quantity(name="socket", title="Triad within one socket", picks=(_pick_placed("local socket"),)),
    Quantity(name="local", title="Triad within one memory node", picks=(_pick_placed("local memory node"),)),
    Quantity(name="remote", title="Triad with the memory of another socket", picks=(_pick_placed("remote socket"),)),
    Quantity(name="latency", title="Memory latency", picks=(
        Pick(benchmark="memory.latency", metric="latency", kernel="chase", least=("threads", "chains"), most=SIZES),)),
    Quantity(name="random", title="Random access", picks=(
        Pick(benchmark="memory.apexmap", metric="cost", where={**_WORST, "threads": 1}, most=SIZES),)),
    Quantity(name="peak", title="Arithmetic peak", grows=True, picks=(
        Pick(benchmark="core.peak", metric="flops", where=_DOUBLE, fits=_is_no_data_sheet),)),
    Quantity(name="linpack", title="HPL speed", grows=True, picks=(
        Pick(benchmark="application.hpl", metric="speed"),)),
    Quantity(name="linpack_power", title="Power while HPL runs", picks=(
        Pick(benchmark="application.hpl", metric="power"),)),
    Quantity(name="inner_message", title="Short message within a node", picks=(
        Pick(benchmark="network.pingpong", metric="latency", least=("ranks", "message_bytes"),
             fits=lambda case: _is_short(case) and _is_on_one_node(case)),)),
    Quantity(name="inner_link", title="Long messages within a node", picks=(
        Pick(benchmark="network.pingpong", metric="bandwidth", least=("ranks",),
             fits=lambda case: _is_long(case) and _is_on_one_node(case)),)),
    Quantity(name="message", title="Short message between nodes", picks=(
        Pick(benchmark="network.pingpong", metric="latency", least=("ranks", "message_bytes"),
             fits=lambda case: _is_short(case) and is_between_nodes(case)),
        Pick(benchmark="network.transfer", metric="latency", where=_ONE_WAY, least=("message_bytes",),
             fits=lambda case: _is_short(case) and is_between_nodes(case)))),
    Quantity(name="link", title="Link bandwidth", picks=(
        Pick(benchmark="network.pingpong", metric="bandwidth", least=("ranks",),
             fits=lambda case: _is_long(case) and is_between_nodes(case)),)),
    Quantity(name="pair", title="Bandwidth of a pair of nodes in both directions", picks=(
        Pick(benchmark="network.transfer", metric="bandwidth", kernel="transfer", where=_BOTH_WAYS, fits=is_between_nodes),)),
    Quantity(name="chaos", title="Throughput if all nodes exchange messages", picks=(
        Pick(benchmark="network.nettest", metric="throughput", where=_CHAOS, most=("ranks",), fits=is_between_nodes),)),
    Quantity(name="spread", title="Spread of the latency between nodes", picks=(
        Pick(benchmark="network.transfer", metric="latency_spread"),)),
    Quantity(name="device_triad", title="Triad bandwidth of a device", picks=(
        Pick(benchmark="device.stream", metric="bandwidth", kernel="triad", most=("elements",)),)),
    Quantity(name="device_peak", title="Vector speed of a device in double precision", picks=(
        Pick(benchmark="device.peak", metric="flops", kernel="vector", where=_DOUBLE),)),
    Quantity(name="device_matrix", title="Matrix product of a device in half precision", picks=(
        Pick(benchmark="device.peak", metric="flops", kernel="library", where=_HALF),)),
    Quantity(name="device_latency", title="Memory latency of a device", picks=(
        Pick(benchmark="device.latency", metric="latency", most=SIZES),)),
    Quantity(name="to_device", title="Copies to a device", picks=(
        Pick(benchmark="device.transfer", metric="bandwidth", kernel="to_device", where=_PINNED, most=("bytes",)),)),
    Quantity(name="from_device", title="Copies from a device", picks=(
        Pick(benchmark="device.transfer", metric="bandwidth", kernel="from_device", where=_PINNED, most=("bytes",)),)),
    Quantity(name="device_sum", title="Sum over the devices of a node, bandwidth of a link", picks=(
        Pick(benchmark="device.collectives", metric="bus_bandwidth", kernel="all_reduce", most=("message_bytes",)),
        Pick(benchmark="nccl_tests.all_reduce", metric="bus_bandwidth", where=_SUM, most=("message_bytes",)))),
    Quantity(name="sheet_peak", title="Arithmetic peak (data sheet)", grows=True, picks=(
        Pick(benchmark=MACHINE, metric="flops", where=_NODE),)),
    Quantity(name="sheet_bandwidth", title="Memory bandwidth (data sheet)", grows=True, picks=(
        Pick(benchmark=MACHINE, metric="memory_bandwidth", where=_NODE),)),
)  # fmt: skip


OF_DEVICES = frozenset(
    one.name for one in QUANTITIES if any(pick.benchmark.startswith("device.") for pick in one.picks)
)
GROWING = frozenset(one.name for one in QUANTITIES if one.grows)  # a machine of twice the size has twice as much


def read(side: Side, *names: str) -> dict[str, Reading]:
    """Returns the quantities that the side has, by name. Of a group of runs: the mean, with the interval of their spread.

    With `names`, only these quantities are searched for.
    """
    readings: dict[str, Reading] = {}
    runs = [(_group_by_benchmark(_list_cases(run)), run.cores) for run in side.runs]
    for one in QUANTITIES if not names else [one for one in QUANTITIES if one.name in names]:
        of_runs = [reading for cases, cores in runs if (reading := _read(one, cases, cores))]
        if of_runs:
            middle = sorted(of_runs, key=lambda reading: reading.number)[len(of_runs) // 2]
            mean = average([reading.value for reading in of_runs]) if len(of_runs) > 1 else None
            readings[one.name] = replace(middle, value=mean or middle.value)
    return readings


def _list_cases(run: SideRun) -> Iterator[SideCase]:
    """Yields the cases of a run and its data sheet. A processor behind OpenCL is no device that a machine has besides."""
    for case in select_plain(run.cases):
        device = find_device(run.machine, case.parameters) if case.benchmark.startswith("device.") else None
        if device is None or device.kind != "CPU":
            yield case
    yield from list_data_sheet(run.machine)


def _group_by_benchmark(cases: Iterable[SideCase]) -> dict[str, list[SideCase]]:
    groups: dict[str, list[SideCase]] = {}
    for case in cases:
        groups.setdefault(case.benchmark, []).append(case)
    return groups


def _read(one: Quantity, cases: Mapping[str, Sequence[SideCase]], cores: float | None) -> Reading | None:
    for pick in one.picks:
        case = pick.choose(cases.get(pick.benchmark, ()))
        if case and case.metrics[pick.metric].value > 0:
            reading = make_reading(one.name, one.title, case, case.metrics[pick.metric])
            return replace(reading, cores=cores) if one.grows and not is_between_nodes(case) else reading
    return None


def make_reading(name: str, title: str, case: SideCase, value: Value) -> Reading:
    """Returns the value of a case as a reading."""
    return Reading(
        quantity=name,
        title=title,
        value=value,
        condition=describe(case.parameters),
        benchmark=case.benchmark,
        kernel=case.kernel,
        parameters=case.parameters,
        level=case.level,
        limit=_limit(case, value),
        hosts=case.hosts,
        power=find_power(case),
    )


def find_power(case: SideCase) -> Value | None:
    """Returns the mean power of a case with its scope. Publications state the power of whole nodes."""
    power = case.metrics.get(POWER.name)
    return replace(power, scope=(NODE,)) if power and case.level == "FOREIGN" else power


def _limit(case: SideCase, value: Value) -> Limit | None:
    return case.limit if case.limit and case.limit.unit == value.unit else None


def list_names(benchmark: str, metric: str) -> list[str]:
    """Returns the names of the quantities that this metric of the benchmark can be."""
    return [
        one.name for one in QUANTITIES for pick in one.picks if (pick.benchmark, pick.metric) == (benchmark, metric)
    ]


def find_quantity(case: SideCase, metric: str) -> Quantity | None:
    """Returns the quantity that this metric of the case is; None if it is none of them."""
    found = (one for one in QUANTITIES for pick in one.picks if pick.metric == metric and pick.matching([case]))
    return next(found, None)


def find_curve(cases: Iterable[SideCase], name: str) -> dict[int, float]:
    """Returns the value of a quantity by the number of threads, with all other parameters alike; empty with one number only.

    Of several curves, the one with the most threads and the most usual parameters is returned.
    """
    curves: dict[tuple[object, ...], dict[int, float]] = {}
    all_cases = tuple(cases)
    for pick in next(one.picks for one in QUANTITIES if one.name == name):
        any_threads = replace(pick, where={k: v for k, v in pick.where.items() if k != "threads"})
        for case in any_threads.matching(all_cases):
            threads = number(case.parameters.get("threads"))
            others = tuple(sorted((k, str(v)) for k, v in case.parameters.items() if k != "threads"))
            if threads:
                curves.setdefault((case.benchmark, *others), {})[int(threads)] = case.metrics[pick.metric].value
    usual = {(name, str(value)) for name, value in USUAL}
    several = [(max(curve), len(usual & set(key[1:])), curve) for key, curve in curves.items() if len(curve) > 1]
    return max(several, key=lambda one: one[:2], default=(0, 0, {}))[2]


def describe(parameters: Parameters) -> str:
    """Returns the condition in words: '2 threads', '32 KiB, two-way'."""
    return ", ".join(_describe_value(name, parameters[name]) for name in NAMED if name in parameters)


def _describe_value(name: str, value: Scalar) -> str:
    if name == "message_bytes" and isinstance(value, int):
        return f"messages of {binary_size(value)}"
    if name == "hosts" and isinstance(value, int):
        return plural(value, "node")
    if isinstance(value, str):
        return f"{value} {name}" if value == "all" else value.replace("_", " ")
    return find_words(name, value) or f"{name.replace('_', ' ')} {value}"
