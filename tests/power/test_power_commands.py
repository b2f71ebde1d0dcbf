"""The commands of power: from sensors into a store, by a broker or without, and out of it again; moments and mistakes."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_power_broker import Mosquitto, mosquitto, real, site  # noqa: F401 - a fixture

from output_schemas import read_output
from steelyard.errors import UsageError
from steelyard.power.command_line import store_tables
from steelyard.power.command_line.time_ranges import moment
from steelyard.power.stores._database import FILE
from steelyard.power.stores.embedded import Embedded
from steelyard.show.command_line import cli, tables

NOW = 1_790_000_000_000_000_000
MODEL = ("--sensor", "model:idle=20,full=95")


def command(*words: object) -> int:
    return cli.run_and_explain(lambda: cli.app([str(word) for word in words]))


def started(*words: object) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "steelyard", "power", *map(str, words)]
    return subprocess.Popen(line, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("now-1h", NOW - 3600 * 10**9),
        ("now-100ms", NOW - 10**8),
        ("1790000000000000000", NOW),
        ("2026-11-22T14:00:00+00:00", 1795356000 * 10**9),
    ],
)
def test_moments_are_understood(text: str, expected: int) -> None:
    assert moment(text, "", NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "now+1h", "now-", "now-5 apples", "2026-13-01", "-5"])
def test_other_words_are_no_moment(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid time"):
        moment(text, "(given by --from)", NOW)


def test_what_a_store_keeps_is_said_and_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "store"
    assert command("power", "agent", "--store", folder, *MODEL, "--every", "20ms", "--moments", 3) == 0
    capsys.readouterr()
    assert command("power", "tidy", "--store", folder, "--keep", "readings=30d", "--keep", "1h=forever") == 0
    with contextlib.closing(sqlite3.connect(folder / FILE)) as base:
        kept = dict(base.execute("select name, value from settings"))
    assert kept["readings"] == 30 * 86400.0
    assert kept["1h"] > 1e9
    for words, said in (
        ("1day=3d", "names no data"),
        ("readings=soon", "length of time"),
        ("readings", "length of time"),
    ):
        assert command("power", "tidy", "--store", folder, "--keep", words) == 2
        assert said in capsys.readouterr().err


def test_sensors_are_listed_as_their_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("power", "sensors", *MODEL, "--json") == 0
    listed = read_output("power-sensors", capsys.readouterr().out)
    assert [(row["format"], row["unit"]) for row in listed if row["name"] == "model/node"] == [(1, "J")]


def test_from_a_sensor_into_a_store_and_out_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--store", tmp_path / "store")
    assert command("power", "agent", *words, *MODEL, "--node", "cluster/n1", "--every", "20ms", "--moments", 20) == 0
    assert "20 moments" in capsys.readouterr().err
    assert command("power", "query", *words, "--json") == 0
    listed = read_output("power-query", capsys.readouterr().out)
    assert "cluster/n1/model/node" in {row["sensor"] for row in listed}
    assert command("power", "query", *words, "cluster/n1/model/node", "--json") == 0
    (row,) = read_output("power-query", capsys.readouterr().out)
    assert row["readings"] == 20
    assert 20 * 0.99 <= row["mean"] <= 95 * 1.01
    assert row["low"] <= row["energy"] <= row["high"]
    assert command("power", "query", *words, "cluster/n1/model/node", "--csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Sensor,Time,Value"
    assert len(lines) == 21
    assert command("power", "query", *words, "cluster/n1", "--from", "now-2h", "--to", "now-1h") == 0
    assert "–" in capsys.readouterr().out
    assert command("power", "query", *words, "cluster/n1", "--from", "now-1h") == 0
    shown = capsys.readouterr().out
    # Readings of half a second in an hour: not all of it is missing.
    assert "99.9 %" in shown
    assert "100 %" not in shown


def test_a_wide_table_loses_no_column_on_a_screen_of_80_letters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [("model/node", "14", "6.5 s, 99.8 % missing", "616 J", "521 J – 617 J", "94.7 W", "95.7 W")]
    tables.print_narrow_table("n1", ("sensor", "readings", *store_tables.SHOWN), rows)
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("greatest", "95.7 W", "99.8 %", "missing"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("agent", *MODEL), "either --broker HOST or --store PLACE"),
        (("agent", "--store", "s", *MODEL, "--node", "alone"), "is not the name of a node"),
        (
            ("agent", "--store", "s", "--sensor", "barometer:"),
            "does not accept the kind of sensor 'barometer'",
        ),
        (("agent", "--broker", "h:99999", *MODEL), "99999"),
        (("agent", "--broker", "h", "--password-file", "none", *MODEL), "'none' cannot be read"),
        (("agent", "--broker", "h:x", *MODEL), "'h:x' (given by --broker) is not an address of a broker"),
        (("agent", "--broker", "localhost", "--prefix", "#", *MODEL), "'#' (given by --prefix) cannot begin a topic"),
        (("collect", "--broker", "localhost", "--prefix", "a//b", "--store", "s"), "'a//b' (given by --prefix)"),
        (
            ("collect", "--broker", "localhost", "--foreign", "a/#/b", "--store", "s"),
            "'a/#/b' (given by --foreign) is not",
        ),
        (("agent", "--broker", "localhost", "--key", "k", *MODEL), "The key 'k' needs a certificate"),
        (("collect", "--broker", "localhost", "--key", "k", "--store", "s"), "The key 'k' needs a certificate"),
        (("agent", "--store", "s", "--key", "k", *MODEL), "are for a broker"),
        (("agent", "--store", ".", *MODEL), "contains other files. Give the path of a new or empty folder."),
        (("agent", "--store", "s", "--every", "1e-30s", *MODEL), "expected 1 ms or more"),
        (("watch", "--every", "0.9ms", "--", "true"), "expected 1 ms or more"),
        (("query", "--store", "cassandra://[::1/k"), "is not a valid place of a store"),
        (("query", "--store", "none"), "not a store of readings"),
        (("query", "--store", "s", "--from", "never"), "is not a valid time"),
        (("watch", "--every", "fast", "--", "true"), "--every"),
        (("watch", "--", "no-such-command"), "cannot be started"),
    ],
)
def test_mistakes_get_a_sentence(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "thesis.tex").touch()
    assert command("power", *words) in (2, 4)
    assert said in capsys.readouterr().err


def test_watch_says_what_a_command_cost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = 'echo work > "$STEELYARD_PHASES"; sleep 0.4; exit 3'
    trace = tmp_path / "trace.csv"
    code = command("power", "watch", *MODEL, "--every", "20ms", "--trace", trace, "--json", "--", "sh", "-c", script)
    assert code == 3
    whole, work = read_output("power-watch", capsys.readouterr().out)["stretches"]
    for each in (whole, work):
        spent = each["totals"]["model"]
        assert 20 * 0.99 <= spent["power"] <= 95 * 1.01
        assert spent["low"] <= spent["joules"] <= spent["high"]
    assert work["name"] == "work"
    assert trace.read_text().startswith("Sensor,Time,Value\nmodel/node,")


@site
@real
def test_from_an_agent_through_a_broker_to_two_collectors_and_the_store(
    mosquitto: Mosquitto,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    store = tmp_path / "store"
    running = [started("collect", *mosquitto.words("collector"), "--store", store, "--name", name) for name in "ab"]
    agent = started(
        "agent", *mosquitto.words("agent"), *MODEL, "--node", "cluster/n1", "--every", "20ms", "--moments", "100"
    )
    try:
        _, said = agent.communicate(timeout=60)
        assert "100 moments" in said, said
        assert agent.returncode == 0
        kept = Embedded(store)
        end = time.monotonic() + 120
        while time.monotonic() < end and (
            "cluster/n1" not in kept.sensors() or len(kept.trace("cluster/n1", "model/node").at) < 100
        ):
            time.sleep(0.2)
        assert len(kept.trace("cluster/n1", "model/node").at) == 100
    finally:
        for each in running:
            os.kill(each.pid, signal.SIGTERM)
    told = [each.communicate(timeout=120)[1] for each in running]
    assert [each.returncode for each in running] == [143, 143]
    assert any("batches" in each for each in told)


@site
@real
def test_a_broker_that_does_not_answer_is_said_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("steelyard.power.command_line.connections.LOOK", 0.05)
    words = ("--broker", "127.0.0.1:9", *MODEL, "--node", "cluster/n1", "--every", "20ms", "--moments", 60)
    assert command("power", "agent", *words) == 0
    said = capsys.readouterr().err
    assert "127.0.0.1" in said.split("Ctrl-C stops it")[1]
    assert "wait in" in said
    assert list((tmp_path / "cache" / "power" / "cluster-n1").glob("*.segment"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_agent_that_is_ended_keeps_the_reading_that_it_waits_for(number: int, tmp_path: Path) -> None:
    log, script = tmp_path / "log", tmp_path / "slow"
    script.write_text(f"#!/bin/sh\necho >> '{log}'\nsleep 0.2\nwc -l < '{log}'\n")
    script.chmod(0o755)
    sensor = ("--sensor", f"command:run={script},name=serial", "--node", "cluster/node1")
    with started("agent", "--store", tmp_path / "store", *sensor, "--every", "100ms") as agent:
        answers = 4  # the first says which sensors there are
        while not log.exists() or log.stat().st_size < answers:
            assert agent.poll() is None
            time.sleep(0.01)
        os.kill(agent.pid, number)  # in the middle of the fourth answer
        _, said = agent.communicate(timeout=120)
    assert agent.returncode == 128 + number, said
    given = log.stat().st_size
    values = Embedded(tmp_path / "store").trace("cluster/node1", "command/serial").value.tolist()
    assert values == [float(serial) for serial in range(2, given + 1)]
