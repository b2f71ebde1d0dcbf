"""The library of systems: what its figures are compared with, the files of users, and the systems nearest to a run."""

import json
import random
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from builders import evaluation, gather, machine, message, result, triad
from steelyard.compare import published_figures
from steelyard.compare.like import USUAL, find_like, list_data_sheet
from steelyard.compare.nearest import find_nearest
from steelyard.compare.published_side import find_side, make_case, make_side
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import SideCase, SideRun
from steelyard.errors import UsageError
from steelyard.measure import published
from steelyard.measure.benchmarks import texts
from steelyard.measure.benchmarks.memory.apexmap import CORNERS
from steelyard.measure.benchmarks.memory.nodes import TITLES
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.plan.catalogue import parameter_values
from steelyard.measure.published import our_case, system_library, wording
from steelyard.measure.published.our_case import MACHINE, OurCase
from steelyard.measure.published.printed_lines import draw_printed
from steelyard.measure.published.system import Figure, System
from steelyard.measure.published.system_reader import expect_known, load_system
from steelyard.model import Device, Host, Limit, Machine, Result, Scalar, Value
from steelyard.model.figure import Series
from steelyard.show.command_line import cli
from steelyard.show.report import published_lines
from steelyard.statistics.results.energy_metrics import METRICS

ROOT = Path(__file__).parents[2]
GIVEN = {
    "flops": Limit(2e12, "flop/s", "given"),
    "memory_bandwidth": Limit(2e11, "B/s", "given"),
    "network_bandwidth": Limit(1e9, "B/s", "given"),
}
BIG = machine(
    nodes=2,
    cores=16,
    limits=GIVEN,
    devices=(
        Device(0, "gpu", "GPU", 1 << 30, False),
        Device(
            0, "gpu", "GPU", 1 << 37, False, door="cuda", facts={"capability": "9.0", "compiler": "a", "library": "b"}
        ),
    ),
    hosts=(Host("a", 8), Host("b", 8)),
)


def figures() -> Iterator[tuple[System, Figure, OurCase]]:
    for system in system_library.list_shipped():
        for figure in system.figures:
            for case in figure.cases:
                yield system, figure, case


def planted(figure: Figure, case: OurCase, where: Machine, factor: float = 1.0) -> SideCase:
    """What a run on that machine would have measured under exactly the conditions of the figure."""
    theirs = make_case(figure, case)
    parameters: dict[str, Scalar] = {**USUAL}
    hosts = 1
    for name, value in case.parameters.items():
        if name == our_case.HOSTS:
            hosts = int(value)
        elif name == our_case.BETWEEN:
            hosts = 2
        elif name == our_case.COMPILER:
            parameters["toolchain"] = f"{value}-12.2.0"
        elif name == "device":
            parameters["device"] = where.devices[0].number
        else:
            parameters[name] = len(where.cpus) if value == our_case.ALL else value
    values = {name: replace(v, value=v.value * factor, scope=("node",)) for name, v in theirs.metrics.items()}
    return replace(theirs, parameters=parameters, metrics=values, hosts=hosts, level="CLEAN", statistic="")


def measured(*cases: SideCase, where: Machine = BIG) -> SideRun:
    empty = reduce_run(evaluation([], where))
    return replace(empty, cases=cases)


# --------------------------------------------------------------------------- every figure


def test_every_shipped_figure_has_a_case_or_a_reason_and_a_source() -> None:
    systems = system_library.list_shipped()
    assert len({s.name for s in systems}) == len(systems)
    for system in systems:
        assert system.source, system.name
        for figure in system.figures:
            assert bool(figure.cases) != bool(figure.reason), (system.name, figure.title)
            assert figure.printed
            assert figure.value > 0 or figure.reason, (system.name, figure.title)


def test_a_search_for_a_benchmark_finds_every_system_that_has_it() -> None:
    by_benchmark: dict[str, set[str]] = {}
    for system, _, case in figures():
        by_benchmark.setdefault(case.benchmark, set()).add(system.name)
    for name, systems in by_benchmark.items():
        assert systems <= {s.name for s in system_library.list_shipped(name)}, name
    both = {s.name for s in system_library.list_shipped("memory.stream", "memory.latency")}
    assert both >= by_benchmark["memory.stream"] | by_benchmark["memory.latency"]


def test_the_library_has_public_systems_of_many_years() -> None:
    evaluated = {entry.system for entry in published.shipped()}
    public = [s for s in system_library.list_shipped() if s.name not in evaluated]
    years = [s.year for s in public if s.year]
    assert all(2010 <= year <= 2026 for year in years)
    assert len(set(years)) >= 12
    current = [s for s in public if s.kind == "node" and (s.year or 0) >= 2020]
    assert sum(1 for s in current if s.cores and any(f.cases for f in s.figures)) >= 25  # processors
    assert sum(1 for s in current if not s.cores) >= 20  # accelerators


# A link to a repository says which text: a commit, a folder, an issue or a date. A link to a list has its month.
FOUND = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+(/issues/\d|, commits? [0-9a-f]{7}|, folder \w|.*\b20\d\d$)"
    r"|TOP500, (June|November) 20\d\d, https://top500\.org/lists/top500/20\d\d/\d\d/"
    r"|, A64FX product catalogue$"
)


def in_files() -> list[System]:
    return [load_system(path) for path in sorted(system_library.FOLDER.glob("*.toml"))]


def test_every_file_of_the_library_says_where_its_figures_stand() -> None:
    for system in in_files():
        assert system.about, system.name
        assert system.year, system.name
        for part in system.source.split("; "):
            assert FOUND.search(part), (system.name, part)


def test_every_node_of_a_file_has_cores_unless_it_is_a_device() -> None:
    for system in in_files():
        on_devices = all("device" in c.parameters for f in system.figures for c in f.cases)
        assert system.kind != "node" or system.cores or on_devices, system.name


# What one core, a whole node or a device can reach at all; a figure outside has a wrong unit or belongs to another machine.
POSSIBLE = {
    ("memory.stream", "bandwidth"): (0.2e9, 50e9, True),
    ("application.hpl", "speed"): (0.4e9, 120e9, True),
    ("application.hpl", "power"): (0.5, 50.0, True),
    ("memory.latency", "latency"): (50e-9, 400e-9, False),
    ("network.pingpong", "latency"): (0.5e-6, 5e-3, False),
    ("node.vector", "bandwidth"): (0.1e12, 8e12, False),
}
POSSIBLE_BY_UNIT = {
    "B/s": (1e8, 15e12),
    "flop/s": (1e9, 3e18),
    "s": (1e-10, 5e-3),
    "W": (1.0, 4e7),
    "cycle": (50, 2000),
}


def test_every_figure_of_a_file_is_physically_possible() -> None:
    for system in in_files():
        for figure in system.figures:
            low, high = POSSIBLE_BY_UNIT[figure.unit]
            assert low < figure.value < high, (system.name, figure.title)
            for case in figure.cases:
                known = POSSIBLE.get((case.benchmark, case.metric))
                if known is None or case.parameters.get(our_case.HOSTS, 1) != 1:
                    continue
                low, high, by_core = known
                assert low < figure.value / (system.cores or 1 if by_core else 1) < high, (system.name, figure.title)


def test_no_measured_bandwidth_exceeds_the_data_sheet() -> None:
    both = 0
    for system in in_files():
        of = {(c.benchmark, c.metric): f.value * c.share for f in system.figures for c in f.cases}
        sheet = of.get((MACHINE, "memory_bandwidth"))
        streams = [f.value for f in system.figures for c in f.cases if c.benchmark == "memory.stream"]
        both += bool(sheet and streams)
        assert all(value < sheet for value in streams if sheet), system.name
    assert both >= 3


def test_a_planted_case_matches_every_figure_that_has_one() -> None:
    for system, figure, case in figures():
        theirs = make_case(figure, case)
        if case.benchmark == MACHINE:
            assert find_like(theirs, measured()), (system.name, figure.title)
        elif theirs.statistic.startswith(our_case.SPREAD):
            ours = [
                replace(planted(figure, case, BIG), metrics={case.metric: Value(v, "s", None, None, "lower")})
                for v in (1.0, 1.07)
            ]
            pair = [replace(one, parameters={**one.parameters, "partner": n}) for n, one in enumerate(ours)]
            like = find_like(theirs, measured(*pair))
            assert like
            assert like.value.value == pytest.approx(0.07 / 1.035)
        else:
            like = find_like(theirs, measured(planted(figure, case, BIG, 2.0)))
            metric = next(iter(theirs.metrics))
            assert like, (system.name, figure.title)
            assert like.value.value == pytest.approx(2.0 * theirs.metrics[metric].value)


def test_no_figure_is_matched_if_one_of_its_conditions_differs() -> None:
    for system, figure, case in figures():
        if case.benchmark == MACHINE or case.statistic.startswith(our_case.SPREAD):
            continue
        theirs, ours = make_case(figure, case), planted(figure, case, BIG)
        others: list[SideCase] = [replace(ours, kernel="another"), replace(ours, benchmark="another")]
        for name, value in case.parameters.items():
            if name in (our_case.HOSTS, our_case.BETWEEN):
                others.append(replace(ours, hosts=ours.hosts + 1 if name == our_case.HOSTS else 1))
            else:
                key = "toolchain" if name == our_case.COMPILER else name
                given = ours.parameters[key]
                changed: Scalar = f"other {given}" if isinstance(given, str) else given + 1
                if key != our_case.RACK_UNITS and (key, value) != ("transport", "tcp"):
                    others.append(replace(ours, parameters={**ours.parameters, key: changed}))
        for other in others:
            assert find_like(theirs, measured(other)) is None, (system.name, figure.title, other.parameters)


def test_every_case_names_a_benchmark_a_kernel_a_metric_and_parameters_that_exist() -> None:
    benchmarks, values = catalogue.find(), {}
    for system, figure, case in figures():
        where = (system.name, figure.title, case.benchmark)
        if case.benchmark == MACHINE:
            sheet = [s for s in list_data_sheet(BIG) if s.parameters == case.parameters]
            assert [case.metric in s.metrics for s in sheet] == [True], where
            continue
        if case.benchmark.startswith("application.") and case.benchmark not in benchmarks:
            folders = (ROOT / "examples" / "applications", ROOT / "src" / "steelyard" / "applications" / "foreign")
            described = [text for f in folders if (text := f / f"{case.kernel}.toml").is_file()]
            assert len(described) == 1, where
            names = [
                *re.findall(r'^name = "(\w+)"', described[0].read_text(), re.M),
                "time",
                *(m.name for m in METRICS),
            ]
            assert case.metric in names, where
            continue
        benchmark = benchmarks[case.benchmark]
        offered = values.setdefault(case.benchmark, parameter_values(benchmark, BIG, EFFORTS["full"]))
        metrics = {m.name: m.unit for m in (*benchmark.metrics, *METRICS)}
        assert case.kernel in offered["kernel"], where
        assert metrics[case.metric] == figure.unit or case.statistic.startswith(our_case.SPREAD), where
        for name, value in case.parameters.items():
            if name == "placement" and case.benchmark == "memory.placement":
                assert value in TITLES.values(), where
            elif name not in (*our_case.CONDITIONS, our_case.RACK_UNITS):
                assert name in offered or name in USUAL, (*where, name)
                if isinstance(value, str) and value not in (our_case.ALL, "tcp", "GPU", "local"):
                    assert value in offered.get(name, (value,)), (*where, name, value)


def test_the_corners_of_apexmap_are_those_of_the_benchmark() -> None:
    corners = {(c.parameters["L"], c.parameters["alpha"]) for _, _, c in figures() if c.benchmark == "memory.apexmap"}
    assert corners == set(CORNERS.values())


# --------------------------------------------------------------------------- like with like


def lines(results: list[Result], system: str, where: Machine | None = None) -> list[published_figures.Line]:
    return list(published_figures.compare(evaluation(results, where or machine()), system).lines)


PLAIN = ("class ", "each ", "compiler ", "from ", "node ", "of ", "topology ")  # keys that are words


def test_the_keys_of_published_numbers_have_words() -> None:
    for entry in published.shipped():
        assert entry.benchmark in wording.TOPICS
        assert entry.metric in wording.TITLES
        raw = {f"{name.replace('_', ' ')} {value}" for name, value in entry.parameters.items()}
        words = set(wording.describe_conditions(entry).split(", "))
        assert all(same.startswith(PLAIN) for same in raw & words), entry
    (peak,) = [line for line in lines([], "Mont-Blanc node") if line.printed == "6.8 Gflop/s"]
    assert (peak.benchmark, peak.metric, peak.conditions) == ("data sheet", "peak speed in double precision", "CPU")


def test_the_peak_of_a_system_with_gpus_stands_beside_no_machine() -> None:
    where = machine(limits={"flops": Limit(1e12, "flop/s", "given")})
    peaks = [line for line in lines([], "Mont-Blanc system", where) if line.benchmark == "data sheet"]
    total = next(line for line in peaks if line.printed == "30.3 Tflop/s")
    assert (total.ours, "GPU" in total.reason) == (None, True)
    processors = next(line for line in peaks if line.printed == "7.34 Tflop/s")
    assert processors.published == pytest.approx(6.8e9, rel=0.001)  # one of 1,080 nodes
    assert processors.ours
    assert processors.ours.value == 1e12
    assert processors.remark == "one of 1080 nodes"


def test_the_peak_of_a_socket_stands_beside_a_socket() -> None:
    where = machine(nodes=2, cores=8, limits={"flops": Limit(1e12, "flop/s", "given")})
    (line,) = lines([], "AMD Barcelona", where)
    assert line.ours
    assert line.ours.value == 5e11
    assert line.ratio == pytest.approx(5e11 / 32e9)


def corner(cycles: float, toolchain: str) -> Result:
    value = Value(cycles, "cycle", None, None, "lower")
    return replace(gather(1e-7, toolchain=toolchain), metrics={"cost": value})


def test_each_compiler_stands_beside_the_same_compiler_only() -> None:
    def ours(*results: Result) -> dict[str, float]:
        chosen = [x for x in lines(list(results), "8350") if x.ours and x.conditions.startswith("worst locality (G)")]
        return {x.conditions.split(", ")[1]: x.ours.value for x in chosen if x.ours and "one socket" in x.conditions}

    assert ours(corner(500.0, "clang-14.0.6")) == {}
    assert ours(corner(500.0, "clang-14.0.6"), corner(400.0, "gcc-12.2.0")) == {"compiler gcc": 400.0}
    assert ours(corner(400.0, "gcc-12.2.0"), corner(300.0, "icc-2021.1")) == {
        "compiler gcc": 400.0,
        "compiler icc": 300.0,
    }


def test_a_latency_between_nodes_never_stands_beside_shared_memory() -> None:
    alone = [message(1e-6, n) for n in (0, 1024)]
    assert not any(x.ours for x in lines(alone, "Mont-Blanc system") if x.benchmark == "ping-pong")
    pair = {"hosts": ("a", "b"), "placement": "other node"}
    across = [message(5e-5, 0, **pair), message(1e-3, 100_000, **pair)]
    found = {x.printed: x for x in lines(across, "Mont-Blanc system") if x.benchmark == "ping-pong" and x.ours}
    assert set(found) == {"156 us", "88 us", "80 MB/s", "100 MB/s"}
    assert {name: x.remark for name, x in found.items()} == {
        **dict.fromkeys(("156 us", "80 MB/s"), "over the transport that the MPI chose"),
        **dict.fromkeys(
            ("88 us", "100 MB/s"), "over the driver that this run used, over the transport that the MPI chose"
        ),
    }
    variant = message(4e-5, 0, variant="Open-MX", **pair)
    with_variant = {x.printed: x.ours.value for x in lines([*across, variant], "Mont-Blanc system") if x.ours}
    assert (with_variant["65 us"], with_variant["88 us"]) == (4e-5, 5e-5)
    named = lines([*across, message(9e-5, 0, transport="tcp", **pair)], "x86-64 server")
    assert {x.printed: x.ours.value for x in named if x.ours}["46.5 us"] == 5e-5


@pytest.mark.parametrize("name", ["vendor driver, patched", "vendor driver + patched kernel", "Patched vendor driver"])
def test_a_published_driver_stands_beside_the_variant_of_that_name(name: str) -> None:
    pair = {"hosts": ("a", "b"), "placement": "other node"}
    usual, vendor, patched = (
        [message(seconds, 0, **v, **pair), message(10 * seconds, 100_000, **v, **pair)]
        for seconds, v in ((2e-4, {}), (9e-5, {"variant": "vendor driver"}), (1e-4, {"variant": name}))
    )
    found = {x.printed: x for x in lines([*usual, *vendor, *patched], "Mont-Blanc system") if x.ours}
    assert found["88 us"].ours == vendor[0].metrics["latency"]
    assert found["100 MB/s"].ours == patched[1].metrics["bandwidth"]
    assert found["156 us"].ours == usual[0].metrics["latency"]


def test_peaks_of_both_precisions_stand_beside_measured_ones() -> None:
    def peak(precision: str, flops: float) -> Result:
        metrics = {"flops": Value(flops, "flop/s", None, None, "higher")}
        parameters = {"precision": precision, "threads": 4, "operation": "fma"}
        return result("core.peak", "peak", parameters, 1e-3, {"flops": 1.0}, metrics=metrics)

    found = lines([peak("single", 27.3e9), peak("double", 6.78e9)], "Mont-Blanc node")
    assert {x.printed: x.ours.value for x in found if x.ours} == {"27.2 Gflop/s": 27.3e9, "6.8 Gflop/s": 6.78e9}
    assert {x.remark for x in found if x.ours} == {"this run measured it, and the other figure is of a data sheet"}
    assert not any("precision" in x.reason for x in found)


def test_a_whole_cluster_stands_beside_both_cores_of_the_core_2_duo() -> None:
    def task(ranks: int) -> Result:
        metrics = {"flops": Value(150e6 * ranks, "flop/s", None, None, "higher")}
        hosts = tuple(f"node{n}" for n in range(ranks))
        one = message(1e-3, benchmark="cluster.flops", kernel="task", ranks=ranks, hosts=hosts)
        return replace(one, metrics=metrics)

    found = {x.printed: x for x in lines([task(n) for n in (1, 2, 8)], "Core 2 Duo E4600")}
    assert {name: x.ours and x.ours.value for name, x in found.items()} == {
        "578 Mflop/s": 150e6,
        "1118 Mflop/s": 1200e6,
    }
    assert found["1118 Mflop/s"].remark == "all ranks of this run beside the whole processor"


def test_the_best_of_ten_stands_beside_the_best_of_ten() -> None:
    one = triad(30e9, threads=4)
    both = replace(one, metrics={**one.metrics, "best_of_10": Value(33e9, "B/s", None, None, "higher")})
    whole = "PowerEdge R730xd 2x E5-2697 v3"
    assert [(x.ours.value, x.remark) for x in lines([both], whole) if x.ours] == [(33e9, "")]
    medians = [(x.ours.value, x.remark) for x in lines([one], whole) if x.ours]
    assert medians == [(30e9, "the median of this run beside the best of 10")]


def test_one_machine_under_two_host_names_is_no_network() -> None:
    results = [message(5e-5, 0, hosts=("a", "b"), placement="other node", colocated=True)]
    assert not any(x.ours for x in lines(results, "x86-64 server"))


def test_numbers_stand_as_they_were_printed() -> None:
    assert [x.printed for x in lines([], "x86-64 server with 1 GbE")] == ["46.5 us", "112.5 MB/s"]
    assert [x.printed for x in lines([], "HA8000")][:3] == ["64 KiB", "512 KiB", "2 MiB"]


def test_the_caches_of_the_ha8000_stand_beside_those_of_the_machine() -> None:
    ours = [x.ours.value for x in lines([], "HA8000") if x.ours]
    assert ours == [32 << 10, 1 << 20, 8 << 20]
    # Two of the four caches belong to the first socket.
    where = machine(nodes=4, cores=8)
    split = replace(where, cores=tuple(replace(c, socket=c.node // 2) for c in where.cores))
    assert [x.ours.value for x in lines([], "HA8000", split) if x.ours][-1] == 16 << 20


# --------------------------------------------------------------------------- figures


def test_systems_of_the_library_are_drawn_beside_the_measured_lines() -> None:
    own = (Series("ours", (8.0, 4096.0), (1e-6, 2e-6)),)
    drawn = {s.name: s for s in draw_printed("network.pingpong", "pingpong", "latency", "message_bytes", own)}
    assert all(series.published for series in drawn.values())
    tcp = drawn["AWS c5n.18xlarge (tcp transport)"]
    assert (tcp.x, tcp.y) == ((1024.0, 1048576.0, 4194304.0), (pytest.approx(57.8e-6), 620e-6, 2820e-6))
    # A source without a size: a level line as wide as ours.
    level = [s for name, s in drawn.items() if name.startswith("Mont-Blanc system (")]
    assert [s.x for s in level] == [(8.0, 4096.0)] * 3
    assert [s.y[0] for s in level] == pytest.approx([156e-6, 88e-6, 65e-6])
    peaks = draw_printed(MACHINE, our_case.DATA_SHEET, "flops", "threads", (Series("ours", (1.0, 2.0), (1.0, 2.0)),))
    assert not any(s.name.startswith("AMD Barcelona") for s in peaks), "it is a socket"
    assert draw_printed("memory.stream", "triad", "bandwidth", "threads", ()) == ()
    by_ranks = draw_printed("cluster.flops", "task", "flops", "ranks", (Series("ours", (1.0,), (1.0,)),), levels=False)
    assert [(s.name, s.x, s.y) for s in by_ranks] == [("Core 2 Duo E4600", (1.0, 2.0), (578e6, 1118e6))]
    corner = {"L": 1, "alpha": 1.0, "memory_policy": "interleave"}
    costs = draw_printed("memory.apexmap", "gather", "cost", "threads", (Series("ours", (1,), (1.0,)),), where=corner)
    assert (costs[0].name, costs[0].x) == ("4x AMD 8350 Barcelona (gcc compiler, interleaved memory)", (1.0, 16.0))
    assert (costs[0].y, costs[0].connected) == ((408.0, 31.0), True)
    places = (Series("ours", ("full system", "local socket"), (1.0, 2.0)),)
    limits = draw_printed("memory.placement", "triad", "bandwidth", "placement", places, limits=True)
    assert [(s.name, s.x[:2], s.y[:2], s.connected) for s in limits] == [
        ("PowerEdge R730xd 2x E5-2697 v3 (limit)", ("full system", "local socket"), (136e9, 68e9), False)
    ]
    shown = published_lines.systems((*own, *drawn.values()))
    assert {"AWS c5n.18xlarge", "Eiger", "Mont-Blanc system"} <= {system.name for system in shown}
    assert all(system.source for system in shown)


# --------------------------------------------------------------------------- files of users


SOUND = """
name = "Ours"
kind = "node"
year = 2020
source = "acceptance test"

[[figures]]
title = "Triad"
value = 85.2
unit = "GB/s"
benchmark = "memory.stream"
kernel = "triad"
metric = "bandwidth"
parameters = {threads = "all"}

[[figures]]
title = "peak"
value = 2
unit = "Tflop/s"
nodes = 4
benchmark = "machine"
kernel = "data sheet"
metric = "flops"
parameters = {unit = "node"}

[[figures]]
title = "HPCG"
value = 1.5
unit = "Tflop/s"
reason = "Nothing measures HPCG."
"""


def written(folder: Path, text: str = SOUND) -> Path:
    path = folder / "ours.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_a_user_is_a_side(tmp_path: Path) -> None:
    side = find_side(str(written(tmp_path)))
    assert side
    assert (side.name, side.kind) == ("Ours", "published")
    assert [(c.benchmark, *(v.value for v in c.metrics.values())) for c in side.runs[0].cases] == [
        ("memory.stream", 85.2e9), ("machine", 0.5e12),
    ]  # fmt: skip
    assert side.runs[0].cases[1].note == "one of 4 nodes"
    assert any("1 of 3" in note for note in side.runs[0].notes)


def test_the_folder_of_a_user_adds_systems_and_replaces_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "steelyard" / "systems"
    folder.mkdir(parents=True)
    written(folder)
    (folder / "fugaku.toml").write_text(SOUND.replace('"Ours"', '"Fugaku"'))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert {"Ours", "Fugaku", "Summit"} <= set(system_library.system_names())
    fugaku = system_library.find_system("fugaku")
    assert fugaku
    assert fugaku.source == "acceptance test"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('kind = "node"', 'kind = "blade"', "line 3, key 'kind': 'blade' is unknown"),
        ('name = "Ours"', "", "the key 'name' is missing"),
        ('name = "Ours"', 'name = " "', "is no text"),
        ("year = 2020", "year = 20200", "'20200' is no year"),
        ("year = 2020", "cores = 0", "'0' is no number of cores"),
        ("year = 2020", "cores = '64'", "'64' is no number of cores"),
        ('kind = "node"', 'kind = ["node"]', "is unknown. Write 'node'"),
        ("value = 85.2", "value = 0", "'0' is not possible"),
        ("value = 85.2", "value = inf", "'inf' is not possible"),
        ('"GB/s"', '"furlong"', "'furlong' is unknown. Write one of"),
        ('title = "Triad"', 'titel = "Triad"', "Did you mean 'title'?"),
        ('metric = "bandwidth"', "", "the key 'metric' is missing"),
        ('reason = "Nothing measures HPCG."', "", "the key 'benchmark' is missing"),
        ('reason = "Nothing measures HPCG."', 'reason = "x"\nbenchmark = "y"', "either a reason or a benchmark"),
        ("nodes = 4", "nodes = 0", "'0' is not possible. Write the number of nodes"),
        ('{threads = "all"}', "{threads = []}", "no table of values"),
        ("[[figures]]", "[[figure]]", "this key is unknown"),
        ('source = "acceptance test"', "source = 5", "'5' is no text"),
        ('name = "Ours"', "name = ", "is not a valid TOML file"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named(old: str, new: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=".") as raised:
        load_system(written(tmp_path, SOUND.replace(old, new)))
    assert part in str(raised.value)
    assert "ours.toml" in str(raised.value)


def test_an_unknown_benchmark_of_a_file_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND.replace("memory.stream", "memory.strem"))
    with pytest.raises(UsageError, match=r"'memory.strem' is unknown. Did you mean 'memory.stream'\?"):
        find_side(str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        find_side(str(tmp_path / "nowhere.toml"))


def test_damaged_files_are_read_or_refused_in_words(tmp_path: Path) -> None:
    known, refused = texts.list_own(), 0
    for seed in range(200):
        draw = random.Random(seed)
        text = list(SOUND)
        for _ in range(draw.randint(1, 4)):
            text[draw.randrange(len(text))] = draw.choice("\"'[]{}=\n0x.-é\x00")
        path = written(tmp_path, "".join(text))
        try:
            system = load_system(path)
            expect_known(system, known)
        except UsageError as error:
            refused += 1
            assert "ours.toml" in str(error)
            continue
        for case in make_side(system).runs[0].cases:
            find_like(case, measured())
    assert 50 < refused < 200


# --------------------------------------------------------------------------- the nearest systems


def test_the_system_with_the_same_figures_is_the_nearest() -> None:
    # Two systems of the same figures cannot be told apart, so each must be among the first.
    for system in system_library.list_shipped():
        cases = [(f, c) for f in system.figures for c in f.cases if not c.statistic.startswith(our_case.SPREAD)]
        own = [planted(f, c, BIG) for f, c in cases if c.benchmark != MACHINE]
        if len({(c.benchmark, c.kernel, *c.metrics) for c in own}) < 2:
            continue
        bare = replace(BIG, limits={}, caches=())
        near = find_nearest(measured(*own, where=bare))
        assert near[0].name == system.name, system.name


def test_the_reason_for_a_near_system_is_its_first_note() -> None:
    like = system_library.find_system("2x Xeon E5-2670")
    assert like
    run = measured(*(planted(f, f.cases[0], BIG, 1.1) for f in like.figures), where=replace(BIG, limits={}, caches=()))
    near = find_nearest(run, 2)
    assert len(near) == 2
    assert near[0].name == "2x Xeon E5-2670"
    assert (
        near[0]
        .runs[0]
        .notes[0]
        .startswith(
            "Chosen because it is near: 4 kinds of figures are on both sides, and they typically differ by a factor of 1.10."
        )
    )
    assert find_nearest(measured(where=replace(BIG, limits={}, caches=()))) == []


def test_a_single_common_figure_by_chance_is_not_the_nearest() -> None:
    like = system_library.find_system("2x Xeon E5-2670")
    assert like
    # Triad as on the multicore node of Piz Daint, which has no further figure in common with this run.
    other = system_library.find_system("Piz Daint, multicore node")
    assert other
    cases = [planted(f, f.cases[0], BIG, 1.3) for f in like.figures if f.title != "STREAM Triad"]
    lone = planted(other.figures[0], other.figures[0].cases[0], BIG)
    names = [side.name for side in find_nearest(measured(*cases, lone, where=replace(BIG, limits={}, caches=())), 100)]
    assert names[0] != other.name
    assert names.index("2x Xeon E5-2670") < names.index(other.name)


# --------------------------------------------------------------------------- the command


def test_the_command_lists_the_systems_and_the_figures_of_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    cli.run_words(["systems", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows} >= {"Fugaku", "HA8000", "Celeron educational cluster"}
    assert all(row["comparable"] <= row["figures"] for row in rows)
    cli.run_words(["systems", "fugaku"])
    text = capsys.readouterr().out
    assert "442,010 Tflop/s" in text
    assert "application.hpl hpl speed (158976 hosts)" in " ".join(text.split())
    cli.run_words(["systems", str(written(tmp_path)), "--json"])
    assert json.loads(capsys.readouterr().out)["name"] == "Ours"
    with pytest.raises(UsageError, match="There is no system 'Fugako'. Did you mean 'Fugaku'"):
        cli.run_words(["systems", "Fugako"])


def test_a_run_is_compared_with_a_file(tmp_path: Path) -> None:
    beside = published_figures.compare(evaluation([triad(42.6e9, threads=4)]), str(written(tmp_path)))
    assert beside.system == "Ours"
    assert next(x.ratio for x in beside.lines if x.printed == "85.2 GB/s") == pytest.approx(0.5)


# --------------------------------------------------------------------------- runs that could exist


def planned(where: Machine, benchmarks: Collection[str]) -> list[SideCase]:
    """All cases that a full run of these benchmarks has there, each with the value 1 of every metric."""
    known = catalogue.find()
    made = make(
        {name: known[name] for name in benchmarks},
        where,
        EFFORTS["full"],
        {},
        ["gcc-12.2.0", "icc-2021.1"],
        mpis=["openmpi-4.1.4"],
    )
    cases: list[SideCase] = []
    slots = min((host.slots for host in where.hosts), default=0)
    for launch in made.launches:
        values = {
            m.name: Value(1.0, m.unit, None, None, "higher", scope=("node",))
            for m in (*known[launch.benchmark].metrics, *METRICS)
        }
        for case in launch.cases if launch.repetition == 1 else ():
            given = {**case.parameters, "toolchain": launch.toolchain}
            each = int(given.get("ranks_per_node", slots)) or int(given.get("ranks", 1))
            hosts = 2 if given.get("placement") == "other node" else -(-int(given.get("ranks", 1)) // each)
            cases.append(
                SideCase(
                    benchmark=launch.benchmark, kernel=case.kernel, parameters=given, kind="compute", metrics=values,
                    level="CLEAN", hosts=hosts,
                )
            )  # fmt: skip
    return cases


def test_every_figure_is_matched_by_a_case_of_a_full_run() -> None:
    """On a node of two sockets with a GPU, or on a cluster of eight such nodes with one rank each, or of two cores."""
    node = replace(BIG, hosts=())
    cluster = replace(BIG, hosts=tuple(Host(f"n{i}", 1) for i in range(8)))
    laptop = machine(cores=2)
    # Programs need --app, variants need --variant, and the names of placements need an evaluated run: see the other tests.
    wanted = [
        (system, figure, case)
        for system, figure, case in figures()
        if case.benchmark not in (MACHINE, "memory.placement")
        and not case.benchmark.startswith("application.")
        and "variant" not in case.parameters
    ]
    apart = {c.benchmark for _, _, c in wanted if c.benchmark.startswith(("network.", "cluster."))}
    alone = {c.benchmark for _, _, c in wanted} - apart
    runs = [
        measured(*planned(node, alone), where=node),
        measured(*planned(cluster, apart), where=cluster),
        measured(*planned(laptop, ["cluster.flops"]), where=laptop),
    ]
    for system, figure, case in wanted:
        assert any(find_like(make_case(figure, case), run) for run in runs), (
            system.name,
            figure.title,
            case.parameters,
        )
