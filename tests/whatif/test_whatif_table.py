"""A trace as Parquet files: nothing is lost, anything that reads Parquet can ask, and whatif replays it."""

from pathlib import Path

import duckdb
import pytest

from replays import Parameters, this_machine
from steelyard.errors import UsageError
from steelyard.show.command_line import cli
from steelyard.whatif import engine, readable, table
from traces import ALL_KINDS, by_hand, rank_file

P = Parameters(L=1_000_000, o=100_000, g=50_000, O=3, G=100)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Of all kinds of records; rank 1's clock is another, and a crash has left zeros at its end."""
    made = [rank_file(0, 2, ALL_KINDS[0]), rank_file(1, 2, ALL_KINDS[1], offsets=(-5_000, -7_000), error=100)]
    return by_hand(tmp_path / "trace", [made[0], made[1] + bytes(4096)])


def test_files_from_a_table_are_the_same_to_the_last_byte(trace: Path, tmp_path: Path) -> None:
    cli.run_words(["export", str(trace), "--format", "parquet", "-o", str(tmp_path / "it's a table")])
    with readable.open_readable(tmp_path / "it's a table", this_machine()) as found:
        for rank in (0, 1):
            whole = (trace / f"rank-{rank}.trace").read_bytes()
            assert (found.path / f"rank-{rank}.trace").read_bytes() == whole[: len(whole) - 4096 * rank]
        folder = found.path
    assert not folder.exists()


def test_a_table_is_replayed_and_exported_as_the_trace(trace: Path, tmp_path: Path) -> None:
    cli.run_words(["export", str(trace), "--format", "parquet", "-o", str(tmp_path / "table")])
    answers = []
    for path in (trace, tmp_path / "table"):
        with engine.start(path, this_machine(), 1e9) as running:
            answers.append((running.trace.messages, running.ask(P.word())["time"]))
        cli.run_words(["export", str(path), "--format", "goal", "-o", f"{path}.goal"])
    assert answers[0] == answers[1]
    assert (tmp_path / "table.goal").read_bytes() == (tmp_path / "trace.goal").read_bytes()


def test_a_table_is_asked_in_sql(trace: Path, tmp_path: Path) -> None:
    table.export(trace, tmp_path / "table", this_machine())
    records = f"read_parquet('{tmp_path / 'table' / 'records.parquet'}')"
    with duckdb.connect() as base:
        rows = base.execute(
            f"SELECT rank, count(*), sum(gap), sum(duration), max(begin + seconds) FROM {records} GROUP BY 1"
        )
        found = {rank: rest for rank, *rest in rows.fetchall()}
        sends = base.execute(f"SELECT rank, numbers FROM {records} WHERE kind = 2 ORDER BY rank").fetchall()
        hosts = base.execute(
            f"SELECT host, ranks FROM read_parquet('{tmp_path / 'table' / 'ranks.parquet'}')"
        ).fetchall()
    assert {rank: count for rank, (count, *_) in found.items()} == {rank: len(ALL_KINDS[rank]) for rank in (0, 1)}
    # A tick is 1 ns; who began later on rank 0's clock begins later here.
    for rank, late in ((0, 5e-6), (1, 0.0)):
        _, gaps, durations, end = found[rank]
        assert end == pytest.approx(late + (gaps + durations) * 1e-9, rel=1e-5)
    assert sends == [(0, [1, 3, 1000]), (1, [0, 3, 1000])]
    assert hosts == [("host", 2)] * 2


def test_other_formats_and_a_torn_table_get_a_sentence(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text("num_ranks 1\nrank 0 {\n}\n")
    with pytest.raises(UsageError, match="has no calls of a run. Only traces of steelyard trace"):
        cli.run_words(["export", str(tmp_path / "x.goal"), "--format", "parquet", "-o", str(tmp_path / "y")])
    table.export(trace, tmp_path / "table", this_machine())
    records = tmp_path / "table" / "records.parquet"
    records.write_bytes(records.read_bytes()[:300])
    with (
        pytest.raises(UsageError, match="cannot be read: "),
        readable.open_readable(tmp_path / "table", this_machine()),
    ):
        pass
