"""`steelyard fleet --hosts`: each host is measured alone, a lost host costs its own run only, an ended sweep goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster import Cluster

from output_schemas import read_output

pytestmark = pytest.mark.hosts
STEELYARD = shutil.which("steelyard", path=str(Path(sys.executable).parent)) or "steelyard"
SMALL = ("--only", "memory.stream", "--set", "threads=1", "--set", "kernel=triad", "--set", "elements=65536")


def command(
    cluster: Cluster, folder: Path, *words: str, hosts: str = "host[1-4]", cases: tuple[str, ...] = SMALL
) -> list[str]:
    asked = ["fleet", "--hosts", hosts, "--runs", str(folder), *words, "--", *cases]
    return [*cluster.enter("host1"), STEELYARD, *asked]


def around(cluster: Cluster) -> dict[str, str]:
    return {**os.environ, "OMPI_MCA_plm_rsh_agent": str(cluster.agent), "COLUMNS": "200"}


def run(cluster: Cluster, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(cluster, folder, *words, **more), env=around(cluster), capture_output=True, text=True, check=False
    )


def hosts_of(folder: Path) -> dict[str, str]:
    """Returns the host that each run names."""
    return {path.parent.name: json.loads(path.read_text())["machine"]["host"] for path in folder.glob("*/run.json")}


def test_each_host_is_measured_alone_and_compared(four_hosts: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "nodes"
    done = run(four_hosts, folder, "--at-once", "2", "--json", "--times", "2")
    assert done.returncode == 0, done.stderr
    names = [f"host{number}" for number in range(1, 5)]
    assert hosts_of(folder) == {f"{name}{again}": name for name in names for again in ("", "-2")}
    answer = read_output("fleet", done.stdout)
    assert (answer["nodes"], answer["failed"]) == (names, [])
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/records.jsonl")}
    again = run(four_hosts, folder, "--times", "2")
    assert "8 runs of 8 measured already" in again.stderr
    assert before == {path: path.stat().st_mtime_ns for path in folder.glob("*/records.jsonl")}
    other = run(four_hosts, folder, cases=("--only", "memory.latency"))  # type: ignore[arg-type]
    assert other.returncode == 2
    assert "were measured with" in other.stderr


def test_a_host_that_does_not_answer_costs_only_its_own_run(four_hosts: Cluster, tmp_path: Path) -> None:
    done = run(four_hosts, tmp_path / "nodes", "--accept", hosts="host[1-4],host9")
    assert done.returncode == 5, done.stderr
    assert "host9 was not measured (exit code " in done.stderr
    assert sorted(hosts_of(tmp_path / "nodes")) == ["host1", "host2", "host3", "host4"]
    assert "undecided: every node measured. 1 node of 5 without a run: host9." in done.stdout


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_sweep_ends_its_hosts_and_goes_on(four_hosts: Cluster, tmp_path: Path, by: signal.Signals) -> None:
    folder = tmp_path / "nodes"
    long = (*SMALL[:6], "--set", "elements=" + ",".join(str(4096 * n) for n in range(1, 30)))
    process = subprocess.Popen(
        command(four_hosts, folder, cases=long), env=around(four_hosts), stderr=subprocess.PIPE, text=True
    )
    _wait(
        lambda: (
            len(list(folder.glob("*/records.jsonl"))) == 4
            and all(p.stat().st_size for p in folder.glob("*/records.jsonl"))
        )
    )
    process.send_signal(by)
    _, said = process.communicate(timeout=60)
    _wait(lambda: not any("run --quiet" in text or " run " in text for h in four_hosts.hosts
                          for text in four_hosts.processes(h).values()))  # fmt: skip
    if by == signal.SIGINT:
        assert "The same command goes on." in said
    kept = {path: path.read_bytes() for path in folder.glob("*/records.jsonl")}
    assert not list(folder.glob("*/finished.json"))
    done = subprocess.run(
        command(four_hosts, folder, cases=long), env=around(four_hosts), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob("*/finished.json"))) == 4
    for path, content in kept.items():
        whole = content[: content.rfind(b"\n") + 1]
        assert path.read_bytes().startswith(whole)


def _wait(reached: object, seconds: float = 90.0) -> None:
    until = time.monotonic() + seconds
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.1)
