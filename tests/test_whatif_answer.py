"""What an answer says: POP's factors, what would help, and its page."""

from pathlib import Path

import pytest

from replays import answered, stencil, ti
from steelyard import report
from steelyard.report import prediction
from steelyard.whatif import sensitivity, sentences


def test_what_a_tenth_less_brings_is_a_tenth_of_its_part(tmp_path: Path) -> None:
    # One message after 10 µs of computing: 10 + 2 o + L + 999 G µs.
    trace = ti(tmp_path, [["compute 10000", "send 1 0 1000"], ["recv 0 0 1000"]])
    found, *_ = answered(trace, "L=20us,o=1us,G=50ns/B")
    whole = 10 + 2 + 20 + 999 * 0.05
    parts = {"latency": 20, "bandwidth": 999 * 0.05, "overhead of messages": 2, "cores": 10}
    assert {s.name: s.tenth for s in found.sensitivities} == {
        n: pytest.approx(0.1 * p / whole) for n, p in parts.items()
    }
    assert {s.name: s.most for s in found.sensitivities} == {
        n: pytest.approx(p / whole, rel=1e-6) for n, p in parts.items()
    }


def test_a_cost_that_something_else_hides_stops_to_matter(tmp_path: Path) -> None:
    # The message of rank 1 is on its way while rank 0 computes for 40 µs: below 40 of 100 µs latency brings nothing.
    trace = ti(tmp_path, [["compute 40000", "recv 1 0 1"], ["send 0 0 1"]])
    found, *_ = answered(trace, "L=100us")
    latency = next(s for s in found.sensitivities if s.name == "latency")
    assert latency.enough == 0.3
    assert latency.most == pytest.approx(0.6)
    assert any("below 30 % of it" in sentence for sentence in sentences.sentences(found))


def test_pops_factors_of_ranks_with_unequal_work(tmp_path: Path) -> None:
    # Rank 0 computes for 30 µs, rank 1 for 10 and then 10 after a message of rank 0: 50 µs in all, and 60 with the message.
    trace = ti(tmp_path, [["compute 30000", "send 1 0 1"], ["compute 10000", "recv 0 0 1", "compute 10000"]])
    found, *_ = answered(trace, "L=20us")
    assert found.shares is not None
    assert found.shares.load_balance == pytest.approx(25 / 30)
    assert found.shares.serialisation == pytest.approx(30 / 40)
    assert found.shares.transfer == pytest.approx(40 / 60)
    assert found.shares.parallel == pytest.approx(25 / 60)
    assert found.account is not None
    assert found.account.waiting == (pytest.approx(0), pytest.approx(40e-6))
    assert "Most of the rest is lost because messages cost it" in sentences.sentences(found)[1]
    # It is on rank 0 until the message, and on rank 1 after it.
    assert found.path is not None
    assert (found.path.computing, found.path.network) == (pytest.approx(40e-6), pytest.approx(20e-6))
    assert found.path.ranks == (pytest.approx(30e-6), pytest.approx(10e-6))
    assert found.path.messages == 1


def test_faster_cores_are_no_disturbance_of_the_undisturbed(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 1000"]] * 2), "L=0", core=2.0)
    assert (found.predictions[0].time, found.undisturbed[0].time) == (pytest.approx(0.5e-6), pytest.approx(1e-6))


def test_a_sweep_of_losses_is_a_line_for_each_time_out(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(4, 20, 100_000, 1000))
    found, asked, about = answered(trace, "L=20us", "probability=0.01%:1%,rto=5ms:200ms:1s")
    made = prediction.page([prediction.Part("", asked, found, (["loss"], [["1 %"]]))], about, "cg")
    (section,) = made.sections
    (sweep,) = section.figures
    assert sweep.title == "Time against probability of loss"
    assert [name for name in ("RTO 5.00 ms", "RTO 200 ms", "RTO 1.00 s") if f'"{name}"' in sweep.plot] == [
        "RTO 5.00 ms",
        "RTO 200 ms",
        "RTO 1.00 s",
    ]
    assert [f.anchor for f in (sweep, *made.figures)] == ["sweep-1", "ranks", "phases", "sensitivity"]
    path = report.write_prediction(made, tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert "<title>What if: cg – Steelyard</title>" in text
    assert made.sentences[0] in text


def test_factors_begin_with_today_and_hold_a_tenth_less() -> None:
    assert sensitivity.FACTORS[0] == 1
    assert sensitivity.TENTH in sensitivity.FACTORS
    assert sensitivity.FACTORS[-1] == 0
