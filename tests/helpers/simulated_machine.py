"""A machine that only has times: its starts and cases take stated seconds, with noise, and others may use it.

The planner and the runner are the real ones; a clock, the programs and the folder of the run are replaced.
"""

import atexit
import math
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import builders
from steelyard.measure.build import program_name
from steelyard.measure.plan import EFFORTS, by_value, catalogue, cost, length, make
from steelyard.measure.plan.second import Patience
from steelyard.measure.run import Measurer, Surroundings
from steelyard.measure.run.asking import built_with
from steelyard.measure.run.quiet import LONGER, LOOK, QUIET
from steelyard.measure.screen import Progress
from steelyard.model import Case, Core, Host, Launch, Machine, Plan, Record, Site, Tool

MPIS = ("openmpi-4.1.4", "openmpi-5.0.3", "mpich-4.2.0", "mvapich-3.0")
STEP = 0.05  # seconds within which a period of other load may begin or end


@cache
def found() -> Mapping[str, Any]:
    return catalogue.find()


@cache
def make_mpi() -> Path:
    """Returns a folder with programs of an MPI that only exist, since nothing is started."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-simulated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("mpicc", "mpiexec"):
        (folder / name).touch(mode=0o755)
    return folder


@dataclass
class Truth:
    """What this machine takes, as multiples of what Steelyard expects, and how busy others keep it."""

    starts: float = 1.0
    growth: float = 0.0  # exponent of the ranks, by which starts take still longer
    setup: float = 1.0
    sampled: float = 1.0  # of the expected share of a case's time limit
    of_benchmark: float = 0.2  # sigma of the logarithm of a factor that each benchmark has
    noise: float = 0.15  # sigma of the logarithm of a factor that each start and case has
    unsettled: float = 0.1  # share of the cases whose launches differ
    busy: float = 0.0  # share of the time in which others use the machine
    period: float = 4.0  # seconds of such a time on average
    slowed: float = 1.5  # factor for what runs in such a time
    setting_up: float = 3.0  # seconds before the first case: examination, build
    evaluating: float = 1.0  # multiple of the expected seconds of evaluation and report


def draw_machine(chance: random.Random) -> Machine:
    """1 to 512 threads, and in half of the cases 2 to 512 hosts."""
    threads = min(512, max(1, round(2 ** chance.uniform(0, 9.1))))
    twice = threads % 2 == 0 and chance.random() < 0.4
    cores = threads // 2 if twice else threads
    nodes = chance.choice([n for n in (1, 2, 4, 8) if cores % n == 0 and cores >= n])
    here = builders.machine(nodes=nodes, cores=cores)
    if twice:
        per = cores // nodes
        pairs = [(c, c + cores) for c in range(cores)]
        caches = tuple(replace(c, cpus=tuple(x for cpu in c.cpus for x in pairs[cpu])) for c in here.caches)
        numa = tuple(replace(n, cpus=tuple(x for cpu in n.cpus for x in pairs[cpu])) for n in here.nodes)
        made = tuple(Core(c, c // per, c // per, pairs[c]) for c in range(cores))
        here = replace(here, cores=made, nodes=numa, caches=caches, cpus=tuple(range(threads)))
    if chance.random() < 0.5:
        hosts = max(2, round(2 ** chance.uniform(1, 9.05)))
        here = replace(here, hosts=tuple(Host(f"n{i}", slots=threads) for i in range(min(512, hosts))))
    return here


def draw_truth(chance: random.Random) -> Truth:
    """Most machines are about as expected; some have a slow file system, slow starts, a slow set-up, or other users."""
    truth = Truth(
        starts=math.exp(chance.gauss(0, 0.25)),
        growth=chance.choice((0.0, 0.0, -0.05, 0.1)),
        setup=math.exp(chance.gauss(0, 0.2)),
        sampled=chance.uniform(0.75, 1.3),
        unsettled=chance.uniform(0.0, 0.3),
        setting_up=chance.choice((2.0, 3.0, 6.0, 60.0, 100.0)),
        evaluating=math.exp(chance.gauss(0, 0.1)),
    )
    kind = chance.randrange(8)
    if kind == 0:
        truth.starts *= 3
    if kind == 1:
        truth.setup *= 2
    if kind in (2, 3, 4):
        truth.busy, truth.period = chance.uniform(0.05, 0.6), chance.choice((0.3, 4.0, 30.0))
        truth.slowed = chance.uniform(1.2, 1.8)
    return truth


@dataclass
class Kept:
    """The folder of the run: it only keeps the records."""

    records: list[Record] = field(default_factory=list)

    def append(self, record: Record) -> None:
        self.records.append(record)

    def replan(self, plan: Plan) -> None:
        pass


@dataclass
class Simulated:
    """A run on this machine: `taken` of the `stated` seconds from the first case on, and `whole` with the set-up."""

    machine: Machine
    plan: Plan
    stated: float
    taken: float
    whole: float
    records: Sequence[Record]
    notes: Sequence[str]


class _Running:
    """The clock and the programs. It learns from the progress which case is asked for."""

    def __init__(self, machine: Machine, truth: Truth, chance: random.Random) -> None:
        self.machine, self.truth, self.chance = replace(machine, start_factors={}), truth, chance
        self.time, self.fresh = 0.0, False
        self.now_at: tuple[Launch, Case] | None = None
        self.factors: dict[str, float] = {}
        self.differ: dict[int, bool] = {}
        self.changes = 0.0  # moment of the next change of the other load
        self.busy = False

    def show(self, progress: Progress) -> None:
        self.now_at = progress.launch, progress.case

    def start(self, command: list[str], environment: Mapping[str, str], ranks: int | None = None) -> "_Running":
        self.fresh = True
        return self

    def close(self) -> None:
        pass

    def wait(self, seconds: float) -> None:
        """Waits, but no longer than others use the machine."""
        until = self.time + seconds
        while self.time < until and self._is_busy():
            self.time += STEP

    def look(self) -> float:
        """Returns the share of a short time in which nobody used the machine, as `steelyard run` measures it first."""
        for seconds in (LOOK, LONGER):
            moments = round(seconds / STEP)
            free = 0
            for _ in range(moments):
                free += not self._is_busy()
                self.time += STEP
            if free >= QUIET * moments:
                break
        return free / moments

    def _is_busy(self) -> bool:
        share = self.truth.busy
        while share and self.time >= self.changes:
            self.busy = not self.busy
            mean = self.truth.period * (1 if self.busy else (1 - share) / share)
            self.changes += self.chance.expovariate(1 / mean)
        return self.busy

    def _spend(self, seconds: float) -> bool:
        """Lets the seconds of a quiet machine pass. Returns whether others used it."""
        disturbed = False
        while seconds > 0:
            busy = self._is_busy()
            step = max(1e-6, min(seconds, STEP if self.truth.busy else seconds))
            seconds -= step
            self.time += step * (self.truth.slowed if busy else 1.0)
            disturbed |= busy
        return disturbed

    def _noisy(self, seconds: float) -> float:
        rare = 5.0 if self.chance.random() < 0.003 else 1.0
        return seconds * rare * math.exp(self.chance.gauss(0, self.truth.noise))

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        assert self.now_at
        launch, case = self.now_at
        if self.fresh:
            self.fresh = False
            more = int(case.parameters.get("ranks", 1)) ** self.truth.growth
            self._spend(self._noisy(self.truth.starts * more * cost.start_seconds(launch.cases, self.machine)))
        patience = float(line.partition("patience=")[2].split(" ")[0] or 0)
        own = self.factors.setdefault(case.benchmark, math.exp(self.chance.gauss(0, self.truth.of_benchmark)))
        setup = self._noisy(own * self.truth.setup * (cost.setup_seconds(case, self.machine) - cost.ASKED_SECONDS))
        share = min(1.0, self.truth.sampled * self.chance.uniform(0.2, 1.0))
        sampled = min(1.2, own) * share * case.sampling.seconds
        self._spend(setup + cost.ASKED_SECONDS)
        before = self.time
        self.wait(patience)
        waited, before = self.time - before, self.time
        disturbed = self._spend(sampled)
        return self._answer(case, setup, self.time - before + waited, waited, disturbed)

    def _answer(self, case: Case, setup: float, sampled: float, waited: float, disturbed: bool) -> dict[str, Any]:
        key = hash((case.kernel, case.benchmark, *case.parameters.items()))
        differs = self.differ.setdefault(key, self.chance.random() < self.truth.unsettled)
        middle = 1e-3 * (1 + self.chance.gauss(0, 0.1 if differs else 0.002))
        samples = [middle * (1 + 2e-4 * ((i * 7) % 5)) for i in range(6)]
        around: dict[str, Any] = {
            "clock": {"source": "tsc", "frequency": 1e9, "resolution": 1e-9, "overhead": 1e-9},
            "phases": {"setup": setup, "sampling": sampled},
            "pace": {"waited": waited},
        }
        if disturbed:
            around["samples"] = {"seconds": samples, "waited": [0.5 * s for s in samples]}
        check = {"passed": True, "detail": ""}
        return {
            "samples": samples,
            "operations": 1,
            "work": {"bytes": 1e6, "flops": 1e6},
            "check": check,
            "surroundings": around,
        }


def simulate(
    here: Machine, truth: Truth, chance: random.Random, mpi: str, preset: str = "quick", budget: float | None = None
) -> Simulated:
    """Plans and carries out a run as `steelyard run` does, on a machine that takes these times."""
    effort = length.shorten(EFFORTS[preset], truth.setting_up)
    plan = make(found(), here, effort, {}, ["gcc"], budget=budget, mpis=[mpi], seed=chance.randrange(1 << 30))
    running, kept = _Running(here, truth, chance), Kept()
    free = running.look()
    begun = running.time
    stated = length.whole(plan, free, budget, effort)
    programs = {
        (program_name(x.benchmark, x.model), built_with("gcc", x.cases[0].parameters)): Path("/bin/true")
        for x in plan.launches
    }
    measurer = Measurer(
        machine=here,
        plan=plan,
        programs=programs,
        folder=kept,  # type: ignore[arg-type]
        budget=budget,
        length=length.measuring(plan, free, budget, effort),
        show=running.show,
        around=Surroundings(lambda: running.time, running.start, running.wait),
        site=Site({mpi: Tool(mpi.partition("-")[0], str(make_mpi() / "mpicc"), mpi.partition("-")[2])}),
        patience=Patience(),
        mains=by_value.main_places(found(), plan),
    )
    notes = measurer.run()
    evaluated = length.evaluating_records(len(kept.records)) * truth.evaluating
    taken = running.time - begun + evaluated * (1 + truth.busy * (truth.slowed - 1))
    return Simulated(here, plan, stated, taken, truth.setting_up + begun + taken, kept.records, notes)
