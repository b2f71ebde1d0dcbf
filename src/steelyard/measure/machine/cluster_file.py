"""Reads what a system file says about a cluster: its enclosures, its switches, and the machines beside its nodes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.errors import nearest
from steelyard.measure.machine import hostlist
from steelyard.model import Attached, Cluster, Enclosure, Switch, Uplink
from steelyard.model.settings_file import Place, SettingsFile

KEYS = {
    "enclosures": "a table, the smallest kind first, each with a list of lists of hosts: blade = ['n[1-15]', 'n[16-30]'], or "
    "with the number of hosts in each: blade = [{ hosts = 'n[1-1080]', each = 15 }]",
    "node": "a text that describes a node of the cluster: 'Celeron 601 MHz, 256 MB'",
    "switches": "tables [[switches]] with name, each (a kind of enclosures) or hosts, node_rate (bit/s), units and uplinks",
    "attached": "tables [[attached]] for machines beside the nodes, with name, to (a switch), number, links and rate (bit/s)",
}
_LEAST_RATE, _MOST_RATE = 1e3, 1e15  # bit/s
_MOST = 10_000  # links, units or machines
_UPLINK = {
    "to": "the name of a switch",
    "links": "a whole number",
    "rate": "bits per second: 10 Gbit/s is written 10e9",
}
_SWITCH = {
    "name": "a text",
    "each": "a kind of 'enclosures'",
    "hosts": "a list of hosts such as 'n[1-8]'",
    "node_rate": "bits per second of the link to each node: 1 Gbit/s is written 1e9",
    "units": "a whole number",
    "uplinks": "a list of tables with to, links and rate: uplinks = [{ to = 'core switch', links = 2, rate = 10e9 }]",
}
_ATTACHED = {"name": "a text", "number": "a whole number", **_UPLINK}


def read_enclosures(file: SettingsFile) -> tuple[Enclosure, ...]:
    """Returns each enclosure with all its hosts. A host is in at most one enclosure of a kind. UsageError for a mistake."""
    given = file.content.get("enclosures", {})
    if not isinstance(given, dict):
        raise file.mistake(("enclosures",), f"'{given}' is not allowed. Write {KEYS['enclosures']}.")
    enclosures: list[Enclosure] = []
    for kind, entries in given.items():
        place = ("enclosures", kind)
        if not isinstance(entries, list):
            raise file.mistake(place, f"'{entries}' is not allowed. Write {KEYS['enclosures']}.")
        of_kind = [Enclosure(kind, hosts) for entry in entries for hosts in _read_hosts(file, place, entry)]
        counts = Counter(host for enclosure in of_kind for host in enclosure.hosts)
        twice = next((host for host, times in counts.items() if times > 1), None)
        if twice is not None:
            raise file.mistake(
                place,
                f"The host '{twice}' is in two enclosures of the kind '{kind}'. Name each host only once for each kind.",
            )
        enclosures += of_kind
    return tuple(enclosures)


def _read_hosts(file: SettingsFile, place: Place, entry: object) -> Iterator[tuple[str, ...]]:
    """Yields the hosts of one enclosure, or of several that have `each` hosts."""
    if isinstance(entry, str) and entry:
        yield _expand_hosts(file, place, entry)
        return
    text, size = (entry.get("hosts"), entry.get("each")) if isinstance(entry, dict) else (None, None)
    if not isinstance(text, str) or not text or type(size) is not int or size < 1 or len(entry) != 2:  # type: ignore[arg-type]
        raise file.mistake(place, f"'{entry}' is not allowed. Write {KEYS['enclosures']}.")
    hosts = _expand_hosts(file, place, text)
    for first in range(0, len(hosts), size):
        yield hosts[first : first + size]


def read_cluster(file: SettingsFile, enclosures: tuple[Enclosure, ...]) -> Cluster:
    """Returns the switches and other machines. UsageError names the line and the key of a mistake."""
    node = file.content.get("node", "")
    if not isinstance(node, str) or ("node" in file.content and not node.strip()):
        raise file.mistake(("node",), f"'{node}' is not allowed. Write {KEYS['node']}.")
    kinds = {enclosure.kind for enclosure in enclosures}
    switches = tuple(_read_switch(file, place, table, kinds) for place, table in _tables(file, "switches", _SWITCH))
    attached = tuple(
        Attached(
            _read_text(file, place, table, "name", _ATTACHED),
            _read_count(file, place, table, "number"),
            _read_uplink(file, place, table),
        )
        for place, table in _tables(file, "attached", _ATTACHED)
    )
    names = [switch.name for switch in switches]
    for name, times in Counter(names).items():
        if times > 1:
            raise file.mistake(
                ("switches",), f"Two tables have the name '{name}'. Give each kind of switches one table."
            )
    links = [(f"switch '{s.name}'", uplink) for s in switches for uplink in s.uplinks]
    for whose, uplink in [*links, *((f"machine '{a.name}'", a.uplink) for a in attached)]:
        if uplink.to not in names:
            known = nearest(uplink.to, names) if names else "The file has no [[switches]]."
            raise file.mistake(("switches",), f"The {whose} is linked to '{uplink.to}', which is not a switch. {known}")
    return Cluster(node.strip(), switches, attached)


def _read_switch(file: SettingsFile, place: Place, table: Mapping[str, Any], kinds: set[str]) -> Switch:
    each, hosts = table.get("each", ""), table.get("hosts", "")
    if each and (not isinstance(each, str) or each not in kinds):
        known = f"It has: {', '.join(sorted(kinds))}." if kinds else "It has none."
        raise file.mistake((*place, "each"), f"'{each}' is not a kind of 'enclosures' of this file. {known}")
    if not isinstance(hosts, str):
        raise file.mistake((*place, "hosts"), f"'{hosts}' is not allowed. Write {_SWITCH['hosts']}.")
    if each and hosts:
        raise file.mistake(place, "A switch has either 'each' or 'hosts'. Remove one of them.")
    uplinks = table.get("uplinks", [])
    if not isinstance(uplinks, list) or not all(isinstance(uplink, dict) for uplink in uplinks):
        raise file.mistake((*place, "uplinks"), f"'{uplinks}' is not allowed. Write {_SWITCH['uplinks']}.")
    for uplink in uplinks:
        file.expect_keys((*place, "uplinks"), uplink, _UPLINK)
    return Switch(
        name=_read_text(file, place, table, "name", _SWITCH),
        each=each,
        hosts=_expand_hosts(file, (*place, "hosts"), hosts),
        node_rate=_read_rate(file, place, table, "node_rate"),
        units=_read_count(file, place, table, "units"),
        uplinks=tuple(_read_uplink(file, (*place, "uplinks"), uplink) for uplink in uplinks),
    )


def _read_uplink(file: SettingsFile, place: Place, table: Mapping[str, Any]) -> Uplink:
    to = _read_text(file, place, table, "to", _UPLINK)
    return Uplink(to, _read_count(file, place, table, "links"), _read_rate(file, place, table, "rate"))


def _tables(file: SettingsFile, key: str, keys: Mapping[str, str]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yields the tables of a list, each with its place in the file."""
    tables = file.content.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.mistake((key,), f"'{tables}' is not allowed. Write {KEYS[key]}.")
    for number, table in enumerate(tables):
        place: Place = (key, number)
        file.expect_keys(place, table, keys)
        yield place, table


def _expand_hosts(file: SettingsFile, place: Place, text: str) -> tuple[str, ...]:
    try:
        return hostlist.expand(text)
    except ValueError as problem:
        raise file.mistake(place, f"{problem}.") from None


def _read_text(file: SettingsFile, place: Place, table: Mapping[str, Any], key: str, keys: Mapping[str, str]) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        given = f"'{value}' is not allowed" if key in table else "The key is missing"
        raise file.mistake((*place, key), f"{given}. Write {keys[key]}.")
    return value.strip()


def _read_count(file: SettingsFile, place: Place, table: Mapping[str, Any], key: str) -> int:
    value = table.get(key, 1)
    if type(value) is not int or not 1 <= value <= _MOST:
        raise file.mistake((*place, key), f"'{value}' is not allowed. Write a whole number from 1 to {_MOST}.")
    return value


def _read_rate(file: SettingsFile, place: Place, table: Mapping[str, Any], key: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _LEAST_RATE <= value <= _MOST_RATE:
        raise file.mistake((*place, key), f"'{value}' is not allowed. Write bits per second: 1 Gbit/s is written 1e9.")
    return float(value)
