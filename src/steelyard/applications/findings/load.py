"""Rule: finds the number of cores of a node that applications can use well."""

from dataclasses import dataclass

from steelyard.model import Evaluation, Finding, Machine, Result
from steelyard.model.units import percent
from steelyard.model.words import plural
from steelyard.statistics.models.scaling import HALF, Scaling, Stop, scaling
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.sweeps import sweeps

NAMED = 12


@dataclass(frozen=True, kw_only=True)
class Line:
    """A program on `nodes` nodes (None: a single node), by the number of cores that it uses on each."""

    first: Result
    nodes: int | None
    cores: int  # cores of a node
    scaling: Scaling
    stop: Stop
    results: tuple[Result, ...]

    @property
    def most(self) -> int:
        """Returns the most cores that were measured without oversubscription."""
        return max(p.count for p in self.scaling.points if not p.crowded)

    @property
    def speedup_of_remaining_cores(self) -> float:
        """Returns the speed of the most cores, as a multiple of the speed of those that are worth using."""
        speeds = {p.count: p.speedup.value for p in self.scaling.points if not p.crowded}
        return speeds[self.most] / speeds[self.stop.count]

    @property
    def wastes_cores(self) -> bool:
        """Returns whether it is certain that not all cores are worth using."""
        return self.stop.beyond is not None and self.stop.beyond.call == "not worth"

    @property
    def uses_all_cores(self) -> bool:
        """Returns whether it is certain that every measured core is worth using."""
        return self.stop.beyond is None and self.stop.certain


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs; nothing if no program is certain."""
    lines = [*_list_one_node(evaluation), *_list_nodes(evaluation)]
    lines = [line for line in lines if line.wastes_cores or line.uses_all_cores]
    less = sorted((line for line in lines if line.wastes_cores), key=lambda line: line.stop.count / line.cores)
    if not lines:
        return []
    decided = [*less, *(line for line in lines if line.uses_all_cores)]
    caution = cases.caution(*(r for line in decided for r in line.results))
    evidence = tuple(_describe_line(line) for line in decided[:NAMED])
    if not less:
        return [Finding("load", "good", f"{_claim_full(lines)}{caution}", evidence, _explain_cause(less), "")]
    return [
        Finding(
            "load",
            "notice",
            f"{_claim_limited(less, lines)}{caution}",
            evidence,
            _explain_cause(less),
            _advise(less),
            effect=less[0].cores / less[0].stop.count,
            reach="program",
        )
    ]


def _list_one_node(evaluation: Evaluation) -> list[Line]:
    """Returns the lines of threads, or of ranks on a single host."""
    lines = []
    for sweep in sweeps(evaluation, lambda name: name.startswith(applications.EVERY)):
        results = tuple(sweep.results.values())
        one = sweep.over in ("threads", "ranks") and not any(messages.is_apart(r) for r in results)
        one &= all(applications.workers(r) == count for count, r in sweep.results.items())  # one core per worker
        if one and not sweep.scaling.weak and sweep.scaling.stop and all(applications.timed(r) for r in results):
            cores = max(len(evaluation.run.machine.cpus), 1)
            lines.append(
                Line(
                    first=results[0],
                    nodes=None,
                    cores=cores,
                    scaling=sweep.scaling,
                    stop=sweep.scaling.stop,
                    results=results,
                )
            )
    return lines


def _list_nodes(evaluation: Evaluation) -> list[Line]:
    """Returns lines by the ranks per node on the same number of nodes: the fewest nodes for each program."""
    groups: dict[Identity, dict[int, dict[int, Result]]] = {}
    for result in applications.select_programs(evaluation.results):
        ranks, per_node = (cases.number(result, name) for name in ("ranks", "ranks_per_node"))
        if (
            ranks
            and per_node
            and ranks % per_node == 0
            and applications.workers(result) == ranks
            and applications.timed(result)
        ):
            of_program = groups.setdefault(identity(result, "ranks", "ranks_per_node"), {})
            of_program.setdefault(int(ranks // per_node), {})[int(per_node)] = result
    lines = []
    for of_program in groups.values():
        several = sorted(nodes for nodes, loads in of_program.items() if len(loads) > 1)
        line = _make_line(several[0], of_program[several[0]], evaluation.run.machine) if several else None
        lines += [line] if line else []
    return lines


def _make_line(nodes: int, loads: dict[int, Result], machine: Machine) -> Line | None:
    crowded = {load for load, result in loads.items() if messages.oversubscribed(result)}
    curve = scaling({load: messages.seconds(result) for load, result in loads.items()}, crowded=crowded)
    cores = min((host.slots for host in machine.hosts), default=len(machine.cpus)) or 1
    first = next(iter(loads.values()))
    return (
        Line(first=first, nodes=nodes, cores=cores, scaling=curve, stop=curve.stop, results=tuple(loads.values()))
        if curve.stop
        else None
    )


def _claim_limited(less: list[Line], lines: list[Line]) -> str:
    shares = sorted({line.stop.count / line.cores for line in less})
    worst = less[0]
    span = percent(shares[0]) if len(shares) == 1 else f"{percent(shares[0])} to {percent(shares[-1])}"
    programs = {line.first.benchmark for line in lines}
    limited = {line.first.benchmark for line in less}
    verb = "use" if len(limited) > 1 else "uses"
    many = f"{_program(worst)} uses" if len(programs) == 1 else f"{len(limited)} of {len(programs)} programs {verb}"
    it = "it" if len(less) == 1 and len(programs) == 1 else _label(worst)
    return (
        f"{many} only {span} of the cores of a node well: {worst.most} cores give {it} "
        f"{worst.speedup_of_remaining_cores:.2f} times the speed of "
        f"{plural(worst.stop.count, 'core')}. From there, one more core adds the speed of {_describe_gain(worst)} cores."
    )


def _advise(less: list[Line]) -> str:
    gains = sorted(f"{line.speedup_of_remaining_cores:.2f}" for line in less)
    span = " to ".join(dict.fromkeys((gains[0], gains[-1])))
    return (
        "Give the other cores to programs of another kind: a second program of this kind shares the same limit. If nothing else "
        f"runs on the node, use them all: a run is then {span} times as fast. With more nodes, spread the program over them."
    )


def _claim_full(lines: list[Line]) -> str:
    most = min(line.most for line in lines)
    cores = max(line.cores for line in lines)
    loaded = f"all {cores} cores" if most >= cores else f"{most} of {cores} cores (the most that were measured)"
    programs = len({line.first.benchmark for line in lines})
    them = f"{programs} programs use" if programs > 1 else f"{_program(lines[0])} uses"
    return f"{them} {loaded} of a node well: each core adds at least {percent(HALF)} of the speed of one core."


def _program(line: Line) -> str:
    return line.first.benchmark


def _label(line: Line) -> str:
    hidden = ("threads", "ranks", "ranks_per_node", "pinning")
    threads = "threads, " if not applications.is_parallel(line.first) else ""
    on = "" if line.nodes is None else f", on {plural(line.nodes, 'node')}"
    return f"{_program(line)} ({threads}{applications.describe_parameters(line.first, hidden)}{on})"


def _describe_gain(line: Line) -> str:
    step = line.stop.beyond
    assert step
    low, high = step.adds.low, step.adds.high
    span = f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else ""
    return f"{step.adds.value:.2f}{span}"


def _describe_line(line: Line) -> str:
    speeds = [f"{p.count}: {percent(p.efficiency.value)}" for p in line.scaling.points if not p.crowded]
    worth = f"{line.stop.count} of {line.cores}" if line.wastes_cores else f"All {line.most}"
    return f"{_label(line)}: efficiency relative to {line.scaling.base}, by cores: {', '.join(speeds)}. {worth} are worth using."


def _explain_cause(less: list[Line]) -> str:
    if not less:
        return "These programs use no resource that the cores share."
    return (
        "Cores share the memory bandwidth, the last-level cache, the network link and the power budget. If one of these is "
        "saturated, a further core only waits."
    )
