"""Table of the results of each node of a cluster, for acceptance tests."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from steelyard.model import Record, Result, observed
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.result import rests_on

CLUSTER_STREAM, CLUSTER_FLOPS = ("cluster.stream", "triad"), ("cluster.flops", "flops")  # no rank waits for another
TRANSFER = "network.transfer"


@dataclass(frozen=True)
class Column:
    """One quantity of all nodes: its title, its unit, whether "higher" or "lower" is better, and the value of each host."""

    title: str
    unit: str
    better: str
    values: Mapping[str, float]


def node_columns(results: Iterable[Result]) -> list[Column]:
    """Returns the columns of the node table, none if the ranks were on fewer than two hosts.

    Bandwidth and speed are sums over the ranks of a node, of the case with most ranks. The clock, the size of the memory and
    its latency (read beside the samples, by one rank of a node) are medians. The message latency is that of the shortest
    message from rank 0, so the node of rank 0 has none.
    """
    over_network = [r for r in cases.keep_usable(results) if len(set(messages.hosts_of(r.attempts))) > 1]
    from_first = _read_latencies(over_network)
    columns = [
        Column(
            "Triad",
            "B/s",
            "higher",
            _read_largest(over_network, CLUSTER_STREAM, lambda record: rates_of_nodes(record, "bytes")),
        ),
        Column(
            "speed",
            "flop/s",
            "higher",
            _read_largest(over_network, CLUSTER_FLOPS, lambda record: rates_of_nodes(record, "flops")),
        ),
        Column("clock", "Hz", "higher", _read_largest(over_network, CLUSTER_FLOPS, _read_clocks)),
        Column("memory", "B", "higher", _take_medians(over_network, lambda ranks: ranks.memory)),
        Column("memory latency", "s", "lower", _take_medians(over_network, lambda ranks: ranks.chase)),
        Column("message latency from rank 0", "s", "lower", from_first),
    ]
    return [column for column in columns if len(column.values) > 1 or (column.values is from_first and from_first)]


def _read_largest(
    results: Iterable[Result], kernel: tuple[str, str], values_of: Callable[[Record], Mapping[str, float]]
) -> Mapping[str, float]:
    """Returns the median of each host over the records of the case with most ranks, of a kernel of a benchmark."""
    largest = cases.select_greatest([r for r in results if (r.benchmark, r.kernel) == kernel], "ranks")
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
        if rate:
            rates[host] = rates.get(host, 0.0) + rate
    return rates


def _read_clocks(record: Record) -> Mapping[str, float]:
    values = _group_by_host(record, record.surroundings.core_clock.before)
    return {host: median(clocks) for host, clocks in values.items()}


def _take_medians(
    results: Iterable[Result], column_of: Callable[[observed.RanksObserved], observed.Column]
) -> Mapping[str, float]:
    """Returns the median of each host over all records and ranks."""
    values: dict[str, list[float]] = {}
    for record in (record for result in results for record in rests_on(result)):
        for host, row in _group_by_host(record, column_of(record.surroundings.ranks)).items():
            values.setdefault(host, []).extend(row)
    return {host: median(row) for host, row in values.items()}


def _group_by_host(record: Record, of_ranks: observed.Column) -> Mapping[str, list[float]]:
    """Returns the known values of the ranks of each host."""
    hosts, by_host = messages.hosts(record), dict[str, list[float]]()
    if len(of_ranks or ()) == len(hosts):
        for value, host in zip(of_ranks or (), hosts, strict=True):
            if value:
                by_host.setdefault(host, []).append(float(value))
    return by_host


def _read_latencies(results: Iterable[Result]) -> Mapping[str, float]:
    timed = [r for r in results if r.benchmark == TRANSFER and "partner" in r.parameters and "latency" in r.metrics]
    least = min((messages.size(r) for r in timed), default=0)
    least_of: dict[str, float] = {}
    for result in timed:
        hosts, partner = messages.hosts_of(result.attempts), cases.number(result, "partner")
        if messages.size(result) == least and partner is not None and int(partner) < len(hosts):
            host = hosts[int(partner)]
            if host != hosts[0]:
                least_of[host] = min(least_of.get(host, float("inf")), result.metrics["latency"].value)
    return least_of
