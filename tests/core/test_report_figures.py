"""Figures as files: whole, readable at any size, and with the same marks as in the report."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import drawn_figures
import report_fixture
from golden_runs import copied
from steelyard import doors
from steelyard.errors import UsageError
from steelyard.model import Evaluation
from steelyard.model.figure import Axis, Figure, Mark, Point, Series
from steelyard.show.command_line.cli import app
from steelyard.show.report import figure_files, figures, pictures
from steelyard.show.report.axes import Json, plotted
from steelyard.show.report.drawing import embedded
from steelyard.show.report.forms_of_figures import fitted
from steelyard.show.report.pictures import looks

SVG = "{http://www.w3.org/2000/svg}"
RUN = copied("run-format-2")
LOOK = pictures.Look(85 / 25.4, None, 8)


def every() -> list[Json]:
    full, found = report_fixture.evaluation(), []
    for name, benchmark in full.benchmarks.items():
        mine = tuple(r for r in full.results if r.benchmark == name and r.verdict.level != "INVALID")
        found += [figures.plotly(figure) for figure in benchmark.figures(mine, full.run.machine)]
    further = (*report_fixture.one_node(), report_fixture.long_bars())
    drawable = [figure for figure in further if figure.kind != "table" and (figure.z or figure.series)]
    return found + [figures.plotly(figure) for figure in drawable]


def few() -> Evaluation:
    """An evaluation with two benchmarks."""
    full = report_fixture.evaluation()
    return replace(full, benchmarks=dict(islice(full.benchmarks.items(), 2)))


def draw_all(evaluation: Evaluation, folder: Path, form: str = "svg") -> tuple[Path, ...]:
    return figure_files.write(figure_files.collect(evaluation), folder, form, LOOK)


@pytest.fixture(scope="module")
def names_of_few(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files of its figures, before anything fails."""
    doors.forget()
    return [path.name for path in draw_all(few(), tmp_path_factory.mktemp("few"))]


def curves() -> Figure:
    """Two lines with intervals over logarithmic axes, and a limit."""
    sizes, rates = (1024.0, 4096.0, 16384.0), (1e9, 4e9, 8e9)
    low, high = tuple(0.9 * rate for rate in rates), tuple(1.2 * rate for rate in rates)
    lines = (Series("read", sizes, rates, low, high), Series("write", sizes, (5e8, 2e9, 6e9)))
    x, y = Axis("vector", "B", log=True), Axis("bandwidth", "B/s", log=True)
    return Figure("curves", "Bandwidth", "lines", x, y, lines, marks=(Mark("y", 1e10, "limit of the memory"),))


# --------------------------------------------------------------------------- files


def test_every_figure_of_the_report_is_a_file(tmp_path: Path) -> None:
    evaluation = report_fixture.evaluation()
    made = draw_all(evaluation, tmp_path / "new" / "plots")
    assert [path.name for path in made][:2] == [
        "memory-stream-figure-1-threads.svg",
        "memory-stream-figure-2-kernels.svg",
    ]
    for path in made:
        root = ET.fromstring(path.read_text())
        assert root.tag == f"{SVG}svg"
        assert len(root.findall(f".//{SVG}text")) > 4


DRAWN = """
from steelyard.model.figure import Axis, Figure
from steelyard.show.report import drawing

PLACE, TITLE = 90, "Odd"


def data(evaluation):
    figure = Figure("odd", "Odd", "lines", Axis("threads", ""), Axis("bandwidth", "B/s"), ())
    return [drawing.with_plot("odd", figure, {"data": 3, "layout": {"height": 300}}, (), ())]
"""
CALLED = """
PLACE, TITLE = 90, "Odd"


def data(evaluation):
    raise RuntimeError("broken")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (DRAWN, "TypeError: 'int' object is not iterable"),
        (CALLED, "RuntimeError: broken"),
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
    ],
    ids=["drawn", "called", "imported"],
)
def test_a_page_that_fails_costs_only_its_own_figures(
    code: str,
    reason: str,
    names_of_few: list[str],
    install_wing: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install_wing({"pages/odd.py": code, "pages/odd.html": ""})
    made = draw_all(few(), tmp_path)
    assert [path.name for path in made] == names_of_few
    said = capsys.readouterr().err
    assert said.startswith(f"steelyard: The page 'odd' failed: {reason}"), said
    assert said.count("steelyard: ") == 1
    assert "odd.py" in said


@pytest.mark.long
def test_a_figure_of_a_benchmark_that_fails_is_named(
    names_of_few: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doors.forget()
    evaluation = few()
    name = next(iter(evaluation.benchmarks))

    def fail(results: object, here: object) -> tuple[Figure, ...]:
        raise KeyError("threads")

    broken = replace(evaluation.benchmarks[name], figures=fail)
    made = draw_all(replace(evaluation, benchmarks={**evaluation.benchmarks, name: broken}), tmp_path)
    assert {path.name for path in made} < set(names_of_few)
    assert made
    assert "This figure could not be drawn: KeyError: 'threads'" in capsys.readouterr().err


@pytest.mark.parametrize(("form", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF-"), ("png", b"\x89PNG")])
def test_the_same_figure_is_the_same_file_whenever_it_is_drawn(form: str, start: bytes) -> None:
    plot = embedded(figures.plotly(curves()))
    first, second = (pictures.picture(plot, "Bandwidth", form, LOOK) for _ in range(2))
    assert first == second
    assert first.startswith(start)
    assert b"Date" not in first


def test_a_pdf_has_the_letters_of_its_fonts_in_it() -> None:
    content = pictures.picture(embedded(figures.plotly(curves())), "Bandwidth", "pdf", LOOK)
    fonts = re.findall(rb"/Type /Font\b.*?endobj", content, re.DOTALL)
    assert fonts
    assert content.count(b"/FontFile2") == content.count(b"/Type /FontDescriptor") > 0
    assert b"/Subtype /Type3" not in content


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "millimetres"),
    [
        ([], 170),
        (["--width", "85mm"], 85),
        (["--width", "8.5 cm"], 85),
        (["--width", "3in", "--height", "4in"], 76.2),
        (["--width", "240pt"], 84.667),
    ],
)
def test_a_figure_has_the_width_that_is_asked_for(options: list[str], millimetres: float, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["figure", "--all", str(RUN), "--format", "svg", "-o", str(tmp_path), *options])
    assert told.exit_code == 0, told.exception
    for path in tmp_path.glob("*.svg"):
        root = ET.fromstring(path.read_text())
        width, height = (float(root.attrib[name].removesuffix("pt")) * 25.4 / 72 for name in ("width", "height"))
        assert width == pytest.approx(millimetres, abs=0.01)
        assert "--height" not in options or height == pytest.approx(101.6, abs=0.01)


def test_letters_of_an_svg_are_text_of_the_chosen_size() -> None:
    content = pictures.picture(embedded(figures.plotly(curves())), "t", "svg", pictures.Look(3.3, None, 6)).decode()
    assert ">Bandwidth</text>" in content
    assert re.search(r"\b6px\b", content)
    assert "'DejaVu Sans', 'Verdana', 'Arial', sans-serif" in content


def test_an_unknown_format_of_figures_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no format 'svgz' for figures. Did you mean 'svg'"):
        draw_all(report_fixture.evaluation(), tmp_path, "svgz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--list", "--output", "plots"], "--list writes no file. Leave out --output and --all."),
        (["--all"], "--all needs a folder for the figures. Give it with --output FOLDER."),
        (["solver", "-o", "solver.eps"], "There is no format 'eps' for figures. Known are: pdf, png, svg."),
        (["solver", "--style", "acn"], "There is no style 'acn' (given by --style). Did you mean 'acm'?"),
    ],
)
def test_options_of_figures_that_make_no_sense_are_refused(given: list[str], said: str) -> None:
    found = CliRunner().invoke(app, ["figure", *given])
    assert isinstance(found.exception, UsageError)
    assert said in str(found.exception)


@pytest.mark.parametrize(
    ("width", "said"),
    [
        ("85", "'85' is not a length such as '85mm', '8.5cm', '3.3in' or '240pt' (given by --width)"),
        ("85km", "'85km' is not a length"),
        ("-85mm", "must be positive"),
        ("1mm", "Use a length from 25.4mm to 1000mm"),
        ("2000mm", "Use a length from 25.4mm to 1000mm"),
    ],
)
def test_a_width_that_no_figure_can_have_is_refused(width: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        pictures.read_look("plain", width, None, 8)


# --------------------------------------------------------------------------- matplotlib


# Runs a command, and prints afterwards whether matplotlib was imported.
COMMAND = """
import sys
sys.argv = ["steelyard", *{words!r}]
from steelyard.__main__ import main
try:
    main()
finally:
    print("matplotlib" in sys.modules)
"""


ALL = ("figure", "--all", str(RUN), "--format", "svg", "-o", "plots")


def run_command(folder: Path, *words: str, before: str = "") -> "subprocess.CompletedProcess[str]":
    code = before + COMMAND.format(words=words)
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_without_matplotlib_a_sentence_names_the_extra(tmp_path: Path) -> None:
    hide = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *of: None if name == "matplotlib" else find(name, *of)
"""
    told = run_command(tmp_path, *ALL, before=hide)
    assert told.returncode == 4
    sentence = r"steelyard: Figures as files need .* \(the extra 'figures'\), .* Do: .*matplotlib>=.*\n"
    assert re.fullmatch(sentence, told.stderr)


@pytest.mark.long
def test_the_report_does_not_import_matplotlib(tmp_path: Path) -> None:
    told = run_command(tmp_path, "report", str(RUN), "--output", "report.html")
    assert told.stdout.splitlines() == ["report.html", "False"]


@pytest.mark.long
def test_settings_and_programs_in_the_current_folder_have_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "matplotlibrc").write_text("svg.fonttype: path\nunknown.setting: 1\n")
    (tmp_path / "fc-list").write_text("#!/bin/sh\ntouch started\n")
    (tmp_path / "fc-list").chmod(0o755)
    monkeypatch.setenv("PATH", ".:./")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))  # without a list of fonts
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    told = run_command(tmp_path, *ALL)
    said = told.stderr.replace(
        "Matplotlib is building the font cache; this may take a moment.\n", ""
    )  # on a busy machine
    assert (told.returncode, said, told.stdout.splitlines()[-1]) == (0, "", "True")
    assert all("</text>" in path.read_text() for path in (tmp_path / "plots").glob("*.svg"))
    assert not (tmp_path / "started").exists()


# --------------------------------------------------------------------------- what is drawn


def test_lines_intervals_limits_and_axes_are_those_of_the_figure() -> None:
    figure = drawn_figures.draw(figures.plotly(curves()))
    (axes,) = figure.axes
    measured = [line for line in axes.lines if len(line.get_xdata()) == 3 and line.get_linestyle() != "None"]
    assert [list(line.get_ydata()) for line in measured] == [[1e9, 4e9, 8e9], [5e8, 2e9, 6e9]]
    assert {line.get_color() for line in measured} == {"#0072b2", "#d55e00"}
    assert len({line.get_linestyle() for line in measured}) == 2
    (bars,) = axes.collections  # only the first line has intervals
    ends = [part[:, 1] for part in bars.get_segments()]
    assert [list(part) for part in ends] == [pytest.approx([0.9 * y, 1.2 * y]) for y in (1e9, 4e9, 8e9)]
    limits = [line for line in axes.lines if line.get_color() == looks.NOTE]
    assert [(list(line.get_ydata()), line.get_linestyle()) for line in limits] == [([1e10, 1e10], "--")]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Vector", "Bandwidth")
    assert "1 GB/s" in [label.get_text() for label in axes.get_yticklabels()]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["read", "write"]
    assert [note.get_text() for note in axes.texts] == ["limit of the memory"]


def test_a_linear_axis_has_its_unit_in_its_title_and_begins_at_zero() -> None:
    plot = figures.plotly(replace(curves(), y=Axis("bandwidth", "B/s")))
    (axes,) = drawn_figures.draw(plot).axes
    assert axes.get_ylabel() == "Bandwidth (GB/s)"
    assert axes.get_ylim()[0] == 0


@pytest.mark.long
@pytest.mark.parametrize("width", [85, 170])
def test_no_text_reaches_beyond_its_figure_or_lies_upon_another(width: float) -> None:
    for plot in every():
        figure = drawn_figures.draw(plot, width)
        texts = drawn_figures.level_texts(figure)
        assert len(texts) > 2
        for text, box in texts:
            assert -1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, text
            assert -1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, text
        for (text, box), (other, its) in combinations(texts, 2):
            apart = box.x1 <= its.x0 + 1 or its.x1 <= box.x0 + 1 or box.y1 <= its.y0 + 1 or its.y1 <= box.y0 + 1
            assert apart, (text, other)


def test_a_long_legend_makes_a_figure_higher_than_asked() -> None:
    lines = tuple(Series(f"a long name of the line number {n}", (1.0, 2.0), (1e9, n * 1e9)) for n in range(1, 20))
    figure = drawn_figures.draw(figures.plotly(replace(curves(), series=lines)), 85, 30)
    assert figure.get_figheight() > 60 / 25.4
    assert figure.axes[0].get_window_extent().height > 30


def test_bars_with_long_names_lie_with_the_first_one_at_the_top() -> None:
    (axes,) = drawn_figures.draw(figures.plotly(report_fixture.long_bars())).axes
    lengths = [bar.get_width() for bar in axes.patches]
    assert lengths == pytest.approx([n * lengths[0] for n in range(1, 10)])
    names = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert names == list(report_fixture.long_bars().series[0].x)
    assert axes.yaxis_inverted()
    plot = figures.plotly(report_fixture.long_bars())
    plot["data"].append({**plot["data"][0], "x": [None], "y": [None], "customdata": [""]})  # an entry of the legend
    (axes,) = drawn_figures.draw(plot).axes
    assert "None" not in [label.get_text() for label in axes.get_yticklabels()]


@pytest.mark.parametrize(("count", "lie"), [(9, False), (31, True)])
def test_bars_with_a_limit_have_all_their_names(count: int, lie: bool) -> None:
    bars = report_fixture.long_bars()
    names = tuple(f"kernel{n}" for n in range(count))
    one = replace(bars.series[0], x=names, y=tuple(float(n) for n in range(1, count + 1)), low=(), high=())
    limit = Mark("y", 2.0, "a limit")
    plot = figures.plotly(replace(bars, series=(one,), marks=(limit,)))
    assert plot["layout"]["shapes"]
    figure = drawn_figures.draw(plot, 85)
    (axes,) = figure.axes
    labels = axes.get_yticklabels() if lie else axes.get_xticklabels()
    assert tuple(label.get_text() for label in labels) == names
    ((x, y),) = [(line.get_xdata(), line.get_ydata()) for line in axes.lines if line.get_linestyle() == "--"]
    assert [*(x if lie else y)] == [2.0, 2.0]
    assert "a limit" in dict(drawn_figures.level_texts(figure))


def test_labels_of_points_that_are_close_give_way_to_each_other() -> None:
    figure = report_fixture.stream_figures(report_fixture.stream(), report_fixture.machine())[0]
    near = tuple(Point(2.0, 4e10 * (1 + n / 100), f"n½ {n}") for n in range(4))
    texts = drawn_figures.level_texts(drawn_figures.draw(figures.plotly(replace(figure, points=near))))
    lows = sorted(box.y0 for text, box in texts if text.startswith("n½"))
    assert len(lows) == 4
    assert all(higher - lower > 8 for lower, higher in pairwise(lows))


def test_names_of_values_and_of_lines_give_way_to_each_other() -> None:
    plot = figures.plotly(replace(curves(), marks=()))
    for trace, name in zip(plot["data"], ("reading", "writing"), strict=True):
        trace |= {"mode": "markers+text", "y": [2e9, 4e9, 4.01e9], "text": ["", "", name]}
    plot["layout"]["annotations"] = [{"x": 4.22, "y": 9.61, "text": "product 4", "showarrow": False, "xanchor": "left"}]
    texts = dict(drawn_figures.level_texts(drawn_figures.draw(plot)))
    for one, other in combinations(("reading", "writing", "product 4"), 2):
        assert not texts[one].overlaps(texts[other])


@pytest.mark.long
def test_hostile_names_are_text_in_a_figure() -> None:
    plot = figures.plotly(curves())
    plot["data"][0]["name"] = "&lt;script&gt;alert(1)&lt;/script&gt; $\\frac{$ (x) \\"
    text = pictures.picture(embedded(plot), "<script>", "svg", pictures.Look(7, None, 8)).decode()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "$\\frac{$" in text
    assert pictures.picture(embedded(plot), "(", "pdf", LOOK).rstrip().endswith(b"%%EOF")


def test_a_disturbed_value_is_hollow_and_hatched_in_the_file_too() -> None:
    bars = next(figure for figure in report_fixture.one_node() if figure.kind == "bars")
    doubted = report_fixture.doubted(bars, "DISTURBED")
    plain, hatched = ({bar.get_hatch() for bar in _axes(figure).patches} for figure in (bars, doubted))
    assert plain == {""}
    assert any(hatched - {""})
    axes = _axes(report_fixture.doubted(curves(), "DISTURBED"))
    fills = {line.get_markerfacecolor() for line in axes.lines if line.get_marker() in {"o", "s"}}
    assert "white" in fills


def _axes(figure: Figure):
    return drawn_figures.draw(figures.plotly(figure)).axes[0]


def test_the_ticks_of_a_log_axis_cover_intervals_that_are_far_wider_than_the_values() -> None:
    _, plain = plotted(Axis("bandwidth", "B/s", log=True), [93e6, 146e6])
    _, wide = plotted(Axis("bandwidth", "B/s", log=True), [93e6, 146e6], [1e3, 1e11])
    assert max(plain["tickvals"]) / min(plain["tickvals"]) < 10
    assert (min(wide["tickvals"]), max(wide["tickvals"])) == (1e3, 1e11)
    assert len(wide["tickvals"]) <= 12


@pytest.mark.parametrize(
    ("title", "counts", "log"),
    [
        ("threads", (1, 2, 16), True), ("ranks", (2, 4, 8, 16, 28), True), ("threads", (1, 2), False),
        ("threads", (1, 2, 4), False), ("threads", tuple(range(1, 17)), False), ("message", (1, 2, 16), False),
    ],
)  # fmt: skip
def test_counts_that_double_are_on_a_logarithmic_axis(title: str, counts: tuple[float, ...], log: bool) -> None:
    line = Series("triad", counts, tuple(1e9 for _ in counts))
    drawn = Figure("triad", "Triad", "lines", Axis(title), Axis("bandwidth", "B/s"), (line,))
    assert fitted(drawn).x.log == log
