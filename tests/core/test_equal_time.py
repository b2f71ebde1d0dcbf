"""At equal time and at equal ranks: the solved count and its interval, the source's table 4 and figure 13, and the answers."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import evaluation, result
from folders import GOLDEN
from output_schemas import read_output
from steelyard.compare.equal_time import EqualTime, EqualTimes, compare_sides
from steelyard.compare.equipment import read_equipment
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.errors import UsageError
from steelyard.model import Equipment, Level, Result, Value
from steelyard.show.command_line import cli
from steelyard.show.command_line.sides import read_sides
from steelyard.show.report import equal_time_rows
from steelyard.show.report.pages import equal_time as pages
from steelyard.show.report.sides_of_report import ReportSides
from steelyard.statistics.models.equal_time import Z, solve_count

MARENOSTRUM, MONT_BLANC = "MareNostrum III", "Mont-Blanc system"
# Table 4 of the third source: ranks, seconds, watts, watt-hours (a tenth of what is printed), rack units.
TABLE_4 = {
    ("comd", MARENOSTRUM): (64, 70.72, 992.0, 19.49, 8),
    ("comd", MONT_BLANC): (240, 68.05, 1083.0, 20.47, 7),
    ("minife", MARENOSTRUM): (64, 71.66, 1065.0, 21.20, 8),
    ("minife", MONT_BLANC): (224, 72.19, 1034.0, 20.73, 7),
}
CORES = {MARENOSTRUM: 16, MONT_BLANC: 2}


def ran(
    program: str, seconds: float, ranks: int, nodes: int, watts: float = 0.0, half_width: float = 0.02, **changed: Any
) -> Result:
    """A program of so many seconds on so many ranks and nodes, with its mean power if that is known."""
    own = {k: changed.pop(k) for k in ("level", "evidence") if k in changed}
    hosts = changed.pop("hosts", [f"n{rank * nodes // ranks}" for rank in range(ranks)])
    around = {"ranks": {"hosts": hosts, "colocated": changed.pop("colocated", False)}}
    parameters = {"model": "mpi", "ranks": ranks, **changed}
    metrics = {"time": Value(seconds, "s", seconds * (1 - half_width), seconds * (1 + half_width), "lower")}
    if watts:
        metrics["power"] = Value(watts, "W", watts * 0.99, watts * 1.01, "lower")
    made = result(
        f"application.{program}",
        program,
        parameters,
        seconds,
        {"operations": 1e9},
        surroundings=around,
        launches=1,
        **own,
    )
    return replace(made, metrics=metrics if own.get("level") != "INVALID" else {})


def side(name: str, *results: Result) -> Side:
    return Side(name=name, kind="run", runs=(replace(reduce_run(evaluation(results)), run=name),))


def series(name: str, seconds: Mapping[int, float], **changed: Any) -> Side:
    """CG of class B on one rank of each of so many nodes."""
    return side(name, *(ran("npb_cg", s, n, n, **{"class": "B", **changed}) for n, s in seconds.items()))


def answer(base: Side, other: Side) -> EqualTime:
    (row,) = compare_sides([base, other]).rows
    return row


# --------------------------------------------------------------------------- the solved count


def usl(counts: np.ndarray, serial: float, coherency: float) -> np.ndarray:
    return (1 - serial) / counts + serial + coherency * (counts - 1)


def inside(seed: int, draws: int, beyond: bool) -> tuple[int, set[str]]:
    """Returns how many of the draws have the true count in the stated interval, and the kinds of answers."""
    random = np.random.default_rng(seed)
    held, kinds = 0, set()
    for _ in range(draws):
        counts = np.array([1.0, 2, 4, 8, 16])[: random.integers(3, 6) if not beyond else 5]
        serial, coherency = random.uniform(0, 0.08), random.choice([0.0, 2e-4])
        true = random.uniform(counts[-1] * 1.1, counts[-1] * 1.8) if beyond else random.uniform(1.2, counts[-1] * 0.95)
        error, error_base = random.uniform(0.003, 0.02, 2)
        logs = np.log(usl(counts, serial, coherency)) + random.normal(0, error, len(counts))
        time = math.log(float(usl(np.array([true]), serial, coherency)[0])) + random.normal(0, error_base)
        reached = solve_count([int(c) for c in counts], logs.tolist(), [error] * len(counts), time, error_base)
        kinds.add(reached.how)
        held += (reached.low is None or reached.low <= true) and (reached.high is None or true <= reached.high)
    return held, kinds


@pytest.mark.long
def test_the_solved_count_is_in_its_interval_in_95_of_100_draws() -> None:
    """Intended error: the smooth line without its own doubt (`CURVED` 0) or the interval of one side's times only."""
    held, kinds = inside(1, 1000, beyond=False)
    assert kinds >= {"interpolated"}
    assert held >= 950


@pytest.mark.long
def test_an_extrapolated_count_is_in_its_interval_in_95_of_100_draws() -> None:
    held, kinds = inside(2, 1000, beyond=True)
    assert kinds >= {"extrapolated"}
    assert held >= 950


def test_exact_times_give_the_exact_count_between_and_beyond_the_measured_ones() -> None:
    counts = [1, 2, 4, 8, 16]
    logs = [math.log(40 / c) for c in counts]
    between = solve_count(counts, logs, [1e-4] * 5, math.log(7.0), 1e-4)
    assert (between.how, between.count) == ("interpolated", pytest.approx(40 / 7, rel=1e-3))
    beyond = solve_count(counts, logs, [1e-4] * 5, math.log(40 / 24), 1e-4)
    assert (beyond.how, beyond.count) == ("extrapolated", pytest.approx(24, rel=1e-2))
    assert beyond.law
    assert solve_count(counts, logs, [1e-4] * 5, math.log(1.0), 1e-4).how == "more"
    assert solve_count(counts, logs, [1e-4] * 5, math.log(50.0), 1e-4).how == "fewer"


@pytest.mark.parametrize("serial", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.5])
def test_one_measured_count_bounds_how_many_of_fewer_are_enough(serial: float, share: float) -> None:
    """Amdahl's law: the true count of fewer workers is never above the bound by the efficiency of 16."""

    def time(n: float) -> float:
        return serial + (1 - serial) / n

    wanted = time(16) / share
    found = solve_count([16], [math.log(time(16))], [1e-4], math.log(wanted), 1e-4)
    if share > 1:
        assert found.how == "more"
        return
    true = (1 - serial) / (wanted - serial) if wanted < 1 else 1.0
    assert found.how == "fewer"
    assert found.low is None
    assert found.high is not None
    assert true <= found.high <= 16
    assert found.high == pytest.approx(max(1.0, 16 * share), rel=1e-3)


def test_the_interval_of_a_power_law_is_that_of_the_times() -> None:
    reached = solve_count([1, 2, 4, 8], [math.log(40 / c) for c in (1, 2, 4, 8)], [0.01] * 4, math.log(10.0), 0.01)
    assert reached.low == pytest.approx(4 / math.exp(Z * math.hypot(0.01, 0.01)), rel=0.01)
    assert reached.high == pytest.approx(4 * math.exp(Z * math.hypot(0.01, 0.01)), rel=0.01)


def test_two_counts_do_not_show_the_curve_between_them() -> None:
    reached = solve_count([1, 16], [math.log(16.0), math.log(2.0)], [1e-3] * 2, math.log(4.0), 1e-3)
    assert reached.low is not None
    assert reached.low <= 4.01  # 16 / 4, if the program were ideal up to there
    assert reached.high == pytest.approx(reached.count, rel=0.02)


def test_an_end_beyond_the_measured_counts_stays_open() -> None:
    reached = solve_count([1, 2], [math.log(40.0), math.log(20.0)], [0.05] * 2, math.log(20.5), 0.05)
    assert reached.high is None
    assert reached.low is not None


# --------------------------------------------------------------------------- table 4 and figure 13


def expect_table_4(compared: EqualTimes, within: str = "the intervals") -> None:
    assert [row.program for row in compared.rows] == ["comd", "minife"]
    for row in compared.rows:
        for needs in (row.base, row.other):
            ranks, seconds, watts, hours, units = TABLE_4[row.program, needs.side]
            assert needs.power
            assert needs.energy
            assert (needs.ranks, needs.time.value, needs.power.value) == (
                ranks,
                pytest.approx(seconds),
                pytest.approx(watts),
            )
            assert f"{needs.energy.value / 3600:.2f}" == f"{hours:.2f}"
            assert needs.rack_units == units
    comd, minife = compared.rows
    assert [round(row.other.ranks / row.base.ranks, 2) for row in compared.rows] == [3.75, 3.5]  # type: ignore[operator]
    assert [round(row.energy.value, 2) for row in compared.rows if row.energy] == [1.05, 0.98]
    assert (comd.reached.how, minife.reached.how) == ("fewer", "equal")
    assert equal_time_rows.sentence(minife).startswith(f"Equal within {within}: ")


def published() -> tuple[Side, ...]:
    return read_sides([MARENOSTRUM, MONT_BLANC], [], Path("runs"), [])


def test_table_4_comes_out_of_the_published_numbers() -> None:
    compared = compare_sides(published(), read_equipment((), published()))
    expect_table_4(compared, equal_time_rows.USUAL)
    assert {row.unit for row in compared.rows} == {"ranks"}
    assert all(row.time.low is None and row.reached.low is None for row in compared.rows), (
        "single values have no interval"
    )
    assert any("the source prints 207; time x power gives 20.73" in note for note in compared.notes)


def test_table_4_comes_out_of_planted_runs() -> None:
    sides = [
        side(name, *(
            ran(program, seconds, ranks, ranks // CORES[name], watts)
            for (program, of), (ranks, seconds, watts, *_) in TABLE_4.items() if of == name
        ))
        for name in (MARENOSTRUM, MONT_BLANC)
    ]  # fmt: skip
    compared = compare_sides(sides, read_equipment((), sides))
    assert {row.unit for row in compared.rows} == {"nodes"}
    assert [(row.base.nodes, row.other.nodes) for row in compared.rows] == [(4, 120), (4, 112)]
    expect_table_4(compared)


def test_the_command_prints_table_4(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["compare", MARENOSTRUM, MONT_BLANC, "--equal-time", "--runs", str(tmp_path)]
    assert cli.app(words, standalone_mode=False) in (None, 0)
    printed = capsys.readouterr().out
    assert printed == (GOLDEN / "screens" / "equal-time.txt").read_text(encoding="utf-8")
    assert cli.app([*words, "--json"], standalone_mode=False) in (None, 0)
    plain = read_output("compare", capsys.readouterr().out)
    assert [row["reached"]["how"] for row in plain["rows"]] == ["fewer", "equal"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["MareNostrum III", "--equal-time"], "needs two sides"),
        (["MareNostrum III", "Mont-Blanc node", "--equal-time"], "No program was run with the same input"),
        (["MareNostrum III", "nowhere", "--equal-time"], "no published system of that name"),
        (["MareNostrum III", "Mont-Blanc system", "--system", "x.toml"], "applies only to --equal-time"),
        (["MareNostrum III", "Mont-Blanc system", "--equal-time", "--system", "x.toml"], "'x.toml' cannot be read"),
        (["MareNostrum III", "Mont-Blanc system", "--equal-time", "--in-turn"], "cannot be used together"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(words: list[str], part: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=part):
        cli.app(["compare", *words, "--runs", str(tmp_path)], standalone_mode=False)


def test_figure_13_has_its_slowdown_and_energy_at_equal_ranks() -> None:
    """Five programs at the ranks that each allows, on average 3.5 times slower with 9 % less energy."""
    spread = {
        "smmp": (0.6, 1.3),
        "bqcd": (0.9, 1.1),
        "qe": (1.0, 1.0),
        "mp2c": (1.1, 1 / 1.1),
        "comd": (1 / 0.594, 1 / 1.3),
    }
    ranks = dict(zip(spread, (257, 512, 768, 1024, 1536), strict=True))
    here = [ran(name, 100.0, ranks[name], 16, 8000.0) for name in spread]
    slower = [
        ran(name, 350.0 * t, ranks[name], ranks[name] // 2, 8000.0 * 0.91 * e / (3.5 * t))
        for name, (t, e) in spread.items()
    ]
    compared = compare_sides([side("a", *here), side("b", *slower)])
    (mean,) = compared.means
    assert (mean.programs, mean.energies) == (5, 5)
    assert mean.time.value == pytest.approx(3.5, abs=0.005)
    assert mean.energy
    assert mean.energy.value == pytest.approx(0.91, abs=0.001)
    sentence = equal_time_rows.mean_sentence(mean)
    assert "b needs 3.50 (" in sentence
    assert ") times the time of a on average" in sentence
    assert sentence.endswith("b needs 9 % less energy.")


# --------------------------------------------------------------------------- the answers


def test_a_caution_on_both_sides_stands_once() -> None:
    row = answer(series("one", {1: 7.0}), series("many", {1: 40.0, 2: 20.0, 4: 10.0, 8: 5.0}))
    both = replace(row, base=replace(row.base, level="DISTURBED"), other=replace(row.other, level="DISTURBED"))
    assert equal_time_rows.sentence(both).count("(Disturbed: take this with care.)") == 1


def test_so_many_nodes_reach_the_time_of_one() -> None:
    row = answer(series("one", {1: 7.0}), series("many", {1: 40.0, 2: 20.0, 4: 10.0, 8: 5.0}))
    assert row.unit == "nodes"
    assert row.reached.count == pytest.approx(40 / 7, rel=1e-3)
    assert row.other.time.value == 7.0
    text = equal_time_rows.sentence(row)
    assert text.startswith("To match 1 node of one (7.000 s), many needs 5.7 (5.6 to 5.9) nodes, 5.71 (")


def test_threads_of_one_machine_are_counted_if_nodes_do_not_differ() -> None:
    def threads(name: str, seconds: Mapping[int, float]) -> Side:
        cases = [ran("npb_cg", s, n, 1) for n, s in seconds.items()]
        moved = [
            replace(r, parameters={"class": "B", "model": "threads", "threads": r.parameters["ranks"]}) for r in cases
        ]
        return side(name, *moved)

    row = answer(threads("a", {4: 3.0}), threads("b", {1: 12.0, 2: 6.0, 4: 3.0, 8: 1.5}))
    assert (row.unit, row.reached.count) == ("threads", pytest.approx(4, rel=1e-3))


def test_even_the_most_nodes_may_be_too_few() -> None:
    row = answer(series("one", {1: 2.0}), series("many", {1: 40.0, 2: 20.0, 4: 16.0}))
    assert (row.reached.how, row.reached.high) == ("more", None)
    assert "4 nodes of many (4.00 times as many) are slower: they need 8.00 (" in equal_time_rows.sentence(row)


def test_power_between_two_counts_is_read_off_and_gives_the_energy() -> None:
    many = side("many", *(ran("qe", 40.0 / n, 2 * n, n, 100.0 * n) for n in (1, 2, 4, 8)))
    row = answer(side("one", ran("qe", 7.0, 16, 1, 300.0)), many)
    assert row.other.power
    assert row.other.energy
    assert row.other.power.value == pytest.approx(100 * 40 / 7, rel=1e-3)
    assert row.other.energy.value == pytest.approx(4000, rel=1e-3)
    assert row.other.ranks == pytest.approx(2 * 40 / 7, rel=1e-3)


def test_prices_follow_from_the_nodes_and_the_energy() -> None:
    known = Equipment(price_per_node=3500.0, price_per_kwh=0.2, currency="EUR")
    sides = [side("a", ran("qe", 3600.0, 16, 1, 500.0)), side("b", ran("qe", 3600.0, 16, 4, 250.0))]
    (row,) = compare_sides(sides, {"b": known}).rows
    assert (row.other.price, row.other.energy_price, row.other.currency) == (14000.0, pytest.approx(0.05), "EUR")
    assert equal_time_rows.prices(row.other) == "14000 EUR for the nodes, 0.05000 EUR for the energy of one run"
    assert row.base.price is None


def test_runs_of_a_group_are_one_point_with_their_spread() -> None:
    runs = tuple(reduce_run(evaluation([ran("qe", s, 16, 4, half_width=0.001)])) for s in (9.0, 10.0, 11.0))
    group = Side(name="old", kind="group", runs=runs)
    row = answer(side("new", ran("qe", 10.5, 16, 4, half_width=0.001)), group)
    assert row.reached.how == "equal"
    assert row.other.time.value == pytest.approx((9 * 10 * 11) ** (1 / 3))
    assert row.other.time.low
    assert row.other.time.low < 9.0


@pytest.mark.parametrize(
    "other",
    [
        ran("npb_cg", 7.0, 4, 4, **{"class": "C"}),
        ran("npb_cg", 7.0, 4, 4, **{"class": "B", "level": "INVALID"}),
        ran("npb_cg", 0.01, 4, 4, **{"class": "B"}),
    ],
)
def test_other_inputs_and_invalid_or_short_runs_are_refused_in_a_sentence(other: Result) -> None:
    with pytest.raises(UsageError, match="No program was run with the same input on 'many'"):
        compare_sides([series("many", {1: 40.0, 2: 20.0}), side("one", other)])


def test_a_power_that_was_calculated_is_not_compared_with_a_measured_one() -> None:
    measured, other = side("a", ran("qe", 10.0, 16, 1, 300.0)), side("b", ran("qe", 10.0, 16, 4, 300.0))
    guessed = replace(other, runs=(replace(other.runs[0], modelled_power=True),))
    compared = compare_sides([measured, guessed])
    assert compared.rows[0].base.energy
    assert (compared.rows[0].other.power, compared.rows[0].energy) == (None, None)
    assert (
        "The power of b was calculated from the load and not measured. No energy is compared with it." in compared.notes
    )


def test_powers_of_different_parts_are_not_compared() -> None:
    def covering(result: Result, *scope: str) -> Result:
        return replace(
            result,
            metrics={name: replace(v, scope=scope if v.unit == "W" else ()) for name, v in result.metrics.items()},
        )

    node, part = covering(ran("qe", 10.0, 16, 1, 300.0), "node"), covering(ran("qe", 10.0, 16, 4, 100.0), "processors")
    compared = compare_sides([side("a", node), side("b", part)])
    assert (compared.rows[0].base.energy, compared.rows[0].energy, compared.ranks[0].energy) == (None, None, None)
    assert (
        "No energy is compared, because the power meters cover different parts: the node of a and the processors of b."
        in compared.notes
    )
    alike = compare_sides([side("a", covering(node, "processors")), side("b", part)])
    assert alike.rows[0].energy
    assert "Power and energy are those of the processors, not of whole nodes." in alike.notes


def test_a_doubtful_time_is_marked() -> None:
    level: Level = "DISTURBED"
    row = answer(series("one", {1: 7.0}), series("many", {1: 40.0, 8: 5.0}, level=level, evidence=("load: some.",)))
    assert "Disturbed" in equal_time_rows.sentence(row)


def test_one_side_alone_is_refused() -> None:
    with pytest.raises(UsageError, match="needs two sides"):
        compare_sides([series("one", {1: 7.0})])


# --------------------------------------------------------------------------- system files


def test_a_system_file_belongs_to_the_side_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("price_per_node = 10\ncurrency = 'EUR'\ncores_per_node = 8\n")
    sides = [series("a", {1: 7.0}), series("b", {1: 7.0})]
    assert read_equipment([f"b={path}"], sides)["b"].price_per_node == 10
    shipped = read_equipment([f"{MONT_BLANC}={path}"], published())[MONT_BLANC]
    assert (shipped.price_per_node, shipped.cores_per_node, shipped.rack_units_per_enclosure) == (10, 8, 7)
    with pytest.raises(UsageError, match=r"has the name '', which no side has.*--system 'a="):
        read_equipment([str(path)], sides)
    with pytest.raises(UsageError, match="names no side: 'c' is none"):
        read_equipment([f"c={path}"], sides)


# --------------------------------------------------------------------------- the page


def figure_13() -> EqualTimes:
    here = [ran("qe", 100.0, 512, 16, 8000.0), ran("bqcd", 80.0, 512, 16, 8000.0)]
    there = [ran("qe", 350.0, 512, 256, 2080.0), ran("bqcd", 300.0, 512, 256, 2000.0)]
    return compare_sides([side("a", *here), side("b", *there)])


def test_the_page_has_each_program_the_means_and_the_plane_of_time_and_energy() -> None:
    page = pages.describe(figure_13())
    assert [section.program for section in page.sections] == ["qe", "bqcd"]
    assert page.sections[0].lines[0].cells[:3] == ("512", "16", "100.0 s")
    assert [(r.program, r.count, r.time[:4], r.energy[:4]) for r in page.ranks] == [
        ("qe", "512 ranks", "3.50", "0.91"),
        ("bqcd", "512 ranks", "3.75", "0.94"),
    ]
    assert page.figure
    plot = json.loads(page.figure.plot)
    points = [trace for trace in plot["data"] if trace["mode"] == "markers+text"]
    assert [trace["name"] for trace in points] == ["b, nearest measured time"], "not drawn again at equal ranks"
    assert points[0]["meta"]["colour"] == 1
    lines = [trace for trace in plot["data"] if trace["mode"] == "lines"]
    products = [x * y for trace in lines for x, y in zip(trace["x"], trace["y"], strict=True)]
    assert {round(p, 6) for p in products} >= {1.0, 2.0}


def test_without_any_energy_the_page_has_no_plane() -> None:
    page = pages.describe(compare_sides([series("one", {1: 7.0}), series("many", {1: 40.0, 8: 5.0})]))
    assert page.figure is None
    assert not pages.has_figures(page)


def test_of_many_sides_the_page_has_the_first_ones_and_says_so() -> None:
    many = tuple(series(f"machine {n}", {1: 7.0 + n}) for n in range(30))
    page = pages.data(None, ReportSides(sides=many, own=None, figures=None, read_node=lambda run: None))
    assert page
    assert {line.side for section in page.sections for line in section.lines} == {f"machine {n}" for n in range(20)}
    assert page.notes[-1].startswith("This page shows only the first 20 of 30 sides. ")
