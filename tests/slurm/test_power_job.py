"""What a job of a real Slurm cost: its controller says when and where it ran, the store what its nodes used meanwhile."""

import json
import sys
import time
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from rig import Rig

from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch
from steelyard.power.stores import open_store

pytestmark = pytest.mark.slurm

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
SECOND = 10**9
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", resolution=1e-6)
WATTS = {"n1": 100.0, "n2": 50.0, "n3": 10.0}


def stored(place: Path, begin: int, end: int) -> None:
    """A reading each tenth of a second from `begin` to `end` (ns since 1970), of a constant power on each node."""
    store = open_store(str(place), make=True)
    at = np.arange(begin, end, SECOND // 10, dtype=np.int64)
    for number, (node, watts) in enumerate(WATTS.items()):
        store.describe(f"cluster/{node}", [SOCKET])
        joules = watts * (at - begin) / SECOND
        batch = Batch(f"cluster/{node}", UUID(int=number), 1, (SOCKET.name,), np.zeros(len(at), np.uint16), at, joules)
        store.write([batch])


def test_a_job_is_found_by_its_number(slurm: Rig, tmp_path: Path) -> None:
    begin = time.time_ns()
    submitted = slurm.run(
        ["sbatch", "--parsable", "--wait", "--nodes=2", "--nodelist=n1,n2", "--wrap=sleep 4", "--output=/dev/null"]
    )
    job = submitted.stdout.strip()
    assert job.isdigit(), submitted.stderr
    end = time.time_ns()
    stored(tmp_path / "store", begin - 10 * SECOND, end + 10 * SECOND)
    query = [STEELYARD, "power", "query", "--store", str(tmp_path / "store"), "--json", "--job"]
    done = slurm.run([*query, job])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert begin - SECOND <= found["from"] < found["to"] <= end + SECOND
    seconds = (found["to"] - found["from"]) / SECOND
    assert seconds >= 4
    assert {row["node"]: row["energy"] for row in found["nodes"]} == pytest.approx(
        {f"cluster/{node}": WATTS[node] * seconds for node in ("n1", "n2")}
    )
    (total,) = found["totals"]
    assert (total["nodes"], total["of"]) == (2, 2)
    assert total["low"] <= 150 * 4 <= total["high"] + 150 * (seconds - 4)
    unknown = slurm.run([*query, "99999"])
    assert unknown.returncode == 4
    assert "Slurm does not report when and where job 99999 ran" in unknown.stderr
