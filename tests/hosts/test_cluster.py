"""The hosts that namespaces make: each its own, joined by a network that obeys, and gone without a trace."""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cluster import Cluster
from inhabitants import inhabitants

pytestmark = pytest.mark.hosts

LIMIT = 120  # seconds after which a program hangs

_SERVER = """
import socket
with socket.create_server(("", 5001)) as listening:
    print("ready", flush=True)
    connection = listening.accept()[0]
while head := connection.recv(8, socket.MSG_WAITALL):
    left = int.from_bytes(head, "big")
    while left and (part := connection.recv(min(left, 1 << 20))):
        left -= len(part)
    connection.sendall(b"x")
"""
_CLIENT = """
import socket, sys, time
address, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
connection = socket.create_connection((address, 5001))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(count):
    start = time.perf_counter()
    connection.sendall(size.to_bytes(8, "big") + bytes(size))
    connection.recv(1)
    print(time.perf_counter() - start)
"""
_RING = """
#include <mpi.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = 1 << 20, after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  std::vector<char> out(bytes, static_cast<char>(rank)), in(bytes);
  MPI_Sendrecv(out.data(), bytes, MPI_CHAR, after, 0, in.data(), bytes, MPI_CHAR, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  char line[128] = {}, host[64] = {};
  gethostname(host, sizeof host - 1);
  const char* cpus = std::getenv("STEELYARD_CPUS");
  std::snprintf(line, sizeof line, "%d %s %d %s", rank, host, in[bytes - 1], cpus ? cpus : "none");
  std::vector<char> lines(sizeof line * ranks);
  MPI_Gather(line, sizeof line, MPI_CHAR, lines.data(), sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) std::puts(&lines[sizeof line * i]);
  MPI_Finalize();
}
"""


def said(cluster: Cluster, host: str, *command: str) -> str:
    """What a program on `host` says."""
    return subprocess.run([*cluster.enter(host), *command], text=True, stdout=-1, timeout=LIMIT, check=True).stdout


def transfers(cluster: Cluster, source: str, target: str, size: int, count: int) -> list[float]:
    """The seconds that each of `count` transfers of `size` bytes took until it was acknowledged."""
    serving = [*cluster.enter(target), sys.executable, "-c", _SERVER]
    with subprocess.Popen(serving, text=True, stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        address = cluster.address(target)
        told = said(cluster, source, sys.executable, "-c", _CLIENT, address, str(size), str(count))
    return [float(line) for line in told.split()]


def median(cluster: Cluster, source: str, target: str, size: int) -> float:
    """The median of seven transfers, in seconds."""
    return statistics.median(transfers(cluster, source, target, size, 7))


def test_each_host_has_its_own_name_and_finds_the_others_by_theirs(four_hosts: Cluster) -> None:
    program = "import socket; print(socket.gethostname(), *map(socket.gethostbyname, ('host1', 'host4')))"
    for host in four_hosts.hosts:
        assert said(four_hosts, host, sys.executable, "-c", program) == f"{host} 10.77.0.1 10.77.0.4\n"


def test_a_host_sees_its_own_network_device_and_memory_files_only(four_hosts: Cluster) -> None:
    assert said(four_hosts, "host1", "ls", "/sys/class/net").split() == ["eth0", "lo"]
    said(four_hosts, "host1", "touch", "/dev/shm/mine")
    assert said(four_hosts, "host1", "ls", "/dev/shm") == "mine\n"
    assert said(four_hosts, "host2", "ls", "/dev/shm") == ""
    assert not Path("/dev/shm/mine").exists()


def test_a_program_on_a_host_keeps_its_folder_environment_and_exit_code(
    four_hosts: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CPUS", "0,1")
    command = [*four_hosts.enter("host2"), "sh", "-c", 'echo "$PWD $STEELYARD_CPUS"; exit 7']
    done = subprocess.run(command, text=True, stdout=-1, timeout=LIMIT, check=False)
    assert (done.stdout, done.returncode) == (f"{tmp_path} 0,1\n", 7)


def test_the_agent_hands_over_the_command_and_nothing_else(
    four_hosts: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CPUS", "0,1")
    monkeypatch.setenv("HOME", "/")
    words = [
        str(four_hosts.agent),
        "-x",
        "-l",
        "root",
        "host3",
        "hostname; echo $PWD ${STEELYARD_CPUS-none};",
        "exit 7",
    ]
    done = subprocess.run([*four_hosts.enter("host1"), *words], text=True, stdout=-1, timeout=LIMIT, check=False)
    assert (done.stdout, done.returncode) == ("host3\n/ none\n", 7)


def test_a_transfer_passes_over_the_network_devices_of_its_two_hosts(four_hosts: Cluster) -> None:
    before = four_hosts.rates()
    transfers(four_hosts, "host1", "host3", 1 << 20, 4)
    after = four_hosts.rates()
    grown = {host: (after[host][0] - before[host][0], after[host][1] - before[host][1]) for host in four_hosts.hosts}
    assert grown["host1"][1] > 4 << 20
    assert grown["host3"][0] > 4 << 20
    assert sum(grown["host2"]) + sum(grown["host4"]) < 1 << 20


def test_a_rate_limit_slows_the_transfers_of_its_host_alone_until_it_is_cleared(four_hosts: Cluster) -> None:
    four_hosts.limit("host2", "100mbit")
    into, out_of = (median(four_hosts, *pair, 1 << 20) for pair in (("host1", "host2"), ("host2", "host1")))
    others = median(four_hosts, "host3", "host4", 1 << 20)
    four_hosts.clear()
    cleared = median(four_hosts, "host1", "host2", 1 << 20)
    assert min(into, out_of) > 3 * max(others, cleared)


def test_a_delay_holds_the_packets_of_its_host_alone_until_it_is_cleared(four_hosts: Cluster) -> None:
    delay = 0.02
    four_hosts.delay("host2", delay)
    slow = transfers(four_hosts, "host1", "host2", 1, 7)
    others = median(four_hosts, "host3", "host4", 1)
    four_hosts.clear()
    cleared = median(four_hosts, "host1", "host2", 1)
    assert min(slow) >= delay  # however busy the machine is, nothing may come earlier
    assert statistics.median(slow) > 3 * max(others, cleared)


def test_a_delayed_transfer_arrives_whole(four_hosts: Cluster) -> None:
    four_hosts.delay("host1", 0.001)
    four_hosts.delay("host2", 0.001)
    assert len(transfers(four_hosts, "host1", "host2", 8 << 20, 3)) == 3


def test_losses_are_mended_by_the_hosts_and_nothing_passes_when_all_is_lost(four_hosts: Cluster) -> None:
    four_hosts.lose(50)
    assert len(transfers(four_hosts, "host1", "host2", 1 << 20, 3)) == 3
    four_hosts.lose(1000)
    program = "import socket; socket.create_connection(('host2', 5001), timeout=1)"
    tried = [*four_hosts.enter("host1"), sys.executable, "-c", program]
    refused = subprocess.run(tried, text=True, stderr=-1, timeout=LIMIT, check=False).stderr
    assert "TimeoutError" in refused
    four_hosts.clear()
    refused = subprocess.run(tried, text=True, stderr=-1, timeout=LIMIT, check=False).stderr
    assert "ConnectionRefusedError" in refused  # nobody listens, and now the host can say so


def test_what_runs_on_a_host_is_seen_and_ended_even_when_it_is_frozen(four_hosts: Cluster) -> None:
    with subprocess.Popen([*four_hosts.enter("host2"), "sleep", "1000"]) as process:
        while four_hosts.processes("host2") != {process.pid: "sleep 1000"}:
            assert process.poll() is None
        assert four_hosts.processes("host1") == {}
        os.kill(process.pid, signal.SIGSTOP)
        four_hosts.end_processes()
        assert process.wait(LIMIT) == -signal.SIGKILL
    assert four_hosts.processes("host2") == {}


def test_two_clusters_do_not_see_each_other(four_hosts: Cluster) -> None:
    with Cluster(2) as other:
        before = four_hosts.rates()
        transfers(other, "host1", "host2", 1 << 20, 4)
        assert sum(other.rates()["host2"]) > 4 << 20
        assert sum(sum(four_hosts.rates()[host]) - sum(before[host]) for host in four_hosts.hosts) < 1 << 20


def break_off(cluster: Cluster) -> None:
    """Ends in an exception, with a delay in place and a program running that is in nobody's process group."""
    cluster.delay("host1", 0.001)
    agent = [str(cluster.agent), "host2", "sleep 1000 >/dev/null 2>&1 & echo started"]
    assert said(cluster, "host1", *agent) == "started\n"
    assert len(cluster.processes("host2")) == 1
    raise ZeroDivisionError


def test_nothing_of_a_cluster_is_left_even_after_an_exception(four_hosts: Cluster) -> None:
    with pytest.raises(ZeroDivisionError), Cluster(2) as cluster:
        break_off(cluster)
    assert inhabitants(cluster.name) == []
    assert not (Path(tempfile.gettempdir()) / cluster.name).exists()
    assert cluster.name not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def test_the_next_cluster_removes_what_a_killed_run_left(four_hosts: Cluster) -> None:
    program = (
        "import os, subprocess, sys; from cluster import Cluster; cluster = Cluster(2).__enter__();"
        "subprocess.Popen([*cluster.enter('host2'), 'sleep', '1000'], stdout=subprocess.DEVNULL);\n"
        "while not cluster.processes('host2'): pass\n"
        "print(cluster.name, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, text=True, stdout=-1, timeout=LIMIT, check=False
    )
    name = done.stdout.strip()
    folder = Path(tempfile.gettempdir()) / name
    assert done.returncode == -signal.SIGKILL
    assert [host for _, host in inhabitants(name) if host == "host2"]
    assert folder.exists()
    with Cluster(1):
        assert inhabitants(name) == []
        assert not folder.exists()
    assert len(four_hosts.rates()) == 4  # the cluster of a living run was spared


def test_open_mpi_runs_one_rank_on_each_host_over_tcp(four_hosts: Cluster, open_mpi: Path, tmp_path: Path) -> None:
    (tmp_path / "ring.cpp").write_text(_RING, encoding="utf-8")
    compiling = [str(open_mpi), "-o", str(tmp_path / "ring"), str(tmp_path / "ring.cpp")]
    subprocess.run(compiling, timeout=LIMIT, check=True)
    command = [str(open_mpi.with_name("mpiexec.openmpi")), "--allow-run-as-root", "--bind-to", "none"]
    command += ["--mca", "plm_rsh_agent", str(four_hosts.agent), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
    for part in ("btl", "oob"):
        command += ["--mca", f"{part}_tcp_if_include", "10.77.0.0/24"]
    command += ["-x", "STEELYARD_CPUS=0,1", "--host", ",".join(f"{host}:1" for host in four_hosts.hosts), "-n", "4"]
    before = four_hosts.rates()
    told = said(four_hosts, "host1", *command, str(tmp_path / "ring"))
    assert told.splitlines() == [f"{i} host{i + 1} {(i + 3) % 4} 0,1" for i in range(4)]
    for host, (received, sent) in four_hosts.rates().items():
        assert received - before[host][0] > 1 << 20
        assert sent - before[host][1] > 1 << 20
