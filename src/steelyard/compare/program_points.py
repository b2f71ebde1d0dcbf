"""The times and powers of whole programs on a side of a comparison, by their numbers of ranks and nodes."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from steelyard.compare.full_nodes import USE
from steelyard.compare.side import SideCase
from steelyard.judge.evaluation.foreign_results import pool_values
from steelyard.model import Level, Scalar, Value
from steelyard.statistics.results import applications, cases
from steelyard.statistics.samples.interval import normal_quantile
from steelyard.statistics.samples.launches import LONE_SPREAD
from steelyard.statistics.validity import trust

TIME, POWER = "time", "power"  # metrics
PRINTED = "rack_units"  # the parameter of a published figure
# These parameters may differ between the sides if the problem is the same.
OWN = frozenset((*applications.WHO, "toolchain", "wait_policy", "nodes", "cores", PRINTED))
WORKERS = ("ranks", "threads")
Z = normal_quantile(0.95)


@dataclass(frozen=True)
class Problem:
    """A program with its input: all parameters but those of the workers and of the system."""

    program: str
    parameters: tuple[tuple[str, Scalar], ...]

    @property
    def case(self) -> str:
        """Returns the input in words: 'class B'."""
        usual = {**cases.USUAL, "scale": 1}
        shown = ((name, value) for name, value in self.parameters if usual.get(name) != value)
        return ", ".join(applications.phrase(name, value) for name, value in shown)


@dataclass(frozen=True, kw_only=True)
class Point:
    """The time (s) and the mean power (W) of a program with this number of ranks or threads on this number of nodes.

    `unit` is the word for the workers: "ranks" or "threads". `rack_units` are those that a source printed. Unknown values are
    None.
    """

    workers: int | None
    unit: str
    nodes: int | None
    time: Value
    power: Value | None
    level: Level
    rack_units: float | None
    notes: tuple[str, ...]


def find_points(cases: Iterable[SideCase], imported: bool = False) -> dict[Problem, tuple[Point, ...]]:
    """Returns the points of each program, in rising order of their workers; a case of several runs is one point.

    Of `imported` cases, those that differ in the host only are one point, too.
    """
    own = OWN.union(USE) if imported else OWN
    groups: dict[tuple[Problem, tuple[tuple[str, str], ...]], list[SideCase]] = {}
    for case in (case for case in cases if case.timed or case.level == "FOREIGN"):
        named = ((name, str(value)) for name, value in case.parameters.items() if name in own)
        who = tuple(sorted((name, value) for name, value in named if not (imported and name == "host")))
        groups.setdefault((_problem(case, own), who), []).append(case)
    points: dict[Problem, list[Point]] = {}
    for (problem, _), members in groups.items():
        if point := _point(members, pool_values if imported else _average):
            points.setdefault(problem, []).append(point)
    return {problem: tuple(sorted(of, key=lambda p: p.workers or 0)) for problem, of in points.items()}


def log_error(value: Value) -> float:
    """Returns the standard error of the logarithm of a positive value. A value without an interval has that of a lone launch.

    It only says which times may be equal: no interval follows from it.
    """
    return math.log((value.high or 1.0) / (value.low or 1.0)) / 2 / Z if has_interval(value) else LONE_SPREAD


def has_interval(value: Value) -> bool:
    """Returns whether both ends of the interval of a positive value are known."""
    return value.low is not None and value.high is not None and 0 < value.low <= value.high


def _problem(case: SideCase, own: frozenset[str]) -> Problem:
    bare = case.benchmark.rpartition(".")[2].removesuffix("run")
    program = bare if bare and bare.endswith(case.kernel) else f"{bare} {case.kernel}".strip()
    hidden = own | ({"kernel"} if case.benchmark.startswith(applications.NPB) else set())
    rest = sorted((name, value) for name, value in case.parameters.items() if name not in hidden)
    return Problem(program, tuple(rest))


def _point(members: Sequence[SideCase], pool: Callable[[Sequence[Value]], Value]) -> Point | None:
    time, power = (_value(members, name, unit, pool) for name, unit in ((TIME, "s"), (POWER, "W")))
    if time is None:
        return None
    given = {name: int(n) for name in (*WORKERS, "cores") if (n := _number(members[0], name))}
    workers, cores = math.prod(given.get(name, 1) for name in WORKERS), given.get("cores", 0)
    if cores and (given.keys().isdisjoint(WORKERS) or given.get("ranks", 0) <= cores < workers):
        workers = cores  # a second thread of a core is no further worker
    unit = "threads" if "threads" in members[0].parameters and "ranks" not in members[0].parameters else "ranks"
    nodes = members[0].hosts or _number(members[0], "nodes") or (1 if unit == "threads" else None)
    return Point(
        workers=workers if given else None,
        unit=unit,
        nodes=int(nodes) if nodes else None,
        time=time,
        power=power,
        level=worst_level(case.level for case in members),
        rack_units=_number(members[0], PRINTED),
        notes=tuple(dict.fromkeys(text for case in members for text in (case.note, case.remark) if text)),
    )


def _number(case: SideCase, name: str) -> float | None:
    value = case.parameters.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def worst_level(levels: Iterable[Level]) -> Level:
    """Returns the least trusted verdict of Steelyard among the levels; FOREIGN without any."""
    judged = [level for level in levels if level != "FOREIGN"]
    return trust.worst(judged) if judged else "FOREIGN"


def _value(members: Iterable[SideCase], name: str, unit: str, pool: Callable[[Sequence[Value]], Value]) -> Value | None:
    values = [v for case in members if (v := case.metrics.get(name)) and v.unit == unit]
    usable = [v for v in values if math.isfinite(v.value) and v.value > 0]
    return pool(usable) if usable else None


def _average(values: Sequence[Value]) -> Value:
    """Returns the value, or the geometric mean of several runs with the interval that they show."""
    if len(values) == 1:
        return values[0]
    from steelyard.statistics.samples.distribution_functions import stdtrit

    logs = [math.log(v.value) for v in values]
    between = float(stdtrit(len(logs) - 1, 0.975)) * stdev(logs)
    within = Z * math.sqrt(fmean(log_error(v) ** 2 for v in values))
    half, middle = max(between, within) / math.sqrt(len(logs)), math.exp(fmean(logs))
    return Value(middle, values[0].unit, middle / math.exp(half), middle * math.exp(half), values[0].better)
