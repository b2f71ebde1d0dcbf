"""Latency of a device's caches and memory (pointer chase)

One work item follows a ring through lines of 128 bytes in random order. Each line holds the place of the next one, so a load
cannot begin before the last one has ended. Working sets from 4 KiB to eight times the last cache give a step for each cache.

Reading: Each flat part of the line belongs to one cache or to the memory. On a GPU all of them are several times as slow as
those of a processor: a GPU hides the latency with many work items, and one alone waits.

Caution: By OpenCL, a part of each step is the calculation of the address; by CUDA and HIP, each line holds the address. The
device may lower its clock while only one work item runs. Large working sets also wait for address translations.

Source: L. McVoy and C. Staelin, lmbench (USENIX 1996), on devices as in gpu-benches (Erlangen National High Performance Computing
Center). The program is our own.
"""

from steelyard.measure.benchmarks.device.shared import UNREAD, block, devices_of, sampling_of
from steelyard.measure.benchmarks.figures import against
from steelyard.measure.benchmarks.memory.latency import plateaus
from steelyard.measure.benchmarks.rates import seconds_for_each
from steelyard.model import Axes, Effort, Machine, Metric, Result, Scalar
from steelyard.model.devices import name_device
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import Headline
from steelyard.model.units import binary_size, quantity

SMALLEST, BEYOND = 4 << 10, 8  # bytes; times the last cache
UNKNOWN_CACHE = 64 << 20  # bytes
unread = UNREAD


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: working sets, one or two for each octave."""
    blocks = []
    for devices in devices_of(machine, effort):
        caches = [c for d in devices if isinstance(c := d.facts.get("last_cache"), int)]
        last = min(BEYOND * max((*caches, UNKNOWN_CACHE)), devices[0].memory // 4)
        half = 0.5 if effort.name != "quick" else 1.0
        steps = range(round(40 / half))
        sizes: tuple[Scalar, ...] = tuple(
            int(SMALLEST * 2 ** (i * half)) >> 7 << 7 for i in steps if SMALLEST * 2 ** (i * half) <= last
        )
        blocks.append(
            block(devices, sampling_of(effort, 0.1, 0.3), 0.5, {"kernel": ("chase",), "bytes": sizes}, ("steps",))
        )
    return tuple(blocks)


metrics = (Metric("latency", "s", "lower", "time of a dependent load", seconds_for_each("accesses")),)


roles = (
    Headline(
        name="device_latency",
        title="Device: memory latency",
        unit="s",
        order=63,
        least=("device",),
        most=("bytes",),
        says="of one work item",
    ),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the ladder of latencies, with the flat parts in its caption."""
    usual = sorted((r for r in results if "latency" in r.metrics), key=lambda r: float(r.parameters["bytes"]))
    one = [r for r in usual if name_device(machine, r.parameters) == name_device(machine, usual[0].parameters)]
    flat = plateaus([int(r.parameters["bytes"]) for r in one], [r.metrics["latency"].value for r in one])
    parts = "; ".join(f"{quantity(lv.latency, 's')} up to {binary_size(lv.largest)}" for lv in flat)
    return (
        Figure(
            name="device-latency",
            title="Latency of the device against the working set",
            kind="lines",
            x=Axis("working set", "B", log=True),
            y=Axis("latency", "s", log=True),
            series=against("bytes", "latency", usual, names=("door", "device"), label="latency"),
            caption=f"Flat parts of the line: {parts}." if parts else "No part of the line is flat.",
        ),
    )
