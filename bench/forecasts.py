"""Forecasts for 64 and 512 nodes from a trace of at most 4, beside the same programs on as many simulated nodes.

SimGrid's SMPI carries a program out with as many ranks as the forecast is of, all of them on 4 nodes, and records a trace;
`steelyard whatif` replays it with a rank on each node, under the cluster's network. The range that is stated has the replays of
three traces, without queues and with them, and reaches 10 % further: what predictions of a real network are
held to (docs/whatif.md). Then the simulated cluster carries the program out itself. Expected: within the range, since messages
are the same, but where this machine computes faster or slower at the time.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

import replayed  # noqa: E402
import smpi  # noqa: E402
from clusters import PROGRAMS  # noqa: E402

from steelyard.units import quantity  # noqa: E402

KEPT = ROOT / ".bench" / "forecasts.json"
FEW = 4  # nodes that are traced
TRACES = 3
MARGIN = 0.1
FARTHEST = 512  # nodes
# On so many CG and LU would send millions of messages, more than an hour's: the others, the same work and 4 or 8 times as much.
FAR = {
    "finite elements": [f"kernel=solver iterations=10 elements={n}" for n in (2_097_152, 8_388_608)],
    "molecular dynamics": [f"particles={n} steps=10" for n in (256_000, 2_048_000)],
}


@dataclass(frozen=True)
class Forecast:
    """Of a program on `nodes` nodes of a cluster: the range stated, and the time there, s."""

    program: str
    cluster: str
    growing: bool
    nodes: int
    least: float
    most: float
    time: float

    @property
    def holds(self) -> bool:
        return self.least <= self.time <= self.most

    @property
    def error(self) -> float:
        """Of the middle of the range."""
        return (self.least + self.most) / 2 / self.time - 1


def forecasts(nodes: int, only: str) -> Iterator[Forecast]:
    """As they are made."""
    with tempfile.TemporaryDirectory() as name:
        for program, (folder, *_) in PROGRAMS.items():
            if only not in program:
                continue
            path = smpi.compiled(replayed.APPLICATIONS / folder / "mpi.cpp", Path(name))
            for growing, words in _work(program, nodes):
                try:
                    times: dict[smpi.Cluster, list[float]] = {smpi.MONT_BLANC: [], smpi.FAT_TREE: []}
                    for _ in range(TRACES):
                        trace = smpi.traced(path, smpi.FAT_TREE, nodes, FEW, words)
                        for cluster, found in times.items():
                            found += [_replay(trace, cluster, mode) for mode in ("dataflow", "event")]
                    for cluster, found in times.items():
                        span = min(found) * (1 - MARGIN), max(found) * (1 + MARGIN)
                        time = smpi.simulated(path, cluster, nodes, words, checked=nodes < FARTHEST)
                        yield Forecast(program, cluster.name, growing, nodes, *span, time)
                except RuntimeError as error:  # as where there are not enough points for so many
                    print(f"{program}: {str(error)[-200:]}", flush=True)


def _work(program: str, nodes: int) -> Iterator[tuple[bool, str]]:
    """Whether it grows, and its parameters."""
    _, same, growing, unit = PROGRAMS[program]
    words = FAR.get(program, []) if nodes >= FARTHEST else [same, growing.format(nodes * unit)]
    yield from zip((False, True), words, strict=False)


def _replay(trace: Path, cluster: smpi.Cluster, mode: str) -> float:
    words = [
        sys.executable,
        "-m",
        "steelyard",
        "whatif",
        str(trace),
        "--set",
        f"network={cluster.network}",
        "--set",
        f"mode={mode}",
    ]
    words += ["--set", f"flops={smpi.SPEED * cluster.speed:g}", "--json", "--quiet"]
    words += ["--set", f"tree={cluster.tree}"] if mode == "event" and cluster.tree else []
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(json.loads(done.stdout)["time"])


def show(one: Forecast) -> Forecast:
    """A row: the range, the time, the error of the range's middle."""
    kind = "growing" if one.growing else "same"
    spans = f"{quantity(one.least, 's'):>9} to {quantity(one.most, 's'):>9}, took {quantity(one.time, 's'):>9}"
    where = f"{one.program:<20}{one.cluster:<12}{kind:<9}{one.nodes:>4} nodes"
    print(f"{where}  {spans}  {100 * one.error:+5.1f} %  {'holds' if one.holds else 'does not hold'}", flush=True)
    return one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="*", default=[64, FARTHEST], help="of which forecasts are made")
    parser.add_argument("--only", default="", help="programs whose name has these words")
    asked = parser.parse_args()
    if not shutil.which("smpicxx"):
        sys.exit("SimGrid is not installed. For example: apt-get install libsimgrid-dev  (as root)")
    KEPT.parent.mkdir(exist_ok=True)
    found = []
    for nodes in asked.nodes:
        for one in forecasts(nodes, asked.only):
            found.append(show(one))
            KEPT.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    print(f"{sum(one.holds for one in found)} of {len(found)} hold")


if __name__ == "__main__":
    main()
