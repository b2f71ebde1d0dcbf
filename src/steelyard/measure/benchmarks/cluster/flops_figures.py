"""Figures of cluster.flops: speed, efficiency and communication against ranks and nodes, the speed of each node, a table."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from steelyard.measure.benchmarks.cluster.rates import rates_of_ranks
from steelyard.measure.benchmarks.figures import against, cell, select
from steelyard.measure.published.our_case import HOSTS
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.model import Machine, Record, Result
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.statistics.results import messages
from steelyard.statistics.results.node_table import rates_of_nodes
from steelyard.statistics.results.result import rests_on

INDEPENDENT, TASK = "flops", "task"  # the kernels
WORDS = {INDEPENDENT: "independent ranks", TASK: "parallel task"}
SETTINGS = ("strip", "mpi", "toolchain")
MOST_COLUMNS = 16  # of a table: with more nodes, it shows the slowest and the fastest


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns figures of speed, efficiency and communication against ranks and nodes, of each node, and a table."""
    by_ranks = tuple(r for r in results if "ranks_per_node" not in r.parameters)
    by_nodes = tuple(r for r in results if "ranks_per_node" in r.parameters and nodes_of(r) * _load(r) == _ranks(r))
    loaded = tuple(r for r in by_nodes if _load(r) == max(map(_load, by_nodes)))
    shown = loaded or by_ranks
    most = max(map(_ranks, shown), default=0)
    bars = Figure(
        name="cluster-flops-nodes",
        title=f"Speed of each node, or of each rank of a single node ({most} ranks)",
        kind="bars",
        x=Axis("node or rank"),
        y=Axis("speed", "flop/s"),
        series=tuple(_rank_bars(r) for r in select(shown, kernel=INDEPENDENT, ranks=most) if r.metrics and speeds(r)),
        caption="The ranks are independent. The speed of each rank uses its own time. The speed of a node is the sum "
        "of its ranks. The values are medians over the launches.",
    )
    over_nodes = _growth(loaded, "nodes") if len({nodes_of(r) for r in loaded}) > 1 else ()
    return *_growth(by_ranks, "ranks"), *over_nodes, bars, _table(shown, "nodes" if loaded else "ranks")


def _ranks(result: Result) -> int:
    return int(result.parameters["ranks"])


def _load(result: Result) -> int:
    return int(result.parameters["ranks_per_node"])


def _growth(results: Sequence[Result], over: str) -> tuple[Figure, Figure, Figure]:
    """Draws speed, efficiency and communication over ranks, or over nodes with equal numbers of ranks."""
    lines = _lines(results, "flops", over)
    if over == "nodes":
        others = draw_printed("cluster.flops", TASK, "flops", HOSTS, lines, where={"ranks": None})
    else:
        others = draw_printed("cluster.flops", TASK, "flops", "ranks", lines, levels=False)
    load = f" Each node has {plural(_load(results[0]), 'rank')}." if over == "nodes" else ""
    ending = "" if over == "ranks" else "-nodes"
    growth = Figure(
        name=f"cluster-flops-{'ranks' if over == 'ranks' else 'speed-nodes'}",
        title="Speed of all ranks together" if over == "ranks" else "Speed of the cluster against its nodes",
        kind="lines",
        x=Axis(over),
        y=Axis("speed", "flop/s"),
        series=(*lines, *(_extrapolate_ideal(line) for line in lines[:1] if line.y[0]), *others),
        caption="The time ends when the slowest rank ends. In the parallel task, rank 0 distributes the data and "
        f"collects the results. The work is the same for all numbers of {over}.{load}{_cost(results, over)}",
    )
    efficiency = Figure(
        name=f"cluster-flops-efficiency{ending}",
        title=f"Efficiency against {over}",
        kind="lines",
        x=Axis(over),
        y=Axis("efficiency", "%"),
        series=tuple(_efficiency(line) for line in lines if line.y[0]),
        caption="The efficiency is the speed divided by the ideal speed. The ideal speed grows in proportion to the "
        f"number of {over}, from the speed of the fewest {over}.",
    )
    communication = Figure(
        name=f"cluster-flops-communication{ending}",
        title=f"Cost of communication against {over}",
        kind="lines",
        x=Axis(over),
        y=Axis("share of the calculation time", "%"),
        series=_lines(results, "communication_share", over),
        caption="Communication is the part of the time of the parallel task in which the slowest rank does not "
        f"compute: the distribution of the data, the collection, and the addition.{_cost(results, over)}",
    )
    return growth, efficiency, communication


def _lines(results: Sequence[Result], metric: str, over: str) -> tuple[Series, ...]:
    """Returns a line of the metric for each kernel and setting, over ranks or nodes."""
    scale = 1 / _load(results[0]) if over == "nodes" else 1
    drawn = []
    for kernel, words in WORDS.items():
        lines = against("ranks", metric, select(results, kernel=kernel), names=SETTINGS, scale=scale, label=words)
        drawn += [replace(line, name=words if line.name == words else f"{words}, {line.name}") for line in lines]
    return tuple(drawn)


def _cost(results: Sequence[Result], over: str) -> str:
    """Returns what communication costs on the most ranks or nodes, in sentences; "" if it was not measured."""
    timed = [r for r in select(results, kernel=TASK) if {"flops", "communication"} <= set(r.metrics)]
    most = max(timed, key=_ranks, default=None)
    if most is None:
        return ""
    count = plural(nodes_of(most) if over == "nodes" else _ranks(most), over.removesuffix("s"))
    seconds, share = (most.metrics[name].value for name in ("communication", "communication_share"))
    speed = most.metrics["flops"].value
    text = (
        f" On {count}, communication takes {quantity(seconds, 's')}, {quantity(share, '%', 2)} of the calculation time. The "
        f"parallel task reaches {quantity(speed, 'flop/s')}"
    )
    beside = _find_independent(results, most)
    if beside is None or "flops" not in beside.metrics:
        return f"{text}."
    alone = beside.metrics["flops"].value
    return f"{text}, {percent(speed / alone)} of the {quantity(alone, 'flop/s')} of independent ranks."


def _table(results: Sequence[Result], over: str) -> Figure:
    """Tabulates time, speed of the cluster and speed of each node, as the evaluation of the Celeron cluster does.

    Without results of the parallel task, the rows are those of independent ranks.
    """
    measured = [r for r in results if r.metrics]
    tasks = select(measured, kernel=TASK)
    shown = sorted(tasks or measured, key=_ranks)
    settings = [n for n in SETTINGS if len({r.parameters.get(n) for r in shown}) > 1]
    rows_of_rates = [speeds(r, ranks=over == "ranks") for r in shown]
    names = list(dict.fromkeys(name for row in rows_of_rates for name in row))
    columns = names if len(names) <= MOST_COLUMNS else ["slowest", "fastest"]
    rows = [
        (
            str(nodes_of(r) if over == "nodes" else _ranks(r)),
            *(str(r.parameters.get(n, "")) for n in settings),
            cell(r, "time"),
            cell(r, "flops"),
            *((cell(r, "communication_share"), cell(_find_independent(measured, r), "flops")) if tasks else ()),
            *_cells(row, columns),
        )
        for r, row in zip(shown, rows_of_rates, strict=True)
    ]
    further = ("communication", f"independent {over}") if tasks else ()
    return Figure(
        name="cluster-flops-table",
        title=f"Time, speed of the cluster and of each {over.removesuffix('s')}",
        kind="table",
        x=Axis(over),
        y=Axis("speed", "flop/s"),
        headings=(over, *settings, "calculation time", "cluster speed", *further, *columns),
        cells=tuple(rows),
        caption="The values are medians. The time is the time of the slowest rank. The speed of each node or rank "
        "uses its own time." + (_OF_TASK if tasks else ""),
    )


_OF_TASK = (
    " Time and speeds are those of the parallel task, in which a node also waits for its data. Beside them stands the "
    "speed of all independent ranks together."
)


def _find_independent(results: Sequence[Result], task: Result) -> Result | None:
    """Returns the result of independent ranks with the parameters of the task; None if it was not measured."""
    beside = {name: value for name, value in task.parameters.items() if name != "strip"}
    return next((r for r in select(results, kernel=INDEPENDENT) if r.parameters == beside), None)


def _cells(rates: dict[str, float], names: Sequence[str]) -> list[str]:
    ends = {"slowest": min(rates.values(), default=None), "fastest": max(rates.values(), default=None)}
    values = (rates.get(name, ends.get(name)) for name in names)
    return ["" if value is None else quantity(value, "flop/s") for value in values]


def _extrapolate_ideal(line: Series) -> Series:
    first = line.y[0]
    assert first is not None
    ends = (line.x[0], line.x[-1])
    return Series("ideal", ends, tuple(first * float(count) / float(line.x[0]) for count in ends))


def _efficiency(line: Series) -> Series:
    first = line.y[0]
    assert first is not None

    def over(values: tuple[float | None, ...]) -> tuple[float | None, ...]:
        pairs = zip(values, line.x, strict=True)
        return tuple(None if v is None else v / first * float(line.x[0]) / float(count) for v, count in pairs)

    return Series(line.name, line.x, over(line.y), over(line.low), over(line.high))


def _rank_bars(result: Result) -> Series:
    rates = speeds(result)
    return Series(str(result.parameters.get("mpi", "measured")), tuple(rates), tuple(rates.values()))


def rates_by_host(record: Record) -> dict[str, float]:
    """Returns the speed of each node (flop/s) by host: the sum over its ranks."""
    return dict(rates_of_nodes(record, "flops"))


def speeds(result: Result, ranks: bool = True) -> dict[str, float]:
    """Returns the median speed of each node over the valid records; with one node and `ranks`, of each rank."""
    nodes = [(rates, record) for record in rests_on(result) if (rates := rates_by_host(record))]
    rows = [rates if len(rates) > 1 or not ranks else _rates_by_rank(record) for rates, record in nodes]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: median(row[name] for row in rows if name in row) for name in names}


def _rates_by_rank(record: Record) -> dict[str, float]:
    return {f"rank {rank}": rate for rank, rate in enumerate(rates_of_ranks(record, "flops"))}


def nodes_of(result: Result) -> int:
    """Returns the number of nodes by the records; 1 if it is not recorded."""
    return max((len(set(messages.hosts(record))) for record in result.attempts), default=1) or 1
