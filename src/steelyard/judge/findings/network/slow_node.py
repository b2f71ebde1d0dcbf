"""Rule: finds a node, link, switch or rank that is slower than its peers by more than their scatter."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from statistics import median
from typing import Literal, NamedTuple

from steelyard.judge.findings.network._peer_groups import Look, Report, judge_peers
from steelyard.judge.findings.open_questions import measure_again, undecided
from steelyard.judge.findings.remedies import advise
from steelyard.measure.machine.hostlist import short_name
from steelyard.model import Evaluation, Finding, Machine, Remedy
from steelyard.model.roles import Witness
from steelyard.model.units import binary_size, quantity, significant
from steelyard.statistics.results import messages
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.validity import trust

NAMED = 8  # looks that are listed
# Relative scatter between launches, up to which a few nodes suffice to find a node that takes twice as long.
PRECISE = 0.25
LEAST_CHANCE = 1e-6  # smaller values are not accurate
LESS = 0.1  # share by which a core issues less than its peers if something else uses it

NAMES = {
    "node": "Node ",
    "link": "The link between ",
    "switch": "The ",
    "uplink": "The connection between ",
    "rank": "Rank ",
}
SUBJECTS = {"switch": "messages of all its nodes take", "uplink": "messages of all nodes over it take"}
PEERS = {"switch": "those of other switches", "uplink": "those over other connections"}
CAUSES = {
    "node": "The cause is in this node alone: its network card, cable or switch port, its memory or processor (clock, a missing "
    "module), or another program on it.",
    "link": "The cause is between these two alone: a switch port, a path through the switches, a route, or one of "
    "several cables.",
    "switch": "All its nodes are slow in the same way, so the cause is what they share: the switch, its setup, or its uplinks.",
    "uplink": "Messages are slow only between nodes of these two switches, so the cause is between the switches.",
    "rank": "The cause is in this processor alone: its clock, interrupts or another program on it, or a slower kind of core.",
}
REMEDIES: dict[str, str | Remedy] = {
    "node": "Do not use the node until it is repaired. Compare it with a good node (steelyard run on each, then steelyard "
    "compare). Then exchange cable and port.",
    "link": advise(
        "Check the error counters and speed of both ports, and exchange the cable. Measure both nodes together with a third: ",
        "run --only network.transfer --hosts A,B,C",
    ),
    "switch": "Check the speed and the error counters of its ports and uplinks. Compare its setup with that of another switch.",
    "uplink": "Check the speed, the number and the error counters of the links between these switches, and the routes over them.",
    "rank": advise(
        "Check which programs and interrupts use the processor (top, /proc/interrupts). If it stays slow, do not use it. To "
        "compare the processors: ",
        "run --only memory.cores",
    ),
}
OTHER_KIND = "Compare the node with nodes of its own kind, or use nodes of one kind together."
ONE_MACHINE = (
    "The hosts are one machine, so no cable or network card is involved: another program uses the processors of these ranks, or "
    "the virtual network between the hosts is slow."
)
CHECK_SETUP = (
    "Check which programs use the processors of these ranks (top), and how the virtual network is set up (tc qdisc)."
)
THIRD = advise(
    "Measure both nodes together with a third node of the same kind: ",
    "run --only cluster --hosts A,B,C",
    then=". Or measure each node alone (steelyard run on each) and use steelyard compare.",
)
TURNS = (
    "There were more ranks than processors. Pairs of ranks that shared a processor are left out; a factor is the smallest "
    "one that explains the other pairs."
)


class Slow(NamedTuple):
    """A slow node, link, switch, connection of two switches ("uplink") or rank: its name (`who`), and what shows it (`look`)."""

    kind: str
    who: str
    hosts: frozenset[str]
    factor: float
    p: float
    look: Look
    place: int  # index in the names of the look
    pairs: str = ""  # which pairs of a switch are slow

    @property
    def is_certain(self) -> bool:
        """Returns whether undisturbed launches agree, and the pace of its core is no reason. Of many ranks, two launches do."""
        if self.kind != "rank":
            return len(self.look.disturbed) > 1 or not all(self.look.disturbed)
        own, others = self.issued
        return self.look.disturbed.count(False) > 1 and not (own and others and own < (1 - LESS) * others)

    @property
    def issued(self) -> tuple[float | None, float | None]:
        """Returns the additions per cycle of its core beside the samples, and the median of its peers; None: unknown."""
        others = [x for place, x in enumerate(self.look.issued) if place != self.place and x is not None]
        return self.look.issued[self.place] if self.look.issued else None, median(others) if others else None


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a finding for each slow node, link and rank; a good one if there is none and the comparisons are precise."""
    alike = {(name, role.kernel) for name, role in find_roles(evaluation, Witness)}
    reports = judge_peers(evaluation.results, evaluation.run.machine, alike)
    slow = sorted((s for t in reports for s in _list_slow(t)), key=lambda s: -s.factor)
    nodes = {host for s in slow if s.kind == "node" for host in s.hosts}
    nodes |= {t.look.hosts[t.of_two.ranks[0]] for t in reports if t.of_two}
    # The finding on a slow node covers its ranks and its links.
    slow = [s for s in slow if s.kind not in ("link", "rank") or not s.hosts & nodes or not s.look.apart]
    doubtful, slow = [s for s in slow if not s.is_certain], [s for s in slow if s.is_certain]
    by_name: dict[tuple[str, str], list[Slow]] = {}
    for s in slow:
        by_name.setdefault((s.kind, ", ".join(sorted(s.hosts)) if s.kind == "node" else s.who), []).append(s)
    order = ("switch", "uplink", "node", "link", "rank")
    one_machine = any(map(messages.shared_a_machine, evaluation.results))
    findings = [
        _make_finding(members, reports, one_machine, evaluation.run.machine)
        for _, members in sorted(by_name.items(), key=lambda item: order.index(item[0][0]))
    ]
    findings += [*_report_two(reports, one_machine), *([_undecided(evaluation, doubtful)] if doubtful else [])]
    return findings or _report_good(reports)


def _undecided(evaluation: Evaluation, doubtful: list[Slow]) -> Finding:
    """Returns what was observed of ranks and nodes that too few undisturbed launches show to be slow."""
    most = doubtful[0]
    launches = "this launch" if len(most.look.disturbed) == 1 else "these launches"
    more = f", and others differed, too ({len(doubtful)} comparisons)" if len(doubtful) > 1 else ""
    claim = (
        f"In {launches}, {most.who} took {significant(most.factor, 2)} times as long as its peers{_name_look(most.look)}{more}. "
        "This does not show that it is slow."
    )
    again = measure_again(evaluation, "DISTURBED", most.look.what.partition(" ")[0] if "." in most.look.what else "")
    clean = most.look.disturbed.count(False)
    reason = "Something else used its core." if clean > 1 else f"Two undisturbed launches must agree, not {clean}."
    evidence = tuple(map(_describe_doubtful, doubtful[:NAMED]))
    return undecided(
        "slow_node", claim, evidence, reason, replace(again, text=f"A second launch decides. {again.text}")
    )


def _describe_doubtful(slow: Slow) -> str:
    own, others = (significant(x) if x else "an unknown number of" for x in slow.issued)
    beside = f" Beside the samples, its core issued {own} additions per cycle, those of its peers {others}."
    return f"{slow.who}, {_describe(slow)}{beside if slow.issued[0] else ''}"


def _report_two(reports: list[Report], one_machine: bool) -> list[Finding]:
    """Returns a finding that one of two nodes is slower; a comparison of two cannot say which one is unusual."""
    unequal = [(t.look, t.of_two) for t in reports if t.of_two]
    if not unequal:
        return []
    look, most = max(unequal, key=lambda pair: pair[1].factor)
    slower, faster = look.names[most.ranks[0]], look.names[1 - most.ranks[0]]
    claim = (
        f"Node {slower} takes {significant(most.factor, 2)} times as long as node {faster}{_name_look(look)}. Two nodes alone do "
        f"not show which of them is unusual.{trust.caution(min((x.level for x, _ in unequal), key=trust.ORDER.index))}"
    )
    evidence = [
        f"{x.what}: {x.names[two.ranks[0]]} takes {significant(two.factor, 2)} times as long ({_format_chance(two.p)})."
        for x, two in unequal[:NAMED]
    ]
    equal = [t.look.what for t in reports if t.look.apart and len(t.look.names) == 2 and not t.of_two]
    if equal:
        evidence.append(f"These comparisons show no certain difference: {'; '.join(equal[:NAMED])}.")
    return [
        Finding("slow_node", "notice", claim, tuple(evidence), _explain("node", one_machine), THIRD, effect=most.factor)
    ]


def _format_chance(p: float) -> str:
    return f"p = {p:.1g}" if p >= LEAST_CHANCE else f"p < {LEAST_CHANCE:g}"


def _list_slow(report: Report) -> Iterable[Slow]:
    look = report.look
    for one in report.single or ():
        name, host = look.names[one.ranks[0]], look.hosts[one.ranks[0]]
        node = look.apart and look.hosts.count(host) == 1
        yield Slow("node" if node else "rank", name, frozenset([host]), one.factor, one.p, look, one.ranks[0])
    for link in report.links or ():
        a, b = link.ranks
        who = f"{look.names[a]} and {look.names[b]}"
        yield Slow("link", who, frozenset([look.hosts[a], look.hosts[b]]), link.factor, link.p, look, a)
    groups = report.switches
    for found, which in ((groups.across, " with other switches"), (groups.inside, " within the switch")):
        for name, o in found or ():
            yield Slow("switch", name, frozenset([name]), o.factor, o.p, look, look.groups.index(name), which)
    for names, o in groups.links or ():
        first, second = sorted(names, key=look.groups.index)
        hosts = frozenset(names)
        yield Slow("uplink", f"the {first} and the {second}", hosts, o.factor, o.p, look, look.groups.index(first))


def _explain(kind: str, one_machine: bool) -> str:
    return ONE_MACHINE if one_machine and kind != "rank" else CAUSES[kind]


def _describe_other_processor(slow: Slow, machine: Machine) -> str:
    """Returns a sentence on the processor of a slow node, if it is another one than that of most hosts; otherwise ""."""
    processors = {short_name(host.name): host.processor for host in machine.hosts if host.processor}
    own = {processors.get(short_name(host), "") for host in slow.hosts}
    usual = Counter(processors.values()).most_common(1)
    if slow.kind != "node" or len(own) != 1 or not usual or own & {"", usual[0][0]}:
        return ""
    return f"It has another processor ({own.pop()}) than most hosts ({usual[0][0]})."


def _make_finding(members: list[Slow], reports: list[Report], one_machine: bool, machine: Machine) -> Finding:
    most = members[0]
    what = NAMES[most.kind] + most.who.removeprefix("rank ")
    caution = trust.caution(min((s.look.level for s in members), key=trust.ORDER.index))
    subject, peers = SUBJECTS.get(most.kind, "it takes"), PEERS.get(most.kind, "its peers")
    claim = (
        f"{what} is slow: {subject} {significant(most.factor, 2)} times as long as {peers}{_name_look(most.look)}"
        f"{_name_smallest_size(members, most)}.{caution}"
    )
    named = [s.look for s in members]
    others = [t.look.what for t in reports if t.single is not None and t.look not in named and most.who in t.look.names]
    clear = [f"It does not differ from its peers in: {'; '.join(others[:NAMED])}."] if others else []
    other = _describe_other_processor(most, machine)
    level: Literal["serious", "notice"] = "serious" if most.look.apart and not other else "notice"
    evidence = (*map(_describe, members[:NAMED]), *clear, *([TURNS] if any(s.look.crowded for s in members) else []))
    cause = _explain(most.kind, one_machine)
    remedy = CHECK_SETUP if cause is ONE_MACHINE else REMEDIES[most.kind]
    if other:
        cause, remedy = other, OTHER_KIND
    return Finding("slow_node", level, claim, evidence, cause, remedy, effect=most.factor)


def _describe(slow: Slow) -> str:
    factor = significant(slow.factor, 2)
    peers = PEERS.get(slow.kind, "its peers")
    return f"{slow.look.what}{slow.pairs}: {factor} times the time of {peers} ({_format_chance(slow.p)} by chance)."


def _name_look(look: Look) -> str:
    return f" with messages of {binary_size(look.size)}" if look.size is not None else f" in {look.what}"


def _name_smallest_size(members: list[Slow], most: Slow) -> str:
    """Returns the smallest message size that shows it, if several sizes do."""
    sizes = sorted({s.look.size for s in members if s.look.size is not None})
    return (
        f"; the smallest size with an effect is {binary_size(sizes[0])}"
        if len(sizes) > 1 and most.look.size is not None
        else ""
    )


def _report_good(reports: list[Report]) -> list[Finding]:
    judged = [t for t in reports if t.single is not None and not t.look.crowded and (t.scatter or 0.0) < PRECISE]
    if not judged:
        return []
    apart = [t for t in judged if t.look.apart] or judged
    apart = [
        t for t in apart if not t.look.partners
    ] or apart  # comparisons of all nodes are better than those of one rank's partners
    count = max(len(t.look.names) for t in apart)
    among = f"the {count} partners of rank 0" if apart[0].look.partners else str(count)
    links = any(t.links is not None for t in apart)
    who = ("No node and no link" if links else "No node") if apart[0].look.apart else "No rank"
    claim = f"{who} among {among} is slower than the others."
    cause = "The differences are not greater than the scatter of each."
    return [Finding("slow_node", "good", claim, tuple(map(_describe_report, judged[:NAMED])), cause, "")]


def _describe_report(report: Report) -> str:
    scatter = f"; each varies by {quantity(report.scatter, '%', 2)} between launches" if report.scatter else ""
    return f"{report.look.what}: {len(report.look.names)} were compared{scatter}."
