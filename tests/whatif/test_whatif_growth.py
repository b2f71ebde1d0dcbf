"""Messages that are delayed once each, and how the time grows with the delay and the probability."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replays import points, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.whatif import engine, growth

STEPS, RANKS, STEP = 100, 16, 1e-3
ALL_LATE = ("loss.once=on", "loss.probability=1")
RING = "L=1us,o=0.1us,g=0.1us,G=0.1ns/B"


def _ring(folder: Path, both_ways: bool) -> Path:
    """16 ranks, 100 steps: each computes 1 ms, and exchanges a message with its right neighbour, or with both."""
    ranks = []
    for r in range(RANKS):
        left, right = (r - 1) % RANKS, (r + 1) % RANKS
        there = [f"irecv {left} 0 8", f"isend {right} 0 8"]
        back = [f"irecv {right} 1 8", f"isend {left} 1 8"]
        ranks.append(["compute 1000000", *there, *(back if both_ways else []), "waitall"] * STEPS)
    return ti(folder, ranks)


def _answer(folder: Path, *settings: str, both_ways: bool = True, repeats: int = 4) -> whatif.Answer:
    asked = whatif.Question(points(f"network={RING}", *settings), repeats, 1)
    with engine.start(_ring(folder, both_ways), this_machine(), 1e9) as running:
        return whatif.answer(running, asked)


def _pairs(answer: whatif.Answer) -> list[tuple[whatif.Prediction, float]]:
    return [(p, base.time) for p, base in zip(answer.predictions, answer.undisturbed, strict=True)]


def test_one_node_pays_and_all_pay(tmp_path: Path) -> None:
    answer = _answer(tmp_path, *ALL_LATE, "loss.rto=5ms:10ms:20ms", f"affected={1 / RANKS}:1")
    assert len(answer.predictions) == 6
    for p, base in _pairs(answer):
        assert p.time / base == pytest.approx((base + STEPS * p.point.loss.rto) / base, rel=0.01)
        assert (p.low, p.high) == pytest.approx((p.time, p.time))
    *lines, second = growth.describe_growth(answer, RANKS)
    straight = "1 ms of time-out adds 100 ms (all points lie on this line)."
    assert sorted(lines) == [
        f"The time grows linearly with the time-out (affected {share} %): {straight}" for share in ("100", "6.25")
    ]
    assert second == (
        "One affected rank adds 100 % of the time that all 16 ranks add (RTO 20.0 ms): 21.0 instead of 21.0 times the "
        "undisturbed time."
    )


def test_a_share_that_is_no_rank_hides_no_sentence(tmp_path: Path) -> None:
    answer = _answer(tmp_path, *ALL_LATE, "loss.rto=5ms", f"affected=0.01:{1 / RANKS}:1")
    told = list(growth.describe_growth(answer, RANKS))
    assert any(
        sentence.startswith("One affected rank adds 100 % of the time that all 16 ranks add") for sentence in told
    )


def test_a_late_message_that_holds_its_sender_up_costs_each_step(tmp_path: Path) -> None:
    # One way around: without rendezvous the sender goes on, and the delay comes back only after a round of 16 steps.
    settings = (*ALL_LATE, "loss.rto=5ms", f"affected={1 / RANKS}:1")
    held = _answer(tmp_path, *settings, "network.eager=0", both_ways=False)
    for p, base in _pairs(held):
        assert p.time - base == pytest.approx(STEPS * 5e-3, rel=0.02)
    one, every = (p.time - base for p, base in _pairs(_answer(tmp_path, *settings, both_ways=False)))
    assert every == pytest.approx(STEPS * 5e-3, rel=1e-3)
    assert one == pytest.approx(2 * 5e-3 * STEPS / RANKS, rel=0.15)


def test_the_time_grows_linearly_with_the_share_until_waits_overlap(tmp_path: Path) -> None:
    shares = "0.01%:0.02%:0.05%:50%:100%"
    answer = _answer(tmp_path, "loss.once=on", f"loss.probability={shares}", "loss.rto=5ms", repeats=400)
    points_ = [(p.point.loss.probability, p.time - b, ((p.high or 0) - (p.low or 0)) / 2) for p, b in _pairs(answer)]
    found = growth.fit(points_)
    assert found is not None
    assert found.beyond
    assert found.until < 0.5
    last, base = _pairs(answer)[-1]
    assert last.time == pytest.approx(base + STEPS * 5e-3, rel=1e-3)


def test_a_probability_of_one_needs_that_each_message_waits_once() -> None:
    with pytest.raises(UsageError, match="or once=on"):
        points(f"network={RING}", "loss.probability=1")
    with pytest.raises(UsageError, match="'backoff' has no meaning"):
        points(f"network={RING}", "loss.probability=1", "loss.once=on", "loss.backoff=on")


@given(
    slope=st.floats(1e-6, 1e6),
    xs=st.lists(st.floats(1e-6, 1e3), min_size=3, max_size=8, unique=True),
    error=st.floats(-0.02, 0.02),
)
def test_points_on_a_line_give_its_slope(slope: float, xs: list[float], error: float) -> None:
    sign = [1 if i % 2 else -1 for i in range(len(xs))]
    found = growth.fit([(x, slope * x * (1 + s * error), 0.0) for x, s in zip(xs, sign, strict=True)])
    assert found is not None
    assert found.slope == pytest.approx(slope, rel=abs(error) + 1e-9)
    assert (found.until, found.beyond) == (max(xs), False)
    assert found.deviation <= 2.1 * abs(error) + 1e-9


def test_a_bent_line_is_linear_only_up_to_its_bend() -> None:
    found = growth.fit([(x, min(x, 4.0), 0.0) for x in (1.0, 2.0, 3.0, 4.0, 8.0, 16.0)])
    assert found == growth.Growth(slope=1.0, until=4.0, deviation=0.0, beyond=True)
    assert growth.fit([(1.0, 1.0, 0.0), (2.0, 1.2, 0.0), (4.0, 1.3, 0.0)]) is None
    assert growth.fit([(1.0, 0.0, 0.0)] * 5) is None
    assert math.isfinite(found.slope)


def test_a_line_says_how_the_sweep_leaves_it() -> None:
    # Doubling time-outs grow faster than the probability, and waits that overlap more slowly.
    first = [(1.0, 1.0, 0.0), (2.0, 2.0, 0.0), (3.0, 3.0, 0.0)]
    for rest, faster in (((9.0, 90.0), True), ((9.0, 4.0), False)):
        found = growth.fit([*first, (*rest, 0.0)])
        assert (found.until, found.beyond, found.faster) == (3.0, True, faster) if found else False
    mixed = growth.fit([*first, (9.0, 4.0, 0.0), (10.0, 90.0, 0.0)])
    assert mixed is not None
    assert mixed.faster is None


def test_a_few_losses_among_many_draws_have_no_slope() -> None:
    assert growth.fit([(1.0, 0.0, 3.0), (2.0, 5.0, 5.0), (3.0, 5.0, 5.0)]) is None
    assert growth.fit([(1.0, 1.0, 0.4), (2.0, 2.2, 0.5), (3.0, 3.1, 0.6)]) is not None


def test_the_time_grows_linearly_with_the_probability_of_noise(tmp_path: Path) -> None:
    # Two ranks that meet after each of 100 computations: an interruption of either costs its whole length.
    trace = ti(
        tmp_path, [["compute 1000000", f"isend {1 - r} 0 8", f"irecv {1 - r} 0 8", "waitall"] * 100 for r in (0, 1)]
    )
    asked = whatif.Question(points(f"network={RING}", "noise=probability=0.1%:0.2%:0.4%,duration=1ms"), 1024, 1)
    with engine.start(trace, this_machine(), 1e9) as running:
        told = [line for line in growth.describe_growth(whatif.answer(running, asked), 2) if "probability" in line]
    assert told[0].startswith("The time grows linearly with the probability of interruptions of 1.00 ms: 0.1 % of ")
    assert float(told[0].split(" adds ")[1].removeprefix("about ").split()[0]) == pytest.approx(200, rel=0.05)  # µs
