"""Rule: measures the share of the time that a parallel task needs to distribute its data and to collect its results."""

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural
from steelyard.statistics.results import cases, messages

BENCHMARK, TASK, INDEPENDENT = "cluster.flops", "task", "flops"
NEEDED = {"flops", "time", "communication", "communication_share"}
NOTABLE = 0.05  # share of the time
UNCERTAIN = 0.03  # relative uncertainty of a ratio of two speeds: communication cannot make a task faster
NAMED = 8  # results that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the task with the most ranks, over hosts if there are several; nothing without such results."""
    results = [r for r in cases.keep_usable(evaluation.results) if r.benchmark == BENCHMARK]
    tasks = [r for r in results if r.kernel == TASK and set(r.metrics) >= NEEDED and _count_ranks(r) > 1]
    tasks = [r for r in tasks if not messages.oversubscribed(r)]
    shown = [r for r in tasks if messages.is_apart(r)] or tasks
    if not shown:
        return []
    most = max(shown, key=lambda r: (_count_ranks(r), _read_share(r)))
    beside = next((r for r in results if r.kernel == INDEPENDENT and _is_beside(r, most)), None)
    claim = (
        f"Communication takes {quantity(_read_share(most), '%', 2)} of the time of a parallel task on {_name_ranks(most)}: "
        f"{quantity(most.metrics['communication'].value, 's')} of {quantity(most.metrics['time'].value, 's')}."
    )
    ratio = most.metrics["flops"].value / beside.metrics["flops"].value if beside else None
    impossible = ratio is not None and ratio > 1 + UNCERTAIN
    if impossible:
        claim += " Ranks that do not communicate were slower than this task, so something else slowed them."
    elif ratio is not None:
        claim += f" The task reaches {percent(min(ratio, 1.0))} of the speed of ranks that do not communicate."
    return [
        Finding(
            "task_communication",
            "notice" if impossible or _read_share(most) >= NOTABLE else "good",
            claim + cases.caution(most),
            tuple(map(_describe_result, sorted(shown, key=_count_ranks)[-NAMED:])),
            "Rank 0 sends each rank its part of the data and collects the results. Meanwhile, the ranks wait. Each further "
            "rank makes the computing shorter, but not the communication.",
            advise(
                "Let a program compute more for each byte that it sends, or use fewer nodes. To see the effect of less data: ",
                "run --only cluster.flops --set strip=65536",
            )
            if _read_share(most) >= NOTABLE
            else "",
            BENCHMARK,
            reach="program",
        )
    ]


def _count_ranks(result: Result) -> int:
    return int(cases.number(result, "ranks") or 0)


def _read_share(result: Result) -> float:
    return result.metrics["communication_share"].value


def _is_beside(result: Result, task: Result) -> bool:
    """Returns whether only the kernel of both results differs."""
    return result.parameters == {name: value for name, value in task.parameters.items() if name != "strip"}


def _name_ranks(result: Result) -> str:
    ranks, hosts = plural(_count_ranks(result), "rank"), len(set(messages.hosts_of(result.attempts)))
    return f"{plural(hosts, 'node')} ({ranks})" if hosts > 1 else ranks


def _describe_result(result: Result) -> str:
    return (
        f"{_name_ranks(result)}, {messages.describe_ranks(result)}: {quantity(result.metrics['communication'].value, 's')} of "
        f"{quantity(result.metrics['time'].value, 's')}, {quantity(_read_share(result), '%', 2)}."
    )
