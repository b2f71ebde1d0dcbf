"""The report in a real browser: every page opens, every figure is drawn, nothing is cut off, no error is told."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import builders
import power_fixture
import report_browser
import report_fixture
import side_fixture
from replays import answered, stencil, ti
from report_browser import Browser
from steelyard.model import Evaluation, Record, Run
from steelyard.model.figure import Axis, Figure, Mark, Point, Series
from steelyard.model.units import quantity
from steelyard.show import report
from steelyard.show.report import values
from steelyard.show.report.axes import tick
from steelyard.whatif import prediction_page
from steelyard.whatif.prediction_part import Part

PROGRAM = report_browser.find()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine: the report is not looked at")

# Resolves when every figure of the shown page is drawn or has failed.
_DRAWN = """new Promise((go) => {
  const plots = () => Array.from(document.querySelectorAll(".page.current .plot")).filter((p) => !p.closest("[hidden]"));
  const look = () => plots().every((p) => p.dataset.state)
    ? go(true) : setTimeout(look, 30);
  look();
})"""
_FAILED = 'Array.from(document.querySelectorAll("[data-state=failed]"), (p) => p.textContent)'
# Labels that reach beyond the drawing; half a pixel is rounding.
_CUT = """Array.from(document.querySelectorAll(".page.current .plot .main-svg text")).filter((text) => {
  const own = text.getBoundingClientRect(), all = text.closest(".plot").getBoundingClientRect();
  return own.width && (own.left < all.left - .5 || own.right > all.right + .5 || own.top < all.top - .5
    || own.bottom > all.bottom + .5);
}).map((text) => text.textContent)"""
# Pairs of level texts that lie upon each other; those of cells and beside the pointer are none.
_UPON = """Array.from(document.querySelectorAll(".page.current .plot")).flatMap((plot) => {
  const level = (text) => Math.abs(text.getScreenCTM().b) < .02;
  const found = Array.from(plot.querySelectorAll(".main-svg text")).filter((text) => text.textContent.trim()
    && text.getBoundingClientRect().width && level(text) && !text.closest(".hoverlayer, .heatmaplayer, .textpoint"))
    .map((text) => [text.textContent, text.getBoundingClientRect()]);
  return found.flatMap(([name, a], n) => found.slice(n + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
    .map(([other]) => `${name} | ${other}`));
})"""
# Names of marks that lie upon the buttons of a figure.
_BEHIND = """Array.from(document.querySelectorAll(".page.current .plot")).flatMap((plot) => {
  const bar = plot.querySelector(".modebar")?.getBoundingClientRect();
  return Array.from(bar ? plot.querySelectorAll(".annotation-text-g") : []).filter((note) => {
    const own = note.getBoundingClientRect();
    return own.width && own.left < bar.right && own.right > bar.left && own.top < bar.bottom && own.bottom > bar.top;
  }).map((note) => note.textContent);
})"""
# Names above a figure that were moved into it.
_FALLEN = """Array.from(document.querySelectorAll(".page.current .plot")).flatMap((plot) =>
  (plot.layout?.annotations || []).filter((note) => note.name === "above" && note.yshift < 0).map((note) => note.text))"""
_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = Browser(PROGRAM or "")
    yield found
    found.close()


def paced(run: Run) -> Run:
    """The same with a reading of the pace beside each record: a record a second, one of ten beside a neighbour, and a pause."""

    def told(number: int, record: Record) -> Record:
        share = 0.5 if number % 10 == 0 else 1 - 0.001 * (number % 7)
        read = {
            "issued": 4 * share,
            "core_clock": 2.6e9,
            "stream": 1e10 * share,
            "chase": 9e-8,
            "exchange": 1e-6 / share,
        }
        around = {"before": read, "after": read, "waited": 0.1}
        began = 1.79e9 + number + (7200 if number > 200 else 0)
        return replace(
            record, launch=number // 30, surroundings=builders.seen(record.surroundings, began=began, pace=around)
        )

    return replace(run, records=tuple(told(number, record) for number, record in enumerate(run.records)))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the made-up run, with the figures of a machine with one node beside."""
    full = report_fixture.evaluation()
    declared = full.benchmarks["memory.placement"]
    lonely = replace(
        declared,
        figures=lambda results, machine: (
            *report_fixture.placement_figures(results, machine),
            *report_fixture.one_node(),
        ),
    )
    both = replace(full, benchmarks={**full.benchmarks, "memory.placement": lonely}, run=paced(full.run))
    return report.write(both, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def powered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with power, of the node's kernels in all modes."""
    return report.write(power_fixture.made(), tmp_path_factory.mktemp("power") / "report.html")


WINDOWS = [(1400, "light"), (390, "dark")]


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_every_page_opens_without_an_error_and_nothing_is_cut_off(
    browser: Browser, path: Path, width: int, theme: str
) -> None:
    browser.open(path, width, theme)
    pages = browser.run('Array.from(document.querySelectorAll(".page"), (page) => page.id)')
    assert len(pages) == 12
    sound(browser, pages)


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_the_pages_of_a_run_with_power_open_without_an_error_and_nothing_is_cut_off(
    browser: Browser, powered: Path, width: int, theme: str
) -> None:
    browser.open(powered, width, theme)
    sound(browser, ["power", "node-kernels", "node-stencil"])


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_the_page_of_a_replay_opens_without_an_error_and_nothing_is_cut_off(
    browser: Browser, tmp_path: Path, width: int, theme: str
) -> None:
    trace = ti(tmp_path, stencil(4, 20, 100_000, 1000))
    found, asked, about = answered(trace, "L=20us", "probability=0.01%:1%,rto=5ms:200ms")
    made = prediction_page.make_page([Part(asked, found, {})], about, "cg.goal")
    browser.open(prediction_page.write(made, tmp_path / "page.html"), width, theme)
    sound(browser, ["overview"])


def opened(browser: Browser, page: str) -> None:
    """Goes to the page, and waits until it is shown."""
    browser.run(f"""new Promise((go) => {{
      location.hash = "#{page}";
      const look = () => document.querySelector(".page.current").id === "{page}" ? go() : setTimeout(look, 10); look(); }})""")


def sound(browser: Browser, pages: list[str]) -> None:
    for page in pages:
        opened(browser, page)
        assert browser.run(_DRAWN)
        assert browser.run('document.querySelector(".page.current").id') == page
        assert browser.run(_FAILED) == [], page
        assert browser.run(_CUT) == [], page
        assert browser.run(_UPON) == [], page
        assert browser.run(_WIDER) <= 0, f"{page} is wider than the window"
        assert browser.run(_BEHIND) == [], page
        assert browser.errors() == [], page


def close() -> tuple[Figure, ...]:
    """Figures in which names and ticks have little room."""
    size, rate = Axis("message", "B", log=True), Axis("bandwidth", "B/s", log=True)
    line = Series("a", (8.0, 4096.0, 4194304.0), (1e6, 1e9, 2e10))
    points = tuple(Point(4096.0 * (1 + n / 50), 1e9, f"n½ {4096 + n}") for n in range(5))
    limits = tuple(Mark("y", 1e10 * (1 + n / 100), f"limit {n} of the memory of this machine") for n in range(4))
    whole = Series("a", (0.0, *line.x), (1e5, *line.y))  # 0 B has no place on the axis
    three = (Mark("x", 2.0**15, "L1 32 KiB"), Mark("x", 2.0**20, "L2 1 MiB"), Mark("x", 2.0**25, "L3 32 MiB"))
    caches = tuple(Mark("x", 2.0**power, f"L{power} {power} KiB") for power in range(12, 18))
    many = tuple(Series(f"put, {n} windows, lock synchronisation, fresh buffers", line.x, line.y) for n in range(14))
    names = tuple(f"{n} KiB, head to head, nonblocking" for n in range(9))
    bars = Series("s", names, tuple(10.0 ** (n + 3) for n in range(9)))
    return (
        Figure("points", "Points", "lines", size, rate, (line,), points=points),
        Figure("limits", "Limits", "lines", size, rate, (line,), marks=(*limits, *caches)),
        Figure("zero", "Zero", "lines", size, rate, (whole,), marks=three),
        Figure("many", "Many", "lines", size, rate, many),
        Figure("bars", "Bars", "bars", Axis("case"), rate, (bars,)),
        Figure("wordy", "Wordy", "lines", Axis("operations for each word that is read or written"), rate, (line,)),
    )


@pytest.mark.parametrize("width", [1200, 400, 330])
def test_names_and_ticks_that_are_close_do_not_lie_upon_each_other(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    full = report_fixture.evaluation()
    declared = replace(full.benchmarks["memory.placement"], figures=lambda results, machine: close())
    made = replace(full, benchmarks={"memory.placement": declared})
    browser.open(report.write(made, tmp_path / "report.html"), width, "light")
    sound(browser, ["memory-placement"])
    assert not {"L1 32 KiB", "L2 1 MiB", "L3 32 MiB"} & set(browser.run(_FALLEN))


def test_time_against_energy_has_a_mark_for_each_mode_and_a_line_of_the_best_in_its_kernel_s_colour(
    browser: Browser, powered: Path
) -> None:
    browser.open(powered, 1400, "light")
    opened(browser, "power")
    assert browser.run(_DRAWN)
    traces = browser.run("""document.querySelector("#time-energy .plot").data.map((trace) => ({
      mode: trace.mode, points: trace.x.filter((x) => x !== null).length, group: trace.legendgroup,
      colour: trace.mode === "lines" ? trace.line.color : trace.marker.color, x: trace.error_x && trace.error_x.color}))""")
    marks = {t["group"]: t for t in traces if t["mode"] == "markers" and t["points"]}
    lines = [t for t in traces if t["mode"] == "lines"]
    assert [t["points"] for t in marks.values()] == [4] * len(power_fixture.KERNELS)
    assert all(line["colour"] == marks[line["group"]]["colour"] == marks[line["group"]]["x"] for line in lines)
    shown = browser.run('Array.from(document.querySelectorAll("#time-energy .legendtext"), (text) => text.textContent)')
    assert shown[-2:] == ["GPU 0 (OpenCL)", "2 threads and GPU 0 (OpenCL)"]
    assert browser.errors() == []


def test_each_record_is_a_mark_of_the_pace_whose_case_the_pointer_names(browser: Browser, path: Path) -> None:
    browser.open(path, 1400, "light")
    opened(browser, "pace")
    assert browser.run(_DRAWN)
    drawn = browser.run("""Array.from(document.querySelectorAll("#pace .plot"), (plot) => plot.data
      .filter((trace) => trace.type === "scatter").reduce((sum, trace) => sum + trace.x.length, 0))""")
    records = len(report_fixture.evaluation().run.records)
    assert drawn == [2 * records, 2 * records, records]
    words = browser.run('document.querySelector("#pace .plot").data[0].customdata[0]')
    assert words.startswith("memory.stream copy")
    assert words.endswith("launch 0")
    assert browser.errors() == []


def test_a_published_system_is_drawn_when_it_is_chosen_and_goes_when_it_is_not(browser: Browser, path: Path) -> None:
    browser.open(path, 1400, "light")
    browser.run("location.hash = '#memory-apexmap-figure-3-g-threads'")
    browser.run(_DRAWN)
    lines = 'document.querySelectorAll("#memory-apexmap-figure-3-g-threads .scatterlayer .trace").length'
    entries = 'document.querySelectorAll("#memory-apexmap-figure-3-g-threads .legend .traces").length'
    choose = 'document.querySelector("#memory-apexmap-figure-3-g-threads .published input").click()'
    assert (browser.run(lines), browser.run(entries)) == (1, 0)
    browser.run(choose)
    assert (browser.run(lines), browser.run(entries)) == (2, 2)
    browser.run(choose)
    assert (browser.run(lines), browser.run(entries)) == (1, 0)
    assert browser.errors() == []


def test_a_link_into_folded_evidence_opens_it(browser: Browser, path: Path) -> None:
    browser.open(path, 1400, "light")
    opened(browser, "memory-apexmap")
    browser.run('document.querySelector("#memory-apexmap-note-1 details").id = "folded"')
    assert browser.run('document.querySelector("#folded").open') is False
    browser.run("""new Promise((go) => {
      addEventListener("hashchange", () => setTimeout(go)); location.hash = "#folded"; })""")
    assert browser.run('document.querySelector("#folded").open') is True


def test_sorting_puts_numbers_in_order_whatever_their_prefix_and_mark(browser: Browser, path: Path) -> None:
    browser.open(path, 1400, "light")
    opened(browser, "memory-latency")
    found = browser.run("""(() => {
      const table = document.querySelector("#memory-latency .results");
      table.querySelector("thead th.n").click();
      return Array.from(table.querySelectorAll("tbody .value"), (cell) => cell.textContent);
    })()""")
    size = {"ns": 1.0, "ps": 1e-3, "µs": 1e3}
    seconds = [float(text.split()[0]) * size[text.split()[1]] for text in found]
    assert len(seconds) > 20
    assert seconds == sorted(seconds)


def sheets(pdf: bytes) -> int:
    """How many sheets it has."""
    return len(re.findall(rb"/Type /Page[ \n/]", pdf))


def elements(browser: Browser) -> int:
    return int(browser.run('document.querySelectorAll(".page *").length'))


def wait_until_ready(browser: Browser, choice: str) -> None:
    browser.run(f"""new Promise((go) => {{ const look = () => document.documentElement.dataset.ready === "{choice}"
      ? go() : setTimeout(look, 30); look(); }})""")


def test_a_page_is_built_when_it_is_opened_and_not_before(browser: Browser, path: Path) -> None:
    browser.open(path, 1400, "light")
    assert elements(browser) < 500
    assert browser.run('document.querySelectorAll(".page > noscript").length') == 9
    opened(browser, "memory-stream")
    assert browser.run('document.querySelectorAll("#memory-stream tbody tr").length') == 30
    assert browser.run('document.querySelectorAll(".page > noscript").length') == 8


def test_all_pages_can_be_read_without_scripts(browser: Browser, path: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=path.as_uri())
        while browser.run("document.readyState + location.href") != f"complete{path.as_uri()}":
            time.sleep(0.05)
        rows = browser.run('Array.from(document.querySelectorAll("tbody tr")).filter((row) => row.offsetHeight).length')
        assert rows > 140
        assert browser.run('document.querySelector(".main-figures").offsetHeight') == 0  # only scripts draw
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def crowd() -> Evaluation:
    """A run with 60 benchmarks and 40 findings."""
    full = report_fixture.evaluation()
    first = full.benchmarks["memory.stream"]
    more = {
        f"memory.copy{n}": replace(first, name=f"memory.copy{n}", title=f"Bandwidth of copy {n}") for n in range(56)
    }
    said = tuple(replace(full.findings[0], seen=f"Kernel {n} {full.findings[0].seen}", remedy=WORDY) for n in range(40))
    return replace(full, benchmarks={**full.benchmarks, **more}, findings=said)


WORDY = (
    "Look at the compiler's report on vectors, use streaming stores where a result is not read again, and run it again. "
    * 2
)


# Resolves with the widths of the pictures in the printed summary, in their own pixels, when it has as many as figures.
_PICTURES = """new Promise((go) => {
  const look = () => {
    const images = Array.from(document.querySelectorAll(".printed img"));
    const all = images.length === document.querySelectorAll(".printed").length && images.every((image) => image.complete);
    all ? go(images.map((image) => image.naturalWidth)) : setTimeout(look, 30);
  };
  look();
})"""


def test_the_print_is_a_summary_of_eight_sheets_at_most(browser: Browser, path: Path, tmp_path: Path) -> None:
    browser.open(path, 1400, "dark")
    assert len(browser.run(_PICTURES)) == 4
    assert 2 <= sheets(browser.print()) <= 5
    browser.open(report.write(crowd(), tmp_path / "crowd.html"), 1400, "light")
    assert all(width >= 440 for width in browser.run(_PICTURES))
    assert 4 <= sheets(browser.print()) <= 8
    assert browser.run('document.querySelectorAll(".stage").length') == 0
    assert browser.errors() == []


def test_counts_of_verdicts_stay_in_their_column_on_paper(browser: Browser, path: Path) -> None:
    browser.open(path, 600, "light")
    browser.call("Emulation.setEmulatedMedia", media="print")
    beyond = """Array.from(document.querySelectorAll(".summary .benchmarks li")).flatMap((entry) => {
      const end = Math.max(...Array.from(entry.getClientRects(), (box) => box.right)) + 1;
      return Array.from(entry.querySelectorAll(".counted"), (count) => count.getBoundingClientRect())
        .filter((box) => box.right > end);
    }).length"""
    try:
        assert browser.run('document.querySelectorAll(".summary .counted:nth-child(3)").length') > 0
        assert browser.run(beyond) == 0
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_the_page_that_is_shown_or_everything_is_printed_where_it_is_chosen(browser: Browser, path: Path) -> None:
    browser.open(path, 1400, "dark")
    opened(browser, "memory-latency")
    browser.run('document.querySelector(".paper-choice").click()')
    wait_until_ready(browser, "page")
    single = sheets(browser.print())
    browser.run('document.querySelector(".paper-choice").click()')
    wait_until_ready(browser, "all")
    assert browser.run('document.querySelectorAll(".plot:not([data-webgl]):not([data-state])").length') == 0
    assert browser.run('document.querySelectorAll(".paper").length') == 1
    assert sheets(browser.print()) > 9 > single >= 1
    browser.call("Emulation.setEmulatedMedia", media="print")
    shown = 'getComputedStyle(document.querySelector(".published")).display'
    assert browser.run(shown) == "none"
    browser.run('document.querySelector(".published input").click()')
    assert browser.run(shown) != "none"
    assert browser.errors() == []
    browser.call("Emulation.setEmulatedMedia", media="")


# --------------------------------------------------------------------------- several sides


@pytest.fixture(scope="module")
def sided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of nine runs and a published system."""
    own = report_fixture.evaluation()
    others = [replace(own, run=replace(own.run, id=f"run-{n}")) for n in range(2, 10)]
    every = side_fixture.beside(own, *others, published="4x AMD 8350 Barcelona")
    return report.write(own, tmp_path_factory.mktemp("sides") / "report.html", every)


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_the_pages_of_several_sides_open_without_an_error_and_nothing_is_cut_off(
    browser: Browser, sided: Path, width: int, theme: str
) -> None:
    browser.open(sided, width, theme)
    sound(browser, ["sides", "memory-stream", "memory-apexmap", "memory-latency", "memory-placement"])


_LYING = """Array.from(document.querySelectorAll("#memory-stream .plot"), (p) => p.data.some((t) => t.orientation === "h"))"""


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_bars_with_long_names_lie_and_no_name_is_cut_off(
    browser: Browser, tmp_path: Path, width: int, theme: str
) -> None:
    few = Figure("few", "Few", "bars", Axis("case"), Axis("time", "s"), series=(Series("t", ("a", "b"), (1.0, 2.0)),))
    own = report_fixture.evaluation()
    name = "memory.stream"
    drawn = {name: replace(own.benchmarks[name], figures=lambda results, machine: (report_fixture.long_bars(), few))}
    path = report.write(replace(own, benchmarks=own.benchmarks | drawn), tmp_path / "report.html")
    browser.open(path, width, theme)
    sound(browser, ["memory-stream"])
    assert browser.run(_LYING) == [True, False]


_SHOWN = """new Set(Array.from(document.querySelector("#memory-stream .plot").data)
  .filter((t) => "side" in t.meta && t.visible !== false).map((t) => t.meta.side)).size"""


def test_a_side_is_hidden_and_shown_everywhere_and_the_address_keeps_it(browser: Browser, sided: Path) -> None:
    browser.open(sided, 1400, "light")
    opened(browser, "memory-stream")
    assert browser.run(_DRAWN)
    assert browser.run(_SHOWN) == 6  # the published system is shown, too, but has no line here
    browser.run('document.querySelectorAll(".side-choice label input[type=checkbox]")[1].click()')
    assert browser.run(_SHOWN) == 5
    assert browser.run("location.hash") == "#memory-stream&sides=0,2,3,4,5,9"
    browser.run('location.hash = "#sides"')
    opened(browser, "sides")
    assert browser.run("location.hash") == "#sides&sides=0,2,3,4,5,9"
    browser.run("""new Promise((go) => { const look = () => document.querySelector(".side-table details")
      ? go() : setTimeout(look, 20); look(); })""")
    heads = """(() => { const fold = document.querySelector(".side-table details"); fold.open = true;
      document.querySelector(".table-all").click();
      return Array.from(fold.querySelectorAll("thead th"), (one) => one.textContent); })()"""
    shown = browser.run(heads)
    assert len(shown) == 6
    assert "run-2" not in shown
    assert browser.errors() == []


def test_the_numbers_of_a_figure_are_those_of_the_sides_that_are_shown(browser: Browser, sided: Path) -> None:
    browser.open(sided, 1400, "light")
    opened(browser, "memory-stream")
    assert browser.run(_DRAWN)
    rows = """new Promise((go) => { const fold = document.querySelector("#memory-stream .data"); fold.open = true;
      setTimeout(() => go(Array.from(fold.querySelectorAll("tbody tr"), (row) => row.textContent)), 100); })"""
    found = browser.run(rows)
    lines = 4 * len(report_fixture.THREADS) - 1  # an INVALID result is not drawn
    assert len(found) == 6 * lines
    assert sum(row.startswith("run-3") for row in found) == lines
    assert f"run-3copy1{quantity(13.1e9, 'B/s')}" in " ".join(found)


def test_the_browser_writes_numbers_as_the_program_does(browser: Browser, sided: Path) -> None:
    browser.open(sided, 1400, "light")
    cases = [
        (value, unit)
        for unit in ("B/s", "s", "1", "cycle", "%", "1/s", "")
        for value in (0, 1.234e-9, 9.996e-7, 0.0123, 0.99951, 1, 12.5, 999.6, 1e3, 123456, 3.05e10, 7.2e13)
    ]
    written = browser.run(f"{json.dumps(cases)}.map(([value, unit]) => numbers.quantity(value, unit))")
    assert written == [values.quantity(value, unit) for value, unit in cases]
    sizes = [(n, "B") for n in (0, 8, 1000, 1024, 1536, 48 << 20)] + [(n, "") for n in (1, 999, 1000, 1234567)]
    labels = browser.run(f"{json.dumps(sizes)}.map(([value, unit]) => numbers.tick(value, unit))")
    assert labels == [tick(value, Axis("a", unit)) for value, unit in sizes]
