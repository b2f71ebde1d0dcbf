"""A fleet on the terminal and as plain data."""

from collections.abc import Iterator, Sequence
from statistics import median_high
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.fleet import acceptance
from steelyard.fleet.acceptance import Acceptance
from steelyard.fleet.checks import Check
from steelyard.fleet.nodes import Cluster, Fleet, NodeFigure, SlowNode, find_worst
from steelyard.fleet.printing import name_figure, print_sentences
from steelyard.judge.findings.remedies import describe
from steelyard.model.units import percent, quantity, significant
from steelyard.model.words import joined, plural
from steelyard.show.report.lines import console as open_console
from steelyard.show.report.lines import safe
from steelyard.statistics.difference.slow_nodes import ENOUGH, FOUND, Node

MOST_FIGURES, MOST_SLOW, MOST_NODES = 4, 8, 12  # lines of the screen
MOST_COLUMNS = 5  # figures of the table
PACE = 0.5  # share of the slowness that the cores' pace shows, too


def as_plain(fleet: Fleet, accepted: Acceptance | None = None) -> dict[str, Any]:
    """Returns everything about a fleet as plain data. Ratios are times over those of the peers: 1.1 is 10 % slower."""
    return {
        "nodes": list(fleet.nodes),
        "slow": [
            {"node": slow.name, "beside": list(slow.beside), "figures": [
             {"title": f.title, "conditions": f.conditions, "main": f.main,
             "ratio": n.ratio, "p": n.p} for f, n in slow.figures]} for slow in fleet.slow
        ],
        "figures": [_figure_as_plain(figure) for figure in fleet.figures],
        "clusters": [
            {"run": c.run, "hosts": list(c.hosts),
             "findings": [{"level": f.level, "seen": f.seen, "cause": f.cause, "remedy": describe(f.remedy)} for f in c.findings]}
            for c in fleet.clusters
        ],
        "seconds": fleet.seconds,
        "notes": list(fleet.notes),
        "failed": list(fleet.failed),
        "acceptance": _accepted_as_plain(accepted) if accepted else None,
    }  # fmt: skip


def _accepted_as_plain(accepted: Acceptance) -> dict[str, Any]:
    name, ratio = accepted.worst or (None, None)
    return {
        "answer": accepted.answer, "slow": accepted.slow, "worst": name, "worst_ratio": ratio, "spread": accepted.spread,
        "node_hours": accepted.node_hours, "defects": accepted.defects,
        "rules": [{"name": rule.name, "outcome": rule.outcome, "text": rule.text, "nodes": list(rule.nodes), "next": rule.next}
                  for rule in accepted.rules],
    }  # fmt: skip


def _figure_as_plain(figure: NodeFigure) -> dict[str, Any]:
    sweep = figure.sweep
    return {
        "title": figure.title, "conditions": figure.conditions, "main": figure.main, "benchmark": figure.case.benchmark,
        "kernel": figure.case.kernel, "parameters": dict(figure.case.parameters), "metric": figure.metric, "unit": figure.unit,
        "between": sweep.between, "within": sweep.within, "detectable": sweep.detectable,
        "needed": {f"{size:g}": number for size, number in sweep.needed.items()},
        "nodes": [
            {"node": n.name, "value": figure.values.get(n.name), "ratio": n.ratio, "p": n.p, "launches": n.launches,
             "slow": n.slow, "pace": figure.paces.get(n.name)} for n in sweep.nodes
        ],
    }  # fmt: skip


def list_checks(fleet: Fleet) -> Iterator[Check]:
    """Yields each node as a check, and each finding on the hosts of a run."""
    slow = {node.name: node for node in fleet.slow}
    for name in sorted({*fleet.nodes, *slow}):  # a slow device is one, too
        found = [describe_slowness(*pair) for pair in _choose_figures(slow[name])] if name in slow else []
        text = "; ".join(found) or "Not slower than its peers for sure."
        yield Check(name=name, outcome="failed" if found else "passed", text=text)
    for cluster in fleet.clusters:
        for finding in cluster.findings:
            yield Check(name=cluster.run, outcome="failed" if finding in cluster.slow else "passed", text=finding.seen)


def show(fleet: Fleet, everything: bool, accepted: Acceptance | None = None) -> None:
    """Prints the slow nodes with their figures, what would have been found, and a table of the nodes."""
    on = open_console()
    for cluster in fleet.clusters:
        on.print(safe(f"\n{cluster.run}, over {plural(len(set(cluster.hosts)), 'host')}", "bold"), highlight=False)
        print_sentences(on, _describe_cluster(cluster), whole=True)
    if accepted:
        on.print()
        print_sentences(on, acceptance.list_sentences(accepted), whole=True)
    if not fleet.nodes:
        return
    on.print(Text(f"\n{len(fleet.nodes)} nodes, {plural(len(fleet.figures), 'case')} of each compared", style="bold"))
    print_sentences(on, _list_slow(fleet, everything), whole=everything)
    on.print()
    shown = fleet.figures if everything else [f for f in fleet.figures if f.main][:MOST_COLUMNS]
    if everything:
        for figure in shown:
            _print_figure(figure, on)
    elif shown:
        _print_table(fleet, shown, on)
    price = acceptance.describe_price(accepted, len(fleet.nodes)) if accepted else ()
    print_sentences(on, (*_list_power(fleet), *_describe_price(fleet), *price), whole=True)
    for note in fleet.notes:
        on.print(safe(f"Note: {note}.", "dim"), highlight=False)
    if not everything:
        on.print(Text("For every node and case: the same command with --all", style="dim"))


def list_sentences(fleet: Fleet, *, everything: bool) -> Iterator[str]:
    """Yields the slow nodes with their figures, and what such a sweep finds."""
    yield from _list_slow(fleet, everything)
    yield from _list_power(fleet)
    yield from _describe_price(fleet)


def _describe_cluster(cluster: Cluster) -> Iterator[str]:
    for finding in cluster.findings:
        yield finding.seen
        yield from (f"  {text}" for text in (finding.cause, describe(finding.remedy)) if text)
    if not cluster.findings:
        yield "This run does not compare its hosts. To compare them: steelyard run --only network.transfer --hosts A,B,C"


def _list_slow(fleet: Fleet, everything: bool) -> Iterator[str]:
    if not fleet.slow:
        yield "No slow node was found. A slower node may be too close to its peers to be named."
        return
    for slow in fleet.slow if everything else fleet.slow[:MOST_SLOW]:
        yield f"{slow.name} is slow:"
        chosen = slow.figures if everything else _choose_figures(slow)
        for figure, node in chosen:
            yield f"  {describe_slowness(figure, node)}"
        if more := len(slow.figures) - len(chosen):
            yield f"  and {plural(more, 'further case')} of {len(fleet.figures)}"
        yield from _describe_pace(slow)
    if not everything and (more := len(fleet.slow) - MOST_SLOW) > 0:
        yield f"and {plural(more, 'further slow node')}: {joined(s.name for s in fleet.slow[MOST_SLOW:])}"
    yield "No other slow node was found."


def _choose_figures(slow: SlowNode) -> Sequence[tuple[NodeFigure, Node]]:
    """Returns the main figures in which the node is slow; without one, the cases in which it is slowest."""
    main = [pair for pair in slow.figures if pair[0].main]
    return (main or sorted(slow.figures, key=lambda pair: -pair[1].ratio))[:MOST_FIGURES]


def describe_slowness(figure: NodeFigure, node: Node) -> str:
    """Returns "Triad bandwidth (2 threads): 15 % more time than its peers, 32.4 GB/s; median 37.4 GB/s"."""
    value = figure.values.get(node.name)
    others = [v for name, v in figure.values.items() if name != node.name]
    values = ""
    if value is not None and others:
        values = f" ({quantity(value, figure.unit)}; median of the others {quantity(median_high(others), figure.unit)})"
    return (
        f"{name_figure(figure.title, figure.conditions)}: {percent(node.ratio - 1, 1)} more time than its peers{values}"
    )


def _describe_pace(slow: SlowNode) -> Iterator[str]:
    """Yields whether the pace of its cores, which their clock sets, explains the slowness of a node; and its past and power."""
    if paces := [f.paces[slow.name] for f, n in slow.figures if slow.name in f.paces]:
        loss = 1 - median_high(paces)
        if loss >= PACE * (slow.ratio - 1):
            yield (
                f"  Its cores explain this: their pace was {percent(loss, 1)} below that of its peers. Check the clock, the "
                "power limit and the cooling."
            )
        elif loss < (1 - PACE) * (slow.ratio - 1) / 2:
            yield "  The pace of its cores was as usual, so their clock does not explain this."
    yield from (f"  {sentence}" for sentence in slow.beside)


def _describe_price(fleet: Fleet) -> Iterator[str]:
    """Yields the node hours of the sweep, and those for each slow node."""
    if fleet.seconds is None:
        return
    hours, count = fleet.seconds / 3600, len(fleet.slow)
    each = (
        f" and found {plural(count, 'slow node')}: {significant(hours / count, 2)} node hours for each" if count else ""
    )
    yield f"The sweep took {significant(hours, 2)} node hours{each}."


def _list_power(fleet: Fleet) -> Iterator[str]:
    """Yields what such a sweep finds, by the main figure that finds least, and what more launches would show."""
    known = [f for f in fleet.figures if f.main and f.sweep.detectable]
    if not known:
        if len(fleet.nodes) < ENOUGH:
            yield "With fewer than eight nodes, it is not known how much equal nodes differ. Only 5 % or more is reported."
        return
    worst = max(known, key=lambda f: f.sweep.detectable or 0.0)
    best = min(known, key=lambda f: f.sweep.detectable or 0.0)
    sizes = [percent((f.sweep.detectable or 1.0) - 1, 1) for f in (best, worst)]
    names = f"{best.title} {sizes[0]}" + (f", {worst.title} {sizes[1]}" if worst is not best else "")
    yield f"A node is named with a chance of {percent(FOUND)} if it takes this much more time or more: {names}."
    shown = [f"{percent(size)} with {plural(n, 'launch')}" for size, n in worst.sweep.needed.items() if n is not None]
    if shown:
        hidden = [percent(size) for size, n in worst.sweep.needed.items() if n is None]
        never = f". No number of launches shows {joined(hidden)}" if hidden else ""
        yield f"Slowness in {worst.title} that a sweep shows: {', '.join(shown)} of each node{never}."


def _print_table(fleet: Fleet, figures: Sequence[NodeFigure], on: Console) -> None:
    """Prints the slowest nodes, and how their times differ from those of their peers in the main figures."""
    worst = find_worst(figures)
    ordered = sorted({*fleet.nodes, *worst}, key=lambda name: (-worst.get(name, 1.0), name))  # devices, too
    table = Table(box=box.SIMPLE, title="Time compared with the peers, the slowest nodes first", title_justify="left")
    table.add_column("node")
    for figure in figures:
        table.add_column(safe(figure.title), justify="right")
    for name in ordered[:MOST_NODES]:
        nodes = [f.nodes.get(name) for f in figures]
        table.add_row(safe(name), *(_cell(node) for node in nodes))
    on.print(table)
    if (more := len(ordered) - MOST_NODES) > 0:
        on.print(Text(f"{plural(more, 'further node')} differ{'s' if more == 1 else ''} less.", style="dim"))


def _cell(node: Node | None) -> Text:
    if node is None:
        return Text("–", style="dim")
    return Text(_describe_ratio(node), style="red" if node.slow else "")


def _describe_ratio(node: Node) -> str:
    part = round(node.ratio - 1, 3) or 0.0  # not -0.0 %
    return f"{percent(part, 1, signed=True)}{' ✕' if node.slow else ''}"


def _print_figure(figure: NodeFigure, on: Console) -> None:
    sweep = figure.sweep
    on.print(safe(name_figure(figure.title, figure.conditions), "bold"), highlight=False)
    row = ", ".join(f"{n.name} {_describe_ratio(n)}" for n in sweep.nodes)
    within = "" if sweep.within is None else f"; launches of a node: {percent(sweep.within, 2)}"
    on.print(safe(f"  {row}"), highlight=False, soft_wrap=True)
    on.print(safe(f"  Standard deviation of equal nodes: {percent(sweep.between, 2)}{within}.", "dim"), highlight=False)
