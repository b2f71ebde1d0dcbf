"""The structure of a cluster: enclosures in each other, their switches and nodes. Equal parts stand once, with their number."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.machine import hostlist
from steelyard.machine.hostlist import short_name
from steelyard.machine.network import networks_by_host
from steelyard.model import Attached, Machine, Network, Switch

MOST_KINDS = 6  # different parts of one enclosure that are shown
MOST_LETTERS = 40  # of a list of hosts
MOST_SENTENCES = 4  # on parts that are not shown


@dataclass(frozen=True)
class Nodes:
    """Equal nodes on one switch. `network` is None if it was not described."""

    hosts: tuple[str, ...]
    network: Network | None


@dataclass(frozen=True, kw_only=True)
class Group:
    """`count` equal enclosures of a kind, described by the first one; the outermost group is the cluster, its kind is "".

    `size` is the number of nodes in one of them. `further` parts with `further_nodes` nodes are not shown.
    """

    kind: str
    size: int
    switches: tuple[Switch, ...] = ()
    groups: tuple["Group", ...] = ()
    nodes: tuple[Nodes, ...] = ()
    attached: tuple[Attached, ...] = ()
    count: int = 1
    of_switch: bool = False  # the nodes of a switch that belongs to no enclosure
    further: int = 0
    further_nodes: int = 0


@dataclass
class _Part:
    """A set of hosts while the tree grows."""

    kind: str
    hosts: dict[str, None]
    switches: list[Switch]
    parts: list["_Part"] = field(default_factory=list)
    owners: dict[str, "_Part"] = field(default_factory=dict)  # the part of each host that is in one


def build_tree(machine: Machine) -> tuple[Group, tuple[str, ...]] | None:
    """Returns the cluster, and sentences on what it cannot show; None for a machine alone.

    The hosts are those of the system file and those of the run. Enclosures that share a part of their hosts with others are
    left out, and so are switches.
    """
    names: dict[str, None] = dict.fromkeys(host for e in machine.enclosures for host in e.hosts)
    names.update(dict.fromkeys(host for switch in machine.cluster.switches for host in switch.hosts))
    short = {short_name(name): name for name in names}
    names.update(dict.fromkeys(h.name for h in machine.hosts if short_name(h.name) not in short))
    if len(names) < 2:
        return None
    root = _Part("", names, [])
    omitted = [sentence for part in _parts(machine, root) if (sentence := _insert(root, part))]
    described = networks_by_host(machine) if machine.hosts else {}
    networks = {name: described.get(short_name(name)) for name in names}
    tree = _fold(root, networks, machine.cluster.attached)
    if len(omitted) > MOST_SENTENCES:
        omitted[MOST_SENTENCES:] = [
            f"{len(omitted) - MOST_SENTENCES} further enclosures are not drawn for such a reason."
        ]
    shown = {a.name for group in walk(tree) for a in group.attached}
    return replace(
        tree, attached=(*tree.attached, *(a for a in machine.cluster.attached if a.name not in shown))
    ), tuple(omitted)


def walk(group: Group) -> Iterable[Group]:
    """Yields the group and all groups in it."""
    yield group
    for inner in group.groups:
        yield from walk(inner)


def _parts(machine: Machine, root: _Part) -> list[_Part]:
    """Returns all sets of hosts, the largest first; of equal sets the later kind of enclosures first."""
    of_kind: dict[str, list[Switch]] = {}
    for switch in machine.cluster.switches:
        if switch.each:
            of_kind.setdefault(switch.each, []).append(switch)
        elif not switch.hosts:
            root.switches.append(switch)
    parts = [_Part(e.kind, dict.fromkeys(e.hosts), of_kind.get(e.kind, [])) for e in reversed(machine.enclosures)]
    parts += [_Part("", dict.fromkeys(s.hosts), [s]) for s in machine.cluster.switches if s.hosts]
    kinds = list(dict.fromkeys(e.kind for e in machine.enclosures))
    order = {kind: -rank for rank, kind in enumerate(kinds)}
    first = {name: rank for rank, name in enumerate(root.hosts)}
    return sorted(
        (part for part in parts if part.hosts),
        key=lambda p: (-len(p.hosts), order.get(p.kind, 1), first[next(iter(p.hosts))]),
    )


def _insert(root: _Part, part: _Part) -> str:
    """Puts the part into the smallest one that has all of its hosts. Returns a sentence if it crosses another one."""
    place = root
    while True:
        keys = part.hosts.keys()
        if keys == place.hosts.keys() and not part.kind:
            place.switches += part.switches
            return ""
        owners = [place.owners.get(host) for host in keys]
        inner = owners[0]
        if any(owner is not inner for owner in owners):
            return _describe_crossing(part, next(owner for owner in owners if owner))
        if inner is None:
            place.parts.append(part)
            place.owners.update(dict.fromkeys(keys, part))
            return ""
        place = inner


def _describe_crossing(part: _Part, other: _Part) -> str:
    what, of = (f"the {p.kind}" if p.kind else f"the switch '{p.switches[0].name}'" for p in (part, other))
    return (
        f"T{what[1:]} of {describe_hosts(tuple(part.hosts))} is not drawn, because it has only a part of the hosts of {of} of "
        f"{describe_hosts(tuple(other.hosts))}."
    )


def _fold(
    part: _Part, networks: Mapping[str, Network | None], attached: Sequence[Attached], of_switch: bool = False
) -> Group:
    inside = {host for inner in part.parts for host in inner.hosts}
    names = {switch.name for switch in part.switches if not switch.each}
    direct = _nodes([host for host in part.hosts if host not in inside], networks)
    groups = _fold_equal(_fold(inner, networks, attached, not inner.kind) for inner in part.parts)
    shown, rest = groups[:MOST_KINDS], groups[MOST_KINDS:]
    nodes, few = direct[:MOST_KINDS], direct[MOST_KINDS:]
    return Group(
        kind=part.kind,
        of_switch=of_switch,
        size=len(part.hosts),
        switches=tuple(part.switches),
        groups=shown,
        nodes=nodes,
        attached=tuple(a for a in attached if a.uplink.to in names),
        further=sum(group.count for group in rest) + len(few),
        further_nodes=sum(group.count * group.size for group in rest) + sum(len(n.hosts) for n in few),
    )


def _nodes(hosts: Iterable[str], networks: Mapping[str, Network | None]) -> tuple[Nodes, ...]:
    """Returns the nodes by their description, the most frequent one first."""
    alike: dict[str, list[str]] = {}
    described: dict[str, Network | None] = {}
    for host in hosts:
        network = networks.get(host)
        key = repr(network and replace(network, hosts=()))
        alike.setdefault(key, []).append(host)
        described.setdefault(key, network)
    groups = [Nodes(tuple(members), described[key]) for key, members in alike.items()]
    return tuple(sorted(groups, key=lambda nodes: -len(nodes.hosts)))


def _fold_equal(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Returns equal groups once, the most frequent first."""
    folded: dict[str, Group] = {}
    for group in groups:
        key = repr(_without_names(group))
        earlier = folded.get(key)
        folded[key] = replace(earlier, count=earlier.count + 1) if earlier else group
    return tuple(sorted(folded.values(), key=lambda group: -group.count))


def _without_names(group: Group) -> Group:
    """Returns the group without the names of its hosts: two enclosures with this result are equal."""
    nodes = tuple(Nodes(("",) * len(n.hosts), n.network and replace(n.network, hosts=())) for n in group.nodes)
    switches = tuple(replace(switch, hosts=()) for switch in group.switches)
    return replace(group, switches=switches, nodes=nodes, groups=tuple(map(_without_names, group.groups)))


def describe_hosts(hosts: Sequence[str]) -> str:
    """'n1', 'n[1-6,8-15]', or 'n1 … z15' for names that make no short list."""
    text = hostlist.compress(hosts)
    return text if len(text) <= MOST_LETTERS else f"{hosts[0]} … {hosts[-1]}"
