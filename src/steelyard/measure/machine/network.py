"""The network of hosts: reads that of this machine, folds equal descriptions, and says in words what was found."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.measure.machine import host_network
from steelyard.model import Interface, Machine, Network
from steelyard.model.plain import from_plain, visible
from steelyard.model.units import nominal

UNKNOWN = "unknown"
# Words of the kernel's interrupt moderation.
_MODERATION = {"rx_usecs": "µs at reception", "tx_usecs": "µs at sending"}


def read_networks(root: Path, host: str) -> tuple[Network, ...]:
    """Returns the network of this machine, or of the machine whose files were recorded below `root`; () if nothing is known."""
    network = make_network(host, host_network.describe(str(root)))
    known = network.interfaces or any(setting.value is not None for setting in network.settings)
    return (network,) if known else ()


def make_network(host: str, description: Any) -> Network:
    """Returns the network of a host from the plain data of `host_network.describe`. ValueError if it is of another form."""
    if not isinstance(description, Mapping):
        raise ValueError("a description of a network is an object")
    return from_plain(Network, {**visible(dict(description)), "hosts": [host]})


def fold_hosts(networks: Iterable[Network]) -> tuple[Network, ...]:
    """Returns equal descriptions only once, with all of their hosts, in the order of the first one."""
    folded: dict[str, Network] = {}
    for network in networks:
        key = repr(replace(network, hosts=()))
        earlier = folded.get(key)
        folded[key] = replace(network, hosts=(*earlier.hosts, *network.hosts)) if earlier else network
    return tuple(folded.values())


def rate_text(rate: float | None) -> str:
    """1e9 → '1 Gbit/s'; 'unknown' for None."""
    return UNKNOWN if rate is None else nominal(rate, "bit/s")


def time_text(seconds: float | None) -> str:
    """0.2 → '200 ms'; 'unknown' for None."""
    return UNKNOWN if seconds is None else nominal(seconds, "s")


def offloads_text(interface: Interface) -> str:
    """Returns 'tso gso gro', 'none', or 'unknown'."""
    if not interface.offloads:
        return UNKNOWN
    return " ".join(name for name, on in interface.offloads.items() if on) or "none"


def interrupts_text(interface: Interface) -> str:
    """Returns 'adaptive', '3 µs at reception, 0 µs at sending', or 'unknown'."""
    given = interface.interrupts
    if not given:
        return UNKNOWN
    if given.get("adaptive_rx"):
        return "adaptive"
    return ", ".join(f"{given[name]} {words}" for name, words in _MODERATION.items() if name in given) or UNKNOWN


def list_facts(machine: Machine) -> dict[str, str]:
    """Returns the facts of all hosts by name, for comparisons; {} if no network is described.

    A fact that differs between interfaces or hosts has all of its values, in the order of the hosts.
    """
    values: dict[str, dict[str, None]] = {}
    for network in machine.networks:
        for interface in network.interfaces:
            for name, text in _list_interface_facts(interface).items():
                values.setdefault(name, {})[text] = None
        for setting in network.settings:
            values.setdefault(setting.name, {})[UNKNOWN if setting.value is None else setting.value] = None
    return {name: " / ".join(texts) for name, texts in values.items()}


def _list_interface_facts(interface: Interface) -> dict[str, str]:
    return {
        "network driver": " ".join(filter(None, (interface.driver or UNKNOWN, interface.firmware))),
        "network link rate": rate_text(interface.link_rate),
        "network duplex": interface.duplex or UNKNOWN,
        "network MTU": UNKNOWN if interface.mtu is None else f"{interface.mtu} B",
        "network offloads": offloads_text(interface),
        "network interrupt moderation": interrupts_text(interface),
        "network flow control": interface.flow_control or UNKNOWN,
        "smallest retransmission time-out": time_text(interface.rto_min),
    }
