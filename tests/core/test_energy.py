"""Energy from readings: exact where it must be, within its interval otherwise, whatever the counter and the clock do."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.measure.telemetry.energy import Energy, course, energy, seconds_for
from steelyard.model.sensor import Sensor, Trace, Values

START = 1_790_000_000_000_000_000  # ns since 1970
COUNTER = Sensor("rapl/package-0", "energy", "RAPL", resolution=61e-6, update=0.001, range=262144.0)
RAIL = Sensor("rail", "power", "BMC", window=1.12, update=1.12, resolution=0.01)


class Load:
    """A power that jumps between levels at random moments; its energy is known exactly at any time."""

    def __init__(self, seed: int, seconds: float = 200.0) -> None:
        chance = np.random.default_rng(seed)
        lengths = chance.exponential(chance.choice([0.05, 0.5, 5.0]), size=4 * int(seconds / 0.05) + 10)
        self.at = np.concatenate(([0.0], np.cumsum(lengths)))
        self.at = self.at[: np.searchsorted(self.at, seconds + 20) + 1]
        watts = chance.uniform(20, 200, size=len(self.at) - 1)
        self.joules = np.concatenate(([0.0], np.cumsum(watts * np.diff(self.at))))
        self.chance = chance

    def upto(self, when: Values) -> Values:
        return np.interp(when, self.at, self.joules)

    def true(self, begin: float, end: float) -> float:
        first, last = self.upto(np.array([begin, end]))
        return float(last - first)


def ns(seconds: Values) -> np.ndarray:
    return START + np.round(seconds * 1e9).astype(np.int64)


def counted(load: Load, sensor: Sensor, period: float, seconds: float, shift: float = 0.0) -> Trace:
    """What a counter says, read every `period` seconds or a little later; the device's clock is `shift` ahead."""
    at = np.arange(0, seconds, period)
    at = at + load.chance.uniform(0, period / 5, size=len(at))
    joules = load.upto(np.floor(at / sensor.update) * sensor.update)
    joules = np.floor(joules / sensor.resolution) * sensor.resolution
    return Trace(sensor, ns(at + shift), np.mod(joules, sensor.range) if sensor.range else joules)


def averaged(load: Load, sensor: Sensor, seconds: float, shift: float = 0.0) -> Trace:
    """What a device says that gives the mean of each window at its end."""
    at = load.chance.uniform(0, sensor.window) + np.arange(1, int(seconds / sensor.window)) * sensor.window
    watts = (load.upto(at) - load.upto(at - sensor.window)) / sensor.window
    return Trace(sensor, ns(at + shift), np.round(watts / sensor.resolution) * sensor.resolution)


def of(trace: Trace, begin: float, end: float, clock: float = 0.0) -> Energy:
    whole = course(trace)
    assert whole
    first, last = ns(np.array([begin, end]))
    found = energy(whole, int(first), int(last), clock)
    assert found
    return found


def steady(watts: float, sensor: Sensor, period: float, seconds: float) -> Trace:
    at = np.arange(0, seconds, period)
    value = np.full(len(at), watts) if sensor.quantity == "power" else np.mod(watts * at, sensor.range or np.inf)
    return Trace(sensor, ns(at), value)


@pytest.mark.parametrize("window", [0.001, 0.1, 1.12])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_the_interval_holds_the_true_energy_of_what_was_averaged(window: float, shift: float) -> None:
    sensor = Sensor("rail", "power", "BMC", window=window, update=window, resolution=0.01)
    held, widths = [], []
    for seed in range(100):
        load = Load(seed, 40)
        seconds = 4.0 if window < 0.1 else 40.0
        begin, end = sorted(load.chance.uniform(0.1 * seconds, 0.9 * seconds, size=2))
        end = max(end, begin + 5 * window)
        found = of(averaged(load, sensor, seconds + shift, shift), begin, end, clock=shift)
        held.append(found.low <= load.true(begin, end) <= found.high)
        widths.append(found.width * found.seconds / window)
    assert sum(held) >= 95
    if not shift:
        assert np.median(widths) < 2.5  # about a window's worth, not more


@pytest.mark.parametrize("period", [0.01, 0.1, 1.0])
def test_the_interval_holds_the_true_energy_of_what_was_counted(period: float) -> None:
    held, widths = [], []
    for seed in range(100):
        load = Load(seed, 40)
        begin, end = sorted(load.chance.uniform(2, 38, size=2))
        end = max(end, begin + 5 * period)
        found = of(counted(load, COUNTER, period, 42), begin, end)
        held.append(found.low <= load.true(begin, end) <= found.high)
        widths.append(found.width * found.seconds / period)
    assert sum(held) >= 95
    assert np.median(widths) < 2.5


def test_what_is_read_only_at_moments_is_less_certain_and_says_so() -> None:
    sensor = Sensor("spot", "power", "battery", resolution=0.001)
    held = 0
    for seed in range(100):
        load = Load(seed, 60)
        at = np.arange(0, 60, 0.5)
        watts = (load.upto(at + 1e-6) - load.upto(at)) / 1e-6
        found = of(Trace(sensor, ns(at), watts), 5.0, 55.0)
        held += found.low <= load.true(5.0, 55.0) <= found.high
    assert held >= 95


@pytest.mark.parametrize("seed", range(5))
def test_energies_of_known_traces_are_within_half_a_percent(seed: int) -> None:
    load = Load(seed, 400)
    for trace in (averaged(load, RAIL, 400), counted(load, COUNTER, 0.1, 400)):
        assert of(trace, 20.0, 380.0).joules == pytest.approx(load.true(20.0, 380.0), rel=0.005)


def test_a_constant_power_is_exact_to_the_last_digit() -> None:
    for sensor, period in ((RAIL, 1.12), (COUNTER, 0.1)):
        found = of(steady(80.0, sensor, period, 100), 20.0, 70.0)
        assert found.joules == pytest.approx(4000.0, rel=1e-9)
        assert found.power == pytest.approx(80.0, rel=1e-9)
        assert found.greatest == pytest.approx(80.0, rel=1e-6)
        assert found.low < 4000.0 < found.high


@given(st.floats(5.0, 5000.0), st.floats(0, 262144.0), st.floats(0.05, 5.0))
def test_a_counter_that_wraps_counts_on(watts: float, begin: float, period: float) -> None:
    at = np.arange(0, 400, period)
    value = np.mod(begin + watts * at, 262144.0)
    found = of(Trace(COUNTER, ns(at), value), 50.0, 350.0)
    assert found.joules == pytest.approx(300 * watts, rel=1e-6)
    assert found.missing == 0


def test_a_counter_that_may_have_gone_round_unseen_says_that_it_does_not_know() -> None:
    at = np.concatenate((np.arange(0, 100, 1.0), np.arange(4000, 4100, 1.0)))
    whole = course(Trace(COUNTER, ns(at), np.mod(200.0 * at, 262144.0)))
    assert whole
    assert energy(whole, *(int(x) for x in ns(np.array([50.0, 4050.0])))) is None
    found = energy(whole, *(int(x) for x in ns(np.array([10.0, 90.0]))))
    assert found
    assert found.joules == pytest.approx(16000.0)


def test_a_counter_that_began_anew_is_no_wrap() -> None:
    at = np.arange(0, 100, 0.1)
    value = np.where(at < 50, 1000 + 80 * at, 80 * (at - 50))
    found = of(Trace(COUNTER, ns(at), value), 10.0, 90.0)
    assert found.joules == pytest.approx(80 * 80.0, rel=0.01)
    assert found.missing > 0
    assert found.low <= 6400 <= found.high


@pytest.mark.parametrize("odd", [0.0, -1e-3, 2.0**64 * 1e-3])
@pytest.mark.parametrize("again", [1, 2])
def test_a_counter_that_slips_for_a_reading_counts_on(odd: float, again: int) -> None:
    at = np.arange(0, 100, 0.1)
    joules = 5000 + 70.0 * at
    for place in range(100, 900, 100):
        joules[place : place + again] = odd
    for sensor in (COUNTER, replace(COUNTER, range=None)):
        spent = of(Trace(sensor, ns(at), joules), 10, 90)
        assert spent.joules == pytest.approx(80 * 70.0)
        assert spent.width < 0.02


def test_a_counter_that_stands_still_is_not_idle() -> None:
    at = np.arange(0, 100, 0.1)
    moving = np.where(at < 40, at, np.where(at < 60, 40.0, at - 20))  # its twenty seconds are lost
    found = of(Trace(COUNTER, ns(at), 80 * moving), 10.0, 90.0)
    assert found.missing == pytest.approx(0.25, abs=0.01)
    assert found.joules == pytest.approx(6400, rel=0.01)
    assert found.low <= 6400 <= found.high


def test_a_fine_counter_of_a_small_load_does_not_stand_still() -> None:
    coarse = Sensor("pm", "energy", "pm_counters", resolution=1.0, update=0.1)
    at = np.arange(0, 1000, 0.1)
    found = of(Trace(coarse, ns(at), np.floor(1.5 * at)), 100.0, 900.0)
    assert found.missing == 0
    assert found.low <= 1200 <= found.high


@pytest.mark.parametrize("sensor", [RAIL, COUNTER], ids=["averaged", "counted"])
def test_missing_readings_widen_the_interval(sensor: Sensor) -> None:
    for seed in range(20):
        load = Load(seed, 100)
        trace = averaged(load, sensor, 100) if sensor is RAIL else counted(load, sensor, 1.0, 100)
        kept = np.ones(len(trace.at), dtype=bool)
        kept[30:45] = False
        found = of(Trace(sensor, trace.at[kept], trace.value[kept]), 10.0, 90.0)
        assert found.low <= load.true(10.0, 90.0) <= found.high
        if sensor is RAIL:  # a counter goes on counting
            assert found.missing > 0.1
            assert found.width > of(trace, 10.0, 90.0).width


def test_a_clock_that_went_back_does_not_undo_time() -> None:
    trace = steady(80.0, RAIL, 1.12, 200)
    at = trace.at.copy()
    at[90:] -= 30 * 10**9
    found = of(Trace(RAIL, at, trace.value), 10.0, 90.0)
    assert found.joules == pytest.approx(6400.0, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_parts_add_up_to_the_whole(seed: int) -> None:
    load = Load(seed, 100)
    cuts = np.sort(load.chance.uniform(5, 95, size=12))
    for trace in (averaged(load, RAIL, 100), counted(load, COUNTER, 0.5, 100)):
        parts = [of_any(trace, a, b) for a, b in itertools.pairwise(cuts)]
        assert sum(parts) == pytest.approx(of(trace, cuts[0], cuts[-1]).joules, rel=1e-9)
        assert min(parts) >= 0


def of_any(trace: Trace, begin: float, end: float) -> float:
    whole = course(trace)
    assert whole
    found = energy(whole, *(int(x) for x in ns(np.array([begin, end]))))
    assert found
    return found.joules


def test_where_there_are_no_readings_there_is_no_energy() -> None:
    whole = course(steady(80.0, RAIL, 1.12, 100))
    assert whole
    assert energy(whole, *(int(x) for x in ns(np.array([500.0, 600.0])))) is None
    assert course(Trace(RAIL, ns(np.array([1.0])), np.array([3.0]))) is None
    assert course(Trace(Sensor("t", "temperature", "hwmon"), ns(np.arange(9.0)), np.arange(9.0))) is None
    with pytest.raises(ValueError, match="is empty"):
        energy(whole, START + 5, START + 5)


def test_how_long_a_case_must_be() -> None:
    needed = seconds_for(RAIL, 0.02, 1.12)
    assert needed == pytest.approx(56.0)
    assert of(steady(80.0, RAIL, 1.12, 200), 20.3, 20.3 + needed).width < 0.021
