"""The rows of document 000 on kernels, applications and networks: planted numbers come out of the figures and tables."""

import pytest

import builders
from planted import case, judged, printed, row, show, sockets
from steelyard.measure.benchmarks.core import groups
from steelyard.model import Machine, Result, Scalar

BARCELONA, SHANGHAI = "4x AMD 8350 Barcelona", "4x AMD 8380 Shanghai"


def board(system: str = BARCELONA) -> Machine:
    return sockets(4, 1, 16, l3=2 << 20, system=system)


@row("000", "Figure 5")
def test_000_figure_5() -> set[str]:
    """Polynomials of so many operations for each word: 0.3 Gflop/s for each, up to 3 Gflop/s."""
    here = board()
    results = [
        case(
            "core.kernels",
            kernel,
            {"elements": length, "vectors": "yes", "threads": 1, "pinning": "compact"},
            2 * degree * length / min(0.3e9 * degree * share, 3e9),
            {"flops": 2.0 * degree * length, "bytes": 16.0 * length, "results": float(length)},
        )
        for length, share in ((groups.fit_first_cache(here), 4), (groups.exceed_caches(here), 1))
        for kernel, degree in zip(groups.INTENSITY, (1, 3, 5, 9, 17), strict=True)
    ]
    shown = show(judged(results, here), "core.kernels")
    title = "Speed against operations for each memory access"
    lines = shown.lines(title, "operations for each word read or written", "speed", "flop/s")
    assert lines["memory, vectors"].x == pytest.approx((1, 3, 5, 9, 17))
    assert lines["memory, vectors"].y == pytest.approx((0.3e9, 0.9e9, 1.5e9, 2.7e9, 3e9))
    assert lines["first cache, vectors"].y == pytest.approx((1.2e9, 3e9, 3e9, 3e9, 3e9))
    return shown.titles


def npb(code: str, speed: float, **parameters: Scalar) -> Result:
    """All threads or ranks together have so many operations per second."""
    ranks, load = int(parameters.get("ranks", 0)), int(parameters.get("ranks_per_node", 1))
    hosts = [f"node{1 + rank // load}" for rank in range(ranks)]
    given = {"phases": "off", "class": "C", **parameters}
    return case(f"application.npb_{code}", code, given, 1e11 / speed, {"operations": 1e11}, hosts=hosts)


def by_load(code: str, gain: float) -> set[str]:
    """A core of Clovertown on one and on two nodes, with so many cores loaded; eight cores do `gain` times the work of one."""
    each = {1: 3e8, 2: 2.4e8, 4: 2e8, 8: 3e8 * gain / 8}
    assert each[1] / each[8] >= printed("000", "npb", "slowdown_of_a_core")[0].value
    results = [
        npb(code, speed * load * nodes, model="mpi", ranks=load * nodes, ranks_per_node=load, placement="compact")
        for load, speed in each.items()
        for nodes in (1, 2)
    ]
    name = f"application.npb_{code}"
    shown = show(judged(results, builders.machine(cores=8)), name)
    lines = shown.lines(f"NPB {code.upper()}: speed of each rank", "ranks", "speed of each rank", "op/s")
    assert len(lines) == 4
    for (load, speed), line in zip(each.items(), lines.values(), strict=True):
        assert (line.x, line.y) == ((load, 2 * load), pytest.approx([speed] * 2))
    assert [str(load) in name for load, name in zip(each, lines, strict=True)] == [True] * 4
    return shown.titles


@row("000", "Figure 6")
def test_000_figure_6() -> set[str]:
    return by_load("lu", printed("000", "npb", "speedup_of_the_node", end="greatest")[0].value)


@row("000", "Figure 7")
def test_000_figure_7() -> set[str]:
    return by_load("cg", printed("000", "npb", "speedup_of_the_node", end="least")[0].value)


@row("000", "Figure 8")
def test_000_figure_8() -> set[str]:
    clovertown = 1.2e9  # eight cores; the paper prints the others as its multiples
    wanted = {(e.system, int(e.parameters["cores"])): e.value for e in printed("000", "npb_ua", "speed_ratio")}
    assert sorted(wanted.values()) == [1.5, 2.4, 3.5]
    found = {}
    for system in (BARCELONA, SHANGHAI):
        results = [
            npb("ua", ratio * clovertown, model="threads", threads=cores)
            for (of, cores), ratio in wanted.items()
            if of == system
        ]
        shown = show(judged(results, board(system)), "application.npb_ua")
        (line,) = shown.lines("NPB UA: speed of each thread", "threads", "speed of each thread", "point/s").values()
        found |= {(system, int(n)): n * y / clovertown for n, y in zip(line.x, line.y, strict=True)}  # type: ignore[operator,arg-type]
    assert found == pytest.approx(wanted)
    return shown.titles


@row("000", "Figure 9")
def test_000_figure_9() -> set[str]:
    """Each model has its own speed of one thread or rank, which falls with the fourth root of their number."""
    models = {"threads": 3e8, "mpi": 2.8e8, "shmem": 2.5e8}
    results = [
        npb("cg", one * count**0.75, model=model, **{"class": "B", "threads" if model == "threads" else "ranks": count})
        for model, one in models.items()
        for count in (1, 4, 16)
    ]
    shown = show(judged(results, board()), "application.npb_cg")
    lines = shown.lines(
        "NPB CG: speed of each thread or rank", "threads or ranks", "speed of each thread or rank", "op/s"
    )
    for (model, one), line in zip(models.items(), lines.values(), strict=True):
        assert model in line.name.lower().replace("openshmem", "shmem")
        assert (line.x, line.y) == ((1, 4, 16), pytest.approx([one, one / 4**0.25, one / 2]))
    return shown.titles


def bisection(size: int, pairs: int) -> Result:
    """Up to four pairs have 1 GB/s each and a start of 4 µs; more pairs share 4 GB/s."""
    rate = min(pairs, 4) * 1e9 * size / (size + 4000)
    parameters = {"ranks": 16, "pairs": pairs, "matching": "halves", "message_bytes": size, "buffers": "reused"}
    work = {"messages": 2.0 * pairs, "bytes": 2.0 * size * pairs}
    hosts = [f"node{1 + rank // 8}" for rank in range(16)]
    slowest = work["bytes"] / rate
    ranks = [0.8 * slowest, *[slowest] * 15]
    return case("network.bisection", "round_trip", parameters, slowest, work, hosts=hosts, ranks=ranks)


@row("000", "Figure 10")
def test_000_figure_10() -> set[str]:
    shown = show(judged([bisection(1000, 1)]), "network.bisection")
    summary = shown.page.benchmark.summary.replace("\n", " ")
    assert "pairs rank i with rank i + P/2" in summary
    assert "rate = 2 · pairs · length / time" in shown.page.benchmark.source.replace("\n", " ")
    return shown.titles


@row("000", "Figure 11")
def test_000_figure_11() -> set[str]:
    sizes, pairs = (1000, 4000, 1_000_000), (1, 2, 4, 8)
    shown = show(judged(bisection(s, p) for s in sizes for p in pairs), "network.bisection")
    by_size = shown.lines(
        "Bisection bandwidth against the size of the message: round trip", "message size", "rate of all pairs", "B/s"
    )
    assert len(by_size) == 4
    for count, line in zip(pairs, by_size.values(), strict=True):
        assert (line.x, line.y) == (sizes, pytest.approx([min(count, 4) * 1e9 * s / (s + 4000) for s in sizes]))
    by_pairs = shown.lines("Bisection bandwidth against the number of pairs", "pairs", "rate of all pairs", "B/s")
    half = by_pairs["3.91 KiB, round trip"]
    assert (half.x, half.y) == (pairs, pytest.approx([0.5e9, 1e9, 2e9, 2e9]))
    tolerance = "Tolerance of the network: rate of n pairs divided by the rate of one pair"
    lines = shown.lines(tolerance, "pairs", "rate / rate of one pair", "")
    assert lines.pop("ideal").y == (1.0, 8.0)
    assert [line.y for line in lines.values()] == [pytest.approx((1, 2, 4, 4))] * 3
    return shown.titles
