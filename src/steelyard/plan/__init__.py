"""Makes the plan of a run: benchmarks × machine × factors, as shuffled launches within a time budget. Starts nothing."""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from steelyard.errors import UsageError
from steelyard.machine.openmp import ALIKE
from steelyard.machine.placement import place
from steelyard.machine.rank_placement import place_ranks
from steelyard.model import Axes, Benchmark, Case, Effort, Launch, Machine, Parameters, Plan, Sampling, Scalar, Source
from steelyard.plan.refusal import CHOSEN, GENERAL, PARALLEL, STARTED, refuse, turns

Settings = Mapping[str, Sequence[Scalar]]  # values that replace those of an axis
# Changes the chosen benchmarks and the settings into those of another kind of run, such as a sweep.
Shape = Callable[[Mapping[str, Benchmark], Machine, Effort, Settings], tuple[Mapping[str, Benchmark], Settings]]

EFFORTS = {
    # Two starts are the fewest that show how starts differ; the report says that two are few. The seconds leave an eighth for
    # cases that are repeated: quick is promised to end within 3 minutes on two processors, standard within 20.
    "quick": Effort("quick", 2, Sampling(width=0.02, seconds=0.5, least=6, most=400), 155, 180),
    "standard": Effort("standard", 5, Sampling(width=0.02, seconds=1.0, least=10, most=1000), 1050, 1200),
    "full": Effort("full", 10, Sampling(width=0.01, seconds=2.0, least=30, most=2000)),
}

# A case that changes one of these needs other memory than the one before: such cases are kept together.
MEMORY = ("threads", "pinning", "elements", "bytes", "buffers", "page_size", "memory_policy")
PARALLEL_START_SECONDS = 1.2  # of mpiexec with its ranks (Open MPI 5: 1.2 s, 4: 0.4 s, MPICH: 0.1 s)
START_SECONDS = 0.1  # of a program: process, clock calibration
SHORTEST = 1 / 3  # share of its time that a preset leaves each case, however many there are
SHORTENED = 0.1  # and that a user's budget leaves it
STOPPED_EARLY = 0.6  # share of a case's time limit that it takes on average: most reach their width before


def make(
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    effort: Effort,
    settings: Settings,
    toolchains: Sequence[str],
    budget: float | None = None,
    seed: int = 1,
    mpis: Sequence[str] = (),
) -> Plan:
    """Returns the plan. `settings` replaces values of axes; `budget` (seconds) reduces the launches, then the time of a case.

    Without a budget the length of the preset limits the plan, but at least two launches and a third of the time remain.

    UsageError for a setting that no benchmark has, for an impossible placement, and if nothing is left to run.
    """
    refuse(benchmarks, machine, effort, settings, mpis)
    cases = {
        (name, source.model): _cases(benchmark, source, machine, effort, settings, mpis)
        for name, benchmark in benchmarks.items()
        for source in benchmark.sources
    }
    if not any(cases.values()):
        asked = ", ".join(f"{k}={','.join(map(str, v))}" for k, v in settings.items())
        raise UsageError(f"Nothing is left to run with {asked or 'these benchmarks on this machine'}.")
    every = [c for listed in cases.values() for c in listed]
    fixed = sum(c.setup_seconds * _crowded(machine, c, 2) for c in every)
    fixed += sum(_start_seconds(group, machine) for group in cases.values())
    sampled = sum(STOPPED_EARLY * c.sampling.seconds for c in every)
    fixed, sampled = fixed * len(toolchains), sampled * len(toolchains)
    launches, shorter = effort.launches, 1.0
    if budget is not None:
        launches = max(1, min(launches, math.floor(budget / (fixed + sampled))))
        shorter = min(1.0, max(SHORTENED, (budget / launches - fixed) / sampled))
    elif effort.seconds is not None:
        whole = effort.seconds * len(toolchains)
        launches = max(2, min(launches, math.floor(whole / (fixed + SHORTEST * sampled))))
        shorter = min(1.0, max(SHORTEST, (whole / launches - fixed) / sampled))
    seconds = launches * (fixed + shorter * sampled)
    seconds = seconds if budget is None else min(budget, seconds)  # the run leaves out what does not fit
    return Plan(effort.name, seed, _launches(cases, toolchains, launches, shorter, seed), seconds)


def needed(benchmarks: Mapping[str, Benchmark], plan: Plan) -> dict[str, Benchmark]:
    """Returns the benchmarks of the plan, with the programs that its launches start and the MPIs that these need."""
    used: dict[tuple[str, str], set[str]] = {}
    for launch in plan.launches:
        mpis = {str(c.parameters["mpi"]) for c in launch.cases if "mpi" in c.parameters}
        used.setdefault((launch.benchmark, launch.model), set()).update(mpis)
    chosen = {}
    for name, benchmark in benchmarks.items():
        sources = [s for s in benchmark.sources if (name, s.model) in used]
        if sources:
            with_mpis = (replace(s, mpis=tuple(sorted(used[name, s.model]))) if s.parallel else s for s in sources)
            chosen[name] = replace(benchmark, sources=tuple(with_mpis))
    return chosen


def cpus_of(machine: Machine, parameters: Parameters) -> tuple[int, ...] | None:
    """Returns the processors to which a case's threads, or a host's ranks, are pinned; None or () for no pinning."""
    if "ranks" in parameters:
        per_node = int(parameters.get("ranks_per_node", 0)) or None
        return place_ranks(machine, int(parameters["ranks"]), per_node, str(parameters.get("placement", "compact")))
    return place(machine, int(parameters.get("threads", 1)), str(parameters.get("pinning", "compact")))


def _start_seconds(cases: list[Case], machine: Machine) -> float:
    seconds = PARALLEL_START_SECONDS if cases and "mpi" in cases[0].parameters else START_SECONDS
    return sum(seconds * _crowded(machine, group[0], 7) for group in _groups(cases))


def _crowded(machine: Machine, case: Case, share: int) -> float:
    """Returns the approximate factor by which set-up takes longer if ranks share a processor.

    Measured with 8 and 32 ranks per processor (Open MPI 4): starts took 1.3 and 4.5 times as long, the whole 1.3 and 7 times.
    """
    return max(1.0, turns(machine, case.parameters) / share)


def _launches(
    cases: Mapping[tuple[str, str], list[Case]], toolchains: Sequence[str], count: int, shorter: float, seed: int
) -> tuple[Launch, ...]:
    """Returns the launches. Each repetition has all benchmarks once, in a new order, so that a shortened run has them all."""
    chance = random.Random(seed)
    launches: list[Launch] = []
    for repetition in range(1, count + 1):
        block = [
            (program, group, toolchain)
            for program in cases
            for group in _groups(cases[program])
            for toolchain in toolchains
        ]
        chance.shuffle(block)
        for (name, model), group, toolchain in block:
            shortened = tuple(_shuffle([replace(c, sampling=_shorten(c.sampling, shorter)) for c in group], chance))
            launches.append(Launch(len(launches) + 1, name, toolchain, repetition, shortened, model))
    return tuple(launches)


def _groups(cases: list[Case]) -> list[list[Case]]:
    """Groups the cases that one start can measure: all of a program, but only equal starts for ranks and for OpenMP."""
    groups: dict[tuple[Scalar | None, ...], list[Case]] = {}
    for case in cases:
        alike = STARTED if "mpi" in case.parameters else ALIKE if case.parameters.get("model") == "openmp" else ()
        key = tuple(case.parameters.get(name) for name in alike)
        groups.setdefault(key, []).append(case)
    return list(groups.values())


def _shorten(sampling: Sampling, factor: float) -> Sampling:
    return sampling if factor >= 1 else replace(sampling, seconds=max(0.02, sampling.seconds * factor))


def _shuffle(cases: list[Case], chance: random.Random) -> list[Case]:
    """Returns the cases in random order, but keeps cases that need the same memory together."""
    groups: dict[tuple[Scalar | None, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(tuple(case.parameters.get(name) for name in MEMORY), []).append(case)
    order = list(groups.values())
    chance.shuffle(order)
    for group in order:
        chance.shuffle(group)
    return [case for group in order for case in group]


def _cases(
    benchmark: Benchmark,
    source: Source,
    machine: Machine,
    effort: Effort,
    settings: Mapping[str, Sequence[Scalar]],
    mpis: Sequence[str] = (),
) -> list[Case]:
    """Returns the cases that the program of `source` measures."""
    cases: dict[tuple[str, tuple[tuple[str, Scalar], ...]], Case] = {}
    for block in benchmark.axes(machine, effort):
        if source.model not in block.values.get("model", ("",)):
            continue
        if not source.model and _other_model(block, settings):
            continue
        if block.when and block.when not in settings:
            continue
        factors: dict[str, tuple[Scalar, ...]] = {"model": (source.model,)} if source.model else {}
        if source.parallel:
            factors["mpi"] = tuple(m for m in mpis if source.mpis is None or m in source.mpis)
        full = replace(block, values={**block.values, **factors})
        for point in _points(full, settings, PARALLEL if source.parallel else GENERAL):
            cpus_of(machine, point)  # an impossible placement is refused before anything has started
            kernel = str(point.pop("kernel"))
            sampling, setup = block.sampling or effort.sampling, block.setup_seconds
            if block.expected:
                sampling, setup = block.expected(point)
            case = Case(benchmark.name, kernel, point, sampling, setup)
            cases.setdefault((kernel, tuple(sorted(point.items(), key=lambda item: item[0]))), case)
    return list(cases.values())


def _other_model(block: Axes, settings: Mapping[str, Sequence[Scalar]]) -> bool:
    """Returns whether the settings name programming models, but not the model of this block."""
    models = block.choices.get("model", ())
    return bool(models) and not set(models) & set(settings.get("model", models))


def _points(
    block: Axes, settings: Mapping[str, Sequence[Scalar]], general: Sequence[str]
) -> Iterable[dict[str, Scalar]]:
    values = dict(block.values)
    for name, wanted in settings.items():
        if name in (*CHOSEN, "mpi") and name in values:
            values[name] = tuple(v for v in values[name] if v in wanted)
        elif name in values or name in general or (name in block.further and "model" in settings):
            values[name] = tuple(wanted)
    for combination in itertools.product(*values.values()):
        point = dict(zip(values, combination, strict=True))
        if block.keep is None or block.keep(point):
            yield point
