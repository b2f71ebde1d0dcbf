"""Full nodes beside full nodes, from systems whose ratio for a node and for a core is planted."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.compare import equal_time
from steelyard.compare.compared_sides import NodeSeries, SidesComparison, WholeCell
from steelyard.compare.full_nodes import find_series
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.compare.side_view import make_view
from steelyard.compare.sides import compare_sides
from steelyard.importing.values import make
from steelyard.importing.write_runs import describe_machine, write_run
from steelyard.judge.evaluation import evaluate
from steelyard.model import ForeignValue, Imported
from steelyard.model.units import quantity
from steelyard.show.command_line import cli
from steelyard.show.report import equal_time_rows
from steelyard.show.report.full_node_tables import list_full_nodes

NODES = (1, 2, 4, 8)


def program(per_node: int, nodes: int, seconds: float, repetition: int = 0, **further: Any) -> list[ForeignValue]:
    """The values of a program that used all cores of so many nodes: its time, and its rate."""
    case = {"ranks": per_node * nodes, "nodes": nodes, **further}
    time = make("snap.run", "snap", "time", seconds, "s", "one run", case)
    rate = make("snap.run", "snap", "rate", 1e6 / seconds, "GB/s", "one run", case)
    return [replace(value, tool="SNAP", repetition=repetition) for value in (time, rate)]


def side(folder: Path, name: str, values: Sequence[ForeignValue]) -> Side:
    imported = Imported(tools={"SNAP": 1}, values=tuple(values))
    path = write_run(folder / "runs", name, describe_machine(name), "", imported)
    return Side(name=name, kind="imported", runs=(reduce_run(evaluate(path)),))


def read_series(comparison: SidesComparison, metric: str = "time") -> NodeSeries:
    return next(series for series in comparison.full_nodes if series.metric == metric)


def read_cells(comparison: SidesComparison, name: str, metric: str = "time") -> Mapping[int | None, WholeCell]:
    """The cells of a side by the number of nodes."""
    letter = next(title.letter for title in comparison.sides if title.name == name)
    rows = read_series(comparison, metric).rows
    return {row.nodes: cell for row in rows for cell in row.cells if cell.letter == letter}


@pytest.mark.parametrize("seed", range(12))
def test_ratios_for_a_node_and_a_core_are_the_planted_ones(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    planted: dict[str, tuple[int, float]] = {}
    sides = []
    for name, cores in zip("xyz", random.choice((24, 28, 32, 36, 64, 128), 3, replace=False).tolist(), strict=True):
        factor = float(np.exp(random.uniform(np.log(0.05), np.log(20))))
        planted[name] = cores, factor
        values = [v for nodes in NODES for v in program(cores, nodes, 1000 * factor / nodes**0.9)]
        values += program(cores // 2, 1, 1000 * factor * 0.5, file="half")  # a half of a node is no full one
        sides.append(side(tmp_path, name, [values[at] for at in random.permutation(len(values))]))
    for ordered in (sides, sides[::-1]):
        compared = compare_sides(ordered)
        cores, factor = planted[ordered[0].name]
        for name in (one.name for one in ordered[1:]):
            ratio, share = planted[name][1] / factor, planted[name][0] / cores
            for metric in ("time", "rate"):
                cells = read_cells(compared, name, metric)
                assert [cells[nodes].ratio for nodes in NODES] == pytest.approx([ratio] * 4)
                assert [cells[nodes].per_core for nodes in NODES] == pytest.approx([ratio * share] * 4)
                assert {cell.cores for nodes, cell in cells.items() if nodes} == {planted[name][0] * n for n in NODES}
                assert {(cell.low, cell.high, cell.call) for cell in cells.values()} == {(None, None, "NOT JUDGED")}


def test_a_half_of_a_node_is_named_and_not_compared_as_a_whole(tmp_path: Path) -> None:
    a = side(tmp_path, "a", [*program(24, 1, 100), *program(24, 2, 50)])
    b = side(tmp_path, "b", [*program(14, 1, 60), *program(28, 2, 40)])
    compared = compare_sides([a, b])
    cells = read_cells(compared, "b")
    assert 1 not in cells
    assert cells[2].per_core == pytest.approx(40 / 50 * 28 / 24)
    assert read_series(compared).partial == {"b": (1,)}
    assert None not in cells, "the best configuration of both is that on 2 nodes"
    lines = " ".join(line.plain for line in list_full_nodes(compared, 80, None))
    assert "not used with all cores, and are left out: 1 of b." in lines


def test_sides_without_a_common_number_of_nodes_have_their_best_configurations(tmp_path: Path) -> None:
    a = side(tmp_path, "a", [*program(24, 1, 100), *program(24, 2, 60)])
    b = side(tmp_path, "b", [*program(36, 4, 15), *program(36, 8, 20)])
    cells = read_cells(compare_sides([a, b]), "b")
    assert {nodes: cell.ratio for nodes, cell in cells.items()} == {4: None, 8: None, None: 0.25}
    assert cells[None].nodes == 4
    assert cells[None].per_core == pytest.approx(0.25 * 4 * 36 / (2 * 24))


def test_cases_that_are_alike_hide_no_full_node(tmp_path: Path) -> None:
    a = side(tmp_path, "a", [*program(24, 1, 100), *program(24, 2, 60)])
    b = side(tmp_path, "b", [*program(36, 1, 50), *program(24, 1, 80, file="part"), *program(24, 1, 80)])
    compared = compare_sides([a, b])
    assert read_cells(compared, "b")[1].ratio == 0.5
    assert [total.ratio for total in compared.others[0].benchmarks] == [pytest.approx(0.8)], "24 ranks on both sides"


def test_hosts_are_repetitions_of_a_node_and_five_on_both_sides_allow_a_call(tmp_path: Path) -> None:
    sides = {}
    for name, cores, middle in (("a", 24, 100.0), ("b", 28, 50.0)):
        values = [v for n in range(6) for v in program(cores, 1, middle + n, host=f"n{n}")]
        sides[name] = side(tmp_path, name, values)
    cell = read_cells(compare_sides([sides["a"], sides["b"]]), "b")[1]
    assert cell.ratio == pytest.approx(52.5 / 102.5)
    assert cell.call == "FASTER"
    assert cell.low
    assert cell.high
    assert cell.low < cell.ratio < cell.high


@pytest.mark.parametrize(("stated", "cores"), [({"cores": 24}, 24), ({}, 48)])
def test_a_core_with_two_threads_is_one_core_if_the_file_states_the_cores(
    tmp_path: Path, stated: dict[str, int], cores: int
) -> None:
    a = side(tmp_path, "a", [*program(24, 1, 100, threads=2, **stated), *program(24, 1, 120, threads=1, **stated)])
    b = side(tmp_path, "b", program(24, 1, 100, threads=1))
    cells = read_cells(compare_sides([b, a]), "a")
    assert [row.other.ranks for row in equal_time.compare_sides([b, a]).rows] == pytest.approx([cores])
    assert cells[1].cores == cores
    assert cells[1].ratio == 1


def test_threads_of_a_core_are_no_cores(tmp_path: Path) -> None:
    one = [value for n in (1, 2) for value in program(64, n, 90 / n, threads=4, threads_per_core=4)]
    b = side(tmp_path, "b", [*one, *program(64, 1, 100, threads=1, threads_per_core=1)])
    cells = read_cells(compare_sides([side(tmp_path, "a", program(32, 1, 90)), b]), "b")
    assert (cells[1].cores, cells[1].ratio, cells[1].per_core) == (64, 1.0, 2.0)


@pytest.mark.parametrize(("cores", "expected"), [({1: 24, 4: 24}, 24), ({1: 24, 4: 96}, 24), ({1: 4, 4: 4}, 24)])
def test_names_state_the_cores_of_a_node_or_of_all_nodes(tmp_path: Path, cores: dict[int, int], expected: int) -> None:
    """24 ranks on a node are no 4 cores: such a number in a name has another meaning."""
    a = side(tmp_path, "a", [v for n, given in cores.items() for v in program(24, n, 100 / n, cores=given)])
    cells = read_cells(compare_sides([a, side(tmp_path, "b", program(28, 4, 20))]), "a")
    assert [cell.cores for nodes, cell in cells.items() if nodes] == [expected, 4 * expected]


def test_a_bound_process_that_sees_one_core_is_on_a_larger_node(tmp_path: Path) -> None:
    a, b = (side(tmp_path, name, program(56, 56, 100, cores=56)) for name in "ab")
    assert read_cells(compare_sides([a, b]), "b")[56].cores == 56 * 56


def test_the_host_of_one_of_many_ranks_does_not_make_them_one_node(tmp_path: Path) -> None:
    made = [make("of.run", "of", "time", 100, "s", "one run", {"ranks": 64 * n, "host": f"n{n}"}) for n in (1, 32)]
    a, b = (side(tmp_path, name, [replace(value, tool="SNAP") for value in made]) for name in "ab")
    assert {row.nodes for row in read_series(compare_sides([a, b])).rows} == {None}


def test_simulated_times_of_different_systems_are_different_questions(tmp_path: Path) -> None:
    def simulate(name: str, speeds: Mapping[int, float]) -> Side:
        case = {"ranks": 24, "nodes": 1}
        made = [make("md.run", "md", "speed", v, "ns/day", "one run", {**case, "atoms": n}) for n, v in speeds.items()]
        return side(tmp_path, name, [replace(value, tool="SNAP") for value in made])

    comparison = compare_sides([simulate("a", {1000: 90, 9000: 10}), simulate("b", {9000: 20})])
    assert read_cells(comparison, "b", "speed")[1].ratio == pytest.approx(0.5)


def test_the_length_of_a_run_is_no_part_of_its_pace(tmp_path: Path) -> None:
    case = {"ranks": 24, "nodes": 1, "atoms": 9000}
    a, b = (
        side(tmp_path, name, [replace(make("md.run", "md", "speed", v, "ns/day", "one run", {**case, "steps": n}), tool="SNAP")])
        for name, v, n in (("a", 10, 1000), ("b", 20, 10000))
    )  # fmt: skip
    assert read_cells(compare_sides([a, b]), "b", "speed")[1].ratio == pytest.approx(0.5)


def test_a_node_with_devices_has_no_ratio_for_a_core(tmp_path: Path) -> None:
    a, b = (side(tmp_path, name, program(24, 1, 100, **of)) for name, of in (("a", {}), ("b", {"gpus": 4})))
    cell = read_cells(compare_sides([a, b]), "b")[1]
    assert (cell.ratio, cell.cores, cell.per_core) == (1.0, None, None)


@pytest.mark.parametrize(
    ("further", "nodes", "partial"),
    [
        ({}, None, ()),
        ({"threads": 1}, 1, (1,)),
        ({"nodes": 16}, 16, (16,)),
        ({"ranks_per_node": 1, "threads": 32}, 16, ()),
    ],
)
def test_few_ranks_without_nodes_and_threads_are_on_no_known_nodes(
    tmp_path: Path, further: dict[str, int], nodes: int | None, partial: tuple[int, ...]
) -> None:
    """16 ranks of HPL, one on each of 16 nodes with 32 cores, printed neither their nodes nor their threads."""
    made = make("application.hpl", "hpl", "speed", 16.1e12, "flop/s", "one run", {"ranks": 16, "N": 419_328, **further})
    one = side(tmp_path, "a", [*program(32, 1, 100), replace(made, tool="HPL")])
    series = next(s for question, s in find_series(make_view(one)).items() if question[0] == "application.hpl")
    assert (series.best.nodes, series.best.cores) == (nodes, 32 * nodes if nodes else None)
    assert (tuple(series.full), series.partial) == (() if partial or not nodes else (nodes,), partial)


@pytest.mark.parametrize(("rate", "unit"), [(0.05, "ns/day"), (25.6, "Gupdate/s"), (1.0, "B/s")])
@pytest.mark.parametrize("nodes", [1, 64, 4096])
def test_a_blank_stands_between_cores_and_value(tmp_path: Path, rate: float, unit: str, nodes: int) -> None:
    sides = []
    for name, cores in (("a", 24), ("b", 36)):
        case = {"ranks": cores * nodes, "nodes": nodes}
        values = [make("md.run", "md", "rate", rate, "B/s", "one run", case)]
        sides.append(side(tmp_path, name, [replace(value, tool="MD", unit=unit) for value in values]))
    shown = [line.plain.split() for line in list_full_nodes(compare_sides(sides), 80, None)]
    value = quantity(rate, unit).split()
    for cores in (24 * nodes, 36 * nodes):
        assert any([f"{cores:,}", *value] == words[at : at + 3] for words in shown for at in (1, 2))
    assert all(len(line) <= 80 for line in list_full_nodes(compare_sides(sides), 80, None))


@pytest.mark.parametrize("room", [0, 6, 12, 30])
def test_the_table_keeps_within_its_room(tmp_path: Path, room: int) -> None:
    sides = [
        side(tmp_path, name, [v for nodes in NODES for v in program(cores, nodes, 100 / nodes)])
        for name, cores in (("a", 24), ("b", 28), ("c", 36))
    ]
    lines = list_full_nodes(compare_sides(sides), 80, room)
    assert len(lines) <= room
    assert all(len(line) <= 80 for line in lines)
    assert any("more row" in line.plain for line in lines) == (room == 12)


def test_a_latency_has_no_ratio_for_a_core(tmp_path: Path) -> None:
    values = [make("lmbench.lat_ctx", "lat_ctx", "latency", us, "us", "one run", {"threads": 4}) for us in (1.0, 3.0)]
    sides = [side(tmp_path, name, [replace(value, tool="lmbench")]) for name, value in zip("ab", values, strict=True)]
    cell = read_cells(compare_sides(sides), "b", "latency")[1]
    assert (cell.ratio, cell.per_core) == (pytest.approx(3.0), None)


@pytest.mark.parametrize("repetitions", [1, 4, 5])
def test_only_repeated_values_have_an_interval_at_equal_time(tmp_path: Path, repetitions: int) -> None:
    def repeated(per_node: int, nodes: int, seconds: float, compiler: str) -> list[ForeignValue]:
        every = range(repetitions)
        return [v for n in every for v in program(per_node, nodes, seconds * (1 + n / 100), n, compiler=compiler)]

    a = side(tmp_path, "a", repeated(24, 4, 100, "gcc-9"))
    b = side(
        tmp_path,
        "b",
        [*repeated(28, 1, 200, "icc-19"), *repeated(28, 2, 100, "icc-19"), *repeated(28, 4, 50, "icc-19")],
    )
    (row,) = equal_time.compare_sides([a, b]).rows
    assert (row.unit, row.program, row.counts.value) == ("nodes", "snap", pytest.approx(0.5))
    text = equal_time_rows.sentence(row)
    known = [end is not None for end in (row.reached.low, row.counts.low, row.counts.high, row.time.low)]
    assert (all(known), any(known)) == (repetitions == 5, repetitions == 5)
    assert (re.search(r"\([\d.]+ to [\d.]+\)", text) is not None) == (repetitions == 5), text
    notes = equal_time.compare_sides([a, b]).notes
    assert any("without repetitions have no interval" in note for note in notes) == (repetitions < 5)


def test_equal_time_and_compare_print_the_same_interval(tmp_path: Path) -> None:
    times = {"a": (24, (2370, 2450, 2500, 2610, 2770)), "b": (28, (1150, 1230, 1330, 1480, 1590))}
    sides = [
        side(tmp_path, name, [v for n, seconds in enumerate(of) for v in program(cores, 1, seconds, n)])
        for name, (cores, of) in times.items()
    ]
    cell = read_cells(compare_sides(sides), "b")[1]
    (row,) = equal_time.compare_sides(sides).rows
    assert (row.time.value, row.time.low, row.time.high) == pytest.approx((cell.ratio, cell.low, cell.high))


CASTEP = """
 |      Welcome to Academic Release CASTEP version 17.21          |
 Run started: Thu, 07 Sep 2017 09:5{minute}:14 +0100
 Calculation parallelised over {ranks:4d} processes.
                    Total number of ions in cell =  270
Initialisation time =      2.42 s
Calculation time    =    {less:.2f} s
Finalisation time   =      1.00 s
Total time          =    {seconds:.2f} s
"""
TIMES = {"ARCHER": (24, 1200.0), "Cirrus": (36, 400.0)}  # cores of a node, seconds on one node


def test_an_archive_of_two_systems_is_compared_node_by_node(tmp_path: Path, capsys: Any) -> None:
    """From the files as a centre keeps them to the screen, JSON and the report: one ratio for each number of nodes."""
    for name, (cores, seconds) in TIMES.items():
        for nodes in NODES:
            log = tmp_path / "results" / name / f"al3x3_{nodes}nodes_20190131110{nodes}.castep"
            log.parent.mkdir(parents=True, exist_ok=True)
            time = seconds / nodes
            log.write_text(CASTEP.format(minute=nodes, ranks=cores * nodes, seconds=time, less=time - 10))
    runs = tmp_path / "runs"
    cli.run_words(["import", str(tmp_path / "results"), "--runs", str(runs), "--quiet"])
    capsys.readouterr()
    paths = [str(path) for path in sorted(runs.iterdir())]
    cli.run_words(["compare", *paths])
    screen = capsys.readouterr().out
    assert "Full nodes" in screen
    assert " 0.33      0.50  not judged" in screen
    cli.run_words(["compare", *paths, "--json"])
    series = json.loads(capsys.readouterr().out)["full_nodes"]
    rows = next(one for one in series if one["metric"] == "time")["rows"]
    assert [row["nodes"] for row in rows] == [*NODES]
    assert [row["cells"][1]["ratio"] for row in rows] == pytest.approx([1 / 3] * 4)
    assert [row["cells"][1]["per_core"] for row in rows] == pytest.approx([0.5] * 4)
    cli.run_words(["report", *paths, "--output", str(tmp_path / "report.html")])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "on 1 full node, Cirrus-20170907 needs 0.33 times the time of ARCHER-20170907" in page
