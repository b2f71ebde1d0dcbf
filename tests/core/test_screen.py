"""One screen: at most 50 lines of at most 80 columns for any run and any comparison, and what stands on it."""

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import builders
import report_fixture
from folders import GOLDEN
from golden_runs import copied
from steelyard.compare import published_figures
from steelyard.compare.runs import compare
from steelyard.judge import evaluation as evaluating
from steelyard.measure.published.system_library import system_names
from steelyard.model import Evaluation, Finding, Tool
from steelyard.show.report import (
    details,
    lines,
    scaling_rows,
    screen,
    side_by_side,
    summarised_run,
    summary,
    terminal,
    values,
)
from steelyard.statistics.results.sweeps import sweeps
from steelyard.statistics.validity import trust

PLACES = ("The report: ", "All figures, ", "Compare: ", "Narrower ranges: ")
REPORT = Path("runs/20261120-101500/report.html")


def text(found: Sequence[Text]) -> str:
    return "\n".join(line.plain.rstrip() for line in found) + "\n"


def everything(of: Evaluation) -> str:
    """The figures and verdicts of --all in one line."""
    return " ".join(text(details.list_details(summarised_run.summarised(of), 80)).split())


def fits(found: Sequence[Text], width: int = 80) -> None:
    """Only a place may be longer than a line, since it must be copied whole; a terminal folds it."""
    wide = [line for line in found if line.cell_len > width]
    assert all(line.plain.startswith(PLACES) for line in wide), text(found)
    assert sum(max(1, -(-line.cell_len // width)) for line in found) <= 50, text(found)
    assert not any("\n" in line.plain or "\x1b" in line.plain for line in found)


@pytest.mark.parametrize("name", ["fixture", "golden-run"])
def test_the_screen_is_as_it_was(name: str) -> None:
    of = report_fixture.evaluation() if name == "fixture" else evaluating.evaluate(copied("run-format-1"))
    if name == "golden-run":
        of = replace(of, run=replace(of.run, path="runs/golden"))
    found = screen.screen(of, 80, REPORT)
    fits(found)
    kept = GOLDEN / "screens" / f"{name}.txt"
    assert text(found) == kept.read_text(encoding="utf-8")


def test_the_screen_names_what_a_budget_left_out() -> None:
    of = report_fixture.evaluation()
    plan = replace(of.run.plan, left_out={"network.rate": 30, "memory.stream": 12})
    of = replace(of, run=replace(of.run, plan=plan, budget=75.0, finished=True))
    assert "There was time for 140 of 182 cases." in text(screen.screen(of, 80, REPORT))
    shown = everything(of)
    assert "The budget of 1 min 15 s is enough for" in shown
    assert "It leaves out all cases of network.rate and 12 of" in shown


def test_the_number_of_planned_cases_is_the_same_before_and_after_the_end_of_a_run() -> None:
    of = builders.evaluation([builders.triad(1e10)], budget=5.0)
    (launch,) = of.run.plan.launches
    plan = replace(of.run.plan, launches=(replace(launch, cases=launch.cases * 3),), left_out={"network.rate": 4})
    texts = {}
    for finished in (True, False):
        run = replace(of.run, plan=plan, finished=finished)
        texts[finished] = everything(replace(of, run=run))
        assert "1 of 7 cases" in text(screen.screen(replace(of, run=run), 80, REPORT))
    assert "The budget of 5.0 s is enough for 1 of 7 cases." in texts[True]
    assert "The run is not finished: 1 of 7 cases are measured." in texts[False]
    assert "budget" not in texts[False]


def test_cases_that_a_run_did_not_reach_count_as_left_out() -> None:
    of = builders.evaluation([builders.triad(1e10)], budget=5.0)
    (launch,) = of.run.plan.launches
    plan = replace(of.run.plan, launches=(replace(launch, cases=launch.cases * 3),))
    judged = summarised_run.summarised(replace(of, run=replace(of.run, plan=plan)))
    assert judged.left_out == {"memory.stream": 2}
    assert summary.as_json(judged)["left_out"] == {"memory.stream": 2}


def test_figures_verdict_findings_and_the_reports_place_come_in_that_order() -> None:
    shown = text(screen.screen(report_fixture.evaluation(), 80, REPORT))
    order = [
        "Main figures",
        "51.9 GB/s",
        "134 of 140 values CLEAN",
        "What is wrong",
        "1 ✕ Scale with 4",
        "steelyard show --all",
        f"The report: {REPORT}",
    ]
    assert [shown.index(word) for word in order] == sorted(shown.index(word) for word in order)


def test_each_verdict_is_counted_and_those_that_cannot_be_relied_on_have_their_reasons() -> None:
    full = report_fixture.evaluation()
    shown = text(screen.screen(full, 80, REPORT))
    assert "● 134 of 140 values CLEAN, ◐ 3 unsettled, ▲ 2 disturbed, ✕ 1 failed\n" in shown
    assert "140 cases: ● 134 CLEAN ◐ 3 UNSETTLED ▲ 2 DISTURBED ✕ 1 INVALID" in everything(full)
    assert "Reasons for UNSETTLED: interval (3)." in everything(full)
    marked = tuple(replace(r, verdict=report_fixture.UNSETTLED) for r in full.results)
    assert "◐ UNSETTLED (interval) 4 threads" in everything(replace(full, results=marked))
    assert "Triad (memory)     ◐ 51.9 GB/s" in text(screen.screen(replace(full, results=marked), 80, REPORT))


def test_the_screen_has_the_value_of_each_figure_that_all_else_has() -> None:
    """A disturbed launch changes the typical value of all samples, which may stand only beside the value at its best."""
    full = report_fixture.evaluation()
    spread = {"now": (50e9, 60e9), "typical": 41e9, "best_seen": 61e9}
    changed = tuple(
        replace(r, verdict=report_fixture.UNSETTLED, metrics={n: replace(v, **spread) for n, v in r.metrics.items()})
        if r.kernel == "triad" else r for r in full.results)  # fmt: skip
    of = replace(full, results=changed)
    assert "Triad (memory)     ◐ 51.9 GB/s  30.7 – 68.3   normal   13.0" in text(screen.screen(of, 80, None))
    assert "Triad bandwidth (61.0 GB/s) 51.9 GB/s" in everything(of)
    assert "41.0" not in everything(of)
    assert (
        next(f for f in summarised_run.summarised(of).figures if f.name == "triad").shown.marked
        == "51.9 GB/s UNSETTLED"
    )


def test_thousands_of_each_verdict_fit_the_screen() -> None:
    full = report_fixture.evaluation()
    one = {
        level: next(r for r in full.results if r.verdict.level == level) for level in trust.ORDER if level != "FOREIGN"
    }
    for many in (2_000, 20_000):
        results = tuple(result for result in one.values() for _ in range(many))
        found = screen.screen(replace(full, results=results, benchmarks={}), 80, REPORT)
        fits(found)
        assert f"◐ {many} unsettled" in text(found)


def test_an_unfinished_run_without_results_says_so() -> None:
    shown = text(screen.screen(report_fixture.empty(), 80, None))
    assert "This run has no results" in shown
    assert "The report:" not in shown


def test_of_a_kind_of_finding_one_is_shown_and_the_others_are_counted() -> None:
    found = [Finding("tolerance", "notice", f"Number {n} is poor.", (), "", "Do so.", effect=1.0 + n) for n in range(4)]
    found += [Finding(f"rule{n}", "notice", f"Rule {n} spoke.", (), "", "", effect=1.5) for n in range(6)]
    full = replace(report_fixture.evaluation(), benchmarks={})  # without tables, which need room
    shown = text(screen.screen(replace(full, findings=tuple(found)), 80, None))
    assert "1 ! Number 3 is poor. [and 3 more]\n    → Do so.\n" in shown
    assert shown.count("spoke") == 1
    assert "All figures, 10 findings: " in shown


def test_a_run_of_one_benchmark_without_a_main_figure_shows_one_of_its_own() -> None:
    one = builders.evaluation([builders.result("node.fft", "fft", {"threads": 2}, 1e-3, {"flops": 1e6})])
    declared = report_fixture.benchmark(
        "node.fft", "Transform", (report_fixture.metric("time", "s", "lower", "time"),), None
    )
    value = builders.Value(1e-3, "s", 0.9e-3, 1.1e-3, "lower")
    results = tuple(replace(r, metrics={"time": value}) for r in one.results)
    shown = text(screen.screen(replace(one, benchmarks={"node.fft": declared}, results=results), 80, None))
    assert "Transform" in shown
    assert "1.00 ms" in shown


# --------------------------------------------------------------------------- any run

WORDS = st.text(alphabet=st.characters(codec="utf-8"), max_size=400)
LEVELS = st.sampled_from(["serious", "notice", "good"])
FINDINGS = st.builds(
    Finding,
    rule=st.text(alphabet="abcdefgh", min_size=1, max_size=2),
    level=LEVELS,
    seen=WORDS,
    evidence=st.just(()),
    cause=st.just(""),
    remedy=WORDS,
    benchmark=st.sampled_from(["", "memory.stream"]),
    effect=st.one_of(st.none(), st.floats(0.1, 100)),
    reach=st.sampled_from(["figures", "machine", "program"]),
)


@given(st.lists(FINDINGS, max_size=30), WORDS, WORDS, WORDS, st.sampled_from([80, 81, 120]))
def test_any_run_fits_one_screen(found: list[Finding], host: str, place: str, started: str, width: int) -> None:
    full = FULL
    machine = replace(full.run.machine, host=host, processor=place)
    run = replace(full.run, machine=machine, path=place, id=host, started=started, finished=False)
    fits(screen.screen(replace(full, run=run, findings=tuple(found)), width, Path(f"/{place}/report.html")), width)


def crowded() -> Evaluation:
    """All results of the fixture disturbed or unsettled, and as many benchmarks again without a main figure."""
    full = report_fixture.evaluation()
    verdicts = itertools.cycle((report_fixture.CROWDED, report_fixture.UNSETTLED))
    marked = tuple(replace(r, verdict=verdict) for r, verdict in zip(full.results, verdicts, strict=False))
    names = [f"node.example{n}" for n in range(30)]
    time = report_fixture.metric("time", "s", "lower", "time")
    more = {name: report_fixture.benchmark(name, f"{name} 一二三 " * 9, (time,), None) for name in names}
    others = tuple(
        report_fixture.result(name, "kernel" * 20, {"threads": t, "mode": "x" * 90}, {"time": (1e-3, "s", "lower")})
        for name in names
        for t in (1, 2)
    )
    return replace(full, results=(*marked, *others), benchmarks={**full.benchmarks, **more})


FULL = crowded()


@given(WORDS, WORDS, st.integers(10, 120), st.integers(1, 4))
def test_shortened_text_fits_its_lines(words: str, others: str, width: int, most: int) -> None:
    for found in (lines.fit([words, others], width, most), lines.cut(words, width, most)):
        assert len(found) <= most
        assert all(cell_len(line) <= width for line in found)


def test_the_longest_text_that_fits_is_shown_whole() -> None:
    texts = ["memory.stream triad (2 threads): b is slower.", "memory.stream: b is slower.", "b is slower."]
    assert [lines.fit(texts, width, 1) for width in (60, 30, 12)] == [[text] for text in texts]
    assert lines.fit(texts, 8, 1) == ["b is …"]


def test_a_full_run_takes_at_most_130_words_on_its_first_screen() -> None:
    """A word has two letters in a row at least: numbers and signs are read as one with their row."""
    full = crowded()
    spoken = Finding(
        "memory", "notice", "A long story of 3 lines. " * 9, (), "", "Do so. " * 9, brief="Too slow: 3 %.", action="go"
    )
    of = replace(full, findings=(spoken, replace(spoken, rule="other"), replace(spoken, rule="third")))
    shown = text(screen.screen(of, 80, REPORT))
    assert len(re.findall(r"\S*[A-Za-z]{2,}\S*", shown)) <= 130
    assert shown.count("Too slow: 3 %.\n    → go\n") == 2
    assert "All figures, 3 findings: steelyard show --all" in shown


def test_the_screen_says_for_which_figures_a_run_can_be_used() -> None:
    one = summarised_run.summarised(report_fixture.evaluation())
    one = replace(one, figures=one.figures[:2])
    for halves, said in (
        ((0.05, 0.2), "Usable: each figure is sure to ± 25 % or better."),
        ((0.05, 0.9), "Usable, but not for Memory latency (doubtful, or not within ± 25 %)."),
        ((0.40, 0.9), "Not usable: each figure is doubtful, or not within ± 25 %."),
    ):
        figures = [
            replace(f, value=replace(f.value, now=(f.value.value / (1 + half), f.value.value * (1 + half))))
            for f, half in zip(one.figures, halves, strict=True) if f.value
        ]  # fmt: skip
        shown = " ".join(text(screen.screen(replace(one, figures=tuple(figures)), 80, None)).split())
        assert said in shown
        assert f"± {round(100 * halves[1])} %" in shown


def test_what_is_normal_has_the_unit_of_the_machine_and_not_of_a_core() -> None:
    of = report_fixture.evaluation()
    line = next(line.plain for line in screen.screen(of, 80, None) if line.plain.startswith("Triad"))
    assert line.split()[2:9] == ["51.9", "GB/s", "30.7", "–", "68.3", "normal", "13.0"]


def test_all_has_what_the_first_screen_leaves_out() -> None:
    out = StringIO()
    terminal.show(report_fixture.evaluation(), Console(file=out, width=80))
    for said in ("Reasons for UNSETTLED: interval (3).", "Access in order (L)", "76 % of its limit, normal from 45 %"):
        assert said in " ".join(out.getvalue().split())


@pytest.mark.parametrize("several", [True, False])
def test_a_range_on_the_screen_is_never_cut(several: bool) -> None:
    shown = values.Shown(
        value="754 Gflop/s", interval="", limit="", limit_source="", share=0.6, level="CLEAN", evidence=(),
        typical="700 Gflop/s" if several else "", best="800 Gflop/s" if several else "",
        now=values.span((537e9, 1.06e12), "flop/s") if several else "", launches="2 launches: 400 ns and 2.60 µs",
    )  # fmt: skip
    one = summarised_run.summarised(report_fixture.evaluation()).figures[0]
    figure = replace(one, title="Arithmetic peak", shown=shown)
    assert shown.range in text(details.main_figures([figure], 80))


# --------------------------------------------------------------------------- comparisons


def pair() -> tuple[Evaluation, Evaluation]:
    first = [builders.triad(10e9), builders.chase(1e-7), builders.gather(1e-8)]
    second = [builders.triad(8e9), builders.chase(1e-7), builders.gather(1e-8)]
    a, b = builders.evaluation(first), builders.evaluation(second)
    return a, replace(b, run=replace(b.run, id="later"))


def test_a_comparison_ends_with_what_is_different_for_sure() -> None:
    a, b = pair()
    found = side_by_side.screen(a, b, compare(a, b), 80)
    fits(found)
    shown = text(found)
    assert "3 cases in both: b is  1 SLOWER  0 FASTER  2 SAME  0 UNCLEAR" in shown
    assert "Triad bandwidth" in shown
    assert "memory.stream (1 case): b is slower, with 25 % more time (2" in shown
    order = ("What differs most", "Classes (benchmarks in them)", "Main figures", "--all")
    assert [shown.index(part) for part in order] == sorted(shown.index(part) for part in order)
    assert "--all" in shown


def test_only_what_both_used_counts_as_a_difference_around_them() -> None:
    a, b = pair()
    mpi = (Tool("openmpi-4.1.4", "/usr/bin/mpicxx", "Open MPI 4.1.4"),)
    other = replace(
        a, run=replace(a.run, machine=replace(a.run.machine, mpis=mpi), versions={**a.run.versions, "python": "3.1"})
    )
    shown = text(side_by_side.screen(other, b, compare(other, b), 80))
    assert "No condition differs that matters" in shown
    assert any(d.name == "openmpi-4.1.4" for d in compare(other, b).differences), "--json and --all keep it"
    clang = [replace(r, parameters={**r.parameters, "toolchain": "clang-15"}) for r in b.results]
    compiled = replace(b, results=tuple(clang))
    assert "The compiler is the only condition that differs: gcc-12.2.0 (a), clang-15 (b)." in text(
        side_by_side.screen(a, compiled, compare(a, compiled), 80)
    )


def test_many_cases_that_differ_fit_one_screen() -> None:
    chance = random.Random(1)
    names = [f"memory.example{n}" for n in range(20)]
    sides = []
    for factor in (1.0, 1.3):
        results = [
            builders.result(
                name, "copy", {"threads": t, "size": "long " * 30}, factor * chance.uniform(1, 2), {"bytes": 1e6}
            )
            for name in names
            for t in range(1, 9)
        ]
        sides.append(builders.evaluation(results))
    a, b = sides
    found = side_by_side.screen(a, b, compare(a, b), 80)
    fits(found)
    shown = text(found)
    assert "further differences" in shown
    assert "memory (20)" in shown


def test_a_published_system_fits_one_screen() -> None:
    own = report_fixture.evaluation()
    for system in system_names():
        fits(side_by_side.published(published_figures.compare(own, system), 80))


def test_scaling_fits_one_screen() -> None:
    results = [
        builders.triad(5e9 * t**0.7, threads=t, elements=n) for t in (1, 2, 4) for n in range(10**6, 9 * 10**6, 10**6)
    ]
    of = builders.evaluation(results)
    found = screen.screen(of, 80, REPORT, scaling_rows.brief(sweeps(of), 80))
    fits(found)
    assert "Efficiency by threads: 1: 100 %, 2: 81 %, 4: 66 %" in text(found)


# --------------------------------------------------------------------------- where it is printed


def test_a_pipe_gets_plain_text_of_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    screen.show(report_fixture.evaluation(), lines.console(), REPORT)
    out = capsys.readouterr().out
    assert max(cell_len(line) for line in out.splitlines() if not line.startswith(PLACES)) <= 80
    assert "\x1b" not in out


def test_a_terminal_gets_colours_and_obeys_no_escape_sequence() -> None:
    out = StringIO()
    full = report_fixture.evaluation()
    hostile = replace(full, run=replace(full.run, machine=replace(full.run.machine, host="\x1b[31mred[bold]x")))
    screen.show(hostile, Console(file=out, width=80, force_terminal=True, color_system="standard"), REPORT)
    assert "\x1b[32m" in out.getvalue(), "green"
    assert "\x1b[31mred" not in out.getvalue()
    assert "[bold]x" in out.getvalue()
