"""The sweeps of a run: results that differ in the number of threads, ranks or nodes alone, each with its scaling."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from steelyard.model import Evaluation, Level, Result, Scalar
from steelyard.statistics.models.scaling import Scaling, scaling
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import rests_on, undisturbed

Over = Literal["threads", "ranks", "nodes", "ranks_per_node"]
# Not programs that more processors are meant to make faster: messages have a partner, and noise a quantum for each processor.
WITHOUT = ("network.", "noise.")
# What an operation does, the most telling first: bytes and messages may depend on how the work is spread.
WORK = ("operations", "flops", "items", "points", "keys", "accesses", "bytes", "messages")
SAME = 1.02  # a factor within which work counts as the same (a last share may be rounded up)
ROUNDED = 1.25  # a factor within which it counts as growing with the count (the edge of a cube is rounded)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A line: `results` by count. `parameters` are what all have in common; `unit` is what the work was counted in.

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
        """The least verdict of its results."""
        return cases.doubt(*self.results.values())

    def counts(self, level: Level) -> tuple[int, ...]:
        """The counts whose results have that verdict."""
        return tuple(count for count, result in self.results.items() if result.verdict.level == level)


def sweeps(
    evaluation: Evaluation, of: Callable[[str], bool] = lambda name: True, least: float = 0.0
) -> tuple[Sweep, ...]:
    """Every sweep of the run with two counts or more, of work that stays, or grows with the count, by benchmark and kernel.

    Only those of benchmarks for whose name `of` holds, and whose samples last `least` seconds or more at every count.
    """
    usable: dict[tuple[str, str], list[Result]] = {}
    for result in evaluation.results:
        measured = result.verdict.level != "INVALID" and messages.seconds(result)
        named = of(result.benchmark) and not result.benchmark.startswith(WITHOUT)
        if named and measured and "plant" not in result.parameters:
            usable.setdefault((result.benchmark, result.kernel), []).append(result)
    all_sweeps: list[Sweep] = []
    for members in usable.values():
        ranked = [r for r in members if cases.number(r, "ranks") is not None]
        threaded = [r for r in members if cases.number(r, "ranks") is None]
        # Programs of ranks that have threads, too: each number of ranks may be swept over these.
        both = [r for r in ranked if cases.number(r, "threads") is not None]
        cpus = len(evaluation.run.machine.cpus)
        for results, name in ((ranked, "ranks"), (threaded, "threads"), (both, "threads")):
            for over, counted in _lines(results, name):
                if sweep := _sweep(over, counted, cpus, least):
                    all_sweeps.append(sweep)
    return tuple(all_sweeps)


def _lines(results: Sequence[Result], name: str) -> list[tuple[Over, dict[int, Result]]]:
    """Those that differ in `name` alone; of the others those in which one more number follows it."""
    groups = cases.groups(results, name)
    lines = [line for line in groups if len({cases.number(r, name) for r in line}) > 1]
    left = [r for line in groups if line not in lines for r in line]
    lines_with_counts = [_counted(line, name) for line in lines]
    for second in sorted({k for r in left for k in r.parameters if k != name and cases.number(r, k) is not None}):
        for line in _following(left, name, second):
            lines_with_counts.append(_counted(line, "ranks_per_node" if second == "ranks_per_node" else name))
            left = [r for r in left if r not in line]
    return lines_with_counts


def _following(results: Sequence[Result], name: str, second: str) -> list[list[Result]]:
    """Lines in which each value of `name` has a value of `second` of its own, alike in all else."""
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


def _sweep(over: Over, counted: Mapping[int, Result], cpus: int, least: float) -> Sweep | None:
    """None where the samples are too short, and where the work neither stays nor grows: then the cases are different problems."""
    if len(counted) < 2 or min(counted) < 1:
        return None
    kind, unit, work = _work(counted)
    shortest = min(_length(result) for result in counted.values())
    if kind is None or shortest < least:
        return None
    crowded = {c for c, r in counted.items() if messages.oversubscribed(r) or _threads_of_a_node(r) > cpus}
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


def _threads_of_a_node(result: Result) -> float:
    """0 where the case says nothing of threads."""
    threads, ranks = (cases.number(result, name) for name in ("threads", "ranks"))
    return (threads or 0) * (ranks or 1) / (len(set(messages.hosts_of(result.records))) or 1)


def _counted(line: Sequence[Result], name: str) -> tuple[Over, dict[int, Result]]:
    """What was swept, and the results by their count, in its order."""
    if name == "ranks" and all(cases.number(r, "ranks_per_node") for r in line):
        # A number of ranks on each node that stays: the nodes are what grows.
        triples = [(int(cases.number(r, "ranks") or 0), int(cases.number(r, "ranks_per_node") or 1), r) for r in line]
        if all(ranks % per_node == 0 for ranks, per_node, _ in triples):
            return "nodes", {ranks // per_node: r for ranks, per_node, r in sorted(triples, key=lambda e: e[0])}
    over: Over = "ranks_per_node" if name == "ranks_per_node" else "ranks" if name == "ranks" else "threads"
    by_count = {int(cases.number(r, name) or 0): r for r in line}
    return over, dict(sorted(by_count.items()))


def _work(counted: Mapping[int, Result]) -> tuple[Literal["strong", "weak"] | None, str, Mapping[int, float] | None]:
    """Whether the work of an operation stays the same or grows with the count, in which unit, and how much it is."""
    work_of = {count: rests_on(result)[0].work for count, result in counted.items()}
    unit = next((u for u in WORK if all(work.get(u, 0) > 0 for work in work_of.values())), None)
    if unit is None:
        return ("strong", "", None) if not any(any(work.values()) for work in work_of.values()) else (None, "", None)
    amounts = {count: float(work[unit]) for count, work in work_of.items()}
    per_count = [amount / count for count, amount in amounts.items()]
    if max(amounts.values()) <= SAME * min(amounts.values()):
        return "strong", unit, amounts
    return ("weak", unit, amounts) if max(per_count) <= ROUNDED * min(per_count) else (None, unit, None)


def _length(result: Result) -> float:
    """The median length (s) of a sample: its operations together."""
    return min(median(undisturbed(r)) * r.operations for r in rests_on(result) if r.samples)
