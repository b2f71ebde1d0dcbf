"""Rule: whether OpenMP's threads or our own are faster, in programs that ran on both"""

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import applications, cases, messages
from steelyard.statistics.results.alternatives import Rivals, compared, judged
from steelyard.statistics.results.identity import identity

NAMED = 12


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding for all programs on more than one thread; runs that are too short are left out."""
    timed = [r for r in applications.of_all(evaluation.results) if applications.timed(r)]
    timed += [r for r in evaluation.results if r.parameters.get("mode") == "threads" and _kernel_timed(r)]
    usable = [r for r in timed if applications.workers(r) > 1 and not _crowded(r, evaluation)]
    ours = {_case(r): r for r in usable if r.parameters.get("model", "threads") == "threads"}
    theirs = [r for r in usable if r.parameters.get("model") == "openmp" and _case(r) in ours]
    if not theirs:
        return []
    rivals = compared([(ours[_case(r)], r) for r in theirs])
    calls = {r.seen.call for r in rivals}
    different = bool(calls & {"FASTER", "SLOWER"})
    furthest = sorted(rivals, key=lambda r: -r.effect)
    return [
        Finding(
            "openmp",
            "good" if calls == {"SAME"} else "notice",
            judged("OpenMP's threads", "our own", rivals)
            + cases.caution(*(x for r in rivals for x in (r.first, r.second))),
            tuple(_line(r) for r in furthest[:NAMED]),
            _cause(different, "UNCLEAR" in calls),
            _remedy(different, "UNCLEAR" in calls),
            effect=max(r.effect for r in rivals if r.seen.call in ("FASTER", "SLOWER")) if different else None,
            reach="program",
        )
    ]


def _case(result: Result) -> object:
    return identity(result, "model", "wait_policy")


def _kernel_timed(result: Result) -> bool:
    """Of a kernel of the node, which does not name our own threads."""
    return result.verdict.level != "INVALID" and bool(messages.seconds(result))


def _crowded(result: Result, evaluation: Evaluation) -> bool:
    return applications.workers(result) > len(evaluation.run.machine.cpus)


def _line(pair: Rivals) -> str:
    call = {"FASTER": "OpenMP is faster", "SLOWER": "our own are faster", "SAME": "no difference"}
    program = f"{applications.program(pair.second)} ({applications.named(pair.second, ('mode',))})"
    return (
        f"{program}: {pair.speed} times as fast on OpenMP's threads: {call.get(pair.seen.call, 'not distinguished')}."
    )


def _cause(different: bool, unclear: bool) -> str:
    if different:
        return (
            "Both compute the same on the same processors. What differs is how the team begins its work, how it meets at a "
            "barrier, and how it waits: the more often a program meets, the more that counts."
        )
    if unclear:
        return "The launches differ among themselves by more than the teams do, or there were too few of them."
    return "These programs meet so seldom that it makes no difference who carries the team."


def _remedy(different: bool, unclear: bool) -> str:
    if different:
        return (
            "Take the faster one for such programs, and look how the runtime waits: steelyard run --only application --set "
            "model=openmp --set wait_policy=active,passive."
        )
    return "Take more launches: steelyard run --preset standard, or full." if unclear else ""
