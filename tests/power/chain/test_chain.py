"""The whole way, all of it real: OpenIPMI's BMC, agent, Mosquitto with TLS and passwords, two collectors, a store, and out."""

import json
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from test_power_broker import Mosquitto, until

from steelyard.measure import records
from steelyard.power.stores import open_store

STEELYARD = (sys.executable, "-m", "steelyard")
NODE = f"cluster/{platform.node().partition('.')[0]}"
EP = ("--only", "application.npb_ep", "--set", "class=B", "--set", "model=threads", "--set", "threads=1")


@contextmanager
def running(*words: object) -> Iterator["subprocess.Popen[str]"]:
    """A command of power, ended as by an administrator."""
    line = [*STEELYARD, "power", *map(str, words)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.send_signal(signal.SIGTERM)
            program.communicate(timeout=60)


def done(*words: object, cwd: Path, codes: tuple[int, ...] = (0,)) -> "subprocess.CompletedProcess[str]":
    found = subprocess.run(
        [*STEELYARD, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=200, check=False
    )
    assert found.returncode in codes, found.stderr
    return found


def test_from_a_bmc_to_the_report_of_a_run(
    place: str,
    bmc: tuple[str, "subprocess.Popen[str]"],
    mosquitto: Mosquitto,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STEELYARD_POWER", "0")
    sensor, process = bmc
    with ExitStack() as stack:
        for name in "ab":
            stack.enter_context(running("collect", *mosquitto.words("collector"), "--store", place, "--name", name))
        words = ("--sensor", f"ipmi:{sensor},ask=sensors", "--node", NODE, "--every", "200ms")
        stack.enter_context(running("agent", *mosquitto.words("agent"), *words))
        until(lambda: _described(place), "the BMC's sensors are known")
        ran = done("run", *EP, "--quiet", "--no-power", cwd=tmp_path, codes=(0, 1))  # 1: a serious finding
        assert "The report: " in ran.stdout
        assert process.stdin
        process.stdin.write("sensor_set_value 0x20 0 2 60 0\n")  # 120 W instead of 240
        process.stdin.flush()
        changed = time.time()
        run = records.read(records.find(tmp_path / "runs", None))
        until(
            lambda: _last(place) > (changed + 5) * 1e9,
            "readings after the change have come",
        )

    # What the store says of the run's time is what the BMC said: 240 W, and 120 W later on.
    sensor_name = f"{NODE}/{_power(place)}"
    (row,) = _asked(place, sensor_name, "--run", run.id, cwd=tmp_path)
    assert row["energy"] == pytest.approx(240 * row["seconds"], rel=0.001)
    assert row["low"] <= 240 * row["seconds"] <= row["high"]
    by_second = _asked(place, sensor_name, "--every", "1s", cwd=tmp_path)
    assert {round(r["mean"]) for r in by_second if r["readings"]} >= {120, 240}

    # Attached to the run, its cases have energy, and the report a page of power.
    assert "sys-power" in done("power", "attach", "--store", place, run.id, cwd=tmp_path).stderr
    assert "already" in done("power", "attach", "--store", place, run.id, cwd=tmp_path).stderr
    done("report", run.id, cwd=tmp_path)
    exported = json.loads(done("export", run.id, cwd=tmp_path).stdout)
    powers = [result["metrics"]["power"] for result in exported["results"] if "power" in result["metrics"]]
    assert powers
    assert all(abs(power["value"] - 240) < 1 for power in powers), powers
    report = (tmp_path / "runs" / run.id / "report.html").read_text()
    assert "sys-power" in report


def test_a_store_without_any_server(bmc: tuple[str, "subprocess.Popen[str]"], tmp_path: Path) -> None:
    sensor, _ = bmc
    words = ("--sensor", f"ipmi:{sensor},ask=sensors", "--node", NODE, "--every", "100ms", "--moments", 20)
    done("power", "agent", "--store", tmp_path / "store", *words, cwd=tmp_path)
    store = str(tmp_path / "store")
    (row,) = _asked(store, f"{NODE}/{_power(store)}", cwd=tmp_path)
    assert row["mean"] == pytest.approx(240)


def _asked(place: str, *words: str, cwd: Path) -> list[dict[str, float]]:
    found: list[dict[str, float]] = json.loads(
        done("power", "query", "--store", place, *words, "--json", cwd=cwd).stdout
    )
    return found


def _power(place: str) -> str:
    store = open_store(place)
    (name,) = [s.name for s in store.sensors()[NODE] if "sys-power" in s.name]
    store.close()
    return name


def _described(place: str) -> bool:
    try:
        return bool(_power(place)) and _last(place) > 0
    except Exception:
        return False


def _last(place: str) -> int:
    store = open_store(place)
    at = store.trace(NODE, _power(place)).at
    store.close()
    return int(at[-1]) if len(at) else 0
