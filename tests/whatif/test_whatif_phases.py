"""The histogram of computing phases, of traces whose phases are known: imbalance or interference?"""

import random
from pathlib import Path

import pytest

from replays import Parameters, answered, asked, points, stencil, this_machine, ti
from steelyard import whatif
from steelyard.model.units import quantity
from steelyard.show.report import maps
from steelyard.whatif import engine, phases
from steelyard.whatif.prediction_page.phase_map import draw_phases
from traces import FINALIZE, by_hand, folded, rank_file, record

ASKED = f"{Parameters().word()} phases=yes"


def _of(trace: Path) -> phases.Phases:
    return phases.read_phases(asked(trace, ASKED)[1]["phases"])


def _lines(trace: Path) -> list[str]:
    found, *_ = answered(trace, "L=1us")
    return list(phases.describe_phases(found.phases, 4, found.traced))


def test_each_phase_is_counted_in_its_bin(tmp_path: Path) -> None:
    # 1.1 µs is in the bin from 1 µs on, 2.1 µs in that from 2.0 (10 ** 0.3); two computations without a call between are one.
    first = ["compute 1100", "send 1 0 1", "compute 1000", "compute 1100", "send 1 0 1", "compute 1100"]
    found = _of(ti(tmp_path, [first, ["recv 0 0 1", "compute 2100", "recv 0 0 1"]]))
    assert found.edges == pytest.approx([1e-6, 10**-5.9, 10**-5.8, 10**-5.7])
    assert found.rows == ((2, 0, 0, 1), (0, 0, 0, 1))
    assert (found.count, found.outliers, found.together) == (4, 0, 1)
    assert found.computing == pytest.approx(6.4e-6)


@pytest.mark.parametrize(("side", "rows", "together"), [(8, 64, 1), (9, 41, 2), (12, 48, 3)])
def test_neighbours_of_many_ranks_share_a_row(tmp_path: Path, side: int, rows: int, together: int) -> None:
    found = _of(ti(tmp_path, stencil(side, 5, 2100, 8)))
    assert (len(found.rows), found.together) == (rows, together)
    assert sum(map(sum, found.rows)) == found.count == 5 * side * side
    assert all(sum(row) == 5 * together for row in found.rows[:-1])


def _interrupted(folder: Path, longer: int, waited: int) -> Path:
    """Four ranks with ten phases of 2.1 ms each; one of rank 2 is longer, and waited for so much of it (ns)."""
    files = []
    for rank in range(4):
        calls = []
        for step in range(10):
            more = longer if (rank, step) == (2, 5) else 0
            calls.append(record(20, 2_100_000 + more, 0, waited if more else 0))
            calls.append(record(3, 0, 100, folded(rank), folded(step), 8, step + 1))
            calls.append(record(4, 0, 100, folded(rank), folded(step)))
        files.append(rank_file(rank, 4, [*calls, FINALIZE]))
    return by_hand(folder, files)


def test_a_phase_that_waited_for_a_processor_is_interference(tmp_path: Path) -> None:
    trace = _interrupted(tmp_path / "x", 8_000_000, 8_000_000)
    found = _of(trace)
    assert (found.count, found.outliers, found.explained, found.outlying_ranks) == (40, 1, 1, 1)
    assert (found.waited, found.outlying) == (pytest.approx(8e-3), pytest.approx(10.1e-3))
    (cluster,) = found.clusters
    assert (cluster.typical, cluster.limit) == (pytest.approx(2.1e-3), pytest.approx(2.1e-3 * 1.02))
    assert [sum(row) for row in found.rows] == [10, 10, 10, 10]
    assert [row[-1] for row in found.rows] == [0, 0, 1, 0]
    lines = _lines(trace)
    # Of 92 ms in all, one phase lasts 10.1 ms instead of 2.1 ms: its excess is 8.7 %, its whole length 11 %.
    assert lines[0] == (
        "A computing phase is the time of a rank between two calls of MPI in the trace. 1 of 40 phases, on 1 rank, is an "
        "outlier. Beyond the typical length, it lasts 8.7 % of the computing time."
    )
    assert lines[1] == "Of the 40 phases of about 2.10 ms, 1 lasts longer than 2.14 ms."
    assert lines[2].startswith(
        "The cause is interference: other processes used the processors. Without the waits for a processor, 1 of the 1"
    )


def test_a_phase_that_is_longer_without_a_wait_is_imbalance(tmp_path: Path) -> None:
    trace = _interrupted(tmp_path / "x", 8_000_000, 1_000_000)
    assert (_of(trace).outliers, _of(trace).explained) == (1, 0)
    assert _lines(trace)[2].startswith("The cause is imbalance")


def test_without_recorded_waits_the_cause_is_unknown(tmp_path: Path) -> None:
    # The tracer looks at the waits after phases of more than a millisecond only.
    steps = [[(300 if rank == 1 and 9 < step < 14 else 10) * 1000 for step in range(100)] for rank in range(4)]
    files = [
        rank_file(rank, 4, [*(record(9, gap, 1000, 0, 0, 0) for gap in row), FINALIZE])
        for rank, row in enumerate(steps)
    ]
    assert _lines(by_hand(tmp_path / "x", files))[2].startswith("The trace does not say how long the ranks waited")


def test_outliers_whose_waits_are_removed_explain_no_others(tmp_path: Path) -> None:
    # Three phases waited for a processor, and one has more work: without the waits, only the last one is longer.
    longer = {(1, 10): 18, (1, 11): 18, (1, 12): 18, (2, 20): 0}
    files = []
    for rank in range(4):
        calls = []
        for step in range(50):
            waited = longer.get((rank, step))
            work = 2_000_000 if waited is None else 20_000_000
            calls += [record(20, work, 0, (waited or 0) * 1_000_000), record(9, 0, 100_000, 0, 0, 0)]
        files.append(rank_file(rank, 4, [*calls, FINALIZE]))
    trace = by_hand(tmp_path / "x", files)
    for without, count, cause in ((False, "4 of 200", "interference"), (True, "1 of 200", "imbalance")):
        part = engine.Part(without_waits=without)
        with engine.start(trace, this_machine(), 1e9, part) as running:
            found = whatif.answer(running, whatif.Question(points("network=L=1us")), detail="words")
        told = list(phases.describe_phases(found.phases, 4, found.traced))
        assert count in told[0]
        assert told[2].startswith(f"The cause is {cause}")
        assert ("3 of the 4 outliers" in told[2]) is not without


def _planted(folder: Path, longer_ms: float, short: bool = False) -> Path:
    """16 ranks with 20 phases of 270 to 275 ms; 13 of them are longer. `short`: a phase of 5 ms follows each."""
    chance = random.Random(1)
    lengths = [[chance.uniform(270, 275) for _ in range(20)] for _ in range(16)]
    for place in chance.sample(range(320), 13):
        lengths[place // 20][place % 20] += longer_ms * chance.uniform(1, 3) if longer_ms else 0
    ranks = []
    for rank, row in enumerate(lengths):
        calls = []
        for length in row:
            calls += [f"compute {length * 1e6:.0f}", f"send {(rank + 1) % 16} 0 1", f"recv {(rank - 1) % 16} 0 1"]
            if short:
                calls += [f"compute {chance.uniform(4.9, 5.1) * 1e6:.0f}", f"send {(rank + 1) % 16} 0 1"]
                calls += [f"recv {(rank - 1) % 16} 0 1"]
        ranks.append(calls)
    return ti(folder, ranks)


@pytest.mark.parametrize(("longer", "outliers"), [(50.0, 13), (20.0, 13), (0.0, 0)])
def test_planted_outliers_of_long_phases_are_all_found(tmp_path: Path, longer: float, outliers: int) -> None:
    assert _of(_planted(tmp_path, longer)).outliers == outliers


def test_phases_of_two_lengths_are_two_clusters_with_figures_of_their_own(tmp_path: Path) -> None:
    found = _of(_planted(tmp_path, 50, short=True))
    assert [(c.count, c.outliers) for c in found.clusters] == [(320, 0), (320, 13)]
    assert [c.typical for c in found.clusters] == pytest.approx([5e-3, 272.5e-3], rel=0.01)
    overview, *figures = draw_phases(found)
    assert [figure.title for figure in figures] == [
        f"Computing phases of about {quantity(c.typical, 's')}, by rank and length" for c in found.clusters
    ]
    assert [figure.x.log for figure in (overview, *figures)] == [True, False, False]
    assert [sum(count or 0 for row in figure.z for count in row) for figure in figures] == [320, 320]


def test_a_region_has_only_its_own_waits(tmp_path: Path) -> None:
    def level(number: int, gap: int) -> bytes:
        return record(24, gap, 0, folded(number))

    # Region 1 is interrupted for 3 of its 10 ms, region 2 is not.
    calls = [level(1, 1_000_000), record(20, 10_000_000, 0, 3_000_000), level(2, 0), level(0, 5_000_000), FINALIZE]
    trace = by_hand(tmp_path / "x", [rank_file(rank, 2, calls) for rank in range(2)])
    waited = {
        part: asked(trace, ASKED, part=("-", *part))[1]["phases"]["waited"]
        for part in (("1", "1"), ("2", "2"), ("0", "2"))
    }
    assert waited == {("1", "1"): 6e9, ("2", "2"): 0, ("0", "2"): 6e9}


def test_interference_with_all_ranks_is_named(tmp_path: Path) -> None:
    # Each rank waits 3 of its 10 ms.
    calls = [record(20, 10_000_000, 0, 3_000_000), FINALIZE]
    trace = by_hand(tmp_path / "x", [rank_file(rank, 4, calls) for rank in range(4)])
    assert (
        "waited 12.0 ms for a processor. This is 30.0 % of their time between calls of MPI (40.0 ms)"
        in _lines(trace)[1]
    )


def test_waits_that_are_left_out_are_a_share_of_the_time_with_them(tmp_path: Path) -> None:
    # Each rank computes 2 of its 10 ms: the waits are four times what is left.
    calls = [record(20, 10_000_000, 0, 8_000_000), FINALIZE]
    trace = by_hand(tmp_path / "x", [rank_file(rank, 4, calls) for rank in range(4)])
    with engine.start(trace, this_machine(), 1e9, engine.part({"waits": "removed"})) as running:
        found = whatif.answer(running, whatif.Question(points("network=L=1us")))
    told = " ".join(phases.describe_phases(found.phases, 4, found.traced))
    assert "waited 32.0 ms for a processor. This is 80.0 % of their time between calls of MPI (40.0 ms)" in told
    assert told.endswith("The replay leaves these waits out.")


def test_a_rank_that_begins_late_has_not_computed_before(tmp_path: Path) -> None:
    calls = [record(1, 2_100_000, 0), FINALIZE]
    found = _of(by_hand(tmp_path / "x", [rank_file(0, 2, calls), rank_file(1, 2, calls, (50_000_000, 50_000_000))]))
    assert found.rows == ((1,), (1,))
    assert found.computing == pytest.approx(4.2e-3)


def test_absurd_waits_overflow_nothing(tmp_path: Path) -> None:
    calls = [*[record(20, 100_000, 0, (1 << 64) - 1)] * 9, FINALIZE]
    assert _of(by_hand(tmp_path / "x", [rank_file(0, 1, calls)])).waited == pytest.approx(9e-4)


def test_a_trace_without_waits_does_not_say_why(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["compute 1100"], ["compute 1100"], ["compute 1100"], ["compute 9100"]])
    assert "The trace does not say how long the ranks waited" in _lines(trace)[2]
    assert _lines(ti(tmp_path, [["compute 1100"]] * 4))[0].startswith("No computing phase of the trace is an outlier")


def test_only_powers_of_ten_of_many_columns_have_a_label(tmp_path: Path) -> None:
    found = _of(ti(tmp_path, [["compute 101", "send 1 0 1", "compute 2000000"], ["recv 0 0 1"]]))
    (figure,) = draw_phases(found)
    axis = maps.heat(figure)["layout"]["xaxis"]
    assert len(figure.columns) == 44
    assert axis["ticktext"] == ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms"]
    assert axis["tickvals"] == [0, 10, 20, 30, 40]


def test_the_map_has_a_cell_for_each_bin_and_none_without_phases(tmp_path: Path) -> None:
    found = _of(ti(tmp_path, [["compute 1100", "send 1 0 1"], ["recv 0 0 1", "compute 2100"]]))
    (figure,) = draw_phases(found)
    assert (figure.rows, figure.z) == ((0.0, 1.0), ((1.0, None, None, None), (None, None, None, 1.0)))
    assert maps.heat(figure)["layout"]["xaxis"]["tickvals"] == [0, 1, 2, 3]
    nothing = _of(ti(tmp_path, [["send 1 0 1"], ["recv 0 0 1"]]))
    assert draw_phases(nothing) == []
    assert list(phases.describe_phases(nothing, 2, False)) == []
