"""Programs of ours on simulated clusters: SimGrid's SMPI (Debian's libsimgrid-dev) carries them out, a rank on each node.

What a rank computes is carried out for real and timed; messages take the time of the platform. Ranks wait by MPI_Wait there,
for one message after the other: a loop of MPI_Test would be charged for each question, and in a trace MPI_Waitall stands for all
messages that are under way, others' too. Sums over all ranks are blocking calls: SMPI's MPI_Iallreduce sends
everything from each to each at once, which no MPI does. Its usual MPI_Allgather does so, too, and takes hours for 512 ranks:
Bruck's algorithm takes its place (before the time that is measured).
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard import build

ROOT = Path(__file__).parents[1]
ONCE = ROOT / "tests" / "hosts" / "once.cpp"
WAITS = """
#include <mpi.h>
static inline int waited_for(int count, MPI_Request* all, int* done) {
  *done = 1;
  for (int i = 0; i < count; ++i) MPI_Wait(&all[i], MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}
static inline int reduced(const void* in, void* out, int count, MPI_Datatype type, MPI_Op how, MPI_Comm comm,
                          MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return MPI_Allreduce(in, out, count, type, how, comm);
}
#define MPI_Iallreduce(in, out, count, type, how, comm, request) reduced(in, out, count, type, how, comm, request)
#define MPI_Testall(count, all, done, statuses) waited_for(count, all, done)
#define MPI_Test(one, done, status) waited_for(1, one, done)
"""
SPEED = 1e9  # flop/s that stand for a core of this machine: only ratios to it count
LIMIT = 1800.0  # s of this machine for a simulation
# s. Between two calls with nothing in between SMPI finds 2 to 3 µs of computing, mostly its own clock's: in a trace of finite
# elements on 512 nodes half of all computing. What is shorter than this does not count.
SHORTEST = 5e-6
HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""


@dataclass(frozen=True)
class Cluster:
    """A simulated cluster: its name, nodes, SimGrid's description of it, the same for the replay (`steelyard whatif`), and how
    fast a node computes, against a core here.
    """

    name: str
    nodes: int
    describe: Callable[[str], str]
    network: str
    tree: str = ""
    speed: float = 1.0

    def platform(self) -> str:
        """The text of the platform file."""
        return self.describe(f"{SPEED * self.speed:g}f")


def _mont_blanc(speed: str) -> str:
    """N. Rajovic and others, The Mont-Blanc Prototype, SC 2016: 72 blades of 15 nodes, two uplinks of 10 Gbit/s each; between two
    nodes 80 MB/s and 156 µs, as measured with MPI.
    """
    blades = range(72)
    lines = [HEAD, '<zone id="mont-blanc" routing="Full">']
    for blade in blades:
        own = f'id="blade{blade}" prefix="node" suffix="" radical="{15 * blade}-{15 * blade + 14}" router_id="switch{blade}"'
        lines.append(f'<cluster {own} speed="{speed}" bw="80MBps" lat="78us"/>')
    lines += [f'<link id="up{blade}" bandwidth="2500MBps" latency="0us"/>' for blade in blades]
    for a in blades:
        for b in blades[a + 1 :]:
            ends = f'src="blade{a}" dst="blade{b}" gw_src="switch{a}" gw_dst="switch{b}"'
            lines.append(f'<zoneRoute {ends}><link_ctn id="up{a}"/><link_ctn id="up{b}"/></zoneRoute>')
    return "\n".join([*lines, "</zone>", "</platform>"])


def _fat_tree(speed: str) -> str:
    """A fat tree of today in round numbers: 100 Gbit/s to each node, 16 switches of 32 nodes and as many links up, 1.2 µs between
    nodes of two switches.
    """
    shape = 'topology="FAT_TREE" topo_parameters="2;32,16;1,32;1,1"'
    own = 'id="fat-tree" prefix="node" suffix="" radical="0-511"'
    return f'{HEAD}<cluster {own} {shape} speed="{speed}" bw="12.5GBps" lat="0.3us"/></platform>'


# A core of the prototype (Cortex-A15, 1.7 GHz) computes about a tenth as fast as one of a server today: a round number.
MONT_BLANC = Cluster("Mont-Blanc", 1080, _mont_blanc, "L=156us,G=12500ps/B,S=65536", "mont-blanc", speed=0.1)
FAT_TREE = Cluster("fat tree", 512, _fat_tree, "L=1200ns,G=80ps/B,S=65536")


def compiled(source: Path, folder: Path) -> Path:
    """The kernel in `source`, carried out once (tests/hosts/once.cpp), for SMPI."""
    (folder / "waits.h").write_text(WAITS, encoding="utf-8")
    path = folder / source.parent.name
    words = ["smpicxx", "-std=c++20", "-O3", "-march=native", "-include", str(folder / "waits.h"), f"-I{build.NATIVE}"]
    words += ["-DWITHOUT_REGIONS", f'-DKERNEL="{source}"', str(ONCE)]
    words += [str(build.NATIVE / f"{name}.cpp") for name in ("harness", "rank_harness")]
    subprocess.run([*words, "-o", str(path), "-pthread", "-ldl"], check=True, capture_output=True)
    return path


def simulated(program: Path, cluster: Cluster, ranks: int, parameters: str, checked: bool = True) -> float:
    """Seconds that the cluster takes, a rank on each node. RuntimeError where the result is wrong or there is none.

    A check can take much longer than the program: of finite elements on 512 nodes a quarter of an hour.
    """
    return _run(program, cluster, range(ranks), parameters, checked)


def traced(program: Path, cluster: Cluster, ranks: int, nodes: int, parameters: str) -> Path:
    """A time-independent trace of the timed part of so many ranks on the cluster's first nodes, unchecked. RuntimeError
    where there is none.
    """
    index = program.parent / f"{program.name}-{ranks}.trace"
    shutil.rmtree(f"{index}_files", ignore_errors=True)
    shared = [rank * nodes // ranks for rank in range(ranks)]
    _run(program, cluster, shared, parameters, False, "-trace-ti", "-trace-file", str(index))
    files = [Path(line) for line in index.read_text(encoding="utf-8").split() if line.endswith(".txt")]
    for rank, path in enumerate(files):
        lines = path.read_text(encoding="utf-8").splitlines()
        barriers = [i for i, line in enumerate(lines) if line.split()[1] == "barrier"]
        timed = lines[barriers[-2] + 1 : barriers[-1]]
        path.write_text("\n".join([f"{rank} init", *timed, f"{rank} finalize", ""]), encoding="utf-8")
    index.write_text("\n".join(map(str, [*files, ""])), encoding="utf-8")
    return index


def _run(program: Path, cluster: Cluster, nodes: Sequence[int], parameters: str, checked: bool, *more: str) -> float:
    """Rank i on node nodes[i]."""
    folder = program.parent
    platform, hosts = folder / f"{cluster.name.replace(' ', '-')}.xml", folder / "hosts"
    platform.write_text(cluster.platform(), encoding="utf-8")
    hosts.write_text("".join(f"node{node}\n" for node in nodes), encoding="utf-8")
    settings = (
        f"smpi/host-speed:{SPEED:g}f",
        "network/model:CM02",
        "network/TCP-gamma:0",
        "smpi/simulate-computation:yes",
        f"smpi/cpu-threshold:{SHORTEST:g}",
        "smpi/allgather:bruck",
    )
    words = ["smpirun", "-np", str(len(nodes)), "-platform", str(platform), "-hostfile", str(hosts), *more]
    words += [*(f"--cfg={setting}" for setting in settings), "--log=root.thres:critical", str(program)]
    text = _output([*words, parameters, "1"], folder, {} if checked else {"UNCHECKED": "yes"})
    found = re.search(r"^([\d.]+) [\d.]+ (right|wrong|unchecked)$", text, re.MULTILINE)
    if not found or found[2] != ("right" if checked else "unchecked"):
        raise RuntimeError(f"{program.name} on {len(nodes)} nodes of {cluster.name}: {text[-600:]}")
    return float(found[1])


def _output(words: Sequence[str], folder: Path, more: Mapping[str, str]) -> str:
    """Of smpirun, a script: what it started ends with it, too, when it takes too long."""
    quiet = {**os.environ, "LC_ALL": "C", **more}
    with subprocess.Popen(
        words,
        cwd=folder,
        env=quiet,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            return f"it was stopped after {LIMIT:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
