"""The NAS Parallel Benchmarks of Steelyard beside the reference codes' figures, on an equally fast machine.

`make bench` calls it. The reference codes are not run here: their figures (class A, medians of five quiet runs) come from a
machine of which likwid-bench's figures are known, too. The same two kernels of likwid-bench run in every round beside ours:
what is bound by arithmetic is scaled by its peakflops, what streams memory by its triad. Class B is measured, but has no
reference. It asserts nothing: it prints ratios, and writes .bench/applications.json.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median

import contenders
import pace
from hpcc import MissingError
from pace import Around
from ratios import Ratio, Rounds, cells, paces, ratio, sentence

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.launch import site
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.plan import catalogue
from steelyard.measure.records.writing import write_whole
from steelyard.measure.run.asking import line
from steelyard.model import Case, Launch, Machine, Site
from steelyard.model.plain import to_plain

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
# NPB 3.4.1 (OpenMP and MPI, class A, op/s in all), gfortran and gcc 12.2, Open MPI 4.1.4, on two processors of an Intel
# Sapphire Rapids guest: by code and model, with 1 and 2 threads or ranks.
REFERENCE = {
    ("cg", "threads"): (3010.8e6, 5718.5e6),
    ("cg", "mpi"): (3029.9e6, 5526.0e6),
    ("lu", "threads"): (7552.9e6, 14494.7e6),
    ("lu", "mpi"): (6961.1e6, 13444.2e6),
    ("ua", "threads"): (26.2e6, 48.6e6),
    ("mg", "threads"): (4666.9e6, 9738.6e6),
    ("mg", "mpi"): (4624.9e6, 9468.7e6),
    ("ft", "threads"): (4380.5e6, 8743.2e6),
    ("ft", "mpi"): (3915.3e6, 6226.4e6),
    ("ep", "threads"): (174.7e6, 348.4e6),
    ("ep", "mpi"): (181.8e6, 360.0e6),
    ("is", "threads"): (193.6e6, 495.7e6),
    ("is", "mpi"): (268.9e6, 539.5e6),
}
# That machine by likwid-bench 5.2.2, with 1 and 2 threads: flop/s of the peak without vectors, which follows the clock
# as the reference codes do; B/s of the triad in memory.
SCALES = {
    "peak": ("peakflops", "20kB", "MFlops/s", (6_762e6, 13_969e6)),
    "triad": ("stream_avx512_fma", "1GB", "MByte/s", (15_379e6, 29_924e6)),
}
BOUND = {"ep": "peak", "lu": "peak", "ua": "peak", "cg": "triad", "mg": "triad", "ft": "triad", "is": "triad"}
WANTED, WANTED_MEAN = 1.0, 1.2


@dataclass(frozen=True)
class Entry:
    """What is measured once in each round: a program of ours, or a kernel of likwid-bench."""

    code: str
    model: str
    letter: str
    workers: int


@dataclass(frozen=True)
class Measurement:
    """An entry once: op/s (flop/s and B/s of likwid-bench). `rate` None: it failed, as `error` says."""

    round: int
    entry: Entry
    rate: float | None
    around: Around
    error: str = ""


def main() -> int:
    """The series, the table and the file. Exit code 0 unless ours cannot be built."""
    parser = argparse.ArgumentParser(prog="bench/applications.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="each case once in each (default 3)")
    parser.add_argument("--classes", default="A", help="such as A,B (default A)")
    parser.add_argument("--only", default="", help="codes, such as cg,lu (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for quiet (default 60)")
    asked = parser.parse_args()
    try:
        found = series(asked)
    except (SteelyardError, MissingError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 4
    show(found)
    FOLDER.mkdir(exist_ok=True)
    write_whole(FOLDER / "applications.json", json.dumps({"series": to_plain(found)}, indent=1))
    return 0


def series(asked: argparse.Namespace) -> list[Measurement]:
    """Every entry once in each round, in an order of the round's own."""
    contenders.find_likwid(True)
    machine = describe()
    ground = site.site((), None, (), machine)
    known = {name: b for name, b in catalogue.find().items() if name.startswith("application.npb_")}
    benchmarks = site.select_possible(known, ground, ())
    toolchain = build.resolve("gcc", machine)
    programs = build.build(benchmarks.values(), toolchain)
    for mpi in ground.mpis.values():
        programs |= build.build(benchmarks.values(), toolchain, mpi)
    codes = asked.only.split(",") if asked.only else [name.rpartition("_")[2] for name in benchmarks]
    entries = [Entry("likwid", name, "", n) for name in SCALES for n in (1, 2)]
    for code in codes:
        for source in benchmarks[f"application.npb_{code}"].sources:
            letters = asked.classes.split(",")
            entries += [Entry(code, source.model, letter, n) for letter in letters for n in (1, 2)]
    chance, found = random.Random(asked.seed), list[Measurement]()
    with pace.watching(machine, toolchain) as watch:
        for number in range(1, asked.rounds + 1):
            for entry in chance.sample(entries, len(entries)):
                wait_until_quiet(asked.patience)
                once = watch.measure(lambda e=entry: rate(e, machine, ground, programs), machine.cpus[: entry.workers])
                found.append(Measurement(number, entry, once.value, once.around, once.error))
                print(f"round {number}/{asked.rounds}  {told(found[-1])}", file=sys.stderr, flush=True)
    return pace.judged(found)


def name(entry: Entry) -> str:
    """As lines of progress and tables have it."""
    return f"{' '.join(filter(None, (entry.code, entry.model, entry.letter)))}, {entry.workers}"


def told(found: Measurement) -> str:
    """A measurement in one line."""
    what = f"{found.rate / 1e6:.1f} M/s" if found.rate is not None else f"failed: {found.error}"
    return f"{name(found.entry)}: {what}{pace.note(found.around)}"


def rate(entry: Entry, machine: Machine, ground: Site, programs: dict[str, Path]) -> float:
    """Of an entry, measured once."""
    return likwid(entry, machine) if entry.code == "likwid" else ours(entry, machine, ground, programs)


def likwid(entry: Entry, machine: Machine) -> float:
    """One run of likwid-bench's kernel on the processors that ours has."""
    kernel, size, unit, _ = SCALES[entry.model]
    cpus = machine.cpus[: entry.workers]
    iterations = {"peak": 500_000, "triad": contenders.LIKWID_ITERATIONS}[entry.model]
    group = f"N:{size if entry.model == 'triad' else f'{20 * entry.workers}kB'}:{entry.workers}"
    told = contenders.pinned(["likwid-bench", "-t", kernel, "-i", str(iterations), "-W", group], cpus, {})
    rate = re.search(rf"^{unit}:\s+([\d.]+)", told, re.MULTILINE)
    if not rate:
        raise ValueError(f"likwid-bench's output has no {unit}")
    return float(rate[1]) * 1e6


def ours(entry: Entry, machine: Machine, ground: Site, programs: dict[str, Path]) -> float:
    """One run in a fresh process, as the reference's is: NPB's operations over the time of the timed region."""
    name = f"application.npb_{entry.code}"
    values: dict[str, str | int] = {"class": entry.letter, "model": entry.model}
    if entry.model == "threads":
        values |= {"threads": entry.workers, "pinning": "compact"}
    else:
        values |= {"ranks": entry.workers, "placement": "compact", "mpi": next(iter(ground.mpis))}
    case = Case(name, entry.code, values)
    launch = Launch(1, name, "gcc", 1, (case,), entry.model)
    program = Program(*start(ground, machine, launch, programs[build.program_name(name, entry.model)]))
    try:
        words = line(machine, launch, 0, case).split()
        kept = [w for w in words if w.partition("=")[0] not in ("width", "seconds", "least", "most", "limit")]
        answer = program.ask(" ".join([*kept, "width=0.01", "seconds=0.01", "least=1", "most=1"]), 1200)
    finally:
        program.close()
    if "error" in answer or not answer["check"]["passed"]:
        raise ValueError(str(answer.get("error") or answer["check"]["detail"]))
    return float(answer["work"]["operations"] / median(answer["samples"]))


def show(found: Sequence[Measurement]) -> None:
    """The table, the geometric mean, and what stays below what is wanted."""
    for scale, (kernel, _, _, figures) in SCALES.items():
        for n in (1, 2):
            machine = ratio(rounds(found, Entry("likwid", scale, "", n)), of_all(found, figures[n - 1]))
            if machine.all:
                print(f"This machine over the reference's, {kernel}, {n} threads: {sentence(machine)}")
    print(f"\n{'code':<12}{'class':<7}{'workers':<9}{'Mop/s':>10}  ratio to the reference, scaled; rounds; all rounds")
    entries = {m.entry for m in found if m.entry.code != "likwid" and m.rate is not None}
    ratios = {}
    for entry in sorted(entries, key=lambda e: (e.letter, e.code, e.model, e.workers)):
        own, beside = rounds(found, entry), standing(found, entry)
        if beside and beside.best_known:
            ratios[entry] = beside.best_known.median
        speed = f"{median(v for v, _ in own.values()) / 1e6:>10.1f}"
        told = "  ".join(cells(beside)) if beside else "–"
        print(f"{entry.code + ' ' + entry.model:<12}{entry.letter:<7}{entry.workers:<9}{speed}  {told}".rstrip())
    if ratios:
        print(f"\nGeometric mean {mean(ratios.values()):.2f} (wanted {WANTED_MEAN}), least {min(ratios.values()):.2f}")
        low = [f"{e.code} {e.model}, {e.workers}: {r:.2f}" for e, r in ratios.items() if r < WANTED]
        print(f"Below {WANTED}: {'; '.join(low) or 'none'}")
    print("\n" + paces((name(m.entry), m.around) for m in found))
    for m in found:
        if m.error:
            print(f"Failed: {name(m.entry)}: {m.error}")


def rounds(found: Sequence[Measurement], entry: Entry) -> Rounds:
    """What an entry reached in each round."""
    return {m.round: (m.rate, m.around.full) for m in found if m.entry == entry and m.rate is not None}


def of_all(found: Sequence[Measurement], figure: float) -> Rounds:
    """A figure from elsewhere, the same in every round."""
    return {m.round: (figure, True) for m in found}


def standing(found: Sequence[Measurement], entry: Entry) -> Ratio | None:
    """An entry over the reference's op/s, scaled to this machine as likwid-bench saw it in the same round; None without any."""
    known, scale = REFERENCE.get((entry.code, entry.model)), BOUND[entry.code]
    if not known or entry.letter != "A":
        return None
    figure = SCALES[scale][3][entry.workers - 1]
    factors = rounds(found, Entry("likwid", scale, "", entry.workers))
    return ratio(
        rounds(found, entry), {n: (known[entry.workers - 1] * r / figure, full) for n, (r, full) in factors.items()}
    )


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [log(r) for r in ratios]
    return exp(sum(logs) / len(logs))


if __name__ == "__main__":
    sys.exit(main())
