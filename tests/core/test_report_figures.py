"""Figures as files: drawn without a browser, whole, readable, and with the same marks as in the report."""

import re
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import report_fixture
from steelyard.command_line.cli import app
from steelyard.errors import UsageError
from steelyard.model.figure import Axis, Point
from steelyard.report import figure_files, figures, pictures
from steelyard.report.axes import Json, plotted
from steelyard.report.drawing import embedded
from steelyard.report.pictures import pdf, sheet, svg
from steelyard.report.pictures.plotting import draw as drawn

SVG = "{http://www.w3.org/2000/svg}"


def boxes(plot: Json) -> list[tuple[sheet.Words, sheet.Box]]:
    """The level texts of a figure with the room that they take."""
    shapes = [shape for shape in drawn(plot, "t").shapes if isinstance(shape, sheet.Words) and shape.angle == 0]
    return [(one, _box(one)) for one in shapes if one.text]


def _box(words: sheet.Words) -> sheet.Box:
    wide = sheet.width_of(words.text, words.size)
    left = words.x - wide * {"start": 0, "middle": 0.5, "end": 1}[words.anchor]
    return left, words.y - 0.8 * words.size, left + wide, words.y + 1


def every() -> list[Json]:
    full, found = report_fixture.evaluation(), []
    for name, benchmark in full.benchmarks.items():
        mine = tuple(r for r in full.results if r.benchmark == name and r.verdict.level != "INVALID")
        found += [figures.plotly(figure) for figure in benchmark.figures(mine, full.run.machine)]
    further = (*report_fixture.one_node(), report_fixture.long_bars())
    return found + [figures.plotly(figure) for figure in further if figure.kind != "table"]


def test_every_figure_of_the_report_is_a_file_of_each_format(tmp_path: Path) -> None:
    evaluation = report_fixture.evaluation()
    made = figure_files.write(evaluation, tmp_path / "new" / "plots", "svg")
    assert [path.name for path in made][:2] == [
        "memory-stream-figure-1-threads.svg",
        "memory-stream-figure-2-kernels.svg",
    ]
    for path in made:
        root = ET.fromstring(path.read_text())
        assert root.tag == f"{SVG}svg"
        assert len(root.findall(f".//{SVG}text")) > 4
    others = figure_files.write(evaluation, tmp_path, "pdf")
    assert [path.stem for path in others] == [path.stem for path in made]
    assert all(path.read_bytes().startswith(b"%PDF-1.7") for path in others)


def test_an_unknown_format_of_figures_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no format 'svgz' for figures. Did you mean 'svg'"):
        figure_files.write(report_fixture.evaluation(), tmp_path, "svgz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--figures", "plots", "--output", "r.html"], "--output and --figures cannot be used together"),
        (["--format", "pdf"], "Add --figures FOLDER"),
    ],
)
def test_options_of_the_report_that_exclude_each_other_are_refused(given: list[str], said: str) -> None:
    found = CliRunner().invoke(app, ["report", *given])
    assert isinstance(found.exception, UsageError)
    assert said in str(found.exception)


def test_the_parts_of_a_pdf_lie_where_its_table_says() -> None:
    content = pdf.write(drawn(every()[0], "Latency, 1 µs ≤ α"))
    start = int(re.findall(rb"startxref\n(\d+)", content)[0])
    places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n", content[start:])]
    assert [content[place:].split(b" ", 1)[0] for place in places] == [
        str(n).encode() for n in range(1, len(places) + 1)
    ]
    stream = re.search(rb"/Length (\d+) /Filter /FlateDecode >>\nstream\n", content)
    assert stream
    painted = zlib.decompress(content[stream.end() : stream.end() + int(stream[1])])
    assert painted.count(b"q\n") == painted.count(b"Q")
    assert b"BT" in painted
    assert "Latency, 1 µs ≤ α".encode("utf-16-be").hex().upper().encode() in content


def test_no_text_reaches_beyond_its_picture_or_lies_upon_another() -> None:
    for plot in every():
        found = boxes(plot)
        whole = drawn(plot, "t")
        for words, (left, top, right, bottom) in found:
            assert -1 <= left <= right <= whole.width + 1, words
            assert 0 <= top <= bottom <= whole.height, words
        for number, (words, one) in enumerate(found):
            for other, two in found[number + 1 :]:
                apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
                assert apart, (words.text, other.text)


def test_bars_with_long_names_lie_with_the_first_one_at_the_top() -> None:
    plot = figures.plotly(report_fixture.long_bars())
    names = [(box[1], words.text) for words, box in boxes(plot) if words.text.startswith("write")]
    assert [text for _, text in sorted(names)] == list(report_fixture.long_bars().series[0].x)
    (values,) = [shape for shape in drawn(plot, "t").shapes if isinstance(shape, sheet.Clipped)]
    across = [max(x for x, _ in s.points) - min(x for x, _ in s.points) for s in values.shapes if s.fill]  # type: ignore[union-attr]
    assert across == pytest.approx([n * across[0] for n in range(1, 10)])


def test_labels_of_points_that_are_close_give_way_to_each_other() -> None:
    figure = report_fixture.stream_figures(report_fixture.stream(), report_fixture.machine())[0]
    near = tuple(Point(2.0, 4e10 * (1 + n / 100), f"n½ {n}") for n in range(4))
    found = [box for words, box in boxes(figures.plotly(replace(figure, points=near))) if words.text.startswith("n½")]
    tops = sorted(box[1] for box in found)
    assert len(found) == 4
    assert all(later - earlier > 10 for earlier, later in pairwise(tops))


def test_hostile_names_are_text_in_a_picture() -> None:
    plot = every()[0]
    plot["data"][0]["name"] = "&lt;script&gt;alert(1)&lt;/script&gt; (x) \\"
    text = svg.write(drawn(plot, "<script>")).decode()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert pdf.write(drawn(plot, "(")).endswith(b"%%EOF\n")


def test_a_disturbed_value_is_hollow_and_hatched_in_the_file_too() -> None:
    bars = next(figure for figure in report_fixture.one_node() if figure.kind == "bars")
    plain, doubted = (drawn(figures.plotly(of), "t") for of in (bars, report_fixture.doubted(bars, "DISTURBED")))
    strokes = [sum(isinstance(s, sheet.Clipped) and len(s.shapes) for s in one.shapes) for one in (plain, doubted)]
    assert strokes[1] > strokes[0] + 5
    hollow = pictures.marks.symbol("square-open", 0, 0, 6, "#0072b2")
    assert (hollow.fill, hollow.stroke) == ("#ffffff", "#0072b2")  # type: ignore[union-attr]


def test_widths_of_letters_are_those_of_the_font() -> None:
    # Adobe's table for Helvetica: W 944, i 222, 5 556, µ and é as u and e.
    assert sheet.width_of("Wi5", 10) == pytest.approx(17.22)
    assert sheet.width_of("é", 1000) == sheet.width_of("e", 1000) == 556


def test_the_picture_in_the_page_is_an_address_without_a_network() -> None:
    address = pictures.embedded(embedded(every()[0]), "Bandwidth", 440, 0.8)
    assert address.startswith("data:image/svg+xml;base64,")


def test_the_ticks_of_a_log_axis_cover_intervals_that_are_far_wider_than_the_values() -> None:
    _, plain = plotted(Axis("bandwidth", "B/s", log=True), [93e6, 146e6])
    _, wide = plotted(Axis("bandwidth", "B/s", log=True), [93e6, 146e6], [1e3, 1e11])
    assert max(plain["tickvals"]) / min(plain["tickvals"]) < 10
    assert (min(wide["tickvals"]), max(wide["tickvals"])) == (1e3, 1e11)
    assert len(wide["tickvals"]) <= 12
