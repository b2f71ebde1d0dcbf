"""Several sides in one report: every figure has the lines of all sides with their numbers, and one page has all values."""

import base64
import gzip
import json
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from operator import mul
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import drawn_figures
import report_fixture
from builders import measured
from planted_sides import imported, stream
from planted_sides import side as planted_side
from side_fixture import beside
from steelyard.compare.compared_sides import SidesComparison
from steelyard.compare.published_side import find_side
from steelyard.compare.side import Side
from steelyard.compare.sides import compare_sides
from steelyard.errors import UsageError
from steelyard.model import Evaluation, Result
from steelyard.model.figure import Axis, Figure, Mark, Series
from steelyard.show import report
from steelyard.show.command_line.sides import put_first
from steelyard.show.report import drawing, figures, side_table, side_traces
from steelyard.show.report.changes import write_smallest
from steelyard.show.report.figure_results import state_result
from steelyard.show.report.forms_of_figures import fitted
from steelyard.show.report.joined_figures import SideFigures, join
from steelyard.show.report.pages import sides as sides_page
from steelyard.show.report.pictures import looks
from steelyard.show.report.run_figures import draw_run
from steelyard.show.report.shown_sides import choose_sides
from steelyard.show.report.sides_of_report import ReportSides

PUBLISHED = "4x AMD 8350 Barcelona"


def scaled(evaluation: Evaluation, factor: float, name: str) -> Evaluation:
    """The run with all values and limits times `factor`, and the times divided by it."""

    def larger(result: Result) -> Result:
        values = {
            n: replace(v, value=v.value * factor, low=v.low * factor, high=v.high * factor)
            for n, v in result.metrics.items()
        }
        records = tuple(replace(r, samples=tuple(s / factor for s in r.samples)) for r in result.records)
        return measured(result, metrics=values, records=records)

    def higher(figure: Figure) -> Figure:
        return replace(figure, marks=tuple(replace(m, at=m.at * factor) if m.axis == "y" else m for m in figure.marks))

    benchmarks = {
        n: replace(b, figures=lambda results, machine, b=b: tuple(map(higher, b.figures(results, machine))))
        for n, b in evaluation.benchmarks.items()
    }
    run = replace(evaluation.run, id=name)
    return replace(evaluation, run=run, results=tuple(map(larger, evaluation.results)), benchmarks=benchmarks)


@pytest.fixture(scope="module")
def first() -> Evaluation:
    return report_fixture.evaluation()


@pytest.fixture(scope="module")
def second(first: Evaluation) -> Evaluation:
    return scaled(first, 2.0, "twice")


@pytest.fixture(scope="module")
def both(first: Evaluation, second: Evaluation) -> ReportSides:
    return beside(first, second)


def drawn(evaluation: Evaluation, sides: ReportSides, benchmark: str) -> list[dict[str, Any]]:
    results = tuple(r for r in evaluation.results if r.benchmark == benchmark)
    made = drawing.figures(evaluation.benchmarks[benchmark], results, evaluation.run.machine, sides.figures)
    assert not [figure.error for figure in made if figure.error]
    return [json.loads(figure.plot) for figure in made]


def lines_of(plot: dict[str, Any], side: int) -> list[dict[str, Any]]:
    return [
        t for t in plot["data"] if t["meta"].get("side") == side and "hoverinfo" not in t and not t["meta"].get("band")
    ]


# --------------------------------------------------------------------------- figures of several sides


def test_each_side_has_its_line_with_its_numbers(first: Evaluation, both: ReportSides) -> None:
    threads = drawn(first, both, "memory.stream")[0]
    own, other = lines_of(threads, 0), lines_of(threads, 1)
    assert [line["meta"]["line"] for line in own] == [line["meta"]["line"] for line in other] != []
    for a, b in zip(own, other, strict=True):
        assert a["x"] == b["x"]
        assert b["y"] == pytest.approx([2 * y for y in a["y"]], rel=1e-4)


def test_the_colour_and_the_mark_say_the_side_and_the_dashes_the_line(first: Evaluation, both: ReportSides) -> None:
    threads = drawn(first, both, "memory.stream")[0]
    for number in (0, 1):
        lines = lines_of(threads, number)
        assert {line["meta"]["colour"] for line in lines} == {number}
        assert len({line["line"]["dash"] for line in lines}) == len(lines) > 1
    ends = [[line["line"]["dash"] for line in lines_of(threads, number)] for number in (0, 1)]
    assert ends[0] == ends[1]


def test_the_legend_names_each_side_once_and_each_line_once(first: Evaluation, both: ReportSides) -> None:
    threads = drawn(first, both, "memory.stream")[0]
    legend = [t["name"] for t in threads["data"] if t.get("showlegend", True) and t.get("visible", True)]
    assert legend == [*(s.name for s in both.sides), *dict.fromkeys(s["meta"]["line"] for s in lines_of(threads, 0))]


def test_a_doubtful_value_of_another_side_keeps_its_mark(first: Evaluation, both: ReportSides) -> None:
    threads = drawn(first, both, "memory.stream")[0]
    add, triad = (next(t for t in lines_of(threads, 1) if t["meta"]["line"] == n) for n in ("add", "triad"))
    assert add["meta"]["levels"] == {"1": "UNSETTLED"}
    assert triad["meta"]["levels"] == {"1": "DISTURBED"}
    assert triad["marker"]["symbol"] == ["square", "square-open", "square"]


def test_a_limit_that_only_one_side_has_names_it(first: Evaluation, both: ReportSides) -> None:
    threads = drawn(first, both, "memory.stream")[0]
    limits = [note for note in threads["layout"]["annotations"] if note.get("name") == "limit"]
    names = [one.name for one in both.sides]
    assert [(note["sides"], note["text"]) for note in limits] == [
        ([0], f"{names[0]}: limit of the memory modules"),
        ([1], f"{names[1]}: limit of the memory modules"),
    ]
    heights = [shape["y0"] for shape in threads["layout"]["shapes"] if shape.get("sides")]
    assert heights[1] == pytest.approx(2 * heights[0])


def test_a_limit_that_all_sides_have_is_one_line_without_a_name(first: Evaluation) -> None:
    threads = drawn(first, beside(first, scaled(first, 1.0, "same")), "memory.stream")[0]
    limits = [note for note in threads["layout"]["annotations"] if note.get("name") == "limit"]
    assert [note["text"] for note in limits] == ["limit of the memory modules"]
    assert "sides" not in limits[0]


def test_bars_have_one_set_a_side(first: Evaluation, both: ReportSides) -> None:
    bars = drawn(first, both, "memory.stream")[1]
    own, other = lines_of(bars, 0), lines_of(bars, 1)
    assert len(own) == len(other) == 1
    assert other[0]["y"] == pytest.approx([2 * y for y in own[0]["y"]], rel=1e-4)


def test_bars_of_several_sets_are_named_by_their_set() -> None:
    sets = (Series("cold", ("a", "b"), (1.0, 2.0)), Series("warm", ("a", "b"), (3.0, 4.0)))
    figure = Figure("f", "F", "bars", Axis("place"), Axis("speed"), sets)
    other = replace(figure, series=sets[1:])
    names = SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (other,)},)))
    (joined,) = join("b", (figure,), names)
    assert [s.side for s in joined.figure.series] == [0, 1]
    assert joined.figure.series[0].x == ("a, cold", "a, warm", "b, cold", "b, warm")
    assert joined.figure.series[0].y == (1.0, 3.0, 2.0, 4.0)
    assert (joined.figure.series[1].x, joined.figure.series[1].y) == (("a, warm", "b, warm"), (3.0, 4.0))


def test_each_side_has_a_map_and_equal_values_have_equal_colours(first: Evaluation, both: ReportSides) -> None:
    benchmark = first.benchmarks["memory.placement"]
    results = tuple(r for r in first.results if r.benchmark == "memory.placement")
    (figure,) = drawing.figures(benchmark, results, first.run.machine, both.figures)
    maps = [(number, json.loads(one.plot)["data"][0]) for number, one in figure.maps]
    assert [number for number, _ in maps] == [0, 1]
    for _, trace in maps:
        assert (trace["zmin"], trace["zmax"]) == (0, pytest.approx(56.6)), "GB/s, twice the greatest of the first side"
    assert maps[1][1]["z"][0] == pytest.approx([2 * z for z in maps[0][1]["z"][0]])


def test_a_group_is_the_median_of_its_runs_with_a_band_from_the_least_to_the_greatest(first: Evaluation) -> None:
    runs = tuple(draw_run(scaled(first, factor, f"r{factor}")) for factor in (1.0, 4.0, 2.0))
    sides = SideFigures(names=("all",), own=0, runs=(runs,))
    own = next(iter(runs[0]["memory.stream"]))
    (joined, _) = join("memory.stream", runs[0]["memory.stream"], sides)
    for line, single in zip(joined.figure.series, own.series, strict=True):
        assert line.banded
        assert line.y == pytest.approx([2 * y for y in single.y])
        assert line.low == pytest.approx(single.y)
        assert line.high == pytest.approx([4 * y for y in single.y])


def test_a_published_system_that_is_a_side_is_drawn_and_no_other(first: Evaluation) -> None:
    sides = beside(first, published=PUBLISHED)
    corner = drawn(first, sides, "memory.apexmap")[2]
    assert lines_of(corner, 1)
    assert all(line["visible"] for line in lines_of(corner, 1))
    rest = [t for t in corner["data"] if "published" in t["meta"]]
    assert rest
    assert not any(PUBLISHED in t["name"] or t["visible"] for t in rest)


def test_what_only_another_side_has_is_a_figure_too() -> None:
    figure = Figure("extra", "E", "lines", Axis("x"), Axis("y"), (Series("l", (1.0, 2.0), (3.0, 4.0)),))
    (joined,) = join("b", (), SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (figure,)},))))
    assert [(s.side, s.y) for s in joined.figure.series] == [(1, (3.0, 4.0))]


def test_upright_marks_are_those_of_the_own_side_and_the_caption_says_so() -> None:
    line = (Series("l", (1.0, 2.0), (3.0, 4.0)),)
    own = Figure("f", "F", "lines", Axis("x"), Axis("y"), line, marks=(Mark("x", 1.5, "L1"),))
    other = replace(own, marks=(Mark("x", 1.8, "L1"),))
    (joined,) = join("b", (own,), SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (other,)},))))
    assert joined.figure.marks == own.marks
    assert joined.figure.caption == "The upright marks are those of x."


def test_a_table_has_the_rows_of_all_sides() -> None:
    own = Figure("f", "F", "table", Axis("x"), Axis("y"), headings=("kernel",), cells=(("triad",),))
    other = replace(own, cells=(("copy",),))
    joined = join("b", (own,), SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (other,)},))))
    assert [(j.figure.headings, j.figure.cells) for j in joined] == [
        (("side", "kernel"), (("x", "triad"), ("y", "copy")))
    ]


def test_sides_beyond_the_first_seven_wait_for_the_reader() -> None:
    line = (Series("l", (1.0, 2.0), (3.0, 4.0)),)
    own = Figure("f", "F", "lines", Axis("x"), Axis("y"), line, marks=(Mark("y", 5.0, "limit"),))
    count = side_traces.MOST_SHOWN + 2
    others = tuple(({"b": (replace(own, marks=(Mark("y", 5.0 + n, "limit"),)),)},) for n in range(1, count))
    names = tuple(f"s{n}" for n in range(count))
    (joined,) = join("b", (own,), SideFigures(names=names, own=0, runs=((), *others)))
    plot = figures.plotly(joined.figure)
    assert [lines_of(plot, n)[0]["visible"] for n in range(count)] == [True] * 7 + [False] * 2
    assert [shape["visible"] for shape in plot["layout"]["shapes"]] == [True] * 7 + [False] * 2
    looks = {
        (t["meta"]["colour"] % figures.COLOURS, t["marker"]["symbol"]) for n in range(count) for t in lines_of(plot, n)
    }
    assert len(looks) == count, "a colour that comes again has another mark"


# --------------------------------------------------------------------------- the page and the report


def unpacked(page: sides_page.Page) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(page.packed)))


def test_the_table_has_the_values_of_all_sides_and_their_ratio(first: Evaluation, both: ReportSides) -> None:
    table = unpacked(sides_page.data(first, both))
    group = next(g for g in table["groups"] if g["title"] == "Memory bandwidth")
    labels = [row[0] for row in group["rows"]]
    assert "scale, 4 threads" not in labels, "an INVALID result has no value"
    before = sum(len(g["rows"]) for g in table["groups"][: table["groups"].index(group)])
    own = 2 * (before + labels.index("copy, 4 threads"))
    assert group["rows"][labels.index("copy, 4 threads")][1:] == ["bandwidth", "B/s"]
    columns, value = table["columns"], 13.1e9 * 4**0.93
    assert columns["value"][own : own + 2] == pytest.approx([value, 2 * value], rel=1e-3)
    assert columns["ratio"][own] is None
    assert columns["ratio"][own + 1] == pytest.approx(0.5, rel=1e-3)
    assert [table["words"][columns["call"][at]] for at in (own, own + 1)] == ["", "FASTER"]


def test_the_totals_stand_before_the_cases_with_their_ratio(first: Evaluation, both: ReportSides) -> None:
    table = unpacked(sides_page.data(first, both))
    classes, benchmarks = table["groups"][: table["totals"]]
    assert [row[0] for row in classes["rows"]] == ["memory"]
    titles = [b.title for b in first.benchmarks.values()]
    assert [row[0] for row in benchmarks["rows"]] == titles
    ends = 2 * (len(classes["rows"]) + len(benchmarks["rows"]))
    assert table["columns"]["value"][:ends] == [None] * ends
    assert table["columns"]["ratio"][1:ends:2] == pytest.approx([0.5] * (ends // 2), rel=1e-3)


def test_numbers_of_the_table_have_four_digits() -> None:
    numbers = np.array([[123456.0, 1.23456e-9, 0.99999, 0.0, 3.05049e10, math.nan, 7.0]])
    assert side_table._rounded(numbers)[0, [0, 1, 2, 3, 4, 6]].tolist() == [123500.0, 1.235e-9, 1.0, 0.0, 3.050e10, 7.0]
    assert json.loads(msgspec.json.encode(side_table._rounded(numbers)[0].tolist()))[5] is None


def test_smallest_differences_of_the_table_are_written_as_on_the_screen(first: Evaluation) -> None:
    near = replace(scaled(first, 1.001, "near"), findings=())
    table = unpacked(sides_page.data(first, beside(first, near)))
    smallest, calls = ([table["words"][at] for at in table["columns"][name]] for name in ("smallest", "call"))
    assert {call for call, text in zip(calls, smallest, strict=True) if text} & {"SAME", "UNCLEAR"}
    assert not any(text for call, text in zip(calls, smallest, strict=True) if call in ("", "FASTER", "SLOWER"))
    numbers = np.array([0.004, 0.154, 0.155, 0.9949, 0.996, 1.0, 1.05, 3.149, 8.94, 8.96, 9.0, 40.0])
    columns = side_table._Columns(["a"], [])
    words = columns._index_difference_texts(numbers)
    assert [list(columns.places)[word] for word in words] == list(map(write_smallest, numbers.tolist()))


def test_the_report_of_two_sides_has_both_names_everywhere(first: Evaluation, both: ReportSides) -> None:
    text = report.render(first, both)
    assert re.findall(r'data-name="([^"]*)" checked', text) == [one.name for one in both.sides]
    assert '<section class="page" id="sides">' in text
    assert 'class="beside maps"' in text


def test_a_report_of_one_run_has_nothing_of_sides(first: Evaluation) -> None:
    text = report.render(first)
    assert 'id="sides"' not in text
    assert "data-name=" not in text


def test_a_report_of_published_systems_alone_has_only_the_pages_that_compare() -> None:
    named = tuple(find_side(name) for name in (PUBLISHED, "Mont-Blanc node"))
    sides = ReportSides(sides=named, own=None, figures=None, read_node=lambda run: None)
    text = report.render(None, sides)
    assert "Published systems" in text
    assert 'id="sides"' in text
    assert not {"overview", "findings", "machine"} & set(re.findall(r'<section class="page[^"]*" id="([^"]*)"', text))


# --------------------------------------------------------------------------- colours


def palettes() -> dict[str, list[str]]:
    script = (Path(report.__file__).parent / "figures.js").read_text()
    return {name: re.findall(r"#\w{6}", re.search(rf"{name}: \[(.*?)\]", script)[1]) for name in ("light", "dark")}


# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes: A physiologically-based model for simulation of color vision
# deficiency, IEEE TVCG 15 (6), 2009: severity 1, for linear light.
SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def dot(a: Iterable[float], b: Iterable[float]) -> float:
    return sum(map(mul, a, b))


def light(colour: str) -> list[float]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(colour: str, seen: str) -> tuple[float, float, float]:
    r, g, b = (min(1.0, max(0.0, dot(row, light(colour)))) for row in SEEN[seen])
    x, y, z = (
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
        for t in (
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("seen", SEEN)
def test_any_two_colours_of_sides_can_be_told_apart_by_colour_blind_readers(theme: str, seen: str) -> None:
    places = [lab(colour, seen) for colour in palettes()[theme]]
    nearest = min(math.dist(a, b) for n, a in enumerate(places) for b in places[:n])
    assert nearest > 15, "2.3 is the least difference that an eye sees"


@pytest.mark.parametrize(("theme", "paper"), [("light", "#fcfcfb"), ("dark", "#14171a")])
def test_each_colour_of_a_side_stands_out_from_the_paper(theme: str, paper: str) -> None:
    brightness = [dot((0.2126, 0.7152, 0.0722), light(c)) + 0.05 for c in (paper, *palettes()[theme])]
    assert all(max(brightness[0], one) / min(brightness[0], one) > 2 for one in brightness[1:])


def test_pictures_and_the_choice_of_sides_have_the_colours_of_the_figures() -> None:
    style = (Path(report.__file__).parent / "style.css").read_text()
    found = [re.findall(r"--s\d: (#\w{6})", line) for line in style.splitlines() if "--s0:" in line]
    assert found == [palettes()[theme] for theme in ("light", "dark", "dark", "light")]
    assert list(looks.COLOURS) == palettes()["light"]


# --------------------------------------------------------------------------- bad input


def test_an_unknown_baseline_is_refused_with_the_names_of_the_sides(both: ReportSides) -> None:
    with pytest.raises(UsageError, match=r"'twise' \(given by --baseline\) is none of the sides. Did you mean 'twice'"):
        put_first(both.sides, (), "twise")


def test_the_named_baseline_comes_first_and_the_others_keep_their_order(both: ReportSides) -> None:
    third = replace(both.sides[0], name="third")
    names = [one.name for one in put_first((*both.sides, third), (), "twice")]
    assert names == ["twice", both.sides[0].name, "third"]
    typed = ["runs/once", "runs/twice", "runs/third"]  # a path stands for its run
    assert put_first((*both.sides, third), typed, "runs/third")[0] == third


# --------------------------------------------------------------------------- the sides that are shown at first


def plant_nodes(slow: int, fast: int) -> SidesComparison:
    """Sixteen machines, all alike but one that is slower and one that is faster."""
    speeds = {slow: 0.5, fast: 2.0}
    nodes = [planted_side(f"n{n}", 4, [stream(4, 1e10 * speeds.get(n, 1.0))]) for n in range(16)]
    facts = [replace(run, facts={"machine": {"host": run.run}}) for one in nodes for run in one.runs]
    return compare_sides([replace(one, runs=(run,)) for one, run in zip(nodes, facts, strict=True)])


def test_the_baseline_and_the_sides_that_differ_are_shown_at_first() -> None:
    compared = plant_nodes(slow=10, fast=14)
    assert choose_sides(compared, 7) == (0, 1, 2, 3, 4, 10, 14)
    assert choose_sides(compared, 3) == (0, 10, 14)
    assert choose_sides(compared, 20) == tuple(range(16))


def test_sides_that_are_shown_at_first_have_different_colours() -> None:
    shown = choose_sides(plant_nodes(slow=10, fast=14), 7)
    places = [side_traces.find_place(side, shown) for side in range(16)]
    assert sorted(places) == list(range(16))
    assert [places[side] for side in shown] == list(range(7))


def test_a_figure_shows_the_chosen_sides_at_first() -> None:
    line = (Series("l", (1.0, 2.0), (3.0, 4.0)),)
    own = Figure("f", "F", "lines", Axis("x"), Axis("y"), line)
    runs = ((), *(({"b": (own,)},) for _ in range(9)))
    sides = SideFigures(names=tuple(f"s{n}" for n in range(10)), own=0, runs=runs, shown=(0, 8))
    plot = figures.plotly(join("b", (own,), sides)[0].figure)
    assert [n for n in range(10) if lines_of(plot, n)[0]["visible"]] == [0, 8]
    assert lines_of(plot, 8)[0]["meta"]["colour"] == 1
    headed = drawn_figures.draw(plot, 85, title="Speed: s8 is faster than s0 (× 2)", sides=50)
    assert (
        headed.get_suptitle().replace("\n", " ") == "Speed: s8 is faster than s0 (×\u00a02) (2 of 50 sides are drawn)"
    )


# --------------------------------------------------------------------------- the result in the title, the best condition


def plant(name: str, cores: int, bandwidth: float) -> Side:
    one = planted_side(name, cores, [stream(cores, bandwidth)])
    return replace(one, runs=tuple(replace(run, facts={"machine": {"host": name}}) for run in one.runs))


def plant_figure(count: int = 3) -> Figure:
    series = tuple(Series("triad", (1.0,), (1.0,), side=n, metric="bandwidth", better="higher") for n in range(count))
    return Figure("f", "F", "lines", Axis("threads"), Axis("bandwidth", "B/s"), series)


def test_the_title_says_what_the_comparison_decided(first: Evaluation) -> None:
    stream_benchmark = first.benchmarks["memory.stream"]
    compared = compare_sides([plant("a", 4, 1e10), plant("b", 8, 4e10), plant("c", 4, 1.01e10), plant("d", 2, 5e9)])
    calls = {cell.letter: cell.call for figure in compared.machines for cell in figure.cells[1:]}
    assert calls == {"b": "FASTER", "c": "UNCLEAR", "d": "SLOWER"}

    def state(*drawn: int) -> str:
        return state_result(compared, stream_benchmark, plant_figure(), drawn)

    assert state(0, 1, 2) == "b is faster than a at Triad bandwidth (× 4.0)"
    assert (
        state(0, 1, 3)
        == "b is faster than a at Triad bandwidth (× 4.0); d is slower than a at Triad bandwidth (× 0.50)"
    )
    assert state(0, 2) == "no certain difference"
    assert state(1, 2) == "", "the baseline has no values in this figure"
    errors = replace(plant_figure(), y=Axis("relative error", "1"))
    assert state_result(compared, stream_benchmark, errors, (0, 1)) == "", "the figure does not show what is compared"


def test_values_without_intervals_have_no_call_but_their_speeds(first: Evaluation) -> None:
    sides = [plant("a", 4, 1e10), *(imported(plant(n, 4, x)) for n, x in (("b", 4e10), ("c", 2e10), ("d", 5e9)))]
    for drawn, stated in (
        ((0, 1), "b × 4.0 of a, not judged without intervals"),
        ((0, 1, 2, 3), "b × 4.0 and d × 0.50 of a, not judged without intervals"),
    ):
        found = state_result(compare_sides(sides), first.benchmarks["memory.stream"], plant_figure(4), drawn)
        assert found == stated


def plant_conditions(*bandwidths: float) -> tuple[Series, ...]:
    names = ("compact", "scatter", "streaming")
    return tuple(
        Series(name, (1.0, 2.0), (value, 2 * value), metric="bandwidth", better="higher", subject="")
        for name, value in zip(names, bandwidths, strict=True)
    )


def test_each_side_has_the_line_of_its_best_condition_until_the_reader_asks() -> None:
    own = replace(plant_figure(), series=plant_conditions(1.0, 3.0, 2.0))
    other = replace(own, series=plant_conditions(5.0, 4.0, 4.5))
    sides = SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (other,)},)))
    plot = figures.plotly(join("b", (own,), sides)[0].figure)
    shown = [(t["meta"]["side"], t["meta"]["line"]) for n in (0, 1) for t in lines_of(plot, n) if t["visible"]]
    assert shown == [(0, "scatter"), (1, "compact")]
    assert len(lines_of(plot, 0) + lines_of(plot, 1)) == 6
    legends = [
        [t["name"] for t in plot["data"] if t["meta"].get("only") == kind and "hoverinfo" in t]
        for kind in ("best", "all")
    ]
    assert legends == [["x (scatter)", "y (compact)"], ["x", "y", "compact", "scatter", "streaming"]]


def test_a_single_better_point_does_not_stand_for_a_curve() -> None:
    curve, point = plant_conditions(1.0, 3.0, 2.0)[:2]
    own = replace(plant_figure(), series=(curve, replace(point, x=(2.0,), y=(9.0,)), replace(curve, x=(), y=())))
    sides = SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (own,)},)))
    drawn = [line for line in join("b", (own,), sides)[0].figure.series if not line.further]
    assert {line.name for line in drawn} == {"scatter"}, "half of the points are enough"
    wide = replace(curve, x=(1.0, 2.0, 3.0), y=(1.0, 2.0, 3.0))
    own = replace(own, series=(wide, *own.series[1:]))
    drawn = [
        line
        for line in join("b", (own,), replace(sides, runs=((), ({"b": (own,)},))))[0].figure.series
        if not line.further
    ]
    assert {line.name for line in drawn} == {"compact"}


def test_a_condition_that_all_sides_share_stands_in_the_caption() -> None:
    own = replace(plant_figure(), series=plant_conditions(1.0, 3.0, 2.0))
    sides = SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (own,)},)))
    shown = drawing.plain(join("b", (own,), sides)[0].figure)
    assert shown.further
    assert shown.caption == (
        "Each side is drawn in its best condition (scatter). 4 lines of other conditions are hidden (compact; streaming)."
    )


def test_lines_of_different_subjects_are_all_drawn() -> None:
    lines = tuple(replace(line, subject=line.name) for line in plant_conditions(1.0, 3.0, 2.0))
    own = replace(plant_figure(), series=lines)
    sides = SideFigures(names=("x", "y"), own=0, runs=((), ({"b": (own,)},)))
    assert not any(line.further for line in join("b", (own,), sides)[0].figure.series)


def test_places_without_a_value_have_no_bars() -> None:
    bars = (Series("s", ("a", "b", "c"), (1.0, None, 3.0), (0.9, None, 2.9), (1.1, None, 3.1)),)
    fit = fitted(Figure("f", "F", "bars", Axis("place"), Axis("speed", "B/s"), bars))
    assert (fit.series[0].x, fit.series[0].y, fit.series[0].low) == (("a", "c"), (1.0, 3.0), (0.9, 2.9))
