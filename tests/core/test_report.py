"""The report: one file, nothing loaded, nothing hostile let through, no number without unit and verdict."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import builders
import drawn_figures
import report_fixture
from builders import measured
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import published
from steelyard.model import Evaluation, Finding, Level, Record, Result, Scalar, Setting
from steelyard.model.evidence import sentence
from steelyard.model.figure import Axis, Band, Figure, Point, Series
from steelyard.show import report
from steelyard.show.report import (
    doubtful_values,
    figures,
    headline,
    published_lines,
    reasons,
    sentences,
    terminal,
    values,
)
from steelyard.show.report.axes import Json, log_ticks, scale, tick
from steelyard.show.report.forms_of_figures import fitted
from steelyard.show.report.names import grouped
from steelyard.show.report.pages import benchmark as benchmark_page
from steelyard.show.report.pages.machine import settings
from steelyard.show.report.pages.provenance import time_account
from steelyard.show.report.run_figures import graded_result
from steelyard.statistics.validity import trust


class Page(HTMLParser):
    """The elements of a page in their order, with their attributes and the text directly inside them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data

    def of(self, tag: str, style: str = "") -> list[str]:
        """The texts of the elements of that tag which have the class `style`."""
        return [
            text
            for (found, attributes), text in zip(self.elements, self.texts, strict=True)
            if found == tag and (not style or style in attributes.get("class", "").split())
        ]


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return report_fixture.evaluation()


@pytest.fixture(scope="module")
def html(evaluation: Evaluation) -> str:
    return report.render(evaluation)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_there_is_one_file_of_less_than_five_megabytes(evaluation: Evaluation, tmp_path: Path) -> None:
    path = report.write(evaluation, tmp_path / "report.html")
    assert [found.name for found in path.parent.iterdir()] == ["report.html"]
    assert 1e5 < path.stat().st_size < 5e6


def test_each_page_is_there_once_and_every_anchor_leads_somewhere(page: Page, evaluation: Evaluation) -> None:
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    benchmarks = [name.replace(".", "-") for names in grouped(evaluation.benchmarks).values() for name in names]
    assert len(benchmarks) == len(evaluation.benchmarks)
    assert sections == ["overview", "verdict", "findings", "machine", *benchmarks, "method", "glossary", "provenance"]
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert {link for link in links if link.removeprefix("#") not in identities} == set()


def test_benchmarks_stand_under_the_headings_of_their_groups_from_the_memory_outwards() -> None:
    names = ["mine.own", "application.npb_cg", "memory.latency", "memory.stream"]
    assert list(grouped(names).items()) == [
        ("Memory", ("memory.latency", "memory.stream")),
        ("Applications", ("application.npb_cg",)),
        ("Mine", ("mine.own",)),
    ]


def test_each_benchmark_shows_its_reading_its_caution_and_its_source(page: Page, evaluation: Evaluation) -> None:
    text = " ".join(page.texts)
    for benchmark in evaluation.benchmarks.values():
        for part in (
            benchmark.summary,
            *benchmark.reading.split("\n\n"),
            benchmark.caution,
            benchmark.source,
        ):
            assert part in text


def test_nothing_is_loaded_from_anywhere(html: str, page: Page) -> None:
    for tag, attributes in page.elements:
        assert attributes.get("src", "data:").startswith("data:image/svg+xml;base64,") or "src" not in attributes
        for name in ("srcset", "data", "action", "poster"):
            assert name not in attributes, f"<{tag} {name}=…>"
        assert attributes.get("href", "#").startswith(("#", "data:"))
    style = re.search(r"<style>(.*?)</style>", html, re.S)
    assert style
    assert not re.search(r"url\(|@import", style[1])
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy


def test_every_table_has_a_caption_and_every_heading_says_what_it_heads(html: str, page: Page) -> None:
    tables = re.findall(r"<table.*?</table>", html, re.S)
    assert len(tables) > 15
    for table in tables:
        assert re.match(r'<table[^>]*>\s*<caption class="hidden">[^<]+</caption>', table), table[:200]
    headings = [attributes for tag, attributes in page.elements if tag == "th"]
    assert {heading.get("scope") for heading in headings} == {"col", "row"}


def test_hostile_strings_are_shown_and_not_obeyed(html: str, page: Page) -> None:
    assert report_fixture.HOSTILE not in html
    assert "alert(1)" in page.of("h1")[0]
    kinds = [attributes.get("type", "") for tag, attributes in page.elements if tag == "script"]
    assert sorted(set(kinds)) == ["", "application/json", "application/octet-stream"]
    assert kinds.count("") == 1
    for data in page.of("script", "figure-data"):
        assert "<" not in data
        json.loads(data)


def test_names_in_a_figure_are_not_markup_for_plotly() -> None:
    figure = Figure("f", "f", "lines", Axis("x"), Axis("y"), (Series('<a href="x">', (1.0,), (2.0,)),))
    trace = figures.plotly(figure)["data"][0]
    assert trace["name"] == '&lt;a href="x"&gt;'
    assert "<" not in trace["customdata"][0]


def test_every_value_of_the_results_carries_its_unit(page: Page) -> None:
    shown = [text.strip() for text in page.of("span", "value")]
    assert len(shown) > 100
    for text in shown:
        assert re.search(r"\d (?:[kMGnµm]?(?:B/s|s)|cycles|%)$", text), text


@pytest.mark.parametrize(("level", "sign", "count"), [("DISTURBED", "▲", 2), ("UNSETTLED", "◐", 3)])
def test_a_value_that_cannot_be_relied_on_is_never_a_plain_number(
    html: str, evaluation: Evaluation, level: str, sign: str, count: int
) -> None:
    rows = re.findall(rf'<tr class="{level.lower()}">.*?</tr>', html, re.S)
    assert len(rows) == count
    for row in rows:
        assert row.count(f'class="lamp {level.lower()}"') == 1
        assert row.count('<span class="value">') == row.count(f'{sign}</span> <span class="value">') > 0
        assert "-note-" in row
    value = next(r for r in evaluation.results if r.verdict.level == level).metrics["bandwidth"].value
    number = values.quantity(value, "B/s")
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.S)
    places = [(match.start(), match.end()) for match in re.finditer(re.escape(number), body)]
    assert places
    for start, end in places:
        before, after = re.sub(r"<[^>]*>", "", body[start - 60 : start]), re.sub(r"<[^>]*>", "", body[end : end + 80])
        assert before.rstrip().endswith(sign) or level in after


def test_evidence_is_shown_in_three_sentences_a_result_and_the_rest_folded(html: str) -> None:
    found = re.search(r'<li value="1" id="memory-apexmap-note-1">(.*?)</li>', html, re.S)
    assert found
    shown, folded = found[1].split("<details", 1)
    assert re.findall(r"<b>(.*?):</b>", shown) == ["competing load", "core clock", "autocorrelation"]
    assert "4 more" in folded
    assert folded.count("<b>") == 4


def test_many_footnotes_are_folded_and_each_link_leads_to_its_own(evaluation: Evaluation) -> None:
    crowd = tuple(
        replace(r, verdict=builders.verdict_of("DISTURBED", f"drift: by {number} %."))
        for number, r in enumerate(report_fixture.apexmap())
    )
    html = report.render(replace(evaluation, results=crowd))
    shown, folded = html.split('<details class="evidence"><summary>Evidence of 85 more results', 1)
    assert shown.count("<b>drift:</b>") == 5
    assert folded.count("<b>drift:</b>") == 85
    assert html.count('href="#memory-apexmap-note-60"') == html.count('id="memory-apexmap-note-60"') == 1


def test_the_note_below_a_figure_counts_the_disturbed_values_and_names_their_kinds(html: str) -> None:
    notes = re.findall(r'<span class="mark">(.*?)</span>', html)
    assert (
        "1 of 90 values is DISTURBED (competing load, core clock). A dagger (†) marks it. "
        "The table of results shows all the evidence."
    ) in notes
    assert not any("in 26 of 513 samples" in note for note in notes)


def test_unsettled_values_are_counted_below_a_figure_on_their_own(html: str) -> None:
    notes = re.findall(r'<span class="mark">(.*?)</span>', html)
    end = "The table of results shows all the evidence."
    assert "1 of 90 values is UNSETTLED (interval). A half circle (◐) marks it." in notes
    assert f"1 of 34 values is UNSETTLED (interval). Wide, thin hollow marks show it. {end}" in notes
    assert "1 of 11 values is UNSETTLED (interval). Wide, thin hollow marks show it." in notes
    assert "Some results of this benchmark are UNSETTLED. See the table." in notes


def test_what_did_not_matter_is_no_reason_for_an_unsettled_result() -> None:
    harmless = builders.verdict_of("CLEAN", "interrupts: 3 in all; too few to move the median.")
    seen = builders.triad(1e10, level="UNSETTLED")
    bare = measured(seen, records=tuple(replace(r, verdict=harmless) for r in seen.records))
    assert values.why(bare) == "Too little is known to rely on it. The record gives no reason."
    assert values.evidence(replace(bare, verdict=report_fixture.UNSETTLED)) == report_fixture.UNSETTLED.evidence


def test_the_contents_bear_the_sign_of_the_least_trusted_result_of_each_benchmark(html: str) -> None:
    contents = html.split('<nav id="contents"', 1)[1].split("</nav>", 1)[0]
    signs = dict(re.findall(r'href="#(memory-[a-z]+)">[^<]*(?:<span class="dot [a-z]+" title="[^"]*">(.)<)?', contents))
    assert signs == {"memory-stream": "✕", "memory-apexmap": "▲", "memory-latency": "◐", "memory-placement": ""}


def test_the_method_says_what_each_verdict_means(html: str) -> None:
    page = html.split("<h2>The verdicts</h2>", 1)[1]
    for level in trust.ORDER:
        assert re.search(rf'<dt><span class="lamp {level.lower()}">{level}</span></dt><dd>.{{20,}}</dd>', page)


def test_kinds_of_evidence_are_counted_by_result_and_shown_before_repetitions() -> None:
    told = report_fixture.CROWDED.evidence
    assert reasons.kinds(told) == ("competing load", "core clock", "autocorrelation")
    assert reasons.kinds(report_fixture.DISTURBED.evidence) == ()
    other = builders.verdict_of("CLEAN", "core clock: it rose.").evidence
    assert reasons.frequent([told, told, other]) == (("core clock", 3), ("competing load", 2))
    first, more = reasons.folded(told)
    assert (len(first), len(more)) == (3, 4)
    assert sorted(map(sentence, (*first, *more))) == sorted(map(sentence, told))


def test_a_stretch_of_the_axis_is_shaded_and_named() -> None:
    line = Series("a", (1024.0, 1048576.0), (1.0, 2.0))
    band = Band(32768.0, 131072.0, "both buffers in L2")
    for log in (True, False):
        figure = Figure("f", "f", "lines", Axis("message", "B", log=log), Axis("y"), (line,), bands=(band,))
        layout = figures.plotly(figure)["layout"]
        shape, note = layout["shapes"][0], layout["annotations"][0]
        assert shape["x1"] / shape["x0"] == 4
        assert note["text"] == "both buffers in L2"
        middle = 10 ** note["x"] if log else note["x"]
        assert shape["x0"] < middle < shape["x1"]


def test_a_disturbed_point_and_an_unsettled_one_have_their_own_marks_in_the_figure(evaluation: Evaluation) -> None:
    results = values.of_benchmark(evaluation, "memory.stream")
    usable = tuple(r for r in results if r.verdict.level != "INVALID")
    figure = report_fixture.stream_figures(tuple(map(graded_result, usable)), evaluation.run.machine)[0]
    plot = figures.plotly(figure)
    traces = {trace["name"]: trace for trace in plot["data"]}
    assert traces["triad"]["marker"]["symbol"] == ["triangle-up", "triangle-up-open", "triangle-up"]
    assert traces["add"]["marker"]["symbol"] == ["diamond", "diamond-open", "diamond"]
    assert [traces[name]["marker"]["size"] for name in ("copy", "triad", "add")] == [[7] * 3, [7, 11, 7], [7, 16, 7]]
    assert traces["triad"]["customdata"][1].endswith(" (DISTURBED)")
    assert traces["add"]["customdata"][1].endswith(" (UNSETTLED)")
    assert not any("-open" in symbol for symbol in traces["copy"]["marker"]["symbol"])


def test_of_equal_values_in_a_figure_each_has_its_own_verdict() -> None:
    levels: list[Level] = ["DISTURBED", "UNSETTLED", "CLEAN", "DISTURBED"]
    series = Series("s", ("a", "b", "c", "d"), tuple(doubtful_values.graded(1.0, level) for level in levels))
    trace = figures.plotly(Figure("f", "f", "bars", Axis("x"), Axis("y"), (series,)))["data"][0]
    assert trace["marker"]["pattern"]["shape"] == ["/", ".", "", "/"]
    assert [said.rpartition(" (")[2] for said in trace["customdata"]][:2] == ["DISTURBED)", "UNSETTLED)"]
    assert doubtful_values.notes(levels, "values", "bars") == (
        "1 of 4 values is UNSETTLED. Dotted bars show it.",
        "2 of 4 values are DISTURBED. Hatched bars show them.",
    )


def test_an_invalid_result_shows_its_reason_and_no_number(html: str, evaluation: Evaluation) -> None:
    row = re.search(r'<tr class="invalid">.*?</tr>', html, re.S)
    assert row
    assert "INVALID" in row[0]
    assert "a[17] is 0" in row[0]
    value = next(r for r in evaluation.results if r.verdict.level == "INVALID").metrics["bandwidth"].value
    assert values.quantity(value, "B/s") not in html
    assert repr(value / 1e9) not in html


def test_a_run_without_results_has_a_report_too() -> None:
    html = report.render(report_fixture.empty())
    page = Page(html)
    assert "This run has no results" in " ".join(page.texts)
    assert len(page.of("section")) == 6 + len(report_fixture.benchmarks())
    assert not page.of("div", "plot")
    assert len(html) < 2e5, "the drawing library is only there when something is drawn"


def test_a_run_that_knows_nothing_of_its_machine_has_a_report_too() -> None:
    full = report_fixture.empty()
    bare = replace(
        full.run.machine,
        processor="", cores=(), nodes=(), caches=(), modules=(), settings=(), limits={}, notes=(),
        memory=0, memory_available=0, fma_width=None, fma_units=None, compilers=(),
    )  # fmt: skip
    html = report.render(replace(full, run=replace(full.run, machine=bare), benchmarks={}))
    assert "Steelyard does not know the limits of this machine" in html


def test_a_benchmark_whose_figures_fail_does_not_take_the_report_with_it(evaluation: Evaluation) -> None:
    def broken(results: object, machine: object) -> tuple[Figure, ...]:
        raise KeyError("threads")

    bad = replace(evaluation.benchmarks["memory.stream"], figures=broken)
    html = report.render(replace(evaluation, benchmarks={**evaluation.benchmarks, "memory.stream": bad}))
    assert "This figure could not be drawn: KeyError" in html
    assert "The latency ladder" in html


def test_the_verdict_is_five_sentences_made_from_the_results(evaluation: Evaluation) -> None:
    machine, trust, memory, locality, advice = sentences.sentences(evaluation)
    assert "4 cores in 2 sockets and 2 NUMA nodes, with 32 GiB" in machine
    assert "51.9 GB/s (4 threads), 76 % of the limit of 68.3 GB/s" in memory
    assert "306 cycles at the worst locality (G) and 1.20 cycles at the best (L, access in order)" in locality
    assert locality.endswith("Triad is tolerant: with 4 threads an operation costs 0.28 of what it costs with one.")
    assert (
        "Of 140 results, 134 are CLEAN and reliable, 3 UNSETTLED, 2 DISTURBED and 1 INVALID. These are marked " in trust
    )
    assert trust.endswith("UNSETTLED results were not disturbed, but too few data are known to rely on them.")
    assert "Scale with 4 threads computed a wrong result" in advice


def test_a_headline_that_was_disturbed_says_so(evaluation: Evaluation) -> None:
    marked = tuple(
        replace(r, verdict=report_fixture.DISTURBED) if r.benchmark == "memory.stream" else r
        for r in evaluation.results
    )
    disturbed = replace(evaluation, results=marked)
    assert "51.9 GB/s DISTURBED" in sentences.sentences(disturbed)[2]
    assert "The memory itself is the limit" not in sentences.sentences(disturbed)[-1]


def test_all_of_it_in_the_terminal_is_the_same_in_short(evaluation: Evaluation) -> None:
    out = StringIO()
    terminal.show(evaluation, Console(file=out, width=120, no_color=True))
    text = out.getvalue()
    for word in (
        "● CLEAN",
        "◐ UNSETTLED",
        "▲ DISTURBED",
        "✕ INVALID",
        "✕ SERIOUS",
        "95 % interval",
        "76 %",
        "51.9 GB/s",
    ):
        assert word in text
    assert report_fixture.HOSTILE in text
    assert text.count("  memory.") == len(evaluation.benchmarks)
    assert len(text.splitlines()) < 120


def test_the_terminal_obeys_neither_escape_sequences_nor_markup(evaluation: Evaluation) -> None:
    machine = replace(evaluation.run.machine, host="\x1b[31mred[bold]x")
    out = StringIO()
    hostile = replace(evaluation, run=replace(evaluation.run, machine=machine))
    terminal.show(hostile, Console(file=out, width=120, no_color=True))
    assert "\x1b" not in out.getvalue()
    assert "[bold]x" in out.getvalue()


def test_a_report_that_cannot_be_written_names_the_place(evaluation: Evaluation, tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(UsageError, match="cannot be written to .*file' is a file"):
        report.write(evaluation, occupied / "report.html")
    with pytest.raises(UsageError, match="missing' does not exist"):
        report.write(evaluation, tmp_path / "missing" / "report.html")
    with pytest.raises(MachineFailed, match="could not be written to '/dev/full': No space left"):
        report.write(evaluation, Path("/dev/full"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_figures_have_units_limits_and_marked_corners(evaluation: Evaluation) -> None:
    machine = evaluation.run.machine
    threads = figures.plotly(report_fixture.stream_figures(report_fixture.stream(), machine)[0])
    assert threads["layout"]["yaxis"]["title"]["text"] == "Bandwidth (GB/s)"
    assert threads["layout"]["shapes"][0]["y0"] == pytest.approx(68.3)
    assert threads["layout"]["yaxis"]["rangemode"] == "tozero"
    surface, heat, _ = report_fixture.apexmap_figures(report_fixture.apexmap(), machine)
    assert figures.plotly(heat)["data"][0]["text"][-1][0].startswith("G 306")
    assert {note["text"] for note in figures.plotly(surface)["layout"]["scene"]["annotations"]} == {
        "<b>G</b>",
        "<b>L</b>",
    }


def test_published_systems_are_off_and_stand_below_the_figure_with_their_source(html: str) -> None:
    figure = report_fixture.apexmap_figures(report_fixture.apexmap(), report_fixture.machine())[2]
    plot = figures.plotly(figure)
    lines = [trace for trace in plot["data"] if "published" in trace["meta"]]
    assert len(lines) == 3
    assert not any(trace["visible"] for trace in lines)
    assert [trace["meta"]["colour"] for trace in lines] == [1, 2, 3]
    assert not plot["layout"]["showlegend"], "one line of its own needs no legend"
    assert plot["layout"]["xaxis"]["tickvals"] == [1, 2, 4]
    assert max(plot["beside"]["xaxis"]["tickvals"]) == 16
    found = published_lines.systems(figure.series)
    assert (found[0].name, len(found[0].lines)) == ("4x AMD 8350 Barcelona", 1)
    assert all(system.source == published.SOURCES["000"] for system in found)
    box = f'<input type="checkbox" value="{found[0].lines[0].series}">'
    assert box in html.partition('id="memory-apexmap-figure-3-g-threads"')[2].partition("</figure>")[0]
    assert "checked" not in "".join(re.findall(r"<input[^>]*>", html))


def test_every_figure_of_a_machine_with_one_node_can_be_drawn() -> None:
    for figure in report_fixture.one_node():
        plot = figures.plotly(report_fixture.doubted(figure, "DISTURBED"))
        json.dumps(plot, allow_nan=False)
        layout = plot["layout"]
        for name in ("xaxis", "yaxis"):
            axis, mine = layout[name], [v for trace in plot["data"] for v in trace[name[0]] if v is not None]
            assert len(axis.get("tickvals", ())) <= 20, f"{figure.name}: {name}"
            if axis.get("type") == "log":
                assert all(value > 0 for value in mine), figure.name
                assert not mine or axis["tickvals"], f"{figure.name}: {name} has no tick"
        for trace in plot["data"]:
            assert trace.get("zmin") is None or trace["zmin"] < trace["zmax"], figure.name


def test_a_map_of_one_cell_is_a_sentence_and_a_figure_without_values_says_so(evaluation: Evaluation) -> None:
    declared = evaluation.benchmarks["memory.placement"]
    alone = replace(declared, figures=lambda results, machine: report_fixture.one_node())
    page = Page(report.render(replace(evaluation, benchmarks={"memory.placement": alone})))
    assert [text.strip() for text in page.of("p", "single")] == [
        "Bandwidth: 9.36 GB/s (memory of node 0, processors of node 0).",
        "Cost of an access: 56.3 cycles (G).",
        "No value was measured for this figure.",
        "No value was measured for this figure.",
    ]
    assert len(page.of("div", "plot")) == 4


def test_bars_have_their_limit_as_a_line_and_disturbed_ones_are_hatched() -> None:
    bars = next(figure for figure in report_fixture.one_node() if figure.kind == "bars")
    plot = figures.plotly(report_fixture.doubted(bars, "DISTURBED"))
    assert plot["layout"]["shapes"][0]["y0"] == pytest.approx(25.6)
    assert plot["data"][0]["marker"]["pattern"]["shape"] == ["/"]
    rough = figures.plotly(report_fixture.doubted(bars, "UNSETTLED"))
    assert rough["data"][0]["marker"]["pattern"]["shape"] == ["."]


def test_a_logarithmic_axis_has_several_ticks_however_short_it_is() -> None:
    cycles = Axis("Cost of an access", "cycle", log=True)
    for low, high in ((27.0, 57.0), (1.0, 1.0), (2.0, 70.0), (1e-9, 3e-7), (0.1, 2000.0)):
        ticks = log_ticks([low, high], cycles)
        assert (2 if low < high else 1) <= len(ticks) <= 12
        assert ticks == sorted(set(ticks))


def in_view(plot: Json) -> list[str]:
    """The labels of the vertical axis that are shown, without a browser."""
    (axes,) = drawn_figures.draw(plot).axes
    low, high = axes.get_ylim()
    return [label.get_text() for label in axes.get_yticklabels() if low <= label.get_position()[1] <= high]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("unit", "values"),
    [
        ("1/s", (3.05e9, 3.3e9)),
        ("s", (1.01e-7, 1.02e-7)),
        ("cycle", (56.3, 56.3)),
        ("B", (65536, 65536)),
        ("", (2, 2)),
        ("", (1, 1)),
        ("B/s", (9.9e9, 1.01e10)),
        ("%", (0.031, 0.036)),
        ("x", (1.7, 1.9)),
        ("W", (120.0, 148.0)),
    ],
)
def test_an_axis_has_two_ticks_in_view_however_close_its_values_are(unit: str, values: tuple[float, float]) -> None:
    for low, high in ((), ()), (tuple(v * 0.9 for v in values), tuple(v * 1.1 for v in values)):
        line = Series("a", (1.0, 2.0), values, low, high)
        other = Series("b", (1.0, 2.0), values)
        plot = figures.plotly(Figure("f", "f", "lines", Axis("n"), Axis("y", unit, log=True), (line, other)))
        labels = in_view(plot)
        assert len(set(labels)) >= 2
        ends = plot["layout"]["yaxis"].get("range")
        assert not (ends and low) or ends[0] < math.log10(min(low)) < math.log10(max(high)) < ends[1]


def test_a_map_of_shares_that_are_mostly_0_is_in_per_cent() -> None:
    rows = ((0.0, 0.0, 0.8), (0.0, 0.0, 0.4))
    share = Figure("f", "f", "heat", Axis("x"), Axis("y"), z=rows, columns=(1, 2, 3), rows=(1, 2), value=Axis("w", "%"))
    assert figures.plotly(share)["data"][0]["z"][0] == [0, 0, 80]


def test_a_parameter_that_repeats_the_kernel_has_no_second_column() -> None:
    results = [
        report_fixture.result("memory.stream", k, {"kernel": k, "threads": 1}, {"bandwidth": (1e9, "B/s", "higher")})
        for k in ("copy", "triad")
    ]
    run = replace(report_fixture.evaluation(), results=tuple(results))
    assert [table.parameters for table in benchmark_page.data(run, "memory.stream").tables] == [("kernel",)]


def test_a_map_of_one_row_or_one_column_is_a_line_over_the_other_axis() -> None:
    value, x, y = Axis("time", "s"), Axis("block", "B", log=True), Axis("ranks")
    row = Figure("f", "Broadcast", "heat", x, y, z=((1e-6, None, 3e-6),), columns=(8, 64, 512), rows=(2,), value=value)
    found = fitted(row)
    assert (found.kind, found.title, found.x, found.y) == ("lines", "Broadcast (ranks: 2)", x, value)
    assert (found.series[0].x, found.series[0].y) == ((8, 64, 512), (1e-6, None, 3e-6))
    column = replace(row, z=((1e-6,), (2e-6,)), columns=("near",), rows=(2, 4), points=(Point("near", 4, "L"),))
    found = fitted(column)
    assert (found.kind, found.title, found.series[0].x) == ("lines", "Broadcast (block: near)", (2, 4))
    assert found.points == (Point(4, 2e-6, "L"),)
    assert fitted(replace(row, kind="surface", columns=("a", "b", "c"))).kind == "bars"
    whole = replace(row, z=((1.0, 2.0), (3.0, 4.0)), columns=(8, 64), rows=(2, 4))
    assert fitted(whole) is whole


def test_lines_that_were_measured_at_one_place_are_bars_and_a_lone_one_is_a_sentence(evaluation: Evaluation) -> None:
    lines = tuple(Series(n, (2.0,), (v,), (v * 0.9,), (v * 1.1,)) for n, v in (("threads", 3.0e9), ("MPI", 3.3e9)))
    figure = Figure("f", "Speed", "lines", Axis("ranks", log=True), Axis("speed", "op/s", log=True), lines)
    bars = fitted(figure)
    assert (bars.kind, bars.title, bars.y.log) == ("bars", "Speed (ranks: 2)", False)
    assert (bars.series[0].x, bars.series[0].y) == (("threads", "MPI"), (3.0e9, 3.3e9))
    steep = replace(figure, series=(lines[0], Series("MPI", (2.0,), (3e6,))))
    assert fitted(steep).y.log
    beside = replace(figure, series=(*lines, Series("theirs", (1.0, 16.0), (1e9, 2e9), published=True)))
    assert fitted(beside) is beside
    declared = replace(
        evaluation.benchmarks["memory.placement"], figures=lambda r, m: (replace(figure, series=lines[:1]),)
    )
    page = Page(report.render(replace(evaluation, benchmarks={"memory.placement": declared})))
    assert [text.strip() for text in page.of("p", "single")] == [
        "Speed: 3.00 Gop/s, 95 % interval 2.70 Gop/s to 3.30 Gop/s (threads)."
    ]


def test_points_that_are_no_trend_are_not_joined_and_gaps_stay_gaps() -> None:
    series = Series("s", (1.0, 2.0, 3.0), (1.0, None, float("nan")), connected=False)
    trace = figures.plotly(Figure("f", "f", "lines", Axis("x"), Axis("y", "s"), (series,)))["data"][0]
    assert trace["mode"] == "markers"
    assert trace["y"] == [1.0, None, None]


def test_a_share_is_never_written_as_a_power_of_ten() -> None:
    assert [values.percent(part) for part in (0.042, 0.76, 0.998, 1.03)] == ["4.2 %", "76 %", "99.8 %", "103 %"]
    assert values.percent(None) == ""


def test_a_prefix_is_found_for_every_size_of_value() -> None:
    assert scale(3.05e10, "B/s") == (1e9, "GB/s")
    assert scale(9.5e-8, "s") == (1e-9, "ns")
    assert scale(306.0, "cycle") == (1.0, "cycle")
    assert scale(0.0, "s") == (1.0, "s")
    assert tick(0.05, Axis("α")) == "0.05"
    assert tick(1e-8, Axis("time", "s")) == "10 ns"
    assert tick(65536, Axis("size", "B")) == "64 KiB"


def test_published_numbers_are_read_in_si_units() -> None:
    full = published.select("memory.stream", "triad_bandwidth", placement="full_system")
    assert [(entry.value, entry.unit) for entry in full] == [(116e9, "B/s")]
    assert {entry.source for entry in published.shipped()} <= set(published.SOURCES)


def test_a_malformed_published_number_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    heading = "source,system,benchmark,metric,unit,value,parameters,note\n"
    path.write_text(heading + "000,a,stream,bandwidth,furlong,1,,\n")
    with pytest.raises(MachineFailed, match=r"line 2.*furlong"):
        published.read(path)


def test_results_with_different_main_metrics_stand_in_tables_of_their_own(evaluation: Evaluation) -> None:
    both = report_fixture.placement() + tuple(
        report_fixture.result("memory.placement", "chase", {"cpu_node": n}, {"latency": (9e-8, "s", "lower")})
        for n in (0, 1)
    )
    declared = evaluation.benchmarks["memory.placement"]
    latency = report_fixture.metric("latency", "s", "lower", "Latency")
    placement = replace(declared, metrics=(*declared.metrics, latency), figures=lambda results, machine: ())
    html = report.render(replace(evaluation, results=both, benchmarks={"memory.placement": placement}))
    first, second = re.findall(r'<table class="results.*?</table>', html, re.S)
    assert "28.1 GB/s" in first
    assert "90.0 ns" not in first
    assert "90.0 ns" in second
    assert "–</td>" not in first + second


def test_the_headlines_are_what_a_newcomers_program_meets(evaluation: Evaluation) -> None:
    def triad(pinning: str, stores: str, rate: float) -> Result:
        parameters = {"threads": 4, "pinning": pinning, "stores": stores, "elements": 16_777_216}
        return report_fixture.result("memory.stream", "triad", parameters, {"bandwidth": (rate, "B/s", "higher")})

    def chase(page_size: str, seconds: float) -> Result:
        parameters = {"threads": 1, "chains": 1, "bytes": 1 << 28, "page_size": page_size}
        return report_fixture.result("memory.latency", "chase", parameters, {"latency": (seconds, "s", "lower")})

    results = (
        triad("compact", "ordinary", 40e9), triad("compact", "streaming", 50e9), triad("none", "streaming", 60e9),
        chase("transparent", 9e-8), chase("default", 1.4e-7),
    )  # fmt: skip
    first, second = headline.headlines(replace(evaluation, results=results))[:2]
    assert (first.shown.value, first.conditions) == ("50.0 GB/s", "pinned compact, streaming stores, 4 threads")
    assert (second.shown.value, second.conditions) == ("140 ns", "default pages")


def test_the_best_locality_is_the_best_over_accumulators(evaluation: Evaluation) -> None:
    def corner(accumulators: int, cycles: float, **changed: Scalar) -> Result:
        parameters = {"threads": 1, "L": 65536, "alpha": 0.001, "accumulators": accumulators, **changed}
        verdict = report_fixture.DISTURBED if accumulators == 32 else report_fixture.CLEAN
        return report_fixture.result(
            "memory.apexmap", "gather", parameters, {"cycles": (cycles, "cycle", "lower")}, verdict
        )

    only = {"memory.apexmap": evaluation.benchmarks["memory.apexmap"]}
    bound = replace(
        evaluation, benchmarks=only, findings=(), results=(corner(1, 3.9), corner(8, 0.5), corner(32, 0.23))
    )
    (found,) = headline.headlines(bound)
    assert (found.title, found.shown.marked, found.conditions) == (
        "Access in order (L)",
        "0.230 cycles DISTURBED",
        "access in order, 32 accumulators",
    )
    # What is no corner does not bear its name.
    inside = replace(bound, results=tuple(corner(n, 2.0, L=64, alpha=0.5) for n in (1, 32)))
    assert [one.title for one in headline.headlines(inside)] == ["Locality"]


def test_a_figure_that_a_finding_doubts_says_so_where_it_stands(evaluation: Evaluation) -> None:
    doubt = Finding("efficiency", "notice", "More than the limit.", (), "", "", "memory.stream", 1.2, "figures")
    triad, latency, *_ = headline.headlines(replace(evaluation, findings=(doubt,)))
    assert (triad.doubted, latency.doubted) == (True, False)
    html = report.render(replace(evaluation, findings=(doubt,)))
    assert html.count("▲ IN DOUBT") == 1


def test_vectors_that_fit_a_cache_are_no_memory(evaluation: Evaluation) -> None:
    small = report_fixture.result(
        "memory.stream", "triad", {"threads": 1, "elements": 20_000}, {"bandwidth": (9e10, "B/s", "higher")}
    )
    only = {"memory.stream": evaluation.benchmarks["memory.stream"]}
    (found,) = headline.headlines(replace(evaluation, results=(small,), benchmarks=only))
    assert found.conditions == "1 thread, 469 KiB, within L2"


def test_messages_are_told_with_fresh_buffers_and_without_crowded_ranks(evaluation: Evaluation) -> None:
    def sent(size: int, buffers: str, seconds: float) -> Result:
        found = builders.message(seconds, size, buffers=buffers)
        return replace(found, parameters={**found.parameters, "buffers": buffers})

    results = [
        sent(8, "reused", 2e-7),
        sent(8, "fresh", 3e-7),
        sent(1 << 20, "reused", 1e-4),
        sent(1 << 20, "fresh", 4e-4),
    ]
    crowded = builders.message(1e-3, 8, buffers="fresh", crowded=True)
    only = {"network.pingpong": builders.known()["network.pingpong"]}
    found = headline.headlines(replace(evaluation, results=(*results, crowded), benchmarks=only))
    assert [(h.title, h.shown.value) for h in found] == [
        ("Short message, one way", "300 ns"),
        ("Long messages, one way", "2.62 GB/s"),
    ]


def test_a_disturbed_tile_names_the_kind_and_no_more(evaluation: Evaluation) -> None:
    crowd = tuple(replace(r, verdict=report_fixture.CROWDED) for r in report_fixture.stream())
    html = report.render(replace(evaluation, results=crowd))
    tile = re.search(r'<div class="headline disturbed">.*?<p class="why"[^>]*>(.*?)</p>', html, re.S)
    assert tile
    assert re.sub(r"<[^>]*>", "", tile[1]) == "DISTURBED: competing load"


def test_unknown_settings_stand_together_by_their_reason_and_known_ones_by_what_they_act_on() -> None:
    said = "there is no {} here: hidden by a hypervisor"
    asked = (
        Setting("firmware", None, "/sys/a", said.format("/sys/a")),
        Setting("product", None, "/sys/b", said.format("/sys/b")),
        Setting("turbo", None, "/sys/c", "neither intel_pstate/no_turbo nor boost is there"),
        Setting("cpu_quota", "none", "/proc/self/cgroup"),
        Setting("transparent_huge_pages", "madvise", "/sys/thp"),
        Setting("distribution", "Debian", "/etc/os-release"),
    )
    hidden, other = settings.unread(asked)
    assert hidden.names == ("Firmware", "Product")
    assert hidden.places == ("/sys/a", "/sys/b")
    assert hidden.reason == "There is no such file here: hidden by a hypervisor"
    assert other.reason == "Neither intel_pstate/no_turbo nor boost is there"
    assert [(group.title, group.settings[0][0]) for group in settings.groups(asked)] == [
        ("Memory and pages", "Transparent huge pages"),
        ("Processors", "CPU quota"),
        ("Kernel and system", "Distribution"),
    ]


def test_the_time_of_a_run_is_accounted_for_where_the_records_tell_it(evaluation: Evaluation) -> None:
    found = time_account.data(evaluation)
    assert found
    assert found.rows[0] == ("memory.stream", "7.2 s (20 %)", "25 s (70 %)", "3.6 s (10 %)", "36 s")
    assert found.rows[-1][0] == "All"
    assert (found.again, found.partial) == ("", "")

    def of_records(*records: Record) -> Evaluation:
        results = (builders.measured(evaluation.results[0], records),)
        return replace(evaluation, run=replace(evaluation.run, records=records), results=results)

    first, *others = evaluation.run.records
    second = replace(first, attempt=2, launch=99)
    silent = replace(first, launch=100, surroundings=builders.seen({}))
    told = time_account.data(of_records(replace(first, launch=99), second, silent, *others))
    assert told
    assert (
        told.again == "1.0 s of this time went into 1 attempt that was disturbed. Steelyard measured these cases again."
    )
    assert told.partial.startswith("1 of ")
    assert time_account.data(of_records(silent)) is None
