"""The selection of sensors of a store and of their periods: by name, or by the hosts of a run or a job."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.errors import UsageError, nearest
from steelyard.model.sensor import Sensor, Trace
from steelyard.power.command_line.time_ranges import SECOND, When

if TYPE_CHECKING:
    from steelyard.power.stores import Store
    from steelyard.telemetry.watched import Stretch

MARGIN = (
    120 * SECOND
)  # ns: what begins between two readings is known by those around it; slow sensors give one a minute
MOST_NAMED = 8  # hosts in a sentence


@dataclass(frozen=True)
class Part:
    """Sensors of one node ("SYSTEM/NODE"), and the intervals of time."""

    node: str
    sensors: tuple[Sensor, ...]
    stretches: "tuple[Stretch, ...]"

    @property
    def start(self) -> int:
        return min(s.begin for s in self.stretches)

    @property
    def end(self) -> int:
        return max(s.end for s in self.stretches)

    def traces(self, store: "Store", margin: int = MARGIN) -> Iterator[tuple[Sensor, Trace]]:
        """Yields each sensor with its readings in the intervals and within `margin` (ns) around them."""
        for sensor in self.sensors:
            yield sensor, store.trace(self.node, sensor.name, max(self.start - margin, 0), self.end + margin)


def parts(store: "Store", words: Sequence[str], when: When) -> tuple[list[Part], list[str]]:
    """Returns the sensors that the words name (SYSTEM, SYSTEM/NODE or SYSTEM/NODE/SENSOR; none: all), and unknown hosts.

    UsageError for words that name nothing, for a host that may be several nodes, and if the store has no host of the run or job.
    """
    chosen = _named(store.sensors(), words)
    if not when.hosts:
        return [Part(node, sensors, when.stretches) for node, sensors in chosen.items()], []
    found, unknown = [], []
    for host, stretches in when.hosts.items():
        nodes = _nodes(chosen, host)
        if len(nodes) > 1:
            system = nodes[0].partition("/")[0]
            raise UsageError(
                f"{when.called} ran on '{host}', and the store has {' and '.join(nodes)}. Name the system, such as '{system}'."
            )
        if nodes:
            found.append(Part(nodes[0], chosen[nodes[0]], stretches))
        else:
            unknown.append(host)
    if not found:
        among = f" among {', '.join(words)}" if words else ""
        raise UsageError(f"{when.called} ran on {_some(unknown)}. The store has no such node{among}. {_known(chosen)}")
    return found, unknown


def _some(hosts: Sequence[str]) -> str:
    more = f" and {len(hosts) - MOST_NAMED} more" if len(hosts) > MOST_NAMED else ""
    return ", ".join(hosts[:MOST_NAMED]) + more


def _known(chosen: Mapping[str, object]) -> str:
    return f"It has these nodes: {_some(sorted(chosen)) or 'none'}."


def _named(known: Mapping[str, tuple[Sensor, ...]], words: Sequence[str]) -> dict[str, tuple[Sensor, ...]]:
    if not words:
        return dict(sorted(known.items()))
    found: dict[str, dict[str, Sensor]] = {}
    for word in words:
        for node, sensors in _of_word(known, word).items():
            found.setdefault(node, {}).update({s.name: s for s in sensors})
    return {node: tuple(sensors.values()) for node, sensors in found.items()}


def _of_word(known: Mapping[str, tuple[Sensor, ...]], word: str) -> dict[str, tuple[Sensor, ...]]:
    if word in known:
        return {word: known[word]}
    whole = max((node for node in known if word.startswith(f"{node}/")), key=len, default="")
    if whole:
        sensors = {s.name: s for s in known[whole]}
        name = word[len(whole) + 1 :]
        if name not in sensors:
            raise UsageError(f"The node '{whole}' has no sensor '{name}'. {nearest(name, sensors)}")
        return {whole: (sensors[name],)}
    system = {node: sensors for node, sensors in sorted(known.items()) if node.startswith(f"{word}/")}
    if not system:
        node = "/".join(word.split("/")[:2])
        kind = "node" if "/" in word else "system"
        raise UsageError(f"The store has no {kind} '{node}'. {nearest(node, known)}")
    return system


def _nodes(known: Mapping[str, object], host: str) -> list[str]:
    """Returns the nodes that a host may be: those with its full name, or else those with its short name and no other domain."""
    names = {node: node.rpartition("/")[2] for node in known}
    if exact := [node for node, name in names.items() if name == host != _short(host)]:
        return exact
    bare = host == _short(host)
    return [node for node, name in names.items() if (_short(name) if bare else name) == _short(host)]


def _short(host: str) -> str:
    """Returns the short name: 'n1.cluster.org' → 'n1'. An address stays unchanged."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host.partition(".")[0]
