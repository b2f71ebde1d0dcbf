"""Groups of comparable peers: the matrices of all pairs, the partners of one rank, and ranks with the same work."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from steelyard.judge.findings.network import _nodes
from steelyard.measure.machine.hostlist import short_name
from steelyard.model import Level, Machine, Record, Result
from steelyard.model.units import binary_size
from steelyard.statistics.difference import matrix, peers
from steelyard.statistics.difference.matrix import UNKNOWN_GROUPS, Pair, SlowGroups
from steelyard.statistics.difference.peers import Outlier
from steelyard.statistics.results import cases, messages, pairs
from steelyard.statistics.results.cost import launches_by_number
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import rests_on

LEAST_BYTES = 64 << 10  # bytes of a collective: in shorter ones, the position of a rank in the algorithm matters
# Relative difference: ranks that take turns on processors differ by tens of percent and are not slow.
CROWDED = 1.0


@dataclass(frozen=True, kw_only=True)
class Look:
    """A comparison of peers that should take the same time, with the name and host of each.

    Either `pairs` has the times (s) of each two peers in each launch, or `rows` has those of each peer. `crowded`: there were
    more peers than processors. `groups` names the switch of each node by the system file, or the cache of each rank, if that
    may matter. `size`: bytes of a message. `level`: the worst verdict of the records. `partners`: the peers are the partners of
    a rank that is not a peer. `disturbed`: whether each launch was. `issued`: additions per cycle of each core (None: unknown).
    """

    what: str
    names: tuple[str, ...]
    hosts: tuple[str, ...]
    groups: tuple[str, ...]
    pairs: Mapping[Pair, Sequence[float]] | None = None
    rows: tuple[tuple[float, ...], ...] = ()
    crowded: bool = False
    size: int | None = None
    level: Level = "CLEAN"
    partners: bool = False
    disturbed: tuple[bool, ...] = ()
    issued: tuple[float | None, ...] = ()

    @property
    def apart(self) -> bool:
        return len(set(self.hosts)) > 1


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a look: the slow peers and links (None: unknown), and the relative scatter of a peer between launches.

    With one launch, `scatter` is that between samples (None: unknown). `of_two`: the slower of two. `switches`: slow groups.
    """

    look: Look
    single: tuple[Outlier, ...] | None
    links: tuple[Outlier, ...] | None
    scatter: float | None = None
    of_two: Outlier | None = None
    switches: SlowGroups = UNKNOWN_GROUPS


def judge_peers(results: Iterable[Result], machine: Machine, alike: Collection[tuple[str, str]] = ()) -> list[Report]:
    """Judges all looks at `results`; the chance of any false alarm among them stays below `peers.LEVEL`.

    `alike` has the benchmarks and kernels in which all ranks do the same work.
    """
    all_results = list(results)
    looks = [
        *_look_at_pairs(all_results, machine),
        *_look_at_rank0(all_results, machine),
        *_look_at_ranks(all_results, machine, alike),
    ]
    return [_judge(look, peers.LEVEL / len(looks)) for look in looks]


def _judge(look: Look, level: float) -> Report:
    if look.pairs is not None:
        smallest = CROWDED if look.crowded else peers.SMALLEST
        groups = dict(enumerate(look.groups)) if any(look.groups) else None
        switches = UNKNOWN_GROUPS
        if look.apart and groups and not look.crowded:
            level /= 2  # half of the chance of a false alarm is for the switches
            switches = matrix.slow_groups(look.pairs, groups, smallest, level)
        outliers = matrix.outliers(look.pairs, groups, smallest, level)
        # Within a machine, no cable connects two ranks, and ranks that take turns on a processor look like a slow link.
        links = outliers.links if look.apart and not look.crowded else None
        return Report(look=look, single=outliers.nodes, links=links, scatter=outliers.scatter, switches=switches)
    parts = [[i for i, g in enumerate(look.groups) if g == group and look.rows[i]] for group in set(look.groups)]
    single: list[Outlier] | None = None
    for members in parts:
        slow = peers.slow_ranks([look.rows[i] for i in members], level=level / len(parts))
        if slow is not None:
            single = [*(single or []), *(Outlier((members[o.ranks[0]],), o.factor, o.p) for o in slow)]
    scatter = peers.scatter([peers.logarithms(row, look.what) for row in look.rows])
    has_two_nodes = len(look.rows) == 2 and look.apart and not look.partners
    two = peers.slower_of_two(look.rows, level=level) if has_two_nodes else None
    return Report(
        look=look,
        single=None if single is None else tuple(single),
        links=None,
        scatter=scatter.deviation if scatter.freedom else None,
        of_two=two,
    )


def _look_at_pairs(results: Iterable[Result], machine: Machine) -> Iterator[Look]:
    """Yields the looks at all pairs of nodes, or of ranks on a single node."""
    records = [r for result in results for r in result.records if r.kernel == pairs.KERNEL and _is_whole(r)]
    for members in pairs.variants(records).values():
        hosts, crowded = messages.hosts_of(members), any(r.surroundings.oversubscribed for r in members)
        apart = len(set(hosts)) > 1
        if crowded and not (apart and all(map(_is_balanced, members))):
            continue
        for size in sorted({int(r.parameters[messages.SIZE]) for r in members}):
            seconds = pairs.pair_seconds(members, size)
            seconds = {pair: times for pair, times in seconds.items() if all(0 < t < math.inf for t in times)}
            if crowded:
                seconds = {pair: times for pair, times in seconds.items() if pair in _pairs_on_two_processors(members)}
            yield Look(
                what=_label(members[0], size),
                names=_name_all(hosts, messages.processors(members[0])),
                hosts=tuple(_nodes.group_ranks_by_host(hosts)) if apart else hosts,
                groups=(
                    name_switches(machine, tuple(_nodes.group_ranks_by_host(hosts)))
                    if apart
                    else _list_caches(machine, messages.processors(members[0]))
                ),
                pairs=_nodes.summarise_node_pairs(seconds, hosts) if apart else seconds,
                crowded=crowded,
                size=size,
                level=cases.doubt(*members),
                disturbed=_mark_disturbed(members),
                issued=_find_issued_medians(members, range(len(hosts))),
            )


def _is_whole(record: Record) -> bool:
    """Returns whether the record has the data of a matrix: a round of its ranks, and the seconds of each rank."""
    seconds, count = record.surroundings.ranks.seconds, record.parameters.get("ranks")
    names = (messages.SIZE, "round")
    if record.verdict.level == "INVALID" or not all(type(record.parameters.get(n)) is int for n in names):
        return False
    if not seconds or type(count) is not int or len(seconds) != count:
        return False
    rows = all(t is not None for row in seconds for t in row)
    complete = len(messages.hosts(record)) == len(messages.processors(record)) == count
    return rows and complete and 0 <= int(record.parameters["round"]) < count + count % 2 - 1 and record.operations > 0


def _is_balanced(record: Record) -> bool:
    """Returns whether all processors have the same number of ranks; otherwise ranks on fuller ones are slower."""
    shares = Counter(cpu for cpu in messages.processors(record) if cpu >= 0)
    return len(set(shares.values())) == 1


def _pairs_on_two_processors(records: Iterable[Record]) -> set[Pair]:
    """Returns the pairs whose ranks used different processors; two ranks on one processor wait for the scheduler."""
    met = ((r, pair) for r in records for pair in matrix.rounds(int(r.parameters["ranks"]))[int(r.parameters["round"])])
    return {(a, b) for r, (a, b) in met if messages.processors(r)[a] != messages.processors(r)[b]}


def _look_at_rank0(results: Iterable[Result], machine: Machine) -> Iterator[Look]:
    """Yields the looks at rank 0 with each other rank: one row for each partner, one time for each launch."""
    groups: dict[Identity, dict[int, Result]] = {}
    for result in cases.keep_usable(r for r in results if "partner" in r.parameters):
        partner = cases.number(result, "partner")
        if partner and not messages.oversubscribed(result):
            groups.setdefault(identity(result, "partner"), {})[int(partner)] = result
    for by_partner in groups.values():
        first = next(iter(by_partner.values()))
        hosts = messages.hosts(first.records[0])
        others = {
            p: r
            for p, r in sorted(by_partner.items())
            if p < len(hosts) and (hosts[p] != hosts[0] or len(set(hosts)) == 1)
        }
        cpus = [_find_processor(result, partner) for partner, result in others.items()]
        direction, size = first.parameters.get("direction", ""), messages.size(first)
        used = [record for result in others.values() for record in rests_on(result)]
        yield Look(
            what=f"rank 0 with each other rank, {direction}, {binary_size(size)} ({messages.describe_ranks(first)})",
            names=tuple(_name(hosts[p], (p,), len(set(hosts)) > 1, cpu) for p, cpu in zip(others, cpus, strict=True)),
            hosts=tuple(hosts[p] for p in others),
            groups=_list_caches(machine, cpus) if len(set(hosts)) == 1 else ("",) * len(others),
            rows=tuple(
                _pool([row.tolist() for row in launches_by_number(result).values()]) for result in others.values()
            ),
            size=size,
            level=cases.doubt(*others.values()),
            partners=True,
            disturbed=_mark_disturbed(used),
            issued=_find_issued_medians(used, others),
        )


def _look_at_ranks(results: Iterable[Result], machine: Machine, alike: Collection[tuple[str, str]]) -> Iterator[Look]:
    """Yields the looks at ranks that do the same work at the same time, by node if nodes have several ranks, and by rank."""
    for result in results:
        small = messages.SIZE in result.parameters and messages.size(result) < LEAST_BYTES
        if (result.benchmark, result.kernel) not in alike or small or messages.oversubscribed(result):
            continue
        records = [r for r in rests_on(result) if _list_seconds(r) and len(_list_seconds(r)) == len(messages.hosts(r))]
        if not records:
            continue
        hosts, cpus = messages.hosts(records[0]), messages.processors(records[0])
        launches = [_list_seconds(r) for r in records if messages.hosts(r) == hosts]
        several = 1 < len(set(hosts)) < len(hosts)
        look = Look(
            what=f"{result.benchmark} {result.kernel} ({messages.describe_ranks(result)})",
            names=tuple(f"rank {r} on {host}" for r, host in enumerate(hosts)) if several else _name_all(hosts, cpus),
            hosts=hosts,
            groups=_list_caches(machine, cpus),
            rows=tuple(_pool([rows[r] for rows in launches]) for r in range(len(hosts))),
            size=messages.size(result) if messages.SIZE in result.parameters else None,
            level=cases.doubt(result),
            disturbed=_mark_disturbed(records),
            issued=_find_issued_medians(records, range(len(hosts))),
        )
        if several:
            together = [_nodes.summarise_nodes(rows, hosts) for rows in launches]
            members = tuple(_nodes.group_ranks_by_host(hosts))
            rows = tuple(_pool([of_nodes[n] for of_nodes in together]) for n in range(len(members)))
            names = _name_all(hosts, cpus)
            yield replace(look, names=names, hosts=members, groups=("",) * len(members), rows=rows, issued=())
        yield look


def _mark_disturbed(records: Sequence[Record]) -> tuple[bool, ...]:
    """Returns for each launch whether a record of it is disturbed."""
    disturbed = {r.launch for r in records if r.verdict.level == "DISTURBED"}
    return tuple(launch in disturbed for launch in {r.launch for r in records})


def _find_issued_medians(records: Iterable[Record], ranks: Iterable[int]) -> tuple[float | None, ...]:
    """Returns the median of what the core of each rank issued beside the samples; None if it was not read."""
    columns = [column for r in records if (column := r.surroundings.ranks.issued)]
    readings = ([float(x) for c in columns if rank < len(c) and (x := c[rank]) is not None] for rank in ranks)
    return tuple(median(of_rank) if of_rank else None for of_rank in readings)


def _list_seconds(record: Record) -> list[list[float]]:
    """Returns the seconds of an operation of each rank; empty if the record has none."""
    seconds = messages.rank_seconds(record)
    if not seconds or len(messages.processors(record)) != len(seconds) or record.operations < 1:
        return []
    if not all(_is_positive(t) for row in seconds for t in row):
        return []
    return [[t / record.operations for t in row] for row in seconds]


def _is_positive(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 < seconds < math.inf


def _pool(launches: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Returns the medians of the launches, whose samples are correlated; for a single launch, its samples."""
    if len(launches) == 1:
        return tuple(launches[0])
    return tuple(median(samples) for samples in launches if samples)


def _list_caches(machine: Machine, cpus: Sequence[int]) -> tuple[str, ...]:
    """Returns the last-level cache of each processor, since paths within and between caches differ."""
    last = max((c.level for c in machine.caches if c.kind != "instruction"), default=0)
    caches = [c for c in machine.caches if c.level == last and c.kind != "instruction"]
    return tuple(next((str(i) for i, c in enumerate(caches) if cpu in c.cpus), "") for cpu in cpus)


def name_switches(machine: Machine, hosts: Sequence[str]) -> tuple[str, ...]:
    """Returns the switch (or other enclosure) of each host: of the smallest kind that parts the hosts. Empty if unknown.

    A name has the first host and the last one of the system file: "leaf switch of n9 to n16".
    """
    switches = {switch.each: switch.name for switch in machine.cluster.switches if switch.each}
    for kind in dict.fromkeys(enclosure.kind for enclosure in machine.enclosures):
        whose = {
            short_name(host): f"{switches.get(kind, kind)} of {enclosure.hosts[0]} to {enclosure.hosts[-1]}"
            for enclosure in machine.enclosures
            if enclosure.kind == kind
            for host in enclosure.hosts
        }
        names = tuple(whose.get(short_name(host), "") for host in hosts)
        if all(names) and 1 < len(set(names)) < len(names):
            return names
    return ()


def _find_processor(result: Result, rank: int) -> int:
    cpus = messages.processors(result.records[0])
    return cpus[rank] if rank < len(cpus) else -1


def _label(record: Record, size: int) -> str:
    turns = ", one after the other" if record.parameters.get("together") == "no" else ""
    words = [
        str(record.parameters[n]) for n in ("transport", "mpi") if record.parameters.get(n, "default") != "default"
    ]
    further = f" ({', '.join(words)})" if words else ""
    return f"all pairs{turns}, {binary_size(size)}{further}"


def _name_all(hosts: Sequence[str], cpus: Sequence[int]) -> tuple[str, ...]:
    """Returns the names of the nodes, or of the ranks on a single node."""
    members = _nodes.group_ranks_by_host(hosts)
    if len(members) > 1:
        return tuple(_name(host, ranks, True, -1) for host, ranks in members.items())
    return tuple(_name(host, (rank,), False, cpu) for rank, (host, cpu) in enumerate(zip(hosts, cpus, strict=True)))


def _name(host: str, ranks: Sequence[int], apart: bool, cpu: int) -> str:
    """Returns 'host3 (rank 2)' or 'host3 (ranks 4 to 7)', and within one machine 'rank 2 (processor 1)'."""
    if not apart:
        return f"rank {ranks[0]} (processor {cpu})" if cpu >= 0 else f"rank {ranks[0]}"
    if len(ranks) == 1:
        return f"{host} (rank {ranks[0]})"
    through = list(ranks) == list(range(ranks[0], ranks[-1] + 1))
    numbers = f"{ranks[0]} to {ranks[-1]}" if through else ", ".join(map(str, ranks))
    return f"{host} (ranks {numbers})"
