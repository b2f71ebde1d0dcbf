"""The rows on memory of documents 000 and 002, on the page of the five evaluations, with planted numbers."""

from collections.abc import Mapping

import pytest

from planted import case, judged, printed, row, show, sockets
from steelyard.measure.benchmarks.memory import apexmap
from steelyard.measure.benchmarks.memory.nodes import placements
from steelyard.model import Limit, Machine, MemoryModule, Result, Scalar
from steelyard.show.report.pages import machine as machine_page

BARCELONA, SHANGHAI, SMALL = "4x AMD 8350 Barcelona", "4x AMD 8380 Shanghai", "2x AMD 2382 Shanghai"
CLOCKS = {BARCELONA: 2.0e9, SHANGHAI: 2.5e9, SMALL: 2.6e9}
ELEMENTS = 8_000_000  # of a vector in document 000


def board(system: str = BARCELONA) -> Machine:
    count = int(system[0])
    return sockets(count, 1, 4 * count, l3=2 << 20, system=system)


def stream(kernel: str, rate: float, threads: int = 16, **more: Scalar) -> Result:
    """A loop at so many bytes per second; of kernel `rotation`, the turn with the fastest Copy has this Triad."""
    moved = (16 if kernel in ("copy", "scale") else 80 if kernel == "rotation" else 24) * ELEMENTS
    parameters = {"elements": ELEMENTS, "threads": threads, "pinning": "none", "stores": "ordinary", **more}
    turns = {
        "copy": [2.0] * 12 + [1.0] + [2.0] * 12,
        "triad": [24 * ELEMENTS / rate * (1 if n == 12 else 0.9) for n in range(25)],
    }
    details = turns if kernel == "rotation" else None
    work = {"bytes": float(moved), "bytes_moved": moved * 4 / 3, "flops": 1.0}
    seconds = moved / rate * (1.25 if details else 1.0)  # the other loops of a turn are slower
    return case("memory.stream", kernel, parameters, seconds, work, details=details)


def gather(system: str, cycles: float, point: str = "G", threads: int = 1, **more: Scalar) -> Result:
    """So many cycles for each access, divided by the threads."""
    length, alpha = apexmap.CORNERS[point]
    parameters = {"L": length, "alpha": alpha, "threads": threads, "accumulators": 1, "elements": 1 << 20, **more}
    clock = CLOCKS[system]
    work = {"accesses": 1024.0, "bytes": 8192.0}
    return case("memory.apexmap", "gather", parameters, cycles / clock * 1024, work, clock=clock)


@row("000", "Table 1")
def test_000_table_1() -> set[str]:
    modules = tuple(MemoryModule(f"DIMM {n}", 2 << 30, "DDR2", 667, None) for n in range(2))
    here = sockets(
        4, 1, 16, system="Supermicro AS-1041M-T2", processor="Quad-Core AMD Opteron 8350", modules=modules,
    )  # fmt: skip
    page = machine_page.data(judged([stream("triad", 8e9)], here))
    facts = dict(page.facts)
    assert facts["System"] == "Supermicro AS-1041M-T2"
    assert "Opteron 8350" in facts["Processor"]
    assert any("667" in cell for module in page.modules for cell in module)
    return set()


@row("000", "Table 2")
def test_000_table_2() -> set[str]:
    rates = {"copy": 9e9, "scale": 9.1e9, "add": 9.9e9, "triad": 10.1e9}
    shown = show(judged([stream(kernel, rate) for kernel, rate in rates.items()], board()), "memory.stream")
    (table,) = shown.page.tables
    found = {r.parameters[0].text: r.shown.value for r in table.rows if r.shown}
    assert found == {"copy": "9.00 GB/s", "scale": "9.10 GB/s", "add": "9.90 GB/s", "triad": "10.1 GB/s"}
    assert "Copy c = a, Scale b = s·c, Add c = a + b, Triad a = b + s·c" in shown.page.benchmark.summary.replace(
        "\n", " "
    )
    return shown.titles


@row("000", "Figure 1")
def test_000_figure_1() -> set[str]:
    """The paper prints differences of two boards. Their curves are planted: a straight rise to a level of 8 threads."""
    less, most = (e.value for e in printed("000", "stream", "triad_above", above=SHANGHAI))
    (later,) = (e.value for e in printed("000", "stream", "triad_above", above=BARCELONA))
    rises = {1: 0.0, 4: less, 8: most, 16: -later}
    curves: dict[str, dict[float, float]] = {}
    for system, sign in ((BARCELONA, 1), (SHANGHAI, 0)):
        rates = {threads: 1.5e9 * min(threads, 8) + sign * rises[threads] for threads in rises}
        results = [
            stream(kernel, rate * (1 if compiler == "gcc-4.3" else 0.9), threads, toolchain=compiler)
            for kernel in ("rotation", "triad")
            for compiler in ("gcc-4.3", "clang-3.0")
            for threads, rate in rates.items()
        ]
        shown = show(judged(results, board(system)), "memory.stream")
        by_copy = "Triad bandwidth of the turn with the fastest Copy, of 25 turns"
        for title in (by_copy, "Triad bandwidth against threads"):
            lines = shown.lines(title, "threads", "bandwidth", "B/s")
            assert set(lines) == {"gcc-4.3", "clang-3.0"}
            for compiler, share in (("gcc-4.3", 1), ("clang-3.0", 0.9)):
                expected = {float(n): pytest.approx(rate * share) for n, rate in rates.items()}
                assert dict(zip(lines[compiler].x, lines[compiler].y, strict=True)) == expected
        limits = shown.beside("Triad bandwidth against threads", BARCELONA)
        assert {name: line.y for name, line in limits.items()} == {
            f"{BARCELONA} (limit of the memory, 4 sockets)": (40e9, 40e9)
        }
        line = shown.lines(by_copy, "threads", "bandwidth", "B/s")["gcc-4.3"]
        curves[system] = dict(zip(line.x, line.y, strict=True))  # type: ignore[arg-type]
    differences = [curves[BARCELONA][n] - curves[SHANGHAI][n] for n in (4.0, 8.0, 16.0)]
    assert differences == pytest.approx([0.4e9, 1.7e9, -2.5e9])
    return shown.titles


@row("000", "Figure 2")
def test_000_figure_2() -> set[str]:
    lengths, alphas = apexmap.LENGTHS[::4], apexmap.ALPHAS[::3]
    cycles = {(L, a): 3.6 + 300 * a / L**0.5 for L in lengths for a in alphas}
    results = [gather(BARCELONA, value, L=L, alpha=a) for (L, a), value in cycles.items()]
    shown = show(judged(results, board()), "memory.apexmap")
    surface = shown.figures["APEX surface: cycles per access, one thread"]
    assert (surface.kind, surface.value.unit if surface.value else "") == ("surface", "cycle")
    assert (surface.x.title, surface.y.title) == ("spatial locality L", "temporal locality α")
    assert (surface.columns, surface.rows) == (tuple(map(float, lengths)), tuple(sorted(alphas)))
    for alpha, line in zip(surface.rows, surface.z, strict=True):
        assert line == pytest.approx([cycles[L, float(alpha)] for L in lengths])
    assert [(p.label, p.x, p.y) for p in surface.points] == [("G", 1, 1.0), ("L", 65536, 0.001)]
    return shown.titles


@row("000", "Table 3")
def test_000_table_3() -> set[str]:
    for system in CLOCKS:
        entries = [e for e in printed("000", "apexmap", "cycles_per_access", threads=1) if e.system == system]
        results = [
            gather(
                system,
                e.value,
                str(e.parameters["point"]),
                memory_policy=apexmap.MEMORY[str(e.parameters["memory"])],
                toolchain=str(e.parameters["compiler"]),
            )
            for e in entries
        ]
        assert len(results) == 8
        shown = show(judged(results, board(system)), "memory.apexmap")
        drawn = shown.drawn("Cycles per access at G and L: compilers, and memory of one socket or of all")
        measured = {r[1]: r[2:] for r in drawn.rows if r[0] == system}
        assert measured == {r[1]: r[2:] for r in drawn.rows if r[0] == f"{system} (published)"}
    assert measured["gcc"] == ("205 cycle", "301 cycle", "3.48 cycle", "3.47 cycle")
    return shown.titles


def corner(point: str, title: str) -> set[str]:
    """One thread and sixteen, memory of all sockets, gcc: the planted line lies on the printed one."""
    wanted: Mapping[str, Scalar] = {"point": point, "compiler": "gcc", "memory": "all_sockets"}
    for system in (BARCELONA, SHANGHAI):
        entries = [e for e in printed("000", "apexmap", "cycles_per_access", **wanted) if e.system == system]
        results = [
            gather(system, e.value, point, int(e.parameters["threads"]), memory_policy="interleave") for e in entries
        ]
        shown = show(judged(results, board(system)), "memory.apexmap")
        (line,) = shown.lines(title, "threads", "cycles per access, all threads together", "cycle").values()
        assert line.x == (1.0, 16.0)
        others = shown.beside(title, system)
        (printed_line,) = (s for name, s in others.items() if "gcc" in name and "interleaved" in name)
        assert (printed_line.x, printed_line.y) == (line.x, pytest.approx(line.y))
    return shown.titles


@row("000", "Figure 3")
def test_000_figure_3() -> set[str]:
    return corner("G", "Point G (worst locality) against threads")


@row("000", "Figure 4")
def test_000_figure_4() -> set[str]:
    return corner("L", "Point L (best locality) against threads")


def xeon() -> Machine:
    return sockets(2, 2, 28, system="PowerEdge", limits={"memory_bandwidth": Limit(136e9, "B/s", "8 channels")})


def placed() -> list[Result]:
    """The five placements at the printed bandwidths, on a machine with Cluster-on-Die."""
    rates = {e.parameters["placement"]: e.value for e in printed("002", "stream", "triad_bandwidth")}
    return [
        case(
            "memory.placement",
            "triad",
            {"threads": len(p.cpus), "pinning": p.pinning, "memory_policy": p.memory_policy, "elements": 64 << 20},
            24 * (64 << 20) / rates[p.name],
            {"bytes": 24.0 * (64 << 20)},
        )
        for p in placements(xeon())
    ]


@row("002", "Table")
def test_002_table() -> set[str]:
    shown = show(judged(placed(), xeon()), "memory.placement")
    found = [(r.shown.value, r.shown.limit) for table in shown.page.tables for r in table.rows if r.shown]
    assert sorted(found) == sorted([
        ("116 GB/s", "136 GB/s"), ("58.0 GB/s", "68.0 GB/s"), ("28.0 GB/s", "34.0 GB/s"), ("15.0 GB/s", "34.0 GB/s"),
        ("13.0 GB/s", "34.0 GB/s"),
    ])  # fmt: skip
    return shown.titles


@row("002", "Figure")
def test_002_figure() -> set[str]:
    title = "Triad bandwidth of the placements"
    shown = show(judged(placed(), xeon()), "memory.placement")
    bars = shown.lines(title, "placement", "bandwidth", "B/s")
    assert bars["measured"].y == pytest.approx((116e9, 58e9, 28e9, 15e9, 13e9))
    assert bars["limit"].y == pytest.approx((136e9, 68e9, 34e9, 34e9, 34e9))
    beside = shown.beside(title, "PowerEdge")
    theirs, limits = (next(s for n, s in beside.items() if n.endswith("(limit)") is of) for of in (False, True))
    assert (theirs.x, theirs.y) == (bars["measured"].x, pytest.approx(bars["measured"].y))
    assert limits.y == pytest.approx((136e9, 68e9, 34e9, 17e9, 17e9))
    return shown.titles


@row("002", "Text", "SLIT")
def test_002_distances() -> set[str]:
    here = xeon()
    results = [
        case(
            "memory.placement",
            "chase",
            {"threads": 1, "pinning": str(node.cpus[0]), "memory_policy": f"bind:{memory}", "bytes": 1 << 28},
            8e-9 * distance * 4096,
            {"accesses": 4096.0, "bytes": 262144.0},
        )
        for node in here.nodes
        for memory, distance in enumerate(node.distances)
    ]
    shown = show(judged(results, here), "memory.placement")
    latency = shown.figures["Latency by processor node and memory node"]
    assert latency.value
    assert (latency.value.unit, latency.z[0]) == ("s", pytest.approx([8e-9 * d for d in here.nodes[0].distances]))
    titles = ("Distance that the firmware reports (SLIT)", "Measured distance: 10 × latency / local latency")
    slit = tuple(tuple(map(float, node.distances)) for node in here.nodes)
    for title in titles:
        figure = shown.figures[title]
        assert (figure.x.title, figure.y.title) == ("memory of node", "processors of node")
        assert [list(line) for line in figure.z] == [pytest.approx(list(line)) for line in slit]
    return shown.titles
