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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pace
from pace import Around, Watch
from ratios import Ratio, Rounds, cells, layout, paces, ratio

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.benchmarks.memory import stream
from steelyard.measure.launch.program import Program
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.plan import catalogue
from steelyard.measure.records.writing import write_whole
from steelyard.model import Machine
from steelyard.model.plain import to_plain
from steelyard.model.units import quantity

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
ROOF = "memory's roof"
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


@dataclass(frozen=True)
class Measurement:
    """A case once: its work a second. `rate` None: it failed, as `error` says."""

    round: int
    name: str
    threads: int
    rate: float | None
    around: Around
    error: str = ""


def contenders(triad: int) -> list[Contender]:
    """Ours and those beside them; `triad` elements are by STREAM's rule."""
    return [
        *(Contender(f"triad, {s} stores", "memory.stream", f"kernel=triad elements={triad} stores={s}", "bytes_moved")
          for s in ("ordinary", "streaming")),
        Contender("vector", "node.vector", f"kernel=vector elements={LARGE}", "bytes_moved", ROOF, 0.9),
        Contender("stencil, as moved", "node.stencil", "kernel=stencil elements=134217728 stores=ordinary",
                  "bytes_moved", ROOF, 0.9),
        Contender("stencil, 16 B a point", "node.stencil", "kernel=stencil elements=134217728", "bytes", ROOF, 0.9),
        Contender("reduction", "node.reduction", f"kernel=reduction elements={2 * LARGE}", "bytes", ROOF, 0.9),
        Contender("spmv", "node.spmv", "kernel=spmv elements=2097152", "bytes", ROOF, 0.9),
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
        found = series(asked)
    except SteelyardError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    show(found)
    write_whole(FOLDER / "nodes.json", json.dumps({"series": to_plain(found)}, indent=1))
    return 0


def series(asked: argparse.Namespace) -> list[Measurement]:
    """Every case once in each round, in an order of the round's own; one that failed is left out from then on."""
    machine = describe()
    toolchain = build.resolve("gcc", machine)
    programs = prepare(toolchain)
    counts = sorted({1, min(2, len(machine.cpus))})
    cases = [(c, t) for c in contenders(stream.elements(machine)) for t in counts]
    cases = [(c, t) for c, t in cases if asked.only in c.name or c.name.startswith("triad")]
    chance = random.Random(asked.seed)
    running: dict[str, Program] = {}
    found: list[Measurement] = []
    try:
        with pace.watching(machine, toolchain) as watch:
            for number in range(1, asked.rounds + 1):
                for contender, threads in chance.sample(cases, len(cases)):
                    if any(m.error for m in found if m.name == contender.name):
                        continue
                    wait_until_quiet(asked.patience)
                    program = running.get(contender.program) or Program([str(programs[contender.program])], {})
                    running[contender.program] = program
                    words = f"case=1 {contender.words} seconds={asked.seconds} least=3 most=500 width=0.005"
                    found.append(measure(contender, threads, number, machine, program, words, watch))
                    print(f"round {number}  {told(found[-1])}", file=sys.stderr, flush=True)
    finally:
        for program in running.values():
            program.close()
    return pace.judged(found)


def prepare(toolchain: build.Toolchain) -> dict[str, Path]:
    """The programs by name: ours, and the standard library's sort in our harness."""
    known = catalogue.find()
    programs = build.build([known[n] for n in known if n.startswith("node.") or n == "memory.stream"], toolchain)
    programs["sort"] = FOLDER / "sort"
    FOLDER.mkdir(exist_ok=True)
    flags = [*toolchain.flags.split(), "-std=c++20", "-fopenmp", f"-I{build.NATIVE}"]
    parts = [SORT, *build.harness(toolchain)]
    subprocess.run([toolchain.compiler, *flags, *parts, "-o", programs["sort"], "-lpthread", "-ldl"], check=True)
    return programs


def measure(
    contender: Contender, threads: int, number: int, machine: Machine, program: Program, words: str, watch: Watch
) -> Measurement:
    """Asks the program once."""
    cpus = machine.cpus[:threads]
    # The library's threads are placed by the system: they would share the processor of the thread that starts them.
    alone = contender.program == "sort"
    where = f"sorters={threads}" if alone else f"threads={threads} cpus={','.join(map(str, cpus))}"

    def rate() -> float:
        answer = program.ask(f"{words} {where}", 300)
        if "error" in answer or not answer["check"]["passed"]:
            raise ValueError(str(answer.get("error") or answer["check"]["detail"]))
        return float(answer["work"][contender.work] / median(answer["samples"]))

    once = watch.measure(rate, () if alone else cpus)
    return Measurement(number, contender.name, threads, once.value, once.around, once.error)


def told(found: Measurement) -> str:
    """A measurement in one line."""
    rate = f"failed: {found.error}" if found.rate is None else f"{found.rate / 1e9:.2f} G/s"
    return f"{found.name}, {found.threads}: {rate}{pace.note(found.around)}"


def show(found: Sequence[Measurement]) -> None:
    """The table: medians over the rounds, and of the ratio to the peer within each round its median and range."""
    rows = [["case", "threads", "median", "beside", "ratio", "rounds", "all rounds", "wanted"]]
    for threads in sorted({m.threads for m in found}):
        for contender in contenders(0):
            values = rounds(found, contender.name, threads)
            if not values:
                continue
            unit = {"flops": "flop/s", "items": "1/s"}.get(contender.work, "B/s")
            rate = quantity(median(v for v, _ in values.values()), unit)
            beside = cells(standing(found, contender, threads)) if contender.peer else ["", "", ""]
            wanted = f"≥ {contender.wanted:g}" if contender.peer else ""
            rows.append([contender.name, str(threads), rate, contender.peer, *beside, wanted])
    print(f"\n{layout(rows)}\n")
    print(paces((f"{m.name}, {m.threads}", m.around) for m in found))
    for m in found:
        if m.error:
            print(f"Left out: {m.name}: {m.error}")


def standing(found: Sequence[Measurement], contender: Contender, threads: int) -> Ratio:
    """A case beside its peer."""
    own = rounds(found, contender.name, threads)
    return ratio(own, roofs(found, threads) if contender.peer == ROOF else rounds(found, contender.peer, threads))


def rounds(found: Sequence[Measurement], name: str, threads: int) -> Rounds:
    """What a case reached in each round."""
    here = [m for m in found if (m.name, m.threads) == (name, threads)]
    return {m.round: (m.rate, m.around.full) for m in here if m.rate is not None}


def roofs(found: Sequence[Measurement], threads: int) -> Rounds:
    """In each round the best traffic of Triad."""
    one, other = (rounds(found, f"triad, {stores} stores", threads) for stores in ("ordinary", "streaming"))
    return {n: (max(one[n][0], other[n][0]), one[n][1] and other[n][1]) for n in one if n in other}


if __name__ == "__main__":
    sys.exit(main())
