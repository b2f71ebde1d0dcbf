"""Files that are none: each reader answers a pipe, a device, a gigabyte or a nest in seconds and in little memory.

STEELYARD_ATTACK=2 tries each of them with each reader.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from damage import powered, unpack
from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch
from steelyard.power.stores.embedded import Embedded
from traces import ALL_KINDS, otf2_archive, rank_file

pytestmark = pytest.mark.attack

TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
GIB = 1 << 30
SECONDS = 60  # that a command may take; far less on a quiet machine
MEMORY = 2300 << 20  # bytes: a trace of a gigabyte is held whole
GOAL = "num_ranks 1\nrank 0 {\na: calc 100\n}\n"
READINGS = "Sensor,Time,Value\n/c/n/power,1763820000000000000,12.5\n/c/n/power,1763820001000000000,13\n"


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(GIB)


def lines(path: Path) -> None:
    path.write_bytes(b"a = 1\n" * (GIB // 64))


KINDS: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "gigabyte": sparse,
    "lines": lines,
    "nest": lambda path: path.write_bytes(b"[" * (4 << 20)),
    "text": lambda path: path.write_bytes(b"\xff\xfe\x1b[2J" * 1000),
}


@dataclass(frozen=True)
class Reader:
    """A command with a file that it reads; `make` makes a sound place for it in a folder, and returns what the words need."""

    words: tuple[str, ...]
    file: str
    make: Callable[[Path], object]


def run(folder: Path) -> None:
    powered(unpack(folder))


def store(folder: Path) -> None:
    """A store with readings of two days, one of which is tidied up."""
    made = Embedded(folder / "store", make=True)
    made.describe("c/n", [Sensor("power", "power", "x")])
    now = time.time_ns()
    for day in range(2):
        at = now - day * 86400 * 10**9 + np.arange(100, dtype=np.int64) * 10**9
        made.write([Batch("c/n", UUID(int=1), day, ("power",), np.zeros(100, np.uint16), at, np.ones(100))])
    made.tidy(now)
    made.keep({"1s": 1e6})
    made.close()


def trace(folder: Path) -> None:
    (folder / "trace").mkdir()
    for rank in (0, 1):
        (folder / "trace" / f"rank-{rank}.trace").write_bytes(rank_file(rank, 2, ALL_KINDS[rank]))


def table(folder: Path) -> None:
    trace(folder)
    shutil.move(folder / "trace", folder / "sound")
    done = answered(["export", "sound", "--format", "parquet", "--output", "trace"], folder)
    assert done.code == 0, done.said


def otf2(folder: Path) -> None:
    pytest.importorskip("otf2", reason="the Python package otf2 is not installed (the extra 'otf2')")
    otf2_archive("all_kinds", folder / "trace")


def goal(folder: Path) -> None:
    (folder / "a.goal").write_text(GOAL)


AGENT = (
    "power",
    "agent",
    "--broker",
    "127.0.0.1:1",
    "--sensor",
    "model:idle=1,full=2",
    "--moments",
    "1",
    "--every",
    "1s",
)
READERS = {
    "show: run.json": Reader(("show", "run"), "run/run.json", run),
    "show: records.jsonl": Reader(("show", "run"), "run/records.jsonl", run),
    "show: power.jsonl": Reader(("show", "run"), "run/power.jsonl", run),
    "query: run.json": Reader(
        ("query", "select 1"), "runs/a/run.json", lambda folder: (folder / "runs/a").mkdir(parents=True)
    ),
    "store: readings.sqlite": Reader(("power", "query", "--store", "store", "c/n"), "store/readings.sqlite", store),
    "store: its log": Reader(("power", "query", "--store", "store", "c/n"), "store/readings.sqlite-wal", store),
    "tidy: readings.sqlite": Reader(("power", "tidy", "--store", "store"), "store/readings.sqlite", store),
    "tidy: its log": Reader(("power", "tidy", "--store", "store"), "store/readings.sqlite-wal", store),
    "whatif: rank-1.trace": Reader(("whatif", "trace", "--set", "network=L=1us"), "trace/rank-1.trace", trace),
    "whatif: records.parquet": Reader(("whatif", "trace", "--set", "network=L=1us"), "trace/records.parquet", table),
    "whatif: traces.otf2": Reader(("whatif", "trace", "--set", "network=L=1us"), "trace/traces.otf2", otf2),
    "whatif: traces.def": Reader(("whatif", "trace", "--set", "network=L=1us"), "trace/traces.def", otf2),
    "whatif: 1.evt": Reader(("whatif", "trace", "--set", "network=L=1us"), "trace/traces/1.evt", otf2),
    "whatif: goal": Reader(("whatif", "a.goal", "--set", "network=L=1us"), "a.goal", goal),
    "whatif: tree.name": Reader(
        ("whatif", "a.goal", "--set", "network=L=1us", "--set", "tree=tree.toml"), "tree.toml", goal
    ),
    "whatif: --scenario": Reader(("whatif", "a.goal", "--scenario", "scenario.toml"), "scenario.toml", goal),
    "whatif: noise.recording": Reader(
        ("whatif", "a.goal", "--set", "network=L=1us", "--set", "noise=noise"), "noise", goal
    ),
    "plan: --system": Reader(("plan", "--system", "s.toml"), "s.toml", lambda folder: None),
    "run: --app": Reader(("run", "--app", "a.toml"), "a.toml", lambda folder: None),
    "agent: --password-file": Reader(
        (*AGENT, "--user", "a", "--password-file", "secret"), "secret", lambda folder: None
    ),
    "agent: --ca": Reader((*AGENT, "--ca", "ca.pem"), "ca.pem", lambda folder: None),
    "watch: csv": Reader(("power", "watch", "--sensor", "csv:file=a.csv", "--", "true"), "a.csv", lambda folder: None),
}


@dataclass(frozen=True)
class Ended:
    code: int
    said: str
    seconds: float
    memory: int  # bytes, at most


def answered(words: list[str], folder: Path) -> Ended:
    """How a command ends; it is killed after SECONDS."""
    line = [sys.executable, "-P", "-m", "steelyard", *words]
    began = time.monotonic()
    with (folder / "said").open("w+b") as said:
        process = subprocess.Popen(
            line, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        usage: resource.struct_rusage | None = None
        while time.monotonic() < began + SECONDS and not usage:
            number, status, used = os.wait4(process.pid, os.WNOHANG)
            if number:
                process.returncode, usage = os.waitstatus_to_exitcode(status), used
            time.sleep(0.01)
        if not usage:
            os.killpg(process.pid, signal.SIGKILL)
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = -signal.SIGKILL
        said.seek(0)
        text = said.read(1 << 20).decode("utf-8", "replace")
    return Ended(process.returncode, text, time.monotonic() - began, usage.ru_maxrss << 10)


@contextmanager
def removed(folder: Path) -> Iterator[Path]:
    """A gigabyte is not kept until all tests have ended."""
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_answers_what_is_no_file_of_its_kind(reader: str, tmp_path: Path) -> None:
    wrong = []
    chosen = READERS[reader]
    (sound := tmp_path / "sound").mkdir()
    chosen.make(sound)
    # Each kind with every other reader.
    first = list(READERS).index(reader) % 2
    for kind, make in list(KINDS.items())[first :: 2 if TIMES == 1 else 1]:
        with removed(folder := tmp_path / kind):
            shutil.copytree(sound, folder)
            file = folder / chosen.file
            file.unlink(missing_ok=True)
            make(file)
            ended = answered(list(chosen.words), folder)
        if (
            ended.code not in (0, 2, 3, 4)
            or "Traceback" in ended.said
            or "\x1b[2J" in ended.said
            or (ended.code and "steelyard: " not in ended.said)
            or ended.memory > MEMORY
        ):
            wrong.append(
                f"{kind}: code {ended.code}, {ended.seconds:.1f} s, {ended.memory >> 20} MiB: {ended.said[-600:]}"
            )
    assert not wrong, "\n".join(wrong)
