"""Sweeps of a run: results that differ only in the number of threads, ranks or nodes, each with its scaling."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.model import Evaluation, Level, Result, Scalar
from steelyard.statistics.models.scaling import Scaling, scaling
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import used_attempts

Over = Literal["threads", "ranks", "nodes", "ranks_per_node"]
# Benchmarks that more processors do not make faster: messages have a partner, and noise has a quantum per processor.
WITHOUT = ("network.", "noise.")
# Units of work, the best first: bytes and messages may depend on the distribution of the work.
WORK = ("operations", "flops", "items", "points", "keys", "accesses", "bytes", "messages")
SAME = 1.02  # a factor within which work counts as the same (a last share may be rounded up)
ROUNDED = 1.25  # a factor within which work counts as proportional to the count (the edge of a cube is rounded)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A line: `results` by count, the common `parameters`, and the `unit` of the work.

    `shortest`: the least median of a sample's length (s) at any count.
    """

    benchmark: str
    kernel: str
    over: Over
    parameters: Mapping[str, Scalar]
    results: Mapping[int, Result]
    unit: str
    shortest: float
    scaling: Scaling

    @property
    def level(self) -> Level:
        """Returns the least trusted verdict of its results."""
        return cases.doubt(*self.results.values())

    def counts(self, level: Level) -> tuple[int, ...]:
        """Returns the counts whose results have that verdict."""
        return tuple(count for count, result in self.results.items() if result.verdict.level == level)


def sweeps(
    evaluation: Evaluation, is_wanted: Callable[[str], bool] = lambda name: True, least: float = 0.0
) -> tuple[Sweep, ...]:
    """Returns all sweeps with two counts or more, whose work is constant or proportional to the count.

    `is_wanted` selects benchmarks by name; `least` is the shortest sample in seconds at every count.
    """
    usable: dict[tuple[str, str], list[Result]] = {}
    for result in evaluation.results:
        measured = result.verdict.level != "INVALID" and messages.launch_seconds(result)
        named = is_wanted(result.benchmark) and not result.benchmark.startswith(WITHOUT)
        if named and measured and "plant" not in result.parameters:
            usable.setdefault((result.benchmark, result.kernel), []).append(result)
    all_sweeps: list[Sweep] = []
    for members in usable.values():
        ranked = [r for r in members if cases.number(r, "ranks") is not None]
        threaded = [r for r in members if cases.number(r, "ranks") is None]
        # Each number of ranks may be swept over the threads of its ranks.
        both = [r for r in ranked if cases.number(r, "threads") is not None]
        cpus = len(evaluation.run.machine.cpus)
        for results, name in ((ranked, "ranks"), (threaded, "threads"), (both, "threads")):
            for over, counted in _list_lines(results, name):
                if sweep := _make_sweep(over, counted, cpus, least):
                    all_sweeps.append(sweep)
    return tuple(all_sweeps)


def _list_lines(results: Sequence[Result], name: str) -> list[tuple[Over, dict[int, Result]]]:
    """Returns the lines that differ only in `name`, and those in which one further number changes with it."""
    groups = cases.group(results, name)
    lines = [line for line in groups if len({cases.number(r, name) for r in line}) > 1]
    left = [r for line in groups if line not in lines for r in line]
    lines_with_counts = [_order_by_count(line, name) for line in lines]
    for second in sorted({k for r in left for k in r.parameters if k != name and cases.number(r, k) is not None}):
        for line in _find_paired_lines(left, name, second):
            lines_with_counts.append(_order_by_count(line, "ranks_per_node" if second == "ranks_per_node" else name))
            left = [r for r in left if r not in line]
    return lines_with_counts


def _find_paired_lines(results: Sequence[Result], name: str, second: str) -> list[list[Result]]:
    """Returns lines in which each value of `name` has a different value of `second`, and all else is equal."""
    groups: dict[Identity, list[Result]] = {}
    for result in results:
        if cases.number(result, second) is not None:
            groups.setdefault(identity(result, name, second), []).append(result)
    matching = []
    for line in groups.values():
        pairs = {(cases.number(r, name), cases.number(r, second)) for r in line}
        one_each = len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs) == len(line)
        if len(line) > 1 and one_each:
            matching.append(sorted(line, key=lambda r: cases.number(r, name) or 0.0))
    return matching


def _make_sweep(over: Over, counted: Mapping[int, Result], cpus: int, least: float) -> Sweep | None:
    """Returns None if samples are too short, or if the work is neither constant nor proportional (different problems)."""
    if len(counted) < 2 or min(counted) < 1:
        return None
    kind, unit, work = _work(counted)
    shortest = min(_read_length(result) for result in counted.values())
    if kind is None or shortest < least:
        return None
    crowded = {c for c, r in counted.items() if messages.oversubscribed(r) or _count_threads_of_node(r) > cpus}
    launches = {count: messages.seconds(result) for count, result in counted.items()}
    first = next(iter(counted.values()))
    common = {k: v for k, v in first.parameters.items() if all(r.parameters.get(k) == v for r in counted.values())}
    curve = scaling(launches, work, kind == "weak", crowded)
    return Sweep(
        benchmark=first.benchmark,
        kernel=first.kernel,
        over=over,
        parameters=common,
        results=counted,
        unit=unit,
        shortest=shortest,
        scaling=curve,
    )


def _count_threads_of_node(result: Result) -> float:
    """Returns the threads on a node; 0 if the case has no such parameter."""
    threads, ranks = (cases.number(result, name) for name in ("threads", "ranks"))
    return (threads or 0) * (ranks or 1) / (len(set(messages.hosts_of(result.attempts))) or 1)


def _order_by_count(line: Sequence[Result], name: str) -> tuple[Over, dict[int, Result]]:
    """Returns the swept parameter and the results ordered by count."""
    if name == "ranks" and all(cases.number(r, "ranks_per_node") for r in line):
        # The number of ranks per node is constant, so the nodes are swept.
        triples = [(int(cases.number(r, "ranks") or 0), int(cases.number(r, "ranks_per_node") or 1), r) for r in line]
        if all(ranks % per_node == 0 for ranks, per_node, _ in triples):
            return "nodes", {ranks // per_node: r for ranks, per_node, r in sorted(triples, key=lambda e: e[0])}
    over: Over = "ranks_per_node" if name == "ranks_per_node" else "ranks" if name == "ranks" else "threads"
    by_count = {int(cases.number(r, name) or 0): r for r in line}
    return over, dict(sorted(by_count.items()))


def _work(counted: Mapping[int, Result]) -> tuple[Literal["strong", "weak"] | None, str, Mapping[int, float] | None]:
    """Returns whether the work of an operation is constant or grows with the count, its unit, and its amount."""
    work_of = {count: used_attempts(result)[0].work for count, result in counted.items()}
    unit = next((u for u in WORK if all(work.get(u, 0) > 0 for work in work_of.values())), None)
    if unit is None:
        return ("strong", "", None) if not any(any(work.values()) for work in work_of.values()) else (None, "", None)
    amounts = {count: float(work[unit]) for count, work in work_of.items()}
    per_count = [amount / count for count, amount in amounts.items()]
    if max(amounts.values()) <= SAME * min(amounts.values()):
        return "strong", unit, amounts
    return ("weak", unit, amounts) if max(per_count) <= ROUNDED * min(per_count) else (None, unit, None)


def _read_length(result: Result) -> float:
    """Returns the median length (s) of a sample with all its operations."""
    return min(r.seconds * r.operations for r in used_attempts(result) if r.seconds is not None)
