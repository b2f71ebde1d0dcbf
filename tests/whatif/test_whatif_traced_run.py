"""The traced run beside its replay: how long each rank computes, and how long the calls that send take."""

from dataclasses import replace
from pathlib import Path

import pytest

from replays import points, this_machine
from steelyard import whatif
from steelyard.whatif import engine, printed_prediction, traced_run
from steelyard.whatif.prediction_page.timeline_figures import draw_traced_run
from steelyard.whatif.prediction_part import Part
from steelyard.whatif.traced_run import TracedRun
from traces import FINALIZE, by_hand, folded, rank_file, record

STEPS, COMPUTE, SHORT, LONG = 20, 2_000_000, 1_000, 8_000_000  # ns; the last of the sends is long


def _trace(folder: Path) -> Path:
    """Two ranks that compute 2 ms and exchange a message, 20 times. The last send of rank 0 takes 8 ms."""
    files = []
    for rank in range(2):
        calls = []
        for step in range(STEPS):
            late = LONG if (rank, step) == (0, STEPS - 1) else SHORT
            calls.append(record(3, COMPUTE, late, folded(1 - rank), folded(step), 8, step + 1))
            calls.append(record(4, 0, SHORT, folded(1 - rank), folded(step)))
        files.append(rank_file(rank, 2, [*calls, FINALIZE]))
    return by_hand(folder, files)


def _read(folder: Path, *settings: str) -> TracedRun:
    (point, *_) = asked = points("network=L=1us", *settings)
    with engine.start(_trace(folder), this_machine(), 1e9) as running:
        found = traced_run.read_traced_run(running, whatif.Question(asked), point.undisturbed)
    assert found is not None
    return found


def test_the_durations_of_the_calls_that_send_are_those_of_the_trace(tmp_path: Path) -> None:
    run = _read(tmp_path / "x", "loss=probability=0.1%,rto=5ms")
    sends = run.sends
    assert sends is not None
    mean = ((2 * STEPS - 1) * SHORT + LONG) / (2 * STEPS) * 1e-9
    assert (sends.count, sends.best, sends.late) == (2 * STEPS, pytest.approx(1e-6), pytest.approx(1e-6))
    assert sends.mean == pytest.approx(mean)
    assert (sends.longer, sends.wait) == (1, 5e-3)
    assert sum(run.traced.sent) == sends.count


def test_ranks_compute_as_long_as_in_the_trace(tmp_path: Path) -> None:
    run = _read(tmp_path / "x")
    for row in run.traced.computing:
        assert sum(row) / len(row) * run.traced.time == pytest.approx(STEPS * COMPUTE * 1e-9, rel=1e-6)
    (line,) = traced_run.describe_sends(run)
    assert "0.0 % of the 40 calls took longer than 200 ms" in line
    timeline, durations = draw_traced_run(run)
    assert timeline.rows == ("0 traced", "1 traced", "", "0 replayed", "1 replayed")
    assert sum(y or 0 for y in durations.series[0].y) == pytest.approx(1.0)


@pytest.mark.parametrize("read", [False, True])
def test_the_screen_compares_the_traced_run_with_its_replay_once(
    tmp_path: Path, read: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = whatif.Question(points("network=L=1us"))
    with engine.start(_trace(tmp_path / "x"), this_machine(), 1e9) as running:
        answer = whatif.answer(running, asked)
        if read:
            answer = replace(answer, traced_run=traced_run.read_traced_run(running, asked, asked.points[0].undisturbed))
        printed_prediction.show([Part(asked, answer, {})], running.trace, as_json=False)
    assert " ".join(capsys.readouterr().out.split()).count("times as long as its replay without losses and noise") == 1


def test_times_that_are_alike_are_not_compared() -> None:
    def compared(traced: float, replayed: float, without_waits: bool = False) -> list[str]:
        run = engine.Traced(
            time=traced, computing=0.5, preempted=0.0, waiting=0.0, without_waits=without_waits, tool=0.0, calls=1, bytes=1,
            broken=(),
        )  # fmt: skip
        return list(traced_run.compare_times(run, replayed))

    assert compared(1.0, 1.04) == compared(0.0, 1.0) == []
    (longer,), (shorter,) = compared(1.0, 0.5), compared(1.0, 2.0)
    (removed,) = compared(1.0, 0.5, without_waits=True)
    assert "2 times as long as its replay without losses, noise and waits for a processor (1.000 s" in removed
    assert longer.startswith(
        "The traced run took 2 times as long as its replay without losses and noise (1.000 s and 500.0 ms)"
    )
    assert shorter.startswith("The traced run took 0.5 times as long")


def test_a_trace_without_times_of_a_run_has_no_traced_run(tmp_path: Path) -> None:
    path = tmp_path / "trace.ti"
    path.write_text("0 init\n0 compute 1000\n", encoding="utf-8")
    (point,) = asked = points("network=L=1us")
    with engine.start(path, this_machine(), 1e9) as running:
        assert traced_run.read_traced_run(running, whatif.Question(asked), point) is None
    assert list(traced_run.describe_sends(None)) == draw_traced_run(None) == []
