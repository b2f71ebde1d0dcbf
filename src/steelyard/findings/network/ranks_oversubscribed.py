"""Rule: results of more ranks than processors, and what they do not mean."""

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases, messages
from steelyard.words import in_words

NAMED = 8  # benchmarks that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding on all of them; nothing where each rank had a processor of its own."""
    measured = [r for r in evaluation.results if r.verdict.level != "INVALID" and "ranks" in r.parameters]
    crowded = [r for r in measured if messages.oversubscribed(r)]
    if not crowded:
        return []
    by_benchmark: dict[str, list[Result]] = {}
    for result in crowded:
        by_benchmark.setdefault(result.benchmark, []).append(result)
    most = max(crowded, key=lambda r: cases.number(r, "ranks") or 0)
    reported = (
        f"{len(crowded)} of {len(measured)} results of many ranks were measured with more ranks than processors "
        f"(up to {in_words('ranks', most.parameters['ranks'])}{_processors(most)})."
    )
    lines = [f"{name}: {_counted(found)}." for name, found in sorted(by_benchmark.items())[:NAMED]]
    return [
        Finding(
            "ranks_oversubscribed",
            "notice",
            reported,
            tuple(lines),
            "The ranks take turns on the processors: while one waits for a message, the one that should send it may not be "
            "running. Their latencies, message rates, bandwidths, overlap and times of collectives tell of the scheduler and of "
            "how the MPI waits, not of the network or the memory; each such result is marked.",
            "Ask for at most one rank a processor (--set ranks=…), or for more hosts (--hosts); use these results only to see "
            "that programs work.",
            effect=len(measured) / max(1, len(measured) - len(crowded)),
            reach="figures",
        )
    ]


def _processors(result: Result) -> str:
    """On how many processors the ranks were, where the record tells; those of hosts that share a machine count once."""
    for record in result.records:
        shared = record.surroundings.ranks.colocated
        placed = zip(messages.hosts(record), messages.processors(record), strict=False)
        used = {("" if shared else host, cpu) for host, cpu in placed if cpu >= 0}
        if used:
            return f" on {len(used)} processors" if len(used) > 1 else " on one processor"
    return ""


def _counted(found: list[Result]) -> str:
    ranks = sorted({int(cases.number(r, "ranks") or 0) for r in found})
    return f"{len(found)} {'result' if len(found) == 1 else 'results'} with {', '.join(map(str, ranks))} ranks"
