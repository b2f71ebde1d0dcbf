"""Scaling: the arithmetic against closed forms, the sweeps of a run, the command's plan, the page, and the finding."""

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result as Outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

import builders
from builders import evaluation, machine, result
from output_schemas import read_output
from steelyard.errors import UsageError
from steelyard.judge.findings.every import scaling as rule
from steelyard.measure import plan
from steelyard.measure.plan import sweep
from steelyard.measure.records import all_runs, read
from steelyard.model import (
    Axes,
    Benchmark,
    Case,
    Condition,
    Enclosure,
    Evaluation,
    Factors,
    Host,
    Result,
    Scalar,
    Source,
)
from steelyard.show import report
from steelyard.show.command_line import cli
from steelyard.show.report import scaling_rows
from steelyard.show.report.pages import scaling as page
from steelyard.statistics.models.scaling import Scaling, scaled_serial_fraction, scaling, serial_fraction
from steelyard.statistics.models.scaling_models import AMDAHL, USL, Estimate, Fit, explain_refusal, speedup
from steelyard.statistics.results.sweeps import sweeps

COUNTS = (1, 2, 4, 8, 16, 32)
Law = Callable[[int], float]


def amdahl(s: float) -> Law:
    return lambda p: s + (1 - s) / p


def usl(a: float, b: float) -> Law:
    return lambda p: (1 + a * (p - 1) + b * p * (p - 1)) / p


def gustafson(s: float) -> Law:
    """Of one operation whose work is p: the time is that of one thread's share of it."""
    return lambda p: p / (p - s * (p - 1))


def exact(law: Law, counts: Iterable[int] = COUNTS, launches: int = 3, **more: Any) -> Scaling:
    return scaling({p: [[law(p)] * 8] * launches for p in counts}, **more)


def fitted(found: Scaling, law: str) -> Fit:
    (one,) = (f for f in found.fits if f.law == law)
    return one


def inside(estimate: Estimate, truth: float) -> bool:
    high = math.inf if estimate.high is None else estimate.high
    assert estimate.low is not None
    return estimate.low <= truth <= high


# --------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("s", [0.0, 0.003, 0.05, 0.4, 1.0])
@pytest.mark.parametrize("counts", [COUNTS, (2, 4, 8, 16), (3, 5, 7, 48, 128)])
def test_exact_data_of_amdahl_give_its_fraction_back(s: float, counts: tuple[int, ...]) -> None:
    fit = fitted(exact(amdahl(s), counts), "Amdahl")
    assert fit.parameters["s"].value == pytest.approx(s, abs=1e-9)
    assert inside(fit.parameters["s"], fit.parameters["s"].value)
    assert fit.follows
    assert fit.deviation < 1e-9
    assert (fit.counts, fit.furthest) == (counts, 2 * max(counts))


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.02, 0.001), (0.2, 0.0), (0.0, 0.005), (1.5, 0.01)])
def test_exact_usl_data_give_the_parameters_and_the_peak(a: float, b: float) -> None:
    fit = fitted(exact(usl(a, b)), "USL")
    assert fit.parameters["a"].value == pytest.approx(a, abs=1e-7)
    assert fit.parameters["b"].value == pytest.approx(b, abs=1e-8)
    at = math.sqrt(max(0.0, 1 - a) / b) if b else math.inf
    if at > 64:
        assert fit.peak is None, "beyond what the law may be followed to"
    else:
        assert fit.peak.value == pytest.approx(max(1.0, at), rel=1e-4)


def test_exact_gustafson_data_give_the_serial_fraction() -> None:
    found = exact(gustafson(0.1), work={p: p for p in COUNTS}, weak=True)
    assert fitted(found, "Gustafson").parameters["s"].value == pytest.approx(0.1, abs=1e-9)
    assert {f.law for f in found.fits} == {"Gustafson", "USL"}
    assert [p.serial.value for p in found.points if p.serial] == pytest.approx([0.1] * 5)


@pytest.mark.parametrize("counts", [COUNTS, (2, 3, 8), (5, 50)])
@pytest.mark.parametrize("s", [0.0, 0.07, 1.0])
def test_the_serial_fraction_of_amdahls_data_is_the_same_at_every_count(s: float, counts: tuple[int, ...]) -> None:
    points = exact(amdahl(s), counts).points
    assert points[0].serial is None
    assert [p.serial.value for p in points[1:] if p.serial] == pytest.approx([s] * (len(counts) - 1), abs=1e-12)


def test_the_serial_fraction_rises_where_messages_grow_with_the_count() -> None:
    found = [p.serial.value for p in exact(usl(0.02, 0.002)).points if p.serial]
    assert found == sorted(found)
    assert found[-1] > 2 * found[0]


def test_karp_and_flatts_own_example() -> None:
    """CACM 33:539: S = 3.96 on 4 and 7.61 on 8 processors of a program whose fractions they give as 0.003 and 0.007."""
    assert serial_fraction(3.96, 4) == pytest.approx((1 / 3.96 - 0.25) / 0.75)
    assert serial_fraction(1.0, 8) == pytest.approx(1.0)
    assert serial_fraction(8.0, 8) == pytest.approx(0.0)
    assert serial_fraction(0.1, 8, base=2) is None, "slower than if nothing ran side by side"
    assert scaled_serial_fraction(1.0, 8) == pytest.approx(1.0)
    assert scaled_serial_fraction(8.0, 8) == pytest.approx(0.0)


@settings(max_examples=20)
@given(
    st.dictionaries(st.integers(1, 200), st.floats(1e-6, 1e3), min_size=2, max_size=6),
    st.floats(1e-6, 1e6),
    st.booleans(),
)
def test_efficiency_times_count_is_the_speed_up_whatever_the_times(
    times: dict[int, float], unit: float, weak: bool
) -> None:
    work = {p: p * 3.0 for p in times} if weak else None
    found = scaling({p: [[t] * 6] * 2 for p, t in times.items()}, work, weak)
    base = min(times)
    assert found.base == base
    for point in found.points:
        ideal = point.count / base
        assert point.efficiency.value * ideal == pytest.approx(point.speedup.value)
        gained = times[base] / times[point.count] * (ideal if weak else 1)
        assert point.speedup.value == pytest.approx(gained, rel=1e-9)
        if point.speedup.low is not None:
            assert inside(point.speedup, point.speedup.value)
    again = scaling({p: [[t * unit] * 6] * 2 for p, t in times.items()}, work, weak)
    assert [p.speedup.value for p in again.points] == pytest.approx([p.speedup.value for p in found.points])
    for one, other in zip(found.fits, again.fits, strict=True):
        assert other.deviation == pytest.approx(one.deviation, rel=1e-3, abs=1e-6)
        for fit in (one, other):
            assert all(e.value >= 0 for e in fit.parameters.values())


@pytest.mark.long
def test_the_intervals_hold_the_truth_at_their_rate() -> None:
    """Launches that differ by 1 % and samples by 1 %: at least nine of ten intervals of 95 %, and not by being boundless."""
    rounds = 40
    chance = np.random.default_rng(5)
    hits, widths, all_ = {"s": 0, "a": 0, "b": 0, "speedup": 0, "adds": 0}, [], 0
    for _ in range(rounds):
        rows = {
            p: [
                list(usl(0.05, 0.002)(p) * np.exp(chance.normal(0, 0.01) + chance.normal(0, 0.01, 10)))
                for _ in range(3)
            ]
            for p in COUNTS
        }
        found = scaling(rows)
        parameters = fitted(found, "USL").parameters
        hits["a"] += inside(parameters["a"], 0.05)
        hits["b"] += inside(parameters["b"], 0.002)
        widths.append((parameters["a"].high or math.inf) - (parameters["a"].low or 0.0))
        for before, point in zip(found.points, found.points[1:], strict=False):
            all_ += 1
            gained = [1 / usl(0.05, 0.002)(p.count) for p in (before, point)]
            hits["speedup"] += inside(point.speedup, gained[1])
            assert point.step
            hits["adds"] += inside(point.step.adds, (gained[1] - gained[0]) / (point.count - before.count))
        serial = {p: [list(amdahl(0.05)(p) * np.exp(chance.normal(0, 0.01, 12))) for _ in range(3)] for p in (1, 2, 4)}
        hits["s"] += inside(fitted(scaling(serial), "Amdahl").parameters["s"], 0.05)
    assert min(hits[k] for k in "sab") >= 0.88 * rounds, hits
    assert hits["speedup"] >= 0.9 * all_
    assert hits["adds"] >= 0.9 * all_
    assert float(np.median(widths)) < 0.05


# --------------------------------------------------------------------------- what is refused, left out, and told apart


def test_a_law_is_refused_with_its_reason_where_counts_are_too_few() -> None:
    found = exact(amdahl(0.1), (1, 2))
    assert found.fits == ()
    assert "one parameter and needs at least 3" in found.refused["Amdahl"]
    assert "2 parameters and needs at least 4" in found.refused["USL"]
    assert explain_refusal(AMDAHL, (1, 2, 4)) == ""
    assert explain_refusal(USL, (1, 2, 4))
    assert explain_refusal(USL, (1, 2, 4, 8)) == ""


def test_counts_without_a_processor_for_each_are_shown_and_in_no_fit() -> None:
    law = amdahl(0.1)
    rows = {p: [[law(min(p, 4))] * 8] * 3 for p in (1, 2, 3, 4, 8, 16)}
    found = scaling(rows, crowded={8, 16})
    assert [p.count for p in found.points if p.crowded] == [8, 16]
    assert fitted(found, "Amdahl").counts == (1, 2, 3, 4)
    assert fitted(found, "Amdahl").parameters["s"].value == pytest.approx(0.1)
    assert found.stop.count <= 4
    assert all(p.step is None for p in found.points if p.crowded)


def test_a_law_that_does_not_describe_the_times_says_so() -> None:
    found = exact(usl(0.0, 0.02))
    assert not fitted(found, "Amdahl").follows
    assert fitted(found, "USL").follows


def test_times_that_only_rise_leave_no_law_but_a_reason() -> None:
    found = exact(lambda p: float(p - 0.999), (1, 2, 4, 8, 16))
    assert all(math.isfinite(e.value) for f in found.fits for e in f.parameters.values())
    assert {f.law for f in found.fits} | set(found.refused) == {"Amdahl", "USL"}


def test_the_formula_of_a_law_is_what_is_drawn() -> None:
    strong, weak = exact(amdahl(0.25)), exact(gustafson(0.25), work={p: p for p in COUNTS}, weak=True)
    assert speedup(fitted(strong, "Amdahl"), 4) == pytest.approx(1 / (0.25 + 0.75 / 4))
    assert speedup(fitted(weak, "Gustafson"), 4) == pytest.approx(4 - 0.25 * 3)
    assert speedup(fitted(exact(usl(0.1, 0.01)), "USL"), 4) == pytest.approx(4 / (1 + 0.3 + 0.12))


def test_one_stops_where_a_further_core_adds_less_than_half() -> None:
    stop = exact(amdahl(0.05)).stop
    # From 8 to 16 the speed-up of 1/(0.05 + 0.95/p) grows by 3.22: 0.40 for each of eight.
    assert (stop.count, stop.certain) == (8, True)
    assert stop.beyond.adds.value == pytest.approx((9.142857 - 5.925926) / 8, rel=1e-5)
    assert stop.beyond.call == "not worth"


def test_there_is_no_reason_to_stop_where_every_core_adds_its_worth() -> None:
    stop = exact(amdahl(0.0)).stop
    assert (stop.count, stop.beyond, stop.certain) == (32, None, True)


def test_a_program_that_gains_nothing_stops_at_once() -> None:
    stop = exact(amdahl(1.0)).stop
    assert (stop.count, stop.into, stop.certain) == (1, None, True)


def test_a_step_near_half_is_not_told_apart() -> None:
    # From 1 to 2 the speed-up grows by 0.5 exactly.
    stop = exact(lambda p: {1: 1.0, 2: 1 / 1.5, 4: 1 / 1.6}[p], (1, 2, 4)).stop
    assert not stop.certain


def test_one_slow_count_does_not_hide_what_pays_beyond_it() -> None:
    times = {1: 1.0, 2: 0.5, 3: 0.49, 4: 0.26, 8: 0.2}
    stop = exact(lambda p: times[p], times).stop
    assert stop.count == 4


@pytest.mark.parametrize(
    ("launches", "more"),
    [
        ({1: [[1.0]]}, {}),
        ({0: [[1.0]], 1: [[1.0]]}, {}),
        ({1: [[1.0]], 2: [[1.0]]}, {"work": {1: 1.0, 2: 0.0}}),
        ({1: [[1.0]], 2: []}, {}),
        ({1: [[1.0]], 2: [[-1.0]]}, {}),
    ],
)
def test_what_is_no_scaling_is_refused(launches: Mapping[int, Any], more: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"scaling needs|the work is|has no launches"):
        scaling(launches, **more)


# --------------------------------------------------------------------------- the sweeps of a run


def line(
    law: Law, counts: Sequence[int] = COUNTS, over: str = "threads", seconds: float = 2.0, **more: Any
) -> list[Result]:
    """Results of application.npb_cg at these counts; further parameters, and arguments of `result`, by name."""
    own = {"level", "evidence", "launches", "surroundings", "spread"}
    name = more.pop("benchmark", "application.npb_cg")
    work = more.pop("work", lambda p: {"operations": 1e9})
    parameters = {"class": "A", "model": "threads", **{k: v for k, v in more.items() if k not in own}}
    arguments = {k: v for k, v in more.items() if k in own}
    return [
        result(
            name,
            name.rpartition("_")[2],
            {**{k: v(p) if callable(v) else v for k, v in parameters.items()}, over: p},
            seconds * law(p),
            work(p),
            **{k: v(p) if callable(v) else v for k, v in arguments.items()},
        )
        for p in counts
    ]


def seen(results: Iterable[Result], cores: int = 64, **more: Any) -> Evaluation:
    return evaluation(results, machine(cores=cores, **more))


def test_results_that_differ_in_threads_alone_are_a_sweep() -> None:
    other = line(amdahl(0.2), (1, 2, 4), **{"class": "B"})
    found = sweeps(seen([*line(amdahl(0.05)), *other]))
    assert [(s.over, s.parameters["class"], tuple(s.results)) for s in found] == [
        ("threads", "A", COUNTS),
        ("threads", "B", (1, 2, 4)),
    ]
    assert fitted(found[0].scaling, "Amdahl").parameters["s"].value == pytest.approx(0.05, abs=0.003)
    assert found[0].unit == "operations"
    assert found[0].shortest == pytest.approx(2 * amdahl(0.05)(32), rel=0.01)


def test_each_programming_model_is_a_sweep_of_its_own() -> None:
    both = [*line(amdahl(0.1)), *line(amdahl(0.2), over="ranks", model="mpi", mpi="openmpi-4.1.4")]
    assert sorted((s.over, str(s.parameters["model"])) for s in sweeps(seen(both))) == [
        ("ranks", "mpi"),
        ("threads", "threads"),
    ]


def test_work_that_grows_with_the_count_is_weak_scaling() -> None:
    grown = line(
        gustafson(0.1),
        elements=lambda p: 1000 * p,
        work=lambda p: {"flops": 7.0 * 1000 * p},
    )
    (found,) = sweeps(seen(grown))
    assert found.scaling.weak
    assert "elements" not in found.parameters
    assert fitted(found.scaling, "Gustafson").parameters["s"].value == pytest.approx(0.1, abs=0.02)


def test_a_size_that_shrinks_so_that_the_work_stays_is_strong_scaling() -> None:
    (found,) = sweeps(seen(line(amdahl(0.1), (1, 2, 4), elements=lambda p: 4096 // p)))
    assert not found.scaling.weak


def test_cases_of_different_problems_are_no_sweep() -> None:
    assert sweeps(seen(line(amdahl(0.1), work=lambda p: {"flops": float(p**3)}))) == ()
    assert sweeps(seen(line(amdahl(0.1), (4,)))) == ()
    assert sweeps(seen(line(amdahl(0.1), benchmark="network.collectives", over="ranks"))) == ()
    assert sweeps(seen(line(amdahl(0.1), plant="skip"))) == ()


def test_ranks_with_as_many_on_each_node_are_a_sweep_over_nodes() -> None:
    over = [
        *line(amdahl(0.1), (2, 4, 8), over="ranks", ranks_per_node=2),
        *line(amdahl(0.1), (1, 2, 4), over="ranks", ranks_per_node=1),
    ]
    found = {s.parameters["ranks_per_node"]: s for s in sweeps(seen(over))}
    assert {load: (s.over, tuple(s.results)) for load, s in found.items()} == {
        2: ("nodes", (1, 2, 4)),
        1: ("nodes", (1, 2, 4)),
    }


def test_ranks_on_each_of_the_same_nodes_are_a_sweep_over_the_load() -> None:
    (found,) = sweeps(seen(line(amdahl(0.1), (2, 4, 8), over="ranks", ranks_per_node=lambda p: p // 2)))
    assert found.over == "ranks_per_node"


def test_more_ranks_than_processors_are_crowded() -> None:
    crowded = line(amdahl(0.1), (1, 2, 4), over="ranks", model="mpi", surroundings=lambda p: {"oversubscribed": p > 2})
    (found,) = sweeps(seen(crowded))
    assert [p.crowded for p in found.scaling.points] == [False, False, True]


def test_invalid_results_are_left_out_of_a_sweep() -> None:
    (found,) = sweeps(
        seen(
            line(
                amdahl(0.1),
                (1, 2, 4, 8),
                level=lambda p: {2: "UNSETTLED", 4: "INVALID", 8: "DISTURBED"}.get(p, "CLEAN"),
                evidence=lambda p: ("steal: much",),
            )
        )
    )
    assert tuple(found.results) == (1, 2, 8)
    assert (found.level, found.counts("DISTURBED"), found.counts("UNSETTLED")) == ("DISTURBED", (8,), (2,))
    notes = " ".join(scaling_rows.notes(found))
    assert "UNSETTLED: 2 threads. Do not rely on values that depend on these results. DISTURBED: 8 threads." in notes
    (plain,) = scaling_rows.as_json([found])
    assert (plain["disturbed"], plain["unsettled"]) == ([8], [2])
    out = StringIO()
    scaling_rows.show([found], Console(file=out, width=120))
    marks = [line.split()[-1] for line in out.getvalue().splitlines() if line.split()[:1] in (["2"], ["8"])]
    assert marks == ["◐", "▲"]
    assert scaling_rows.stop_here(found).endswith("(Disturbed: take this with care.)")


# --------------------------------------------------------------------------- the sentences


def sentence(law: Law, counts: Sequence[int] = COUNTS, **more: Any) -> str:
    (found,) = sweeps(seen(line(law, counts, **more)))
    return scaling_rows.stop_here(found)


def test_where_to_stop_is_said_in_a_sentence() -> None:
    told = sentence(amdahl(0.05))
    assert told.startswith("Stop at 8 threads: from 8 to 16, each additional one adds 0.4")
    assert told.endswith("of the speed of one thread alone, less than half.")
    assert "All measured numbers up to 32 threads" in sentence(amdahl(0.0))
    assert "the speed of one of the first 2" in sentence(amdahl(0.05), (2, 4, 8, 16))
    assert "not clearly different from half" in sentence(lambda p: {1: 1.0, 2: 1 / 1.5, 4: 1 / 1.6}[p], (1, 2, 4))


def test_numbers_between_that_were_not_measured_may_be_the_best() -> None:
    """Amdahl's law with s = 0.1 adds at least half up to 5 threads; 1 and 32 alone say only that 32 are too many."""
    assert sentence(amdahl(0.1), (1, 32)).endswith("The best number may lie between them: measure these numbers, too.")
    assert "between" not in sentence(amdahl(0.1), (1, 2, 4, 8, 16, 32))


def test_rounding_is_no_serial_fraction_and_a_slowdown_is_none() -> None:
    (ideal,) = sweeps(seen(line(amdahl(0.0))))
    assert {scaling_rows.row(point)[4] for point in ideal.scaling.points[1:]} == {"none"}
    words = " ".join(scaling_rows.laws(ideal))
    assert "e-" not in words
    assert "It deviates from the times by 0 %." in words
    (slower,) = sweeps(seen(line(lambda p: 1 + 0.2 * (p - 1))))
    assert {scaling_rows.row(point)[4:6] for point in slower.scaling.points[1:]} == {("above 1: slower", "–")}


def test_sweeps_of_a_benchmark_are_told_apart_by_what_differs() -> None:
    found = sweeps(seen([*line(amdahl(0.1)), *line(amdahl(0.1), (1, 2), **{"class": "B"}, pinning="none")]))
    names = [scaling_rows.named(s, found) for s in found]
    assert names[0] == "cg, class A, threads"
    assert names[1] == "cg, class B, threads, not pinned"


def test_an_unfitted_law_is_reported_once() -> None:
    two = sweeps(seen([*line(amdahl(0.1), (1, 2)), *line(amdahl(0.1), (1, 2), pinning="none")]))
    assert [words.partition(":")[0] for words in scaling_rows.refused(two)] == [
        "Amdahl's law could not be fitted",
        "The universal scalability law could not be fitted",
    ]
    few = sweeps(seen([*line(amdahl(0.1)), *line(amdahl(0.1), (1, 2, 4), pinning="none")]))
    (words,) = scaling_rows.refused(few)
    assert words.startswith(
        "The universal scalability law could not be fitted to cg, class A, threads, not pinned: it has 2"
    )


def test_only_a_speed_up_above_the_ideal_has_a_remark() -> None:
    def remarks(law: Law) -> list[str]:
        (found,) = sweeps(seen(line(law, (1, 2, 4))))
        return [note for note in scaling_rows.notes(found) if "above the ideal" in note]

    (remark,) = remarks(lambda p: 1 / p if p < 4 else 0.5 / p)
    assert remark.startswith("The speed-up with 4 threads is above the ideal (efficiency up to 200 %)")
    assert remarks(amdahl(0.0)) == []


def test_a_speed_up_above_the_ideal_has_no_serial_fraction() -> None:
    (found,) = sweeps(seen(line(lambda p: 1 / p if p < 4 else 0.5 / p, (1, 2, 4))))
    cells = scaling_rows.row(found.scaling.points[-1])
    assert cells[3:6] == ("200 %", "none: above the ideal", "–")
    (exactly,) = sweeps(seen(line(lambda p: 0.9999 / p if p > 1 else 1.0, (1, 2, 4))))
    assert scaling_rows.row(exactly.scaling.points[-1])[4] == "none", "within the interval of the ideal"


def test_each_place_shows_the_verdict_that_the_result_has_on_a_shared_machine() -> None:
    counts = line(
        lambda p: 1.6 if p == 1 else 1 / p,
        (1, 2, 4),
        benchmark="mine.sweep",
        level=lambda p: "DISTURBED" if p == 1 else "CLEAN",
        evidence=("steal: 0.3 s.",),
    )
    shared = Condition(shared=True, had={}, load=0.0, causes=("steal",))
    of_run = replace(seen(counts), condition=shared)
    made = page.data(of_run)
    (brief,) = made.briefs
    assert brief.level == "DISTURBED", "every speed-up rests on the result with 1 thread"
    (note,) = made.brief_notes
    assert "or 1 thread ran too slowly: this result is DISTURBED." in note
    text = " ".join(str(line) for line in scaling_rows.brief(sweeps(of_run), 200))
    assert "▲ 100 %, 2: ▲ 160 %" in text


def test_the_data_of_a_sweep_are_plain_json() -> None:
    (found,) = scaling_rows.as_json(sweeps(seen(line(amdahl(0.05)))))
    assert json.loads(json.dumps(found, allow_nan=False))["points"][1]["efficiency"]["value"] == pytest.approx(
        1 / 1.05, rel=0.01
    )
    assert found["over"] == "threads"
    assert found["fits"][0]["law"] == "Amdahl"
    assert found["stop_here"].startswith("Stop at 8 threads")


# --------------------------------------------------------------------------- the plan of the command


def planned(name: str, words: Mapping[str, Sequence[Scalar]] | None = None, hosts: int = 0, **more: Any) -> list[Case]:
    """The cases of one launch each of `steelyard scale NAME` on a machine with 8 processors."""
    from steelyard.measure.plan import catalogue

    where = machine(cores=8, hosts=tuple(Host(f"n{i}", 4) for i in range(hosts)))
    asked = sweep.wanted(name, more.get("over"), more.get("counts"), more.get("weak", False), more.get("paths", ()))
    effort = plan.EFFORTS["quick"]
    chosen, rest = sweep.shape(asked)({name: catalogue.find()[name]}, where, effort, words or {})
    made = plan.make(chosen, where, effort, rest, ["gcc"], mpis=["openmpi"])
    return [case for launch in made.launches if launch.repetition == 1 for case in launch.cases]


def of(cases: Iterable[Case], *names: str) -> list[tuple[Scalar | None, ...]]:
    return sorted(tuple(c.parameters.get(n) for n in names) for c in cases)


def test_a_sweep_takes_all_counts_and_one_value_of_everything_else() -> None:
    cases = planned("node.vector")
    assert of(cases, "threads") == [(1,), (2,), (4,), (8,)]
    assert {c.parameters["mode"] for c in cases} == {"threads"}
    assert len({c.parameters["elements"] for c in cases}) == 1
    stream = planned("memory.stream", {"kernel": ["triad"]}, counts="1,3")
    assert of(stream, "threads", "stores", "pinning") == [(1, "ordinary", "compact"), (3, "ordinary", "compact")]


def test_settings_choose_values_and_may_give_several() -> None:
    cases = planned("memory.stream", {"kernel": ["triad"], "stores": ["ordinary", "streaming"]}, counts="1,2")
    assert len(cases) == 4


@pytest.mark.wings
def test_the_work_grows_with_the_count_where_it_is_asked_to() -> None:
    cases = planned("node.vector", {"elements": [1000]}, weak=True, counts="1,2,4")
    assert of(cases, "threads", "elements") == [(1, 1000), (2, 2000), (4, 4000)]
    grown = planned("application.npb_mg", {"class": ["W"], "model": ["threads"]}, weak=True, counts="1,2,4")
    assert {(c.parameters["threads"], c.parameters["scale"]) for c in grown} == {(1, 1), (2, 2), (4, 4)}
    grown = planned("application.npb_mg", {"scale": [8], "model": ["threads"]}, weak=True, counts="1,2")
    assert {(c.parameters["threads"], c.parameters["scale"]) for c in grown} == {(1, 8), (2, 16)}
    assert not any("scale" in c.parameters for c in planned("application.npb_mg", counts="1,2"))
    flops = planned("cluster.flops", {"kernel": ["flops"]}, weak=True, counts="1,2")
    (_, one), (_, two) = of(flops, "ranks", "intervals")
    assert two == 2 * int(one)
    # Each rank has vectors of its own: nothing needs to grow.
    assert len({c.parameters["elements"] for c in planned("cluster.stream", weak=True)}) == 1


def test_hosts_are_swept_by_nodes_and_by_their_load() -> None:
    task: Mapping[str, Sequence[Scalar]] = {"kernel": ["task"]}
    nodes = planned("cluster.flops", task, over="nodes", hosts=3)
    assert of(nodes, "ranks", "ranks_per_node") == [(4, 4), (8, 4), (12, 4)]
    one = planned("cluster.flops", {**task, "ranks_per_node": [1]}, over="nodes", hosts=2)
    assert of(one, "ranks", "ranks_per_node") == [(1, 1), (2, 1)]
    loads = planned("cluster.flops", task, over="ranks_per_node", hosts=2)
    assert of(loads, "ranks", "ranks_per_node") == [(2, 1), (4, 2), (8, 4)]


def two_models() -> Benchmark:
    blocks = (
        Axes({"kernel": ("cg",), "class": ("W", "A"), "model": ("threads",), "threads": (4,), "pinning": ("compact",)}),
        Axes({"kernel": ("cg",), "class": ("W", "A"), "model": ("mpi", "rma"), "ranks": (1, 2, 4)}),
    )
    sources = (Source("t.cpp", False, "threads"), Source("m.cpp", True, "mpi"), Source("r.cpp", True, "rma"))
    return replace(builders.benchmark("application.two"), sources=sources, axes=lambda m, e: blocks)


def test_every_programming_model_is_swept_in_its_own_way() -> None:
    wanted = sweep.Wanted("application.two", None, (1, 2), False)
    chosen, rest = sweep.shape(wanted)({"application.two": two_models()}, machine(), plan.EFFORTS["quick"], {})
    made = plan.make(chosen, machine(), plan.EFFORTS["quick"], rest, ["gcc"], mpis=["openmpi"])
    cases = [c for launch in made.launches if launch.repetition == 1 for c in launch.cases]
    found = {tuple(c.parameters.get(n) for n in ("model", "threads", "ranks")) for c in cases}
    assert found == {("threads", n, None) for n in (1, 2)} | {(m, None, n) for m in ("mpi", "rma") for n in (1, 2)}
    assert {c.parameters["class"] for c in cases} == {"A"}, "the greatest class of the preset"
    only = sweep.shape(wanted)({"application.two": two_models()}, machine(), plan.EFFORTS["quick"], {"model": ["mpi"]})
    mpi = plan.make(only[0], machine(), plan.EFFORTS["quick"], only[1], ["gcc"], mpis=["openmpi"])
    assert {c.parameters["model"] for x in mpi.launches for c in x.cases} == {"mpi"}


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("node.vektor", {}, "Did you mean 'node.vector'"),
        ("network.pingpong", {}, "does not divide work"),
        ("node.vector", {"over": "thread"}, "Did you mean 'threads'"),
        ("node.vector", {"over": "ranks"}, "no ranks"),
        ("cluster.flops", {"over": "nodes"}, "--hosts"),
        ("node.vector", {"counts": "1,two"}, "'two' in --counts"),
        ("node.vector", {"counts": "4"}, "at least two different counts"),
        ("node.vector", {"counts": "0,4"}, "'0' in --counts"),
        (
            "node.matmul",
            {"weak": True},
            "cluster.flops",
        ),
        ("cluster.flops", {"weak": True, "over": "ranks_per_node"}, "cannot be used with --over ranks_per_node"),
        ("node.vector", {"over": "threads", "words": {"threads": [2]}}, "--counts 2"),
        ("node.vector", {"words": {"threads": [2]}}, "would be measured with one count only"),
        ("node.vector", {"words": {"kernel": ["vectr"]}}, "Did you mean 'vector'"),
        ("node.vector", {"counts": "1,64"}, "threads=64 is more than the 8 processors"),
        ("node.vector", {"words": {"element": [2]}}, "Did you mean 'elements'"),
        ("cluster.flops", {"weak": True, "words": {"intervals": ["many"]}}, "intervals=many"),
    ],
)
def test_what_cannot_be_swept_is_explained(name: str, more: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=None) as told:
        planned(name, more.pop("words", None), **more)
    assert expected in str(told.value)


# --------------------------------------------------------------------------- the page


def test_applications_are_shown_in_full_and_others_in_one_table() -> None:
    run = seen(
        [
            *line(amdahl(0.05)),
            *line(usl(0.1, 0.0), benchmark="node.vector"),
            *line(amdahl(0.1), benchmark="memory.stream"),
        ]
    )
    found = page.data(run)
    assert [s.name for s in found.sections] == ["application.npb_cg"]
    assert [b.benchmark for b in found.briefs] == ["node.vector"]
    assert "This page shows figures and tables for applications only" in found.choice
    html = report.render(run)
    assert html.count('<section class="page" id="scaling">') == 1
    assert '<a href="#scaling">Scaling</a>' in html
    assert "Stop at 8 threads" in html


def test_a_run_of_the_command_is_shown_in_full_whatever_the_benchmark() -> None:
    command = ("steelyard", "scale", "memory.stream")
    run = evaluation(line(amdahl(0.1), benchmark="memory.stream"), machine(cores=64), command=command)
    found = page.data(run)
    assert [s.name for s in found.sections] == ["memory.stream"]
    assert (found.choice, found.briefs) == ("", ())


def test_a_sweep_without_processors_for_any_count_has_no_figure() -> None:
    found = page.data(seen(line(amdahl(0.05), (4, 8, 16)), cores=2))
    (section,) = found.sections
    assert section.figures == ()
    assert [row.crowded for row in section.lines[0].rows] == [True] * 3


def test_there_is_no_page_where_nothing_was_measured_at_two_counts() -> None:
    run = seen([builders.triad(1e10, threads=2)])
    assert page.data(run) is None
    assert 'id="scaling"' not in report.render(run)


def plots(run: Evaluation) -> list[dict[str, Any]]:
    found = page.data(run)
    return [json.loads(f.plot) for f in found.sections[0].figures[0]]


def test_a_law_is_drawn_dashed_within_its_range() -> None:
    gained, share, _ = plots(seen(line(amdahl(0.05))))
    traces = {t["name"]: t for t in gained["data"]}
    assert traces["Amdahl"]["line"]["dash"] == "dash"
    assert traces["Amdahl"]["meta"]["colour"] == traces["cg, class A, threads"]["meta"]["colour"]
    assert (min(traces["Amdahl"]["x"]), max(traces["Amdahl"]["x"])) == pytest.approx((1, 64))
    assert traces["ideal"]["y"] == [1.0, 32.0]
    assert gained["layout"]["xaxis"]["type"] == gained["layout"]["yaxis"]["type"] == "log"
    assert gained["layout"]["xaxis"]["tickvals"] == [1, 2, 4, 8, 16, 32, 64]
    assert len(share["data"]) == 1


MINI = "application.molecular_dynamics"


def together(run: Evaluation) -> list[list[dict[str, Any]]]:
    """The pictures of all applications: of each kind of scaling speed-up and efficiency."""
    found = page.data(run)
    return [[json.loads(figure.plot) for figure in pair] for pair in found.together]


def growing(benchmark: str, fraction: float, over: str = "threads") -> list[Result]:
    """Work that grows with the count."""
    sizes = {"elements": lambda p: 1000 * p, "work": lambda p: {"flops": 7e3 * p}}
    return line(gustafson(fraction), (1, 2, 4, 8), over, benchmark=benchmark, **sizes)


def test_all_applications_stand_in_each_picture() -> None:
    several = [*line(amdahl(0.05)), *line(amdahl(0.02), benchmark=MINI), *line(amdahl(0.1), benchmark="node.vector")]
    weak = [*growing(MINI, 0.1), *growing("application.turbulence", 0.3)]
    strong, grown = together(seen([*several, *weak]))
    for gained, share in (strong, grown):
        assert gained["layout"]["xaxis"]["type"] == gained["layout"]["yaxis"]["type"] == "log"
        assert [mark["y0"] for mark in share["layout"]["shapes"]] == [50, 70, 90]
    assert [trace["name"] for trace in strong[0]["data"]] == ["NPB CG", "Molecular dynamics", "ideal"]
    assert [trace["name"] for trace in grown[1]["data"]] == ["Molecular dynamics", "Turbulence"]
    efficiency = dict(zip(strong[1]["data"][0]["x"], strong[1]["data"][0]["y"], strict=True))
    assert efficiency[8] == pytest.approx(100 / 8 / amdahl(0.05)(8), rel=0.05)


def test_the_longest_sweep_of_an_application_is_shown() -> None:
    short = line(amdahl(0.05), (1, 2), **{"class": "B"})
    ranks = line(amdahl(0.2), (2, 4, 16), "ranks", model="mpi")
    run = seen([*short, *ranks, *line(amdahl(0.02), (1, 2, 4), benchmark=MINI)])
    ((gained, _),) = together(run)
    assert [trace["name"] for trace in gained["data"]] == ["NPB CG, ranks", "Molecular dynamics, threads", "ideal"]
    assert gained["data"][0]["x"] == [2, 4, 16]
    found = page.data(run)
    assert "(NPB CG, ranks: 2, Molecular dynamics, threads: 1)" in found.together[0][0].caption


def test_one_application_needs_no_picture_of_all() -> None:
    assert together(seen(line(amdahl(0.05)))) == []


def test_published_scaling_is_quoted_and_drawn_by_node() -> None:
    run = seen(
        [*line(amdahl(0.05)), *line(amdahl(0.02), benchmark=MINI), *growing(MINI, 0.1), *growing("application.x", 0.1)]
    )
    found = page.data(run)
    strong, weak = (pair[1].caption for pair in found.together)
    assert "SMMP 50 % at 32 nodes, BQCD more than 50 % at 64 nodes" in strong
    assert "CoMD more than 90 %" in weak
    assert not any("published" in trace["meta"] for trace in together(run)[0][1]["data"])


def on_nodes(names: Mapping[int, Sequence[str]], **more: Any) -> list[Result]:
    """A rank on each of these hosts, by the count of nodes."""
    hosts = {"surroundings": lambda p: {"ranks": {"hosts": list(names[p])}}}
    return line(amdahl(0.05), tuple(names), "ranks", model="mpi", ranks_per_node=1, **hosts, **more)


def in_enclosures(*results: Result, **kinds: Sequence[Sequence[str]]) -> Evaluation:
    return seen(results, enclosures=tuple(Enclosure(kind, tuple(h)) for kind, of in kinds.items() for h in of))


def across(plot: dict[str, Any]) -> dict[str, float]:
    """The labels of a picture's upright lines, and where these are."""
    upright = [shape["x0"] for shape in plot["layout"]["shapes"] if shape["x0"] == shape["x1"]]
    labels = [note["text"] for note in plot["layout"]["annotations"] if note.get("name") == "above"]
    return dict(zip(labels, upright, strict=True))


NODES = [f"n{number}.cluster" for number in range(1, 17)]
FIRST = {count: NODES[:count] for count in (1, 2, 4, 8, 16)}
BLADES = [[f"n{number}" for number in range(first, first + 4)] for first in (1, 5, 9, 13)]
CHASSIS = [BLADES[0] + BLADES[1], BLADES[2] + BLADES[3]]


def test_figures_are_marked_where_runs_leave_a_blade_or_a_chassis() -> None:
    run = in_enclosures(*on_nodes(FIRST), *on_nodes(FIRST, benchmark=MINI), blade=BLADES, chassis=CHASSIS)
    expected = {"beyond one blade": math.sqrt(4 * 8), "beyond one chassis": math.sqrt(8 * 16)}
    ((gained, share),) = together(run)
    for plot in (gained, share, *plots(run)):
        assert across(plot) == pytest.approx(expected)
    found = page.data(run)
    assert (
        "Up to 4 nodes, all hosts are in one blade, and from 8 on in several; up to 8 nodes, all hosts are in one chassis, "
        "and from 16 on in several." in found.together[0][0].caption
    )


def test_an_allocation_that_lies_across_blades_is_marked_by_its_own_hosts() -> None:
    across_two = {**FIRST, 2: ["n4", "n5"], 4: ["n4", "n5", "n6", "n7"]}
    run = in_enclosures(*on_nodes(FIRST), *on_nodes(across_two, benchmark=MINI), blade=BLADES, switch=BLADES)
    ((gained, _),) = together(run)
    where = (math.sqrt(2), math.sqrt(4 * 8))
    assert [shape["x0"] for shape in gained["layout"]["shapes"]] == pytest.approx(where)
    assert {note["text"] for note in gained["layout"]["annotations"]} == {"beyond one blade and one switch"}
    found = page.data(run)
    caption = found.together[0][0].caption
    assert "NPB CG: up to 4 nodes, all hosts are in one blade, and from 8 on in several" in caption
    assert "Molecular dynamics: up to 1 node, all hosts are in one blade, and from 2 on in several" in caption


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (FIRST, {}),  # nobody said
        ({count: NODES[:count] for count in (1, 2, 4)}, {"blade": BLADES}),  # never left
        ({count: NODES[:count] for count in (8, 16)}, {"blade": BLADES}),  # left before the first count
        (FIRST, {"blade": BLADES[:1]}),  # the others stand nowhere
        ({count: [] for count in FIRST}, {"blade": BLADES}),  # the hosts are not known
    ],
)
def test_where_no_border_was_crossed_or_is_known_there_is_no_mark(
    names: Mapping[int, Sequence[str]], kinds: Mapping[str, Sequence[Sequence[str]]]
) -> None:
    run = in_enclosures(*on_nodes(names), *on_nodes(names, benchmark=MINI), **kinds)
    for pair in together(run):
        for plot in pair:
            assert across(plot) == {}
    found = page.data(run)
    assert "hosts are in one" not in found.together[0][0].caption


def factors(name: str, ranks: int, balance: float, serialisation: float, transfer: float) -> Factors:
    parallel = balance * serialisation * transfer
    return Factors(
        name=name,
        ranks=ranks,
        time=2.0,
        computing=2.0 * ranks * parallel,
        load_balance=balance,
        serialisation=serialisation,
        transfer=transfer,
        parallel=parallel,
    )


def test_traces_say_by_what_efficiency_is_lost() -> None:
    traces = (
        factors("lu-8", 8, 0.9, 0.95, 0.6),
        factors("lu-2", 2, 0.98, 0.99, 0.97),
        factors("lu-4", 4, 0.7, 1.0, 0.9),
    )
    run = replace(seen(line(amdahl(0.1))), traces=traces)
    found = page.data(run)
    assert [(row.name, row.ranks, row.cause) for row in found.causes.rows] == [
        ("lu-2", 2, ""), ("lu-4", 4, "load balance"), ("lu-8", 8, "transfer"),
    ]  # fmt: skip
    assert found.causes.rows[2].cells[2:] == ("51 %", "90 %", "95 %", "60 %")
    assert (
        "'lu-8', the 8 ranks compute during 51 % of the time. Most time is lost because messages cost time"
        in found.causes.sentence
    )
    html = report.render(run)
    assert "Where traced programs lose parallel time" in html
    assert "Most time is lost because messages cost time" in html
    assert "Where traced programs lose parallel time" not in report.render(seen(line(amdahl(0.1))))


def test_traces_alone_make_the_page() -> None:
    found = page.data(replace(seen([]), traces=(factors("lu-2", 2, 0.98, 0.99, 0.97),)))
    assert found.causes.sentence.endswith("Little efficiency is lost.")
    assert not page.has_figures(found)


def test_a_law_that_does_not_describe_the_times_is_not_drawn() -> None:
    gained, *_ = plots(seen(line(usl(0.0, 0.02))))
    assert "Amdahl" not in {t["name"] for t in gained["data"]}


def test_many_sweeps_are_spread_over_several_figures() -> None:
    run = seen([r for c in "ABCDEF" for r in line(amdahl(0.05), (1, 2, 4), **{"class": c})])
    found = page.data(run)
    assert [len(group) for group in found.sections[0].figures] == [3, 3]
    assert len(found.sections[0].lines) == 6


def test_a_hostile_name_stays_text() -> None:
    html = report.render(seen(line(amdahl(0.1), (1, 2, 4), model="<script>alert(1)</script>")))
    assert "<script>alert(1)" not in html


# --------------------------------------------------------------------------- the finding

SPEAKS: dict[str, Callable[[], Evaluation]] = {"scaling": lambda: seen(line(amdahl(0.1)))}
SILENT: dict[str, Callable[[], Evaluation]] = {"scaling": lambda: seen(line(amdahl(0.001)))}


def test_the_finding_says_from_where_on_half_is_lost_with_numbers() -> None:
    (found,) = rule.find(seen(line(amdahl(0.1))))
    assert "With 16 threads, the efficiency of application.npb_cg (cg, class A, threads) is below 50 %" in found.seen
    assert "40 %" in found.seen
    assert "32: 24 %" in found.evidence[0]
    assert found.level == "notice"
    assert "does not rise" in found.cause
    (rising,) = rule.find(seen(line(usl(0.02, 0.005))))
    assert "rises" in rising.cause


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (lambda p: {1: 1.0, 2: 0.765, 4: 0.404, 8: 0.284, 16: 0.343, 32: 0.286}[p], "fraction does not rise (0.26 at 32)"),
        (lambda p: 1 + 0.2 * (p - 1), "With 32 threads, the program is slower than with 1."),
        (usl(0.02, 0.002), "The serial fraction rises from 0.024 at 2 to 0.084 at 32."),
        (amdahl(0.2), "(Amdahl's law)"),
    ],
)  # fmt: skip
def test_the_cause_follows_from_the_trend_of_the_serial_fraction(law: Law, expected: str) -> None:
    (found,) = rule.find(seen(line(law)))
    assert expected in found.cause
    assert "larger problem" in str(found.remedy)


def test_growing_work_has_the_law_of_gustafson_and_no_larger_problem() -> None:
    grown = line(gustafson(0.7), elements=lambda p: 1000 * p, work=lambda p: {"flops": 7000.0 * p})
    (found,) = rule.find(seen(grown))
    assert "(Gustafson's law)" in found.cause
    assert "larger problem" not in str(found.remedy)


def test_what_is_too_short_to_time_has_no_finding() -> None:
    assert rule.find(seen(line(amdahl(0.5), **{"class": "S"}))) == []
    assert rule.find(seen(line(amdahl(0.5), seconds=0.06))) == []
    assert rule.find(seen(line(amdahl(0.5), seconds=1.0))) != []


def test_half_that_is_not_told_apart_or_regained_is_no_finding() -> None:
    assert rule.find(seen(line(lambda p: {1: 1.0, 2: 0.995}[p], (1, 2), spread=0.05))) == []
    assert rule.find(seen(line(lambda p: {1: 1.0, 2: 1.2, 4: 0.3}[p], (1, 2, 4)))) == []


def test_ranks_without_processors_and_loops_over_memory_have_no_finding() -> None:
    crowded = line(lambda p: 1.0, (1, 2, 4), over="ranks", surroundings=lambda p: {"oversubscribed": p > 1})
    assert rule.find(seen(crowded)) == []
    assert rule.find(seen(line(amdahl(0.9), benchmark="memory.stream"))) == []


def test_several_sweeps_of_a_benchmark_are_one_finding() -> None:
    both = [*line(amdahl(0.1)), *line(amdahl(0.2), over="ranks", model="mpi")]
    (found,) = rule.find(seen(both))
    assert "The same holds for another sweep of this benchmark." in found.seen
    assert len(found.evidence) == 2


# --------------------------------------------------------------------------- end to end

SMALL = ["scale", "node.vector", "--counts", "1,2", "--set", "elements=65536", "--quiet"]
two_processors = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")


def steelyard(folder: Path, *words: str) -> Outcome:
    with contextlib.chdir(folder):
        return CliRunner().invoke(cli.app, words)


@pytest.mark.long
@two_processors
def test_the_command_measures_and_tells_how_a_benchmark_scales(tmp_path: Path) -> None:
    done = steelyard(tmp_path, *SMALL, "--json")
    assert done.exit_code in (0, 1), done.output
    told = read_output("scale", done.stdout)
    (sweep,) = told["sweeps"]
    assert (sweep["benchmark"], sweep["over"], sweep["base"]) == ("node.vector", "threads", 1)
    assert [p["count"] for p in sweep["points"]] == [1, 2]
    assert 'id="scaling"' in Path(tmp_path, told["report"]).read_text(encoding="utf-8")
    run = read(all_runs(tmp_path / "runs")[0])
    assert {r.parameters["threads"] for r in run.records} == {1, 2}
    assert run.finished
