"""OpenMP's threads beside our own: the same text of NPB's EP, MG and CG on both, and on the runtimes of several compilers.

`make bench` calls it. Each round has each program with each kind of threads, in an order of its own, each in a fresh process
on the same processors. Wanted is that OpenMP takes at most 3 % longer. It asserts nothing: it prints times and ratios, and writes
.bench/openmp.json.
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

from steelyard.errors import SteelyardError, UsageError
from steelyard.measure import build
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.measure.machine import describe, openmp
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.machine.placement import place
from steelyard.measure.plan import catalogue
from steelyard.measure.records.writing import write_whole
from steelyard.model import Machine, Toolchain
from steelyard.model.plain import to_plain

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
CODES = {"ep": "W", "mg": "A", "cg": "A"}  # and the class: tenths of a second on a core
Executables = dict[tuple[str, str], Path]  # by toolchain and program


@dataclass(frozen=True)
class Entry:
    """One of `CODES`, built by a compiler, on so many threads of a kind ("threads": our own, "openmp")."""

    code: str
    toolchain: str
    model: str
    threads: int


@dataclass(frozen=True)
class Measurement:
    """An entry once: seconds of its region, the least of three. None: it failed, as `error` says."""

    round: int
    entry: Entry
    seconds: float | None
    around: Around
    error: str = ""


def main() -> int:
    """The series, the table and the file. Exit code 0 unless it cannot be built."""
    parser = argparse.ArgumentParser(prog="bench/openmp.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each case once in each (default 5)")
    parser.add_argument("--threads", default="2", help="such as 1,2 (default 2)")
    parser.add_argument("--toolchains", default="gcc,clang", help="those that are here (default gcc,clang)")
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
    write_whole(FOLDER / "openmp.json", json.dumps({"series": to_plain(found)}, indent=1))
    return 0


def series(asked: argparse.Namespace) -> list[Measurement]:
    """Every entry once in each round, in an order of the round's own."""
    machine, known = describe(), catalogue.find()
    chosen = usable(asked.toolchains.split(","), machine)
    programs: Executables = {}
    for toolchain in chosen:
        made = build.build([known[f"application.npb_{code}"] for code in CODES], toolchain)
        programs |= {(toolchain.name, name): path for name, path in made.items()}
    entries = [
        Entry(code, toolchain.name, model, int(n))
        for code in CODES
        for toolchain in chosen
        for model in ("threads", "openmp")
        for n in asked.threads.split(",")
    ]
    chance, found = random.Random(asked.seed), list[Measurement]()
    with pace.watching(machine, chosen[0]) as watch:
        for number in range(1, asked.rounds + 1):
            for entry in chance.sample(entries, len(entries)):
                wait_until_quiet(asked.patience)
                once = watch.measure(lambda e=entry: seconds(e, machine, programs), machine.cpus[: entry.threads])
                found.append(Measurement(number, entry, once.value, once.around, once.error))
                text = once.error or f"{once.value or 0:.4f} s"
                print(
                    f"round {number}/{asked.rounds}  {named(entry)}: {text}{pace.note(once.around)}",
                    file=sys.stderr,
                    flush=True,
                )
    return pace.judged(found)


def usable(names: Sequence[str], machine: Machine) -> list[Toolchain]:
    """The compilers that are here and have a runtime. MachineFailed or UsageError where there is none."""
    found = []
    for name in names:
        try:
            toolchain = build.resolve(name, machine)
        except UsageError as error:
            print(f"bench: without {name}: {error}", file=sys.stderr)
            continue
        if build.has_openmp(toolchain):
            found.append(toolchain)
        else:
            print(f"bench: without {name}: it has no OpenMP runtime (apt-get install libomp-dev)", file=sys.stderr)
    if not found:
        raise UsageError("No compiler with an OpenMP runtime is left.")
    return found


def named(entry: Entry) -> str:
    return f"{entry.code}, {entry.toolchain}, {entry.model}, {entry.threads}"


def seconds(entry: Entry, machine: Machine, programs: Executables) -> float:
    """Of an entry in a fresh process: the least of three samples."""
    name = build.program_name(f"application.npb_{entry.code}", entry.model)
    around = local.environment(machine)
    if entry.model == "openmp":
        around = openmp.environment(machine, {"threads": entry.threads}, around)
    cpus = ",".join(map(str, place(machine, entry.threads, "compact") or ()))
    words = f"kernel={entry.code} class={CODES[entry.code]} model={entry.model} least=3 most=3 threads={entry.threads}"
    program = Program([str(programs[entry.toolchain, name])], around)
    try:
        answer = program.ask(f"case=0 {words} cpus={cpus}", 600)
    finally:
        program.close()
    if "error" in answer or not answer["check"]["passed"]:
        raise ValueError(str(answer.get("error") or answer["check"]["detail"]))
    return min(map(float, answer["samples"]))


def show(found: Sequence[Measurement]) -> None:
    """Of each program, compiler and number of threads the times, and OpenMP's over ours."""
    print()
    for own in dict.fromkeys(m.entry for m in found if m.entry.model == "threads"):
        other = Entry(own.code, own.toolchain, "openmp", own.threads)
        ours, theirs = rounds(found, own), rounds(found, other)
        if ours and theirs:
            times = [median(value for value, _ in side.values()) for side in (ours, theirs)]
            print(f"{own.code}, {own.toolchain}, {own.threads} threads: ours {times[0]:.4f} s, OpenMP {times[1]:.4f} s")
            print(f"  OpenMP over ours (wanted at most 1.03): {sentence(ratio(theirs, ours))}")
    print("\n" + paces((named(m.entry), m.around) for m in found))


def rounds(found: Sequence[Measurement], entry: Entry) -> Rounds:
    """What an entry took in each round."""
    return {m.round: (m.seconds, m.around.full) for m in found if m.entry == entry and m.seconds is not None}


if __name__ == "__main__":
    sys.exit(main())
