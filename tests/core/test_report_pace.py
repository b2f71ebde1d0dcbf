"""The report's page of the pace: how it went over the run, what was set aside for it, and no page where nothing tells when."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import builders
from steelyard.judge.evaluation import judging
from steelyard.measure.plan import second
from steelyard.measure.records import best_pace
from steelyard.model import Case, Check, Evaluation, Evidence, Launch, Level, Plan, Record, Setting, Shown, Verdict
from steelyard.show import report
from steelyard.show.report.pages import pace
from steelyard.show.report.pages.pace import run_course
from steelyard.statistics.results.result import results
from steelyard.statistics.validity.measures import CHASE_LOSS, STREAM_LOSS
from steelyard.statistics.validity.pace import UNBOUNDED
from steelyard.statistics.validity.verdict import judge_record

HOSTILE = "</script><b onclick=alert(1)>"
BEGAN = 1.79e9
ISSUED, CLOCK, STREAM, CHASE = 4.0, 2.5e9, 1.2e10, 9e-8
N = 20


def record(number: int, launch: int = 1, began: float | None = None, **told: Any) -> Record:
    """The case `number`, a minute after the one before: its readings of the core and of the memory as shares of the best."""
    core, memory = told.get("core", [1.0] * N), told.get("memory", 1.0)
    clock = told.get("clock", 1.0) * CLOCK
    around = {"issued": ISSUED * core[-1], "core_clock": clock, "stream": STREAM * memory, "chase": CHASE / memory}
    seen = {
        "began": BEGAN + 60 * number if began is None else began,
        "processor_seconds": {"elapsed": 3.0},
        "samples": {"seconds": [0.1] * N, "issued": [ISSUED * share for share in core]},
        "pace": {"before": around, "after": around, "waited": told.get("waited", 0)},
    }
    name, kernel = told.get("benchmark", "memory.stream"), told.get("kernel", "triad")
    parameters = {"toolchain": "gcc", "threads": 1, "elements": 1024 * (1 + number)}
    samples = builders.samples(1e-3, seed=number, count=N)
    return Record(
        benchmark=name, kernel=kernel, parameters=parameters, launch=launch, case=number, attempt=1,
        samples=samples, operations=100, work={"bytes": 1.0}, check=Check(True), verdict=Verdict("CLEAN"),
        surroundings=builders.seen(seen, **told.get("surroundings", {})),
    )  # fmt: skip


def judged(records: Sequence[Record], plan: Plan | None = None, shown: Shown | None = None) -> Evaluation:
    """A run of these records, read back."""
    whole = builders.evaluation((), records=tuple(records), shown=shown or Shown())
    run = replace(whole.run, plan=plan or whole.run.plan)
    run = judging.rejudge_run(run, best_pace.learned(run))
    names = sorted({r.benchmark for r in records})
    benchmarks = {name: builders.benchmark(name) for name in names}
    return Evaluation(run=run, benchmarks=benchmarks, results=results(run.records, benchmarks), findings=())


@pytest.mark.parametrize(("hypervisor", "level"), [("KVM", "DISTURBED"), ("none", "CLEAN")])
def test_steal_without_a_hypervisor_is_no_other_guest(hypervisor: str, level: str) -> None:
    (plain,) = judged([record(1, 0)]).run.records
    around = builders.seen(plain.surroundings, processor_seconds={"elapsed": 10.0, "steal": 2.0, "processors": 1})
    machine = builders.machine(settings=(Setting("hypervisor", hypervisor, ""),))
    told = [judge_record(replace(plain, surroundings=around), UNBOUNDED)]
    run = replace(builders.evaluation((), machine, records=tuple(told)).run, machine=machine)
    (again,) = judging.rejudge_run(run, best_pace.learned(run)).records
    assert again.verdict.level == level
    assert again.surroundings.processor_seconds.steal == 2.0
    (evidence,) = (e for e in again.verdict.evidence if e.kind == "steal")
    assert ("other guests" in evidence.text) == (hypervisor == "KVM")


@pytest.fixture
def restless() -> Evaluation:
    """Eight cases, one a minute: a neighbour beside some of the third, all of the fourth, and on the memory beside the fifth."""
    some = [1.0] * 12 + [0.5] * 4 + [1.0] * 4
    return judged(
        [
            *(record(n) for n in (0, 1)),
            record(2, core=some, waited=1.5),
            record(3, core=[0.5] * N, waited=2.0),
            record(4, memory=0.5),
            *(record(n, launch=2, benchmark="core.flops") for n in (5, 6, 7)),
        ]
    )


def page_of(found: Evaluation) -> pace.Page:
    page = pace.data(found)
    assert page is not None
    return page


def plots(page: pace.Page) -> list[dict[str, Any]]:
    return [json.loads(figure.plot) for figure in page.figures]


def marks(plot: dict[str, Any], axis: str) -> dict[str, list[float]]:
    return {t["name"]: t["y"] for t in plot["data"] if t.get("yaxis") == axis}


def test_the_first_sentences_say_what_was_within_bounds_set_aside_and_waited_for(restless: Evaluation) -> None:
    within, aside, waited = page_of(restless).paragraphs
    assert within.startswith("The cores were within their bounds in 88 % of 8 records and the memory in 88 % of 8.")
    assert aside.startswith("5 of 160 samples were set aside (shared core 5). All values use only the other samples.")
    assert "2 of 8 records are DISTURBED, most often because of shared core (1) and shared memory (1)." in aside
    assert waited == "Steelyard waited 3.5 s in total for a quiet machine."


def test_a_quiet_run_says_that_nothing_was_waited_for_or_set_aside() -> None:
    within, aside, waited = page_of(judged([record(n) for n in range(4)])).paragraphs
    assert within.startswith("The cores were within their bounds in 100 % of 4 records and the memory in 100 % of 4.")
    assert aside == "None of the 80 samples was set aside."
    assert waited == "Steelyard did not have to wait for a quiet machine."


def test_what_the_readings_are_compared_with_is_said() -> None:
    records = [record(n) for n in range(3)]
    assert "This is the first run on this machine" in page_of(judged(records)).paragraphs[0]
    earlier = Shown({"issued gcc": 2 * ISSUED}, 7, "2026-01-02T03:04:05+00:00", rule=best_pace.FORMAT)
    within = page_of(judged(records, shown=earlier)).paragraphs[0]
    assert within.startswith("The cores were within their bounds in 0 % of 3 records")
    assert within.endswith("the best level of this run and of 7 earlier runs since 2026-01-02.")


def test_each_record_is_a_mark_at_its_share_of_the_best_in_the_row_of_what_became_of_it(restless: Evaluation) -> None:
    cores, memory = plots(page_of(restless))
    assert marks(cores, "y3") == {
        "all samples kept": [100.0] * 5, "some set aside": [100.0], "DISTURBED": [50.0, 100.0],
    }  # fmt: skip
    assert marks(cores, "y2")["DISTURBED"] == [100.0, 100.0]
    assert marks(memory, "y3")["DISTURBED"] == marks(memory, "y2")["DISTURBED"] == [100.0, 50.0]
    bounds = [shape["y0"] for shape in memory["layout"]["shapes"]]
    assert sorted(bounds) == pytest.approx([100 * (1 - STREAM_LOSS), 100 * (1 - CHASE_LOSS)])


def test_where_and_what_the_marks_are_stands_once_for_all_figures(restless: Evaluation) -> None:
    page = page_of(restless)
    shared = json.loads(page.records)
    assert shared["at"] == [0, 1, 5, 6, 7, 2, 3, 4]
    assert shared["cases"][shared["of"][5]] == "memory.stream triad: elements: 3\u202f072"
    assert shared["launch"] == [1, 1, 2, 2, 2, 1, 1, 1]
    for plot in plots(page):
        starts = [trace["meta"]["from"] for trace in plot["data"] if "from" in trace["meta"]]
        assert starts == [0, 5, 6, 0, 5, 6]
        assert not any("customdata" in trace for trace in plot["data"] if trace["type"] == "scatter")


def test_bars_show_which_launch_ran_when(restless: Evaluation) -> None:
    bars = plots(page_of(restless))[0]["data"][-1]
    assert bars["customdata"] == ["memory.stream, launch 1", "core.flops, launch 2"]
    assert bars["base"] == [0, 5]
    assert bars["x"] == pytest.approx([4.05, 2.05])
    assert bars["y"] == ["Memory", "Cores"]


def test_the_numbers_of_a_figure_are_summarised_by_stretches_of_time(restless: Evaluation) -> None:
    figure = page_of(restless).figures[0]
    assert figure.headings[:5] == (
        "minutes",
        "records",
        "additions issued per cycle: median",
        "least",
        "beyond the bound",
    )
    assert len(figure.rows) == 8
    assert figure.rows[3] == ("3 – 3.5", "1", "50 %", "50 %", "1", "100 %", "100 %", "0")


def test_each_benchmark_has_its_cases_its_samples_and_its_waiting(restless: Evaluation) -> None:
    rows = {row.name: row.cells for row in page_of(restless).rows}
    assert rows["memory.stream"] == ("3 of 5", "80 % of 5", "80 % of 5", "5 of 100", "3.5 s")
    assert rows["core.flops"] == ("3 of 3", "100 % of 3", "100 % of 3", "0 of 60", "–")


def test_a_reading_far_above_the_best_is_drawn_at_the_edge_and_said() -> None:
    found = judged([*(record(n) for n in range(40)), record(40, memory=1.5)])
    memory = page_of(found).figures[1]
    assert memory.notes == ("2 marks above 110 % are drawn at the upper edge.",)
    assert max(marks(json.loads(memory.plot), "y3")["all samples kept"]) == 110


@pytest.mark.parametrize("began", [None, float("nan")])
def test_a_run_that_does_not_tell_when_its_cases_began_has_no_page(began: object) -> None:
    old = judged([record(n, surroundings={"began": began}) for n in range(3)])
    assert pace.data(old) is None
    html = report.render(old)
    assert 'href="#pace"' not in html
    assert 'id="pace"' not in html


def test_a_machine_whose_memory_cannot_be_probed_has_the_cores_alone() -> None:
    around = {"issued": ISSUED, "stream": None}
    found = judged([record(n, surroundings={"pace": {"before": around}}) for n in range(3)])
    page = page_of(found)
    assert [figure.title for figure in page.figures] == ["Pace of the cores"]
    assert page.paragraphs[0].startswith("The cores were within their bounds in 100 % of 3 records.")
    assert page.rows[0].cells[2] == "–"


def test_more_threads_than_processors_are_not_compared_and_the_page_stands_all_the_same() -> None:
    page = page_of(judged([record(n, surroundings={"oversubscribed": True}) for n in range(3)]))
    assert page.figures == ()
    assert page.paragraphs[0].startswith("There are too few readings to compare.")


def test_a_run_that_was_gone_on_with_the_next_day_is_drawn_without_the_night() -> None:
    day = 86400.0
    records = [record(n) for n in range(3)] + [record(n, began=BEGAN + day + 60 * n) for n in (3, 4)]
    found = run_course.course(judged(records).run)
    assert found is not None
    assert [step.at for step in found.steps] == [0, 60, 120, 123, 183]
    assert [(p.at, p.seconds) for p in found.pauses] == [(123, day + 57)]
    notes = plots(page_of(judged(records)))[0]["layout"]["annotations"]
    assert [note["text"] for note in notes if note["name"] == "above"] == ["24 h 0 min without a sample"]


def launches(*sizes: Sequence[int]) -> Plan:
    """A plan with a repetition for each of these, of launches with so many cases."""
    made = []
    for repetition, counts in enumerate(sizes, 1):
        for count in counts:
            cases = tuple(Case("memory.stream", "triad", {"elements": n}) for n in range(count))
            made.append(Launch(len(made) + 1, "memory.stream", "gcc", repetition, cases))
    return Plan("quick", 1, tuple(made), 60.0)


def test_further_launches_are_those_beyond_the_preset_or_with_some_of_the_cases() -> None:
    assert second.added(launches([4, 2], [2, 4])) == ()
    assert [x.number for x in second.added(launches([4, 2], [4, 2], [4, 2], [1]))] == [5, 6, 7]
    assert [x.number for x in second.added(replace(launches([4, 2], [4]), preset="full"))] == [3]


def test_further_launches_are_counted_and_drawn_apart() -> None:
    records = [record(n, launch=1 + n // 2) for n in range(6)]
    found = judged(records, launches([2], [2], [1], [1]))
    assert (
        page_of(found)
        .paragraphs[2]
        .endswith("1 further launch was added, first for cases whose values were not yet certain.")
    )
    usual, further = plots(page_of(found))[0]["data"][-2:]
    assert (usual["name"], usual["base"]) == ("launches", [0, 2])
    assert (further["name"], further["base"]) == ("further launches", [4])


@pytest.mark.parametrize("level", ["INVALID", "DISTURBED"])
def test_hostile_names_are_shown_and_not_obeyed(level: Level) -> None:
    records = [record(n, benchmark=f"mine.{HOSTILE}", kernel=HOSTILE) for n in range(4)]
    records[0] = replace(records[0], verdict=Verdict(level, (Evidence(HOSTILE, HOSTILE),)))
    html = report.render(judged(records, shown=Shown({}, 1, HOSTILE)))
    assert "<b onclick" not in html
    section = re.search(r'<section class="page" id="pace">.*?</section>', html, re.S)
    assert section
    shared = re.search(r'id="pace-records">(.*?)</script>', section[0], re.S)
    assert shared
    assert all("<" not in name for name in json.loads(shared[1])["cases"])
    for data in re.findall(r'class="figure-data">(.*?)</script>', section[0], re.S):
        assert all("<b" not in text for trace in json.loads(data)["data"] for text in trace.get("customdata", ()))


@pytest.mark.long
def test_a_long_run_adds_less_than_300_kilobytes() -> None:
    found = judged([record(n % 900, launch=1 + n // 100, began=BEGAN + n) for n in range(3600)])
    html = report.render(found)
    without = report.render(replace(found, run=replace(found.run, records=())))
    section = re.search(r'<section class="page" id="pace">.*?</section>', html, re.S)
    assert section
    assert len(section[0]) < 3e5
    assert 'id="pace"' not in without
