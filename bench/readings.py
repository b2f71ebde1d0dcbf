"""The embedded store: how many readings a second it takes from a collector, and how long its answers take.

    python bench/readings.py [--readings 100000000] [--each 1000] [--folder FOLDER]

1,080 nodes with a sensor each, read once a second; their batches of 1,000 readings (--each) come 128 at a time, as a collector
hands them over. Asked are an hour of one sensor, two hours of a job's 16 nodes, and a day of all nodes by minute and by hour.
"""

import argparse
import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import numpy as np

from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch
from steelyard.power.stores._database import FILE
from steelyard.power.stores.embedded import Embedded

NODES, AT_ONCE = 1080, 128
SECOND = 10**9  # ns
DAY = 86400 * SECOND
START = 1_790_000_000 * SECOND // DAY * DAY


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--readings", type=int, default=100_000_000)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--each", type=int, default=1000, help="readings of a batch")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "store"
        seconds, processor = filled(folder, given.readings // given.each, given.each)
        print(f"{given.readings / seconds:,.0f} readings/s written, {processor / seconds:.2f} processors busy")
        print(f"{size(folder) / given.readings:.2f} bytes a reading")
        with timed("opened"):
            store = Embedded(folder)
        with timed("tidied up: parts of all batches, rollups of all hours"):
            store.tidy(START + 3 * DAY)
        print(f"{size(folder) / given.readings:.2f} bytes a reading with its rollups")
        with sqlite3.connect(folder / FILE) as base:
            for table, of in (("parts", "1"), ("rollups", "level")):
                for name, rolled in base.execute(f"select {of}, sum(length(body)) from {table} group by {of}"):
                    print(f"  {table} {name}: {rolled / given.readings:.2f} bytes a reading")
        nodes = [(f"cluster/node{node}", "power") for node in range(NODES)]
        hour = 3600 * SECOND
        for _ in range(3):
            with timed("an hour of a sensor"):
                store.trace("cluster/node500", "power", START + 5 * hour, START + 6 * hour)
            with timed("two hours of 16 nodes"):
                for node in range(500, 516):
                    store.trace(f"cluster/node{node}", "power", START + 5 * hour, START + 7 * hour)
            with timed("a day of all nodes by the minute"):
                found = store.rollup(nodes, 60, START, START + DAY)
            print(f"  {len(found.at)} stretches")
            with timed("a day of all nodes by the hour"):
                store.rollup(nodes, 3600, START, START + DAY)


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:7.3f} s  {what}", flush=True)


def filled(folder: Path, batches: int, each: int) -> tuple[float, float]:
    """Seconds, and seconds of processors, that writing takes."""
    store = Embedded(folder, make=True)
    for node in range(NODES):
        store.describe(f"cluster/node{node}", [Sensor("power", "power", "BMC")])
    chance, number = np.random.default_rng(1), np.zeros(each, dtype=np.uint16)
    values = [np.round(chance.normal(200, 20, each), 1) for _ in range(1024)]
    began, spent = time.monotonic(), time.process_time()
    for first in range(0, batches, AT_ONCE):
        some = range(first, min(first + AT_ONCE, batches))
        store.write([_batch(place, number, values[place % 1024]) for place in some])
    return time.monotonic() - began, time.process_time() - spent


def _batch(place: int, number: np.ndarray, value: np.ndarray) -> Batch:
    node, turn = place % NODES, place // NODES
    at = START + (turn * len(value) + np.arange(len(value))) * SECOND
    return Batch(f"cluster/node{node}", UUID(int=node), turn, ("power",), number, at, value)


if __name__ == "__main__":
    main()
