"""Whether a value is good: beside its limit, and beside published values of the same processor, its family, or of all nodes."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import median
from typing import Literal

from steelyard.compare.published_side import make_side
from steelyard.compare.quantities import GROWING, OF_DEVICES, QUANTITIES, Reading, find_span, read
from steelyard.measure.published.system_library import list_readable
from steelyard.model import Limit, Machine, Parameters, Value
from steelyard.model.cores import usable_cores
from steelyard.model.devices import find_device
from steelyard.model.record import Span
from steelyard.model.units import percent, quantity, span, split_span
from steelyard.model.words import plural
from steelyard.statistics.results.parameters import number
from steelyard.statistics.validity.limits import find_share, is_above

Call = Literal["poor", "normal", "good"]
Basis = Literal["limit", "processor", "family", "nodes"]
Per = Literal["", "core", "socket"]

# Least normal share of a limit. For Triad and HPL it is four fifths of what well-tuned systems reach: 75 and 65 %
# (`importing.findings.imported_limits`). In the library, Triad with streaming stores has 78 to 82 % of its limit. For links it is
# four fifths of 96 %, which the developers of NCCL expect of a card (github.com/NVIDIA/nccl-tests, issue 119).
LEAST_SHARES = {
    "triad": 0.6, "peak": 0.85, "linpack": 0.52, "link": 0.77, "pair": 0.77,
    # On devices Triad reaches 85 to 93 % of its limit. Copies reach 80 to 90 % of the limit of the link.
    "device_triad": 0.7, "device_peak": 0.8, "to_device": 0.68, "from_device": 0.68,
}  # fmt: skip
ORDINARY = 3 / 4  # Triad with ordinary stores: the memory moves four words for three that STREAM counts
LIMITS = {
    "triad": "memory_bandwidth",
    "linpack": "flops",
    "link": "network_bandwidth",
    "pair": "network_bandwidth",
}  # of a machine
# How far beyond all published values of like hardware a value is still normal: compilers, memory modules and settings differ.
# Ordinary stores write each line twice, which takes a quarter of Triad. Small pages make an access a quarter longer.
TOLERANCE, WIDE = 0.15, 0.30
RARE, MANY = 0.1, 10  # of so many published nodes, the share that is worse than a normal value, or better
LEAST: dict[Basis, int] = {"processor": 1, "family": 3, "nodes": 3}  # published systems
SIMILAR = 4  # ratio of the numbers of cores up to which the bandwidth of a core is compared: few cores have more of it
NETWORK = ("message", "link", "pair", "chaos", "spread")  # of which the processor says nothing
SIZES = ("linpack_power", "sheet_peak", "sheet_bandwidth")  # what a machine is, and not how well it runs
NAMED = 3  # systems in a sentence
CORES = r"cortex (?P<design>[ax]\d+)|neoverse (?P<kind>\w\d)"  # all that an Arm processor states
FAMILIES = (
    r"epyc (?P<first>\d)\w\w(?P<last>\d)\w*",
    r"xeon (?:platinum|gold|silver|bronze) \d(?P<generation>\d)\d\d(?!h)\w*",
    r"xeon e5 \d+\w*?(?P<version>v\d)?",
    CORES,
    r"altra|ampereone|grace|graviton ?(?P<number>\d)|a64fx|thunderx2|power(?P<power>\d+)",
)
_CORE = re.compile(rf"(?:arm )?(?:{CORES})")
_NOISE = re.compile(r"\((?:r|tm)\)|\bcpu\b|\bprocessor\b")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The answer to "is that good?", and what it was compared with.

    `certain`: the whole range of the value gives this answer, and all nodes, which are of unlike hardware, are not its basis.

    `ratio` is the share of the limit, of which `least` is normal, or the value over the median of the published ones. `normal`
    are the least and the greatest normal value, `low` and `high` the range of the published ones, in the unit of the value,
    `per` core or socket, or whole (""). `sources` names the systems, the nearest first.
    """

    call: Call
    certain: bool
    basis: Basis
    ratio: float
    value: Value
    per: Per = ""
    least: float = 0.0
    normal: Span | None = None
    low: float | None = None
    high: float | None = None
    sources: tuple[str, ...] = ()
    is_of_device: bool = False

    @property
    def marked(self) -> str:
        """Returns the call, with a question mark if it is not certain."""
        return self.call if self.certain else f"{self.call}?"

    @property
    def reason(self) -> str:
        """Returns the comparison in a few words: '18.3 GB/s per core, normal 2.47 – 12.1 (25 systems)'."""
        if self.normal is None:
            return f"{percent(self.ratio)} of its limit, normal from {percent(self.least)}"
        same = "same device model" if self.is_of_device else "same CPU"
        whose = {"processor": same, "family": "like CPUs"}.get(self.basis, plural(len(self.sources), "system"))
        own, unit = quantity(self.value.value, self.value.unit), self.value.unit
        (least, of_least), (most, of_most) = split_span(*self.normal, unit, near=self.value.value)
        least = least if of_least == of_most else f"{least} {of_least}"
        most = (
            most if of_least == of_most == own.partition(" ")[2] else f"{most} {of_most}"
        )  # behind the value it stands, too
        per = f" per {self.per}" if self.per else ""
        return f"{own}{per}, normal {least} – {most} ({whose})"

    @property
    def published(self) -> str:
        """Returns the range of the published values and their sources; "" without any."""
        if self.low is None or self.high is None:
            return ""
        least, most = (quantity(end, self.value.unit) for end in (self.low, self.high))
        ends = least if least == most else span(self.low, self.high, self.value.unit)
        more = len(self.sources) - NAMED
        names = "; ".join([*self.sources[:NAMED], f"{more} more"] if more > 0 else self.sources)
        return f"{ends}{f' per {self.per}' if self.per else ''} ({'nearest: ' if more > 0 else ''}{names})"


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The hardware that was measured. `models` are names of its processor. `part`: only some cores of a machine were used.

    `limits` are those that a system file states of a machine which Steelyard did not measure itself.
    """

    models: tuple[str, ...]
    cores: float | None
    sockets: int | None = None
    part: bool = False
    limits: Mapping[str, Limit] = field(default_factory=dict, compare=False)
    families: frozenset[str] = field(default=frozenset(), compare=False)

    def has_model(self, other: "Hardware") -> bool:
        """Returns whether a name of the other one is part of a name of this one, word by word: "M4", but not of "M4 Max"."""
        return any(
            re.search(rf"(?<!\S){re.escape(model)}(?! (?:pro|max|ultra)\b)(?!\S)", name)
            for name in self.models
            for model in other.models
        )


@dataclass(frozen=True, kw_only=True)
class _Reference:
    name: str
    hardware: Hardware
    reading: Reading


def describe(machine: Machine, reading: Reading | None = None) -> Hardware:
    """Returns the hardware of a machine: of an imported run what its name states, such as "2x EPYC 7742".

    Of a `reading` of a device, it is this device.
    """
    if reading and reading.quantity in OF_DEVICES:
        device = find_device(machine, reading.parameters)
        name = device.name if device else str(reading.parameters.get("device", ""))
        return make_hardware([name, "" if device else machine.system], None)
    cores = usable_cores(machine) if machine.processor else machine.equipment.cores_per_node
    cores = cores if cores and 0 < cores < math.inf else None
    if not machine.processor:
        named = re.fullmatch(r"(?:(\d{1,4}) ?[x×] ?|(dual) )?(.+)", machine.system.casefold())
        count = 2 if named and named[2] else int(named[1]) if named and named[1] else None
        # A plain word such as "grace" may be the name of anything.
        is_model = named and (count or re.search(r"\d", named[3]))
        return replace(make_hardware([named[3]] if named and is_model else [], cores, count), limits=machine.limits)
    sockets = len({core.socket for core in machine.cores})
    part = machine.is_virtual or (cores or 0) < len(machine.cores) or 1 < len(machine.cores) <= sockets
    return make_hardware([machine.processor], cores, sockets or None, part)


def make_hardware(
    names: Iterable[str], cores: float | None, sockets: int | None = None, part: bool = False
) -> Hardware:
    """Returns the hardware with processors of these names."""
    words = tuple(filter(None, map(_normalize, names)))
    families = frozenset(family for name in words if (family := _find_family(name)))
    models = tuple(name for name in words if not _CORE.fullmatch(name))
    return Hardware(models=models, cores=cores, sockets=sockets, part=part, families=families)


def find_standing(reading: Reading, hardware: Hardware) -> Standing | None:
    """Returns what the value is worth; None if nothing is known, or if the value is not that of one whole machine.

    A value above its limit has none: one of both is wrong. A value that is poor for its limit is poor. Else the first of these
    decides: published values of the processor, the limit, published values of the family, those of all nodes.
    """
    limit = reading.limit or hardware.limits.get(LIMITS.get(reading.quantity, ""))
    if limit and limit is not reading.limit and reading.quantity == "pair":
        limit = replace(limit, value=2 * limit.value)  # that of a link in one direction
    known = limit if limit and limit.unit == reading.value.unit else None
    if not 0 < reading.value.value < math.inf or reading.quantity in SIZES or is_above(reading.value, known):
        return None
    limited = _compare_with_limit(reading, known)
    workers = _count_workers(reading.parameters) if reading.quantity in GROWING else None
    few = workers is not None and workers * SIMILAR < (hardware.cores or SIMILAR * 2)
    if limited and limited.call == "poor" and (few or (hardware.part and reading.quantity == "triad")):
        limited = None  # a part of the machine does not reach the limit of the whole
    if few or (limited and limited.call == "poor" and limited.certain):
        return limited
    bases: Sequence[Basis] = ("nodes",) if reading.quantity in NETWORK else ("processor", "family", "nodes")
    for basis in bases:
        if limited and basis != "processor":
            return limited
        if standing := _compare(reading, hardware, basis):
            return standing
    return limited


def _compare_with_limit(reading: Reading, limit: Limit | None) -> Standing | None:
    reached, least = find_share(reading.value, limit), LEAST_SHARES.get(reading.quantity)
    several = reading.quantity in GROWING and reading.nodes > 1  # the limit is that of one node
    if reached is None or least is None or not 0 < reached < math.inf or several:
        return None
    if reading.quantity == "triad" and reading.parameters.get("stores") != "streaming":
        least *= ORDINARY
    call: Call = "normal" if reached >= least else "poor"
    certain = not _holds(reading.value, reading.value.value * least / reached)
    return Standing(call=call, certain=certain, basis="limit", ratio=reached, value=reading.value, least=least)


def _compare(reading: Reading, hardware: Hardware, basis: Basis) -> Standing | None:
    per = _choose_part(reading, hardware, basis)
    own = _divide(reading, hardware, per)
    known = [
        (one, value.value)
        for one in _list_references(reading.quantity)
        if _is_like(one.hardware, hardware, basis, reading, per)
        and (value := _divide(one.reading, one.hardware, per))
        and value.unit == reading.value.unit
    ]
    if own is None or len(known) < LEAST[basis]:
        return None
    similar = [
        (one, value) for one, value in known if per != "core" or _has_similar_cores(one.hardware, hardware, reading)
    ]
    others = {one.name: value for one, value in (similar if len(similar) >= LEAST[basis] else known)}
    published = sorted(others.values())
    if basis == "nodes" and len(others) >= MANY:
        low, high = (_find_quantile(published, share) for share in (RARE, 1 - RARE))
    else:
        ordinary = basis != "processor" or reading.parameters.get("stores") != "streaming"
        wide = basis == "nodes" or reading.quantity == "latency" or (reading.quantity == "triad" and ordinary)
        tolerance = WIDE if wide else TOLERANCE
        more = WIDE if reading.quantity == "triad" else tolerance  # published Triads have ordinary stores
        low, high = published[0] * (1 - tolerance), published[-1] * (1 + more)
    lower = own.better == "lower"
    call: Call = "normal"
    if own.value < low:
        call = "good" if lower else "poor"
    elif own.value > high:
        call = "poor" if lower else "good"
    return Standing(
        call=call,
        certain=basis != "nodes" and len(similar) >= LEAST[basis] and not _holds(own, low) and not _holds(own, high),
        basis=basis,
        ratio=own.value / median(published),
        value=own,
        per=per,
        normal=(low, high),
        low=published[0],
        high=published[-1],
        sources=tuple(sorted(others, key=lambda name: abs(math.log(others[name] / own.value)))),
        is_of_device=reading.quantity in OF_DEVICES,
    )


def _is_like(one: Hardware, own: Hardware, basis: Basis, reading: Reading, per: Per) -> bool:
    """Returns whether a published system is of the same kind, and its values are comparable by this part."""
    if (basis == "processor" and not own.has_model(one)) or (basis == "family" and not own.families & one.families):
        return False
    if per == "socket" and own.sockets and one.sockets and one.cores:
        # More workers than the processors have cores: several nodes took part.
        return (_count_workers(reading.parameters) or 0) <= 2 * own.sockets * one.cores / one.sockets
    return True


def _has_similar_cores(one: Hardware, own: Hardware, reading: Reading) -> bool:
    """Returns whether the bandwidth of a core is comparable: a few cores of a large machine have more of it each."""
    if reading.quantity != "triad" or not own.cores or not one.cores:
        return True
    return max(own.cores, one.cores) <= SIMILAR * min(own.cores, one.cores)


def _choose_part(reading: Reading, hardware: Hardware, basis: Basis) -> Per:
    """Returns for what part of a node the value is compared. The channels of the memory belong to a socket."""
    if reading.quantity not in GROWING:
        return ""
    whole = hardware.sockets and not hardware.part and basis != "nodes"
    return "socket" if whole and (reading.quantity == "triad" or not hardware.cores) else "core"


def _divide(reading: Reading, hardware: Hardware, per: Per) -> Value | None:
    """Returns the value for each core or socket; None if their number is unknown, or if it belongs to several nodes."""
    if not per:
        return reading.value
    count = hardware.sockets if per == "socket" else hardware.cores
    if not count or not 0 < count < math.inf or reading.nodes > 1:
        return None
    value = reading.value
    low, high = (end / count for end in ends) if (ends := find_span(value)) else (None, None)
    return Value(value.value / count, value.unit, low, high, value.better)


def _count_workers(parameters: Parameters) -> float | None:
    """Returns the number of threads or ranks of a case, if it states one."""
    grid = [number(parameters.get(name)) for name in ("P", "Q")]
    ranks = grid[0] * grid[1] if grid[0] and grid[1] else number(parameters.get("ranks"))
    threads = number(parameters.get("threads"))
    return (ranks or 1) * (threads or 1) if ranks or threads else None


def _holds(value: Value, edge: float) -> bool:
    """Returns whether the range of the value, also at another hour, holds the edge; False without a range."""
    ends = find_span(value)
    return ends is not None and ends[0] <= edge <= ends[1]


def _find_quantile(ordered: Sequence[float], share: float) -> float:
    """Returns the quantile between two of the ordered numbers, linearly, as `numpy.quantile` without its import."""
    place = share * (len(ordered) - 1)
    before = math.floor(place)
    least, most = ordered[before], ordered[min(before + 1, len(ordered) - 1)]
    part = place - before
    return least + (most - least) * part if part < 0.5 else most - (most - least) * (1 - part)


@cache
def _list_references(name: str) -> tuple[_Reference, ...]:
    """Returns the published systems that have the quantity."""
    benchmarks = {pick.benchmark for one in QUANTITIES if one.name == name for pick in one.picks}
    return tuple(
        _Reference(
            name=s.dated,
            hardware=make_hardware(s.devices, None)
            if name in OF_DEVICES
            else make_hardware(s.models, s.cores, s.sockets),
            reading=reading,
        )
        for s in list_readable(*benchmarks)
        if (reading := read(make_side(s), name).get(name))
    )


def _normalize(name: str) -> str:
    """Returns the words of a processor's name: 'Intel(R) Xeon(R) CPU E5-2670 v3 @ 2.3GHz' → 'intel xeon e5 2670v3 2 3ghz'."""
    return re.sub(r" (v\d)\b", r"\1", " ".join(re.findall(r"[a-z0-9+]+", _NOISE.sub(" ", name.casefold()))))


def _find_family(name: str) -> str:
    for pattern in FAMILIES:
        if found := re.search(rf"\b(?:{pattern})\b", name):
            marks = [mark for mark in found.groupdict().values() if mark]
            return " ".join([found[0].split()[0].rstrip("0123456789"), *marks])
    return ""
