"""Highest speed of a device's arithmetic

The kernel "vector" runs eight independent chains of fused multiplications and additions in each work item, in double, single
and, on NVIDIA's devices, in two short precisions. "matrix" uses NVIDIA's matrix units with products of small matrices.
"library" is the product of two large matrices by cuBLAS (cuBLASLt for numbers of 8 bits) or AMD's rocBLAS, if that is on the
machine.

Reading: No kernel computes faster than "vector" without matrix units. Their peak is for programs that a library or a compiler
brings to these units. The product of the library is what a program reaches that calls it.

Caution: At its power limit a device lowers its clock, and so the result: see the clock beside the samples. The kernel "matrix"
uses instructions of one warp (32 threads). On devices from Hopper on, the library can use faster instructions of four warps, so
"matrix" is below the peak there. All factors are ones, which draw less power than random numbers.

Source: NVIDIA, PTX ISA (warp-level matrix instructions). The chains, the products and their checks are our own.
"""

from steelyard.measure.benchmarks.device.shared import (
    UNREAD,
    Values,
    block,
    devices_of,
    draw_bars,
    limit_of,
    sampling_of,
)
from steelyard.measure.benchmarks.rates import per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Result
from steelyard.model.figure import Axis, Figure
from steelyard.model.machine import Device
from steelyard.model.roles import Headline, Peak

UNITS_FROM = {"double": 8.0, "tf32": 8.0, "half": 8.0, "bfloat16": 8.0, "fp8": 8.9}  # the first capability that has it
LIBRARY = ("double", "single", "tf32", "half", "bfloat16")
OF_AMD = ("double", "single", "half", "bfloat16")
WORDS = ("double", "single", "tf32", "half", "bfloat16", "fp8")
unread = UNREAD


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: each precision of the vectors, of the matrix units, and of the library."""
    blocks = []
    for devices in devices_of(machine, effort):
        newest = min(_capability(d) for d in devices)
        short = ("half", "bfloat16") if newest >= 8 else ()
        kinds: list[Values] = [{"kernel": ("vector",), "precision": ("double", "single", *short)}]
        if units := tuple(name for name, first in UNITS_FROM.items() if newest >= first):
            kinds.append({"kernel": ("matrix",), "precision": units})
        if all(d.facts.get("library") for d in devices):
            of_nvidia = (*LIBRARY, "fp8") if newest >= UNITS_FROM["fp8"] else LIBRARY
            of_library = OF_AMD if devices[0].door == "hip" else of_nvidia
            kinds.append({"kernel": ("library",), "precision": of_library, "order": (8192,)})
        sampling = sampling_of(effort, 0.15, 0.5)
        blocks += [
            block(devices, sampling, 0.4, values, () if "order" in values else ("steps",), precision=WORDS)
            for values in kinds
        ]
    return tuple(blocks)


def _capability(device: Device) -> float:
    return float(str(device.facts.get("capability") or 0))


metrics = (Metric("flops", "flop/s", "higher", "speed", per_second("flops")),)
_limits = {"double": limit_of("flops"), "single": limit_of("flops_single")}


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the peak of the vectors by units and clock; that of the matrix units is unknown."""
    known = _limits.get(str(result.parameters.get("precision"))) if result.kernel == "vector" else None
    return known(result, machine) if known else None


roles = (
    Peak(),
    Headline(
        name="device_flops",
        title="Device: double precision",
        unit="flop/s",
        order=61,
        kernel="vector",
        least=("device",),
        usual=(("precision", "double"),),
        says="fused operations without matrix units",
    ),
    Headline(
        name="device_matrix",
        title="Device: matrix units",
        unit="flop/s",
        order=62,
        kernel="matrix",
        least=("device",),
        usual=(("precision", "half"),),
        says="products of numbers of 16 bits",
    ),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the speeds of all precisions, of vectors, matrix units and library."""
    return (
        Figure(
            name="device-peak",
            title="Arithmetic of the device",
            kind="bars",
            x=Axis("kernel and precision"),
            y=Axis("speed", "flop/s", log=True),
            series=draw_bars(
                results, "flops", lambda r: f"{r.kernel}, {r.parameters.get('precision', 'double')}", machine
            ),
            caption="Longer bars are better; the scale is logarithmic.",
        ),
    )
