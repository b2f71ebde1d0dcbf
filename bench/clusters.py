"""Strong and weak scaling of CG, LU and the mini-applications on simulated clusters of 64 nodes, and on four hosts here (root).

SimGrid's SMPI carries the programs out on the Mont-Blanc prototype and on a fat tree of today (bench/smpi.py), a rank on each
node; the four hosts are network namespaces that share this machine's processors. Expected: what exchanges with neighbours scales
on both; CG and LU, whose messages are many and small, on the fat tree only.
"""

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

import clusters_figure  # noqa: E402
import replayed  # noqa: E402
import smpi  # noqa: E402
from cluster import Cluster as Hosts  # noqa: E402
from cluster import prepare  # noqa: E402
from clusters_figure import Line  # noqa: E402
from inhabitants import MissingError  # noqa: E402

from steelyard import build  # noqa: E402
from steelyard.machine import describe  # noqa: E402
from steelyard.units import percent, quantity  # noqa: E402

KEPT, FIGURE = ROOT / ".bench" / "clusters.json", ROOT / "docs" / "images" / "clusters.svg"
COUNTS, HERE = (1, 4, 16, 64), (1, 2, 4)
SOLVER = "kernel=solver iterations=50"
# Folder, the same work, and work that grows with the ranks ({n} times so much).
PROGRAMS = {
    "NPB CG": ("npb_cg", "class=A", "class=W scale={0}", 1),
    "NPB LU": ("npb_lu", "class=A", "class=W scale={0}", 1),
    "finite elements": ("finite_elements", f"{SOLVER} elements=262144", f"{SOLVER} elements={{0}}", 32_768),
    "molecular dynamics": ("molecular_dynamics", "particles=256000 steps=10", "particles={0} steps=10", 32_000),
}  # fmt: skip
# Of which the least time counts: this machine's neighbours are no part of a cluster. NPB takes minutes beyond 4 nodes: one.
ROUNDS = 3
CHECKED = {"NPB LU": 16}  # nodes; beyond, its check takes longer than LU itself (a quarter of an hour and more)


def lines(counts: tuple[int, ...], only: str) -> Iterator[Line]:
    """Of each program on each cluster, as they are measured."""
    with tempfile.TemporaryDirectory() as name:
        for program, (folder, same, growing, unit) in PROGRAMS.items():
            if only not in program:
                continue
            source = replayed.APPLICATIONS / folder / "mpi.cpp"
            path = smpi.compiled(source, Path(name))
            for cluster in (smpi.MONT_BLANC, smpi.FAT_TREE):
                for parameters in (same, growing):
                    times = {n: _least(program, path, cluster, n, parameters.format(n * unit)) for n in counts}
                    yield Line(program, cluster.name, parameters is growing, times)


def _least(program: str, path: Path, cluster: smpi.Cluster, nodes: int, parameters: str) -> float:
    """Of the rounds, s; the first is checked."""
    rounds = 1 if "NPB" in program and nodes > max(HERE) else ROUNDS
    checked = nodes <= CHECKED.get(program, nodes)
    return min(smpi.simulated(path, cluster, nodes, parameters, checked and not n) for n in range(rounds))


@contextlib.contextmanager
def _hosts() -> Iterator[Hosts]:
    prepare()
    with Hosts(max(HERE)) as hosts:
        yield hosts


def here(only: str) -> Iterator[Line]:
    """The same over hosts of this machine, by TCP."""
    machine = describe()
    mpi = build.resolve_mpi("/usr/bin/mpicxx.openmpi", machine)
    with tempfile.TemporaryDirectory() as name, _hosts() as hosts:
        for program, (folder, same, growing, unit) in PROGRAMS.items():
            if only not in program:
                continue
            for parameters in (same, growing):
                times = {}
                for n in HERE:
                    of = replayed.Program(
                        program, replayed.APPLICATIONS / folder / "mpi.cpp", parameters.format(n * unit), 1
                    )
                    made = replayed.built(of, mpi, machine, Path(name))
                    times[n] = min(replayed.measured(hosts, made, n, "10.77.0.0/24").kernel for _ in range(ROUNDS))
                yield Line(program, "four hosts here", parameters is growing, times)


def show(line: Line) -> Line:
    """A row: the time of the least and the greatest count, and the efficiency there."""
    first, last = min(line.times), max(line.times)
    kind = "weak" if line.weak else "strong"
    times = f"{quantity(line.times[first], 's'):>9} on {first}, {quantity(line.times[last], 's'):>9} on {last:>2}"
    print(
        f"{line.program:<20}{line.cluster:<17}{kind:<8}{times}, efficiency {percent(line.efficiency(last)):>5}",
        flush=True,
    )
    return line


def _measured(counts: tuple[int, ...], only: str) -> Iterator[Line]:
    """The hosts here, where they can be made, and the simulated clusters."""
    try:
        yield from here(only)
    except MissingError as missing:
        print(missing)
    yield from lines(counts, only)


def _kept() -> dict[tuple[str, str, bool], Line]:
    """What was measured last of each program on each cluster."""
    if not KEPT.exists():
        return {}
    kept = json.loads(KEPT.read_text("utf-8"))
    found = [
        Line(program, cluster, weak, {int(n): t for n, t in times.items()}) for program, cluster, weak, times in kept
    ]
    return {(line.program, line.cluster, line.weak): line for line in found}


def _keep(lines: Iterable[Line]) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    made = [(line.program, line.cluster, line.weak, line.times) for line in lines]
    KEPT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=max(COUNTS), help="simulated nodes")
    parser.add_argument(
        "--only", default="", help="programs whose name has these words; what was measured of others stays"
    )
    parser.add_argument("--again", action="store_true", help="show what was measured last")
    parser.add_argument("--figure", action="store_true", help=f"draw {FIGURE.relative_to(ROOT)}")
    asked = parser.parse_args()
    kept = _kept()
    if asked.again and not kept:
        sys.exit("Nothing was measured yet. Measure first, without --again.")
    if asked.again:
        for line in kept.values():
            show(line)
    else:
        if not shutil.which("smpicxx"):
            sys.exit("SimGrid is not installed. For example: apt-get install libsimgrid-dev  (as root)")
        for line in _measured(tuple(n for n in COUNTS if n <= asked.most), asked.only):
            kept[line.program, line.cluster, line.weak] = show(line)
            _keep(kept.values())
    if asked.figure:
        FIGURE.write_text(clusters_figure.drawn(tuple(kept.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
