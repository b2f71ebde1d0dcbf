"""SIGTERM and SIGHUP end a run as Ctrl-C does: what was measured is kept, nothing stays behind, and it is gone on with."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from patience import still
from steelyard.measure.records import all_runs, read

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


@pytest.mark.long
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
    code = "import signal, os; signal.signal(signal.SIGHUP, signal.SIG_IGN); from steelyard.system import signals; "
    code += "signals.ending().__enter__(); os.kill(os.getpid(), signal.SIGHUP); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "alive\n"


# ---------------------------------------------------------------------- a command of the user's

COMMANDS = {
    "watch": ["power", "watch", "--sensor", "model:idle=10,full=20", "--", "./family"],
    "trace": ["trace", "-o", "traced", "--", "./family"],
}


@pytest.mark.sampled(1)
@pytest.mark.wings
@pytest.mark.parametrize("command", ["watch", "trace"])
def test_a_daemon_that_a_command_leaves_is_its_users(tmp_path: Path, command: str) -> None:
    (tmp_path / "family").write_text(f"#!/bin/sh\ncd {tmp_path}\nsetsid sleep 300 &\nexit 0\n")
    (tmp_path / "family").chmod(0o755)
    quiet = subprocess.DEVNULL
    subprocess.run([STEELYARD, *COMMANDS[command]], cwd=tmp_path, stdout=quiet, stderr=quiet, check=False)
    (daemon,) = running(tmp_path)
    os.kill(daemon, signal.SIGKILL)
