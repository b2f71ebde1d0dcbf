"""A cluster as a table: its nodes, enclosures and switches, the machines beside the nodes, and their links."""

from collections.abc import Iterator, Mapping, Sequence

from steelyard.measure.machine import hostlist
from steelyard.measure.machine.hostlist import short_name
from steelyard.measure.machine.network import rate_text
from steelyard.model import Enclosure, Machine, Switch, Uplink
from steelyard.model.words import plural

MOST_LETTERS = 40  # of a list of hosts
UNDESCRIBED = "The system file does not describe the switches between the nodes, or there is no system file."

Row = tuple[str, str, str, str]  # part, number, description, links


def list_parts(machine: Machine) -> tuple[Row, ...]:
    """Returns a row for the nodes, for each kind of enclosures (the largest first) and of switches, and for other machines.

    The nodes are those of the system file and those of the run; () for a machine alone.
    """
    hosts = _list_hosts(machine)
    if len(hosts) < 2:
        return ()
    of_kind: dict[str, list[Enclosure]] = {}
    for enclosure in reversed(machine.enclosures):
        of_kind.setdefault(enclosure.kind, []).append(enclosure)
    node = ": ".join(filter(None, (describe_hosts(hosts), machine.cluster.node)))
    return (
        ("node", f"{len(hosts):,}", node, ""),
        *_list_enclosures(of_kind),
        *(_describe_switch(switch, of_kind) for switch in machine.cluster.switches),
        *((a.name, str(a.number), "", _describe_uplink(a.uplink, a.name)) for a in machine.cluster.attached),
    )


def list_notes(machine: Machine) -> tuple[str, ...]:
    """Returns sentences on unknown switches, and on hosts that report another link rate than the system file states."""
    hosts, switches = _list_hosts(machine), machine.cluster.switches
    if len(hosts) < 2:
        return ()
    notes = [] if switches else [UNDESCRIBED]
    for network in machine.networks if machine.hosts else ():
        names = set(map(short_name, network.hosts))
        linked = (s for s in switches if not s.hosts or not names.isdisjoint(map(short_name, s.hosts)))
        stated = {switch.node_rate for switch in linked if switch.node_rate is not None}
        rates = {interface.link_rate for interface in network.interfaces} - {None}
        if stated and rates and not stated & rates:
            reported, given = (" and ".join(map(rate_text, sorted(some))) for some in (rates, stated))  # type: ignore[type-var]
            whose = describe_hosts(network.hosts)
            notes.append(f"The link rate of {whose} is {reported}, but the system file states {given} to each node.")
    return tuple(notes)


def describe_hosts(hosts: Sequence[str]) -> str:
    """'n1', 'n[1-6,8-15]', or 'n1 … z15' for names that make no short list."""
    text = hostlist.compress(hosts)
    return text if len(text) <= MOST_LETTERS else f"{hosts[0]} … {hosts[-1]}"


def _list_hosts(machine: Machine) -> list[str]:
    """Returns the hosts of the system file, then those hosts of the run that it does not name."""
    named = dict.fromkeys(host for enclosure in machine.enclosures for host in enclosure.hosts)
    named |= dict.fromkeys(host for switch in machine.cluster.switches for host in switch.hosts)
    short = set(map(short_name, named))
    return [*named, *(host.name for host in machine.hosts if short_name(host.name) not in short)]


def _list_enclosures(of_kind: Mapping[str, Sequence[Enclosure]]) -> Iterator[Row]:
    larger: tuple[str, Sequence[Enclosure]] = ("", ())
    for kind, enclosures in of_kind.items():
        sizes = sorted({len(enclosure.hosts) for enclosure in enclosures})
        size = plural(sizes[0], "node") if len(sizes) == 1 else f"{sizes[0]} to {plural(sizes[-1], 'node')}"
        owners = {host: number for number, outer in enumerate(larger[1]) for host in outer.hosts}
        around = [{owners.get(host) for host in enclosure.hosts} for enclosure in enclosures]
        counts = {around.count({number}) for number in range(len(larger[1]))}
        # Only if each larger enclosure has the same number of them, and none crosses its border.
        within = (
            f"; {counts.pop()} in each {larger[0]}" if len(counts) == 1 and all(len(o) == 1 for o in around) else ""
        )
        yield kind, f"{len(enclosures):,}", f"{size} each{within}", ""
        larger = kind, enclosures


def _describe_switch(switch: Switch, of_kind: Mapping[str, Sequence[Enclosure]]) -> Row:
    number = switch.units * len(of_kind.get(switch.each, ("",)))
    where = f"in each {switch.each}" if switch.each else f"for {describe_hosts(switch.hosts)}" if switch.hosts else ""
    together = f"{switch.units} work as one" if switch.units > 1 else ""
    nodes = f"{rate_text(switch.node_rate)} to each node" if switch.node_rate is not None else ""
    links = filter(None, (nodes, *(_describe_uplink(uplink, switch.name) for uplink in switch.uplinks)))
    return switch.name, f"{number:,}", ", ".join(filter(None, (where, together))), "; ".join(links)


def _describe_uplink(uplink: Uplink, name: str) -> str:
    """'2 × 10 Gbit/s to core switch'; 'to each other' if `name` is linked to itself."""
    rate = "link rate unknown" if uplink.rate is None else rate_text(uplink.rate)
    number = f"{uplink.links} × " if uplink.links > 1 else ""
    return f"{number}{rate} to {'each other' if uplink.to == name else uplink.to}"
