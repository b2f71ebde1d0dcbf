"""Our traces as their description has them: written by hand, they are replayed to the picosecond."""

from pathlib import Path

import pytest

from replays import Parameters, asked
from steelyard.errors import UsageError
from steelyard.show.command_line import cli
from traces import ALL_KINDS, FINALIZE, by_hand, folded, rank_file, record

P = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, G=80)
MESSAGE = (
    [record(2, 4000, 999, folded(1), folded(3), 101), FINALIZE],
    [record(4, 0, 9999, folded(0), folded(3)), record(1, 7000, 10), FINALIZE],
)


def test_a_message_is_replayed_as_the_model_has_it(tmp_path: Path) -> None:
    about, found = asked(
        by_hand(tmp_path / "x", [rank_file(r, 2, records) for r, records in enumerate(MESSAGE)]), P.word()
    )
    assert (about["messages"], about["bytes"], about["traced"]["calls"]) == (1, 101, 5)
    assert found["time"] == [4_000_000 + 2 * P.o + P.L + 100 * P.G + 7_000_000]
    assert about["traced"]["time"] == pytest.approx(17_009e-9)
    assert about["traced"]["computing"] == pytest.approx(7e-6)


def test_clocks_of_hosts_are_brought_together(tmp_path: Path) -> None:
    """Rank 1 began 20 µs later than its clock says, by which rank 0's gains 100 µs in a second."""
    late = rank_file(1, 2, [record(1, 100_000_000, 0), FINALIZE], (20_000, 120_000), 1000)
    first = rank_file(0, 2, [FINALIZE])
    about, found = asked(by_hand(tmp_path / "x", [first, late]), P.word())
    assert found["time"][0] == pytest.approx(20_000_000 + 1.0001 * 100_000_000_000, rel=1e-9)
    assert about["traced"]["time"] == pytest.approx(found["time"][0] / 1e12, rel=1e-9)
    unsure = rank_file(1, 2, [record(1, 100_000_000, 0), FINALIZE], (20_000, 120_000), 60_000)
    _, found = asked(by_hand(tmp_path / "y", [first, unsure]), P.word())
    assert found["time"][0] == pytest.approx(20_000_000 + 100_000_000_000, rel=1e-9)


def test_each_kind_of_record_is_read(tmp_path: Path) -> None:
    questions = P.word(), f"{P.word()} mode=event"
    about, *found = asked(by_hand(tmp_path / "x", [rank_file(r, 2, ALL_KINDS[r]) for r in (0, 1)]), *questions)
    assert (about["unreceived"], about["traced"]["broken"]) == (0, [])
    assert about["traced"]["preempted"] == pytest.approx(500e-9)
    assert about["traced"]["tool"] == pytest.approx(20e-9)
    assert all(one["time"][0] > 0 for one in found)


def _with_waits(folder: Path) -> Path:
    """Rank 0 computes for 10 ms, of which it waits 6 ms for a processor, and then waits for 3 ms within a call of 5 ms."""
    waited = [record(20, 10_000_000, 0, 6_000_000), record(1, 0, 5_000_000), record(20, 0, 0, 3_000_000)]
    return by_hand(folder, [rank_file(0, 2, [*waited, record(1, 1_000_000, 0), FINALIZE]), rank_file(1, 2, [FINALIZE])])


def test_waits_for_a_processor_between_calls_are_left_out_on_request(tmp_path: Path) -> None:
    trace = _with_waits(tmp_path / "x")
    about, found = asked(trace, P.word())
    assert (about["traced"]["preempted"], about["traced"]["waiting"]) == pytest.approx((9e-3, 6e-3))
    assert not about["traced"]["without_waits"]
    assert found["time"] == [11_000_000_000]
    about, found = asked(trace, P.word(), options=["--without-waits"])
    assert (about["traced"]["without_waits"], about["traced"]["waiting"]) == (True, pytest.approx(6e-3))
    assert found["time"] == [5_000_000_000]


def test_the_command_says_how_long_the_waits_were_and_leaves_them_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["whatif", str(_with_waits(tmp_path / "x")), "--set", "network=L=1us,o=100ns"]
    cli.run_words(words)
    kept = " ".join(capsys.readouterr().out.split())
    assert "one of them for 6.00 ms. The replay counts these waits as computing" in kept
    cli.run_words([*words, "--set", "waits=removed", "--report", str(tmp_path / "page.html")])
    removed = " ".join(capsys.readouterr().out.split())
    assert "leaves out the waits for a processor between calls of MPI: up to 6.00 ms" in removed
    assert "up to 6.00 ms of the computing time of a rank" in (tmp_path / "page.html").read_text()
    Path(tmp_path / "x.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 1\n}\n")
    with pytest.raises(UsageError, match="only traces of steelyard trace have recorded waits"):
        cli.run_words(["whatif", str(tmp_path / "x.goal"), *words[2:], "--set", "waits=removed"])


@pytest.mark.parametrize("length", range(165, 400, 7))
def test_a_cut_trace_is_replayed_up_to_its_end(tmp_path: Path, length: int) -> None:
    whole, cut = (rank_file(r, 2, ALL_KINDS[r]) for r in (0, 1))
    about, *found = asked(by_hand(tmp_path / "x", [whole, cut[:length]]), P.word(), f"{P.word()} mode=event")
    assert [one["rank"] for one in about["traced"]["broken"]] in ([1], [0, 1])
    assert all(one["time"][0] > 0 for one in found)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ([record(2, 0, 0, folded(7), folded(1), 8)], "rank-1.trace, byte 160: rank 7 of a communicator of 2"),
        ([record(2, 0, 0, folded(0), folded(1), 8, communicator=9)], "the trace does not describe this communicator"),
        ([record(9, 0, 0, 77, 0, 8)], "an unknown collective"),
        ([record(9, 0, 0, 1, 2, 8)], "the root of a collective is not one of its ranks"),
        ([record(13, 0, 0, 2, 5, 2, folded(1), folded(0))], "a communicator has a rank twice"),
        ([record(16, 0, 0, 3)], "the trace does not describe this window"),
        ([record(99, 0, 0)], "a record has an unknown kind"),
        ([record(1, 1 << 62, 0)], "the trace is longer than 23 days"),
    ],
)
def test_impossible_values_of_a_trace_get_a_sentence_with_their_place(
    tmp_path: Path, wrong: list[bytes], sentence: str
) -> None:
    files = [rank_file(0, 2, [FINALIZE]), rank_file(1, 2, [*wrong, FINALIZE])]
    [about] = asked(by_hand(tmp_path / "x", files))[:1]
    assert sentence in about["error"]
    assert "rank-1.trace, byte 160" in about["error"]
