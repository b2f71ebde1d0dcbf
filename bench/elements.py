"""The product of the finite elements' solver beside that of NPB CG and the memory's roof, and the speed of its assembly.

`make bench` calls it. Each round has STREAM's triad, NPB CG of class B, and solver and assembly of 64³ elements, in an order of
its own, with 1 thread and with 2. The triad's stores are ordinary: of 24 bytes that it counts the memory moves 32, and these are
the roof. Wanted is that the solver reaches the share of the roof that CG reaches. It asserts nothing: it prints shares and
ratios, and writes .bench/elements.json.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pace
from pace import Around
from ratios import Rounds, paces, ratio, sentence

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.machine.placement import place
from steelyard.measure.plan import catalogue
from steelyard.measure.records.writing import write_whole
from steelyard.model import Machine
from steelyard.model.plain import to_plain

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
MOVED = 32 / 24  # bytes that the memory moves for one that the triad counts: what is stored is read first
ELEMENTS, SHORT = "elements=262144", "least=3 most=9 seconds=1"
# What is measured: the benchmark, its model, and the words of its case.
ENTRIES = {
    "triad": ("memory.stream", "", f"kernel=triad stores=ordinary elements=16777216 {SHORT}"),
    "cg": ("application.npb_cg", "threads", "kernel=cg class=B model=threads least=1 most=1"),
    "solver": (
        "application.finite_elements",
        "threads",
        f"kernel=solver model=threads iterations=50 {ELEMENTS} {SHORT}",
    ),
    "assembly": ("application.finite_elements", "threads", f"kernel=assembly model=threads {ELEMENTS} {SHORT}"),
}
COUNTED = {"assembly": "flops"}  # in its work; bytes elsewhere


@dataclass(frozen=True)
class Entry:
    """One of `ENTRIES` with so many threads."""

    name: str
    threads: int


@dataclass(frozen=True)
class Measurement:
    """An entry once: B/s that the memory moves at least, or flop/s. `rate` None: it failed, as `error` says."""

    round: int
    entry: Entry
    rate: float | None
    around: Around
    error: str = ""


def main() -> int:
    """The series, the table and the file. Exit code 0 unless ours cannot be built."""
    parser = argparse.ArgumentParser(prog="bench/elements.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each case once in each (default 5)")
    parser.add_argument("--threads", default="1,2", help="such as 1 or 1,2 (default 1,2)")
    parser.add_argument("--only", default=",".join(ENTRIES), help="of these (default all)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for quiet (default 60)")
    asked = parser.parse_args()
    try:
        found = series(asked)
    except SteelyardError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 4
    show(found)
    FOLDER.mkdir(exist_ok=True)
    write_whole(FOLDER / "elements.json", json.dumps({"series": to_plain(found)}, indent=1))
    return 0


def series(asked: argparse.Namespace) -> list[Measurement]:
    """Every entry once in each round, in an order of the round's own."""
    machine, known = describe(), catalogue.find()
    toolchain = build.resolve("gcc", machine)
    programs = build.build([known[name] for name in dict.fromkeys(name for name, _, _ in ENTRIES.values())], toolchain)
    entries = [Entry(name, int(n)) for name in asked.only.split(",") for n in asked.threads.split(",")]
    chance, found = random.Random(asked.seed), list[Measurement]()
    with pace.watching(machine, toolchain) as watch:
        for number in range(1, asked.rounds + 1):
            for entry in chance.sample(entries, len(entries)):
                wait_until_quiet(asked.patience)
                once = watch.measure(lambda e=entry: rate(e, machine, programs), machine.cpus[: entry.threads])
                found.append(Measurement(number, entry, once.value, once.around, once.error))
                text = once.error or f"{(once.value or 0) / 1e9:.2f} G/s"
                print(
                    f"round {number}/{asked.rounds}  {entry.name}, {entry.threads}: {text}{pace.note(once.around)}",
                    file=sys.stderr,
                    flush=True,
                )
    return pace.judged(found)


def rate(entry: Entry, machine: Machine, programs: dict[str, Path]) -> float:
    """Of an entry in a fresh process: the median of its samples."""
    name, model, words = ENTRIES[entry.name]
    cpus = ",".join(map(str, place(machine, entry.threads, "compact") or ()))
    program = Program([str(programs[build.program_name(name, model)])], local.environment(machine))
    try:
        answer = program.ask(f"case=0 {words} threads={entry.threads} cpus={cpus}", 600)
    finally:
        program.close()
    if "error" in answer or not answer["check"]["passed"]:
        raise ValueError(str(answer.get("error") or answer["check"]["detail"]))
    amount = float(answer["work"][COUNTED.get(entry.name, "bytes")]) / median(answer["samples"])
    return amount * MOVED if entry.name == "triad" else amount


def show(found: Sequence[Measurement]) -> None:
    """For each number of threads the speeds, the shares of the roof, and the solver's share over that of CG."""
    for threads in sorted({m.entry.threads for m in found}):
        each = {name: rounds(found, Entry(name, threads)) for name in ENTRIES}
        print(f"\n{threads} thread{'s' if threads > 1 else ''}:")
        for name, values in each.items():
            if values:
                unit = "Gflop/s" if name in COUNTED else "GB/s"
                print(f"  {name:<9}{median(v for v, _ in values.values()) / 1e9:7.2f} {unit}")
        for above, below, words in (
            ("cg", "triad", "CG over the roof"),
            ("solver", "triad", "the solver over the roof"),
            ("solver", "cg", "the solver over CG (wanted 1)"),
        ):
            print(f"  {words}: {sentence(ratio(each[above], each[below]))}")
    print("\n" + paces((f"{m.entry.name}, {m.entry.threads}", m.around) for m in found))


def rounds(found: Sequence[Measurement], entry: Entry) -> Rounds:
    """What an entry reached in each round."""
    return {m.round: (m.rate, m.around.full) for m in found if m.entry == entry and m.rate is not None}


if __name__ == "__main__":
    sys.exit(main())
