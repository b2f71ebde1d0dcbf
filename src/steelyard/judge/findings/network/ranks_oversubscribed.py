"""Rule: finds results with more ranks than processors, which do not describe the network or the memory."""

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.words import in_words
from steelyard.statistics.results import cases, messages

NAMED = 8  # benchmarks that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all of them; nothing if each rank had its own processor."""
    measured = [r for r in evaluation.results if r.verdict.level != "INVALID" and "ranks" in r.parameters]
    crowded = [r for r in measured if messages.oversubscribed(r)]
    if not crowded:
        return []
    by_benchmark: dict[str, list[Result]] = {}
    for result in crowded:
        by_benchmark.setdefault(result.benchmark, []).append(result)
    most = max(crowded, key=lambda r: cases.number(r, "ranks") or 0)
    claim = (
        f"{len(crowded)} of {len(measured)} results with several ranks used more ranks than processors "
        f"(up to {in_words('ranks', most.parameters['ranks'])}{_format_processor_count(most)})."
    )
    lines = [f"{name}: {_describe_results(results)}." for name, results in sorted(by_benchmark.items())[:NAMED]]
    return [
        Finding(
            "ranks_oversubscribed",
            "notice",
            claim,
            tuple(lines),
            "The ranks take turns on the processors: while one rank waits for a message, its sender may not be running. "
            "The results then describe the scheduler and how the MPI waits. They do not describe the network or the memory.",
            "Use at most one rank per processor (--set ranks=…), or more hosts (--hosts). Use these results only to check that "
            "programs work.",
            effect=len(measured) / max(1, len(measured) - len(crowded)),
            reach="figures",
            about="measurement",
            brief=f"{len(crowded)} of {len(measured)} values had more ranks than processors.",
            action="--set ranks=N with at most one per processor",
        )
    ]


def _format_processor_count(result: Result) -> str:
    """Returns the number of processors that the ranks used, if the record has it; a shared machine counts once."""
    for record in result.attempts:
        shared = record.surroundings.ranks.colocated
        placed = zip(messages.hosts(record), messages.processors(record), strict=False)
        used = {("" if shared else host, cpu) for host, cpu in placed if cpu >= 0}
        if used:
            return f" on {len(used)} processors" if len(used) > 1 else " on one processor"
    return ""


def _describe_results(results: list[Result]) -> str:
    ranks = sorted({int(cases.number(r, "ranks") or 0) for r in results})
    return f"{len(results)} {'result' if len(results) == 1 else 'results'} with {', '.join(map(str, ranks))} ranks"
