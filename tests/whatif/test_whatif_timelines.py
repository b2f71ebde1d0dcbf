"""Timelines of replays whose every step is known, undisturbed and disturbed."""

from pathlib import Path

import pytest

from replays import Parameters, asked, points, stencil, this_machine, ti
from steelyard import whatif
from steelyard.whatif import engine, timelines
from steelyard.whatif.prediction_page.timeline_figures import draw_timelines

P = Parameters(L=20_000_000, o=5_000_000)


def _points(losses: str = "", noises: str = "", network: str = "L=20us") -> tuple[whatif.Point, ...]:
    disturbances = [f"loss={losses}"] * bool(losses) + [f"noise={noises}"] * bool(noises)
    return points(f"network={network}", *disturbances)


def _found(trace: Path, points: tuple[whatif.Point, ...]) -> timelines.Timelines:
    with engine.start(trace, this_machine(), 1e9) as running:
        found = whatif.answer(running, whatif.Question(points, repeats=8)).timelines
    assert found is not None
    return found


def test_each_step_has_the_share_of_what_is_done_in_it(tmp_path: Path) -> None:
    # Rank 0: 10 µs of computing, 5 of sending. Rank 1: 25 µs of computing, 5 of receiving at 35, 60 of computing: 100 µs.
    trace = ti(tmp_path, [["compute 10000", "send 1 0 1"], ["compute 25000", "recv 0 0 1", "compute 60000"]])
    (found,) = asked(trace, f"{P.word()} timelines=10")[1:]
    assert found["time"] == [100_000_000]
    (line,) = found["timelines"]
    assert line["computing"][0] == pytest.approx([1, *[0] * 9])
    assert line["talking"][0] == pytest.approx([0, 0.5, *[0] * 8])
    assert line["computing"][1] == pytest.approx([1, 1, 0.5, 0, *[1] * 6])
    assert line["talking"][1] == pytest.approx([0, 0, 0, 0.5, *[0] * 6])
    # 20 µs: bin 43, which begins at 19.95 µs.
    assert {at: count for at, count in enumerate(line["sent"]) if count} == {43: 1}


@pytest.mark.parametrize("eager", [65535, 0])
def test_the_steps_of_a_rank_add_up_to_its_account(tmp_path: Path, eager: int) -> None:
    words = f"{Parameters(L=20_000_000, o=5_000_000, G=100, eager=eager).word()} noise=5e9,1e8,0,0 loss=0.01,1e9,1448,1,1,0,0,0"
    trace = ti(tmp_path, stencil(7, 20, 100_000, 5000))
    (found,) = asked(trace, f"{words} accounts=yes timelines=100")[1:]
    (line,) = found["timelines"]
    assert found["together"] == 3
    step = found["time"][0] / 100
    for name in ("computing", "talking"):
        for row, shares in enumerate(line[name]):
            own = found[name][3 * row : 3 * row + 3]
            assert sum(shares) * step * len(own) == pytest.approx(sum(own), rel=1e-6)
            assert max(shares) <= 1 + 1e-9
    assert sum(line["sent"]) == 49 * 20 * 4


def test_both_are_drawn_over_the_same_time(tmp_path: Path) -> None:
    # Interrupted for half of the time, all at once: twice as long, and nobody waits.
    found = _found(ti(tmp_path, [["compute 1000000000"]] * 2), _points(noises="period=1ms,duration=500us,together=on"))
    assert found.disturbed.time / found.undisturbed.time == pytest.approx(2, rel=1e-3)
    first, sent = draw_timelines(found, "x", ())
    assert first.rows == ("0 undisturbed", "1 undisturbed", "", "0 disturbed", "1 disturbed")
    half = [None if z is None else round(z, 6) for z in first.z[0]]
    assert half[:49] == [0] * 49
    assert half[52:] == [None] * 48
    assert all(z == pytest.approx(0, abs=1e-6) for z in first.z[4])
    assert first.columns[50] == pytest.approx(found.span / 2)
    assert [s.y for s in sent.series] == [(), ()]


def test_lost_messages_are_longer_on_their_way(tmp_path: Path) -> None:
    rounds = ["compute 1000000", "send 1 0 1", "recv 1 0 1"], ["compute 1000000", "recv 0 0 1", "send 0 0 1"]
    found = _found(ti(tmp_path, [actions * 200 for actions in rounds]), _points("probability=2%,rto=5ms:1s"))
    assert found.disturbed.point.loss.rto == 5e-3  # with 1 s the undisturbed replay could not be seen
    assert sum(found.disturbed.sent) == sum(found.undisturbed.sent) == 400
    late = sum(count for at, count in enumerate(found.disturbed.sent) if timelines.edge(at) > 3e-3)
    assert 1 <= late <= 25
    assert found.disturbed.time - found.undisturbed.time == pytest.approx(late * 5e-3, rel=0.2)
    _, sent = draw_timelines(found, "x", ())
    assert sent.series[0].y == (1.0,)
    assert sum(y for y in sent.series[1].y if y) == pytest.approx(1)


def test_the_timeline_shows_the_greatest_slowdown_up_to_three() -> None:
    least, some, most = _points("probability=0.1%:1%:2%")
    assert timelines.choose_point([(least, 1.1), (some, 2.9), (most, 30)]) is some
    assert timelines.choose_point([(least, 5), (some, 9), (most, 30)]) is least
    assert timelines.choose_point([(_points()[0], 1.0)]) is None
