"""What an answer says: POP's factors, what would help, and its page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from damage import unpack
from replays import answered, points, stencil, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.show.command_line import cli
from steelyard.show.report import drawing
from steelyard.whatif import Answer, engine, prediction_page, question, sensitivity, sentences, slowdowns
from steelyard.whatif.engine import Traced
from steelyard.whatif.factors import factors
from steelyard.whatif.network import IDEAL, Network, Protocol
from steelyard.whatif.prediction_page import sweep_figures
from steelyard.whatif.prediction_part import Part, make_table
from traces import by_hand, rank_file, record


def test_a_tenth_less_of_a_cost_saves_a_tenth_of_its_part(tmp_path: Path) -> None:
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


def test_a_network_without_rendezvous_is_compared_with_an_ideal_one(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["compute 10000", "send 1 0 1000"], ["recv 0 0 1000"]])
    measured = Network(across=(Protocol(L=10e-6),), eager=IDEAL.eager, name="a run")
    with engine.start(trace, this_machine(), 1e9) as asked:
        found = whatif.answer(asked, question.Question((question.Point(network=measured),)))
    assert found.shares is not None
    assert found.shares.transfer == pytest.approx(0.5)


def test_a_cost_that_something_else_hides_stops_to_matter(tmp_path: Path) -> None:
    # The message of rank 1 is on its way while rank 0 computes for 40 µs: below 40 of 100 µs latency brings nothing.
    trace = ti(tmp_path, [["compute 40000", "recv 1 0 1"], ["send 0 0 1"]])
    found, *_ = answered(trace, "L=100us")
    latency = next(s for s in found.sensitivities if s.name == "latency")
    assert latency.enough == 0.3
    assert latency.most == pytest.approx(0.6)
    assert any("reduce it to 30 %" in sentence for sentence in sentences.describe(found))


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
    assert "The main loss is the transfer of messages" in sentences.describe(found)[1]
    # It is on rank 0 until the message, and on rank 1 after it.
    assert found.path is not None
    assert (found.path.computing, found.path.network) == (pytest.approx(40e-6), pytest.approx(20e-6))
    assert found.path.ranks == (pytest.approx(30e-6), pytest.approx(10e-6))
    assert found.path.messages == 1


def late_for_a_barrier(folder: Path) -> Path:
    """600 and 300 ms of computing before a barrier, which costs 100 ms and what the other is late; 200 ms after it."""
    ms = 1_000_000
    ranks = [[record(9, first * ms, (700 - first) * ms, 0, 0, 0), record(22, 200 * ms, 0)] for first in (600, 300)]
    return by_hand(folder, [rank_file(r, 2, own) for r, own in enumerate(ranks)])


def test_a_trace_of_ours_has_the_factors_of_the_time_that_was_measured(tmp_path: Path) -> None:
    found = factors(late_for_a_barrier(tmp_path / "lu-2"), this_machine())
    assert (found.name, found.ranks) == ("lu-2", 2)
    assert found.time == pytest.approx(0.9, rel=1e-3)
    assert found.computing == pytest.approx(1.3, rel=1e-3)
    assert found.load_balance == pytest.approx(650 / 800, rel=1e-3)
    assert found.serialisation == pytest.approx(1, rel=1e-3)
    assert found.transfer == pytest.approx(800 / 900, rel=1e-3)
    assert found.parallel == pytest.approx(found.load_balance * found.serialisation * found.transfer)


def test_a_report_has_the_causes_of_the_traces_that_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, trace = unpack(tmp_path), late_for_a_barrier(tmp_path / "lu-2")
    words = ["report", str(run), "--output", str(tmp_path / "page.html"), "--trace"]
    assert cli.run_and_explain(lambda: cli.app([*words, str(trace)])) == 0
    html = (tmp_path / "page.html").read_text()
    assert "&#39;lu-2&#39;, the 2 ranks compute during 72 % of the time. Most time is lost because some ranks" in html
    capsys.readouterr()
    assert cli.run_and_explain(lambda: cli.app([*words, str(run)])) == 2
    assert capsys.readouterr().err.startswith("steelyard: ")


def test_a_trace_without_measured_time_or_computing_has_no_factors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no measured time of its program"):
        factors(ti(tmp_path, [["compute 1000"]] * 2), this_machine())
    nothing = by_hand(tmp_path / "x", [rank_file(r, 2, [record(22, 0, 0)]) for r in range(2)])
    with pytest.raises(UsageError, match="No rank computes"):
        factors(nothing, this_machine())


@pytest.mark.parametrize("settings", ["loss=probability=1%,rto=5ms", "noise=period=10ms,duration=1ms", "core=1"])
def test_a_replay_that_takes_no_time_has_no_gains(tmp_path: Path, settings: str) -> None:
    asked = whatif.Question(points("network=latency=0,overhead=0,gap=0,time_per_byte=0", settings), repeats=8)
    with engine.start(ti(tmp_path, [["compute 0"]] * 2), this_machine(), 1e9) as running:
        made = whatif.answer(running, asked)
    assert [p.time for p in made.predictions] == [0.0]
    assert not any("saves 1" in line or "less time." in line for line in sentences.describe(made))


def test_faster_cores_are_no_disturbance_of_the_undisturbed(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 1000"]] * 2), "L=0", core=2.0)
    assert found.predictions[0].time == found.undisturbed[0].time == pytest.approx(0.5e-6)
    assert found.unchanged[0].time == pytest.approx(1e-6)


def test_cores_as_traced_have_the_same_noise_and_equal_values_are_one_point(tmp_path: Path) -> None:
    noise = ("network=L=2us", "noise=period=10ms,duration=1ms")
    with engine.start(ti(tmp_path, stencil(2, 50, 100_000, 1000)), this_machine(), 1e9) as running:
        found = whatif.answer(running, whatif.Question(points(*noise, "core=2:2"), repeats=8))
        traced = whatif.answer(running, whatif.Question(points(*noise), repeats=8))
    assert [p.time for p in found.as_traced] == [p.time for p in traced.predictions]
    assert make_table(found, 4)[1][0][-1] == f"× {found.predictions[0].time / traced.predictions[0].time:.4g}"


def test_the_main_loss_does_not_name_a_cause_of_unequal_ranks(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 30000", "send 1 0 1"], ["compute 10000", "recv 0 0 1"]]), "L=0")
    text = " ".join(sentences.describe(found))
    assert "The main loss is the load balance: some ranks compute longer than others." in text
    assert "imbalance" not in text


def test_each_setting_is_compared_with_the_time_without_it_alone(tmp_path: Path) -> None:
    settings = ("network=L=2us", "core=2", "loss=probability=1%,rto=5ms", "noise=period=10ms,duration=1ms")
    with engine.start(ti(tmp_path, stencil(2, 50, 100_000, 1000)), this_machine(), 1e9) as running:
        found = whatif.answer(running, whatif.Question(points(*settings), repeats=16))
        alone = whatif.answer(running, whatif.Question(points(settings[0], settings[1], settings[3]), repeats=16))
    (time,), (base,) = ([p.time for p in of] for of in (found.predictions, alone.predictions))
    told = list(sentences.describe(found))
    cores, loss, noise = (
        next(line for line in told if line.startswith(f"With {word}")) for word in ("cores", "1 %", "inter")
    )
    assert cores.startswith("With cores × 2, the time is 0.51 times that of the cores as traced")
    assert f"With 1 % loss, the time is multiplied by {time / base:.3g} with a time-out of 5 ms" in loss
    assert noise.startswith("With interruptions of 1.00 ms every 10.0 ms, the time is multiplied by 1.")
    shares = [1 - without / time for without in found.without[found.predictions[0].point]]
    assert shares[0] == pytest.approx(1 - base / time)
    assert f"The largest gain is here: without the losses, the program takes {100 * shares[0]:.1f} % less time." in told
    assert all(
        0 < share <= 1 for share in (found.shares.transfer, found.shares.serialisation, found.shares.load_balance)
    )


def test_a_traced_run_that_took_longer_is_the_base_of_the_gains(tmp_path: Path) -> None:
    found = replace(
        answered(ti(tmp_path, [["compute 680000000"]] * 2), "L=0")[0],
        traced=Traced(
            time=1.0,
            computing=0.7,
            preempted=0.0,
            waiting=0.0,
            without_waits=False,
            tool=0.0,
            calls=9,
            bytes=9,
            broken=(),
        ),
        comparable=True,
    )
    *_, base, largest, cores = [line for line in sentences.describe(found) if "10 % less latency" not in line]
    assert base == "The gains below are shares of the traced time (1.000 s)."
    assert largest.startswith(
        "The largest gain is here: without what the replay leaves out (losses, noise, waits, the tracer)"
    )
    assert largest.endswith("takes 32.0 % less time.")
    assert cores.startswith("10 % less time to compute (cores) saves 6.8 % of the time.")


def test_noise_has_a_line_for_each_probability_and_a_sentence_on_its_slope(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(2, 100, 100_000, 1000))
    found, ranks = _asked(trace, noises="probability=0.01:0.1,duration=10us:20us:40us")
    (figure,) = sweep_figures.draw_sweep(found, ranks, "sweep")
    assert [s.name for s in figure.series[:2]] == ["before 1 % of the computations", "before 10 % of the computations"]
    assert [s.x for s in figure.series[:2]] == [pytest.approx((0.1, 0.2, 0.4))] * 2  # of a phase of 100 µs
    for probability in (1, 10):
        (line,) = [t for t in sentences.describe(found) if f"before {probability} % of the computations" in t]
        assert line.startswith("The time grows linearly with the length of interruptions before")
        most = next(p for p in found.predictions if p.point.noise.probability == probability / 100)
        slope = (most.time - found.undisturbed[0].time) / most.point.noise.duration * 1e-3
        number, unit = line.split(" adds ")[1].removeprefix("about ").split()[:2]
        assert float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit] == pytest.approx(slope, rel=0.1)


def test_a_condition_in_words_has_lines_of_its_own(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(2, 20, 100_000, 1000))
    with engine.start(trace, this_machine(), 1e9) as running:
        asked = points("network=L=20us", "loss=probability=0.1%:1%,rto=5ms,backoff=on:off")
        found = whatif.answer(running, whatif.Question(asked, repeats=4))
    (figure,) = sweep_figures.draw_sweep(found, 4, "sweep")
    assert [len(s.x) for s in figure.series[:2]] == [2, 2]
    told = [line for line in sentences.describe(found) if line.startswith("With 1 % loss")]
    assert len(told) == 2
    assert all("(TCP " in line for line in told)


def test_a_sweep_of_losses_is_a_line_for_each_time_out(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(4, 20, 100_000, 1000))
    found, asked, about = answered(trace, "L=20us", "probability=0.01%:1%,rto=5ms:200ms:1s")
    made = prediction_page.make_page([Part(asked, found, {})], about, "cg")
    (section,) = made.sections
    sweep, *lines = section.figures
    assert [f.anchor for f in lines] == ["part-1-timelines", "part-1-sent"]
    assert sweep.title == "Time against probability of loss"
    assert [name for name in ("RTO 5.00 ms", "RTO 200 ms", "RTO 1.00 s") if f'"{name}"' in sweep.plot] == [
        "RTO 5.00 ms",
        "RTO 200 ms",
        "RTO 1.00 s",
    ]
    assert [f.anchor for f in (sweep, *made.figures)] == ["sweep-1", "ranks", "phases", "sensitivity"]
    path = prediction_page.write(made, tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert "<title>What if: cg – Steelyard</title>" in text
    assert made.sentences[0] in text


def test_factors_begin_with_today_and_hold_a_tenth_less() -> None:
    assert sensitivity.FACTORS[0] == 1
    assert sensitivity.TENTH in sensitivity.FACTORS
    assert sensitivity.FACTORS[-1] == 0


def _times(bends: Sequence[tuple[float, float]], asked: list[int]) -> sensitivity.Ask:
    """Takes the place of the engine: the longest of several chains, each of fixed seconds and so many latencies."""

    def ask(points: Sequence[whatif.Point]) -> list[float]:
        asked.append(len(points))
        return [max(fixed + many * p.network.across[0].L for fixed, many in bends) for p in points]

    return ask


@pytest.mark.parametrize(
    ("bends", "rounds"),
    [
        ([(0.0, 1.0)], 2),  # a straight line: the ends, and one factor that says from where on nothing is left to gain
        ([(0.37, 0.63)], 2),
        ([(0.67, 0.33)], 2),
        ([(0.88, 0.12)], 3),
        ([(0.995, 0.005)], 1),  # a tenth brings too little to ask on
        ([(0.0, 1.0), (0.4, 0.0)], 4),
        ([(0.0, 1.0), (0.5, 0.45), (0.04, 0.0)], 5),
        ([(0.0, 1.0), (0.95, 0.01)], 4),
        ([(0.0, 1.0), (0.6, 0.3), (0.7, 0.0)], 5),
        ([(0.1, 0.9), (0.3, 0.5), (0.45, 0.0)], 5),
        ([(0.0, 1.0), (0.03, 0.5), (0.06, 0.0)], 5),
    ],
)
def test_few_times_of_a_cost_say_the_same_as_all_of_them(bends: list[tuple[float, float]], rounds: int) -> None:
    base = question.Point(network=Network(across=(Protocol(L=1.0),)))
    few: list[int] = []
    (time,) = _times(bends, [])([base])
    some = sensitivity.measure_gains(base, time, _times(bends, few), whole=False)[0]
    whole = sensitivity.measure_gains(base, time, _times(bends, []))[0]
    assert (some.tenth, some.most) == (whole.tenth, whole.most)
    assert some.enough == whole.enough or whole.tenth < sensitivity.MATTERS
    assert len(few) <= rounds


def _asked(trace: Path, losses: str = "", noises: str = "", affected: Sequence[float] = (1.0,)) -> tuple[Answer, int]:
    """An answer about a sweep, and the number of ranks."""
    settings = ["network=L=20us", f"affected={':'.join(map(str, affected))}"]
    settings += [f"loss={losses}"] * bool(losses) + [f"noise={noises}"] * bool(noises)
    with engine.start(trace, this_machine(), 1e9) as running:
        return whatif.answer(running, whatif.Question(points(*settings), repeats=16)), running.trace.ranks


def test_losses_are_drawn_over_affected_ranks_and_probability(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(2, 20, 100_000, 1000))
    found, ranks = _asked(trace, "probability=0.01%:1%,rto=5ms:200ms", affected=(0.25, 0.5, 1))
    over, by_ranks = sweep_figures.draw_sweep(found, ranks, "sweep")
    assert (over.x.title, by_ranks.x.title) == ("probability of loss", "affected ranks")
    assert [s.name for s in over.series] == [s.name for s in by_ranks.series] == ["RTO 5.00 ms", "RTO 200 ms"]
    assert [s.x for s in over.series] == [(1e-4, 1e-2)] * 2
    assert [row[1] for row in drawing.plain(over).rows[:2]] == ["0.01 %", "1 %"]
    assert [s.x for s in by_ranks.series] == [(1.0, 2.0, 4.0)] * 2
    # Both end at the same point: all ranks, the greatest probability.
    assert [s.y[-1] for s in over.series] == [s.y[-1] for s in by_ranks.series]
    at = {
        (p.point.affected, p.point.loss): p.time / b.time
        for p, b in zip(found.predictions, found.undisturbed, strict=True)
    }
    assert by_ranks.series[1].y == tuple(at[share, whatif.Loss(probability=0.01, rto=0.2)] for share in (0.25, 0.5, 1))


def test_noise_is_a_map_of_its_length_and_period(tmp_path: Path) -> None:
    # All are interrupted at once, and compute for 100 periods: each takes its share of the time, and no more.
    trace = ti(tmp_path, [["compute 1000000000"]] * 2)
    found, ranks = _asked(trace, noises="period=1ms:10ms,duration=100us:500us,together=on")
    first, lines = sweep_figures.draw_sweep(found, ranks, "sweep")
    assert first.kind == "heat"
    assert (first.columns, first.rows) == (pytest.approx([100e-6, 500e-6]), pytest.approx([1e-3, 1e-2]))
    expected = [[1 / 0.9, 2.0], [1 / 0.99, 1 / 0.95]]
    assert [list(row) for row in first.z] == [pytest.approx(row, rel=2e-3) for row in expected]
    assert lines.kind == "lines"


def test_the_probability_from_which_a_loss_costs_a_tenth_is_named(tmp_path: Path) -> None:
    # 100 ms of computing: an RTO of 1 ms is 1 % of it, one of 1 s ten times it.
    rounds = ["compute 1000000", "send 1 0 1", "recv 1 0 1"], ["compute 1000000", "recv 0 0 1", "send 0 0 1"]
    found, ranks = _asked(ti(tmp_path, [actions * 100 for actions in rounds]), "probability=0.1%:10%,rto=1ms:1s")
    lines = slowdowns.describe(found, ranks)
    short, long = (line for line in lines if line.startswith("With a smallest time-out of"))
    assert short.startswith(
        "With a smallest time-out of 1.00 ms, the time grows by more than 10 % from a loss of 10 % on"
    )
    assert long.startswith("With a smallest time-out of 1.00 s, the time grows by more than 10 % from a loss of ")


def test_one_lossy_rank_of_independent_pairs_costs_a_tenth(tmp_path: Path) -> None:
    rounds = ["compute 1000000", "send {} 0 1", "recv {} 0 1"], ["compute 1000000", "recv {} 0 1", "send {} 0 1"]
    ranks = [[action.format(rank ^ 1) for action in rounds[rank % 2] * 100] for rank in range(4)]
    found, count = _asked(ti(tmp_path, ranks), "probability=10%,rto=1s", affected=(0.25, 0.5, 1))
    (line,) = [line for line in slowdowns.describe(found, count) if "some of the ranks" in line]
    assert line.startswith(
        "If some of the ranks have a loss of 10 % with a smallest time-out of 1.00 s, the time grows by more than 10 % from "
        "1 rank "
    )
    found, count = _asked(ti(tmp_path, ranks), "probability=0.01%,rto=1us", affected=(0.25, 0.5, 1))
    (line,) = [line for line in slowdowns.describe(found, count) if "some of the ranks" in line]
    assert "less than 10 %, even with 4 ranks" in line


def test_the_rank_with_the_most_to_compute_is_named(tmp_path: Path) -> None:
    found, *_ = answered(ti(tmp_path, [["compute 10000"], ["compute 30000"], ["compute 20000"]]), "L=1us")
    assert "Rank 1 computes longest: 30.0 µs, 50 % longer than the mean of all ranks." in sentences.describe(found)
    assert any(
        line.startswith("The largest gain is here: 10 % less time to compute") for line in sentences.describe(found)
    )
