"""Rule: finds message bandwidths that only reused buffers reach, because the data lie in a cache."""

from collections.abc import Iterator

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.roles import Messages
from steelyard.model.units import binary_size, quantity, significant, span
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.results.reuse import Reuse, artefacts

NAMED = 8  # curves that are listed
CAUSE = (
    "The benchmark uses the same send buffer and the same receive buffer again and again, so both stay in a cache. An "
    "application computes its message or uses it elsewhere, so the message comes from memory or another cache."
)
REMEDY = (
    "Use the figures of fresh buffers (--set buffers=fresh). With the Intel MPI Benchmarks, measure with -off_cache and the "
    "size of all last-level caches. Only programs that send data directly after they have written it are faster."
)


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each benchmark on all its curves; nothing if reused buffers make no difference."""
    findings: list[Finding] = []
    roles = [(name, role) for name, role in find_roles(evaluation, Messages) if role.reused]
    for benchmark in dict.fromkeys(name for name, _ in roles):
        kernels = [(role.kernel, role.reused) for name, role in roles if name == benchmark]
        curves = [
            s
            for kernel, buffers in kernels
            for s in artefacts(cases.find(evaluation.results, benchmark, kernel), evaluation.run.machine, buffers)
        ]
        if curves:
            findings.append(_make_finding(benchmark, sorted(curves, key=lambda s: -s.artefact.factor)))
    return findings


def _make_finding(benchmark: str, curves: list[Reuse]) -> Finding:
    most = curves[0].artefact
    claim = (
        f"Reused buffers make messages of {messages.sizes(most.first, most.last)} appear up to "
        f"{significant(most.factor, 2)} times faster than fresh buffers ({_label(curves[0])}). At "
        f"{binary_size(int(most.size))} an application gets {quantity(most.bandwidth, 'B/s')}, not "
        f"{quantity(most.apparent, 'B/s')}.{cases.caution(*_select_results(curves[0]))}"
    )
    lines = tuple(line for s in curves[:NAMED] for line in _describe_curve(s))
    return Finding(
        "message_cache", "notice", claim, lines, CAUSE, REMEDY, benchmark, effect=most.factor,
        brief=f"Reused memory makes messages appear up to {significant(most.factor, 2)} times faster.",
        action=f"steelyard run --only {benchmark} --set buffers=fresh",
    )  # fmt: skip


def _select_results(curve: Reuse) -> list[Result]:
    return [r for r in curve.curve if messages.size(r) == curve.artefact.size]


def _label(curve: Reuse) -> str:
    return f"{curve.curve[0].kernel}, {messages.describe_ranks(curve.curve[0])}"


def _describe_curve(curve: Reuse) -> Iterator[str]:
    a, name = curve.artefact, _label(curve)
    interval = f" ({span(a.low, a.high, 'B/s', ' to ')})" if a.low is not None and a.high is not None else ""
    yield (
        f"{name}: {len(a.sizes)} of {curve.compared} sizes; largest difference at {binary_size(int(a.size))}: "
        f"{quantity(a.apparent, 'B/s')} with reused buffers, {quantity(a.bandwidth, 'B/s')}{interval} with fresh buffers."
    )
    held = {"core": curve.caches.core, "last": curve.caches.last, "memory": None}
    for part in a.parts:
        size = f" ({binary_size(bytes_)})" if (bytes_ := held[part.place]) else ""
        yield f"{name}, {messages.sizes(part.first, part.last)}: {part.explanation}{size}."
