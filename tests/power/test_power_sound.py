"""Figures that fit each other: mean and greatest, what is missing, and an idle power that is one."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_power_run import RAIL, SOCKET, START, Wall, priced, steady

import builders
from steelyard.compare import published_power
from steelyard.measure.launch.watch import Outcome
from steelyard.measure.records import power as record
from steelyard.measure.run import sensing
from steelyard.measure.telemetry.energy import course, energy, measure_reached
from steelyard.measure.telemetry.watched import Stretch, courses, name_load
from steelyard.model.account import Account
from steelyard.model.sensor import Power, Sensor, Trace
from steelyard.power.command_line import command_costs, store_tables
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.time_ranges import When
from steelyard.power.findings import idle_share
from steelyard.power.pages import power as page
from steelyard.show.command_line.progress import Console

SECOND = 10**9
HOUR = Stretch("", START * SECOND, (START + 3600) * SECOND)


class Store:
    """One sensor of one node."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def trace(self, node: str, sensor: str, start: int, end: int) -> Trace:
        inside = (self._trace.at >= start) & (self._trace.at <= end)
        return Trace(self._trace.sensor, self._trace.at[inside], self._trace.value[inside])


def drawn(sensor: Sensor, seconds: np.ndarray, watts: float = 100.0) -> Trace:
    value = watts * seconds if sensor.quantity == "energy" else np.full(len(seconds), watts)
    return Trace(sensor, START * SECOND + np.round(seconds * SECOND).astype(np.int64), value)


def asked(trace: Trace, called: str = "") -> store_tables.Row:
    """What `power query` says of an hour."""
    store: Any = Store(trace)
    (row,) = store_tables.list_costs(store, [Part("c/n1", (trace.sensor,), (HOUR,))], When(called, (HOUR,)))
    return row


@pytest.mark.parametrize("sensor", [SOCKET, RAIL])
@pytest.mark.parametrize(
    ("seconds", "missing"),
    [
        (np.arange(1800, 1807.5, 0.1), 1 - 7.4 / 3600),  # seven seconds of an hour
        (np.arange(-100, 3700, 1.0), 0.0),
        (np.arange(900, 1800, 0.5), 0.75),
        (np.concatenate((np.arange(0, 1200, 1.0), np.arange(1800, 3601, 1.0))), 1 / 6),  # a hole within
    ],
)
def test_a_query_covers_the_time_that_readings_reach(sensor: Sensor, seconds: np.ndarray, missing: float) -> None:
    row = asked(drawn(sensor, seconds))
    if sensor is SOCKET and seconds[0] == 0:
        missing = 0.0  # a counter tells of a hole, too
    assert row.spent
    assert row.spent.power == pytest.approx(100.0)
    assert row.spent.missing == pytest.approx(missing, abs=2e-3)
    assert row.spent.joules == pytest.approx(100.0 * row.spent.seconds)
    assert ("missing" in store_tables.format_figures(row.spent, row.mean, row.greatest, "W")[0]) == (missing > 0)


def test_without_readings_no_energy_is_said() -> None:
    for seconds in (np.empty(0), np.arange(5000.0, 5100.0)):
        assert asked(drawn(RAIL, seconds)).spent is None


def test_of_a_job_the_whole_time_counts_and_not_what_is_reached() -> None:
    assert asked(drawn(RAIL, np.arange(1800, 1807.5, 0.1)), "job 1").spent is None


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sensor", [SOCKET, RAIL, replace(RAIL, window=1.0), replace(SOCKET, update=0.02)])
def test_the_greatest_power_is_never_below_the_mean(seed: int, sensor: Sensor) -> None:
    chance = np.random.default_rng(seed)
    steps = chance.uniform(0.05, 0.3, 60)
    at, watts = np.cumsum(steps), chance.uniform(20, 200, 60)
    value = np.cumsum(watts * steps) if sensor.quantity == "energy" else watts
    known = course(Trace(sensor, START * SECOND + np.round(at * SECOND).astype(np.int64), value))
    assert known
    begin = START * SECOND + int(at[chance.integers(5, 30)] * SECOND) + int(chance.integers(0, SECOND // 5))
    for seconds in (0.3, 0.7, 2.0):
        for of in (energy, measure_reached):
            spent = of(known, begin, begin + int(seconds * SECOND))
            assert spent
            assert spent.greatest is None or spent.greatest >= spent.power


# An idle machine


def watched(busy: float | None) -> command_costs.Found:
    traces = {"rail": steady(80.0)}
    whole = Stretch("solver", (START + 20) * SECOND, (START + 40) * SECOND)
    idle = Stretch("idle", (START + 1) * SECOND, (START + 11) * SECOND)
    sampler: Any = SimpleNamespace(cost=0.0, failures={})
    return command_costs.compute_costs(traces, sampler, Outcome(0, whole, ()), idle, Account.of(busy, 10, 1))


@pytest.mark.parametrize(("busy", "marked"), [(None, False), (0.02, False), (0.25, False), (0.4, True), (9.0, True)])
def test_an_idle_power_that_was_taken_under_load_is_marked(
    busy: float | None, marked: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    command_costs.print_costs(watched(busy), False)
    said = " ".join(capsys.readouterr().err.split())
    assert ("was not idle while its idle power was measured" in said) == marked
    command_costs.print_costs(watched(busy), True)
    idle = json.loads(capsys.readouterr().out)["idle"]
    assert (bool(idle["doubt"]), idle["busy_cores"]) == (marked, busy)
    if marked:
        assert f"{busy:.1f} of 10 processors busy" in said
        assert "measure again" in said


def test_a_run_keeps_how_busy_its_idle_machine_was_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sensing, "measure_load", lambda seconds: Account(1.5 * seconds, 4, seconds))
    with sensing.recorded(sensing.Sensing((Wall(),), 0.01), tmp_path, Console(), afresh=True):
        pass
    kept = record.read(tmp_path)
    assert kept.busy == 1.5
    assert "other processes kept 1.5 of 4 processors busy" in capsys.readouterr().err
    older = tmp_path / "older"
    older.mkdir()
    (older / record.FILE).write_text(f'{{"idle": [{START * SECOND}, {(START + 3) * SECOND}]}}\n')
    assert record.read(older).busy is None


def test_a_loaded_machine_s_idle_power_is_no_finding_and_stands_marked_elsewhere() -> None:
    idle = (START * SECOND, (START + 50) * SECOND)
    made = builders.evaluation([priced(80.0, 1e-3, "threads")])
    quiet, loaded = (replace(made, power=Power({"rail": steady(60.0)}, idle, busy)) for busy in (0.08, 2.0))
    assert len(idle_share.find(quiet)) == 1
    assert idle_share.find(loaded) == []
    assert (published_power._idle(quiet).level, published_power._idle(quiet).remark) == ("CLEAN", "")
    assert (published_power._idle(loaded).level, published_power._idle(loaded).remark) == (
        "DISTURBED", "while other processes kept 2.0 cores busy",
    )  # fmt: skip
    assert loaded.power
    sentences = [*page._sentences(loaded, courses(loaded.power.traces), None)]
    assert name_load(Account(2.0, made.run.machine.processors, 1.0)) in sentences
