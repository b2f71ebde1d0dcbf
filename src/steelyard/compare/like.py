"""Finds the case of a run that corresponds to a case of a published system: like is compared with like, or not at all."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from steelyard.compare.side import SideCase, SideRun
from steelyard.measure.benchmarks.memory.nodes import memory_nodes
from steelyard.measure.published.our_case import (
    ALL,
    AS_PRINTED,
    BETWEEN,
    COMPILER,
    CORE,
    DATA_SHEET,
    HOSTS,
    MACHINE,
    NODE,
    RACK_UNITS,
    SOCKET,
    SPREAD,
    SPREAD_ENDING,
    UNIT,
)
from steelyard.model import UNCHANGED, Machine, Scalar, Value, scope
from steelyard.model.devices import find_device, on_device
from steelyard.model.machine import DOORS
from steelyard.model.roles import SIZES
from steelyard.statistics.validity.trust import ORDER

# A parameter that a publication does not name has its usual value.
USUAL: dict[str, Scalar] = {
    "page_size": "default", "memory_policy": "local", "transport": "default", "variant": UNCHANGED,
}  # fmt: skip
LARGEST = (*SIZES, "ranks")  # sizes that a publication does not name: the largest of the run
SHARED_LEVEL = 3  # caches from this level on belong to a socket, the others to a core
BEST_OF_10 = "best_of_10"  # the metric that follows STREAM's rule
POWER = ("power", "energy")  # a modelled power is not compared with a measured one
_WORDS = re.compile(r"[\w-]+")
CHOSEN = "over the transport that the MPI chose"


@dataclass(frozen=True)
class Like:
    """The case of a run that corresponds to a published one, and its value. `remark` says in what both differ."""

    case: SideCase
    value: Value
    remark: str = ""


def find_like(published: SideCase, run: SideRun) -> Like | None:
    """Returns the corresponding case of the run: the best value of the most trusted cases; None if the run has none."""
    spread = published.statistic.startswith(SPREAD)
    main = next(iter(published.metrics))
    metric = main.removesuffix(SPREAD_ENDING) if spread else main
    pool = list_data_sheet(run.machine) if published.benchmark == MACHINE else run.cases
    alike = [
        case
        for case in pool
        if case.benchmark == published.benchmark
        and case.kernel == published.kernel
        and metric in case.metrics
        and (spread or case.metrics[metric].unit == published.metrics[metric].unit)
        and is_like(published, case, run.machine)
    ]
    if metric in POWER:  # of whole nodes
        alike = [case for case in alike if case.metrics[metric].scope == (scope.NODE,) and not run.modelled_power]
    alike = _largest(published, alike)
    if not alike:
        return None
    if spread:
        return _find_least_spread(alike, metric, published.statistic.removeprefix(SPREAD))
    level = min((case.level for case in alike), key=ORDER.index)
    best = max((case for case in alike if case.level == level), key=lambda case: goodness(case.metrics[metric]))
    by_rule = best.metrics.get(BEST_OF_10) if published.statistic.startswith("best of ") else None
    return Like(best, by_rule or best.metrics[metric], _remark(published, best, by_rule is not None))


def is_like(published: SideCase, ours: SideCase, machine: Machine | None) -> bool:
    """Returns whether a case of a run on `machine` has all the parameters that the publication fixes."""
    wanted = published.parameters
    free = ("memory_policy",) if "placement" in wanted else ()  # the name of a placement stands for it
    unnamed = {name: usual for name, usual in USUAL.items() if name not in wanted and name not in free}
    return all(_has(ours, name, value, machine) for name, value in {**unnamed, **wanted}.items())


def list_data_sheet(machine: Machine | None) -> tuple[SideCase, ...]:
    """Returns the peaks and sizes of a machine that no benchmark measures, of a node, a socket and a core."""
    if machine is None:
        return ()
    names = ("flops", "memory_bandwidth", "network_bandwidth")
    limits = {name: machine.limits[name] for name in names if name in machine.limits}
    sockets = len({core.socket for core in machine.cores}) or 1
    of_node = {name: _make_sheet_value(limit.value, limit.unit) for name, limit in limits.items()}
    of_socket = {
        name: _make_sheet_value(limit.value / sockets, limit.unit) for name, limit in limits.items() if name != names[2]
    }
    of_core: dict[str, Value] = {}
    first = machine.cpus[0] if machine.cpus else 0
    socket = next((core.socket for core in machine.cores if first in core.cpus), None)
    near = {cpu for core in machine.cores if core.socket == socket for cpu in core.cpus}
    caches = [c for c in machine.caches if c.kind != "instruction"]
    for level in {c.level for c in caches}:
        instances = [c for c in caches if c.level == level]
        if level < SHARED_LEVEL:
            sizes = [c.size for c in instances if first in c.cpus]
            of_core |= {f"l{level}_cache": _make_sheet_value(float(size), "B") for size in sizes[:1]}
        elif size := sum(c.size for c in instances if near & set(c.cpus)):
            of_socket[f"l{level}_cache"] = _make_sheet_value(float(size), "B")
    sheets = (_make_sheet_case(NODE, of_node), _make_sheet_case(SOCKET, of_socket), _make_sheet_case(CORE, of_core))
    return tuple(sheet for sheet in sheets if sheet.metrics)


def _make_sheet_value(value: float, unit: str) -> Value:
    return Value(value, unit, None, None, "higher")


def _make_sheet_case(unit: str, values: dict[str, Value]) -> SideCase:
    return SideCase(
        benchmark=MACHINE, kernel=DATA_SHEET, parameters={UNIT: unit}, kind="compute", metrics=values, level="CLEAN"
    )  # fmt: skip


def _has(case: SideCase, name: str, wanted: Scalar, machine: Machine | None) -> bool:
    test = _TESTS.get(name)
    if test is not None:
        return test(case, wanted, machine)
    given = case.parameters.get(name, USUAL.get(name))
    return given == wanted or str(given) == str(wanted)


def _has_transport(case: SideCase, wanted: Scalar, machine: Machine | None) -> bool:
    # Between hosts an MPI names its own choice "default". Only "tcp" is known to be TCP.
    given = case.parameters.get("transport", USUAL["transport"])
    return given == wanted or (wanted == "tcp" and given == "default" and case.hosts > 1)


def has_variant(case: SideCase, wanted: Scalar, machine: Machine | None = None) -> bool:
    """Returns whether the names have the same words: 'vendor driver, patched' is 'vendor driver + patched kernel'."""
    given = case.parameters.get("variant", UNCHANGED)
    return given == wanted or set(_WORDS.findall(str(given).lower())) - {"kernel"} == set(str(wanted).lower().split())


def _has_threads(case: SideCase, wanted: Scalar, machine: Machine | None) -> bool:
    if wanted == ALL:
        return machine is not None and case.parameters.get("threads") == len(machine.cpus)
    return case.parameters.get("threads") == wanted


def _has_policy(case: SideCase, wanted: Scalar, machine: Machine | None) -> bool:
    # The memory of all nodes is the local one if there is only one node.
    one = machine is not None and len(memory_nodes(machine)) == 1
    return case.parameters.get("memory_policy", "local") == ("local" if one else wanted)


def _has_device(case: SideCase, wanted: Scalar, machine: Machine | None) -> bool:
    device = find_device(machine, case.parameters)
    return device is not None and device.kind == wanted


def _has_mode(case: SideCase, wanted: Scalar, machine: Machine | None) -> bool:
    # A publication names the device, not the interface to it.
    return on_device(case.parameters) if wanted in DOORS else case.parameters.get("mode") == wanted


_TESTS: dict[str, Callable[[SideCase, Scalar, Machine | None], bool]] = {
    HOSTS: lambda case, wanted, _: (case.hosts or 1) == wanted,
    BETWEEN: lambda case, _, __: case.hosts > 1,
    RACK_UNITS: lambda *_: True,
    COMPILER: lambda case, wanted, _: str(case.parameters.get("toolchain", "")).partition("-")[0] == wanted,
    "transport": _has_transport,
    "variant": has_variant,
    "threads": _has_threads,
    "memory_policy": _has_policy,
    "device": _has_device,
    "mode": _has_mode,
}


def _largest(published: SideCase, alike: Sequence[SideCase]) -> list[SideCase]:
    chosen = list(alike)
    for name in LARGEST:
        sizes = [s for case in chosen if isinstance(s := case.parameters.get(name), int | float)]
        if sizes and name not in published.parameters:
            chosen = [case for case in chosen if case.parameters.get(name) == max(sizes)]
    return chosen


def goodness(value: Value) -> float:
    """Returns a number that is greater for better values."""
    return -value.value if value.better == "lower" else value.value


def _find_least_spread(alike: Iterable[SideCase], metric: str, name: str) -> Like | None:
    """Returns (greatest - least) / median over the values of a parameter: the least spread of all settings."""
    groups: dict[tuple[tuple[str, str], ...], list[SideCase]] = {}
    for case in alike:
        rest = tuple(sorted((k, str(v)) for k, v in case.parameters.items() if k != name))
        groups.setdefault(rest, []).append(case)
    spreads = []
    for members in groups.values():
        values = [case.metrics[metric].value for case in members]
        if len(values) > 1 and median(values) > 0:
            spreads.append(((max(values) - min(values)) / median(values), members))
    if not spreads:
        return None
    share, members = min(spreads, key=lambda one: one[0])
    worst = max(members, key=lambda case: ORDER.index(case.level))
    return Like(worst, Value(share, "%", None, None, "lower"))


def _remark(published: SideCase, ours: SideCase, by_rule: bool) -> str:
    chosen = published.parameters.get("transport") == "tcp" and ours.parameters.get("transport") != "tcp"
    statistic = "best of 10" if by_rule else "median"
    differs = published.statistic not in (AS_PRINTED, statistic)
    other = f"the {statistic} of this run beside the {published.statistic}" if differs else ""
    return ", ".join(filter(None, (published.note, CHOSEN if chosen else "", other)))
