"""Rule: compares OpenMP threads with Steelyard's own threads in programs that ran on both"""

from steelyard.applications.variants import call_of, compare_variants, warn_of_doubt
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import applications, messages
from steelyard.statistics.results.alternatives import Rivals, compare_rivals, summarise_rivals
from steelyard.statistics.results.identity import identity


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs with more than one thread; runs that are too short are left out."""
    timed = [r for r in applications.select_programs(evaluation.results) if applications.timed(r)]
    timed += [r for r in evaluation.results if r.parameters.get("mode") == "threads" and _has_kernel_times(r)]
    usable = [r for r in timed if applications.workers(r) > 1 and not _is_crowded(r, evaluation)]
    ours = {_identify_case(r): r for r in usable if r.parameters.get("model", "threads") == "threads"}
    theirs = [r for r in usable if r.parameters.get("model") == "openmp" and _identify_case(r) in ours]
    if not theirs:
        return []
    rivals = compare_rivals([(ours[_identify_case(r)], r) for r in theirs])
    return compare_variants(
        "openmp",
        evaluation,
        rivals,
        _describe_pair,
        question="Steelyard cannot decide whether OpenMP threads or Steelyard threads are faster.",
        claim=summarise_rivals("OpenMP threads", "Steelyard threads", rivals) + warn_of_doubt(rivals),
        different=(
            "Both kinds of threads compute the same on the same processors. They start, wait and synchronise differently, so the "
            "difference grows with the number of barriers.",
            advise(
                "Use the faster kind of threads for such programs. To compare how the OpenMP runtime waits: ",
                "run --only application --set model=openmp --set wait_policy=active,passive",
                then=".",
            ),
        ),
        alike="These programs have so few barriers that the kind of threads makes no difference.",
    )


def _identify_case(result: Result) -> object:
    return identity(result, "model", "wait_policy")


def _has_kernel_times(result: Result) -> bool:
    """Returns whether a node kernel has times; it does not name Steelyard's own threads as its model."""
    return result.verdict.level != "INVALID" and bool(messages.launch_seconds(result))


def _is_crowded(result: Result, evaluation: Evaluation) -> bool:
    return applications.workers(result) > len(evaluation.run.machine.cpus)


def _describe_pair(pair: Rivals) -> str:
    program = f"{applications.program(pair.second)} ({applications.describe_parameters(pair.second, ('mode',))})"
    return f"{program}: {pair.speed} times as fast with OpenMP threads ({call_of(pair)})."
