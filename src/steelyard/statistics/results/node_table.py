"""Table of the results of each node of a cluster, for acceptance tests."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from steelyard.model import Record, Result
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.result import rests_on

CLUSTER_STREAM, CLUSTER_FLOPS, TRANSFER = "cluster.stream", "cluster.flops", "network.transfer"


@dataclass(frozen=True)
class Column:
    """One quantity of all nodes: its title, its unit, whether "higher" or "lower" is better, and the value of each host."""

    title: str
    unit: str
    better: str
    values: Mapping[str, float]


def node_columns(results: Iterable[Result]) -> list[Column]:
    """Returns the columns of the node table, none if the ranks were on fewer than two hosts.

    Bandwidth and speed are sums over the ranks of a node, of the case with most ranks; the latency is that of the shortest
    message from rank 0, so the node of rank 0 has none; the clock is the mean over the ranks of a node.
    """
    over_network = [r for r in cases.usable(results) if len(set(messages.hosts_of(r.records))) > 1]
    columns = [
        Column(
            "Triad",
            "B/s",
            "higher",
            _largest(over_network, CLUSTER_STREAM, lambda record: rates_of_nodes(record, "bytes")),
        ),
        Column(
            "speed",
            "flop/s",
            "higher",
            _largest(over_network, CLUSTER_FLOPS, lambda record: rates_of_nodes(record, "flops")),
        ),
        Column("clock", "Hz", "higher", _largest(over_network, CLUSTER_FLOPS, _clocks)),
        Column("latency from rank 0", "s", "lower", _latencies(over_network)),
    ]
    return [column for column in columns if len(column.values) > 1 or (column.unit == "s" and column.values)]


def _largest(
    results: Iterable[Result], benchmark: str, values_of: Callable[[Record], Mapping[str, float]]
) -> Mapping[str, float]:
    """The median of each host over the records of the case with most ranks."""
    largest = cases.select_greatest([r for r in results if r.benchmark == benchmark], "ranks")
    rows = [values for r in largest[:1] for record in rests_on(r) if (values := values_of(record))]
    hosts = dict.fromkeys(host for row in rows for host in row)
    return {host: median(row[host] for row in rows if host in row) for host in hosts}


def rates_of_nodes(record: Record, work: str) -> Mapping[str, float]:
    """Returns the rate of each host in `work` per second: the sum over its ranks, which share the work equally."""
    hosts, of_ranks = messages.hosts(record), messages.rank_rates(record, work) if work in record.work else ()
    if len(of_ranks) != len(hosts):
        return {}
    rates: dict[str, float] = {}
    for host, rate in zip(hosts, of_ranks, strict=True):
        if rate is not None:
            rates[host] = rates.get(host, 0.0) + rate
    return rates


def _clocks(record: Record) -> Mapping[str, float]:
    clocks, hosts = record.surroundings.core_clock.before or (), messages.hosts(record)
    if len(clocks) != len(hosts):
        return {}
    by_host: dict[str, list[float]] = {}
    for clock, host in zip(clocks, hosts, strict=True):
        if clock:
            by_host.setdefault(host, []).append(float(clock))
    return {host: median(values) for host, values in by_host.items()}


def _latencies(results: Iterable[Result]) -> Mapping[str, float]:
    timed = [r for r in results if r.benchmark == TRANSFER and "partner" in r.parameters and "latency" in r.metrics]
    least = min((messages.size(r) for r in timed), default=0)
    least_of: dict[str, float] = {}
    for result in timed:
        hosts, partner = messages.hosts_of(result.records), cases.number(result, "partner")
        if messages.size(result) == least and partner is not None and int(partner) < len(hosts):
            host = hosts[int(partner)]
            if host != hosts[0]:
                least_of[host] = min(least_of.get(host, float("inf")), result.metrics["latency"].value)
    return least_of
