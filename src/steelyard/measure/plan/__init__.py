"""Makes the plan of a run: benchmarks × machine × factors, as shuffled launches within a time budget. Starts nothing."""

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from steelyard.errors import UsageError
from steelyard.measure.plan import by_value, cost
from steelyard.measure.plan import variants as variation
from steelyard.measure.plan.by_value import SHORTENED, Start
from steelyard.measure.plan.possible import (
    CHOSEN,
    GIVEN,
    Settings,
    describe_excluded,
    expect_possible,
    list_excluded,
    points,
)
from steelyard.measure.plan.refusal import GENERAL, PARALLEL, refuse
from steelyard.model import Axes, Benchmark, Case, Effort, Launch, Machine, Plan, Sampling, Scalar, Source, Variant

Item = TypeVar("Item")
# Changes the chosen benchmarks and the settings into those of another kind of run, such as a sweep.
Shape = Callable[[Mapping[str, Benchmark], Machine, Effort, Settings], tuple[Mapping[str, Benchmark], Settings]]

EFFORTS = {
    # Two starts are the fewest that show how starts differ; the report says that two are few. The seconds leave an eighth for
    # cases that are repeated: on two processors that nobody else uses, quick takes 3 minutes and standard 20 (see length.py).
    "quick": Effort("quick", 2, Sampling(width=0.02, seconds=0.5, least=6, most=400), 155, 180, most=240, limit=300),
    "standard": Effort(
        "standard", 5, Sampling(width=0.02, seconds=1.0, least=10, most=1000), 1050, 1200, most=1250, limit=1500
    ),
    "full": Effort(
        "full", 10, Sampling(width=0.01, seconds=2.0, least=30, most=2000), 8000, 9000, most=9000, limit=10800
    ),
}

# A case that changes one of these needs other memory than the one before: such cases are kept together.
MEMORY = ("threads", "pinning", "elements", "bytes", "buffers", "page_size", "memory_policy")
LEAST, SHORTEST = 2, 1 / 3  # launches and share of its time that a preset leaves each case that it measures
DISPLACED = 1 / 8  # of a repetition's launches: how far a launch moves in the order from one repetition to the next


def make(
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    effort: Effort,
    settings: Settings,
    toolchains: Sequence[str],
    budget: float | None = None,
    seed: int = 1,
    mpis: Sequence[str] = (),
    variants: Sequence[Variant] = (),
) -> Plan:
    """Returns the plan. `settings` replaces values of axes; `budget` (seconds) reduces the launches, then the time of a case.

    If that is not enough, the cases of most value remain, and come first in the order of the launches. Without a budget, the
    greatest length of the preset limits the plan in the same way, but each case keeps two launches and a third of its time, and
    what the user chose by settings is measured whole.

    UsageError for a setting that no benchmark has, for an impossible placement, for a variant that changes nothing, and if
    nothing is left to run.
    """
    cases = _list_all_cases(benchmarks, machine, effort, settings, mpis, variants)
    expect_possible(machine, itertools.chain.from_iterable(cases.values()))
    fixed, sampled = _seconds(cases, machine, len(toolchains))
    if chosen := _choose_by_value(benchmarks, machine, effort, cases, settings, toolchains, (fixed, sampled), budget):
        launches = 1 if budget is not None else LEAST
        seconds = by_value.expected_seconds(itertools.chain.from_iterable(chosen), machine)
        made = _plan_starts(chosen, launches * seconds, effort, launches, seed)
        return replace(made, left_out=by_value.left_out(made.launches, cases, len(toolchains)))
    if budget is None:
        launches, shorter = _repetitions(effort, fixed, sampled, len(toolchains))
    else:
        launches = max(1, min(math.floor(budget / (fixed + sampled)), effort.launches))
        shorter = min(1.0, max(SHORTENED, (budget / launches - fixed) / sampled))
    starts = [
        Start(program, toolchain, shorter, group)
        for program in cases
        for group in cost.groups(cases[program])
        for toolchain in toolchains
    ]
    return _plan_starts([starts], launches * (fixed + shorter * sampled), effort, launches, seed)


def estimate(
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    effort: Effort,
    settings: Settings,
    toolchains: int,
    mpis: Sequence[str] = (),
) -> tuple[float, int]:
    """Returns the seconds and the number of records of the plan that `make` returns for this number of toolchains.

    It neither makes the launches nor places the cases, which takes most of the time. UsageError as in `make`.
    """
    cases = _list_all_cases(benchmarks, machine, effort, settings, mpis)
    fixed, sampled = _seconds(cases, machine, toolchains)
    names = list(map(str, range(toolchains)))
    if chosen := _choose_by_value(benchmarks, machine, effort, cases, settings, names, (fixed, sampled)):
        starts = list(itertools.chain.from_iterable(chosen))
        return LEAST * by_value.expected_seconds(starts, machine), LEAST * sum(len(start.cases) for start in starts)
    launches, shorter = _repetitions(effort, fixed, sampled, toolchains)
    return launches * (fixed + shorter * sampled), launches * toolchains * sum(map(len, cases.values()))


Cases = Mapping[tuple[str, str], Sequence[Case]]  # by the names of the benchmark and of the programming model


def _list_all_cases(
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    effort: Effort,
    settings: Settings,
    mpis: Sequence[str],
    variants: Sequence[Variant] = (),
) -> dict[tuple[str, str], list[Case]]:
    refuse(benchmarks, machine, effort, settings, mpis, variants=variants)

    def planned(settings: Settings) -> dict[tuple[str, str], list[Case]]:
        return {
            (name, source.model): _cases(benchmark, source, machine, effort, settings, mpis, variants)
            for name, benchmark in benchmarks.items()
            for source in benchmark.sources
        }

    def has(cases: Cases, name: str, value: Scalar) -> bool:
        return any(case.parameters.get(name) == value for listed in cases.values() for case in listed)

    cases = planned(settings)
    for name, value in ((n, v) for n in settings for v in settings[n] if n not in (*CHOSEN, *GIVEN)):
        alone: Settings = {name: (value,)}
        if not has(cases, name, value) and not has(planned(alone), name, value):
            lacking = (reason for *_, reason in list_excluded(benchmarks, machine, effort, alone))
            reason = next(lacking, "no case has it. Some parameters need a model, such as --set model=openmp")
            raise UsageError(f"{name}={value} (given by --set) is not possible: {reason}.")
    if not any(cases.values()):
        asked = ", ".join(f"{k}={','.join(map(str, v))}" for k, v in settings.items())
        conflict = describe_excluded(benchmarks, machine, effort, settings)
        where = asked or "these benchmarks on this machine"
        if all(name.startswith("device.") for name in benchmarks) and not conflict:
            raise UsageError(
                "There is nothing to measure: this machine has no accelerator that a quick run can use. To list its devices: "
                "steelyard machine. To see what they lack: steelyard doctor"
            )
        reasons = f" These combinations are not possible: {conflict}." if conflict else ""
        raise UsageError(f"There is no case to measure with {where}.{reasons}")
    chosen = settings.get("variant")
    wanted = [v for v in variants if chosen is None or v.name in chosen]
    variation.expect_used(wanted, (case.parameters for listed in cases.values() for case in listed))
    return cases


def _repetitions(effort: Effort, fixed: float, sampled: float, toolchains: int) -> tuple[int, float]:
    """Returns the number of launches and the share of its time that each case gets, without a budget."""
    if effort.seconds is None:
        return effort.launches, 1.0
    whole = effort.seconds * toolchains
    launches = max(LEAST, min(effort.launches, math.floor(whole / (fixed + SHORTEST * sampled))))
    return launches, min(1.0, max(SHORTEST, (whole / launches - fixed) / sampled))


def _seconds(cases: Cases, machine: Machine, toolchains: int) -> tuple[float, float]:
    """Returns the expected seconds of one launch of all cases outside the samples, and of the samples."""
    every = [c for listed in cases.values() for c in listed]
    starts = sum(cost.start_seconds(group, machine) for listed in cases.values() for group in cost.groups(listed))
    fixed = starts + sum(cost.setup_seconds(c, machine) for c in every)
    return fixed * toolchains, sum(map(cost.sampling_seconds, every)) * toolchains


def _choose_by_value(
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    effort: Effort,
    cases: Cases,
    settings: Settings,
    toolchains: Sequence[str],
    needs: tuple[float, float],
    budget: float | None = None,
) -> list[list[Start]]:
    """Returns the starts of the most valuable cases, if the budget or the length of the preset is too short for all of them.

    `needs` are the seconds of one launch of all cases, as `_seconds` returns them.
    """
    fixed, sampled = needs
    if budget is not None:
        fits = budget >= fixed + SHORTENED * sampled
        return [] if fits else by_value.choose(benchmarks, cases, toolchains, machine, budget, SHORTENED, twice=True)
    limit = (effort.most or math.inf) * len(toolchains) / LEAST
    if settings or limit >= fixed + SHORTEST * sampled:
        return []
    thinned = by_value.thin(benchmarks, cases, toolchains, machine, limit, SHORTEST)
    return [thinned] if thinned else by_value.choose(benchmarks, cases, toolchains, machine, limit, SHORTEST)


def _plan_starts(tiers: list[list[Start]], seconds: float, effort: Effort, repetitions: int, seed: int) -> Plan:
    """Returns the plan: in each repetition the tiers in turn, each start of a tier at about the same place of a random order.

    A tier that is equal to the one before it is its second launch.
    """
    chance = random.Random(seed)
    launches: list[Launch] = []
    again = [at > 0 and tier == tiers[at - 1] for at, tier in enumerate(tiers)]
    for number in range(1, repetitions + 1):
        for tier, is_second in zip(tiers, again, strict=True):
            repetition = number + is_second
            if number == 1:
                chance.shuffle(tier)
            else:
                tier[:] = displaced(tier, chance)
            for start in tier:
                name, model = start.program
                order = _shuffle([_shorten(c, start.shorter) for c in start.cases], chance)
                launches.append(Launch(len(launches) + 1, name, start.toolchain, repetition, tuple(order), model))
    return Plan(effort.name, seed, tuple(launches), seconds)


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


def displaced(order: Sequence[Item], chance: random.Random) -> list[Item]:
    """Returns the order with each item moved at random by a small part of its length.

    Repeated parts of a run then lie evenly over its time, but no part always follows the same other one.
    """
    reach = max(1.5, DISPLACED * len(order))
    return [order[i] for i in sorted(range(len(order)), key=lambda i: i + chance.uniform(-reach, reach))]


def _shorten(case: Case, factor: float) -> Case:
    if factor >= 1:
        return case
    return replace(case, sampling=replace(case.sampling, seconds=max(0.02, case.sampling.seconds * factor)))


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
    variants: Sequence[Variant] = (),
) -> list[Case]:
    """Returns the cases that the program of `source` measures."""
    cases: dict[tuple[str, tuple[tuple[str, Scalar], ...]], Case] = {}
    for block in benchmark.axes(machine, effort):
        if source.model not in block.values.get("model", ("",)):
            continue
        if not source.model and _is_other_model(block, settings):
            continue
        if block.when and block.when not in settings:
            continue
        factors: dict[str, tuple[Scalar, ...]] = {"model": (source.model,)} if source.model else {}
        if source.parallel:
            factors["mpi"] = tuple(m for m in mpis if source.mpis is None or m in source.mpis)
        if variants:
            factors["variant"] = variation.names(variants)
        full = replace(block, values={**block.values, **factors})
        for point in points(benchmark, full, settings, PARALLEL if source.parallel else GENERAL, machine):
            if not variation.is_planned(variants, source, point):
                continue
            kernel = str(point.pop("kernel"))
            sampling, setup = block.sampling or effort.sampling, block.setup_seconds
            if block.expected:
                sampling, setup = block.expected(point)
            case = Case(benchmark.name, kernel, point, sampling, setup)
            cases.setdefault((kernel, tuple(sorted(point.items(), key=lambda item: item[0]))), case)
    return list(cases.values())


def _is_other_model(block: Axes, settings: Mapping[str, Sequence[Scalar]]) -> bool:
    """Returns whether the settings name programming models, but not the model of this block."""
    models = block.choices.get("model", ())
    return bool(models) and not set(models) & set(settings.get("model", models))
