"""The kernels of a node beside the site's BLAS and FFTW, the standard library's parallel sort, and the memory's roof.

`make bench` calls it. One alternating series: every case once in each round, in shuffled order. It asserts nothing: it
prints ratios and writes .bench/nodes.json. The roof of a kernel that streams is the best traffic of STREAM's Triad in the same
series.
"""

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from steelyard import build, catalogue
from steelyard.errors import SteelyardError
from steelyard.launch.program import Program
from steelyard.machine import describe
from steelyard.machine.load import wait_until_quiet
from steelyard.records import write_whole
from steelyard.units import quantity

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
SORT = Path(__file__).with_name("sort.cpp")
LARGE = 1 << 26  # elements of long vectors: four times the caches of most processors


@dataclass(frozen=True)
class Contender:
    """A case: what it is called, its program, its words, the work that its figure counts, and with whom it is compared."""

    name: str
    program: str
    words: str
    work: str
    peer: str = ""
    wanted: float = 0.0  # of the ratio to the peer


def contenders(triad: int) -> list[Contender]:
    """Ours and those beside them; `triad` elements are by STREAM's rule."""
    roof = "memory's roof"
    return [
        *(Contender(f"triad, {s} stores", "memory.stream", f"kernel=triad elements={triad} stores={s}", "bytes_moved")
          for s in ("ordinary", "streaming")),
        Contender("vector", "node.vector", f"kernel=vector elements={LARGE}", "bytes_moved", roof, 0.9),
        Contender("stencil, as moved", "node.stencil", "kernel=stencil elements=134217728 stores=ordinary",
                  "bytes_moved", roof, 0.9),
        Contender("stencil, 16 B a point", "node.stencil", "kernel=stencil elements=134217728", "bytes", roof, 0.9),
        Contender("reduction", "node.reduction", f"kernel=reduction elements={2 * LARGE}", "bytes", roof, 0.9),
        Contender("spmv", "node.spmv", "kernel=spmv elements=2097152", "bytes", roof, 0.9),
        Contender("blas", "node.matmul", "kernel=blas order=1024", "flops"),
        Contender("matmul", "node.matmul", "kernel=matmul order=1024", "flops", "blas", 0.6),
        Contender("fftw, 2^16", "node.fft", "kernel=fftw elements=65536", "flops"),
        Contender("fft, 2^16", "node.fft", "kernel=fft elements=65536", "flops", "fftw, 2^16", 0.5),
        Contender("fftw, 2^22", "node.fft", "kernel=fftw elements=4194304", "flops"),
        Contender("fft, 2^22", "node.fft", "kernel=fft elements=4194304", "flops", "fftw, 2^22", 0.5),
        Contender("parallel sort", "sort", "kernel=sort elements=4194304", "items"),
        Contender("mergesort", "node.mergesort", "kernel=mergesort elements=4194304", "items", "parallel sort", 0.9),
    ]  # fmt: skip


def main() -> int:
    """The series, the table and the file. Exit code 0 unless ours cannot be built."""
    parser = argparse.ArgumentParser(prog="bench/nodes.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each case once in each (default 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each case (default 0.5)")
    parser.add_argument("--only", default="", help="cases whose name holds this, and the roof")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for quiet (default 60)")
    asked = parser.parse_args()
    try:
        found, failed = series(asked)
    except SteelyardError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    show(found, failed)
    FOLDER.mkdir(exist_ok=True)
    plain = [{"name": n, "threads": t, "values": v} for (n, t), v in found.items()]
    write_whole(FOLDER / "nodes.json", json.dumps({"figures": plain, "failed": failed}, indent=1))
    return 0


Figures = dict[tuple[str, int], list[float]]  # (name, threads) → work a second, one for each round


def series(asked: argparse.Namespace) -> tuple[Figures, dict[str, str]]:
    """What every case reached in every round, and why a case failed."""
    from steelyard.benchmarks.memory import stream

    machine = describe()
    toolchain = build.resolve("gcc", machine)
    known = catalogue.find()
    programs = build.build([known[n] for n in known if n.startswith("node.") or n == "memory.stream"], toolchain)
    programs["sort"] = FOLDER / "sort"
    FOLDER.mkdir(exist_ok=True)
    flags = [*toolchain.flags.split(), "-std=c++20", "-fopenmp", f"-I{build.NATIVE}"]
    parts = [SORT, *build.harness(toolchain)]
    subprocess.run([toolchain.compiler, *flags, *parts, "-o", programs["sort"], "-lpthread", "-ldl"], check=True)
    running: dict[str, Program] = {}
    found: Figures = defaultdict(list)
    failed: dict[str, str] = {}
    cases = [(c, t) for c in contenders(stream.elements(machine)) for t in sorted({1, min(2, len(machine.cpus))})]
    cases = [(c, t) for c, t in cases if asked.only in c.name or c.name.startswith("triad")]
    chance = random.Random(asked.seed)
    try:
        for number in range(asked.rounds):
            for contender, threads in chance.sample(cases, len(cases)):
                if contender.name in failed:
                    continue
                wait_until_quiet(asked.patience)
                program = running.get(contender.program) or Program([str(programs[contender.program])], {})
                running[contender.program] = program
                cpus = ",".join(map(str, machine.cpus[:threads]))
                # The library's threads are placed by the system: they would share the processor of the thread that starts them.
                where = f"sorters={threads}" if contender.program == "sort" else f"threads={threads} cpus={cpus}"
                answer = program.ask(
                    f"case=1 {contender.words} {where} seconds={asked.seconds} least=3 most=500 width=0.005", 300
                )
                if "error" in answer or not answer["check"]["passed"]:
                    failed[contender.name] = str(answer.get("error") or answer["check"]["detail"])
                    continue
                rate = answer["work"][contender.work] / median(answer["samples"])
                found[contender.name, threads].append(rate)
                print(
                    f"round {number + 1}  {contender.name}, {threads}: {rate / 1e9:.2f} G/s",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        for program in running.values():
            program.close()
    return found, failed


def show(found: Figures, failed: dict[str, str]) -> None:
    """The table: medians over the rounds, and of the ratio to the peer within each round its median and range."""
    table = Table("case", "threads", "median", "beside", "ratio (least … most)", "wanted")
    by_name = {c.name: c for c in contenders(0)}
    for (name, threads), values in sorted(
        found.items(), key=lambda item: (item[0][1], list(by_name).index(item[0][0]))
    ):
        contender = by_name[name]
        unit = {"flops": "flop/s", "items": "1/s"}.get(contender.work, "B/s")
        peers = roofs(found, threads) if contender.peer == "memory's roof" else found.get((contender.peer, threads), [])
        ratios = sorted(a / b for a, b in zip(values, peers, strict=False))
        told = f"{median(ratios):.3f} ({ratios[0]:.3f} … {ratios[-1]:.3f})" if ratios else ""
        table.add_row(name, str(threads), quantity(median(values), unit), contender.peer, told,
                      f"≥ {contender.wanted:g}" if contender.peer else "")  # fmt: skip
    Console().print(table)
    for name, reason in failed.items():
        print(f"Left out: {name}: {reason}")


def roofs(found: Figures, threads: int) -> list[float]:
    """In each round the best traffic of Triad."""
    both = [found.get((f"triad, {stores} stores", threads), []) for stores in ("ordinary", "streaming")]
    return [max(values) for values in zip(*both, strict=False)]


if __name__ == "__main__":
    sys.exit(main())
