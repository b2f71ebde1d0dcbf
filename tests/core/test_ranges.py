"""The ranges of another run: how often they hold the value of a simulated one whose truth is known."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from steelyard.model import Level, Limit, Result
from steelyard.show.report import values
from steelyard.statistics.results.ranges import UNKNOWN_PACES, Launched, find_ranges
from steelyard.statistics.results.result import results
from steelyard.statistics.validity.measures import MEASURES

KINDS = list(MEASURES)
SLOWER = math.log(1.9)  # a core that another guest shares
SECONDS = 200  # of a run
UNKNOWN = replace(UNKNOWN_PACES, unknown=True)


def neighbour(random: Any, duty: float, stay: float, seconds: int) -> Any:
    """Whether another guest is at work, second by second: on for `duty` of the time, for `stay` seconds at a stretch, about."""
    busy, states = random.random() < duty, np.empty(seconds, dtype=bool)
    for second in range(seconds):
        states[second] = busy
        if random.random() < (1 - duty if busy else duty) / stay:
            busy = not busy
    return states


def launched(random: Any, cases: Any, states: Any, launches: int) -> list[Launched]:
    """A run of these cases beside the neighbour: in each part of the run every case once, in a new order."""
    made: list[list[tuple[float, float, float]]] = [[] for _ in cases]
    part = len(states) // launches
    for launch in range(launches):
        for place, number in enumerate(random.permutation(len(cases))):
            _, mean, exponent, noise = cases[number]
            at = launch * part + place * part // len(cases)
            share = states[at : at + 2].mean()
            samples = mean + exponent * SLOWER * (random.random(20) < share) + noise * random.standard_normal(20)
            samples += 0.3 * noise * random.standard_normal()
            low, middle, high = np.quantile(samples, (0.1, 0.5, 0.9))
            made[number].append((math.exp(middle), high - low, share * SLOWER))
    rows = []
    for (benchmark, *_), launches_ in zip(cases, made, strict=True):
        medians, scatters, shares = np.array(launches_).T
        losses = np.zeros((len(medians), len(KINDS)))
        losses[:, KINDS.index("issued")] = shares
        scatter, clean = float(np.median(scatters)), np.ones(len(medians), dtype=bool)
        rows.append(Launched(benchmark=benchmark, medians=medians, scatter=scatter, losses=losses, clean=clean))
    return rows


def coverage(duty: float, stay: float, launches: int, other_duty: float | None = None, repeats: int = 20) -> float:
    """How often the value of another run lies within the range: right after (`now`), or at an hour with another duty."""
    random = np.random.default_rng(7)
    held = []
    for _ in range(repeats):
        exponents = random.uniform(0, 1, 8)
        cases = [
            (f"group.{k % 8}", random.normal(), exponents[k % 8], 0.01 * math.exp(random.normal())) for k in range(80)
        ]
        states = neighbour(random, duty, stay, 2 * SECONDS)
        if other_duty is not None:
            states[SECONDS:] = neighbour(random, other_duty, stay, SECONDS)
        first, second = (launched(random, cases, part, launches) for part in (states[:SECONDS], states[SECONDS:]))
        for ranges, other in zip(find_ranges(first, UNKNOWN), second, strict=True):
            low, high = ranges.now if other_duty is None else ranges.later
            held.append(low <= math.exp(np.median(other.logs)) <= high)
    return float(np.mean(held))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("duty", "stay"), [(0.1, 2), (0.3, 2), (0.5, 5), (0.9, 2)])
def test_another_run_right_after_lies_within_the_range(duty: float, stay: float) -> None:
    assert 0.92 <= coverage(duty, stay, 2) <= 0.99


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("duty", "other", "stay"), [(0.0, 1.0, 5), (1.0, 0.0, 5), (0.3, 0.9, 5), (0.5, 0.0, 50)])
def test_a_run_at_another_hour_lies_within_the_range_for_later(duty: float, other: float, stay: float) -> None:
    """Also where this run has seen only one of the states."""
    assert coverage(duty, stay, 2, other, 10) >= 0.94


def test_a_range_that_ignored_other_launches_would_fail() -> None:
    """The power of the check: two runs differ by more than twice what their samples show."""
    random = np.random.default_rng(1)
    cases = [("group.one", 0.0, 1.0, 0.01)] * 80
    runs = [launched(random, cases, neighbour(random, 0.5, 5, SECONDS), 2) for _ in range(2)]
    inside = [abs(a.logs.mean() - b.logs.mean()) < (a.scatter or 0) / 2 for a, b in zip(*runs, strict=True)]
    assert np.mean(inside) < 0.7


def test_on_a_dedicated_machine_the_ranges_are_narrow_and_one() -> None:
    random = np.random.default_rng(3)
    cases = [(f"group.{k % 8}", 0.0, 1.0, 0.002) for k in range(80)]
    found = find_ranges(launched(random, cases, np.zeros(SECONDS, dtype=bool), 5), UNKNOWN_PACES)
    for ranges in found:
        assert ranges.now == ranges.later
        assert 1.02 < ranges.now[1] / ranges.now[0] < 1.08  # runs of one machine differ by a percent


def two_ways(random: Any, slow: float) -> list[Launched]:
    """A run whose messages take the slow way in a share of the launches; the readings of the pace say so."""
    rows = []
    for place in range(200):
        disturbed = random.random(2) < slow
        noise = 0.02 * random.standard_normal(2)
        medians = np.exp(noise + 1.0 * disturbed)
        losses = np.zeros((2, len(KINDS)))
        rows.append(
            Launched(benchmark=f"network.{place % 8}", medians=medians, scatter=0.02, losses=losses, clean=~disturbed)
        )
    return rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("slow", [0.1, 0.3, 0.7])
def test_a_slow_way_widens_a_range_as_often_as_no_launch_takes_the_other(slow: float) -> None:
    random = np.random.default_rng(11)
    held, widths = [], []
    for _ in range(10):
        first, second = two_ways(random, slow), two_ways(random, slow)
        for row, ranges, other in zip(first, find_ranges(first, UNKNOWN_PACES), second, strict=True):
            low, high = ranges.now
            held.append(low <= math.exp(other.logs.mean()) <= high)
            if row.clean.any():
                widths.append(math.log(high / low))
    assert 0.95 <= np.mean(held) <= 0.995
    rare = slow == 0.1  # that another run has no clean launch of a case
    assert bool(np.median(widths) < 0.3) is rare


def test_one_launch_shows_no_range() -> None:
    losses, clean = np.zeros((1, len(KINDS))), np.array([True])
    one = Launched(benchmark="a.b", medians=np.array([1.0]), scatter=None, losses=losses, clean=clean)
    assert find_ranges([one, one], UNKNOWN) == [None, None]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a.b", "a.c", "d.e"]),
            st.lists(st.tuples(st.floats(1e-9, 1e3), st.booleans()), min_size=1, max_size=4),
            st.floats(0, 1),
        ),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_every_range_is_finite_and_holds_the_launches_that_the_value_uses(cases: Any, unknown: bool) -> None:
    rows = [
        Launched(
            benchmark=name,
            medians=np.array([median for median, _ in launches]),
            scatter=scatter,
            losses=np.full((len(launches), len(KINDS)), scatter),
            clean=np.array([clean for _, clean in launches]),
        )
        for name, launches, scatter in cases
    ]
    for row, ranges in zip(rows, find_ranges(rows, replace(UNKNOWN_PACES, unknown=unknown)), strict=True):
        if ranges is not None:
            (low, high), (least, most) = ranges.now, ranges.later
            used = row.medians[row.used]
            assert 0 < least <= low <= used.min() * (1 + 1e-9)
            assert used.max() * (1 - 1e-9) <= high <= most < math.inf


def triads(*seconds: tuple[float, float], level: Level = "CLEAN") -> list[Result]:
    """Results of Triad from records of two launches each."""
    made = []
    for place, pair in enumerate(seconds):
        whole = builders.triad(2e9, threads=place + 1)
        (first, *_) = whole.records
        made += [
            replace(first, launch=n, case=place, samples=builders.samples(s, n), verdict=builders.verdict_of(level))
            for n, s in enumerate(pair, 1)
        ]
    return list(results(made, builders.known()))


def test_every_result_has_a_typical_value_and_both_ranges_and_those_hold_the_value() -> None:
    for level, best in (("CLEAN", True), ("DISTURBED", False)):
        for result in triads(*[(1.0, 1.01)] * 4, level=level):  # type: ignore[arg-type]
            value = result.metrics["bandwidth"]
            assert value.later[0] <= value.now[0] <= value.value <= value.now[1] <= value.later[1]
            assert value.typical == pytest.approx(value.value, rel=0.01)
            assert (value.best == value.value) is best


def test_an_undisturbed_value_has_no_range_of_much_faster_runs() -> None:
    spans = {}
    for level in ("CLEAN", "DISTURBED"):
        noisy = triads(*[(1.0, 1.01)] * 4, (1.0, 3.0), (1.0, 3.0), level=level)  # type: ignore[arg-type]
        value = noisy[0].metrics["bandwidth"]
        spans[level] = value.now[1] / value.value
    assert spans["CLEAN"] < 1.15
    assert spans["DISTURBED"] > 1.5


def test_launches_that_differ_without_measure_have_no_range_and_are_named() -> None:
    (result,) = triads((0.001, 0.9), level="DISTURBED")
    value = result.metrics["bandwidth"]
    assert (value.now, value.later) == (None, None)
    bare = replace(result, metrics={"bandwidth": replace(value, low=None, high=None)})
    found = values.shown(bare, "bandwidth")
    assert found is not None
    assert found.range.startswith("2 launches: ")


def test_a_printed_range_ends_at_the_limit() -> None:
    (result,) = triads((1.0, 1.4), level="DISTURBED")
    value = result.metrics["bandwidth"]
    limit = Limit(value.value * 1.01, "B/s", "the modules")
    found = values.shown(replace(result, limits={"bandwidth": limit}), "bandwidth")
    assert found is not None
    assert value.now is not None
    assert value.now[1] > limit.value
    assert found.now.endswith(values.quantity(limit.value, "B/s"))
