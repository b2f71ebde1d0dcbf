"""Rule: finds vectors that are too small for STREAM's rule, so that they measure the caches and not the memory."""

from steelyard.errors import SteelyardError
from steelyard.judge.findings import settings
from steelyard.judge.findings.open_questions import undecided
from steelyard.judge.findings.remedies import advise
from steelyard.measure.benchmarks.memory.stream import CACHE_RULE, LARGEST_SHARE, VECTORS
from steelyard.measure.machine.placement import place
from steelyard.model import Evaluation, Finding, Machine
from steelyard.model.caches import reachable_cache
from steelyard.model.units import binary_size, percent
from steelyard.statistics.results import cases

BENCHMARK = "memory.stream"
LEAST = 0.1  # the least assumed share of a pass that comes from memory


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a notice if the largest vectors are smaller than the rule requires, or if the rule cannot be checked."""
    stream = [r for r in evaluation.results if r.benchmark == BENCHMARK and r.metrics]
    sizes = [n for r in stream if (n := cases.number(r, "elements"))]
    if not sizes:
        return []
    vector = int(max(sizes)) * 8
    threads = max((int(cases.number(r, "threads") or 1) for r in stream), default=1)
    machine = evaluation.run.machine
    cache = reachable_cache(machine, _select_cpus(machine, threads))
    if not cache:
        return [_report_unknown(vector)]
    needed = CACHE_RULE * cache
    if vector >= needed - 64:  # the number of elements is rounded down to whole lines
        return []
    return [_report_too_small(machine, vector, cache, needed)]


def _select_cpus(machine: Machine, threads: int) -> tuple[int, ...]:
    try:
        return place(machine, threads, "compact") or machine.cpus
    except SteelyardError:
        return machine.cpus


def _report_unknown(vector: int) -> Finding:
    question = (
        f"Steelyard cannot decide whether vectors of {binary_size(vector)} are larger than the caches: the sizes of the caches "
        "are unknown."
    )
    evidence = ("Neither the files of the operating system nor lstopo report the caches of this machine.",)
    again = advise(
        "Check whether the bandwidth still falls with larger vectors: ",
        f"run --only {BENCHMARK} --set kernel=triad --set elements={vector // 2},{vector // 8 * 4}",
    )
    return undecided("cache_rule", question, evidence, "The sizes of the caches are unknown.", again, BENCHMARK)


def _report_too_small(machine: Machine, vector: int, cache: int, needed: int) -> Finding:
    possible = int(machine.memory_available * LARGEST_SHARE)
    evidence = [
        f"The last-level caches that the threads use hold {binary_size(cache)} in total.",
        f"STREAM's rule requires {CACHE_RULE} times this size for each of its {VECTORS} vectors: {binary_size(needed)}.",
    ]
    if VECTORS * needed > possible:
        evidence.append(
            f"The {VECTORS} vectors then need {binary_size(VECTORS * needed)}. Steelyard may use {binary_size(possible)}, "
            f"{percent(LARGEST_SHARE)} of the free memory."
        )
        cause = "There is too little free memory for the rule."
        change = settings.suggest(machine, "memory limit") or "Free some memory."
        remedy = advise(f"{change} Then measure again: ", f"run --only {BENCHMARK}")
    else:
        cause = "The size was set to less than the rule requires."
        without = " (without --set elements=…)."
        remedy = advise("Let Steelyard choose the size: ", f"run --only {BENCHMARK}", then=without)
    return Finding(
        "cache_rule",
        "notice",
        f"The largest vectors have {binary_size(vector)} each, {vector / cache:.2g} times the size of the last-level "
        "caches. A part of each pass may come from a cache.",
        tuple(evidence),
        cause,
        remedy,
        BENCHMARK,
        # This part of a pass over all vectors may come from the caches, at almost no cost.
        effect=1 / max(1 - cache / (VECTORS * vector), LEAST),
        reach="figures",
    )
