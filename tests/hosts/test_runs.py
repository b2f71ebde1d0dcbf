"""Runs over four hosts: MPI over TCP between them, hosts that are slow, ranks that are lost, hosts that are none."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from typer.testing import CliRunner

from canaries import Canaries
from patience import still
from steelyard.measure import records
from steelyard.show.command_line.cli import app

pytestmark = pytest.mark.hosts
STEELYARD = shutil.which("steelyard", path=str(Path(sys.executable).parent)) or "steelyard"
FOUR = "host1:1,host2:1,host3:1,host4:1"
SHORT = ("--quiet", "--preset", "quick")


def environment(cluster: Cluster) -> dict[str, str]:
    """What a site's administrator sets: how to reach the other hosts, and over which network."""
    network = "10.77.0.0/24"
    return {
        **os.environ,
        "OMPI_MCA_plm_rsh_agent": str(cluster.agent),
        "OMPI_MCA_btl_tcp_if_include": network,
        "OMPI_MCA_oob_tcp_if_include": network,
        "PRTE_MCA_plm_ssh_agent": str(cluster.agent),
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(cluster.agent),
        "COLUMNS": "200",
    }


def command(cluster: Cluster, folder: Path, mpi: Path, *words: str, hosts: str = FOUR) -> list[str]:
    """`steelyard run` on host1, over the hosts."""
    told = ["run", *SHORT, "--hosts", hosts, "--mpi", str(mpi), "--runs", str(folder / "runs"), *words]
    return [*cluster.enter("host1"), STEELYARD, *told]


def run(cluster: Cluster, folder: Path, mpi: Path, *words: str, hosts: str = FOUR) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(cluster, folder, mpi, *words, hosts=hosts),
        env=environment(cluster),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def exported(folder: Path) -> dict[str, Any]:
    """The newest run as JSON."""
    told = subprocess.run(
        [STEELYARD, "export", "--runs", str(folder / "runs")], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(told.stdout)
    return found


@pytest.mark.alone
def test_the_networks_benchmarks_run_between_the_hosts_over_tcp(
    four_hosts: Cluster, open_mpi: Path, tmp_path: Path
) -> None:
    before = four_hosts.rates()
    words = [
        f"--only={name}" for name in ("network.transfer", "network.nettest", "network.bisection", "cluster.stream")
    ]
    done = run(four_hosts, tmp_path, open_mpi, *words, "--set", "message_bytes=0,8k", "--budget=60s")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = exported(tmp_path)
    assert {r["benchmark"] for r in found["results"]} == {
        "network.transfer",
        "network.nettest",
        "network.bisection",
        "cluster.stream",
    }
    run_ = records.read(records.all_runs(tmp_path / "runs")[0])
    assert all(r.error is None and r.check.passed for r in run_.records)
    hosts = {tuple(r.surroundings.ranks.hosts or ()) for r in run_.records if r.parameters["ranks"] == 4}
    assert hosts == {("host1", "host2", "host3", "host4")}
    assert all(r.surroundings.ranks.colocated for r in run_.records if r.parameters["ranks"] == 4)
    after = four_hosts.rates()
    assert all(after[host][1] - before[host][1] > 100_000 for host in before), "nothing went over a host's network"
    # All pairs were measured, each way of pairing four hosts once.
    pairs = [r for r in run_.records if r.kernel == "pairs"]
    assert {r.parameters["round"] for r in pairs} == {0, 1, 2}


@pytest.mark.alone
def test_a_host_with_a_slow_network_is_named(four_hosts: Cluster, open_mpi: Path, tmp_path: Path) -> None:
    four_hosts.limit("host3", "200mbit")
    done = run(
        four_hosts,
        tmp_path,
        open_mpi,
        "--only=network.transfer",
        "--preset=standard",
        "--set=kernel=pairs",
        "--set=message_bytes=0,256k",
        "--set=together=no",
        "--budget=35s",
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    slow = [f for f in exported(tmp_path)["findings"] if f["rule"] == "slow_node"]
    assert slow, done.stdout
    told = " ".join([slow[0]["seen"], *slow[0]["evidence"]])
    assert "host3" in told
    assert "256 KiB" in told
    assert not any(f"host{n}" in slow[0]["seen"] for n in (1, 2, 4)), slow[0]["seen"]
    fleet = CliRunner().invoke(app, ["fleet", str(tmp_path / "runs"), "--json", "--fail-on-slow"])
    assert fleet.exit_code == 1, fleet.output
    assert fleet.stdout, repr(fleet.exception)
    (cluster,) = json.loads(fleet.stdout)["clusters"]
    assert (len(cluster["hosts"]), cluster["findings"][0]["seen"]) == (4, slow[0]["seen"])


def test_no_host_executes_what_lies_in_the_current_folder(
    four_hosts: Cluster, open_mpi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(four_hosts).items():
        monkeypatch.setenv(name, value)
    canaries = Canaries(tmp_path)
    words = command(four_hosts, tmp_path, open_mpi, "--only=network.pingpong", "--set=message_bytes=8", "--budget=10s")
    at_host = four_hosts.enter("host1")
    line = [*at_host, *canaries.command(*words[len(at_host) + 1 :])]
    done = subprocess.run(line, cwd=canaries.folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert canaries.executed() == []
    described = records.read(records.all_runs(tmp_path / "runs")[0]).machine.networks
    assert {host for network in described if not network.reason for host in network.hosts} == {*four_hosts.hosts}


def test_the_network_of_every_host_is_described_and_a_different_one_beside_the_others(
    four_hosts: Cluster, open_mpi: Path, tmp_path: Path
) -> None:
    enter = four_hosts.enter("host3")
    subprocess.run([*enter, "ip", "link", "set", "eth0", "mtu", "1400"], check=True)
    route = ["10.77.0.0/24", "dev", "eth0", "proto", "kernel", "scope", "link", "src", four_hosts.address("host3")]
    try:
        subprocess.run([*enter, "ip", "route", "replace", *route, "rto_min", "5ms"], check=True)
        done = run(four_hosts, tmp_path, open_mpi, "--only=network.pingpong", "--set=message_bytes=0", "--budget=5s")
    finally:
        subprocess.run([*enter, "ip", "link", "set", "eth0", "mtu", "1500"], check=True)
        subprocess.run([*enter, "ip", "route", "replace", *route], check=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    alike, tuned = records.read(records.all_runs(tmp_path / "runs")[0]).machine.networks
    assert (alike.hosts, tuned.hosts) == (("host1", "host2", "host4"), ("host3",))
    (eth0,), (other,) = alike.interfaces, tuned.interfaces
    assert (eth0.driver, eth0.link_rate, eth0.mtu, eth0.rto_min) == ("veth", None, 1500, 0.2)
    assert (other.mtu, other.rto_min) == (1400, 0.005)
    assert "rto_min of 1 of" in other.rto_source
    assert {"tso", "gso", "gro"} <= eth0.offloads.keys()


@pytest.mark.parametrize(("how", "word"), [(signal.SIGKILL, "died"), (signal.SIGSTOP, "did not answer")])
def test_a_lost_rank_ends_in_a_clear_record_within_the_limit(
    four_hosts: Cluster, open_mpi: Path, tmp_path: Path, how: signal.Signals, word: str
) -> None:
    process = subprocess.Popen(
        command(
            four_hosts,
            tmp_path,
            open_mpi,
            "--only=network.pingpong",
            "--set=message_bytes=0,1k",
            "--set=ranks=4",
            "--set=buffers=reused",
            "--set=placement=compact",
        ),
        env=environment(four_hosts),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    lost = _wait_for_rank(four_hosts, "host4")
    os.kill(lost, how)
    assert process.wait(240) in (0, 1, 4)
    run_ = records.read(records.all_runs(tmp_path / "runs")[0])
    failed = [r for r in run_.records if r.error]
    assert failed
    assert f"Rank 3 on host4 {'(process' if word == 'died' else word}" in (failed[0].error or "")
    # The run went on with another start.
    assert any(r.error is None for r in run_.records[run_.records.index(failed[0]) + 1 :])

    def pingpongs() -> list[str]:
        return [c for host in four_hosts.hosts for c in four_hosts.processes(host).values() if "network.pingpong" in c]

    assert not still(pingpongs)


def _wait_for_rank(cluster: Cluster, host: str) -> int:
    for _ in range(1200):
        for process, words in cluster.processes(host).items():
            if "network.pingpong" in words and "orted" not in words and "/bin/sh" not in words:
                time.sleep(1.0)  # until MPI has started
                return process
        time.sleep(0.1)
    raise AssertionError("no rank appeared")


def test_a_host_that_does_not_resolve_is_told(four_hosts: Cluster, open_mpi: Path, tmp_path: Path) -> None:
    done = run(
        four_hosts,
        tmp_path,
        open_mpi,
        "--only=network.pingpong",
        "--set=message_bytes=0",
        hosts="host1:1,nowhere:1",
    )
    assert done.returncode == 4
    assert "nowhere" in done.stdout + done.stderr, done.stdout


def test_more_ranks_than_slots_are_refused_before_anything_starts(
    four_hosts: Cluster, open_mpi: Path, tmp_path: Path
) -> None:
    done = run(four_hosts, tmp_path, open_mpi, "--only=network.pingpong", "--set=ranks=9")
    assert done.returncode == 2
    assert "more than the 4 slots of the hosts" in done.stderr
    assert not (tmp_path / "runs").exists()
