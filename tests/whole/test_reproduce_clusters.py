"""The rows of document 001 on the page of the five evaluations: planted numbers come out of the figures and tables."""

from dataclasses import replace

import pytest

import builders
from planted import Shown, case, judged, printed, row, show
from steelyard.compare import published_figures
from steelyard.measure.benchmarks.network import operations
from steelyard.measure.machine.system_file import find_system, load_system
from steelyard.model import Host, Limit, Machine, Result, Scalar
from steelyard.show.report.pages import machine as machine_page
from steelyard.show.report.pages import provenance

CELERON, CORE_2 = "Celeron educational cluster", "Core 2 Duo E4600"
NODES = tuple(f"node{n}" for n in range(8))
SIZES = (1024, 32768, 1 << 20)


def cluster() -> Machine:
    link = {"network_bandwidth": Limit(12.5e6, "B/s", "given by fast-ethernet.toml")}
    return builders.machine(cores=1, system="Celeron", hosts=tuple(Host(name, 1) for name in NODES), limits=link)


def flops() -> list[Result]:
    """Table 1: each rank has the printed speed of its node, and the slowest rank the printed time.

    The task computes as long as independent nodes with the speed of the first; the rest of its time is communication.
    """
    results = []
    for total in printed("001", "flops", "cluster_speed"):
        if total.system != CELERON:
            continue
        nodes = int(total.parameters["nodes"])
        (seconds,) = (e.value for e in printed("001", "flops", "calculation_time", nodes=nodes))
        speeds = [e.value for e in printed("001", "flops", "node_speed", nodes=nodes)]
        work = total.value * seconds
        parameters = {"ranks": nodes, "ranks_per_node": 1, "placement": "compact", "intervals": 1 << 25}
        alone = work / nodes / 155e6
        parts = {"computing": alone, "communication": max(0.0, seconds - alone), "bytes": 4e5}
        for kernel, taken, ranks, more, details in (
            ("flops", alone, [alone] * nodes, {}, None),
            ("task", seconds, [work / nodes / speed for speed in speeds], {"strip": 1024}, parts),
        ):
            results.append(
                case(
                    "cluster.flops",
                    kernel,
                    {**parameters, **more},
                    taken,
                    {"flops": work},
                    hosts=NODES[:nodes],
                    ranks=ranks,
                    details=details,
                )
            )
    return results


@row("001", "Figure 1")
def test_001_figure_1() -> set[str]:
    given = load_system(find_system("celeron-cluster")).cluster
    (switch,) = given.switches
    described = replace(cluster(), cluster=replace(given, switches=(replace(switch, hosts=NODES),)))
    made = judged(flops(), described, command=("steelyard", "run", "--hosts", ",".join(NODES)))
    page = machine_page.data(made)
    assert [row[:2] for row in page.cluster[:2]] == [("node", "8"), ("Cisco 2924XL", "1")]
    assert page.cluster[1][3] == "100 Mbit/s to each node"
    assert [host[0] for host in page.hosts] == list(NODES)
    assert ["155 Mflop/s" in page.hosts[0][1], "155 Mflop/s" in page.hosts[1][1]] == [True, True]
    assert any("fast-ethernet.toml" in limit[2] for limit in page.limits)
    assert dict(provenance.data(made).facts)["Records"] == str(2 * 8 * 3)
    return set()


@row("001", "Table 1")
def test_001_table_1() -> set[str]:
    shown = show(judged(flops(), cluster()), "cluster.flops")
    drawn = shown.drawn("Time, speed of the cluster and of each node")
    assert drawn.headings == (
        "nodes", "calculation time", "cluster speed", "communication", "independent nodes", *NODES,
    )  # fmt: skip
    one, *_, eight = drawn.rows
    assert one[:6] == ("1", "11.6 s", "155 Mflop/s", "0 %", "155 Mflop/s", "155 Mflop/s")
    assert eight[:5] == ("8", "1.66 s", "1.09 Gflop/s", "12.4 %", "1.24 Gflop/s")
    speeds = {n: printed("001", "flops", "node_speed", nodes=n) for n in range(1, 9)}
    for cells in drawn.rows:
        expected = [f"{e.value / 1e6:.0f} Mflop/s" for e in speeds[int(cells[0])]]
        assert list(cells[5:]) == expected + [""] * (8 - len(expected))
    seconds = [f"{e.value:.3g} s" for e in printed("001", "flops", "calculation_time")]
    assert [cells[1] for cells in drawn.rows] == seconds
    return shown.titles


@row("001", "Figure 2")
def test_001_figure_2() -> set[str]:
    title = "Speed of the cluster against its nodes"
    shown = show(judged(flops(), cluster()), "cluster.flops")
    lines = shown.lines(title, "nodes", "speed", "flop/s")
    values = [e.value for e in printed("001", "flops", "cluster_speed") if e.system == CELERON]
    task, alone = lines["parallel task"], lines["independent ranks"]
    assert (task.x, task.y) == (tuple(range(1, 9)), pytest.approx(values))
    assert (alone.x, alone.y) == (task.x, pytest.approx([155e6 * n for n in range(1, 9)]))
    assert lines["ideal"].y == pytest.approx((155e6, 8 * 155e6))
    (beside,) = shown.beside(title, CELERON).values()
    assert (beside.x, beside.y) == (task.x, pytest.approx(values))
    return shown.titles | communication(shown)


def communication(shown: Shown) -> set[str]:
    """The speed of a node falls from 155 to 136 Mflop/s: communication takes an eighth of the time on eight nodes."""
    title = "Cost of communication against nodes"
    (line,) = shown.lines(title, "nodes", "share of the calculation time", "%").values()
    assert line.x == tuple(range(1, 9))
    assert line.y[0] == 0
    assert line.y[-1] == pytest.approx(1 - 1086 / 8 / 155, abs=1e-3)
    assert shown.figures[title].caption.endswith(
        "On 8 nodes, communication takes 206 ms, 12 % of the calculation time. The parallel task reaches 1.09 Gflop/s, "
        "88 % of the 1.24 Gflop/s of independent ranks."
    )
    (told,) = [f for f in judged(flops(), cluster(), findings=True).findings if f.rule == "task_communication"]
    assert told.level == "notice"
    assert "Communication takes 12 % of the time of a parallel task on 8 nodes (8 ranks): 206 ms of 1.66 s" in told.seen
    return {title}


def transfer(partner: int, size: int, seconds: float, direction: str = "one-way") -> Result:
    """Messages of `size` bytes between rank 0 and another: one way, or the exchange, takes so many seconds."""
    parameters: dict[str, Scalar] = {
        "ranks": 8, "ranks_per_node": 1, "placement": "compact", "transport": "default", "buffers": "reused",
        "direction": direction, "partner": partner, "message_bytes": size,
    }  # fmt: skip
    both = 2 * seconds if direction == "one-way" else seconds
    work = {"messages": 2.0, "bytes": 2.0 * size, "pairs": 1.0}
    return case("network.transfer", "transfer", parameters, both, work, hosts=NODES)


@row("001", "Figure 3")
def test_001_figure_3() -> set[str]:
    """Seven partners whose latencies differ by just less than the printed bound."""
    (bound,) = (e.value for e in printed("001", "transfer", "latency_spread"))
    seconds = [100e-6 * (1 + 0.98 * bound * share) for share in (-0.5, -0.2, -0.1, 0.0, 0.1, 0.2, 0.5)]
    made = judged((transfer(n, 0, s) for n, s in enumerate(seconds, 1)), cluster())
    shown = show(made, "network.transfer")
    title = "Latency between rank 0 and each other rank"
    (line,) = shown.lines(title, "rank", "latency", "s").values()
    assert (line.x, line.y, line.connected) == (tuple(range(1, 8)), pytest.approx(seconds), False)
    assert "6.9 % (one-way" in shown.figures[title].caption
    assert f"Published: less than 7.0 % ({CELERON})." in shown.figures[title].caption
    ours = {f"{x.benchmark} {x.metric}": x for x in published_figures.compare(made, CELERON).lines}
    spread = ours["transfer spread of the latency"]
    assert (spread.printed, spread.ours and spread.ours.value) == ("7 %", pytest.approx(0.98 * bound))
    return shown.titles


def sweeps(direction: str) -> set[str]:
    """The bandwidth rises to the printed one at 32 KiB, and falls; each partner is 1 % slower than the one before."""
    (best,) = printed("001", "transfer", "bandwidth")
    curves = {
        way: {size: most * share for size, share in zip(SIZES, (0.4, 1.0, 0.8), strict=True)}
        for way, most in (("one-way", 7e6), ("two-way", best.value))
    }
    results = [
        transfer(partner, size, (2 if way == "two-way" else 1) * size / rate * 1.01 ** (partner - 1), way)
        for way, rates in curves.items()
        for partner in range(1, 8)
        for size, rate in rates.items()
    ]
    rates = curves[direction]
    shown = show(judged(results, cluster()), "network.transfer")
    title = f"Bandwidth between two ranks against the size of the message, {direction}"
    lines = shown.lines(title, "message size", "bandwidth", "B/s")
    assert [name.split(",")[0] for name in lines] == [f"rank {n}" for n in range(1, 8)]
    for number, line in enumerate(lines.values()):
        assert (line.x, line.y) == (SIZES, pytest.approx([rate / 1.01**number for rate in rates.values()]))
    beside = shown.beside(title, CELERON)
    assert [(s.x, s.y) for s in beside.values()] == ([((32768,), (best.value,))] if direction == "two-way" else [])
    return shown.titles


@row("001", "Figure 4")
def test_001_figure_4() -> set[str]:
    return sweeps("one-way")


@row("001", "Figure 5")
def test_001_figure_5() -> set[str]:
    return sweeps("two-way")


@row("001", "Figure 6")
def test_001_figure_6() -> set[str]:
    """Chaos both ways has the printed best throughput, and the ring varies least."""
    (best,) = printed("001", "nettest", "bandwidth")
    rates = {("star", 0.2): 11e6, ("ring", 0.02): 25e6, ("chaos", 0.1): best.value}
    sizes = [1 << k for k in range(12, 20)]
    curves = {
        (name, way): [rate * share * (1 - wobble * (n % 2)) for n in range(len(sizes))]
        for (name, wobble), rate in rates.items()
        for way, share in (("one-way", 0.7), ("two-way", 1.0))
    }
    results = [
        case(
            "network.nettest",
            "nettest",
            {"topology": name, "direction": way, "ranks": 8, "message_bytes": size, "outstanding": 256},
            1e-3,
            {"bytes": rate * 1e-3},
            hosts=NODES,
        )
        for (name, way), values in curves.items()
        for size, rate in zip(sizes, values, strict=True)
    ]
    shown = show(judged(results, cluster()), "network.nettest")
    title = "Throughput of 8 ranks against the size of the message"
    lines = shown.lines(title, "message size", "throughput of all channels", "B/s")
    assert len(lines) == len(curves)
    for (name, way), values in curves.items():
        line = lines[f"{name} topology, {way} direction"]
        assert (line.x, line.y) == (tuple(sizes), pytest.approx(values))
    assert "the smallest variation first: ring" in shown.figures[title].caption
    (beside,) = shown.beside(title, CELERON).values()
    assert beside.y == (max(max(values) for values in curves.values()),) * 2
    assert {mark.at: mark.label for mark in shown.figures[title].marks} == {
        25e6: "star: 2 B",
        100e6: "ring and chaos: 8 B",
    }
    return shown.titles


@row("001", "Text", "Mpitest")
def test_001_mpitest() -> set[str]:
    """Operations take a tenth of the printed bound more from one to the next, with a synchronisation of 0.1 µs."""
    (bound,) = (e.value for e in printed("001", "operations", "time"))
    kernels = (*operations.FAST, *operations.SLOW)
    seconds = {kernel: bound * (n + 1) / len(kernels) for n, kernel in enumerate(kernels)}
    results = [
        case(
            "network.operations",
            kernel,
            {"ranks": 8, **more},
            1000 * seconds[kernel],
            {"operations": 1000.0},
            hosts=NODES,
        )
        for kernel in kernels
        for more in ([{}] if kernel in operations.ALONE else [{"integers": n} for n in operations.INTEGERS])
    ]
    shown = show(judged(results, cluster()), "network.operations")
    bars = shown.lines("Operation and synchronisation, 8 ranks", "operation", "time", "s")
    assert set(bars) == {"no data", "1 integer", "10 integers", "100 integers"}
    labels = tuple(f"{k} ({'fast' if k in operations.FAST else 'slow'})" for k in kernels)
    assert bars["1 integer"].x == labels
    for name, line in bars.items():
        alone = operations.ALONE if name == "no data" else operations.SLOW
        values = [y for y in line.y if y is not None]
        assert values == pytest.approx([seconds[k] for k in alone])
        assert max(values) <= bound * 1.001
    return shown.titles


@row("001", "Text", "verdict")
def test_001_comparison_with_a_known_machine() -> set[str]:
    results = [
        case("cluster.flops", "task", {"ranks": n, "placement": "compact"}, 1.0, {"flops": rate}, hosts=["pc"] * n)
        for n, rate in ((1, 289e6), (2, 559e6))
    ]
    lines = published_figures.compare(judged(results, builders.machine(cores=2)), CORE_2).lines
    assert [(line.printed, line.ratio) for line in lines] == [
        ("578 Mflop/s", pytest.approx(0.5)), ("1118 Mflop/s", pytest.approx(0.5)),
    ]  # fmt: skip
    return set()
