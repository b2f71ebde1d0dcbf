"""A command that is watched: readings without drift, phases, the cost of each, and what cannot be added."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.launch import watch
from steelyard.model.sensor import Reading, Sensor, Trace
from steelyard.telemetry.energy import Energy
from steelyard.telemetry.sampler import Clocks, Memory, Sampler, added_up
from steelyard.telemetry.watched import Stretch, above, cost, courses

SECOND = 10**9
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", resolution=1e-6)
MEMORY = Sensor("rapl/dram-0", "energy", "RAPL", resolution=1e-6)
CORES = Sensor("rapl/package-0/core", "energy", "RAPL", part_of="rapl/package-0")
NODE = Sensor("ipmi/power", "power", "IPMI", window=1.0, update=1.0)
GUESS = Sensor("model/node", "power", "model", modelled=True)


class Counter:
    """A device whose clock a test moves."""

    sensors = (SOCKET,)

    def __init__(self, watts: float) -> None:
        self.now, self.watts, self.closed, self.broken = 0.0, watts, False, False

    def read(self) -> Sequence[Reading]:
        if self.broken:
            raise OSError("the device does not answer")
        return [Reading("rapl/package-0", int(self.now * SECOND), self.watts * self.now)]

    def close(self) -> None:
        self.closed = True


def clocks(device: Counter, slow: float = 0.0, most: int = 50) -> Clocks:
    """Time goes on only where somebody waits, and `slow` seconds more with each reading; ends after so many waits."""
    count = 0

    def wait(event: threading.Event, seconds: float) -> bool:
        nonlocal count
        count += 1
        device.now += max(seconds, 0) + slow
        return count >= most

    return Clocks(lambda: device.now, lambda: 0.25, wait)


def sampled(
    device: Counter, period: float = 0.1, slow: float = 0.0, most: int = 50
) -> tuple[Sampler, dict[str, Trace]]:
    memory = Memory()
    with Sampler([device], period, memory, clocks(device, slow, most)) as sampler:
        sampler._thread.join()
    return sampler, memory.traces()


def test_readings_do_not_drift_and_the_cost_of_reading_is_known() -> None:
    sampler, traces = sampled(Counter(80.0))
    assert traces["rapl/package-0"].at.tolist() == pytest.approx([n * SECOND // 10 for n in range(51)])
    assert sampler.cost == 0.25


def test_moments_that_were_missed_are_left_out() -> None:
    at = sampled(Counter(80.0), slow=0.25)[1]["rapl/package-0"].at / SECOND
    assert np.all(np.diff(at) > 0.25)
    assert at[-1] < 50 * 0.36


def test_a_device_that_does_not_answer_is_counted_and_asked_again() -> None:
    device = Counter(80.0)
    device.broken = True
    sampler, traces = sampled(device)
    assert sampler.failures == {"rapl/package-0": 51}
    assert traces == {}


def test_a_device_that_takes_long_is_asked_seldom() -> None:
    class Slow(Counter):
        def read(self) -> Sequence[Reading]:
            self.now += 0.05
            return super().read()

    at = sampled(Slow(80.0), most=400)[1]["rapl/package-0"].at / SECOND
    assert np.all(np.diff(at) >= 5.0)
    assert len(at) > 5


def test_a_command_is_carried_out_with_its_phases() -> None:
    script = (
        'echo one > "$STEELYARD_PHASES"; echo "two words" > "$STEELYARD_PHASES"; echo > "$STEELYARD_PHASES"; exit 3'
    )
    outcome = watch.carried_out(["sh", "-c", script])
    assert outcome.code == 3
    assert [phase.name for phase in outcome.phases] == ["one", "two words"]
    assert outcome.whole.begin <= outcome.phases[0].begin <= outcome.phases[0].end == outcome.phases[1].begin
    assert outcome.phases[1].end <= outcome.whole.end


def test_a_command_that_a_signal_ends_has_a_shell_s_code() -> None:
    assert watch.carried_out(["sh", "-c", "kill -9 $$"]).code == 137


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="'no-such-command' cannot be started"):
        watch.carried_out(["no-such-command"])
    assert not [thread for thread in threading.enumerate() if "_listen" in thread.name]


def test_a_phase_that_is_read_late_lies_within_the_command() -> None:
    found = watch._phases([(5, "one"), (12, "two")], 10)
    assert list(found) == [Stretch("one", 5, 10), Stretch("two", 10, 10)]


def test_phases_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    watch.carried_out(["true"])
    assert list(tmp_path.iterdir()) == []


def steady(sensor: Sensor, watts: float, seconds: int = 100) -> Trace:
    at = np.arange(seconds + 1)
    value = watts * at.astype(float) if sensor.quantity == "energy" else np.full(len(at), watts)
    return Trace(sensor, at * SECOND, value)


def test_what_is_part_of_another_is_not_added() -> None:
    traces = {t.sensor.name: t for t in (steady(SOCKET, 60.0), steady(MEMORY, 10.0), steady(CORES, 40.0))}
    found = cost(courses(traces), Stretch("all", 10 * SECOND, 60 * SECOND))
    assert found.totals["RAPL"].joules == pytest.approx(50 * 70.0)
    assert found.parts["rapl/package-0/core"].joules == pytest.approx(50 * 40.0)
    assert found.totals["RAPL"].low <= 3500 <= found.totals["RAPL"].high


def test_a_modelled_power_is_never_added_to_a_measured_one() -> None:
    assert added_up([SOCKET, GUESS]) == [SOCKET]
    assert added_up([GUESS]) == [GUESS]


def test_a_source_one_of_whose_sensors_says_too_little_has_no_total() -> None:
    short = Trace(MEMORY, np.arange(3) * SECOND, np.arange(3.0))
    found = cost(courses({"a": steady(SOCKET, 60.0), "b": short}), Stretch("all", 10 * SECOND, 60 * SECOND))
    assert found.totals == {}
    assert set(found.parts) == {"a"}


def energy_of(joules: float, low: float, high: float, seconds: float = 10.0) -> Energy:
    return Energy(joules, low, high, seconds, joules / seconds, 1.0, 0.0)


def test_above_idle_holds_both_intervals() -> None:
    found = above(energy_of(1000, 990, 1010, 10), energy_of(100, 95, 105, 5))
    assert (found.joules, found.low, found.high) == pytest.approx((800.0, 780.0, 820.0))
    assert found.greatest == pytest.approx(80.0)


def test_time_stamps_are_of_the_wall_clock() -> None:
    before = time.time_ns()
    outcome = watch.carried_out(["true"])
    assert before <= outcome.whole.begin < outcome.whole.end <= time.time_ns()
