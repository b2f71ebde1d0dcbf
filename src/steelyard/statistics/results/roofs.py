"""Roofs of a roofline: the peaks of arithmetic and the bandwidths of caches and memory that this run measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from steelyard.model import Attempt, Evaluation, Machine, Result, Scalar
from steelyard.model.caches import MEMORY, WELL_BEYOND, WELL_INSIDE, capacities, level_of
from steelyard.model.devices import find_device, name_device, on_device
from steelyard.model.roles import Bandwidth, Peak
from steelyard.statistics.results import cases
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.validity import trust
from steelyard.statistics.validity.limits import is_above

VECTORS, APART, SCALAR = "vectors", "vectors, not fused", "scalar"
VECTOR = "vector"  # the kernel of a device that has no matrix units
DeviceKey = tuple[str, Scalar]
FIRST = "L1"  # its lines are not read before they are written; beyond it, bytes include write-allocate
APART_FROM = 0.9  # share of the fused peak: unfused operations above it are no separate roof


@dataclass(frozen=True)
class Roof:
    """A bound that was measured: flop/s of a "peak", or B/s of a "bandwidth", and the result that reached it.

    `of` names the device whose roof it is; "" for the processors.
    """

    kind: Literal["peak", "bandwidth"]
    name: str  # "vectors", "scalar" …; "memory", "L2" …
    value: float
    result: Result
    of: str = ""

    @property
    def title(self) -> str:
        """Returns the name with that of the device: 'memory of GPU 0 (CUDA)'."""
        return f"{self.name} of {self.of}" if self.of else self.name

    def at(self, intensity: float) -> float:
        """Returns the greatest speed (flop/s) of a kernel with this intensity (flop/B)."""
        return self.value if self.kind == "peak" else self.value * intensity


def peaks(evaluation: Evaluation, threads: int) -> Iterator[Roof]:
    """Yields the fastest arithmetic in double precision: on vectors, on vectors without fused operations, on scalars."""
    machine = evaluation.run.machine
    names = {name for name, _ in find_roles(evaluation, Peak)}
    measured = [
        r
        for r in evaluation.results
        if r.benchmark in names and threads_of(r, machine) == threads and "flops" in r.metrics and usable(r)
        and r.parameters.get("precision", "double") == "double" and not on_device(r.parameters)
    ]  # fmt: skip
    scalar = [r for r in measured if _read_width(r) == "scalar"]
    wide = [r for r in measured if _read_width(r) != "scalar"]
    fastest = _find_best(wide or measured, "flops")
    if fastest:
        yield _peak(VECTORS, fastest)
    apart = _find_best([r for r in wide if r.parameters.get("operation") == "add_mul"], "flops")
    if apart and fastest and apart.metrics["flops"].value < APART_FROM * fastest.metrics["flops"].value:
        yield _peak(APART, apart)
    one = _find_best(scalar, "flops") if wide else None
    if one:
        yield _peak(SCALAR, one)


def _peak(name: str, result: Result) -> Roof:
    """Returns the measured speed, or its physical limit if the speed is above it: then one of the two is wrong."""
    speed, limit = result.metrics["flops"], result.limits.get("flops")
    return Roof("peak", name, limit.value if limit and is_above(speed, limit) else speed.value, result)


def bandwidths(evaluation: Evaluation, threads: int) -> Iterator[Roof]:
    """Yields the best bandwidth of the memory and of each cache, by moved bytes; for the first cache by the loop's bytes."""
    machine = evaluation.run.machine
    kernels = {(name, role.kernel) for name, role in find_roles(evaluation, Bandwidth)}
    measured = [
        r
        for r in evaluation.results
        if (r.benchmark, r.kernel) in kernels
        and usable(r)
        and threads_of(r, machine) == threads
        and not on_device(r.parameters)
    ]
    sized = [(r, size) for r in measured if (size := working_set(r))]
    beyond = [r for r, size in sized if level_of(size, threads, machine) == MEMORY]
    yield from _make_roofs(MEMORY, cases.select_greatest(beyond, "elements"))
    levels = capacities(threads, machine)
    for number in reversed(range(len(levels))):
        name, capacity = levels[number]
        before = levels[number - 1][1] if number else 0
        fitting = [(r, size) for r, size in sized if before < size <= WELL_INSIDE * capacity]
        inside = [r for r, size in fitting if size >= WELL_BEYOND * before] or [r for r, _ in fitting]
        yield from _make_roofs(name, inside)


def list_device_roofs(evaluation: Evaluation) -> dict[DeviceKey, tuple[Roof, ...]]:
    """Returns the memory and the vectors of each device (door and number) of which this run measured both."""
    loops = {(name, role.kernel) for name, role in find_roles(evaluation, Bandwidth)}
    peaks_of = {name for name, _ in find_roles(evaluation, Peak)}
    found: dict[DeviceKey, tuple[Roof, ...]] = {}
    machine = evaluation.run.machine
    results = [r for r in evaluation.results if usable(r) and on_device(r.parameters) and not is_processor(r, machine)]
    for key in dict.fromkeys(key_of(r) for r in results):
        mine = [r for r in results if key_of(r) == key and r.parameters.get("precision", "double") == "double"]
        loop = [r for r in mine if (r.benchmark, r.kernel) in loops]
        memory = _find_best(cases.select_greatest(loop, "elements"), "bandwidth")
        vectors = _find_best([r for r in mine if r.benchmark in peaks_of and r.kernel == VECTOR], "flops")
        if memory and vectors:
            name = name_device(machine, vectors.parameters)
            speed = memory.metrics["bandwidth"].value
            found[key] = (Roof("bandwidth", MEMORY, speed, memory, name), replace(_peak(VECTORS, vectors), of=name))
    return found


def is_processor(result: Result, machine: Machine) -> bool:
    """Returns whether the device of a case is the processor itself, behind OpenCL."""
    device = find_device(machine, result.parameters)
    return device is not None and device.kind == "CPU"


def key_of(result: Result) -> DeviceKey:
    """Returns the door and the number of the device that computes a case."""
    given = result.parameters
    return str(given.get("door", given.get("mode"))), given.get("device", 0)


def _make_roofs(name: str, results: Sequence[Result]) -> Iterator[Roof]:
    for metric in ("bandwidth",) if name == FIRST else ("traffic", "bandwidth"):
        best = _find_best(results, metric)
        if best:
            yield Roof("bandwidth", name, best.metrics[metric].value, best)
            return


def _find_best(results: Sequence[Result], metric: str) -> Result | None:
    measured = [r for r in results if metric in r.metrics]
    return max(trust.select_most_trusted(measured), key=lambda r: r.metrics[metric].value, default=None)


def working_set(result: Result) -> float | None:
    """Returns the bytes that an operation works on, each once; None for random accesses, or if it is unknown."""
    record = record_with_work(result)
    if record is None or record.work.get("accesses"):
        return None
    if record.work.get("operations"):  # a whole program: its bytes are those of many passes
        return record.work.get("working_set") or None
    return record.work.get("working_set") or record.work.get("bytes") or None


def threads_of(result: Result, machine: Machine) -> int:
    """Returns the number of used processors: threads × ranks. A device uses all of its processors, whatever `threads` is."""
    if on_device(result.parameters):
        return len(machine.cpus)
    threads = cases.number(result, "threads") or 1
    return int(threads * (cases.number(result, "ranks") or 1))


def _read_width(result: Result) -> Scalar | None:
    return result.parameters.get("vector_width", result.parameters.get("width"))


def usable(result: Result) -> bool:
    """Returns whether the result has values to draw; unreliable ones are marked."""
    return result.verdict.level != "INVALID"


def record_with_work(result: Result) -> Attempt | None:
    """Returns the first attempt with work; None if every case failed."""
    return next((record for record in result.attempts if record.error is None and record.work), None)
