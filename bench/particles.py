"""application.molecular_dynamics beside LAMMPS's own Lennard-Jones fluid (Debian's package, installed where it may be).

The same 32,000 particles at the same places with the same velocities, 100 steps, on one core and with a rank on each of
two, a crystal (temperature 0.72 at the beginning) and a liquid (1.44), each once in every round in an order of the round's
own. Expected: 0.8 of LAMMPS's speed or more on one core; Debian compiles it for every x86-64, ours is compiled for this
one. The potential energies of both must agree at the beginning and at the end, otherwise nothing is compared. It writes
.bench/particles.json.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import lammps
import pace
from hpcc import MissingError
from lammps import STEPS, Ran
from pace import Around
from ratios import Rounds, layout, paces, ratio, sentence

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.launch import site
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.machine import describe
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.plan import catalogue
from steelyard.measure.records.writing import write_whole
from steelyard.model import Case, Launch, Machine, Site
from steelyard.model.plain import to_plain

FOLDER = Path(__file__).resolve().parent.parent / ".bench"
NAME = "application.molecular_dynamics"
SIDE = 20  # cells each way: 32,000 particles
TEMPERATURES = (0.72, 1.44)
WANTED = 0.8
AGREED = 1e-9  # energies of a particle: sums in another order, and 100 steps in which differences grow


@dataclass(frozen=True)
class Entry:
    """What is measured once in each round. `style` of LAMMPS: "", "opt"; ours: None."""

    style: str | None
    temperature: float
    workers: int

    @property
    def name(self) -> str:
        """As the table has it."""
        side = "steelyard" if self.style is None else f"lammps {self.style}".rstrip()
        return f"{side}, {self.temperature:g}, {self.workers}"


@dataclass(frozen=True)
class Measurement:
    """An entry once; `ran` None: it failed, as `error` says."""

    round: int
    entry: Entry
    ran: Ran | None
    around: Around
    error: str = ""


@dataclass(frozen=True)
class Ground:
    """With what all is measured."""

    machine: Machine
    site: Site
    programs: dict[str, Path]
    lammps: str
    inputs: dict[float, Path]


def main() -> int:
    """The series, the table and the file. Exit code 0 unless ours cannot be built."""
    parser = argparse.ArgumentParser(prog="bench/particles.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each case once in each (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default 1)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for quiet (default 60)")
    asked = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = series(asked, Path(folder))
    except (SteelyardError, MissingError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 4
    show(found)
    FOLDER.mkdir(exist_ok=True)
    write_whole(FOLDER / "particles.json", json.dumps({"series": to_plain(found)}, indent=1))
    return 0


def series(asked: argparse.Namespace, folder: Path) -> list[Measurement]:
    """Every entry once in each round, in an order of the round's own."""
    program, machine = lammps.find(True), describe()
    ground = site.site((), None, (), machine)
    benchmarks = site.select_possible({NAME: catalogue.find()[NAME]}, ground, ())
    toolchain = build.resolve("gcc", machine)
    programs = build.build(benchmarks.values(), toolchain)
    for mpi in ground.mpis.values():
        programs |= build.build(benchmarks.values(), toolchain, mpi)
    inputs = {t: lammps.written(folder, SIDE, t) for t in TEMPERATURES}
    everything = Ground(machine, ground, programs, program, inputs)
    counts = (1, 2) if ground.mpis and len(machine.cpus) > 1 else (1,)
    entries = [Entry(style, t, n) for style in (None, *lammps.STYLES) for t in TEMPERATURES for n in counts]
    chance, found = random.Random(asked.seed), list[Measurement]()
    with pace.watching(machine, toolchain) as watch:
        for number in range(1, asked.rounds + 1):
            for entry in chance.sample(entries, len(entries)):
                wait_until_quiet(asked.patience)
                once = watch.measure(lambda e=entry: measured(e, everything), machine.cpus[: entry.workers])
                found.append(Measurement(number, entry, once.value, once.around, once.error))
                speed = f"{once.value.rate / 1e6:.2f} M/s" if once.value else f"failed: {once.error}"
                told = f"round {number}/{asked.rounds}  {entry.name}: {speed}{pace.note(once.around)}"
                print(told, file=sys.stderr, flush=True)
    return pace.judged(found)


def measured(entry: Entry, ground: Ground) -> Ran:
    """One run of an entry in a process of its own."""
    if entry.style is None:
        return ours(entry, ground)
    cpus = ground.machine.cpus[: entry.workers]
    return lammps.ran(ground.lammps, ground.inputs[entry.temperature], entry.style, cpus)


def ours(entry: Entry, ground: Ground) -> Ran:
    """One thread, or ranks. ValueError where its own check fails."""
    model = "threads" if entry.workers == 1 else "mpi"
    words: dict[str, str | int | float] = {"model": model, "threads": 1, "cpus": str(ground.machine.cpus[0])}
    if entry.workers > 1:
        mpi = next(iter(ground.site.mpis))
        words = {"model": model, "ranks": entry.workers, "placement": "compact", "mpi": mpi}
    case = Case(NAME, "dynamics", {name: value for name, value in words.items() if name != "cpus"})
    launch = Launch(1, NAME, "gcc", 1, (case,), model)
    program = Program(
        *start(ground.site, ground.machine, launch, ground.programs[build.program_name(NAME, model)]),
        None if model == "threads" else entry.workers,
    )
    words |= {"case": 0, "kernel": "dynamics", "particles": 4 * SIDE**3, "steps": STEPS}
    words |= {"temperature": entry.temperature, "least": 1, "most": 1}
    try:
        answer = program.ask(" ".join(f"{name}={value}" for name, value in words.items()), 300)
    finally:
        program.close()
    if "error" in answer or not answer["check"]["passed"]:
        raise ValueError(str(answer.get("error") or answer["check"]["detail"]))
    details = answer["surroundings"]["details"]
    rate = float(answer["work"]["particle_steps"] / median(answer["samples"]))
    return Ran(rate, details["before"]["potential"], details["after"]["potential"])


def show(found: Sequence[Measurement]) -> None:
    """Whether both compute the same, the table, the ratios, and what stays below what is wanted."""
    agreed = {t: disagreement(found, t) for t in TEMPERATURES}
    for temperature, off in agreed.items():
        print(f"Potential energies from {temperature:g}: they differ by at most {off:.1e} (allowed {AGREED:g})")
    entries = sorted(
        {m.entry for m in found}, key=lambda e: (e.workers, e.temperature, e.style is not None, e.style or "")
    )
    rows = [["who, temperature, ranks", "Mparticle-step/s"]]
    for entry in entries:
        speeds = [rate for rate, _ in rounds(found, entry).values()]
        rows.append([entry.name, f"{median(speeds) / 1e6:.2f}" if speeds else "–"])
    print("\n" + layout(rows) + "\n")
    for entry in (e for e in entries if e.style is not None):
        if agreed[entry.temperature] <= AGREED:
            beside = ratio(rounds(found, Entry(None, entry.temperature, entry.workers)), rounds(found, entry))
            known = beside.best_known
            low = entry.workers == 1 and known is not None and known.median < WANTED
            print(f"ours over {entry.name}: {sentence(beside)}{f'  <-- BELOW {WANTED}' if low else ''}")
    print("\n" + paces((m.entry.name, m.around) for m in found))
    for m in found:
        if m.error:
            print(f"Failed: {m.entry.name}: {m.error}")


def rounds(found: Sequence[Measurement], entry: Entry) -> Rounds:
    """What an entry reached in each round."""
    return {m.round: (m.ran.rate, m.around.full) for m in found if m.entry == entry and m.ran}


def disagreement(found: Sequence[Measurement], temperature: float) -> float:
    """How far all potential energies lie apart, the first ones and the last ones; infinite where one side has none."""
    rows = [(m.ran, m.entry.style is None) for m in found if m.ran and m.entry.temperature == temperature]
    if len({own for _, own in rows}) < 2:
        return float("inf")
    spans = [[r.before for r, _ in rows], [r.after for r, _ in rows]]
    return max(max(values) - min(values) for values in spans)


if __name__ == "__main__":
    sys.exit(main())
