"""The rows of document 003 on the page of the five evaluations: planted numbers come out of the figures and tables."""

import json
from collections.abc import Mapping
from dataclasses import replace
from statistics import geometric_mean, median
from typing import Any

import pytest

import builders
import power_fixture
from folders import ROOT
from planted import case, judged, printed, row, show
from side_fixture import against
from steelyard.applications.programs import benchmark_of
from steelyard.compare import published_figures, runs
from steelyard.measure.machine.system_file import find_system, load_system
from steelyard.model import Device, Evaluation, Limit, Machine, Result, Tool
from steelyard.power.pages import power as power_page
from steelyard.show.report.pages import machine as machine_page
from steelyard.show.report.pages import provenance, scaling

GPU = Device(0, "Mali-T604", "GPU", 4 << 30, True)
NODE, MARENOSTRUM = "Mont-Blanc node", "MareNostrum III node"
KERNELS = (
    "convolution", "fft", "histogram", "matmul", "mergesort", "montecarlo", "nbody", "reduction", "spmv", "stencil", "vector",
)  # fmt: skip
PROGRAMS = {"SMMP": "application.smmp", "BQCD": "application.bqcd", "QE": "application.qe", "CoMD": "application.comd"}


def prototype(**changed: Any) -> Machine:
    limits = {
        "memory_bandwidth": Limit(12.8e9, "B/s", "table 3"),
        "network_bandwidth": Limit(0.125e9, "B/s", "table 3"),
    }
    tools = {"compilers": (Tool("gcc", "/usr/bin/gcc", "4.8"),), "mpis": (Tool("openmpi", "/usr/bin/mpirun", "1.8"),)}
    fields = {"processor": "Cortex-A15", "devices": (GPU,), "memory": 4 << 30, "limits": limits, **tools, **changed}
    return builders.machine(cores=2, system=NODE, **fields)


def peak(threads: int, precision: str, speed: float) -> Result:
    parameters = {
        "vector_width": "128", "precision": precision, "operation": "fma", "threads": threads, "pinning": "compact",
    }  # fmt: skip
    return case("core.peak", "peak", parameters, 1e-3, {"flops": speed * 1e-3}, clock=1.7e9)


def peaks() -> list[Result]:
    """Table 2: two cores reach the printed peaks, and one core half of them."""
    speeds = {
        precision: printed("003", "peak", f"flops_{short}", unit="cpu")
        for precision, short in (("double", "dp"), ("single", "sp"))
    }
    of_node = {p: next(e.value for e in entries if e.system == NODE) for p, entries in speeds.items()}
    return [peak(n, p, speed * n / 2) for p, speed in of_node.items() for n in (1, 2)]


@row("003", "Figures 1, 2, 3, 4")
def test_003_figures_1_to_4() -> set[str]:
    given = load_system(find_system("mont-blanc"))
    whole = replace(prototype(), enclosures=given.enclosures, cluster=given.cluster)
    page = machine_page.data(judged(peaks(), whole))
    table = "\n".join(" | ".join(row) for row in page.cluster)
    for part in (
        "node | 1,080",
        "rack | 2 | 540 nodes each",
        "chassis | 8 | 135 nodes each; 4 in each rack",
        "blade | 72 | 15 nodes each; 9 in each chassis",
        "1 Gbit/s to each node",
        "2 × 10 Gbit/s to top-of-rack switch",
        "4 × 40 Gbit/s to each other",
    ):
        assert part in table, part
    ((node,),) = (socket.nodes for socket in page.sockets)
    assert [core.number for group in node.groups for core in group.cores] == [0, 1]
    facts = dict(page.facts)
    assert facts["OpenCL device 0"] == "Mali-T604 (GPU), 4 GiB of the host's memory"
    assert facts["Memory"].startswith("4 GiB")
    return set()


@row("003", "Table 1")
def test_003_table_1() -> set[str]:
    made = judged(peaks(), prototype(), versions={"kernel": "3.11.0", "libc": "2.19", "steelyard": "1"})
    assert dict(provenance.data(made).versions)["kernel"] == "3.11.0"
    tools = [(kind, tool.name, tool.version) for kind, tool in machine_page.data(made).tools]
    assert tools == [("Compiler", "gcc", "4.8"), ("MPI", "openmpi", "1.8")]
    return set()


@row("003", "Table 2")
def test_003_table_2() -> set[str]:
    made = judged(peaks(), prototype())
    shown = show(made, "core.peak")
    title = "Highest speed against threads"
    lines = shown.lines(title, "threads", "speed", "flop/s")
    assert lines["double precision"].y == pytest.approx((3.4e9, 6.8e9))
    assert lines["single precision"].y == pytest.approx((13.6e9, 27.2e9))
    levels = [s.y for s in shown.beside(title, NODE).values()]
    assert levels == [pytest.approx((6.8e9, 6.8e9))]
    return shown.titles


@row("003", "Table 3")
def test_003_table_3() -> set[str]:
    there = builders.machine(nodes=2, cores=16, system=MARENOSTRUM, processor="Xeon E5-2670", memory=32 << 30)
    a, b = judged(peaks(), prototype()), judged([peak(16, "double", 332.8e9)], there)
    found = {d.name: (d.a, d.b) for d in runs.compare(a, b).differences if d.group == "machine"}
    assert found["processor"] == ("Cortex-A15", "Xeon E5-2670")
    assert ("2", "16") in found.values()
    for made, name, speed in ((a, NODE, 6.8e9), (b, MARENOSTRUM, 332.8e9)):
        assert max(
            r.metrics["flops"].value for r in made.results if r.parameters.get("precision") == "double"
        ) == pytest.approx(speed)
        lines = published_figures.compare(made, name).lines
        assert [
            x.published for x in lines if x.metric == "peak speed in double precision" and "CPU" in x.conditions
        ] == [pytest.approx(speed)]
    return set()


def on_one_core(seconds: Mapping[str, float], where: Machine) -> Evaluation:
    results = [
        case(
            f"node.{name}",
            name,
            {"mode": "threads", "threads": 1, "pinning": "compact", "elements": 4096},
            taken,
            {"items": 4096.0},
        )
        for name, taken in seconds.items()
    ]
    return judged(results, where)


@row("003", "Figure 5")
def test_003_figure_5() -> set[str]:
    """Eleven kernels between the least and the greatest printed slowdown, with the printed mean."""
    slow = {e.parameters["of_eleven_kernels"]: e.value for e in printed("003", "kernels", "slowdown", cores=1)}
    ends = (slow["least"], slow["greatest"])
    middle = (slow["mean"] ** 11 / (ends[0] * ends[1])) ** (1 / 9)
    ratios = dict(zip(KERNELS, (ends[0], *[middle] * 9, ends[1]), strict=True))
    assert geometric_mean(ratios.values()) == pytest.approx(4.3)
    base = on_one_core(dict.fromkeys(KERNELS, 0.1), builders.machine(cores=16, system="MareNostrum III"))
    page = against(on_one_core({k: 0.1 * r for k, r in ratios.items()}, prototype()), base)
    assert page
    (part,) = page.parts
    found = {r.name: float(cell.ratio) for r in part.rows for cell in r.cells if cell}
    assert found == pytest.approx(ratios, rel=0.005)
    assert [float(mean) for mean in part.means] == pytest.approx([4.3], rel=0.005)
    assert part.figure.title == "Time of an iteration divided by the time on MareNostrum III"
    return set()


@row("003", "Figure 6")
def test_003_figure_6() -> set[str]:
    """Energies follow from the planted watts and seconds. tests/core/test_node.py plants the printed means of two systems."""
    kernels = {name: power_fixture.KERNELS[name] for name in ("stencil", "nbody")}
    made = power_fixture.evaluated(power_fixture.results(kernels), kernels)
    page = power_page.data(made)
    assert page
    (energies,) = page.energies
    assert energies.against
    for kernel in energies.against.rows:
        joules = [seconds * watts for seconds, watts in kernels[kernel.name]]
        found = [float(cell.ratio) for cell in kernel.cells if cell and cell.ratio]
        assert found[-3:] == pytest.approx([j / joules[0] for j in joules[1:]], rel=0.02)
    return {energies.against.figure.title}


@row("003", "Figure 7")
def test_003_figure_7() -> set[str]:
    """The stencil in its four modes on a board that draws the printed watts; its meter is planted."""
    watts = {e.parameters["state"]: e.value for e in printed("003", "power", "power")}
    states = ("1 cpu", "2 cpu", "gpu", "gpu+1 cpu")
    kernels = {"stencil": tuple((0.2, watts[state]) for state in states)}
    made = power_fixture.evaluated(power_fixture.results(kernels), kernels)
    page = power_page.data(made)
    assert page
    assert page.printed
    plot = json.loads(page.figure.plot)
    (line,) = (trace for trace in plot["data"] if len(trace["x"]) > 100)
    bands = [shape for shape in plot["layout"]["shapes"] if shape["type"] == "rect"]
    within = [
        median(y for x, y in zip(line["x"], line["y"], strict=True) if band["x0"] + 1 < x < band["x1"] - 1)
        for band in bands
    ]
    assert within == pytest.approx([watts[state] for state in states] * 3, rel=0.02)
    assert plot["layout"]["yaxis"]["title"]["text"].startswith("Power")
    levels = [trace["y"] for trace in plot["data"] if "published" in trace["meta"]]
    assert levels == [[w, w] for w in watts.values()]
    assert [len(system.lines) for system in page.figure.published] == [5]
    rows = {r.state: r for r in page.printed.rows}
    assert rows["idle"].printed == "5.30 W"
    return {page.figure.title}


def on_nodes(name: str, efficiency: Mapping[int, float], grows: bool = False) -> list[Result]:
    """A program on two ranks of each of so many nodes, with this efficiency."""
    return [
        builders.result(
            PROGRAMS[name],
            PROGRAMS[name].rpartition(".")[2],
            {"model": "mpi", "ranks": 2 * n, "ranks_per_node": 2, "elements": 1000 * n if grows else 1000},
            (1 if grows else 1 / n) / share,
            {"flops": 1e9 * (n if grows else 1)},
            surroundings={"ranks": {"hosts": [f"n{rank // 2}" for rank in range(2 * n)]}},
            launches=2,
            spread=0.0,
        )
        for n, share in efficiency.items()
    ]


@row("003", "Figure 9")
def test_003_figure_9() -> set[str]:
    """Four programs with the printed efficiencies: SMMP falls to one half on 32 nodes."""
    strong = {
        (str(e.parameters["application"]), float(e.parameters["nodes"])): e.value
        for e in printed("003", "applications", "strong_efficiency")
    }
    weak = {str(e.parameters["application"]): e.value for e in printed("003", "applications", "weak_efficiency")}
    counts = (1, 4, 32, 64)
    efficiencies = {
        False: {name: {n: 1 / (1 + (n - 1) / bend) for n in counts} for name, bend in (("SMMP", 31), ("BQCD", 80))},
        True: {name: {n: 1 - (1 - weak[name]) * k / 3 for k, n in enumerate(counts)} for name in ("CoMD", "QE")},
    }
    results = [
        r for grows, of in efficiencies.items() for name, shares in of.items() for r in on_nodes(name, shares, grows)
    ]
    page = scaling.data(builders.evaluation(results, builders.machine(cores=2)))
    assert page
    for grows, (gained, share) in zip((False, True), page.together, strict=True):
        kind = "weak" if grows else "strong"
        assert (gained.title, share.title) == tuple(
            f"All applications, {kind} scaling: {w}" for w in ("speed-up", "efficiency")
        )
        plots = [json.loads(figure.plot) for figure in (gained, share)]
        assert [plot["layout"]["xaxis"]["title"]["text"] for plot in plots] == ["Nodes"] * 2
        for name, shares in efficiencies[grows].items():
            speedups, percents = (
                next(t["y"] for t in plot["data"] if t["name"] == name.capitalize() and "published" not in t["meta"])
                for plot in plots
            )
            assert percents == pytest.approx([100 * s for s in shares.values()], rel=1e-3)
            assert speedups == pytest.approx([n * s for n, s in shares.items()], rel=1e-3)
        drawn = [t for t in plots[1]["data"] if "published" in t["meta"]]
        levels = {t["name"].partition("(")[2].split(",")[0].rstrip(")"): t["y"][0] for t in drawn}
        wanted = weak if grows else {name: value for (name, _), value in strong.items()}
        assert levels == pytest.approx({name: 100 * value for name, value in wanted.items()})
        assert [system.name for system in share.published] == ["Mont-Blanc prototype"]
    for section in page.sections:
        (_, share, _), *_ = section.figures
        assert [len(system.lines) for system in share.published] in ([3], [5])
    return {figure.title for pair in page.together for figure in pair}


@pytest.mark.parametrize("program", ["comd", "minife"])
def test_003_time_power_and_energy_of_a_program_are_drawn(program: str) -> None:
    """A run at the ranks of both systems of Table 4 lies on the printed points."""
    wanted = {
        metric: {float(e.parameters["ranks"]): e.value for e in printed("003", program, metric)}
        for metric in ("time", "power", "energy")
    }
    name = f"application.{program}"
    results = [
        case(name, program, {"ranks": int(ranks), "threads": 1}, seconds, {}, hosts=["node1", "node2"])
        for ranks, seconds in wanted["time"].items()
    ]
    made = judged(results, programs=[benchmark_of(ROOT / "examples" / "applications" / f"{program}.toml")])
    with_energy = tuple(
        replace(r, metrics={**r.metrics, **{
            metric: builders.bandwidth(wanted[metric][float(r.parameters["ranks"])]) for metric in ("power", "energy")
        }})
        for r in made.results
    )  # fmt: skip
    shown = show(replace(made, results=with_energy), name)
    for metric, title, unit in (("time", "Time", "s"), ("power", "Mean power", "W"), ("energy", "Energy", "J")):
        (line,) = shown.lines(f"{title} against ranks", "ranks", title.lower(), unit).values()
        ranks = sorted(wanted[metric])
        assert (line.x, line.y) == (tuple(ranks), pytest.approx([wanted[metric][n] for n in ranks]))
        systems = ("Mont-Blanc system", "MareNostrum III")
        drawn = [s for system in systems for s in shown.beside(f"{title} against ranks", system).values()]
        beside = {s.x: s.y for s in drawn}
        assert beside == {(n,): pytest.approx((wanted[metric][n],)) for n in ranks}
