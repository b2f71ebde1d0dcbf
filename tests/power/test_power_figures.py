"""Energy of the node's kernels as figures: over that of a reference, and against the time; measured and modelled apart."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import power_fixture
from steelyard.model import Evaluation, Value
from steelyard.model.sensor import Power, Trace
from steelyard.power.pages.power import data
from steelyard.show.report import render
from steelyard.show.report.energy_figures import Energies, energies
from steelyard.statistics.results.pareto_front import find_front

GUESS = replace(power_fixture.RAIL, name="model/node", source="model", modelled=True)


@pytest.fixture(scope="module")
def made() -> Evaluation:
    return power_fixture.made()


def only(evaluation: Evaluation) -> Energies:
    (found,) = energies(evaluation)
    return found


def test_each_mode_stands_against_the_same_kernel_on_one_thread(made: Evaluation) -> None:
    part = only(made).against
    assert part
    assert part.modes == ("1 thread", "2 threads", "GPU 0 (OpenCL)", "2 threads and GPU 0 (OpenCL)")
    assert part.figure.title == "Energy of an iteration (node) divided by the energy with 1 thread"
    for row in part.rows:
        joules = [seconds * watts for seconds, watts in power_fixture.KERNELS[row.name]]
        told = [float(cell.ratio) for cell in row.cells if cell]
        assert told == pytest.approx([j / joules[0] for j in joules], rel=0.02)
    assert part.figure.notes == ("1 of 15 ratios is DISTURBED. Hatched bars show it.",)
    plot = json.loads(part.figure.plot)
    assert plot["layout"]["yaxis"]["type"] == "log"
    assert all(trace["error_y"]["array"] for trace in plot["data"])


def test_the_interval_of_a_ratio_holds_those_of_both_energies(made: Evaluation) -> None:
    part = only(made).against
    assert part
    by = {(r.kernel, r.parameters["mode"], r.parameters["threads"]): r.metrics["energy"] for r in made.results}
    a, b = by["stencil", "opencl", 1], by["stencil", "threads", 1]
    row = next(row for row in part.figure.rows if row[:2] == ("GPU 0 (OpenCL)", "stencil"))
    low, high = map(float, row[3].split(" – "))
    assert low == pytest.approx((a.low or 0) / (b.high or 0), rel=5e-3)
    assert high == pytest.approx((a.high or 0) / (b.low or 0), rel=5e-3)


def test_without_one_thread_the_first_mode_is_the_reference() -> None:
    results = [r for r in power_fixture.results() if (r.parameters["mode"], r.parameters["threads"]) != ("threads", 1)]
    part = only(power_fixture.evaluated(results)).against
    assert part
    assert part.figure.title == "Energy of an iteration (node) divided by the energy with 2 threads"


def test_a_kernel_in_one_mode_has_a_point_and_no_ratio() -> None:
    alone = [r for r in power_fixture.results() if (r.parameters["mode"], r.parameters["threads"]) == ("threads", 1)]
    found = only(power_fixture.evaluated(alone))
    assert found.against is None
    assert len(found.times.rows) == len(power_fixture.KERNELS)


def test_the_best_points_are_joined_and_all_have_both_intervals(made: Evaluation) -> None:
    times = only(made).times
    best = {row[:2] for row in times.rows if row[-1]}
    # By both sides together in less time, by the device with less energy.
    stencil = {mode for kernel, mode in best if kernel == "stencil"}
    assert stencil == {"GPU 0 (OpenCL)", "2 threads and GPU 0 (OpenCL)"}
    plot = json.loads(times.plot)
    points = [trace for trace in plot["data"] if "error_x" in trace]
    assert [trace["name"] for trace in points] == sorted(power_fixture.KERNELS)
    assert all(len(trace["error_x"]["array"]) == len(trace["error_y"]["array"]) == 4 for trace in points)
    lines = {trace["legendgroup"]: trace for trace in plot["data"] if trace["mode"] == "lines"}
    stencils = next(trace for trace in points if trace["name"] == "stencil")
    assert len(lines[stencils["legendgroup"]]["x"]) == 2
    assert lines[stencils["legendgroup"]]["meta"]["colour"] == stencils["meta"]["colour"]
    assert plot["layout"]["xaxis"]["type"] == plot["layout"]["yaxis"]["type"] == "log"
    assert times.notes == ("1 of 20 points is DISTURBED. Hollow marks show it.",)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_what_is_best_is_beaten_by_none_and_beats_the_rest(points: Sequence[tuple[int, int]]) -> None:
    def beats(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a != b and a[0] <= b[0] and a[1] <= b[1]

    best = [points[place] for place in find_front(points)]
    assert best == sorted(set(best))
    assert not [b for b in best for p in points if beats(p, b)]
    assert all(p in best or any(beats(b, p) for b in best) for p in points)


def test_an_energy_without_an_interval_is_left_out(made: Evaluation) -> None:
    open_ended = [
        replace(r, metrics={**r.metrics, "energy": Value(1.0, "J", None, None, "lower")}) for r in made.results
    ]
    assert energies(replace(made, results=tuple(open_ended))) == ()


def test_what_is_modelled_is_called_so_wherever_it_stands() -> None:
    guessed = power_fixture.evaluated(power_fixture.results(), sensor=GUESS)
    found = only(guessed)
    assert found.against
    assert found.against.figure.title == "Modelled energy of an iteration (node) divided by the energy with 1 thread"
    assert found.times.title == "Modelled energy of an iteration (node) against its time"
    assert "not measured" in found.against.figure.caption
    assert "not measured" in found.times.caption
    assert all(
        "modelled" in m.title for m in guessed.benchmarks["node.stencil"].metrics if m.name in ("power", "energy")
    )
    spoken = [f.seen for f in guessed.findings if f.rule == "accelerator_energy"]
    assert spoken
    assert all(said.startswith("The power is modelled, not measured.") for said in spoken)
    page = data(guessed)
    assert page
    assert page.figure.title == "Modelled power against time"
    assert page.figure.rows[0][0] == "node, by a model of the load"


def test_a_model_never_stands_for_what_was_measured(made: Evaluation) -> None:
    """Nor beside it in one figure, though it claims the more of both."""
    trace = made.power.traces[power_fixture.RAIL.name] if made.power else None
    assert trace
    both = {power_fixture.RAIL.name: trace, GUESS.name: Trace(GUESS, trace.at, np.full(len(trace.at), 500.0))}
    assert made.power
    judged = power_fixture.judge_again(made, Power(both, made.power.idle))
    assert {r.metrics["power"].value for r in judged.results} == {r.metrics["power"].value for r in made.results}
    assert not [f for f in judged.findings if "modelled" in f.seen]
    page = data(judged)
    assert page
    assert {row[0] for row in page.figure.rows} == {"node, by BMC"}


def test_the_report_shows_both_figures(made: Evaluation) -> None:
    text = render(made)
    for anchor in ("energy-against", "time-energy", "power-figure"):
        assert f'id="{anchor}"' in text
    assert "Sum of the energies" in text


def test_where_colours_come_again_each_kernel_is_named_once() -> None:
    names = ("convolution", "fft", "mergesort", *power_fixture.KERNELS)
    many = dict.fromkeys(names, power_fixture.KERNELS["stencil"])
    times = only(power_fixture.evaluated(power_fixture.results(many), many)).times
    plot = json.loads(times.plot)
    assert sorted(name for trace in plot["data"] for name in trace.get("text", ()) if name) == sorted(names)
    assert "Several kernels share a colour" in times.caption


def test_an_axis_of_ratios_near_one_has_a_power_of_two_on_either_side() -> None:
    near = {"stencil": ((0.4, 8.0), (0.4, 8.2), (0.4, 7.9), (0.4, 8.1))}
    part = only(power_fixture.evaluated(power_fixture.results(near), near)).against
    assert part
    assert json.loads(part.figure.plot)["layout"]["yaxis"]["ticktext"] == ["0.5", "1", "2"]


def test_of_one_kernel_the_stretches_are_called_by_their_modes() -> None:
    one = {"stencil": power_fixture.KERNELS["stencil"]}
    page = data(power_fixture.evaluated(power_fixture.results(one), one))
    assert page
    notes = [note["text"] for note in json.loads(page.figure.plot)["layout"]["annotations"]]
    assert notes[:4] == ["1 thread", "2 threads", "GPU 0", "2 threads and GPU 0"]
    assert notes[-1] == "idle (node, by BMC)"
