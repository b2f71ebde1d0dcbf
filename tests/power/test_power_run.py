"""Energy of a run's cases: what the sensors said is kept beside the records, and joined with them by time."""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import test_roofline as roofline
from hypothesis import given
from hypothesis import strategies as st

import builders
import damage
from builders import measured
from steelyard.judge import evaluation, findings
from steelyard.judge.evaluation import energy
from steelyard.measure.records import power
from steelyard.measure.run.sensing import Sensing, extend_cases, recorded
from steelyard.measure.screen import Screen
from steelyard.model import Benchmark, Evaluation, Finding, Result, Source, Value
from steelyard.model.sensor import Power, Reading, Sensor, Trace
from steelyard.power.pages.power import data
from steelyard.show import report
from steelyard.show.report.columns import metric_rows
from steelyard.statistics.results.energy_metrics import METRICS

SECOND = 10**9
START = 1_790_000_000
RAIL = Sensor("rail", "power", "BMC", window=0.01, update=0.01, scope="node")
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", resolution=1e-6, range=262144.0)


def kept(folder: Path, sensors: Sequence[Sensor], readings: Sequence[Reading]) -> power.PowerFile:
    file = power.PowerFile(folder)
    file.describe(sensors)
    for reading in readings:
        file.add([reading])
    file.close()
    return file


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(0, 10 * SECOND), st.floats(-1e9, 1e9)), max_size=60))
def test_what_was_read_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[int, int, float]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    readings = [Reading((RAIL, SOCKET)[which].name, START * SECOND + at, value) for which, at, value in told]
    kept(folder, [RAIL, SOCKET], readings)
    found = power.read(folder)
    assert found.unread == ()
    for sensor in (RAIL, SOCKET):
        mine = [r for r in readings if r.sensor == sensor.name]
        assert (sensor.name in found.traces) == bool(mine)
        if mine:
            trace = found.traces[sensor.name]
            assert trace.sensor == sensor
            assert trace.at.tolist() == [r.at for r in mine]
            assert trace.value.tolist() == [r.value for r in mine]


def test_lines_come_once_a_second_so_that_little_is_lost(tmp_path: Path) -> None:
    file = power.PowerFile(tmp_path)
    file.describe([RAIL])
    for tenth in range(100):
        file.add([Reading("rail", START * SECOND + tenth * SECOND // 10, 80.0)])
    lines = (tmp_path / power.FILE).read_bytes().count(b"\n")
    assert 9 <= lines <= 11
    found = power.read(tmp_path)  # as after a kill: without closing
    assert len(found.traces["rail"].at) >= 90


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"columns": [{"sensor": "rail", "at": [1, 2], "value": [1.0]}]}', "different lengths"),
        (b'{"columns": [{"sensor": "rail", "at": [-5], "value": [1.0]}]}', "impossible"),
        (b'{"columns": [{"sensor": "rail", "at": ["x"], "value": [1.0]}]}', "int"),
        (b'{"sensors": [{"name": "a", "quantity": "energy", "source": "b", "window": -1}]}', "negative"),
        (b'{"sensors": [{"name": "a", "quantity": "energy", "source": "b", "update": 1e308}]}', "impossibly large"),
        (b'{"columns": [{"sensor": "rail", "at": [1], "value": [1e300]}]}', "an impossible value"),
        (b'{"idle": [3]}', "length"),
        (b'{"idle": [5, 3]}', "ends before it begins"),
        (b"\xff\xfe", "left out"),
    ],
)
def test_a_damaged_line_is_left_out_and_noted(tmp_path: Path, line: bytes, why: str) -> None:
    kept(tmp_path, [RAIL], [Reading("rail", START * SECOND, 80.0), Reading("rail", START * SECOND + 1, 81.0)])
    with (tmp_path / power.FILE).open("ab") as file:
        file.write(line + b"\n" + b'{"torn')
    found = power.read(tmp_path)
    (note,) = found.unread
    assert why in note
    assert found.traces["rail"].value.tolist() == [80.0, 81.0]


def test_a_run_without_sensors_has_none(tmp_path: Path) -> None:
    assert power.read(tmp_path) == Power()


def test_a_pipe_in_the_place_of_the_readings_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / power.FILE)
    found = power.read(tmp_path)
    (note,) = found.unread
    assert not found.traces
    assert "not an ordinary file" in note


def timed(result: Result, began: float, seconds: float, **work: float) -> Result:
    """The result's records, one after the other, each of so many seconds."""
    records = []
    for place, record in enumerate(result.records):
        begins = began + place * seconds
        records.append(
            replace(
                record,
                work={**record.work, **work},
                surroundings=builders.seen(record.surroundings, began=begins, ended=begins + seconds),
            )
        )
    return measured(result, records=tuple(records))


def steady(watts: float, sensor: Sensor = RAIL, seconds: int = 60) -> Trace:
    at = START * SECOND + np.arange(0, seconds * 100) * (SECOND // 100)
    return Trace(sensor, at, np.full(len(at), watts))


def test_energy_is_power_times_time_with_both_intervals() -> None:
    result = timed(builders.triad(20e9), START + 10.0, 4.0, flops=1e9)
    idle = Trace(RAIL, steady(30.0).at, np.where(steady(30.0).at < (START + 5) * SECOND, 30.0, 80.0))
    (found,), known = energy.add_energy(
        [result],
        builders.evaluation([result]).benchmarks,
        Power({"rail": idle}, (START * SECOND, (START + 4) * SECOND)),
    )
    seconds = evaluation_seconds(result)
    metrics = found.metrics
    assert metrics["power"].value == pytest.approx(80.0)
    assert metrics["energy"].value == pytest.approx(80.0 * seconds)
    assert metrics["energy_above_idle"].value == pytest.approx(50.0 * seconds)
    assert metrics["flops_per_joule"].value == pytest.approx(1e9 / (80.0 * seconds))
    assert metrics["energy_delay"].value == pytest.approx(80.0 * seconds**2)
    for value in metrics.values():
        assert value.low is None or (value.high is not None and value.low <= value.value <= value.high)
    assert [m.name for m in known["memory.stream"].metrics][-5:] == [m.name for m in METRICS]
    assert found.metrics["bandwidth"] == result.metrics["bandwidth"]


def in_runs(result: Result, lengths: Sequence[float], pause: float) -> Result:
    """A program of others: in each record runs of so many seconds, with pauses between them."""
    records = []
    for record, began in zip(result.records, (START + 5.0, START + 25.0, START + 45.0), strict=True):
        at = [sum(lengths[:place]) + place * pause for place in range(len(lengths))]
        around = {"began": began, "ended": began + at[-1] + lengths[-1]}
        columns = {"at": at, "seconds": list(lengths)}
        records.append(
            replace(
                record,
                samples=tuple(0.25 * each for each in lengths),  # the program times a part of itself
                operations=1,
                surroundings=builders.seen(record.surroundings, **around, samples=columns),
            )
        )
    return measured(result, records=tuple(records))


def foreign(results: Sequence[Result]) -> dict[str, Benchmark]:
    known = builders.evaluation(results).benchmarks
    return {n: replace(b, sources=(Source("sum.toml", False, foreign=True),)) for n, b in known.items()}


def drawn_by(result: Result, busy: float, between: float) -> Trace:
    """So many watts within the runs, and so many at all other times."""
    trace = steady(between)
    for record in result.records:
        for run in energy.find_runs(record):
            trace.value[(trace.at > run.begin) & (trace.at <= run.end)] = busy
    return trace


def test_the_energy_of_a_program_of_others_is_that_of_its_runs_from_start_to_end() -> None:
    result = in_runs(builders.triad(20e9), [3.0, 3.0, 3.0], pause=1.0)
    trace = drawn_by(result, 80.0, 200.0)  # between its runs we look at the pace, on all cores
    (found,), _ = energy.add_energy([result], foreign([result]), Power({"rail": trace}))
    metrics = found.metrics
    assert metrics["power"].value == pytest.approx(80.0, rel=0.01)
    assert metrics["energy"].value == pytest.approx(240.0, rel=0.01)
    assert metrics["energy_delay"].value == pytest.approx(720.0, rel=0.01)
    for name, truth in (("power", 80.0), ("energy", 240.0)):
        value = metrics[name]
        assert value.low is not None
        assert value.high is not None
        assert value.low <= truth <= value.high
        assert value.high - value.low < 0.05 * truth
    (ours,), _ = energy.add_energy([result], builders.evaluation([result]).benchmarks, Power({"rail": trace}))
    assert ours.metrics["power"].value > 90  # of a program of ours all of it counts


def test_runs_too_short_for_the_sensor_have_no_energy_unless_all_of_them_bound_it() -> None:
    slow = replace(RAIL, window=1.0, update=1.0)
    for lengths, pause, known in (([0.3] * 4, 0.5, False), ([6.0, 6.0], 0.5, True)):
        result = in_runs(builders.triad(20e9), lengths, pause)
        trace = drawn_by(result, 80.0, 30.0)
        (found,), _ = energy.add_energy(
            [result], foreign([result]), Power({"rail": Trace(slow, trace.at[::100], trace.value[::100])})
        )
        assert ("energy" in found.metrics) is known


@pytest.mark.parametrize("lost", ["began", "samples"])
def test_a_program_of_others_that_does_not_say_when_it_ran_has_no_energy(lost: str) -> None:
    result = in_runs(builders.triad(20e9), [3.0, 3.0], pause=1.0)
    records = [replace(r, surroundings=builders.seen(r.surroundings, **{lost: None})) for r in result.records]
    result = measured(result, records=tuple(records))
    (found,), _ = energy.add_energy([result], foreign([result]), Power({"rail": steady(80.0)}))
    assert "energy" not in found.metrics


def evaluation_seconds(result: Result) -> float:
    return float(np.median([np.median(record.samples) for record in result.records]))


def test_a_case_too_short_for_the_sensor_has_no_energy() -> None:
    result = timed(builders.triad(20e9), START + 10.0, 0.03)
    slow = Trace(replace(RAIL, window=1.12), steady(80.0).at[::112], steady(80.0).value[::112])
    (found,), known = energy.add_energy([result], builders.evaluation([result]).benchmarks, Power({"rail": slow}))
    assert "power" not in found.metrics
    assert "power" not in {m.name for m in known["memory.stream"].metrics}


class Wall:
    """A device that has counted 80 W since 1970 began."""

    sensors = (replace(SOCKET, range=None),)

    def read(self) -> Sequence[Reading]:
        now = time.time_ns()
        return [Reading(SOCKET.name, now, 80.0 * (now - START * SECOND) / SECOND)]

    def close(self) -> None: ...


def test_a_run_is_shown_with_its_energy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.measure.run.sensing.IDLE", 0.05)
    run = damage.unpack(tmp_path)
    with recorded(Sensing((Wall(),), 0.01), run, Screen(), afresh=True):
        time.sleep(0.4)
    found = power.read(run)
    assert found.unread == ()
    assert found.idle
    trace = found.traces[SOCKET.name]
    # The records of the kept run, moved to the time in which the sensor was read.
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for line in lines:
        line["surroundings"] |= {"began": trace.at[5] / SECOND, "ended": trace.at[-5] / SECOND}
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for _ in range(2):  # judged, and read again
        judged = evaluation.evaluate(run)
        powers = [r.metrics["power"] for r in judged.results if "power" in r.metrics]
        assert len(powers) > 10
        assert all(value.value == pytest.approx(80.0, rel=1e-3) for value in powers)
    assert "mean power while it ran (processors)" in report.render(judged)
    assert {row["metric"] for row in metric_rows(judged)} >= {"power", "energy", "energy_above_idle"}


NODE = ("node",)


def priced(watts: float, seconds: float, mode: str, **parameters: object) -> Result:
    """A kernel of the node in a mode, with its power and energy."""
    told = builders.result("node.vector", "vector", {"mode": mode, "threads": 4, **parameters}, seconds, {"flops": 1e6})
    joules = watts * seconds
    values = {"power": (watts, "W"), "energy": (joules, "J")}
    return replace(
        told, metrics={n: Value(v, unit, 0.99 * v, 1.01 * v, "lower", scope=NODE) for n, (v, unit) in values.items()}
    )


def spoken(rule: str, results: Sequence[Result], power: Power | None = None) -> list[Finding]:
    return findings.load_rule(rule).find(replace(builders.evaluation(results), power=power))


def test_a_device_must_be_faster_by_as_much_as_it_draws_more() -> None:
    threads = priced(8.0, 1e-3, "threads")
    (saves,) = spoken("accelerator_energy", [threads, priced(11.0, 0.5e-3, "opencl", device=0)])
    assert saves.level == "good"
    assert "needs a speed-up above 1.38 (P2/P1) to save energy and has 2.00" in saves.evidence[0]

    assert "The power of the node is then 11.0 W instead of 8.00 W" in saves.evidence[0]
    (costs,) = spoken("accelerator_energy", [threads, priced(11.0, 0.9e-3, "opencl", device=0)])
    assert costs.level == "notice"
    assert costs.effect == pytest.approx(1.375 / (1 / 0.9))
    (unsure,) = spoken("accelerator_energy", [threads, priced(8.0, 1.005e-3, "opencl", device=0)])
    assert "has no certain effect in 1 of 1 kernel" in unsure.seen


def test_the_idle_machine_s_share_is_named() -> None:
    idle = (START * SECOND, (START + 50) * SECOND)
    many = spoken("idle_share", [priced(80.0, 1e-3, "threads")], Power({"rail": steady(60.0)}, idle))
    few = spoken("idle_share", [priced(80.0, 1e-3, "threads")], Power({"rail": steady(20.0)}, idle))
    assert [f.level for f in (*many, *few)] == ["notice", "good"]
    assert "75 % of its power under load" in many[0].seen


def test_of_a_model_nothing_is_found() -> None:
    guess = replace(steady(60.0), sensor=replace(RAIL, modelled=True))
    idle = (START * SECOND, (START + 50) * SECOND)
    assert spoken("idle_share", [priced(80.0, 1e-3, "threads")], Power({"rail": guess}, idle)) == []


def rests(watts: float) -> Evaluation:
    idle = (START * SECOND, (START + 50) * SECOND)
    made = builders.evaluation([priced(80.0, 1e-3, "threads")])
    return replace(made, power=Power({"rail": steady(watts)}, idle))


def accelerated(seconds: float) -> Evaluation:
    return builders.evaluation([priced(8.0, 1e-3, "threads"), priced(11.0, seconds, "opencl", device=0)])


def together(seconds: float) -> Evaluation:
    """The device takes 5 mJ, the threads 8; both together draw 11 W."""
    alone = [priced(8.0, 1e-3, "threads"), priced(10.0, 0.5e-3, "opencl", threads=1, device=0)]
    return builders.evaluation([*alone, priced(11.0, seconds, "mixed", device=0)])


def test_both_together_are_set_against_the_better_one_alone() -> None:
    (costs,) = findings.load_rule("together_energy").find(together(0.48e-3))
    assert costs.level == "notice"
    assert (
        costs.seen
        == "Threads and device together use more energy than the better one alone in 1 of 1 kernel (energy of the node)."
    )
    assert "together 5.28 mJ, the device alone 5.00 mJ: 1.06 times" in costs.evidence[0]
    assert "need a speed-up above 1.10 (P2/P1) and have 1.04" in costs.evidence[0]
    assert "vector with the device alone (--set mode=opencl)" in costs.remedy
    assert costs.effect == pytest.approx(1.056)
    (unsure,) = findings.load_rule("together_energy").find(together(0.457e-3))
    assert (unsure.level, unsure.remedy) == ("good", "")
    assert "none of 1 kernel (energy of the node), as far as is certain: no certain difference in 1" in unsure.seen
    (saves,) = findings.load_rule("together_energy").find(together(0.3e-3))
    assert (
        "use more energy than the better one alone in none of 1 kernel (energy of the node), as far as is certain: less in 1"
        in saves.seen
    )


def test_energies_whose_intervals_are_not_known_are_not_compared() -> None:
    made = together(0.48e-3)
    energy = Value(1e-3, "J", None, None, "lower")
    other = [replace(r, metrics={**r.metrics, "energy": energy}) for r in made.results]
    assert findings.load_rule("together_energy").find(replace(made, results=tuple(other))) == []


def drawing(result: Result, watts: float) -> Result:
    """With the energy that follows from its time at so many watts, ± 2 %."""
    joules = watts * evaluation_seconds(result)
    told = {"power": Value(watts, "W", 0.98 * watts, 1.02 * watts, "lower", scope=NODE)}
    told["energy"] = Value(joules, "J", 0.98 * joules, 1.02 * joules, "lower", scope=NODE)
    return replace(result, metrics={**result.metrics, **told})


def below_roofs(share: float, flops_per_byte: float = 0.1) -> Evaluation:
    """100 W at the peak of 40 Gflop/s and at 12 GB/s; a kernel over 1 GiB that reaches a share of what its bytes allow."""
    work = {"bytes": float(roofline.GIB), "flops": flops_per_byte * roofline.GIB}
    loop = roofline.kernel(share * 12e9 * flops_per_byte, work, elements=roofline.GIB // 8)
    return builders.evaluation([drawing(r, 100.0) for r in (*roofline.roofs(), loop)])


def test_a_flop_and_a_byte_have_the_price_of_their_roof() -> None:
    (told,) = findings.load_rule("energy_roof").find(below_roofs(0.9))
    # 100 W over 40 Gflop/s, and over 12 GB/s that the Triad moves.
    assert "a flop costs 2.50 nJ and a byte of the memory 8.33 nJ (energy of the node). Below 3.33 flop/B" in told.seen
    assert "This holds for 1 of 1 kernel with data in memory" in told.seen
    assert told.evidence[0].startswith("400 Mflop/J: 2.50 nJ (2.45 nJ to 2.55 nJ) per flop, by core.peak peak")
    assert told.evidence[1].startswith("120 MB/J: 8.33 nJ")
    assert "1.11 times the energy of its bytes at the roof" in told.evidence[2]
    assert "Its flops cost 3 % of that" in told.evidence[2]
    (dense,) = findings.load_rule("energy_roof").find(below_roofs(0.4, 10.0))
    assert "the energy of its flops at the roof" not in told.evidence[2]
    assert "its flops at the roof" in dense.evidence[2]


def test_a_kernel_far_below_its_roof_pays_for_the_time() -> None:
    (told,) = findings.load_rule("energy_roof").find(below_roofs(0.3))
    assert told.level == "notice"
    assert "1 of them use more than 2 times" in told.seen
    assert told.effect == pytest.approx(1 / 0.3, rel=0.02)


def test_without_the_energy_of_a_roof_there_is_no_price() -> None:
    made = below_roofs(0.9)
    plain = [replace(r, metrics={k: v for k, v in r.metrics.items() if k != "energy"}) for r in made.results]
    peaks = [r if r.benchmark != "core.peak" else p for r, p in zip(made.results, plain, strict=True)]
    assert findings.load_rule("energy_roof").find(replace(made, results=tuple(peaks))) == []


SPEAKS = {
    "accelerator_energy": lambda: accelerated(0.9e-3),
    "energy_roof": lambda: below_roofs(0.3),
    "idle_share": lambda: rests(60.0),
    "together_energy": lambda: together(0.48e-3),
}
SILENT = {
    "energy_roof": lambda: builders.evaluation(roofline.roofs()),
    "together_energy": lambda: accelerated(0.9e-3),
    "accelerator_energy": lambda: builders.evaluation([priced(8.0, 1e-3, "threads")]),
    "idle_share": lambda: builders.evaluation([priced(8.0, 1e-3, "threads")]),
}
GOOD = {
    "accelerator_energy": lambda: accelerated(0.5e-3),
    "energy_roof": lambda: below_roofs(0.9),
    "idle_share": lambda: rests(20.0),
    "together_energy": lambda: together(0.3e-3),
}


def test_the_page_of_power_says_what_was_used() -> None:
    result = timed(builders.triad(20e9), START + 10.0, 4.0, flops=1e9)
    told = Power({"rail": steady(80.0)}, (START * SECOND, (START + 4) * SECOND))
    (found,), known = energy.add_energy([result], builders.evaluation([result]).benchmarks, told)
    made = builders.evaluation([found])
    page = data(replace(made, benchmarks=known, power=told))
    assert page
    assert (
        "According to BMC, the node used 960 J (958 J – 960 J) from the first sample to the last, in 12.0 s. The mean power was "
        "80.0 W, and the idle machine drew 80.0 W there." in page.sentences
    )
    assert [row.cells[:2] for row in page.rows] == [("1 of 1", "80.0 W")]
    assert page.sensors == (("rail", "node", "BMC", "mean power over 10.0 ms", "not stated"),)
    assert "Power against time" in report.render(replace(made, benchmarks=known, power=told))
    assert data(made) is None


def test_cases_last_as_long_as_the_sensor_needs() -> None:
    made = builders.evaluation([builders.triad(20e9)]).run.plan
    longer = extend_cases(made, 56.0)
    (case,) = longer.launches[0].cases
    assert (case.sampling.seconds, case.sampling.least, case.sampling.most) == (14.0, 100_000, 100_000)
    assert longer.seconds == made.seconds + 55.0
    assert extend_cases(made, 0.5) == made
    assert Sensing((Wall(),), 0.1).seconds(0.02) == pytest.approx(5.0)
