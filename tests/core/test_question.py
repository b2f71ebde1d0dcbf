"""Questions in SQL: what they may read and use, and how their answers are printed."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from builders import evaluation, measured, result, triad
from damage import ESCAPES
from steelyard.errors import MachineFailed, UsageError
from steelyard.show.command_line import cli, tables
from steelyard.show.report.question import Limits, query

RUNS = [evaluation([triad(1e10)])]
MANY = "select count(*) from range(1000000) a, range(1000000) b where a.range + b.range = 3"
LARGE = "create table large as select * from range(100000000)"


def test_columns_and_rows() -> None:
    columns, rows = query(RUNS, "select kernel, round(value) as value from metrics where metric = 'bandwidth'")
    assert (columns, list(rows)) == (["kernel", "value"], [("triad", 1e10)])


def test_an_unknown_table_is_refused_before_any_run_is_read() -> None:
    def files(table: str, folder: Path) -> list[Path]:
        raise AssertionError("a run is read")

    for asked in ("select * from result", "select r.run from result r join sample s using (run)"):
        with pytest.raises(UsageError, match="Table with name result does not exist"):
            query(files, asked)


@pytest.mark.parametrize(
    "asked",
    [
        "set memory_limit = '100GB'",
        "reset memory_limit",
        "pragma memory_limit = '100GB'",
        "set threads = 100; select 1",
        "set temp_directory = '/tmp'",
        "set enable_external_access = true",
        "select * from read_csv('/etc/passwd')",
        "select * from glob('/etc/*')",
        "copy metrics to 'x.csv'",
        "attach 'x.db'",
        "export database 'x'",
        "load httpfs",
    ],
)
def test_limits_stay_and_nothing_but_the_runs_is_read(
    asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="locked|disabled"):
        list(query(RUNS, asked)[1])
    assert not list(tmp_path.iterdir())


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    began = time.monotonic()
    with pytest.raises(MachineFailed, match=r"takes longer than 0\.5 s.*--limit-time"):
        query(RUNS, MANY, Limits(0.5))
    assert time.monotonic() - began < 30


def test_what_the_reader_takes_does_not_count() -> None:
    _, rows = query(RUNS, "select range from range(5000)", Limits(0.5))
    assert next(rows) == (0,)
    time.sleep(1)
    assert sum(1 for _ in rows) == 4999


def test_an_answer_that_needs_too_much_memory_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MachineFailed, match=r"more than 50 MiB of memory.*--limit-memory"):
        query(RUNS, LARGE, Limits(memory=50 << 20))
    assert not list(tmp_path.iterdir())


def test_runs_for_which_the_memory_is_too_small_are_a_sentence() -> None:
    with pytest.raises(MachineFailed, match="--limit-memory"):
        query(RUNS, "select 1", Limits(memory=1000))


def asked(*words: str, runs: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-P", "-m", "steelyard", "query", *words, "--runs", str(runs)]
    return subprocess.run(line, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "value", "named"), [("--limit-memory", "100m", "memory"), ("--limit-time", "1s", "time")]
)
def test_one_huge_value_ends_at_the_limit(option: str, value: str, named: str, tmp_path: Path) -> None:
    """DuckDB builds it outside of its own accounts, and hears of no interruption meanwhile."""
    done = asked("select length(repeat('x', 2000000000))", option, value, runs=tmp_path)
    assert done.returncode == 4
    assert f"--limit-{named}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--limit-time", "--limit-memory"])
@pytest.mark.parametrize("value", ["0", "-1", "soon", ""])
def test_limits_that_are_none_are_refused(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["query", "select 1", option, value, "--runs", str(tmp_path)]
    assert cli.run_and_explain(lambda: cli.app(words)) == 2
    assert option in capsys.readouterr().err


def test_rows_are_printed_as_they_come(tmp_path: Path) -> None:
    line = [sys.executable, "-P", "-m", "steelyard", "query", "select * from range(1000000000000)", "--json"]
    with subprocess.Popen([*line, "--runs", str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        head = [next(process.stdout) for _ in range(4)]
        process.stdout.close()
        assert process.wait(60) == 0
    assert head == ["[\n", " {\n", '  "range": 0\n', " },\n"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", [0, 1, 999, 1000, 1001, 2500])
def test_a_table_in_parts_has_one_head_and_one_width(rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_rows(["a", "longer"], ((i, "x" * (i % 7)) for i in range(rows)), False)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == rows + 4
    assert len({len(line) for line in lines}) == 1
    assert [line.split()[1] for line in lines if line.startswith("│")] == [str(i) for i in range(rows)]


@pytest.mark.parametrize("rows", [0, 1, 1000, 2500])
def test_an_answer_as_json_is_what_json_prints(rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_rows(["a", "b"], [(i, None) for i in range(rows)], True)
    assert capsys.readouterr().out == json.dumps([{"a": i, "b": None} for i in range(rows)], indent=1) + "\n"


def test_no_cell_acts_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_rows(["a"], [(ESCAPES,)], False)
    assert "\x1b" not in capsys.readouterr().out


def test_samples_that_no_figure_rests_on_are_marked() -> None:
    made = result("memory.stream", "triad", {}, 1.0, {"bytes": 1.0}, launches=1)
    (record,) = made.records
    run = evaluation([measured(made, records=(replace(record, samples=(1.0, 2.0, 3.0), aside=(0, 2)),))])
    _, rows = query([run], "select sample, seconds, aside from samples order by sample")
    assert list(rows) == [(1, 1.0, True), (2, 2.0, False), (3, 3.0, True)]
