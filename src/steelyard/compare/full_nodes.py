"""Whole against whole: the values of sides on full nodes by the number of nodes, and those of their best configurations.

A value that is imported has no case alike if a node has another number of cores. So one full node is set beside another one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.compare.classes import Class
from steelyard.compare.compared_sides import NodeSeries, WholeCell, WholeRow
from steelyard.compare.like import goodness
from steelyard.compare.side import SideCase
from steelyard.compare.side_view import SideView
from steelyard.compare.time_ratios import call_ratio, time_ratio
from steelyard.judge.evaluation.foreign_results import FURTHER, pool_values
from steelyard.model import Parameters, Scalar, Value
from steelyard.model.roles import SIZES
from steelyard.statistics.validity.trust import ORDER

# Parameters that say how the machine was used, not what it did. A rate is that of any amount of work, a time is not: for rates,
# all numbers but those of `_SAME` are such parameters, too.
USE = (
    "nodes", "ranks", "threads", "cores", "ranks_per_node", "threads_per_core", "cores_per_node", "gpus", "sockets",
    "passes", "NB",
    "version", "build", "processor", "simd", "smp", "ncore", "compiler", "MPI", "settings", "command", "title", "file", "folder",
    "host", "tool", "grid",
    "variant", "page_size", "memory_policy", "placement", "transport", "pinning", "toolchain", "stores",
)  # fmt: skip
_SAME = ("window", "pairs", "problem")  # besides numbers of bytes
_PACE = ("ns/day", "step/s")  # the progress of one problem: like a time, it is not that of any amount of work
_LENGTH = ("steps", "iterations")  # of a run, which change no progress
_MOST_THREADS = 8  # of a core
WHOLE: tuple[Class, ...] = ("memory", "compute", "applications")  # a message does not depend on the cores of a node
Question = tuple[str, str, str, str, tuple[tuple[str, str], ...]]  # benchmark, kernel, metric, unit, what was done


@dataclass(frozen=True)
class WholePoint:
    """The best value of a side for a question. `use` are the parameters that say how it used the machine.

    `cores` are those of all its `nodes`, which are full; unknown numbers are None.
    """

    case: SideCase
    value: Value
    use: Parameters
    nodes: int | None
    cores: int | None


@dataclass(frozen=True)
class SideSeries:
    """The best values of a side on full nodes, by the number of nodes, and the best one of all its configurations.

    `partial` are numbers of nodes of which the side only used a part.
    """

    full: Mapping[int, WholePoint]
    best: WholePoint
    partial: tuple[int, ...]


def find_series(view: SideView) -> dict[Question, SideSeries]:
    """Returns for each question the values of the most trusted cases of a side; none of a published system."""
    if view.side.kind == "published":
        return {}
    per_node = count_cores_per_node(view)
    largest: dict[tuple[str, str], float] = {}
    cases = [case for run in view.side.runs for case in run.cases]
    for case in cases:
        key = (case.benchmark, case.kernel)
        largest[key] = max(largest.get(key, 0.0), _size(case))
    asked: dict[Question, list[WholePoint]] = {}
    for question, point in _pool([case for case in cases if _size(case) == largest[case.benchmark, case.kernel]]):
        nodes = _count_nodes(point.case, per_node)
        cores = nodes * per_node if nodes and per_node and "gpus" not in point.use else None
        kept = {name: value for name, value in point.case.parameters.items() if name not in point.use}
        made = WholePoint(replace(point.case, parameters=kept), point.value, point.use, nodes, cores)
        asked.setdefault(question, []).append(made)
    return {question: _choose(points) for question, points in asked.items()}


def _choose(points: Sequence[WholePoint]) -> SideSeries:
    full: dict[int, WholePoint] = {}
    partial: dict[int, None] = {}
    for point in points:
        used = count_workers(point.use)
        if point.nodes is None:
            continue
        if used and point.cores and used < point.cores:
            partial[point.nodes] = None
        elif point.nodes not in full or _rank(point) > _rank(full[point.nodes]):
            full[point.nodes] = point
    only = tuple(sorted(n for n in partial if n not in full))
    return SideSeries(dict(sorted(full.items())), max(points, key=_rank), only)


def _pool(cases: Sequence[SideCase]) -> Iterator[tuple[Question, WholePoint]]:
    """Yields each case with each metric. Cases that differ in the host or the run only are repetitions on equal nodes."""
    alike: dict[object, list[tuple[Question, WholePoint]]] = {}
    for case in cases:
        for metric, value in case.metrics.items():
            if value.better == "none" or metric.endswith(FURTHER) or not 0 < value.value < math.inf:
                continue
            pace = value.unit in _PACE
            rate = value.better == "higher" and not pace
            use = {name: given for name, given in case.parameters.items() if not _is_work(name, given, rate, pace)}
            what = [(name, str(given)) for name, given in case.parameters.items() if name not in use]
            if not rate:
                what.append(("note", case.note))  # it has sizes that are not among the parameters
            question = (case.benchmark, case.kernel, metric, value.unit, tuple(sorted(what)))
            rest = sorted((name, str(given)) for name, given in use.items() if name != "host")
            point = WholePoint(case, value, use, None, None)
            alike.setdefault((question, case.level, tuple(rest)), []).append((question, point))
    for members in alike.values():
        question, first = members[0]
        use = {name: given for name, given in first.use.items() if name != "host" or len(members) == 1}
        yield question, replace(first, use=use, value=pool_values([point.value for _, point in members]))


# --------------------------------------------------------------------------- nodes and cores


def count_cores_per_node(view: SideView) -> int | None:
    """Returns the cores of a node: as the machine or the system file states, else the most that a case of the side used."""
    machine = next((run.machine for run in view.side.runs if run.machine), None)
    if machine and (stated := machine.equipment.cores_per_node or len(machine.cores)):
        return stated
    cases = [case for run in view.side.runs for case in run.cases]
    sized = [(nodes, case.parameters) for case in cases if (nodes := _count_nodes(case, None))]
    stating = [(nodes, cores, given) for nodes, given in sized if (cores := _number(given, "cores"))]
    named = {(nodes, cores) for nodes, cores, given in stating if cores * nodes >= (_number(given, "ranks") or 0)}
    if not named:
        return max((math.ceil(used / nodes) for nodes, given in sized if (used := count_workers(given))), default=None)
    same = len({c for _, c in named}) == 1 < len(named)  # the same number for any nodes is that of one node
    stated = named.pop()[1] if same else max(round(c / n) for n, c in named)
    used_there = max(math.ceil((count_workers(given) or 0) / nodes) for nodes, _, given in stating)
    return used_there if used_there > _MOST_THREADS * stated else stated  # a bound process sees only its own core


def _count_nodes(case: SideCase, per_node: int | None) -> int | None:
    given = case.parameters
    if case.level != "FOREIGN":
        return case.hosts or 1
    if nodes := _number(given, "nodes"):
        return nodes
    ranks, on_each = _number(given, "ranks"), _number(given, "ranks_per_node")
    if ranks and on_each:
        return math.ceil(ranks / on_each)
    used = count_workers(given)
    if used and per_node and ranks and (used >= per_node or "threads" in given):
        return math.ceil(used / per_node)  # fewer ranks with unknown threads may each have a node of its own
    return (
        1 if not ranks and ("host" in given or "threads" in given) else None
    )  # many ranks: the host is one of several


def count_workers(use: Parameters) -> int | None:
    """Returns the threads of all ranks, or the cores that they used if the threads of a core are known, else None."""
    ranks, nodes = _number(use, "ranks"), _number(use, "nodes")
    if not ranks and nodes and (on_each := _number(use, "ranks_per_node")):
        ranks = nodes * on_each
    threads = _number(use, "threads")
    if ranks or (threads and (nodes or 1) == 1):
        return math.ceil((ranks or 1) * (threads or 1) / (_number(use, "threads_per_core") or 1))
    return None


def _number(given: Parameters, name: str) -> int | None:
    value = given.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _size(case: SideCase) -> float:
    """Returns the size of the problem: a small one that a cache holds is no use of the machine, but another question."""
    return max((float(x) for name in SIZES if isinstance(x := case.parameters.get(name), int | float)), default=0.0)


def _is_work(name: str, value: Scalar, rate: bool, pace: bool) -> bool:
    return (
        name not in USE
        and not (pace and name in _LENGTH)
        and (not rate or isinstance(value, str) or name in _SAME or name.endswith("_bytes"))
    )


def _rank(point: WholePoint) -> tuple[int, float]:
    return -ORDER.index(point.case.level), goodness(point.value)


def name_use(use: Parameters) -> str:
    """Returns how the machine was used in words: "threads 32, elements 400,000,000"."""
    words = (
        f"{name.replace('_', ' ')} {value:,}" if isinstance(value, int) else f"{name.replace('_', ' ')} {value}"
        for name, value in use.items()
    )
    return ", ".join(words) or "not stated"


# --------------------------------------------------------------------------- comparison


def compare_full_nodes(sides: Mapping[str, tuple[SideView, Mapping[Question, SideSeries]]]) -> Iterator[NodeSeries]:
    """Yields what the baseline and another side did, on full nodes and at best; `sides` by their letters, the baseline first."""
    (first, base), *_ = sides.values()
    for question, of_base in base.items():
        having = {
            letter: (view, of[question])
            for letter, (view, of) in sides.items()
            if question in of and (view is first or "imported" in (view.side.kind, first.side.kind))
        }
        if len(having) < 2 or of_base.best.case.kind not in WHOLE:
            continue
        numbers = sorted({nodes for _, series in having.values() for nodes in series.full})
        shared = of_base.best.value.better == "higher" or "time" in question[2]  # a rate or a time, no latency
        rows = [
            _compare_row(n, first, {x: (v, s.full[n]) for x, (v, s) in having.items() if n in s.full}, shared)
            for n in numbers
        ]
        best = {letter: (view, series.best) for letter, (view, series) in having.items()}
        if not any(all(series.full.get(n) is series.best for _, series in having.values()) for n in numbers):
            rows.append(_compare_row(None, first, best, shared))
        case = of_base.best.case
        yield NodeSeries(
            benchmark=case.benchmark,
            kernel=case.kernel,
            parameters=case.parameters,
            metric=question[2],
            rows=tuple(rows),
            partial={letter: series.partial for letter, (_, series) in having.items() if series.partial},
        )


def _compare_row(
    nodes: int | None, first: SideView, points: Mapping[str, tuple[SideView, WholePoint]], shared: bool
) -> WholeRow:
    """Returns the values of a row. `shared`: cores share the work, so that a ratio for each core has a meaning."""
    base = next((point for view, point in points.values() if view is first), None)
    cells = []
    for letter, (view, point) in points.items():
        foreign = view.side.is_foreign and first.side.is_foreign
        ratio = time_ratio(base.value, point.value, foreign) if base and view is not first else None
        use = {name: given for name, given in point.use.items() if name not in ("nodes", "cores")}
        cell = WholeCell(letter=letter, value=point.value, nodes=point.nodes, cores=point.cores, use=name_use(use))
        if base and ratio:
            cores = point.cores / base.cores if shared and point.cores and base.cores else None
            per_core = None if cores is None else ratio[0] * cores
            cell = replace(cell, ratio=ratio[0], low=ratio[1], high=ratio[2], per_core=per_core, call=call_ratio(ratio))
        cells.append(cell)
    return WholeRow(nodes=nodes, cells=tuple(cells))
