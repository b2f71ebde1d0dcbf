"""Ping-pong and Sendrecv of Steelyard beside those of Intel MPI Benchmarks (IMB), on the same MPIs and processors.

`make bench` calls it. One alternating series: in each round every MPI and pattern, and within it both sides with reused
and with fresh buffers, in shuffled order. It asserts nothing: it prints ratios and writes .bench/messages.json.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pace
from contenders import LIMIT
from hpcc import MissingError
from imb import PATTERNS, SIZES, Ground, last_level_caches, off_cache, on_intel, on_mpich, on_site, printed
from pace import Watch
from peers import FOLDER, first_line, positive
from ratios import layout, paces
from sweeps import OURS, SMALL, WIDTH, Measurement, Sweep, our_sweep, standings, summary, table, their_sweep

from steelyard import build, catalogue
from steelyard.errors import SteelyardError
from steelyard.launch.program import Program
from steelyard.machine import describe
from steelyard.machine.load import wait_until_quiet
from steelyard.model import Machine, Tool
from steelyard.plain import to_plain
from steelyard.records import write_whole
from steelyard.units import binary_size, duration, percent, quantity

# Seconds, least and most samples of a size: what a standard run would take is longer, and reaches the width more often.
SAMPLING = "width=0.02 seconds=0.5 least=10 most=2000"
FRESH = (
    8,
    4096,
    1 << 17,
    1 << 20,
    1 << 22,
)  # bytes: ours with fresh buffers; 128 KiB is compared, page faults are counted in all


@dataclass(frozen=True)
class Contender:
    """One side of a pair. `measure` runs it once, on these processors."""

    mpi: str
    pattern: str
    side: str
    buffers: str
    measure: Callable[[], Sweep]
    cpus: tuple[int, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """The series, the table and the file. Exit code 0 unless ours itself cannot be built."""
    asked = options().parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    try:
        report = compare(asked)
    except SteelyardError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    write_whole(FOLDER / "messages.json", json.dumps(to_plain(report), indent=1))
    print(f"\nEverything is in {os.path.relpath(FOLDER / 'messages.json')}.")
    return 0


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/messages.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=5, help="both sides once in each (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--toolchain", help="for our programs and the plain loop (default: GCC)")
    parser.add_argument("--only", default="", help="MPIs or patterns whose name holds this")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds to wait for quiet (default 30)")
    parser.add_argument("--no-install", action="store_true", help="install nothing from PyPI")
    return parser


def compare(asked: argparse.Namespace) -> dict[str, Any]:
    """Carries out the series and prints the table; plain data of all that was measured."""
    report: dict[str, Any] = {"started": datetime.now().astimezone().isoformat(timespec="seconds")}
    machine = describe()
    toolchain = build.resolve(asked.toolchain or build.default(machine), machine)
    found, missing = grounds(machine, toolchain, not asked.no_install)
    caches = last_level_caches(machine)
    present = [c for g in found for c in contenders_on(g, caches) if asked.only in f"{c.mpi} {c.pattern}"]
    print(f"{machine.processor}, last-level caches {binary_size(caches)}, {toolchain.name}, {asked.rounds} rounds")
    for ground in found:
        print(f"{ground.mpi}: ours beside {ground.peer} on the processors {ground.cpus}; both load {ground.libmpi}")
    for reason in missing:
        print(f"Left out: {reason}")
    with pace.watching(machine, toolchain) as watch:
        series = carry_out(present, asked.rounds, asked.seed, lambda: wait_until_quiet(asked.patience), watch)
    if series:
        print(f"\n{layout(table(series))}\n\n{how_to_read()}\n{explanation(series)}\n\n" + "\n".join(summary(series)))
    return report | {
        "machine": {"processor": machine.processor, "system": machine.system, "cpus": machine.cpus},
        "toolchain": vars(toolchain),
        "sampling": SAMPLING,
        "grounds": [{"mpi": g.mpi, "peer": g.peer, "cpus": g.cpus, "library": g.libmpi} for g in found],
        "seed": asked.seed,
        "missing": missing,
        "series": series,
        "standings": standings(series),
    }


def grounds(machine: Machine, toolchain: build.Toolchain, install: bool) -> tuple[list[Ground], list[str]]:
    """The MPIs on which both sides run, and why the others are left out."""
    known = catalogue.find()
    benchmarks = {pattern: known[f"network.{pattern}"] for pattern in PATTERNS if f"network.{pattern}" in known}

    def programs(mpi: Tool) -> Mapping[str, Path]:
        built = build.build(benchmarks.values(), toolchain, mpi)
        return {pattern: built[benchmark.name] for pattern, benchmark in benchmarks.items()}

    found: list[Ground] = []
    missing: list[str] = []
    for make in (
        lambda: on_mpich(machine, programs, install),
        lambda: on_intel(machine, programs, install),
        lambda: on_site(machine, programs, toolchain.compiler, FOLDER),
    ):
        try:
            found.append(make())
        except MissingError as reason:
            missing += [str(reason)] if str(reason) not in missing else []
    return found, missing


def contenders_on(ground: Ground, caches: int) -> list[Contender]:
    """Both sides with both kinds of buffers, in each pattern."""
    walk = off_cache(caches) if ground.peer == "imb" else [str(caches)]
    further = {"reused": [], "fresh": walk}
    return [
        c
        for pattern in ground.ours
        for buffers, words in further.items()
        for c in (
            Contender(
                *(ground.mpi, pattern, OURS, buffers), lambda p=pattern, b=buffers: ask(ground, p, b), ground.cpus
            ),
            Contender(
                *(ground.mpi, pattern, ground.peer, buffers),
                lambda p=pattern, w=words: their_sweep(printed(ground.theirs, PATTERNS[p], *w)),
                ground.cpus,
            ),
        )
    ]


def ask(ground: Ground, pattern: str, buffers: str) -> Sweep:
    """Our native program, asked for each size through the harness's protocol."""
    start = ground.ours[pattern]
    began = time.monotonic()
    conversation = Program(start.command(), start.environment, 2)
    try:
        # Answered, with an error, as soon as MPI has started: the sweep is timed from there on, as that of the peer is.
        conversation.ask("case=0 kernel=none", LIMIT)
        asked = time.monotonic()
        line = f"case=0 kernel={pattern} ranks=2 buffers={buffers} {SAMPLING} limit=20 message_bytes="
        answers = {n: conversation.ask(line + str(n), LIMIT) for n in (SIZES if buffers == "reused" else FRESH)}
        answered = time.monotonic()
    finally:
        conversation.close()
    return our_sweep(answers, pattern, ground.cpus, answered - asked, time.monotonic() - began)


# --------------------------------------------------------------------------- the series


def carry_out(
    present: Sequence[Contender], rounds: int, seed: int, wait: Callable[[], bool], watch: Watch
) -> list[Measurement]:
    """All in each round, pair by pair: sides that are compared follow each other, in an order of the round's own."""
    chance = random.Random(seed)
    pairs = sorted({(c.mpi, c.pattern) for c in present})
    series: list[Measurement] = []
    for number in range(1, rounds + 1):
        for pair in chance.sample(pairs, len(pairs)):
            sides = [c for c in present if (c.mpi, c.pattern) == pair]
            for contender in chance.sample(sides, len(sides)):
                series.append(measure(contender, number, wait(), watch))
                print(f"round {number}/{rounds}  {told(series[-1])}", file=sys.stderr, flush=True)
    return pace.judged(series)


def measure(contender: Contender, number: int, waited: bool, watch: Watch) -> Measurement:
    """Runs it once."""
    once = watch.measure(contender.measure, contender.cpus, line=True)
    names = contender.mpi, contender.pattern, contender.side, contender.buffers
    return Measurement(number, *names, once.value, once.around, waited, once.error)


def told(found: Measurement) -> str:
    """A measurement in one line."""
    what = f"{found.mpi} {found.pattern} {found.side} {found.buffers}"
    if found.sweep is None:
        return f"{what:<44} failed: {first_line(found.error)}"
    at_8, took = quantity(found.sweep.points[SMALL].seconds, "s"), duration(found.sweep.sweep)
    return f"{what:<44} {at_8} at {SMALL} B, {took} of {duration(found.sweep.whole)}{pace.note(found.around)}"


def how_to_read() -> str:
    """What the table of the sweeps compares."""
    return (
        "Medians over the rounds; ratios are paired by round: median [low, high]. The peer's time is always its mean.\n"
        f"Ours samples each size until ± {percent(WIDTH)} or 0.5 s; the peer counts its repetitions once for all."
    )


def explanation(series: Sequence[Measurement]) -> str:
    """At what pace both sides were measured, and what failed."""
    sides = ((f"{m.mpi} {m.pattern} {m.side}", m.around) for m in series)
    failed = sorted({f"{m.mpi} {m.pattern} {m.side}: {first_line(m.error)}" for m in series if m.sweep is None})
    return "\n".join([paces(sides), *(f"Failed: {what}" for what in failed)])


if __name__ == "__main__":
    raise SystemExit(main())
