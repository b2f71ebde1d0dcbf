"""Predictions beside a real network: CG, LU and a stencil over four hosts, with delay, rate and losses imposed (root).

The network between four namespaces is emulated frame by frame (tests/hosts/emulator.cpp). Each program is traced while nothing
is imposed, its replay's latency is set by the undisturbed runs beside the others, and what the replay says of each condition is
compared with the runs. Rounds alternate over all conditions; `--again` prints the table of the kept measurements. The replay is
asked by both rules for a receive (docs/whatif.md, receive=stream), by the second for the conditions without losses only.
"""

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

import prediction_figure  # noqa: E402
import replayed  # noqa: E402
from cluster import Cluster, prepare  # noqa: E402
from emulated import UNDISTURBED, Conditions, Emulator, emulator  # noqa: E402
from inhabitants import MissingError  # noqa: E402
from prediction_figure import Row  # noqa: E402

from steelyard import build  # noqa: E402
from steelyard.machine import describe  # noqa: E402
from steelyard.model import Machine  # noqa: E402
from steelyard.units import quantity  # noqa: E402
from steelyard.whatif.network import Receive  # noqa: E402

KEPT = ROOT / ".bench" / "predictions"
FIGURE = ROOT / "docs" / "images" / "predictions.svg"
CONDITIONS = {
    "delay 0.1 ms": Conditions(delay=1e-4),
    "delay 1 ms": Conditions(delay=1e-3),
    "delay 10 ms": Conditions(delay=1e-2),
    "10 Mbit/s": Conditions(rate=1e7),
    "100 Mbit/s": Conditions(rate=1e8),
    "1 Gbit/s": Conditions(rate=1e9),
    "loss 0.1 %, RTO 200 ms": Conditions(loss=1e-3),
    "loss 0.1 %, RTO 5 ms": Conditions(loss=1e-3, rto=5e-3),
    "loss 1 %, RTO 200 ms": Conditions(loss=1e-2),
    "loss 1 %, RTO 5 ms": Conditions(loss=1e-2, rto=5e-3),
}
DRAWS = 4  # runs of a lossy condition in each round: they differ by what is lost


@dataclass(frozen=True)
class Site:
    """Where the programs run."""

    cluster: Cluster
    link: Emulator
    machine: Machine
    folder: Path


@contextlib.contextmanager
def site() -> Iterator[Site]:
    """Four hosts, joined by the emulator."""
    prepare()
    with tempfile.TemporaryDirectory() as name, Cluster(4) as cluster, emulator(cluster, Path(name)) as link:
        yield Site(cluster, link, describe(), Path(name))


def measured(at: Site, of: replayed.Built, rounds: int) -> dict[str, list[float]]:
    """Seconds by condition; "" is the undisturbed program, before each of them."""
    found: dict[str, list[float]] = {"": []}
    for number in range(rounds):
        for name, conditions in CONDITIONS.items():
            at.link.impose(UNDISTURBED)
            found[""].append(replayed.measured(at.cluster, of).kernel)
            draws = DRAWS if conditions.loss else 1
            for draw in range(draws):
                at.link.impose(conditions, seed=1 + number * DRAWS + draw)
                found.setdefault(name, []).append(replayed.measured(at.cluster, of).kernel)
            print(f"round {number + 1}  {of.program.name:<8} {name:<24}{quantity(found[name][-1], 's')}", flush=True)
    return found


def rows(program: str, trace: Path, times: dict[str, list[float]], machine: Machine, receive: Receive) -> list[Row]:
    """Each condition that the rule for a receive knows, with its prediction."""
    found = []
    with replayed.replay(trace, machine) as asked:
        network = replayed.calibrated(asked, statistics.median(times[""]), receive)
        for name, conditions in CONDITIONS.items():
            if receive == "stream" and conditions.loss:
                continue
            said = replayed.predicted(asked, network, conditions)
            # Of losses the mean of the runs: most lose little, and a few wait for time-outs.
            real = statistics.fmean(times[name]) if conditions.loss else statistics.median(times[name])
            spread = min(times[name]), max(times[name])
            found.append(Row(program, name, real, spread, said.time, (said.low, said.high)))
    return found


def series(rounds: int, machine: Machine) -> None:
    """Measures all programs and keeps the traces and times."""
    mpi = build.resolve_mpi("/usr/bin/mpicxx.openmpi", machine)
    KEPT.mkdir(parents=True, exist_ok=True)
    with site() as at:
        for program in replayed.PROGRAMS:
            of = replayed.built(program, mpi, machine, at.folder)
            times = measured(at, of, rounds)
            at.link.impose(UNDISTURBED)
            trace = KEPT / f"{program.name}-trace"
            for path in trace.glob("*"):
                path.unlink()
            replayed.traced(at.cluster, of, trace, machine)
            (KEPT / f"{program.name}.json").write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


def table(found: list[Row]) -> None:
    """Prints what was measured and predicted."""
    print(
        f"{'program':<9}{'condition':<24}{'measured':>10}{'predicted':>11}{'error':>8}   runs, and draws of the replay"
    )
    for row in found:
        spread = " – ".join(quantity(x, "s") for x in row.spread)
        drawn = f"; {' – '.join(quantity(x, 's') for x in row.drawn)}" if "loss" in row.condition else ""
        print(
            f"{row.program:<9}{row.condition:<24}{quantity(row.measured, 's'):>10}{quantity(row.predicted, 's'):>11}"
            f"{100 * row.error:>+7.1f}%   {spread}{drawn}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="predict anew from what was measured last")
    parser.add_argument("--figure", action="store_true", help=f"draw {FIGURE.relative_to(ROOT)}")
    asked = parser.parse_args()
    machine = describe()
    if not asked.again:
        try:
            series(asked.rounds, machine)
        except MissingError as missing:
            sys.exit(str(missing))
    names = [p.name for p in replayed.PROGRAMS if (KEPT / f"{p.name}.json").is_file()]
    if not names:
        sys.exit("Nothing was measured yet: leave out --again.")
    times = {name: json.loads((KEPT / f"{name}.json").read_text()) for name in names}
    found: dict[Receive, list[Row]] = {
        receive: [row for name in names for row in rows(name, KEPT / f"{name}-trace", times[name], machine, receive)]
        for receive in get_args(Receive)
    }
    for receive, of in found.items():
        print(f"\nreceive={receive}")
        table(of)
    if asked.figure:
        FIGURE.write_text(prediction_figure.drawn(found["whole"]), encoding="utf-8")


if __name__ == "__main__":
    main()
