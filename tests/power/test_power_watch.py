"""A command that is watched: readings without drift, phases, the cost of each, and what cannot be added."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.measure.launch import watch
from steelyard.measure.telemetry.energy import Energy
from steelyard.measure.telemetry.sampler import Clocks, Memory, Sampler, select_summed
from steelyard.measure.telemetry.watched import Stretch, above, cost, courses
from steelyard.model.sensor import Reading, Sensor, Trace

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
    outcome = watch.run_watched(["sh", "-c", script])
    assert outcome.code == 3
    assert [phase.name for phase in outcome.phases] == ["one", "two words"]
    assert outcome.whole.begin <= outcome.phases[0].begin <= outcome.phases[0].end == outcome.phases[1].begin
    assert outcome.phases[1].end <= outcome.whole.end


def test_a_command_that_a_signal_ends_has_a_shell_s_code() -> None:
    assert watch.run_watched(["sh", "-c", "kill -9 $$"]).code == 137


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="'no-such-command' cannot be started"):
        watch.run_watched(["no-such-command"])
    assert not [thread for thread in threading.enumerate() if "_listen" in thread.name]


def test_a_phase_that_is_read_late_lies_within_the_command() -> None:
    found = watch._phases([(5, "one"), (12, "two")], 10)
    assert list(found) == [Stretch("one", 5, 10), Stretch("two", 10, 10)]


def test_phases_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    watch.run_watched(["true"])
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
    assert select_summed([SOCKET, GUESS]) == [SOCKET]
    assert select_summed([GUESS]) == [GUESS]


def test_a_source_one_of_whose_sensors_says_too_little_has_no_total() -> None:
    short = Trace(MEMORY, np.arange(3) * SECOND, np.arange(3.0))
    found = cost(courses({"a": steady(SOCKET, 60.0), "b": short}), Stretch("all", 10 * SECOND, 60 * SECOND))
    assert found.totals == {}
    assert set(found.parts) == {"a"}


def energy_of(joules: float, low: float, high: float, seconds: float = 10.0) -> Energy:
    return Energy(joules=joules, low=low, high=high, seconds=seconds, greatest=joules / seconds, over=1.0, missing=0.0)


def test_above_idle_holds_both_intervals() -> None:
    found = above(energy_of(1000, 990, 1010, 10), energy_of(100, 95, 105, 5))
    assert (found.joules, found.low, found.high) == pytest.approx((800.0, 780.0, 820.0))
    assert found.greatest == pytest.approx(80.0)


def test_time_stamps_are_of_the_wall_clock() -> None:
    before = time.time_ns()
    outcome = watch.run_watched(["true"])
    assert before <= outcome.whole.begin < outcome.whole.end <= time.time_ns()


# ---------------------------------------------------------------------- whatever the command does


def test_two_phases_that_are_marked_at_once_lose_nothing() -> None:
    """Both lines are read in one piece: the first phase has no length, and no energy."""
    traces = {"rapl/package-0": steady(SOCKET, 80.0)}
    stretches = list(watch._phases([(10 * SECOND, "one"), (10 * SECOND, "two"), (9 * SECOND, "back")], 20 * SECOND))
    costs = [cost(courses(traces), each) for each in stretches]
    assert [each.stretch.name for each in costs] == ["one", "two", "back"]
    assert [round(each.totals["RAPL"].joules) if each.totals else None for each in costs] == [None, None, 880]


STRANGE = [
    "\\0",
    "\\0\\0x",
    "\\033]0;title\\007\\033[31mred",
    "\\377\\376",
    "a\\rb",
    "x" * 5000,
    "[bold]no markup[/bold]",
    " ",
]


@pytest.mark.parametrize("name", STRANGE)
def test_a_phase_may_have_any_name_and_reaches_no_terminal_raw(name: str) -> None:
    script = f"printf '{name}\\n' > \"$STEELYARD_PHASES\"; printf 'next\\n' > \"$STEELYARD_PHASES\"; exit 7"
    outcome = watch.run_watched(["sh", "-c", script])
    assert outcome.code == 7
    assert [phase.name for phase in outcome.phases][-1] == "next"
    assert all(phase.name.isprintable() and len(phase.name) <= 500 for phase in outcome.phases)


@pytest.mark.attack
def test_ten_thousand_random_marks_neither_hang_nor_fail(tmp_path: Path) -> None:
    script = """
import os, random, sys
chance, pipe = random.Random(1), open(os.environ["STEELYARD_PHASES"], "wb", buffering=0)
for _ in range(10_000):
    name = bytes(chance.choice(b"\\0\\n\\n\\x1b\\xffab ") for _ in range(chance.randrange(40)))
    pipe.write(name + chance.choice((b"\\n", b"", b"\\0\\n")))
pipe.write(b"\\nlast\\n")
sys.exit(5)
"""
    outcome = watch.run_watched([sys.executable, "-c", script])
    assert outcome.code == 5
    assert outcome.phases[-1].name == "last"
    traces = {"rapl/package-0": steady(SOCKET, 80.0)}
    assert all(cost(courses(traces), phase) for phase in outcome.phases)


def test_who_goes_on_marking_after_the_command_does_not_hold_it_up(tmp_path: Path) -> None:
    script = '(while :; do echo more; done > "$STEELYARD_PHASES") & echo $! > "$0"; exit 3'
    began = time.monotonic()
    outcome = watch.run_watched(["sh", "-c", script, str(who := tmp_path / "who")])
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(who.read_text()), signal.SIGKILL)
    assert outcome.code == 3
    assert time.monotonic() - began < 60
