"""Rule: sets imported values against the limits that the system file states."""

from dataclasses import dataclass
from typing import Literal

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Limit, Remedy, Result
from steelyard.model.units import percent, quantity

IMPORTED = True
ABOVE = 1.02  # above it, the limit or the value is wrong


@dataclass(frozen=True, kw_only=True)
class Limited:
    """A kernel with the name of the limit of its metric, and the share that well-tuned systems reach."""

    benchmark: str
    kernel: str
    metric: str
    limit: str
    usual: float
    title: str


# STREAM: see the finding "efficiency". HPL and HPCG: top500.org and hpcg-benchmark.org, November 2024, systems of CPUs.
LIMITED = (
    Limited(benchmark="memory.stream", kernel="triad", metric="bandwidth", limit="memory_bandwidth", usual=0.75, title="Triad"),
    Limited(benchmark="application.hpl", kernel="hpl", metric="speed", limit="flops", usual=0.65, title="HPL"),
    Limited(benchmark="hpcg.solve", kernel="hpcg", metric="rating", limit="flops", usual=0.015, title="HPCG"),
    Limited(
        benchmark="network.pingpong", kernel="pingpong", metric="bandwidth", limit="network_bandwidth", usual=0.85,
        title="The ping-pong",
    ),
)  # fmt: skip


def find(evaluation: Evaluation) -> list[Finding]:
    """States for each such kernel which share of its limit the best value reaches."""
    limits = evaluation.run.machine.limits
    findings = []
    for kernel in LIMITED:
        results = [
            r
            for r in evaluation.results
            if (r.benchmark, r.kernel) == (kernel.benchmark, kernel.kernel)
            and kernel.metric in r.metrics
            and r.metrics[kernel.metric].value > 0
        ]
        if results and (limit := limits.get(kernel.limit)) and limit.value > 0:
            best = max(results, key=lambda r: r.metrics[kernel.metric].value)
            findings.append(_compare(kernel, best, limit))
    return findings


def _compare(kernel: Limited, best: Result, limit: Limit) -> Finding:
    value = best.metrics[kernel.metric]
    share = value.value / limit.value
    seen = (
        f"{kernel.title} reaches {quantity(value.value, value.unit)} ({value.statistic}): {percent(share, 1)} of the limit of "
        f"{quantity(limit.value, limit.unit)}."
    )
    evidence = (f"The limit: {limit.source}.", f"Well-tuned systems reach {percent(kernel.usual, 1)}.")
    level: Literal["good", "notice"] = "notice"
    remedy: str | Remedy = ""
    if share > ABOVE:
        seen, effect = f"{seen} No value can be above its limit.", share
        cause = "The limit belongs to another system, or to a part of it (one node, one socket)."
        remedy = "Check the limits in the system file, and how many nodes the value comes from."
    elif share >= kernel.usual:
        level, cause, effect = "good", "The hardware itself is the limit.", None
    else:
        cause = (
            "The placement, the settings or the build reduce the speed, or the value comes from a part of the system."
        )
        why = "Measure on one node with Steelyard, which names the cause: "
        remedy = advise(why, "run --preset standard")
        effect = kernel.usual / share
    return Finding(
        rule="imported_limits", level=level, seen=seen, evidence=evidence, cause=cause, remedy=remedy,
        benchmark=kernel.benchmark, effect=effect,
    )  # fmt: skip
