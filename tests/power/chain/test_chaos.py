"""Faults in random order, and after them every reading is in the store once or in a gap that is recorded (chaos.py).

STEELYARD_CHAOS=20 says how often each fault happens, STEELYARD_CHAOS_SEED in which order. Needs root, for namespaces and mounts.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from cassandra_server import missing
from oracle import SENSOR, Verdict, judge
from world import MOSQUITTO

from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch, Gap
from steelyard.power.stores import open_store

NEEDED = ("unshare", "nsenter", "ip", "mount", "c++", "bash")
real = pytest.mark.skipif(
    os.geteuid() != 0 or not MOSQUITTO or not all(map(shutil.which, NEEDED)),
    reason="needs root, Mosquitto, iproute2 and util-linux",
)
NODE = "chaos/node1"
START = 1_790_000_000_000_000_000
PERIOD = 250_000_000


def chaos(folder: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """The exit code of chaos.py, and what it found."""
    line = [sys.executable, str(Path(__file__).with_name("chaos.py")), str(folder), *map(str, words)]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout.splitlines()[-1].replace("\x1b[0m", ""))


@real
# Twenty of each take ten minutes, with a Cassandra sixteen; after the last fault four more at most are waited.
@pytest.mark.timeout(600 + 90 * int(os.environ.get("STEELYARD_CHAOS", "2")))
@pytest.mark.parametrize(("kind", "usual"), [("embedded", 2), ("cassandra", 1)])
def test_after_all_faults_every_reading_is_there_once_or_in_a_gap(kind: str, usual: int, tmp_path: Path) -> None:
    if kind == "cassandra" and (lacks := missing()):
        pytest.skip(f"needs Java 17 and Maven (Debian: openjdk-17-jre-headless, maven); there is no {lacks}")
    each = int(os.environ.get("STEELYARD_CHAOS", usual))
    seed = os.environ.get("STEELYARD_CHAOS_SEED") or random.SystemRandom().randrange(10**6)
    words = ["--each", each, "--seed", seed, *["--cassandra"][: kind == "cassandra"]]
    code, found = chaos(tmp_path, *words)
    print(found)
    assert {*found["faults"].values()} == {each}
    assert len(found["faults"]) == 6
    assert code == 0, found
    assert found["stored"] + sum(found["in_gaps"].values()) == found["given"]
    # Only a disk that was full may lose anything at all.
    assert all("buffer cannot be written" in why for why in found["in_gaps"]), found


@real
@pytest.mark.parametrize(("mutation", "found_as"), [("drop", "missing"), ("twice", "twice")])
def test_a_chain_that_loses_or_doubles_a_batch_is_found_out(mutation: str, found_as: str, tmp_path: Path) -> None:
    code, found = chaos(tmp_path, "--each", 0, "--seed", 1, "--mutant", mutation)
    assert code == 1
    assert found[found_as]


def batch(sequence: int, writer: int = 1, gaps: tuple[Gap, ...] = ()) -> Batch:
    """Ten readings: the serial numbers from ten times the sequence on."""
    serial = 10 * sequence + np.arange(10, dtype=np.int64)
    number, value = np.zeros(10, np.uint16), serial.astype(float)
    return Batch(NODE, UUID(int=writer), sequence, (SENSOR,), number, START + serial * PERIOD, value, gaps)


def verdict(place: str, folder: Path, *batches: Batch) -> Verdict:
    """That of a store with these batches, where the sensor gave 50 readings."""
    log = folder / "log"
    log.write_text("".join(f"{serial} {START + serial * PERIOD}\n" for serial in range(50)))
    store = open_store(place, make=True)
    store.describe(NODE, [Sensor(SENSOR, "power", "command")])
    for each in batches:
        store.write([each])
    found = judge(store, {NODE: log})
    store.close()
    return found


def test_the_oracle_takes_what_is_whole_or_in_a_gap(place: str, tmp_path: Path) -> None:
    found = verdict(place, tmp_path, *map(batch, range(5)), batch(2))  # the same batch again is no second one
    assert found.right
    assert (found.given, found.stored, found.in_gaps) == (50, 50, {})


def test_the_oracle_takes_a_gap_for_what_it_covers_and_no_more(place: str, tmp_path: Path) -> None:
    gap = Gap((SENSOR,), START + 10 * PERIOD, START + 28 * PERIOD, "disk full")
    found = verdict(place, tmp_path, batch(0), batch(3, gaps=(gap,)), batch(4))
    assert found.in_gaps == {"disk full": 19}
    assert found.missing == [(NODE, 29)]
    assert not found.right


def test_the_oracle_finds_a_batch_that_was_dropped(place: str, tmp_path: Path) -> None:
    found = verdict(place, tmp_path, *map(batch, (0, 1, 3, 4)))
    assert not found.right
    assert found.missing == [(NODE, serial) for serial in range(20, 30)]


def test_the_oracle_finds_a_batch_that_was_stored_twice(tmp_path: Path) -> None:
    """In Cassandra a reading is a row with its moment as the key: it cannot be there twice."""
    found = verdict(str(tmp_path / "store"), tmp_path, *map(batch, range(5)), batch(2, writer=2))
    assert not found.right
    assert found.twice == 10


def test_the_oracle_finds_what_nobody_gave(place: str, tmp_path: Path) -> None:
    found = verdict(place, tmp_path, *map(batch, range(6)))
    assert not found.right
    assert found.foreign == [(NODE, serial) for serial in range(50, 60)]
