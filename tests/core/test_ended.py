"""SIGTERM and SIGHUP end a run as Ctrl-C does: what was measured is kept, nothing stays behind, and it is gone on with."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from patience import still
from steelyard.records import all_runs, read

# Some minutes, of which a second is waited for.
STEELYARD = str(Path(sys.executable).with_name("steelyard"))
LONG = [
    "run",
    "--only",
    "memory.latency",
    "--set",
    "threads=1",
    "--set",
    "chains=1",
    "--set",
    "page_size=4k",
    "--quiet",
    "--set",
]
SIZES = "bytes=" + ",".join(str(4096 * n) for n in range(1, 60))


@pytest.fixture(autouse=True)
def _hangups_are_not_ignored() -> Iterator[None]:
    """Commands that are started here end by SIGHUP, also where these tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def running(folder: Path) -> list[int]:
    """The processes whose current folder this is."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd") == str(folder) and int(name) != os.getpid():
                found.append(int(name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("to", ["the tool", "all at once"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_run_in_good_order(
    tmp_path: Path, programs: dict[str, Path], number: int, code: int, to: str
) -> None:
    process = subprocess.Popen([STEELYARD, *LONG, SIZES], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not any(p.read_bytes().count(b"\n") for p in tmp_path.glob("runs/*/records.jsonl")):
        assert time.monotonic() < until, "no record in a minute"
        time.sleep(0.01)
    # A batch system ends each process of a job, the measured program before or after the tool.
    for each in [process.pid] if to == "the tool" else sorted(running(tmp_path), reverse=True):
        os.kill(each, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "Continue with:  steelyard resume" in said
    assert "Traceback" not in said
    run = read(all_runs(tmp_path / "runs")[0])
    assert run.records
    assert all(record.samples for record in run.records), "the case that was broken off is not kept"
    assert not still(partial(running, tmp_path))


def test_who_ignores_hangups_is_not_ended_by_them(tmp_path: Path) -> None:
    """As nohup does."""
    code = "import signal, os; signal.signal(signal.SIGHUP, signal.SIG_IGN); from steelyard.command_line import cli; "
    code += "cli._handle_end_signals(); os.kill(os.getpid(), signal.SIGHUP); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "alive\n"


# ---------------------------------------------------------------------- a command of the user's

# A shell with children: one in the background, at times one that ignores the signal, one in a session of its own.
FAMILY = """
echo begun > begun
sleep 1000 &
[ $((COUNT % 3)) = 0 ] && (trap '' TERM HUP; while :; do sleep 1; done) &
setsid sleep 1000 &
sleep 1000
"""
APPLICATION = """
name = "family"
title = "A family"
summary = "Waits."
reading = "r"
caution = "c"
source = "s"
tried = "here"
command = ["./family"]
parallel = false
[[checks]]
title = "begun"
pattern = 'begun'
"""
COMMANDS = {
    "watch": ["power", "watch", "--sensor", "model:idle=10,full=20", "--", "./family"],
    "trace": ["trace", "-o", "traced", "--", "./family"],
    "app": ["run", "--app", "family.toml", "--quiet"],
}
TIMES = {"watch": 15, "trace": 15, "app": 4}  # with each signal: 102 in all; a run takes some seconds to begin


@pytest.mark.attack
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_a_command_has_started_is_left(
    tmp_path: Path, programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, command: str, number: int
) -> None:
    """Nor a temporary folder, but for kill -9: five seconds after the signal, which comes at any moment after the start."""
    chance, temporary = random.Random(number), tmp_path / "temporary"
    for time_ in range(TIMES[command]):
        folder = tmp_path / str(time_)
        for each in (folder, temporary):
            each.mkdir(exist_ok=True)
        (folder / "family").write_text(f"#!/bin/sh\ncd {folder}; COUNT={time_}\n{FAMILY}")
        (folder / "family").chmod(0o755)
        (folder / "family.toml").write_text(APPLICATION)
        process = subprocess.Popen(
            [STEELYARD, *COMMANDS[command]],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(temporary)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 60
        while not (folder / "begun").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode in (128 + number, -number), said
        assert "Traceback" not in said
        left = still(partial(running, folder), 5)
        assert not left, [Path(f"/proc/{each}/cmdline").read_bytes() for each in left]
        if number != signal.SIGKILL:
            assert list(temporary.iterdir()) == []


@pytest.mark.wings
@pytest.mark.parametrize("command", ["watch", "trace"])
def test_a_daemon_that_a_command_leaves_is_its_users(tmp_path: Path, command: str) -> None:
    (tmp_path / "family").write_text(f"#!/bin/sh\ncd {tmp_path}\nsetsid sleep 300 &\nexit 0\n")
    (tmp_path / "family").chmod(0o755)
    quiet = subprocess.DEVNULL
    subprocess.run([STEELYARD, *COMMANDS[command]], cwd=tmp_path, stdout=quiet, stderr=quiet, check=False)
    (daemon,) = running(tmp_path)
    os.kill(daemon, signal.SIGKILL)
