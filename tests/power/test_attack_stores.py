"""Stores with damaged bytes: each question is answered or refused in words, and tidying ends.

STEELYARD_DAMAGE=3000 tries so many damages. The store's file is a database of SQLite, with compressed columns and JSON in it.
"""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from steelyard.errors import SteelyardError
from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch
from steelyard.power.stores.embedded import Embedded

pytestmark = [pytest.mark.attack, pytest.mark.timeout(1800)]

SEEDS = int(os.environ.get("STEELYARD_DAMAGE", "200"))
NODE, SENSOR = "c/n", Sensor("power", "power", "x")
HOUR, DAY = 3600 * 10**9, 86400 * 10**9


def batch(sequence: int, start: int) -> Batch:
    at = start + np.arange(300, dtype=np.int64) * 10**9
    return Batch(NODE, UUID(int=1), sequence, (SENSOR.name,), np.zeros(300, np.uint16), at, np.arange(300.0))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with readings and rollups of two days."""
    made = Embedded(tmp_path_factory.mktemp("sound") / "store", make=True)
    made.describe(NODE, [SENSOR])
    now = time.time_ns()
    for day in range(2):
        made.write([batch(day, now - day * DAY - HOUR)])
    made.tidy(now)
    made.keep({"readings": 1e5})
    made.write([batch(7, now - DAY)])
    made.close()  # so that all of it is in one file
    return made._folder


def damaged(path: Path, chance: random.Random) -> None:
    """Other bytes in some places, further ones, fewer, or no end."""
    data = bytearray(path.read_bytes())
    place, some = chance.randrange(len(data)), chance.randrange(50)
    match chance.randrange(10):
        case 0:
            del data[place:]
        case 1:
            data[place:place] = chance.randbytes(some)
        case 2:
            del data[place : place + some]
        case _:
            for _ in range(chance.choice((1, 1, 3, 10))):
                data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)


def test_a_damaged_store_answers_or_refuses(sound: Path, tmp_path: Path) -> None:
    files = sorted(path.relative_to(sound) for path in sound.rglob("*") if path.is_file() and path.stat().st_size)
    now = time.time_ns()
    questions: tuple[Callable[[Embedded], object], ...] = (
        lambda store: store.trace(NODE, SENSOR.name),
        lambda store: store.rollup([(NODE, SENSOR.name)], 60, 0, now),
        lambda store: store.rollup([(NODE, SENSOR.name)], 3600, 0, now),
        lambda store: store.gaps(NODE),
        lambda store: store.count(),
        lambda store: store.tidy(now + 3 * DAY),
        lambda store: store.write([batch(9, now)]),
    )
    for seed in range(SEEDS):
        chance = random.Random(seed)
        shutil.copytree(sound, folder := tmp_path / "store")
        damaged(folder / (file := chance.choice(files)), chance)
        for question in questions:
            try:
                question(Embedded(folder))
            except SteelyardError:
                continue
            except Exception as error:
                raise AssertionError(f"seed {seed}: {file}") from error
        shutil.rmtree(folder)
