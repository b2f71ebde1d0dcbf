"""Ping-pong and Sendrecv of Steelyard beside a plain loop and Intel MPI Benchmarks (IMB), on the same MPIs and processors.

`make bench` calls it. Two alternating series: 8 bytes beside the plain loop on every MPI that can be had; then all sizes beside
IMB: in each round every MPI and pattern, and within it both sides with reused and with fresh buffers, in shuffled order. It
asserts nothing: it prints ratios and writes .bench/messages.json.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import grounds
import pace
from contenders import LIMIT
from imb import PATTERNS, SIZES, Ground, last_level_caches, off_cache, printed
from pace import Watch
from peers import FOLDER, first_line, positive
from ratios import layout, paces
from sweeps import (
    LATENCIES,
    OURS,
    SMALL,
    WIDTH,
    Measurement,
    Sweep,
    latencies,
    our_sweep,
    standings,
    summary,
    table,
    their_sweep,
)

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.launch.program import Program
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.records.writing import write_whole
from steelyard.model import Machine
from steelyard.model.plain import to_plain
from steelyard.model.units import binary_size, duration, percent, quantity

# As a quick run samples a size of its ping-pong; a standard run takes four times as long, and reaches the width more often.
SECONDS = 0.1
SAMPLING = f"width=0.02 seconds={SECONDS} least=6 most=2000"
AT_8 = "width=1e-6 seconds=0.1 least=50 most=500"  # samples of 0.2 ms: as many round trips as the loop has, about
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
    parser.add_argument("--rounds", type=positive, default=5, help="of the sweeps: all sides once in each (default 5)")
    parser.add_argument("--pairs", type=positive, default=15, help="rounds of 8 bytes beside the loop (default 15)")
    parser.add_argument("--trips", type=positive, default=100_000, help="that the loop counts (default 100000)")
    parser.add_argument("--series", choices=("latency", "sweeps"), help="only this one (default: both)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--toolchain", help="for our programs and the plain loop (default: GCC)")
    parser.add_argument("--only", default="", help="MPIs or patterns whose name holds this")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds to wait for quiet (default 30)")
    parser.add_argument("--no-install", action="store_true", help="install nothing from PyPI")
    return parser


def compare(asked: argparse.Namespace) -> dict[str, Any]:
    """Carries out both series and prints their tables; plain data of all that was measured."""
    report: dict[str, Any] = {"started": datetime.now().astimezone().isoformat(timespec="seconds")}
    machine = describe()
    toolchain = build.resolve(asked.toolchain or build.default(machine), machine)
    report["machine"] = {"processor": machine.processor, "system": machine.system, "cpus": machine.cpus}
    report |= {"toolchain": vars(toolchain), "seed": asked.seed}
    print(f"{machine.processor}, {toolchain.name}")
    with pace.watching(machine, toolchain) as watch:
        if asked.series != "sweeps":
            report["latency"] = latency(asked, machine, toolchain, watch)
        if asked.series != "latency":
            report["sweeps"] = sweeps(asked, machine, toolchain, watch)
    return report


def latency(asked: argparse.Namespace, machine: Machine, toolchain: build.Toolchain, watch: Watch) -> dict[str, Any]:
    """8 bytes, ours beside the plain loop, on every MPI."""
    found, missing = grounds.beside_loops(machine, toolchain, not asked.no_install, FOLDER)
    present = [c for g in found for c in pair_at_8(g, asked.trips) if asked.only in f"{c.mpi} {c.pattern}"]
    tell(found, missing)
    series = carry_out(present, asked.pairs, asked.seed, lambda: wait_until_quiet(asked.patience), watch)
    if series:
        print(f"\n{layout(table(series, LATENCIES))}\n\n{explanation(series)}\n\n" + "\n".join(latencies(series)))
    told = {"missing": missing, "trips": asked.trips, "sampling": AT_8, "grounds": plain_grounds(found)}
    return told | {"series": series, "standings": standings(series, LATENCIES)}


def sweeps(asked: argparse.Namespace, machine: Machine, toolchain: build.Toolchain, watch: Watch) -> dict[str, Any]:
    """All sizes, ours beside IMB where that runs."""
    found, missing = grounds.beside_imb(machine, toolchain, not asked.no_install, FOLDER)
    caches = last_level_caches(machine)
    present = [c for g in found for c in contenders_on(g, caches) if asked.only in f"{c.mpi} {c.pattern}"]
    print(f"\nLast-level caches {binary_size(caches)}, {asked.rounds} rounds")
    tell(found, missing)
    series = carry_out(present, asked.rounds, asked.seed, lambda: wait_until_quiet(asked.patience), watch)
    if series:
        print(f"\n{layout(table(series))}\n\n{how_to_read()}\n{explanation(series)}\n\n" + "\n".join(summary(series)))
    told = {"missing": missing, "sampling": SAMPLING, "grounds": plain_grounds(found)}
    return told | {"series": series, "standings": standings(series)}


def tell(found: Sequence[Ground], missing: Sequence[str]) -> None:
    """Where both sides run, and why not elsewhere."""
    for ground in found:
        print(f"{ground.mpi}: ours beside {ground.peer} on the processors {ground.cpus}; both load {ground.libmpi}")
    for reason in missing:
        print(f"Left out: {reason}")


def plain_grounds(found: Sequence[Ground]) -> list[dict[str, Any]]:
    """As the file keeps them."""
    return [{"mpi": g.mpi, "peer": g.peer, "cpus": g.cpus, "library": g.libmpi} for g in found]


def pair_at_8(ground: Ground, trips: int) -> list[Contender]:
    """Ours and the loop, with so many round trips."""
    words = PATTERNS["pingpong"], "0", str(trips), str(SMALL)
    return [
        Contender(*(ground.mpi, "pingpong", OURS, "reused"), lambda: ask(ground, "pingpong", "reused", (SMALL,), AT_8),
                  ground.cpus),
        Contender(*(ground.mpi, "pingpong", ground.peer, "reused"),
                  lambda: their_sweep(printed(ground.theirs, *words, sizes=(SMALL,))), ground.cpus),
    ]  # fmt: skip


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
                *(ground.mpi, pattern, OURS, buffers),
                lambda p=pattern, b=buffers: ask(ground, p, b, SIZES if b == "reused" else FRESH, SAMPLING),
                ground.cpus,
            ),
            Contender(
                *(ground.mpi, pattern, ground.peer, buffers),
                lambda p=pattern, w=words: their_sweep(printed(ground.theirs, PATTERNS[p], *w)),
                ground.cpus,
            ),
        )
    ]


def ask(ground: Ground, pattern: str, buffers: str, sizes: Sequence[int], sampling: str) -> Sweep:
    """Our native program, asked for each size through the harness's protocol."""
    start = ground.ours[pattern]
    began = time.monotonic()
    conversation = Program(start.command(), start.environment, 2)
    try:
        # Answered, with an error, as soon as MPI has started: the sweep is timed from there on, as that of the peer is.
        conversation.ask("case=0 kernel=none", LIMIT)
        asked = time.monotonic()
        line = f"case=0 kernel={pattern} ranks=2 buffers={buffers} {sampling} limit=20 message_bytes="
        answers = {n: conversation.ask(line + str(n), LIMIT) for n in sizes}
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
        f"Ours samples each size until ± {percent(WIDTH)} or {duration(SECONDS)}; the peer counts its repetitions once for all."
    )


def explanation(series: Sequence[Measurement]) -> str:
    """At what pace both sides were measured, and what failed."""
    sides = ((f"{m.mpi} {m.pattern} {m.side}", m.around) for m in series)
    failed = sorted({f"{m.mpi} {m.pattern} {m.side}: {first_line(m.error)}" for m in series if m.sweep is None})
    return "\n".join([paces(sides), *(f"Failed: {what}" for what in failed)])


if __name__ == "__main__":
    raise SystemExit(main())
