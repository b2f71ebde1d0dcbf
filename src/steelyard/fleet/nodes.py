"""The same cases on many nodes: which node is slow, in which figures, and which slowness would have been found."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from statistics import median

from steelyard.compare.side import Side, SideCase, SideRun, list_plain
from steelyard.fleet.series import read_moment
from steelyard.measure import records
from steelyard.model import Finding
from steelyard.model.foreign import spreads_ranks
from steelyard.model.units import percent
from steelyard.model.words import joined
from steelyard.show.report.summary import Summary
from steelyard.statistics.difference.slow_nodes import Node, Sweep, judge_nodes
from steelyard.statistics.results.identity import Identity, identity

LEAST_NODES = 3
CLUSTER_RULE = "slow_node"  # the rule that compares the hosts of one run
DEVICE = "device"  # parameter that numbers the devices of a node
POWER = 0.05  # relative: a smaller difference of power is not named
MAIN_SHARE = 2  # main figures have a half of the chance of a false alarm, all other cases the other half


@dataclass(frozen=True, kw_only=True)
class NodeFigure:
    """One case on all nodes that have it. `values` has the value of each node in `unit`; `paces` the ratio of its core pace.

    `main`: it is a main figure of the runs, with `title` and `conditions` as there.
    """

    title: str
    conditions: str
    main: bool
    case: SideCase
    metric: str
    unit: str
    values: Mapping[str, float]
    paces: Mapping[str, float]
    sweep: Sweep

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Returns the nodes by their names."""
        return {node.name: node for node in self.sweep.nodes}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowNode:
    """A node that is slower for sure, with the figures in which it is, the main ones first, and its place in each.

    A device of a node is one, too: "n5 device 3". `beside` are sentences on its earlier runs and its power.
    """

    name: str
    figures: tuple[tuple[NodeFigure, Node], ...]
    beside: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Returns its greatest slowness: time over that of its peers."""
        return max(node.ratio for _, node in self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A run over several hosts, with the findings on its slow nodes, links and switches, or on there being none."""

    run: str
    hosts: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def slow(self) -> tuple[Finding, ...]:
        """Returns the findings on something that is slow for sure."""
        return tuple(finding for finding in self.findings if finding.level in ("serious", "notice"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All nodes with their figures, the main ones first. `notes` say what was left out.

    `seconds` is the time of all nodes together for these runs; None if it is unknown. `failed` are hosts that were to be
    measured and have no run.
    """

    nodes: tuple[str, ...]
    figures: tuple[NodeFigure, ...]
    slow: tuple[SlowNode, ...]
    clusters: tuple[Cluster, ...] = ()
    seconds: float | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def find_worst(figures: Sequence[NodeFigure]) -> dict[str, float]:
    """Returns for each node of the figures its greatest ratio of time among them."""
    worst: dict[str, float] = {}
    for name, node in (pair for figure in figures for pair in figure.nodes.items()):
        worst[name] = max(node.ratio, worst.get(name, node.ratio))
    return worst


def gather(sides: Iterable[Side]) -> dict[str, tuple[SideCase, ...]]:
    """Returns the cases of each node. Runs of one host are one node; a run without a host is one of its own name."""
    nodes: dict[str, tuple[SideCase, ...]] = {}
    for side in sides:
        name = name_node(side.runs[0]) or side.name
        nodes[name] = (*nodes.get(name, ()), *list_plain(side))
    return nodes


def name_node(run: SideRun) -> str:
    """Returns the host of a run; "" if it is unknown."""
    return run.machine.host if run.machine else ""


def add_up_seconds(folders: Iterable[Path]) -> float | None:
    """Returns the time of the runs together; None if one is unknown."""
    known = [records.find_seconds(folder) for folder in folders]
    return sum(filter(None, known)) if known and None not in known else None


def find_left(summaries: Iterable[Summary]) -> str:
    """Returns a sentence on nodes whose newest run is more than a day older than that of most nodes; "" without any."""
    newest: dict[str, datetime] = {}
    for summary in summaries:
        if moment := read_moment(summary.started):
            newest[summary.machine.host] = max(moment, newest.get(summary.machine.host, moment))
    if not newest:
        return ""
    usual = sorted(newest.values())[len(newest) // 2]
    left = sorted(name for name, moment in newest.items() if usual - moment > timedelta(days=1))
    if not left:
        return ""
    oldest = min(newest[name] for name in left)
    return f"{joined(left)} {'has' if len(left) == 1 else 'have'} no run since {oldest:%Y-%m-%d}, unlike most nodes"


def uses_several_hosts(side: Side) -> bool:
    """Returns whether a case of the side ran on several hosts. A job on several nodes may measure only one of them."""
    return any(case.hosts > 1 or spreads_ranks(case.parameters) for run in side.runs for case in run.cases)


def describe_cluster(summary: Summary) -> Cluster:
    """Returns what a run over several hosts says about them."""
    findings = tuple(finding for finding in summary.findings if finding.rule == CLUSTER_RULE)
    return Cluster(run=summary.run, hosts=tuple(host.name for host in summary.machine.hosts), findings=findings)


def judge_fleet(nodes: Mapping[str, Sequence[SideCase]], summaries: Iterable[Summary] = ()) -> Fleet:
    """Compares each node with its peers in each case that at least three nodes have."""
    cases = group_by_case(nodes, DEVICE)
    common = {key: by_node for key, by_node in cases.items() if len(by_node) >= LEAST_NODES}
    read = list(summaries)
    titles = _choose_main(read, common)
    tests = {True: MAIN_SHARE * max(1, len(titles)), False: MAIN_SHARE * max(1, len(common) - len(titles))}
    found = [
        figure
        for key, by_node in common.items()
        if (figure := _judge_case(by_node, titles.get(key), tests[key in titles])) is not None
    ]
    figures = sorted(found, key=lambda figure: not figure.main)
    missing = len(cases) - len(common)
    notes = [f"{missing} of {len(cases)} cases are on fewer than three nodes, and were left out"] if missing else []
    notes += filter(None, [find_left(read)])
    slow = [replace(one, beside=tuple(_describe_beside(one, read))) for one in _list_slow(figures)]
    return Fleet(nodes=tuple(sorted(nodes)), figures=tuple(figures), slow=tuple(slow), notes=tuple(notes))


def group_by_case(nodes: Mapping[str, Sequence[SideCase]], part: str = "") -> dict[Identity, dict[str, list[SideCase]]]:
    """Returns each case with the measurements of each node that has it.

    `part` is a parameter that numbers parts of a node. If a node has several, each is a peer of all: "n5 device 3".
    """
    numbers = ({case.parameters.get(part) for case in members} - {None} for members in nodes.values())
    several = any(len(found) > 1 for found in numbers)
    cases: dict[Identity, dict[str, list[SideCase]]] = {}
    for name, members in nodes.items():
        for case in members:
            whose = f"{name} {part} {case.parameters[part]}" if several and part in case.parameters else name
            cases.setdefault(identity(case, part), {}).setdefault(whose, []).append(case)
    return cases


def _describe_beside(slow: SlowNode, read: Sequence[Summary]) -> Iterator[str]:
    """Yields what the runs of a slow node say besides: since when it is slow, and whether its power differs."""
    figure, node = slow.figures[0]
    dated = sorted(
        (one.started, found.value.value)
        for one in read
        for found in one.figures
        if one.machine.host == slow.name
        and found.title == figure.title
        and found.value
        and found.value.unit == figure.unit
    )
    if len(dated) > 1 and (others := [value for name, value in figure.values.items() if name != slow.name]):
        better, usual = figure.case.metrics[figure.metric].better, median(others)
        ratios = [value / usual if better == "lower" else usual / value for _, value in dated]
        fast = [day for (day, _), ratio in zip(dated, ratios, strict=True) if ratio < 1 + (node.ratio - 1) / 2]
        if not fast:
            yield f"It was as slow in all its {len(dated)} runs since {dated[0][0][:10]}."
        else:
            yield f"{len(fast)} of its {len(dated)} runs were as fast as its peers, the last on {fast[-1][:10]}."
    watts = {one.machine.host: one.energy.power for one in read if one.energy and not one.energy.modelled}
    if slow.name in watts and len(watts) > LEAST_NODES and (usual := median(watts.values())):
        less = 1 - watts[slow.name] / usual
        if abs(less) > POWER:
            yield f"Its power was {percent(abs(less))} {'below' if less > 0 else 'above'} that of its peers."


def _choose_main(summaries: Iterable[Summary], common: Mapping[Identity, object]) -> dict[Identity, tuple[str, str]]:
    """Returns title and conditions of the cases that are main figures: for each figure the case that most nodes chose."""
    votes: dict[str, Counter[Identity]] = {}
    words: dict[Identity, tuple[str, str]] = {}
    for summary in summaries:
        for figure in summary.figures:
            key = identity(figure, DEVICE)
            if key in common:
                votes.setdefault(figure.name, Counter())[key] += 1
                words.setdefault(key, (figure.title, figure.conditions))
    chosen = [counted.most_common(1)[0][0] for counted in votes.values()]
    return {key: words[key] for key in chosen}


def _judge_case(
    by_node: Mapping[str, Sequence[SideCase]], title: tuple[str, str] | None, tests: int
) -> NodeFigure | None:
    case = next(iter(by_node.values()))[0]
    metric = next(iter(case.metrics), "")
    times = {name: row for name, members in by_node.items() if (row := list(list_times(members, metric)))}
    sweep = judge_nodes(times, tests) if metric else None
    if sweep is None:
        return None
    rates = {
        name: median(paces)
        for name, members in by_node.items()
        if (paces := [t.rate for case in members for t in case.times if t.rate])
    }
    usual = median(rates.values()) if rates else 0.0
    known = {
        name: [c.metrics[metric].value for c in members if metric in c.metrics] for name, members in by_node.items()
    }
    return NodeFigure(
        title=title[0] if title else f"{case.benchmark} {case.kernel}".strip(),
        conditions=title[1] if title else ", ".join(f"{name}={value}" for name, value in case.parameters.items()),
        main=title is not None,
        case=case,
        metric=metric,
        unit=case.metrics[metric].unit,
        values={name: median(values) for name, values in known.items() if values and name in times},
        paces={name: rate / usual for name, rate in rates.items()} if usual else {},
        sweep=sweep,
    )


def list_times(cases: Iterable[SideCase], metric: str) -> Iterator[float]:
    """Yields the seconds of the launches of a node for one unit of work, of undisturbed ones if there are any."""
    for case in cases:
        launches = [t for t in case.times if not t.disturbed] or case.times
        if launches:
            yield from (t.seconds for t in launches if t.seconds > 0)
        elif (value := case.metrics.get(metric)) and value.value > 0 and value.better != "none":
            yield value.value if value.better == "lower" else 1 / value.value


def _list_slow(figures: Iterable[NodeFigure]) -> list[SlowNode]:
    slow: dict[str, list[tuple[NodeFigure, Node]]] = {}
    for figure in figures:
        for node in figure.sweep.nodes:
            if node.slow:
                slow.setdefault(node.name, []).append((figure, node))
    found = [SlowNode(name=name, figures=tuple(of_node)) for name, of_node in slow.items()]
    return sorted(found, key=lambda node: -node.ratio)
