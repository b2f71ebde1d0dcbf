"""Questions to stored readings: of which time, of which nodes, in which form; what comes in, as it comes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pytest

import damage
from output_schemas import read_output
from steelyard.measure.launch.scheduler import Ran
from steelyard.measure.launch.scheduler._slurm_past import list_runs
from steelyard.model.sensor import Sensor
from steelyard.power.command_line import live_readings, time_ranges
from steelyard.power.message import Batch, Gap
from steelyard.power.stores import Store, open_store
from steelyard.show.command_line import cli

SECOND = 10**9
START = 1_790_000_000  # s
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", resolution=1e-6)
CORES = Sensor("rapl/package-0/core", "energy", "RAPL", resolution=1e-6, part_of="rapl/package-0")
GUESS = Sensor("model/node", "energy", "model", modelled=True)
HEAT = Sensor("board", "temperature", "BMC")
WATTS = {"cluster/n1": 100.0, "cluster/n2": 50.0, "other/n9": 10.0}


def command(*words: object) -> int:
    return cli.run_and_explain(lambda: cli.app([str(word) for word in words]))


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """What a command says as JSON."""
    assert command("power", "query", *words, "--json") == 0
    return read_output("power-query", capsys.readouterr().out)


def write(store: Store, node: str, sensor: Sensor, at: Sequence[float], values: Sequence[float], number: int) -> None:
    """Readings at seconds after START."""
    moments = START * SECOND + np.round(np.asarray(at) * SECOND).astype(np.int64)
    numbers = np.zeros(len(moments), dtype=np.uint16)
    store.write([Batch(node, UUID(int=number), 1, (sensor.name,), numbers, moments, np.asarray(values, dtype=float))])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Half an hour, a reading each half second: n1 of 100 W, half of it its cores', n2 of 50 W, n9 of another system 10 W."""
    folder = tmp_path_factory.mktemp("kept") / "store"
    store = open_store(str(folder), make=True)
    at = np.arange(0, 1800, 0.5)
    for number, (node, watts) in enumerate(WATTS.items()):
        sensors = (SOCKET, CORES, GUESS, HEAT) if node == "cluster/n1" else (SOCKET,)
        store.describe(node, sensors)
        write(store, node, SOCKET, at, watts * at, 10 * number)
    write(store, "cluster/n1", CORES, at, 50.0 * at, 1)
    write(store, "cluster/n1", GUESS, at, 90.0 * at, 2)
    write(store, "cluster/n1", HEAT, at[::10], 40 + at[::10] % 7, 3)
    gap = Gap((SOCKET.name,), (START + 100) * SECOND, (START + 101) * SECOND, "buffer full")
    store.write(
        [Batch("cluster/n1", UUID(int=4), 1, (), np.empty(0, np.uint16), np.empty(0, np.int64), np.empty(0), (gap,))]
    )
    return str(folder)


def ns(seconds: float) -> int:
    return round((START + seconds) * SECOND)


# --------------------------------------------------------------------------- which time


def test_a_stretch_of_time_is_answered_with_what_lies_around_it(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "--store", place, "cluster/n1", "--from", ns(60.25), "--to", ns(90.25))
    found = {row["sensor"]: row for row in rows}
    socket = found["cluster/n1/rapl/package-0"]
    assert (socket["readings"], socket["seconds"]) == (60, pytest.approx(30.0))
    assert socket["energy"] == pytest.approx(3000.0)
    assert 2900.0 - 1e-3 <= socket["low"] <= 3000.0 <= socket["high"] <= 3100.0 + 1e-3  # half a second at each end
    heat = found["cluster/n1/board"]
    assert heat["energy"] is None
    assert 40 <= heat["mean"] <= heat["greatest"] <= 47
    assert "buffer full" not in capsys.readouterr().err


def test_a_gap_of_that_time_is_said_and_no_other(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("power", "query", "--store", place, "cluster/n1", "--from", ns(90), "--to", ns(120))
    assert command(*words) == 0
    said = capsys.readouterr().err
    assert "cluster/n1 has no readings of rapl/package-0 from " in said
    assert ": buffer full." in said
    assert command("power", "query", "--store", place, "cluster/n1/board", "--from", ns(90), "--to", ns(120)) == 0
    assert "buffer full" not in capsys.readouterr().err


def test_the_table_for_readers(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("power", "query", "--store", place, "cluster/n1", "--from", ns(60), "--to", ns(90)) == 0
    shown = capsys.readouterr().out
    assert "cluster/n1" in shown
    assert "3.00 kJ" in shown
    assert "100 W" in shown


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run on cluster/n1 whose records lie in the time of the store, each ten seconds after the one before, four long."""
    run = damage.unpack(tmp_path / "runs")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        line["surroundings"] |= {"began": START + 20 + 10 * number, "ended": START + 24 + 10 * number}
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    about = json.loads((run / "run.json").read_text())
    about["machine"]["host"] = "n1.example.org"
    (run / "run.json").write_text(json.dumps(about))
    return run.parent


def records_of(runs: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (runs / "run" / "records.jsonl").read_text().splitlines()]


def test_of_a_run_the_node_it_was_on(place: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--store", place, "--run", "run", "--runs", runs)
    seconds = 10 * (len(records_of(runs)) - 1) + 4
    (row,) = found["nodes"]  # the cores are part of the socket, and what is modelled is left out beside it
    assert (row["node"], row["source"], row["seconds"]) == ("cluster/n1", "RAPL", pytest.approx(seconds))
    assert row["energy"] == pytest.approx(100.0 * seconds)
    assert found["totals"] == [
        {
            "source": "RAPL",
            "scope": ["processors"],
            "nodes": 1,
            "of": 1,
            **{name: row[name] for name in ("energy", "low", "high")},
        }
    ]
    assert (found["from"], found["to"]) == (ns(20), ns(20 + seconds))


def test_of_some_cases_each(place: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = records_of(runs)
    name = told[3]["benchmark"]
    expected = [number for number, record in enumerate(told, 1) if record["benchmark"] == name]
    found = answer(capsys, "--store", place, "--run", runs / "run", "--case", name)
    assert [row["case"].split()[:2] for row in found["nodes"]] == [[str(number), name] for number in expected]
    assert [row["energy"] for row in found["nodes"]] == pytest.approx([400.0] * len(expected))
    (total,) = found["totals"]
    assert total["energy"] == pytest.approx(400.0 * len(expected))
    assert total["low"] == pytest.approx(sum(row["low"] for row in found["nodes"]))
    assert command("power", "query", "--store", place, "--run", runs / "run", "--case", name) == 0
    assert " on cluster/n1 " in capsys.readouterr().out.splitlines()[0]
    (row,) = answer(capsys, "--store", place, "--run", runs / "run", "--case", "2")["nodes"]
    assert row["case"].startswith("2 ")
    threads = {
        number for number, r in enumerate(told, 1) if r["parameters"].get("threads") == 2 and r["benchmark"] == name
    }
    if threads:
        both = answer(capsys, "--store", place, "--run", runs / "run", "--case", name, "--case", "threads=2")
        assert {int(row["case"].split()[0]) for row in both["nodes"]} == threads


def test_the_sensors_of_a_node_while_cases_ran(place: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--store", place, "cluster/n1/rapl/package-0", "--run", runs / "run", "--case", "1", "--case", "1")
    (row,) = answer(capsys, *words)
    assert (row["seconds"], row["readings"]) == (pytest.approx(4.0), 9)
    assert row["energy"] == pytest.approx(400.0)


# --------------------------------------------------------------------------- which nodes


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """Programs of these names on the PATH."""
    folder.mkdir()
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


NO_ACCOUNT = 'echo "Slurm accounting storage is disabled" >&2; exit 1'
FORGOTTEN = 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1'


def test_of_a_job_each_node_and_all(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answered = f'test "$SLURM_TIME_FORMAT" = %s && echo "12|{START + 60}|{START + 160}|n[1-3]"'
    programs(tmp_path / "bin", monkeypatch, sacct=answered, scontrol=FORGOTTEN)
    assert command("power", "query", "--store", place, "--job", "12", "--json") == 0
    out, err = capsys.readouterr()
    found = read_output("power-query", out)
    assert found["of"] == "Slurm job 12"
    assert [(row["node"], row["source"]) for row in found["nodes"]] == [("cluster/n1", "RAPL"), ("cluster/n2", "RAPL")]
    assert [row["energy"] for row in found["nodes"]] == pytest.approx([10_000.0, 5_000.0])
    for row in found["nodes"]:  # Slurm's times are whole seconds: one at each end may be wrong
        assert row["low"] <= row["energy"] - 2 * row["mean"] * 0.99
        assert row["high"] >= row["energy"] + 2 * row["mean"] * 0.99
    (total,) = found["totals"]
    assert (total["nodes"], total["of"], total["energy"]) == (2, 3, pytest.approx(15_000.0))
    assert total["high"] == pytest.approx(sum(row["high"] for row in found["nodes"]))
    assert "The store has no sensors of n3" in err
    assert command("power", "query", "--store", place, "--job", "12") == 0
    shown = capsys.readouterr().out
    assert "cluster/n2" in shown
    assert "Total of the processors by RAPL: 15.0 kJ (14.6 kJ – 15.3 kJ), 2 of 3 nodes." in shown


def test_a_modelled_node_is_not_added_to_a_measured_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    at = np.arange(0, 100, 0.5)
    for number, (node, sensor) in enumerate((("c/n1", SOCKET), ("c/n2", replace(GUESS, source="RAPL")))):
        store.describe(node, [sensor])
        write(store, node, sensor, at, 10.0 * at, number)
    asked = time_ranges._join_usages("job", [Ran("n1", START + 10, START + 20), Ran("n2", START + 10, START + 20)])
    rows, totals = spoken(store, asked)
    assert {(row.node, row.source) for row in rows} == {("c/n1", "RAPL"), ("c/n2", "RAPL, modelled")}
    assert [(each.source, each.nodes, each.of) for each in totals] == [("RAPL", 1, 2), ("RAPL, modelled", 1, 2)]


def spoken(store: Store, asked: time_ranges.When) -> tuple[Any, Any]:
    from steelyard.power.command_line import run_costs
    from steelyard.power.command_line.sensor_selection import select_parts

    chosen, unknown = select_parts(store, [], asked)
    rows, _ = run_costs.list_rows(store, chosen, asked)
    return rows, run_costs.add_totals(rows, len(chosen) + len(unknown))


def test_a_source_of_which_a_part_is_silent_says_no_energy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    store.describe("c/n1", [SOCKET, replace(SOCKET, name="rapl/package-1")])
    at = np.arange(0, 100, 0.5)
    write(store, "c/n1", SOCKET, at, 10.0 * at, 1)
    (row,), totals = spoken(store, time_ranges._join_usages("job", [Ran("n1", START + 10, START + 20)]))
    assert row.spent is None
    assert totals == []
    assert "rapl/package-1 has no readings" in capsys.readouterr().err


def test_tasks_of_an_array_that_share_a_node_count_once() -> None:
    told = [Ran("n1", 100.0, 200.0), Ran("n1", 150.0, 260.0), Ran("n1", 300.0, 300.0), Ran("n2", 150.0, 260.0)]
    found = time_ranges._join_usages("job", told).hosts
    seconds = {host: [(s.begin / SECOND, s.end / SECOND) for s in mine] for host, mine in found.items()}
    assert seconds == {"n1": [(100, 260), (300, 301)], "n2": [(150, 260)]}


def test_several_systems_with_the_same_node_need_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    at = np.arange(0, 100, 0.5)
    for number, node in enumerate(("blue/n1", "red/n1.example.org", "red/n10")):
        store.describe(node, [SOCKET])
        write(store, node, SOCKET, at, 10.0 * at, number)
    from steelyard.errors import UsageError
    from steelyard.power.command_line.sensor_selection import select_parts

    both = time_ranges._join_usages("job 1", [Ran("n1", START, START + 9)])
    with pytest.raises(UsageError, match="Name the system, such as 'blue'"):
        select_parts(store, [], both)
    assert [part.node for part in select_parts(store, ["red"], both)[0]] == ["red/n1.example.org"]
    for host, node in (("n1.example.org", "red/n1.example.org"), ("n1.other.org", "blue/n1")):
        (part,) = select_parts(store, [], replace(both, hosts={host: both.stretches}))[0]
        assert part.node == node
    assert [part.node for part in select_parts(store, ["blue/n1"], both)[0]] == ["blue/n1"]
    with pytest.raises(UsageError, match="no such node among red/n10"):
        select_parts(store, ["red/n10"], both)


SCONTROL = (
    "JobId=12 JobName=x JobState={state} Reason=None StartTime={start} EndTime={end} Deadline=N/A ReqNodeList=(null) "
    "ExcNodeList=(null) NodeList={nodes} BatchHost=n1 NumNodes=2"
)


@pytest.mark.parametrize(
    ("sacct", "scontrol", "expected"),
    [
        ("echo '12|100|200|n[1-2]'", FORGOTTEN, [("n1", 100, 200), ("n2", 100, 200)]),
        ("echo '12_1|100|200|n1'; echo '12_2|150|Unknown|n2'", FORGOTTEN, [("n1", 100, 200), ("n2", 150, 1000)]),
        ("echo '12_3|Unknown|Unknown|None assigned'; echo '12_1|100|200|n1'", FORGOTTEN, [("n1", 100, 200)]),
        (NO_ACCOUNT, SCONTROL.format(state="COMPLETED", start=9, end=20, nodes="n[1-2]"), [("n1", 9, 20), ("n2", 9, 20)]),
        (NO_ACCOUNT, SCONTROL.format(state="RUNNING", start=100, end=1900, nodes="n7"), [("n7", 100, 1000)]),
        ("true", SCONTROL.format(state="FAILED", start=100, end=105, nodes="a1"), [("a1", 100, 105)]),
    ],
)  # fmt: skip
def test_slurm_s_answers_are_read(
    sacct: str, scontrol: str, expected: list[tuple[str, int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steelyard.measure.launch import scheduler

    said = scontrol if scontrol == FORGOTTEN else f"cat <<end\n{scontrol}\nend"
    programs(tmp_path / "bin", monkeypatch, sacct=sacct, scontrol=said)
    assert [(each.host, each.begin, each.end) for each in list_runs("12", 1000.0, scheduler.ask)] == expected


@pytest.mark.parametrize(
    ("sacct", "scontrol", "said"),
    [
        (NO_ACCOUNT, FORGOTTEN, "sacct prints 'Slurm accounting storage is disabled'; scontrol prints 'slurm_load_jobs error"),
        ("true", FORGOTTEN, "sacct has no time for it"),
        (NO_ACCOUNT, "echo JobId=12 JobState=PENDING StartTime=Unknown NodeList=", "scontrol has no time for it"),
        ("echo '12|100|200|n[1'", FORGOTTEN, "cannot be read"),
        (None, None, "No such file"),
    ],
)  # fmt: skip
def test_where_slurm_does_not_tell_a_sentence_says_so(
    sacct: str | None,
    scontrol: str | None,
    said: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if sacct and scontrol:
        programs(tmp_path / "bin", monkeypatch, sacct=sacct, scontrol=scontrol)
    else:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "env").symlink_to("/usr/bin/env")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert command("power", "query", "--store", place, "--job", "12") == 4
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--run", "run", "--job", "12"), "choose the period: --run / --job"),
        (("--run", "run", "--from", "now-1h"), "--from and --to / --run"),
        (("--case", "1"), "needs a run"),
        (("--run", "none"), "no run 'none'"),
        (("--run", "run", "--case", "9999"), "no case 9999"),
        (("--run", "run", "--case", "memory.strem"), "Did you mean"),
        (("--run", "run", "--case", "1", "--case", "2"), "matches all of 1, 2"),
        (("--job", "-x"), "is not the number of a Slurm job"),
        (("--job", "12 13"), "is not the number of a Slurm job"),
        (("cluster/n1", "--from", "now-1h", "--to", "now-2h"), "ends before it begins"),
        (("cluster/n1", "--every", "2s"), "expected 1s, 1min or 1h"),
        (("cluster/n1", "--every", "often"), "--every"),
        (("cluster/n7",), "no node 'cluster/n7'"),
        (("clster",), "no system 'clster'"),
        (("cluster/n1/rapl",), "has no sensor 'rapl'"),
        (("other", "--run", "run"), "no such node among other"),
    ],
)
def test_mistakes_get_a_sentence(
    words: tuple[str, ...], said: str, place: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("power", "query", "--store", place, "--runs", runs, *words) == 2
    assert said in capsys.readouterr().err


# --------------------------------------------------------------------------- by the second


def test_every_second_and_every_minute(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--store", place, "cluster/n1/rapl/package-0", "--from", ns(60.5), "--to", ns(70))
    rows = answer(capsys, *words, "--every", "1s")
    assert [row["from"] for row in rows] == [ns(second) for second in range(60, 70)]
    assert list(rows[0]) == ["format", "sensor", "from", "readings", "least", "mean", "greatest", "energy", "known"]
    for row in rows:
        assert row["readings"] == 2
        assert [row[name] for name in ("least", "mean", "greatest", "energy")] == pytest.approx([100.0] * 4)
    minutes = answer(capsys, *words, "--every", "1min")
    assert sum(row["energy"] for row in minutes) == pytest.approx(6000.0 * len(minutes))
    assert command("power", "query", *words, "--every", "1min") == 0
    assert "6.00 kJ" in capsys.readouterr().out
    (heat, *_) = answer(capsys, "--store", place, "cluster/n1/board", "--from", ns(60), "--to", ns(61), "--every", "1s")
    assert heat["energy"] is None


# --------------------------------------------------------------------------- export


SPAN = ("--from", ns(60), "--to", ns(69.5))  # twenty readings


def test_what_is_exported_is_what_was_stored(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = open_store(place).trace("cluster/n1", SOCKET.name, ns(60), ns(69.5))
    expected = list(zip(trace.at.tolist(), trace.value.tolist(), strict=True))
    words = ("power", "export", "--store", place, "cluster/n1/rapl/package-0", *SPAN)
    assert command(*words) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == "Sensor,Time,Value"
    cells = [line.split(",") for line in lines]
    assert [(int(at), float(value)) for _, at, value in cells] == expected
    assert {name for name, *_ in cells} == {"/cluster/n1/rapl/package-0"}
    assert command(*words, "-o", tmp_path / "x.jsonl") == 0
    objects = [read_output("power-export", line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [(each["time"], each["value"]) for each in objects] == expected
    assert command(*words, "-o", tmp_path / "x.data", "--form", "parquet") == 0
    assert duckdb.sql(f"select time, value from read_parquet('{tmp_path}/x.data') order by time").fetchall() == expected
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_every_sensor_of_several_nodes(place: str, tmp_path: Path) -> None:
    words = ("power", "export", "--store", place, *SPAN)
    assert command(*words, "-o", tmp_path / "all.parquet") == 0
    counts = dict(duckdb.sql(f"select sensor, count(*) from '{tmp_path}/all.parquet' group by all").fetchall())
    assert counts["other/n9/rapl/package-0"] == 20
    assert len(counts) == 6
    assert command(*words, "other", "cluster/n1/board", "-o", tmp_path / "some.parquet") == 0
    some = duckdb.sql(f"select distinct sensor from '{tmp_path}/some.parquet' order by all").fetchall()
    assert some == [("cluster/n1/board",), ("other/n9/rapl/package-0",)]


def test_rollups_are_exported_in_each_form(place: str, tmp_path: Path) -> None:
    words = ("power", "export", "--store", place, "cluster/n1/rapl/package-0", *SPAN, "--every", "1s")
    for ending in ("csv", "jsonl", "parquet"):
        assert command(*words, "-o", tmp_path / f"x.{ending}") == 0
    (head, *lines) = (tmp_path / "x.csv").read_text().splitlines()
    assert head == "Sensor,From,Readings,Least,Mean,Greatest,Energy,Known"
    objects = [read_output("power-export", line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    rows = duckdb.sql(f"select * from '{tmp_path}/x.parquet'").fetchall()
    assert len(lines) == len(objects) == len(rows) == 10
    assert (
        [float(line.split(",")[6]) for line in lines]
        == [each["energy"] for each in objects]
        == [row[6] for row in rows]
    )


def test_a_job_is_exported_from_its_nodes(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"echo '12_1|{START + 60}|{START + 70}|n1'; echo '12_2|{START + 80}|{START + 90}|n2'"
    programs(tmp_path / "bin", monkeypatch, sacct=told)
    assert command("power", "export", "--store", place, "--job", "12", "-o", tmp_path / "x.parquet") == 0
    found = duckdb.sql(
        f"select sensor, min(time), max(time) from '{tmp_path}/x.parquet' where sensor like '%package-0' group by 1 order by 1"
    )
    assert found.fetchall() == [
        ("cluster/n1/rapl/package-0", ns(60), ns(70)),
        ("cluster/n2/rapl/package-0", ns(80), ns(90)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "x.dat"), "does not end with .csv, .jsonl or .parquet"),
        (("--form", "xml"), "no format 'xml'"),
        (("--form", "parquet"), "Parquet is a binary format"),
        (("-o", "none/x.csv"), "'none' does not exist"),
        (("-o", "."), "it is a folder"),
        (("-o", "/dev/full", "--form", "csv"), "No space left"),
        (("-o", "/dev/full", "--form", "parquet"), "could not be written to '/dev/full'"),
    ],
)
def test_what_cannot_be_written_is_said(
    words: tuple[str, ...],
    said: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("power", "export", "--store", place, *SPAN, *words) in (2, 4)
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_anew_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    store.describe("c/n1", [SOCKET])
    write(store, "c/n1", SOCKET, [0.0, 1.0], [0.0, 1.0], 1)
    output = tmp_path / "x.csv"
    output.write_text("before")

    def broken(*args: object) -> Iterator[str]:
        yield "Sensor,Time,Value\n"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("steelyard.power.command_line.readings_output.format_texts", broken)
    words = ("power", "export", "--store", tmp_path / "store", "-o", output)
    assert command(*words) == 4
    assert "No space left on device" in capsys.readouterr().err
    assert output.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "x.csv"]


def program(*words: object) -> list[str]:
    return [sys.executable, "-m", "steelyard", "power", *map(str, words)]


@pytest.mark.long
def test_a_pipe_that_is_closed_ends_an_export_silently(place: str) -> None:
    with subprocess.Popen(
        program("export", "--store", place, "cluster/n2", "--from", ns(0), "--to", ns(600)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"Sensor,Time,Value\n"
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


# --------------------------------------------------------------------------- as it comes


class Live:
    """A store into which a thread writes a reading each tenth of a second, stamped with the time."""

    def __init__(self, folder: Path) -> None:
        self.place, self._ended = str(folder), threading.Event()
        store = open_store(self.place, make=True)
        store.describe("c/n1", [SOCKET])
        now = time.time_ns()
        self._put(store, 0, now - SECOND * np.arange(30, 0, -1), 10.0 * np.arange(30))
        self._thread = threading.Thread(target=self._write, args=(store,), daemon=True)

    def _put(self, store: Store, sequence: int, at: Any, values: Any) -> None:
        at = np.asarray(at, dtype=np.int64)
        numbers = np.zeros(len(at), dtype=np.uint16)
        store.write(
            [Batch("c/n1", UUID(int=7), sequence, (SOCKET.name,), numbers, at, np.asarray(values, dtype=float))]
        )

    def _write(self, store: Store) -> None:
        sequence = 0
        while not self._ended.wait(0.1):
            sequence += 1
            self._put(store, sequence, [time.time_ns()], [300.0 + sequence])

    def __enter__(self) -> "Live":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_tail_begins_with_the_last_ten_follows_and_ends_in_good_order(tmp_path: Path, number: int) -> None:
    with Live(tmp_path / "store") as live:
        with subprocess.Popen(
            program("tail", "--store", live.place, "c/n1", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            lines = [read_output("power-tail", process.stdout.readline()) for _ in range(30)]
            process.send_signal(number)
            rest = process.stdout.read()
            assert process.stderr
            assert (process.wait(30), process.stderr.read()) == (128 + number, "steelyard: interrupted\n")
        lines += [json.loads(line) for line in rest.splitlines()]
        kept = open_store(live.place).trace("c/n1", SOCKET.name, lines[0]["time"], lines[-1]["time"])
    assert [each["time"] for each in lines] == kept.at.tolist()  # each once, none left out
    assert [each["value"] for each in lines] == kept.value.tolist()


@pytest.mark.long
def test_tail_ends_silently_when_nobody_reads_it(tmp_path: Path) -> None:
    for words in ((), ("--every", "1s")):
        with (
            Live(tmp_path / f"store{len(words)}") as live,
            subprocess.Popen(
                program("tail", "--store", live.place, *words),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):
            assert process.stdout
            assert process.stderr
            assert "c/n1/rapl/package-0" in process.stdout.readline()
            process.stdout.close()
            assert process.wait(30) == 0
            assert process.stderr.read() == ""


def followed(
    store: Store, capsys: pytest.CaptureFixture[str], *between: Any, level: int | None = None
) -> list[list[str]]:
    """The lines of each look; before each further one something happens."""
    looks: list[list[str]] = []
    coming = iter(between)

    def wait(seconds: float) -> bool:
        looks.append(capsys.readouterr().out.splitlines())
        something = next(coming, None)
        if something:
            something()
        return something is None

    live_readings.follow(store, None, level, True, wait)
    return looks


def test_what_comes_late_is_shown_once_and_new_sensors_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    store.describe("c/n1", [SOCKET])
    write(store, "c/n1", SOCKET, [0.0, 1.0, 5.0], [0.0, 1.0, 5.0], 1)

    def another() -> None:
        store.describe("c/n2", [SOCKET])
        write(store, "c/n2", SOCKET, [2.0], [7.0], 3)

    looks = followed(
        store,
        capsys,
        lambda: write(store, "c/n1", SOCKET, [3.0, 6.0], [3.0, 6.0], 2),
        another,
        lambda: write(store, "c/n1", SOCKET, [80.0], [80.0], 4),
        lambda: None,
    )
    values = [[json.loads(line)["value"] for line in look] for look in looks]
    assert values == [[0.0, 1.0, 5.0], [3.0, 6.0], [7.0], [80.0], []]


def test_by_the_second_those_that_are_over_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(str(tmp_path / "store"), make=True)
    store.describe("c/n1", [SOCKET])
    first, second = np.arange(0, 20.6, 0.5), np.arange(21, 22.1, 0.5)
    write(store, "c/n1", SOCKET, first, 10 * first, 1)
    looks = followed(store, capsys, lambda: write(store, "c/n1", SOCKET, second, 10 * second, 2), lambda: None, level=1)
    found = [[json.loads(line) for line in look] for look in looks]
    assert [[row["from"] for row in look] for look in found] == [
        [ns(second) for second in range(10, 20)],
        [ns(20), ns(21)],
        [],
    ]
    assert [row["energy"] for look in found for row in look] == pytest.approx([10.0] * 12)
