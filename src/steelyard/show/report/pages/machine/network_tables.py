"""The network of the hosts as rows of tables: interfaces, settings of TCP, and sentences on what is unknown."""

from collections.abc import Iterator, Sequence

from steelyard.measure.machine.network import UNKNOWN, interrupts_text, offloads_text, rate_text, time_text
from steelyard.model import Interface, Network
from steelyard.show.report.cluster_table import describe_hosts

MOST_COUNTED = 3  # hosts that a reader counts at a glance
_FACTS = {"link_rate": "link rate", "offloads": "offloads", "interrupts": "interrupt moderation"}


def list_interfaces(networks: Sequence[Network]) -> tuple[tuple[str, ...], ...]:
    """Returns a row for each interface of equal hosts: hosts, name, kind, driver … smallest retransmission time-out."""
    return tuple((name_hosts(n.hosts), *_cells(interface)) for n in networks for interface in n.interfaces)


def _cells(interface: Interface) -> tuple[str, ...]:
    part_of = f" (part of {interface.part_of})" if interface.part_of else ""
    return (
        interface.name,
        interface.kind + part_of,
        " ".join(filter(None, (interface.driver or UNKNOWN, interface.firmware))),
        rate_text(interface.link_rate),
        interface.duplex or UNKNOWN,
        UNKNOWN if interface.mtu is None else f"{interface.mtu} B",
        offloads_text(interface),
        interrupts_text(interface),
        interface.flow_control or UNKNOWN,
        time_text(interface.rto_min),
    )


def list_settings(networks: Sequence[Network]) -> tuple[tuple[str, str, str], ...]:
    """Returns (hosts, name, value) of each setting that was read. Hosts are named only where the hosts differ."""
    described = [network for network in networks if network.settings]
    rows: dict[str, dict[str, list[str]]] = {}
    for network in described:
        for setting in network.settings:
            values = rows.setdefault(setting.name, {})
            values.setdefault(UNKNOWN if setting.value is None else setting.value, []).extend(network.hosts)
    return tuple(
        (name_hosts(hosts) if len(values) > 1 else "", name, value)
        for name, values in rows.items()
        for value, hosts in values.items()
        if len(values) > 1 or value != UNKNOWN
    )


def list_notes(networks: Sequence[Network]) -> tuple[str, ...]:
    """Returns sentences on the hosts and facts that are unknown, and on where the retransmission time-outs come from."""
    return tuple(dict.fromkeys(sentence for network in networks for sentence in _notes(network)))


def _notes(network: Network) -> Iterator[str]:
    if network.reason:
        yield f"The network of {name_hosts(network.hosts)} is unknown: {network.reason}."
    elif not network.interfaces:
        yield f"{name_hosts(network.hosts)} has no network interface that is up."
    for interface in network.interfaces:
        for fact, reason in interface.reasons.items():
            yield f"{interface.name}, {_FACTS.get(fact, fact)}: unknown, because {reason}."
        if interface.rto_source:
            yield f"{interface.name}, RTO minimum: {time_text(interface.rto_min)} from {interface.rto_source}."


def name_hosts(hosts: Sequence[str]) -> str:
    """'n1', 'n[1-3]', or 'n[1-15] (15 hosts)' for more than three."""
    return describe_hosts(hosts) + (f" ({len(hosts)} hosts)" if len(hosts) > MOST_COUNTED else "")
