"""The clock of a machine is set forward by a day and back by an hour while programs run: nothing is lost, and each says it."""

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from test_attack_messages import MOSQUITTO, STEELYARD, chain

from folders import TESTS
from steelyard.measure import records
from steelyard.power.stores.embedded import Embedded

sys.path.insert(0, str(TESTS / "power" / "chain"))
from oracle import SENSOR, judge
from world import SCRIPT

pytestmark = [
    pytest.mark.attack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (MOSQUITTO and shutil.which("c++") and shutil.which("bash")), reason="needs mosquitto, c++, bash"
    ),
]
DAY, HOUR = 86_400, 3600
FORWARD = "The clock of this machine was set forward by 24 h 0 min."
BACK = "The clock of this machine was set back by 25 h 0 min."


@pytest.fixture
def clock(tmp_path: Path) -> tuple[dict[str, str], Callable[[int], None]]:
    """The environment of programs with a clock of their own, and a function that sets how many seconds it is ahead."""
    library, file = tmp_path / "clock.so", tmp_path / "clock"
    source = TESTS / "power" / "chain" / "clock.cpp"
    subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    file.write_bytes(bytes(8))

    def set_clock(seconds: int) -> None:
        with file.open("r+b") as opened:  # in place: the programs have the file mapped
            opened.write(struct.pack("<q", seconds * 10**9))

    return {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(file)}, set_clock


def test_a_clock_that_is_set_costs_no_reading(
    clock: tuple[dict[str, str], Callable[[int], None]], tmp_path: Path
) -> None:
    variables, set_clock = clock
    script = tmp_path / "serial.sh"
    script.write_text(SCRIPT.format(folder=tmp_path, name="n"))
    script.chmod(0o755)
    program = ("/usr/bin/env", *(f"{name}={value}" for name, value in variables.items()), *STEELYARD)
    with chain(tmp_path, program) as made:
        words = [*STEELYARD, "agent", "--broker", f"127.0.0.1:{made.port}", "--node", "c/n", "--every", "250ms"]
        words += ["--sensor", f"command:run={script}", "--buffer", str(tmp_path / "buffer")]
        said = tmp_path / "agent"
        with said.open("w") as log, subprocess.Popen(words, env={**os.environ, **variables}, stderr=log) as agent:
            while "Reading " not in said.read_text():
                time.sleep(0.1)
            for seconds, sentence in ((DAY, FORWARD), (-HOUR, BACK)):
                time.sleep(2)
                set_clock(seconds)
                until = time.monotonic() + 20
                while not (sentence in made.said() and sentence in said.read_text()) and time.monotonic() < until:
                    time.sleep(0.1)
            time.sleep(2)
            agent.terminate()
        collected = made.stopped()
    for sentence in (FORWARD, BACK):
        assert sentence in said.read_text()
        assert sentence in collected
    with closing(Embedded(made.store)) as store:
        verdict = judge(store, {"c/n": tmp_path / "n.log"})
        assert not verdict.missing
        assert not verdict.in_gaps
        assert verdict.given == verdict.stored > 20
        trace = store.trace("c/n", SENSOR)
        assert trace.at[-1] - trace.at[0] > DAY * 10**9, "the readings have the times of that clock"


def test_a_clock_that_is_set_during_a_run_loses_no_case(
    clock: tuple[dict[str, str], Callable[[int], None]], tmp_path: Path
) -> None:
    variables, set_clock = clock
    words = [
        sys.executable,
        "-P",
        "-m",
        "steelyard",
        "run",
        "--only",
        "memory.stream",
        "--set",
        "kernel=triad",
        "--quiet",
    ]
    words += ["--set", "threads=1", "--set", "elements=4096;8192;16384;32768", "--runs", str(tmp_path / "runs")]
    with subprocess.Popen(
        words, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as run:
        for count, seconds in ((1, DAY), (3, -HOUR)):
            while (
                run.poll() is None
                and sum(1 for file in tmp_path.glob("runs/*/records.jsonl") for _ in file.open()) < count
            ):
                time.sleep(0.02)
            set_clock(seconds)
        assert run.stderr
        said = run.stderr.read()
    assert run.returncode in (0, 1), said
    kept = records.read(records.find(tmp_path / "runs", None))
    assert kept.finished
    assert {(record.launch, record.case) for record in kept.records} >= {
        (launch.number, case) for launch in kept.plan.launches for case in range(len(launch.cases))
    }
    assert not [record.error for record in kept.records if record.error]
    notes = json.loads((Path(kept.path) / "finished.json").read_text())["notes"]
    for sentence in (FORWARD, BACK):
        assert sentence in said
        assert any(note.startswith(sentence) for note in notes)
