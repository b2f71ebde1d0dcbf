"""Which of a run's network and cluster figures are of the kind that another system printed, and in what they differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.model import Evaluation, Result, Value
from steelyard.model.roles import Counterpart
from steelyard.published import Published
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.benchmark_roles import playing
from steelyard.statistics.results.partners import spreads

ACROSS = "other node"  # the placement of a pair on two hosts


@dataclass(frozen=True)
class Ours:
    """Results of which the best in `metric` is meant, or a `value` of them all; `remark` says in what it is another thing."""

    results: tuple[Result, ...] = ()
    metric: str = ""
    value: Value | None = None
    remark: str = ""


def ours(evaluation: Evaluation, entry: Published) -> Ours | None:
    """What the run has beside the printed number; None where that is of another benchmark than these."""
    known = _KNOWN.get((entry.benchmark, entry.metric))
    if known is None:
        return None
    mine = like(evaluation, entry.benchmark)
    return known([r for r in mine if r.metrics and not messages.oversubscribed(r)], entry)


def like(evaluation: Evaluation, published: str) -> list[Result]:
    """The results of the kind that others published as that benchmark."""
    kernels = {(name, role.kernel) for name, role in playing(evaluation, Counterpart) if role.published == published}
    return [r for r in evaluation.results if (r.benchmark, r.kernel) in kernels]


def _flops(results: Sequence[Result], entry: Published) -> Ours:
    """Nodes with all that they have; a number of cores is one of ranks of a single node."""
    mine = [r for r in results if "flops" in r.metrics]
    if "cores" in entry.parameters:
        wanted = entry.parameters["cores"]
        return Ours(tuple(r for r in mine if _hosts(r) == 1 and r.parameters.get("ranks") == wanted), "flops")
    mine = [r for r in mine if _hosts(r) == entry.parameters.get("nodes")]
    return Ours(tuple(cases.with_most(mine, "ranks")), "flops")


def _pingpong(results: Sequence[Result], entry: Published) -> Ours:
    """Reused buffers, as IMB has them: the shortest message's latency, the best bandwidth of all sizes."""
    mine = cases.where(results, buffers="reused")
    mine, remark = _across(mine, "placement", ACROSS)
    if entry.parameters.get("stack") == "tcp":
        mine = cases.where(mine, transport="tcp") or mine
    if entry.metric == "latency":
        least = min((messages.size(r) for r in mine), default=0)
        mine = [r for r in mine if messages.size(r) == least]
    return Ours(tuple(mine), entry.metric, remark=remark)


def _transfer(results: Sequence[Result], entry: Published) -> Ours:
    mine, remark = _across(results)
    if entry.metric == "bandwidth":
        wanted = {k: v for k, v in entry.parameters.items() if k in ("direction", "message_bytes")}
        return Ours(tuple(cases.where(mine, **wanted)), "bandwidth", remark=remark)
    found = [s for s in spreads(mine) if s.metric == "latency"]
    if not found:
        return Ours()
    least = min(found, key=lambda s: s.share)
    return Ours(least.results, value=Value(least.share, "%", None, None, "lower"), remark=remark)


def _nettest(results: Sequence[Result], entry: Published) -> Ours:
    """As many ranks as there were nodes; otherwise the most that were measured, from which on the topologies differ."""
    wanted = {k: v for k, v in entry.parameters.items() if k in ("topology", "direction")}
    mine, remark = _across(cases.where(results, **wanted))
    there = [r for r in mine if r.parameters.get("ranks") == entry.parameters.get("nodes")]
    if not there:
        there = [r for r in cases.with_most(mine, "ranks") if (cases.number(r, "ranks") or 0) > 2]
        remark = ", ".join(filter(None, (f"with {there[0].parameters['ranks']} ranks" if there else "", remark)))
    return Ours(tuple(there), "throughput", remark=remark)


def _across(results: Sequence[Result], name: str = "", value: str = "") -> tuple[list[Result], str]:
    """Those between hosts; where there are none, all of them, and a word about it."""
    there = [r for r in results if messages.over_a_network(r) or (name and r.parameters.get(name) == value)]
    return (there, "") if there else (list(results), "within one machine" if results else "")


def _hosts(result: Result) -> int:
    return max((len(set(messages.hosts(record))) for record in result.records), default=1) or 1


_KNOWN: Mapping[tuple[str, str], Callable[[Sequence[Result], Published], Ours]] = {
    ("flops", "cluster_speed"): _flops,
    ("pingpong", "latency"): _pingpong,
    ("pingpong", "bandwidth"): _pingpong,
    ("transfer", "bandwidth"): _transfer,
    ("transfer", "latency_spread"): _transfer,
    ("nettest", "bandwidth"): _nettest,
}
