"""The network and cluster figures of a run that compare with published figures, and the conditions in which they differ."""

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
    """Results with their best value of `metric`, or a `value` of all of them. `remark` names a condition that differs."""

    results: tuple[Result, ...] = ()
    metric: str = ""
    value: Value | None = None
    remark: str = ""


def find_ours(evaluation: Evaluation, entry: Published) -> Ours | None:
    """Returns the results of the run that compare with the published number; None for any other benchmark."""
    choose = _KNOWN.get((entry.benchmark, entry.metric))
    if choose is None:
        return None
    results = find_alike(evaluation, entry.benchmark)
    return choose([r for r in results if r.metrics and not messages.oversubscribed(r)], entry)


def find_alike(evaluation: Evaluation, published: str) -> list[Result]:
    """Returns the results of the kernels that compare with that published benchmark."""
    kernels = {(name, role.kernel) for name, role in playing(evaluation, Counterpart) if role.published == published}
    return [r for r in evaluation.results if (r.benchmark, r.kernel) in kernels]


def _flops(results: Sequence[Result], entry: Published) -> Ours:
    """Returns results of whole nodes. A published number of cores means as many ranks on a single node."""
    timed = [r for r in results if "flops" in r.metrics]
    if "cores" in entry.parameters:
        cores = entry.parameters["cores"]
        return Ours(tuple(r for r in timed if _hosts(r) == 1 and r.parameters.get("ranks") == cores), "flops")
    timed = [r for r in timed if _hosts(r) == entry.parameters.get("nodes")]
    return Ours(tuple(cases.select_greatest(timed, "ranks")), "flops")


def _pingpong(results: Sequence[Result], entry: Published) -> Ours:
    """Returns results with reused buffers, as in IMB: the latency of the shortest message, or the bandwidths of all sizes."""
    reused = cases.where(results, buffers="reused")
    reused, remark = _across(reused, "placement", ACROSS)
    if entry.parameters.get("stack") == "tcp":
        reused = cases.where(reused, transport="tcp") or reused
    if entry.metric == "latency":
        shortest = min((messages.size(r) for r in reused), default=0)
        reused = [r for r in reused if messages.size(r) == shortest]
    return Ours(tuple(reused), entry.metric, remark=remark)


def _transfer(results: Sequence[Result], entry: Published) -> Ours:
    near, remark = _across(results)
    if entry.metric == "bandwidth":
        wanted = {k: v for k, v in entry.parameters.items() if k in ("direction", "message_bytes")}
        return Ours(tuple(cases.where(near, **wanted)), "bandwidth", remark=remark)
    latencies = [s for s in spreads(near) if s.metric == "latency"]
    if not latencies:
        return Ours()
    least = min(latencies, key=lambda s: s.share)
    return Ours(least.results, value=Value(least.share, "%", None, None, "lower"), remark=remark)


def _nettest(results: Sequence[Result], entry: Published) -> Ours:
    """Returns results with as many ranks as nodes; otherwise those with the most ranks, if they are more than 2."""
    wanted = {k: v for k, v in entry.parameters.items() if k in ("topology", "direction")}
    alike, remark = _across(cases.where(results, **wanted))
    chosen = [r for r in alike if r.parameters.get("ranks") == entry.parameters.get("nodes")]
    if not chosen:
        chosen = [r for r in cases.select_greatest(alike, "ranks") if (cases.number(r, "ranks") or 0) > 2]
        remark = ", ".join(filter(None, (f"with {chosen[0].parameters['ranks']} ranks" if chosen else "", remark)))
    return Ours(tuple(chosen), "throughput", remark=remark)


def _across(results: Sequence[Result], name: str = "", value: str = "") -> tuple[list[Result], str]:
    """Returns the results between hosts. If there are none, returns all of them and a remark."""
    between = [r for r in results if messages.over_a_network(r) or (name and r.parameters.get(name) == value)]
    return (between, "") if between else (list(results), "within one machine" if results else "")


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
