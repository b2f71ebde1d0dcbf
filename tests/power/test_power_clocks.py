"""Offsets of clocks: planted ones are found within their interval, and none where two sensors saw different loads."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from output_schemas import read_output
from steelyard.model.sensor import Sensor, Trace
from steelyard.power.clocks import estimate_offset
from steelyard.power.message import Batch
from steelyard.power.stores import open_store
from steelyard.show.command_line import cli

SECOND = 10**9
START = 1_790_000_000 * SECOND
FINE = 0.01  # s, of the true power

Load = NDArray[np.float64]
COUNTER = Sensor("rapl/package-0", "energy", "RAPL", resolution=1e-6)
FAST = Sensor("rail", "power", "INA", window=0.1)
SLOW = Sensor("board", "power", "BMC", window=1.12)
LONG = Sensor("psu", "power", "PSU", window=1.0)  # read more often than its window is long


def steps(chance: np.random.Generator, seconds: float) -> Load:
    """A power that jumps at random, each four seconds in the mean."""
    power = np.empty(round(seconds / FINE))
    at = 0
    while at < len(power):
        lasts = int(chance.exponential(4.0) / FINE) + 5
        power[at : at + lasts] = chance.uniform(60, 200)
        at += lasts
    return power


def walk(chance: np.random.Generator, seconds: float) -> Load:
    return 100 + np.cumsum(chance.normal(0, 0.5, round(seconds / FINE)))


def flat(chance: np.random.Generator, seconds: float) -> Load:
    return np.full(round(seconds / FINE), 100.0)


def seen(
    chance: np.random.Generator, load: Load, sensor: Sensor, every: float, noise: float = 0.0, behind: float = 0.0
) -> Trace:
    """What the sensor says of the load, by a clock that is so many seconds behind."""
    edges = FINE * np.arange(len(load) + 1)
    joules = np.concatenate(([0.0], np.cumsum(load) * FINE))
    at = np.arange(chance.uniform(0, every) + max(sensor.window, every), edges[-1], every)
    value = np.interp(at, edges, joules)
    if sensor.quantity == "power":
        value = (value - np.interp(at - sensor.window, edges, joules)) / sensor.window + chance.normal(
            0, noise, len(at)
        )
    return Trace(sensor, START + np.round((at - behind) * SECOND).astype(np.int64), value)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seeds", [8, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("sensor", "every", "noise", "wide"),
    [
        (FAST, 0.1, 2.0, 0.05),
        (FAST, 0.1, 20.0, 0.1),
        (SLOW, 1.12, 2.0, 0.4),
        (LONG, 0.1, 1.0, 1.2),
        (COUNTER, 0.5, 0.0, 0.2),
    ],
)
@pytest.mark.parametrize("true", [0.0, 0.3, -0.3, 5.0])
def test_a_planted_offset_is_within_its_interval(
    sensor: Sensor, every: float, noise: float, wide: float, true: float, seeds: int
) -> None:
    """Binomial: 8 traces of one case find a coverage of 0.6 with probability 0.98, those of all 20 cases one of 0.9."""
    held, widths = 0, []
    for seed in range(seeds):
        chance = np.random.default_rng(seed)
        load = steps(chance, 300)
        found = estimate_offset(seen(chance, load, COUNTER, 0.1), seen(chance, load, sensor, every, noise, true))
        assert found, seed
        held += found.low <= true <= found.high
        widths.append((found.high - found.low) / 2)
        assert found.low < found.seconds < found.high
        assert 0 < found.correlation <= 1
    assert held >= 0.95 * seeds
    assert np.median(widths) < wide


def test_the_other_way_round_it_is_before() -> None:
    chance = np.random.default_rng(1)
    load = steps(chance, 300)
    a, b = seen(chance, load, FAST, 0.1), seen(chance, load, SLOW, 1.12, behind=2.0)
    one, other = estimate_offset(a, b), estimate_offset(b, a)
    assert one
    assert other
    assert other.seconds == pytest.approx(-one.seconds, abs=0.1)
    assert other.low <= -2.0 <= other.high


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seeds", [16, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("loads", [(steps, steps), (flat, flat), (walk, walk), (steps, flat)])
@pytest.mark.parametrize("seconds", [40, 120, 600])
def test_different_loads_have_no_offset(loads: tuple[Callable[..., Load], ...], seconds: float, seeds: int) -> None:
    """Binomial: 16 pairs of each of the 12 cases find that 0.02 have an offset with probability 0.98."""
    for seed in range(seeds):
        chance = np.random.default_rng(seed)
        one, other = (make(chance, seconds) for make in loads)
        sensor, every = ((FAST, 0.1), (SLOW, 1.12))[seed % 2]
        assert estimate_offset(seen(chance, one, FAST, 0.1, 2.0), seen(chance, other, sensor, every, 2.0)) is None, seed


def test_a_load_that_repeats_itself_has_no_one_offset() -> None:
    chance = np.random.default_rng(1)
    load = 100.0 + 50 * (np.arange(60_000) // 500 % 2)
    assert estimate_offset(seen(chance, load, COUNTER, 0.1), seen(chance, load, FAST, 0.1, 1.0)) is None


def test_a_hole_in_one_trace_is_no_change() -> None:
    chance = np.random.default_rng(3)
    load = steps(chance, 600)
    a, b = seen(chance, load, COUNTER, 0.1), seen(chance, load, FAST, 0.1, 2.0, behind=0.3)
    kept = (np.arange(len(b.at)) < 2000) | (np.arange(len(b.at)) > 3000)
    found = estimate_offset(a, Trace(FAST, b.at[kept], b.value[kept]))
    assert found
    assert found.low <= 0.3 <= found.high


@pytest.mark.parametrize("readings", [0, 1, 2, 30])
def test_few_readings_say_nothing(readings: int) -> None:
    chance = np.random.default_rng(1)
    load = steps(chance, 100)
    a, b = seen(chance, load, FAST, 0.1), seen(chance, load, FAST, 0.1)
    assert estimate_offset(a, Trace(FAST, b.at[:readings], b.value[:readings])) is None
    assert estimate_offset(Trace(FAST, a.at[:readings], a.value[:readings]), b) is None
    heat = Sensor("heat", "temperature", "BMC")
    assert estimate_offset(a, Trace(heat, b.at, b.value)) is None


def test_traces_of_different_times_say_nothing() -> None:
    chance = np.random.default_rng(1)
    load = steps(chance, 100)
    a, b = seen(chance, load, FAST, 0.1), seen(chance, load, FAST, 0.1, behind=5000.0)
    assert estimate_offset(a, b) is None


def test_the_clocks_of_a_node_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = np.random.default_rng(5)
    load = steps(chance, 300)
    idle = flat(chance, 300)
    traces = [
        seen(chance, load, COUNTER, 0.1),
        seen(chance, load, SLOW, 1.12, 2.0, 5.0),
        seen(chance, idle, FAST, 0.1, 1.0),
    ]
    store = open_store(str(tmp_path / "store"), make=True)
    store.describe("cluster/n1", [trace.sensor for trace in traces])
    store.describe("cluster/n2", [COUNTER])
    for number, t in enumerate(traces):
        zeros = np.zeros(len(t.at), dtype=np.uint16)
        store.write([Batch("cluster/n1", UUID(int=number), 1, (t.sensor.name,), zeros, t.at, t.value)])
    time = ("--from", str(START), "--to", str(START + 300 * SECOND))
    words = ["power", "query", "--store", str(tmp_path / "store"), *time, "--clocks"]
    assert cli.run_and_explain(lambda: cli.app([*words, "cluster/n1", "--json"])) == 0
    slow, fast = read_output("power-query", capsys.readouterr().out)
    assert (slow["sensor"], slow["against"]) == ("cluster/n1/board", "cluster/n1/rapl/package-0")
    assert slow["low"] <= 5.0 <= slow["high"]
    assert fast["behind"] is None
    assert cli.run_and_explain(lambda: cli.app([*words, "cluster/n1"])) == 0
    shown = capsys.readouterr().out
    assert "cluster/n1: clock delays against rapl/package-0" in shown
    assert "no changes in common" in shown
    assert cli.run_and_explain(lambda: cli.app([*words, "cluster/n2"])) == 2
    assert "two sensors of power" in capsys.readouterr().err
