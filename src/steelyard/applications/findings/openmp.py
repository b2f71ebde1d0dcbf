"""Rule: compares OpenMP threads with Steelyard's own threads in programs that ran on both"""

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.alternatives import Rivals, compare_rivals, summarise_rivals
from steelyard.statistics.results.identity import identity

NAMED = 12


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all programs with more than one thread; runs that are too short are left out."""
    timed = [r for r in applications.select_programs(evaluation.results) if applications.timed(r)]
    timed += [r for r in evaluation.results if r.parameters.get("mode") == "threads" and _kernel_timed(r)]
    usable = [r for r in timed if applications.workers(r) > 1 and not _crowded(r, evaluation)]
    ours = {_case(r): r for r in usable if r.parameters.get("model", "threads") == "threads"}
    theirs = [r for r in usable if r.parameters.get("model") == "openmp" and _case(r) in ours]
    if not theirs:
        return []
    rivals = compare_rivals([(ours[_case(r)], r) for r in theirs])
    calls = {r.comparison.call for r in rivals}
    different = bool(calls & {"FASTER", "SLOWER"})
    furthest = sorted(rivals, key=lambda r: -r.effect)
    return [
        Finding(
            "openmp",
            "good" if calls == {"SAME"} else "notice",
            summarise_rivals("OpenMP threads", "Steelyard threads", rivals)
            + cases.caution(*(x for r in rivals for x in (r.first, r.second))),
            tuple(_line(r) for r in furthest[:NAMED]),
            _cause(different, "UNCLEAR" in calls),
            _remedy(different, "UNCLEAR" in calls),
            effect=max(r.effect for r in rivals if r.comparison.call in ("FASTER", "SLOWER")) if different else None,
            reach="program",
        )
    ]


def _case(result: Result) -> object:
    return identity(result, "model", "wait_policy")


def _kernel_timed(result: Result) -> bool:
    """Returns whether a node kernel has times; it does not name Steelyard's own threads as its model."""
    return result.verdict.level != "INVALID" and bool(messages.seconds(result))


def _crowded(result: Result, evaluation: Evaluation) -> bool:
    return applications.workers(result) > len(evaluation.run.machine.cpus)


def _line(pair: Rivals) -> str:
    call = {"FASTER": "faster", "SLOWER": "slower", "SAME": "no difference"}
    program = f"{applications.program(pair.second)} ({applications.describe_parameters(pair.second, ('mode',))})"
    return (
        f"{program}: {pair.speed} times as fast with OpenMP threads ({call.get(pair.comparison.call, 'not decided')})."
    )


def _cause(different: bool, unclear: bool) -> str:
    if different:
        return (
            "Both compute the same on the same processors. They differ in how threads start, meet at a barrier and wait. The "
            "difference grows with the number of barriers."
        )
    if unclear:
        return "The launches differ from each other by more than the two kinds of threads do, or there were too few launches."
    return "These programs have so few barriers that the kind of threads makes no difference."


def _remedy(different: bool, unclear: bool) -> str:
    if different:
        return (
            "Use the faster kind of threads for such programs. To compare how the OpenMP runtime waits: steelyard "
            "run --only application --set "
            "model=openmp --set wait_policy=active,passive."
        )
    return "Use more launches: steelyard run --preset standard, or --preset full." if unclear else ""
