"""Triad bandwidth of Steelyard beside HPCC's STREAM and likwid-bench, and the tool's own cost.

`make bench` calls it. One alternating series: every contender once in each round, in shuffled order.
It asserts nothing: it prints ratios, says which are too low, and writes .bench/peers.json.
"""

import argparse
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import contenders
import hpcc
import overhead
import pace
from contenders import Contender
from hpcc import MissingError
from pace import Watch
from ratios import Measurement, layout, paces, standings, summary, table

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.benchmarks.memory import stream
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.plan import catalogue
from steelyard.measure.records.writing import write_whole
from steelyard.model import Machine
from steelyard.model.plain import to_plain
from steelyard.model.units import duration, percent

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
HELP_WANTED = 0.3  # seconds
OVERHEAD_WANTED = 0.10  # of a quick run
# C++ compilers and the C compilers of the same family and version.
C_COMPILERS = {"clang++": "clang", "g++": "gcc", "icpx": "icx"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The series, the overhead, and the file. Exit code 0 unless ours itself cannot be built or run."""
    asked = options().parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    report: dict[str, Any] = {"started": datetime.now().astimezone().isoformat(timespec="seconds")}
    try:
        report |= triads(asked)
        write(report)
        report["cost"] = cost(asked)
    except SteelyardError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    write(report)
    print(f"\nEverything is in {os.path.relpath(FOLDER / 'peers.json')}.")
    return 0


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/peers.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=5, help="each contender once in each (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--threads", type=counts, help="such as 1,2 (default: 1, 2 and all)")
    parser.add_argument("--elements", type=positive, help="of a vector (default: four times the caches)")
    parser.add_argument("--toolchain", help="for our program and HPCC's (default: GCC)")
    parser.add_argument("--only", default="", help="contenders whose name holds this, beside ours")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for quiet (default 60)")
    parser.add_argument("--no-install", action="store_true", help="install nothing with the package manager")
    parser.add_argument("--run", type=Path, help="take the overhead from this run instead of a new quick one")
    parser.add_argument("--no-run", action="store_true", help="leave the overhead of a run out")
    return parser


def positive(text: str) -> int:
    """A whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' must be at least 1")
    return value


def counts(text: str) -> list[int]:
    """'1,2' → [1, 2]."""
    return [positive(word) for word in text.split(",")]


# --------------------------------------------------------------------------- the series


def triads(asked: argparse.Namespace) -> dict[str, Any]:
    """Carries out the series and prints the table; plain data of all that was measured."""
    machine = describe()
    toolchain = build.resolve(asked.toolchain or build.default(machine), machine)
    elements = asked.elements or stream.elements(machine)
    threads = asked.threads or sorted({1, min(2, len(machine.cpus)), len(machine.cpus)})
    present, missing = gather(asked, machine, toolchain, elements, threads)
    size = f"{elements} elements a vector ({contenders.BYTES * elements / 1e9:.2f} GB in all)"
    print(f"{machine.processor}, {size}, {toolchain.name} {toolchain.flags}, {asked.rounds} rounds")
    for reason in missing:
        print(f"Left out: {reason}")
    with pace.watching(machine, toolchain) as watch:
        series = carry_out(present, asked.rounds, asked.seed, lambda: wait_until_quiet(asked.patience), watch)
    print("\n" + layout(table(series)))
    print(f"\n{explanation(series)}\n")
    print("\n".join(summary(series)))
    return {
        "machine": {"processor": machine.processor, "system": machine.system, "cpus": machine.cpus},
        "toolchain": vars(toolchain),
        "elements": elements,
        "seed": asked.seed,
        "missing": missing,
        "series": to_plain(series),
        "standings": to_plain(standings(series)),
    }


def gather(
    asked: argparse.Namespace,
    machine: Machine,
    toolchain: build.Toolchain,
    elements: int,
    threads: Sequence[int],
) -> tuple[list[Contender], list[str]]:
    """Everyone who can take part, and why the others cannot."""
    benchmark = catalogue.find()["memory.stream"]
    own = build.build([benchmark], toolchain)[benchmark.name]
    stores = ("ordinary", "streaming")
    found = [contenders.ours(own, machine, s, t, elements) for s in stores for t in threads]
    missing: list[str] = []

    def attempt(make: Callable[[], list[Contender]]) -> None:
        try:
            found.extend(c for c in make() if asked.only in c.name)
        except MissingError as reason:
            missing.append(str(reason))

    def all_hpcc() -> list[Contender]:
        program = hpcc.prepare(FOLDER / "hpcc", c_compiler(toolchain.compiler), toolchain.flags)
        return [contenders.hpcc(program, machine, t, elements) for t in threads]

    def all_likwid() -> list[Contender]:
        kernels = contenders.find_likwid(not asked.no_install)
        return [contenders.likwid(k, machine, t, elements) for k in kernels for t in threads]

    attempt(all_hpcc)
    attempt(all_likwid)
    return found, missing


def c_compiler(compiler: str) -> str:
    """The C compiler that belongs to a C++ compiler: /usr/bin/g++-12 → /usr/bin/gcc-12."""
    path = Path(compiler)
    for plus, plain in C_COMPILERS.items():
        if plus in path.name:
            candidate = str(path.with_name(path.name.replace(plus, plain)))
            if shutil.which(candidate):
                return candidate
    raise MissingError(f"HPCC's STREAM is in C, and no C compiler goes with {compiler}")


def carry_out(
    present: Sequence[Contender], rounds: int, seed: int, wait: Callable[[], bool], watch: Watch
) -> list[Measurement]:
    """Every contender once in each round, in an order of the round's own."""
    chance = random.Random(seed)
    series: list[Measurement] = []
    for number in range(1, rounds + 1):
        for contender in chance.sample(present, len(present)):
            series.append(measure(contender, number, wait(), watch))
            print(f"round {number}/{rounds}  {told(series[-1])}", file=sys.stderr, flush=True)
    return pace.judged(series)


def measure(contender: Contender, number: int, waited: bool, watch: Watch) -> Measurement:
    """Runs it once."""
    once = watch.measure(contender.measure, contender.cpus)
    names = contender.name, contender.stores, contender.threads
    return Measurement(number, *names, once.value, once.around, waited, once.seconds, once.error)


def told(found: Measurement) -> str:
    """A measurement in one line."""
    value, statistic = contenders.figure(found.rates) if found.rates else (None, "failed")
    rate = f"{value / 1e9:.2f} GB/s ({statistic})" if value else f"failed: {first_line(found.error)}"
    what = f"{found.name}, {found.stores}, threads {found.threads}"
    return f"{what:<48} {rate}  {duration(found.seconds)}{pace.note(found.around)}"


def explanation(series: Sequence[Measurement]) -> str:
    """How to read the table, and how disturbed the series was."""
    failed = sorted({f"{m.name}: {first_line(m.error)}" for m in series if m.rates is None})
    lines = [
        "GB/s: median over the rounds of what each contender says. Best: of 10 without the first, as STREAM;",
        "mean: over its run. Alike: best with best, mean with mean, paired by round: median [low, high].",
        "",
        paces((f"{m.stores}, {m.threads}, {m.name}", m.around) for m in series),
        *(f"Failed: {what}" for what in failed),
    ]
    return "\n".join(lines)


def first_line(text: str) -> str:
    """The rest of an error is in the file."""
    return text.partition("\n")[0]


# --------------------------------------------------------------------------- the tool's own cost


def cost(asked: argparse.Namespace) -> dict[str, Any]:
    """The overhead of a quick run and the time of --help, printed; plain data."""
    seconds = overhead.help_seconds()
    late = f"  <-- ABOVE {HELP_WANTED} s" if seconds > HELP_WANTED else ""
    print(f"\nsteelyard --help: {seconds:.3f} s (median of {overhead.HELP_RUNS}){late}")
    found: dict[str, Any] = {"help_seconds": seconds, "run": None}
    if asked.no_run:
        return found
    print("Overhead of a quick run (3 to 5 minutes) …" if not asked.run else "Overhead:", flush=True)
    wait_until_quiet(asked.patience)
    run = overhead.of_run(asked.run) if asked.run else overhead.quick_run(FOLDER / "runs")
    much = run.outside is not None and run.outside > OVERHEAD_WANTED
    print(overhead.describe(run) + (f"  <-- ABOVE {percent(OVERHEAD_WANTED)}" if much else ""))
    return {**found, "run": {**to_plain(run), "outside": run.outside}}


def write(report: dict[str, Any]) -> None:
    """Whole or not at all."""
    write_whole(FOLDER / "peers.json", json.dumps(to_plain(report), indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
