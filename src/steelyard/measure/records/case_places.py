"""Where a case runs: a best pace belongs to a kind of cores, to memory nodes, and to the processors of the hosts."""

from collections import Counter
from collections.abc import Mapping, Sequence

from steelyard.errors import UsageError
from steelyard.measure.machine.hostlist import short_name
from steelyard.measure.plan.possible import cpus_of
from steelyard.model import Machine, Parameters, Record
from steelyard.model.mpi_settings import describe

MARK = "hosts:"  # before the kinds in the key of a pace; the paces of hosts like this machine do not have it
MIXED = "+"  # between the kinds of core of a case
_PLACED = ("threads", "ranks", "ranks_per_node", "pinning", "placement")  # what decides on the processors of a case
_DECIDING = ("ranks", "ranks_per_node", "mapping", "placement", "partner", "pairs")  # and on the hosts
_LIKE_THIS = ""


class Places:
    """The kinds of cores, the memory nodes and the settings of the MPI that a case uses, as words; "" if they are as usual."""

    def __init__(self, machine: Machine | None) -> None:
        self._machine = machine
        kinds = machine.core_kinds if machine else ()
        self._kinds = {cpu: f"kind{number}" for number, cpus in enumerate(kinds) for cpu in cpus}
        nodes = {cpu: f"node{core.node}" for core in (machine.cores if machine else ()) for cpu in core.cpus}
        self._nodes = nodes if len(set(nodes.values())) > 1 else {}
        self._steered = describe(machine.mpi_settings) if machine and machine.mpi_settings else ""
        self._known: dict[tuple[object, ...], tuple[str, str, str]] = {}

    def of(self, parameters: Parameters) -> tuple[str, str, str]:
        """Returns the words of the kinds of cores, of the memory nodes, and of the settings of the MPI."""
        if self._machine is None or not (self._kinds or self._nodes):
            return "", "", self._steered
        key = tuple(parameters.get(name) for name in _PLACED)
        if key not in self._known:
            try:
                cpus = cpus_of(self._machine, parameters) or self._machine.cpus
            except UsageError:  # of a record that was measured elsewhere
                cpus = self._machine.cpus
            self._known[key] = _join_words(self._kinds, cpus), _join_words(self._nodes, cpus), self._steered
        return self._known[key]


def _join_words(words: Mapping[int, str], cpus: Sequence[int]) -> str:
    return MIXED.join(sorted({words[cpu] for cpu in cpus if cpu in words}))


class HostKinds:
    """The kind of each host of a run: its processor. A host whose processor is unknown is compared with nothing but itself."""

    def __init__(self, machine: Machine | None) -> None:
        hosts = machine.hosts if machine and len(machine.hosts) > 1 else ()
        self._kinds = {short_name(host.name): host.processor or short_name(host.name) for host in hosts}
        if machine and hosts:
            here = short_name(machine.host)
            processor = next((host.processor for host in hosts if short_name(host.name) == here), "")
            like = {processor or machine.processor, here}
            self._kinds = {name: _LIKE_THIS if kind in like else kind for name, kind in self._kinds.items()}
            self._kinds[here] = _LIKE_THIS
        self._are_alike = not any(self._kinds.values())
        self._found: dict[str, str] = {}  # by the names in records
        self._most = max(1, len(hosts))
        self._used: dict[tuple[object, ...], tuple[str, int]] = {}  # by earlier records with such parameters

    def of_hosts(self, record: Record) -> Mapping[str, str]:
        """Returns the kind of each host of the record; {} if all hosts of the run are of one kind."""
        if self._are_alike:
            return {}
        return {host: self._find_kind(host) for host in record.surroundings.ranks.hosts or ()}

    def learn(self, record: Record) -> tuple[str, int]:
        """Returns the kinds of the hosts that took part in a record, as a word, and the number of these hosts.

        The word is "" if all are like this machine. It has the number of each kind, because the slowest host of a kind decides.
        """
        hosts = _list_hosts(record)
        used = self._describe(hosts), max(1, len(hosts))
        self._used[_choose(record.parameters)] = used
        return used

    def expect(self, parameters: Parameters) -> tuple[str, int] | None:
        """Returns the same for a case that will be measured; None if only the hosts of its record can show it."""
        ranks = int(parameters.get("ranks", 1))
        if self._are_alike or "ranks" not in parameters:
            return "", max(1, min(self._most, ranks))
        return self._used.get(_choose(parameters))

    def _find_kind(self, host: str) -> str:
        if self._are_alike:
            return _LIKE_THIS
        if host not in self._found:  # once for each name, of which records have many
            name = short_name(host)
            self._found[host] = self._kinds.get(name, name)
        return self._found[host]

    def _describe(self, hosts: set[str]) -> str:
        kinds = Counter(map(self._find_kind, hosts))
        if len(kinds) <= 1:
            return "".join(f"{MARK}{kind}" for kind in kinds if kind)
        return MARK + ",".join(f"{count}x{kind}" for kind, count in sorted(kinds.items()))


def _list_hosts(record: Record) -> set[str]:
    """Returns the hosts of the ranks that took part: of many ranks, a pair may exchange messages."""
    ranks = record.surroundings.ranks
    hosts, seconds = ranks.hosts or (), ranks.seconds or ()
    if len(seconds) != len(hosts) or not any(seconds):
        return set(hosts)
    return {host for host, times in zip(hosts, seconds, strict=True) if times}


def _choose(parameters: Parameters) -> tuple[object, ...]:
    return tuple(parameters.get(name) for name in _DECIDING)
