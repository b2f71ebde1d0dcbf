"""What noise.quanta keeps of each quantum, and what its metrics and figures make of planted noise."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from builders import machine, result
from steelyard.measure.benchmarks.noise import quanta, series
from steelyard.measure.plan import EFFORTS
from steelyard.model import Record, Result

BASE, DETOUR, TICK = 1e-4, 3e-5, 250.0  # seconds, seconds, hertz
SERIES, LENGTH = 50, 100


def worked(detour: float = DETOUR, threads: int = 2, counted: int = SERIES) -> Result:
    """Fixed work in which a tick of 250 Hz costs the first thread `detour` seconds; the clock jitters by some ns."""
    chance, told = random.Random(3), []
    for number in range(threads):
        now, ticked, over, starts = 0.0, 0, [], []
        for _ in range(counted):
            starts.append(round(1e9 * now))
            for _ in range(LENGTH):
                seconds = BASE + 1e-9 * chance.randrange(0, 20)
                if number == 0 and (now + seconds) * TICK >= ticked + 1:
                    ticked += 1
                    seconds += detour
                over.append(round(1e9 * (seconds - BASE)))
                now += seconds
            now += 2e-6  # between two series nobody looks
        told.append({"base": round(1e9 * BASE), "over": over, "starts": starts, "lengths": [LENGTH] * counted})
    details = {"unit": 1e-9, "additions": 300_000, "threads": told}
    taken = LENGTH * BASE * (1 + detour * TICK)
    work = {"quanta": float(LENGTH * threads)}
    parameters = {"threads": threads, "quanta": LENGTH, "quantum": BASE}
    seen = {"details": details}
    return result("noise.quanta", "fixed_work", parameters, taken, work, surroundings=seen, launches=1, spread=0.0)


def sliced(share: float = 0.3) -> Result:
    """Slices of 100 µs: every 40th, which is 250 times a second, lacks `share` of its work; series have gaps of 3 slices."""
    missing, starts = [], []
    for number in range(SERIES):
        starts.append(1000 + number * (LENGTH + 3))
        missing += [round(share * 1000) if slice_ % 40 == 0 else 0 for slice_ in range(starts[-1], starts[-1] + LENGTH)]
    told = {"most": 1000, "missing": missing, "starts": starts, "lengths": [LENGTH] * SERIES}
    details = {"slice": BASE, "threads": [told]}
    return result(
        "noise.quanta", "fixed_time", {"threads": 1}, LENGTH * BASE, {"quanta": float(LENGTH)},
        surroundings={"details": details}, launches=1,
    )  # fmt: skip


def record(of: Result) -> Record:
    return of.records[0]


def metric(name: str, of: Result) -> float | None:
    seconds = record(of).samples[0]
    return next(m for m in quanta.metrics if m.name == name).of(seconds, record(of))


def test_quanta_lie_one_after_the_other_within_a_series() -> None:
    thread = series.threads(record(worked()))[0]
    assert len(thread.starts) == len(thread.seconds) == SERIES * LENGTH
    for i in (0, 7, LENGTH, 3 * LENGTH + 5):
        assert thread.starts[i + 1] == pytest.approx(thread.starts[i] + thread.seconds[i], abs=2e-9)
    border = LENGTH - 1  # the last of a series, and the first of the next
    assert thread.starts[border + 1] - thread.starts[border] - thread.seconds[border] == pytest.approx(2e-6, abs=2e-9)


def test_planted_detours_are_found_with_their_length_and_rate() -> None:
    of = worked()
    assert metric("longest", of) == pytest.approx(DETOUR, rel=0.01)
    assert metric("rate", of) == pytest.approx(TICK / 2, rel=0.02)  # one thread of two has them
    assert metric("lost", of) == pytest.approx(DETOUR * TICK / 2, rel=0.05)
    assert metric("lost_together", of) == pytest.approx(DETOUR * TICK, rel=0.2)


def test_a_tick_shows_in_the_spectrum_of_both_kernels() -> None:
    assert [round(t.frequency) for t in series.tones(record(worked()))] == [250]
    points = series.amplitudes(series.slices(record(sliced()))[0])
    assert max(points, key=lambda p: p[1] * (p[0] < 300))[0] == pytest.approx(TICK, abs=4)
    figure = {f.name: f for f in quanta.figures((worked(), sliced()), machine())}["noise-spectrum"]
    assert [round(m.at) for m in figure.marks] == [250]


def test_lost_slices_are_counted_against_the_best_one() -> None:
    assert metric("lost", sliced(0.3)) == pytest.approx(0.3 / 40, rel=0.1)
    assert metric("lost_together", sliced()) is None


def test_a_record_without_quanta_has_no_metrics() -> None:
    empty = result("noise.quanta", "fixed_work", {"threads": 2}, 0.01, {"quanta": 200.0}, launches=1)
    assert [m.of(0.01, record(empty)) for m in quanta.metrics] == [None] * 4


def test_without_detours_there_is_no_longest_one() -> None:
    assert metric("longest", worked(detour=0.0)) is None


def test_a_program_of_many_ranks_loses_more_than_one_processor() -> None:
    figures = {f.name: f for f in quanta.figures((worked(threads=1),), machine())}
    line = figures["noise-cost"].series[0]
    known = [y for y in line.y if y is not None]
    assert known[0] == pytest.approx(DETOUR * TICK, rel=0.2)
    assert known[-1] == pytest.approx(DETOUR / 1e-4, rel=0.1)  # all are hit: one detour in each burst of 100 µs


def test_every_processor_has_a_thread() -> None:
    (block,) = quanta.axes(machine(cores=8), EFFORTS["quick"])
    assert block.values["threads"] == (8,)


@pytest.mark.parametrize("kernel", ["fixed_work", "fixed_time"])
def test_the_program_keeps_every_quantum_but_those_of_the_first_run(programs: dict[str, Path], kernel: str) -> None:
    answer = ask(programs["noise.quanta"], f"kernel={kernel} threads=1 quanta=20 seconds=0.02 least=4 most=4")
    (thread,) = answer["surroundings"]["details"]["threads"]
    values = thread["over" if kernel == "fixed_work" else "missing"]
    assert len(values) == sum(thread["lengths"]) >= 20 * len(answer["samples"])
    assert len(thread["starts"]) == len(thread["lengths"])
    assert min(values) == 0  # the fastest quantum, and the best slice, are what the others are compared with
    assert all(length == 20 * answer["operations"] for length in thread["lengths"][-len(answer["samples"]) :])


def ask(program: Path, line: str) -> dict[str, Any]:
    done = subprocess.run([program], input=line + "\n", capture_output=True, text=True, check=True, timeout=60)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
