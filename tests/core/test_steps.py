"""Steps in series: what is planted is found, and what is none (outliers, modes, what comes back, a drift) is not called one."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folders import ROOT
from steelyard.statistics.difference.newest import judge_newest
from steelyard.statistics.difference.steps import LEAST, discover, find_course

TIMES = 40  # series of each kind; 1,000 of each were drawn when the rule was made


def draw(kind: str, n: int, seed: int, spread: float = 0.006) -> np.ndarray:
    random = np.random.default_rng(seed)
    logs = spread * random.standard_normal(n)
    if kind == "outliers":
        logs -= np.where(random.random(n) < 0.05, random.uniform(0.05, 0.5, n), 0)
    elif kind == "heavy":
        logs = spread * random.standard_t(3, n) / math.sqrt(3)
    elif kind == "modes":
        logs -= np.where(random.random(n) < 0.3, 0.06, 0)
    elif kind == "season":
        logs += 0.03 * np.sin(np.arange(n) * 2 * math.pi / 7)
    return logs


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["normal", "outliers", "heavy", "modes", "season"])
@pytest.mark.parametrize("n", [12, 40])
def test_a_series_without_a_step_hardly_ever_has_one(kind: str, n: int) -> None:
    found = sum(bool(find_course(np.exp(draw(kind, n, seed))).steps) for seed in range(TIMES))
    assert found <= (0.05 + 3 * math.sqrt(0.05 * 0.95 / TIMES)) * TIMES


@pytest.mark.parametrize(("kind", "n", "place"), [("outliers", 10, 5), ("outliers", 30, 25), ("normal", 20, 10)])
def test_neither_outliers_nor_chance_hide_a_step_of_three_percent(kind: str, n: int, place: int) -> None:
    found = 0
    for seed in range(TIMES):
        logs = draw(kind, n, seed, 0.004)
        logs[place:] -= 0.03
        found += any(abs(step.place - place) <= 1 and step.ratio < 1 for step in find_course(np.exp(logs)).steps)
    assert found >= 0.9 * TIMES


def test_modes_that_last_some_runs_are_seldom_a_step() -> None:
    found, random = 0, np.random.default_rng(5)
    for _ in range(TIMES):
        switched = random.random(30) < 0.3  # modes of three runs
        modes = np.logical_xor.accumulate(switched)
        found += bool(find_course(np.exp(0.08 * modes + 0.004 * random.standard_normal(30))).steps)
    assert found <= 2  # 3.8 % of 400 before single runs on the other mode counted, now none of 300


def test_values_with_few_digits_have_their_step() -> None:
    found = 0
    for seed in range(TIMES):
        values = np.round(20 * np.exp(draw("normal", 10, seed, 0.004) - np.repeat([0, 0.03], 5)), 1)
        found += [step.place for step in find_course(values).steps] == [5]
    assert found >= 0.9 * TIMES


def test_a_step_of_one_figure_among_many_is_discovered() -> None:
    found = 0
    for page in range(10):
        rows = np.array([draw("normal", 10, 100 * page + number, 0.004) for number in range(15)])
        rows[0, 5:] -= 0.03
        courses = [find_course(np.exp(row)) for row in rows]
        found += bool(discover([course.p for course in courses])[0] and courses[0].steps)
    assert found >= 8


def test_levels_that_last_for_two_runs_are_no_step() -> None:
    logs = draw("normal", 26, 3, 0.004)
    logs[12:] -= 0.05
    assert [step.place for step in find_course(np.exp(logs)).steps] == [12]
    logs[[15, 16, 20, 21]] += 0.05
    assert find_course(np.exp(logs)).steps == ()


@pytest.mark.parametrize(("n", "place", "size"), [(10, 5, -0.03), (30, 15, 0.03), (40, 35, -0.03), (24, 12, 0.1)])
def test_a_step_of_three_percent_is_found_and_placed(n: int, place: int, size: float) -> None:
    found, near = 0, 0
    for seed in range(TIMES):
        logs = draw("normal", n, seed, 0.005)
        logs[place:] += math.log1p(size)
        steps = [step for step in find_course(np.exp(logs)).steps if (step.ratio > 1) == (size > 0)]
        found += bool(steps)
        near += any(abs(step.place - place) <= 1 and step.low < 1 + size < step.high for step in steps)
    assert found >= 0.9 * TIMES
    assert near >= 0.85 * TIMES


def test_the_public_series_has_its_two_steps_and_none_at_its_outlier() -> None:
    # TigerBeetle's throughput, as Apache Otava's demonstration has it: steps at 15 and 71, an outlier at 10.
    series = json.loads((ROOT / "tests/data/tigerbeetle.json").read_text())
    places = [step.place for step in find_course(series, smallest=0.05).steps]
    assert places[:2] == [15, 71]
    assert not {10, 11} & {step.place for step in find_course(series).steps}


def test_lone_values_are_named_also_beside_steps_and_drifts_and_a_second_mode_is_none() -> None:
    logs = draw("normal", 40, 6)
    logs[[7, 31]] += [0.3, -0.2]
    assert find_course(np.exp(logs)).lone == (7, 31)
    logs[20:] += 0.1
    assert find_course(np.exp(logs)).lone == (7, 31)
    drift = draw("normal", 40, 6) + np.linspace(0, 0.4, 40)
    drift[12] -= 0.3
    assert find_course(np.exp(drift)).lone == (12,)
    modes = draw("normal", 40, 6)
    modes[::4] += 0.3
    assert find_course(np.exp(modes)).lone == ()


def test_a_level_that_came_back_is_no_step() -> None:
    logs = draw("normal", 30, 5)
    logs[10:18] -= 0.05
    course = find_course(np.exp(logs))
    assert course.steps == ()
    ((begin, end),) = course.returned
    assert (abs(begin - 10) <= 1, abs(end - 18) <= 1) == (True, True)


def test_two_steps_are_two_and_a_drift_is_none() -> None:
    logs = draw("normal", 45, 3)
    logs[15:] -= 0.05
    logs[30:] -= 0.04
    assert [abs(step.place - place) <= 1 for step, place in zip(find_course(np.exp(logs)).steps, (15, 30), strict=True)]
    drifting = find_course(np.exp(draw("normal", 40, 4) + np.linspace(0, 0.1, 40)))
    assert drifting.steps == ()
    assert drifting.drift == pytest.approx(1.1, rel=0.03)


def test_a_long_series_has_its_step_at_the_right_value() -> None:
    logs = draw("normal", 50_000, 1)
    logs[33_333:] += 0.02
    (step,) = find_course(np.exp(logs)).steps
    assert abs(step.place - 33_333) <= 5


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 5, [3.0] * 40, [1.0, 2.0] * 3])
def test_what_shows_nothing_has_no_step(values: list[float]) -> None:
    assert find_course(values).steps == ()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_value_that_cannot_be_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="expected positive, finite values"):
        find_course([1.0, bad])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=30),
    st.sampled_from([1e-9, 1e-3, 1e12]),
)
def test_the_unit_changes_nothing_and_steps_leave_runs_on_both_sides(values: list[float], unit: float) -> None:
    course = find_course(values)
    assert [s.place for s in find_course([v * unit for v in values]).steps] == [s.place for s in course.steps]
    edges = [0, *(s.place for s in course.steps), len(values)]
    assert all(b - a >= LEAST for a, b in pairwise(edges)) or not course.steps
    assert all(s.low <= s.ratio <= s.high and 0 < s.p <= 1 for s in course.steps)


def test_of_many_series_few_discoveries_are_false() -> None:
    random = np.random.default_rng(1)
    false = sum(sum(discover(random.random(20).tolist())) > 0 for _ in range(1000))
    assert false <= 130  # of pages without any change; 10 % is the aim
    assert discover([0.001, 0.5, 0.0009]) == [True, False, True]
    assert discover([]) == []


def test_the_newest_value_is_judged_by_the_scatter_of_those_before() -> None:
    assert judge_newest([1.0, 1.01, 0.99, 1.0]) is None
    series = np.exp(draw("normal", 11, 2))
    usual, slow = judge_newest(series.tolist()), judge_newest([*series[:-1].tolist(), 0.9])
    assert usual is not None
    assert slow is not None
    assert (usual.is_usual, slow.is_usual, slow.count) == (True, False, 10)
    assert slow.p < 0.001


def test_the_newest_value_is_unusual_in_five_percent_of_equal_series() -> None:
    judged = [judge_newest(np.exp(draw("normal", 11, seed, 0.02)).tolist()) for seed in range(400)]
    assert sum(not newest.is_usual for newest in judged if newest) <= 44


def test_the_data_of_the_public_series_are_whole() -> None:
    assert len(json.loads(Path(ROOT / "tests/data/tigerbeetle.json").read_text())) == 365
