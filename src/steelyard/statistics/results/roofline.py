"""The roofline: the speed of each kernel beside the measured arithmetic and bandwidths of this machine.

Speed is bounded by the peak, and by bandwidth × operational intensity (flop/B), whichever is less: S. Williams, A. Waterman,
D. Patterson, Roofline: An Insightful Visual Performance Model for Multicore Architectures, CACM 52 (4), 2009. Roofs are what
core.peak and the Triad of memory.stream reached, not what a data sheet says.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.model import Evaluation, Limit, Machine, Result, Value
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.devices import find_device, on_device
from steelyard.model.units import binary_size
from steelyard.statistics.results import cases
from steelyard.statistics.results.result import used_attempts
from steelyard.statistics.results.roofs import (
    FIRST,
    SCALAR,
    VECTORS,
    Roof,
    bandwidths,
    key_of,
    list_device_roofs,
    peaks,
    record_with_work,
    threads_of,
    usable,
    working_set,
)
from steelyard.statistics.validity import trust
from steelyard.statistics.validity.limits import is_above

# Relative: what a kernel may exceed a measured roof by. Loops that only read exceed Triad's bandwidth by a third.
_OVER_MEMORY, _OVER_PEAK = 0.5, 0.1
OVER_CACHE = 1.0  # loops that only read a cache may exceed Triad's bandwidth more than those that only read memory
# Cases that differ in one of these are separate points; otherwise the usual and largest case represents the kernel.
_OWN = ("toolchain", "mpi", "stores", "vectors", "mode", "model", "device", "precision")
_USUAL = ("page_size", "memory_policy", "pinning", "start", "transport")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A kernel under the roofs: flop/B, flop/s with its 95 % interval, and the roof above it.

    `level` is where its working set lies ("L1" …, "memory"); None if that is not known, and then the lowest roof that it
    does not exceed stands above it. `roof`, `bound` (flop/s) and `share` of it are None if the roof was not measured.
    """

    result: Result
    threads: int
    intensity: float
    speed: Value
    level: str | None
    roof: Roof | None
    bound: float | None

    @property
    def name(self) -> str:
        """Returns the kernel, its working set and its unusual parameters: 'triad (1.28 GiB, streaming stores)'."""
        size, parameters = working_set(self.result), self.result.parameters
        hidden = ["threads", "start", "vectors", *(["elements"] if size else [])]
        hidden += ["mode", "device"] if parameters.get("mode") == "threads" else []
        hidden += ["stride"] if parameters.get("stride") == 1 else []
        name, _, rest = cases.describe(self.result, but=hidden).partition(" (")
        words = [binary_size(int(size))] if size else []
        words += [rest.removesuffix(")")] if rest else []
        words += ["kept scalar"] if parameters.get("vectors") == "no" else []
        return f"{name} ({', '.join(words)})" if words else name

    @property
    def share(self) -> float | None:
        """Returns the speed over the bound; None without a bound, or if the speed disproves it."""
        return self.speed.value / self.bound if self.bound and not self.disproves_roof else None

    @property
    def disproves_roof(self) -> bool:
        """Returns whether it is so much faster than the bandwidth of a cache that this bandwidth must be wrong."""
        is_cache = self.roof is not None and self.roof.kind == "bandwidth" and self.roof.name != MEMORY
        return is_cache and self.speed.value > (1 + OVER_CACHE) * (self.bound or 0.0)

    @property
    def is_above(self) -> bool:
        """Returns whether it is certainly faster than its limit. Triad's bandwidth of a cache does not bound other loops."""
        if self.roof is None or self.bound is None or self.speed.low is None:
            return False
        most = _OVER_PEAK if self.roof.kind == "peak" else _OVER_MEMORY if self.roof.name == MEMORY else None
        return most is not None and is_above(self.speed, Limit(self.bound, "flop/s", self.roof.name), most)


@dataclass(frozen=True)
class Roofline:
    """The roofs (bandwidths first) and the kernels of one number of threads, in the order of their results.

    `device` names a device whose roofs and kernels stand beside those of the processors; "" without one.
    """

    threads: int
    roofs: tuple[Roof, ...]
    places: tuple[Place, ...]
    device: str = ""

    def roof(self, name: str) -> Roof | None:
        """Returns the roof of that name."""
        return next((roof for roof in self.roofs if roof.name == name), None)


def rooflines(evaluation: Evaluation) -> tuple[Roofline, ...]:
    """Returns the rooflines of one thread and of all processors that have a peak and a bandwidth."""
    machine = evaluation.run.machine
    lines = []
    for threads in sorted({1, max(1, len(machine.cpus))}):
        roofs = (*bandwidths(evaluation, threads), *peaks(evaluation, threads))
        if {roof.kind for roof in roofs} == {"peak", "bandwidth"}:
            mine = [result for result in evaluation.results if _is_of_this_machine(result, machine)]
            chosen = _choose_results(mine, threads, machine)
            places = tuple(place for result in chosen if (place := _place_under_roof(result, threads, roofs, machine)))
            lines.append(Roofline(threads, roofs, places))
    return tuple(lines)


def device_rooflines(evaluation: Evaluation) -> tuple[Roofline, ...]:
    """Returns for each device its roofs and kernels, beside those of all processors: of these, memory and peak."""
    machine = evaluation.run.machine
    threads = max(1, len(machine.cpus))
    beside = next((line for line in rooflines(evaluation) if line.threads == threads), None)
    lines = []
    for key, roofs in list_device_roofs(evaluation).items():
        mine = [r for r in evaluation.results if on_device(r.parameters) and key_of(r) == key]
        chosen = _choose_results(mine, threads, machine)
        places = [place for result in chosen if (place := _place_on_device(result, threads, roofs))]
        own = [roof for roof in beside.roofs if roof.name in (MEMORY, VECTORS)] if beside else []
        others = [p for p in beside.places if not on_device(p.result.parameters)] if beside else []
        ordered = sorted((*roofs, *own), key=lambda roof: roof.kind == "peak")
        lines.append(Roofline(threads, tuple(ordered), (*places, *others), device=roofs[0].of))
    return tuple(lines)


def _place_on_device(result: Result, threads: int, roofs: Sequence[Roof]) -> Place | None:
    """Returns a kernel under the roofs of its device. Where its data lie is not known: the last cache may hold them."""
    record, speed = record_with_work(result), speed_of(result)
    if record is None or speed is None:
        return None
    intensity = record.work["flops"] / record.work["bytes"]
    roof = min(roofs, key=lambda one: one.at(intensity))
    return Place(
        result=result,
        threads=threads,
        intensity=intensity,
        speed=speed,
        level=None,
        roof=roof,
        bound=roof.at(intensity),
    )


def speed_of(result: Result) -> Value | None:
    """Returns the flop/s from the median time of an operation; None without usable times or without flops."""
    used = used_attempts(result)
    flops = used[0].work.get("flops") if used else None
    if not flops or not usable(result):
        return None
    seconds = result.seconds
    if not seconds or not seconds.value > 0:
        return None
    low, high = (flops / end if end else None for end in (seconds.high, seconds.low))
    return Value(flops / seconds.value, "flop/s", low, high, "higher")


def _place_under_roof(result: Result, threads: int, roofs: Sequence[Roof], machine: Machine) -> Place | None:
    record, speed = record_with_work(result), speed_of(result)
    if record is None or speed is None:
        return None
    size, work = working_set(result), record.work
    level = level_of(size, threads, machine) if size else None

    def intensity(place_name: str | None) -> float:
        """Returns flop/B, by the bytes that move to and from the level that holds the data."""
        moved = work.get("bytes_moved") if place_name not in (FIRST, None) else None
        return work["flops"] / (moved or work["bytes"])

    for candidate in [level] if level else [roof.name for roof in _select_slowest(roofs)]:
        roof = _find_roof_above(result, candidate, intensity(candidate), roofs)
        # The margin allows for the scatter of a median.
        if level or (roof and speed.value <= 1.05 * roof.at(intensity(candidate))):
            value = intensity(candidate)
            return Place(
                result=result,
                threads=threads,
                intensity=value,
                speed=speed,
                level=level,
                roof=roof,
                bound=roof.at(value) if roof else None,
            )
    return Place(
        result=result, threads=threads, intensity=intensity(None), speed=speed, level=level, roof=None, bound=None
    )


def _select_slowest(roofs: Sequence[Roof]) -> list[Roof]:
    """Returns the bandwidths, the slowest first."""
    return sorted((roof for roof in roofs if roof.kind == "bandwidth"), key=lambda roof: roof.value)


def _find_roof_above(result: Result, level: str, intensity: float, roofs: Sequence[Roof]) -> Roof | None:
    """Returns the roof that bounds a kernel with its data in that level; None if it was not measured."""
    named = {roof.name: roof for roof in roofs}
    peak = named[VECTORS]
    if result.parameters.get("vectors") == "no":
        peak = named.get(SCALAR, peak)
    if level in named:
        return min(peak, named[level], key=lambda roof: roof.at(intensity))
    # A cache is at least as fast as the memory. If the memory is fast enough, arithmetic is the bound.
    memory = named.get(MEMORY)
    return peak if memory and memory.at(intensity) >= peak.value else None


def _choose_results(results: Iterable[Result], threads: int, machine: Machine) -> list[Result]:
    """Returns the usual, largest result of each kernel, for working sets in the caches and in memory.

    A working set between the caches and the memory represents its kernel only if there is no other.
    """
    groups: dict[tuple[object, ...], dict[str, list[Result]]] = {}
    for result in results:
        if _is_computing(result) and threads_of(result, machine) == threads:
            size = working_set(result)
            level = level_of(size, threads, machine) if size else None
            regime = "unclear" if level is None else MEMORY if level == MEMORY else "cache"
            settings = tuple(cases.value(result, name) for name in _OWN)
            groups.setdefault((result.benchmark, result.kernel, *settings), {}).setdefault(regime, []).append(result)
    clear = [(regimes, sorted(set(regimes) - {"unclear"}) or ["unclear"]) for regimes in groups.values()]
    return [max(regimes[name], key=_rank_preference) for regimes, names in clear for name in names]


def _rank_preference(result: Result) -> tuple[float, ...]:
    """Sort key: the result with the greatest key represents its kernel."""
    usual = sum(result.parameters.get(name) in (None, cases.USUAL.get(name, "default")) for name in _USUAL)
    fast = result.metrics.get("flops") or result.metrics.get("bandwidth")
    return (
        usual,
        -(cases.number(result, "stride") or 0.0),
        working_set(result) or 0.0,
        -trust.ORDER.index(result.verdict.level),
        fast.value if fast else 0.0,
    )


def _is_computing(result: Result) -> bool:
    record = record_with_work(result)
    return bool(record and usable(result) and record.work.get("flops") and record.work.get("bytes"))


def _is_of_this_machine(result: Result, machine: Machine) -> bool:
    """Returns whether it ran on the processors of this machine alone, whose roofs are known."""
    device = find_device(machine, result.parameters) if on_device(result.parameters) else None
    if device and device.kind != "CPU" and not device.shares_memory:
        return False
    record = record_with_work(result)
    if record is None:
        return True
    around = record.surroundings
    return len(set(around.ranks.hosts or ())) <= 1 and (around.details or {}).get("shares_memory") is not False
