"""The times and powers of whole programs on a side of a comparison, by their numbers of ranks and nodes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from steelyard.compare.side import SideCase
from steelyard.model import Level, Scalar, Value
from steelyard.statistics.results import applications, cases
from steelyard.statistics.samples.interval import normal_quantile
from steelyard.statistics.samples.launches import LONE_SPREAD
from steelyard.statistics.validity import trust

TIME, POWER = "time", "power"  # metrics
PRINTED = "rack_units"  # the parameter of a published figure
# These parameters may differ between the sides if the problem is the same.
OWN = frozenset((*applications.WHO, "toolchain", "wait_policy", "nodes", "cores", PRINTED))
COUNTS = ("ranks", "threads", "cores")
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


def find_points(cases: Iterable[SideCase]) -> dict[Problem, tuple[Point, ...]]:
    """Returns the points of each program, in rising order of their workers; a case of several runs is one point."""
    groups: dict[tuple[Problem, tuple[tuple[str, str], ...]], list[SideCase]] = {}
    for case in (case for case in cases if case.timed or case.level == "FOREIGN"):
        who = tuple(sorted((name, str(value)) for name, value in case.parameters.items() if name in OWN))
        groups.setdefault((_problem(case), who), []).append(case)
    points: dict[Problem, list[Point]] = {}
    for (problem, _), members in groups.items():
        if point := _point(members):
            points.setdefault(problem, []).append(point)
    return {problem: tuple(sorted(of, key=lambda p: p.workers or 0)) for problem, of in points.items()}


def log_error(value: Value) -> float:
    """Returns the standard error of the logarithm of a positive value. A value without an interval has that of a lone launch."""
    if value.low and value.high and value.low > 0:
        return math.log(value.high / value.low) / 2 / Z
    return LONE_SPREAD


def _problem(case: SideCase) -> Problem:
    bare = case.benchmark.rpartition(".")[2]
    program = bare if bare.endswith(case.kernel) else f"{bare} {case.kernel}"
    hidden = OWN | ({"kernel"} if case.benchmark.startswith(applications.NPB) else set())
    rest = sorted((name, value) for name, value in case.parameters.items() if name not in hidden)
    return Problem(program, tuple(rest))


def _point(members: Sequence[SideCase]) -> Point | None:
    time, power = (_value(members, name, unit) for name, unit in ((TIME, "s"), (POWER, "W")))
    if time is None:
        return None
    counts = [int(n) for name in COUNTS if (n := _number(members[0], name))]
    unit = "threads" if "threads" in members[0].parameters and "ranks" not in members[0].parameters else "ranks"
    nodes = members[0].hosts or _number(members[0], "nodes") or (1 if unit == "threads" else None)
    return Point(
        workers=math.prod(counts) if counts else None,
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


def _value(members: Iterable[SideCase], name: str, unit: str) -> Value | None:
    """Returns the value of the metric, or the geometric mean of several runs with the interval that they show."""
    values = [v for case in members if (v := case.metrics.get(name)) and v.unit == unit]
    usable = [v for v in values if math.isfinite(v.value) and v.value > 0]
    if len(usable) < 2:
        return usable[0] if usable else None
    from steelyard.statistics.samples.distribution_functions import stdtrit

    logs = [math.log(v.value) for v in usable]
    between = float(stdtrit(len(logs) - 1, 0.975)) * stdev(logs)
    within = Z * math.sqrt(fmean(log_error(v) ** 2 for v in usable))
    half, middle = max(between, within) / math.sqrt(len(logs)), math.exp(fmean(logs))
    return Value(middle, unit, middle / math.exp(half), middle * math.exp(half), usable[0].better)
