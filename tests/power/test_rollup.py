"""Rollups: what they hold is what the readings give, and the seconds of an hour add up to the hour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.measure.telemetry.energy import course, energy
from steelyard.model.sensor import Sensor, Trace
from steelyard.power.rollup import LEVELS, SECOND, join_rollups, roll_up

HOUR = 1_790_000_000 // 3600 * 3600 * SECOND
NODE = "cluster/node1"
RAIL = Sensor("rail", "power", "BMC", window=1.0)
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", range=1000.0, resolution=1e-6)
HEAT = Sensor("board", "temperature", "BMC")


def each_second(sensor: Sensor, values: list[float], since: int = HOUR) -> Trace:
    return Trace(sensor, since + SECOND * np.arange(len(values), dtype=np.int64), np.array(values))


def test_a_minute_of_power() -> None:
    watts = [100.0 + i % 2 for i in range(182)]
    found = roll_up(NODE, each_second(RAIL, watts, HOUR - SECOND), 60, HOUR, HOUR + 180 * SECOND)
    assert found.at.tolist() == [HOUR, HOUR + 60 * SECOND, HOUR + 120 * SECOND]
    assert found.count.tolist() == [60, 60, 60]
    assert found.least.tolist() == [100.0] * 3
    assert found.greatest.tolist() == [101.0] * 3
    assert found.mean.tolist() == [100.5] * 3
    assert found.joules == pytest.approx([6030.0] * 3)
    assert found.known == pytest.approx([60.0] * 3)


def test_a_counter_gives_watts_and_goes_round() -> None:
    count = [(50.0 * i) % 1000.0 for i in range(122)]
    found = roll_up(NODE, each_second(SOCKET, count, HOUR - SECOND), 60, HOUR, HOUR + 120 * SECOND)
    assert found.joules == pytest.approx([3000.0, 3000.0])
    assert found.mean == pytest.approx([50.0, 50.0])
    assert found.least == pytest.approx([50.0, 50.0])


def test_what_no_reading_tells_of_is_not_filled_in() -> None:
    readings = each_second(RAIL, [100.0] * 120)
    present = (np.arange(120) < 30) | (np.arange(120) >= 90)
    found = roll_up(NODE, Trace(RAIL, readings.at[present], readings.value[present]), 60, HOUR, HOUR + 120 * SECOND)
    assert found.count.tolist() == [30, 30]
    assert found.known.sum() == pytest.approx(60, abs=1.01)
    assert found.joules == pytest.approx(100 * found.known)


def test_temperature_has_no_energy() -> None:
    found = roll_up(NODE, each_second(HEAT, [40.0, 42.0]), 1, HOUR, HOUR + 2 * SECOND)
    assert (found.count.tolist(), found.mean.tolist()) == ([1, 1], [40.0, 42.0])
    assert np.isnan(found.joules).all()


def test_none_before_and_after() -> None:
    trace = each_second(RAIL, [1.0] * 10)
    assert not len(roll_up(NODE, trace, 1, HOUR + 60 * SECOND, HOUR + 90 * SECOND).at)
    assert not len(roll_up(NODE, trace, 1, HOUR - 90 * SECOND, HOUR - 60 * SECOND).at)
    assert not len(join_rollups([], 60).at)


@given(
    st.lists(st.tuples(st.integers(50_000_000, 9 * SECOND), st.floats(0, 500)), min_size=3, max_size=80),
    st.sampled_from([RAIL, SOCKET, Sensor("point", "power", "BMC")]),
)
def test_the_levels_add_up(readings: list[tuple[int, float]], sensor: Sensor) -> None:
    at = HOUR + np.cumsum([step for step, _ in readings])
    value = np.array([v for _, v in readings])
    trace = Trace(sensor, at, np.cumsum(value) % 1000.0 if sensor is SOCKET else value)
    first = HOUR - 3600 * SECOND
    sums = []
    for level in LEVELS:
        found = roll_up(NODE, trace, level, first, first + 3 * 3600 * SECOND)
        sums.append((int(found.count.sum()), float(np.nansum(found.joules)), float(found.known.sum())))
        assert (found.known <= level * (1 + 1e-9)).all()
        assert (np.diff(found.at) > 0).all()
        told = found.count > 0
        assert (found.least[told] <= found.mean[told] * (1 + 1e-9) + 1e-9).all()
        assert (found.mean[told] <= found.greatest[told] * (1 + 1e-9) + 1e-9).all()
    assert sums[0] == pytest.approx(sums[1], rel=1e-6, abs=1e-6)
    assert sums[1] == pytest.approx(sums[2], rel=1e-6, abs=1e-6)


def test_where_all_is_known_the_energy_is_that_of_the_course() -> None:
    chance = np.random.default_rng(5)
    trace = each_second(RAIL, list(chance.uniform(50, 150, 3000)))
    found = roll_up(NODE, trace, 60, HOUR, HOUR + 2940 * SECOND)
    known = course(trace)
    assert known is not None
    whole = energy(known, HOUR, HOUR + 2940 * SECOND)
    assert whole is not None
    assert float(found.joules.sum()) == pytest.approx(whole.joules, rel=1e-9)
