"""The parts of a machine that its sensors cover: which sensors count, so that each joule counts once, and for which cases.

One sensor counts for each part. A meter of the whole node is the total; without one, the meters of disjoint parts add up. The
choice follows from the descriptions of the sensors alone, so that it does not depend on the load. A scope is a tuple of words:
("node",), or the parts, such as ("processors", "accelerator nvidia/gpu0"); () if no sensor says what it covers.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from steelyard.measure.machine.hostlist import short_name
from steelyard.measure.telemetry.sampler import select_summed
from steelyard.model import Device, Machine, Parameters
from steelyard.model.devices import find_device, on_device
from steelyard.model.scope import ACCELERATOR, HOST, MEMORY, MODULE, NODE, PLATFORM, PROCESSORS, SEVERAL, Parts
from steelyard.model.sensor import SUPERCHIP, Scope, Sensor, scope_of_rapl
from steelyard.model.words import joined

SUMS = (
    "node",
    "platform",
    "host",
    "enclosure",
    "",
)  # scopes of which a source has several sensors that add up: supplies
TYPICAL = 50.0  # W: converts the step of a counter to the seconds that it stands for
MOMENTARY = 2.0  # s: a momentary power says nothing about the time between two readings
COARSE = 5.0  # s: a counter with longer steps says less than a sampled power
# The maker of an accelerator, from the names of sensors and of OpenCL devices.
_MAKERS = {
    "nvidia": re.compile(r"nvidia|nvml|tesla|geforce|quadro", re.I),
    "amd": re.compile(r"\bamd|rocm|radeon|instinct|^gfx[0-9]", re.I),
    "intel": re.compile(r"\bintel|\bxe\b|\bi915|\barc\b", re.I),
}
_TWO_DIES = re.compile(r"MI250", re.I)  # OpenCL lists both dies, and one counter measures both
_SOCKET = re.compile(r"(?:package|socket)[-_ ]?([0-9]+)(?:-die-([0-9]+))?")
_NAMES_NODES = ("slurm", "ipmi", "redfish")  # a sensor of these may have its node or BMC as the second word of its name
# Words with a number that are no host.
_DEVICES = ("gpu", "card", "accel", "cpu", "package", "socket", "die", "psu", "board", "module", "fan")
_READING = re.compile(r"[/_-](?:energy|power)[-_]?[0-9]*$")


@dataclass(frozen=True)
class Coverage:
    """The sensors whose sum is the energy, and the scope of this sum."""

    sensors: tuple[Sensor, ...] = ()
    scope: Parts = ()

    @property
    def source(self) -> str:
        """Returns the sources of the sensors: 'RAPL (powercap) + NVML'."""
        return " + ".join(dict.fromkeys(sensor.source for sensor in self.sensors))


def best_of_parts(sensors: Iterable[Sensor]) -> list[Sensor]:
    """Returns the best sensor for each part, in the given order: a part that two sources measure is listed once."""
    usable = select_summed(list(sensors))
    groups: dict[tuple[str, str], list[Sensor]] = {}
    for sensor in usable:
        scope = _find_scope(sensor)
        maker = _name_maker(f"{sensor.name} {sensor.source}") if scope in ("accelerators", "superchip") else ""
        groups.setdefault(("accelerators" if maker else scope, maker), []).append(sensor)
    if any(maker for _, maker in groups):  # accelerators without a maker may be the same ones
        groups.pop(("accelerators", ""), None)
    chosen = {s.name for (scope, _), members in groups.items() for s in _choose_best(scope, members)}
    return list({s.name: s for s in usable if s.name in chosen}.values())


def choose(sensors: Iterable[Sensor], machine: Machine | None = None) -> Coverage:
    """Returns the sensors of one host whose sum is the total, and their scope. `machine` has the number of sockets."""
    every = list(sensors)
    if {"platform", "processors", "accelerators"} <= {_find_scope(sensor) for sensor in every}:
        every = [s for s in every if _find_scope(s) != "platform"]  # which may contain the accelerators, or not
    by_scope: dict[Scope, list[Sensor]] = {}
    for sensor in best_of_parts(every):
        by_scope.setdefault(_find_scope(sensor), []).append(sensor)
    if node := by_scope.get("node") or by_scope.get("platform"):
        return Coverage(tuple(node), (_find_scope(node[0]),))
    grace = machine is not None and any(SUPERCHIP.search(device.name) for device in machine.devices)
    accelerators = by_scope.get("accelerators", []) + by_scope.get("superchip", [])
    doubtful = [s for s in accelerators if _find_scope(s) == "superchip" or (grace and _name_maker(s.name) != "intel")]
    board: Scope = "host" if "host" in by_scope else "module"
    if board in by_scope:
        accelerators = [s for s in accelerators if s not in doubtful]
    if board in by_scope or doubtful:  # which may contain these
        by_scope |= {"processors": [], "memory": []}
    if board == "host":  # which contains these
        by_scope |= {"module": [], "rest": []}
    if 0 < len(_list_sockets(by_scope.get("memory", []))) < len(_list_sockets(by_scope.get("processors", []))):
        by_scope["memory"] = []  # the memory belongs to some sockets only
    dies = _list_sockets(s for s in every if _find_scope(s) == "processors")
    scope = (
        *_list_boards(board, by_scope.get(board, []), machine, dies),
        *_list_boards(PROCESSORS, by_scope.get("processors", []), machine, dies),
        *([MEMORY] if by_scope.get("memory") else []),
        *(f"{ACCELERATOR} {_READING.sub('', s.name)}{' or its module' if s in doubtful else ''}" for s in accelerators),
        *(["rest"] if by_scope.get("rest") else []),
    )
    by_scope["accelerators"] = accelerators
    known = [s for part in (board, "processors", "memory", "accelerators", "rest") for s in by_scope.get(part, ())]
    return Coverage(tuple(known or by_scope.get("", ())), scope)


def by_source(sensors: Iterable[Sensor]) -> dict[str, Coverage]:
    """Returns what each source covers, and last what the sensors that count cover: a source, or the sum of several."""
    best = best_of_parts(sensors)
    names = dict.fromkeys(sensor.source for sensor in best)
    sources = {name: choose(sensor for sensor in best if sensor.source == name) for name in names}
    counted = choose(best)
    return sources | ({counted.source: counted} if counted.sensors else {})


def of_hosts(
    sensors: Sequence[Sensor], machine: Machine | None, hosts: Iterable[str] = (), others: Iterable[str] = ()
) -> Coverage:
    """Returns the sensors of all `hosts` (none: this machine). Nothing if a host has none, or their scopes differ.

    Equal scopes have equally many parts of each kind: one accelerator less on a host is one that nobody measures. `others` are
    further hosts, whose sensors do not count.
    """
    here = shorten(machine.host) if machine else ""
    full = dict.fromkeys(machine.host if machine and name == "localhost" else name for name in hosts)
    every = tuple(dict.fromkeys(map(shorten, full))) or (here,)
    by_host = group_by_host(sensors, (*every, *map(shorten, others)), here)
    parts = [choose(by_host.get(name, ()), machine) for name in every]
    if len(parts) == 1 and len(full) < 2:
        return parts[0]
    scopes = {tuple(sorted(map(_find_kind, part.scope))) for part in parts}
    alike = len({name for name in full if "." in name}) > len(every)  # two hosts whose names differ after the first dot
    if alike or len(scopes) > 1 or not all(part.scope for part in parts):
        return Coverage()
    several = (f"of {len(parts)} hosts",) if len(parts) > 1 else ()
    return Coverage(tuple(s for part in parts for s in part.sensors), (*parts[0].scope, *several))


def group_by_host(sensors: Iterable[Sensor], names: Sequence[str] = (), here: str = "") -> dict[str, list[Sensor]]:
    """Returns the sensors of each host. The name of a sensor may have that of its host: "slurm/node7/power".

    A sensor without the name of a host is of this one (`here`), unless its service names several nodes. A sensor that names a
    host besides `names` is of that one.
    """
    every = [(sensor, sensor.name.split("/")) for sensor in sensors]
    nodes = {(words[0], words[1]) for _, words in every if len(words) > 2 and words[0] in _NAMES_NODES}
    count = Counter(service for service, _ in nodes)
    groups: dict[str, list[Sensor]] = {}
    for sensor, words in every:
        short = {shorten(word) for word in words}
        host = next((name for name in names if name in short), "")
        if not host and len(words) > 2 and words[0] in _NAMES_NODES:
            host = next((n for n in names if _is_bmc_of(words[1], n)), words[1] if count[words[0]] > 1 else "")
        host = host or find_other_host(sensor, names)
        groups.setdefault(host or here, []).append(sensor)
    return groups


def find_other_host(sensor: Sensor, names: Iterable[str]) -> str:
    """Returns the host that the name of a sensor has, if it is none of `names` (short, in small letters); "" otherwise.

    Slurm names its nodes. In other names, a word is a host if it differs from one of `names` only by numbers. A BMC may have
    any other name.
    """
    known, words = {*names} - {"", "unknown", "localhost"}, sensor.name.split("/")
    if any(_is_bmc_of(word.lower(), name) for word in words for name in known):
        return ""
    of_node = len(words) > 2 and words[0] in _NAMES_NODES
    if known and of_node and words[0] == "slurm" and shorten(words[1]) != "localhost":
        return words[1]
    for form in sorted({re.sub("[0-9]+", "[0-9]+", re.escape(name)) for name in known if re.search("[0-9]", name)}):
        device = re.sub("[^a-z]", "", form) in _DEVICES
        places = words[1:2] if device and of_node else words[:1] if device else words[:-1]
        if match := next(filter(None, (_find_word(form, word.lower()) for word in places)), None):
            return match[0]
    return ""


def _find_word(form: str, text: str) -> re.Match[str] | None:
    return re.search(rf"(?<![a-z0-9]){form}(?![a-z0-9])", text)


def _is_bmc_of(bmc: str, host: str) -> bool:
    """Returns whether the name of a BMC has that of the host as a word: 'n1-bmc', 'bmc-n1'."""
    return bool(host) and host in bmc and _find_word(re.escape(host), bmc) is not None


def shorten(host: str) -> str:
    """Returns the short name of a host in small letters."""
    return short_name(host.lower())


def kinds(scope: Parts) -> frozenset[str]:
    """Returns the kinds of the parts, without the names of one of several: two machines are compared by these."""
    return frozenset(_find_kind(part) for part in scope if not SEVERAL.fullmatch(part))


def _find_kind(part: str) -> str:
    return ACCELERATOR if part.startswith(ACCELERATOR) else part


def missing(scope: Parts, parameters: Parameters, machine: Machine | None) -> str:
    """Returns the parts that compute in a case with these parameters and whose energy the scope lacks; "" for none."""
    alone, devices = on_device(parameters), machine.devices if machine else ()
    device = find_device(machine, parameters)
    lacks = []
    if not alone and not contains(scope, PROCESSORS):
        lacks.append("the processors")
    if (alone or parameters.get("mode") == "mixed") and not _is_in_scope(scope, device, devices):
        of_processors = device is not None and _is_of_processors(device)
        lacks.append("the processors" if of_processors else f"the device {device.name}" if device else "the device")
    return joined(dict.fromkeys(lacks))


def absent(scope: Parts, machine: Machine) -> str:
    """Returns the parts of the machine that the scope lacks: 'memory, fans and other parts'; "" for a meter of the node."""
    if not scope or NODE in scope:
        return ""
    other = "other " if any(re.match(r"(module|processor) [0-9]", part) for part in scope) else ""
    lacks = [other * (part == PROCESSORS) + part for part in (PROCESSORS, MEMORY) if not contains(scope, part)]
    cards = [d for d in machine.devices if not _is_of_processors(d) and not _is_in_scope(scope, d, machine.devices)]
    fans = [] if {HOST, PLATFORM} & {*scope} else ["fans", "other parts"]
    return joined((*lacks, *(["accelerators"] if cards else []), *fans))


def contains(scope: Parts, part: str) -> bool:
    """Returns whether the scope contains all `PROCESSORS`, or the `MEMORY`."""
    return bool({NODE, PLATFORM, HOST, MODULE, part} & {*scope})


# --------------------------------------------------------------------------- sensors


def _find_scope(sensor: Sensor) -> Scope:
    """Returns the scope; older descriptions had the same one for all domains of RAPL, and none for a model."""
    if sensor.name.startswith("rapl/"):
        return scope_of_rapl(sensor.name)
    return "host" if sensor.modelled and not sensor.scope else sensor.scope


def _name_unit(sensor: Sensor) -> str:
    """Returns the device that the sensor measures, as one of several."""
    return sensor.device or _READING.sub("", sensor.name)


def _name_maker(text: str) -> str:
    return next((maker for maker, pattern in _MAKERS.items() if pattern.search(text)), "")


def _choose_best(scope: str, sensors: Sequence[Sensor]) -> list[Sensor]:
    """Returns the best sensor of each unit. Units with different systems of names may be the same ones: one system counts."""
    systems: dict[str, dict[str, list[Sensor]]] = {}
    for sensor in sensors:
        unit = _name_unit(sensor)
        # The meters of a node are its supplies or boards: those of one source add up.
        system = sensor.source if scope in SUMS else _name_system(unit)
        systems.setdefault(system, {}).setdefault(sensor.name if system == sensor.source else unit, []).append(sensor)
    best = [[min(members, key=_rank_sensor) for members in units.values()] for units in systems.values()]
    if not scope:
        return [sensor for members in best for sensor in members]
    return min(best, key=lambda members: (0 if scope in SUMS else -len(members), max(map(_rank_sensor, members))))


def _name_system(unit: str) -> str:
    return "pci" if unit.startswith("pci:") else re.sub(r"[0-9]+", "#", unit)


def _rank_sensor(sensor: Sensor) -> tuple[bool, float, bool, str, str]:
    """Sorts counters first, and then powers by the time for which a reading stands; of equal ones a mean is the first."""
    counts = sensor.quantity == "energy"
    moment = 0.0 if counts or sensor.window else MOMENTARY
    coarse = max(sensor.update, sensor.window, moment, sensor.resolution / TYPICAL if counts else 0.0)
    return not counts or coarse > COARSE, coarse, not sensor.window, sensor.source, sensor.name


def _list_boards(kind: str, sensors: Sequence[Sensor], machine: Machine | None, dies: Collection[str]) -> list[str]:
    """Returns the word for all processors or modules, or the names of those that are read if a socket or a die is not.

    `dies` are those of all sensors. The kernel names a die only if its package has several.
    """
    sockets = len({core.socket for core in machine.cores}) if machine else 0
    read = _list_sockets(sensors)
    packages = Counter(name.partition(" ")[0] for name in read)
    of_packages = Counter(name.partition(" ")[0] for name in dies if " " in name)
    is_whole = (
        len(packages) >= sockets and min(of_packages.values(), default=2) == max(of_packages.values(), default=2) > 1
    )
    if not sensors or not read or is_whole:
        return [kind] if sensors else []
    return [f"{kind.removesuffix('s')} {name}" for name in sorted(read)]


def _list_sockets(sensors: Iterable[Sensor]) -> set[str]:
    """Returns the numbers of the sockets in the names of the sensors: '0', or '0 die 1' for one of several dies."""
    matches = (_SOCKET.search(_name_unit(sensor)) for sensor in sensors)
    return {f"{match[1]} die {match[2]}" if match[2] else match[1] for match in matches if match}


# --------------------------------------------------------------------------- devices


def _is_of_processors(device: Device) -> bool:
    """Returns whether the processors compute the device's work, or it lies in their package."""
    return device.kind == "CPU" or (device.shares_memory and _name_maker(device.name) in ("intel", "amd"))


def _is_in_scope(scope: Parts, device: Device | None, devices: Sequence[Device]) -> bool:
    """Returns whether the energy of a device is in the scope: of as many accelerators as its maker's devices, or the node's."""
    if NODE in scope or device is None:
        return NODE in scope
    if _is_of_processors(device):
        return contains(scope, PROCESSORS)
    if MODULE in scope and SUPERCHIP.search(device.name):
        return True
    maker, cards = _name_maker(device.name), [_name_maker(part) for part in scope if part.startswith(ACCELERATOR)]
    apart = [d for d in devices if not _is_of_processors(d)]
    if not any(cards):
        return len(cards) >= len(apart)
    dies = sum(0.5 if _TWO_DIES.search(d.name) else 1.0 for d in apart if _name_maker(d.name) == maker)
    return bool(maker) and cards.count(maker) >= dies
