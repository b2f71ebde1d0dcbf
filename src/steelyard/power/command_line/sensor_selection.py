"""The selection of sensors of a store and of their periods: by name, or by the hosts of a run or a job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from steelyard.errors import UsageError, nearest
from steelyard.measure.machine.hostlist import short_name
from steelyard.model.sensor import Sensor, Trace
from steelyard.power.command_line.connections import say
from steelyard.power.command_line.time_ranges import SECOND, When

if TYPE_CHECKING:
    from steelyard.measure.telemetry.watched import Stretch
    from steelyard.power.stores import Store

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

    def with_power(self) -> "Part":
        """The same node with only its sensors of power or energy."""
        return replace(self, sensors=tuple(s for s in self.sensors if s.quantity in ("energy", "power")))

    def traces(self, store: "Store", margin: int = MARGIN) -> Iterator[tuple[Sensor, Trace]]:
        """Yields each sensor with its readings in the intervals and within `margin` (ns) around them."""
        for sensor in self.sensors:
            yield sensor, store.trace(self.node, sensor.name, max(self.start - margin, 0), self.end + margin)


def select_parts(store: "Store", words: Sequence[str], when: When) -> tuple[list[Part], list[str]]:
    """Returns the sensors that the words name (SYSTEM, SYSTEM/NODE or SYSTEM/NODE/SENSOR; none: all), and unknown hosts.

    It prints the unknown hosts. UsageError for words that name nothing, for a host that may be several nodes, and if the store
    has no host of the run or job.
    """
    chosen = _select_sensors(store.sensors(), words)
    if not when.hosts:
        return [Part(node, sensors, when.stretches) for node, sensors in chosen.items()], []
    selected, unknown = [], []
    for host, stretches in when.hosts.items():
        nodes = _find_nodes(chosen, host)
        if len(nodes) > 1:
            system = nodes[0].partition("/")[0]
            raise UsageError(
                f"{when.called} ran on '{host}', and the store has {' and '.join(nodes)}. Name the system, such as '{system}'."
            )
        if nodes:
            selected.append(Part(nodes[0], chosen[nodes[0]], stretches))
        else:
            unknown.append(host)
    if not selected:
        among = f" among {', '.join(words)}" if words else ""
        raise UsageError(
            f"{when.called} ran on {_shorten_hosts(unknown)}. The store has no such node{among}. {_list_nodes(chosen)}"
        )
    if unknown:
        say(f"The store has no sensors of {', '.join(unknown)}, where {when.called} also ran.")
    return selected, unknown


def _shorten_hosts(hosts: Sequence[str]) -> str:
    more = f" and {len(hosts) - MOST_NAMED} more" if len(hosts) > MOST_NAMED else ""
    return ", ".join(hosts[:MOST_NAMED]) + more


def _list_nodes(chosen: Mapping[str, object]) -> str:
    return f"It has these nodes: {_shorten_hosts(sorted(chosen)) or 'none'}."


def _select_sensors(stored: Mapping[str, tuple[Sensor, ...]], words: Sequence[str]) -> dict[str, tuple[Sensor, ...]]:
    if not words:
        return dict(sorted(stored.items()))
    selected: dict[str, dict[str, Sensor]] = {}
    for word in words:
        for node, sensors in _match_word(stored, word).items():
            selected.setdefault(node, {}).update({s.name: s for s in sensors})
    return {node: tuple(sensors.values()) for node, sensors in selected.items()}


def _match_word(stored: Mapping[str, tuple[Sensor, ...]], word: str) -> dict[str, tuple[Sensor, ...]]:
    if word in stored:
        return {word: stored[word]}
    whole = max((node for node in stored if word.startswith(f"{node}/")), key=len, default="")
    if whole:
        sensors = {s.name: s for s in stored[whole]}
        name = word[len(whole) + 1 :]
        if name not in sensors:
            raise UsageError(f"The node '{whole}' has no sensor '{name}'. {nearest(name, sensors)}")
        return {whole: (sensors[name],)}
    system = {node: sensors for node, sensors in sorted(stored.items()) if node.startswith(f"{word}/")}
    if not system:
        node = "/".join(word.split("/")[:2])
        kind = "node" if "/" in word else "system"
        raise UsageError(f"The store has no {kind} '{node}'. {nearest(node, stored)}")
    return system


def _find_nodes(stored: Mapping[str, object], host: str) -> list[str]:
    """Returns the nodes that a host may be: those with its full name, or else those with its short name and no other domain."""
    names = {node: node.rpartition("/")[2] for node in stored}
    if exact := [node for node, name in names.items() if name == host != short_name(host)]:
        return exact
    bare = host == short_name(host)
    return [node for node, name in names.items() if (short_name(name) if bare else name) == short_name(host)]
