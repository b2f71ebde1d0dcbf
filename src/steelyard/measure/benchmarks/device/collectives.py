"""Collective operations of devices (NCCL, RCCL)

The vendor's library adds up the numbers of all devices of the machine ("all_reduce"), or sends a different part from each to each
("alltoall"). One process starts all devices. The numbers have single precision.

Reading: `bus_bandwidth` is what each link carries at least: the size divided by the time, times 2 (n - 1) / n for the sum over n
devices, and times (n - 1) / n for all pairs. It can be compared with the bandwidth of a link, for any number of devices.

Caution: The library chooses its algorithm by the size and by the links. Its environment variables (NCCL_…) change it.

Source: The definitions of nccl-tests (NVIDIA): out of place, many operations one after the other. The program is our own.
"""

from dataclasses import replace

from steelyard.measure.benchmarks.device.shared import UNREAD, block, devices_of, least_memory, sampling_of
from steelyard.measure.benchmarks.figures import against
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Machine, Metric, Result, Scalar
from steelyard.model.figure import Axis, Figure

LARGEST = 1 << 29  # bytes
unread = UNREAD


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: sizes from 8 KiB, with all devices of a door; none without the library or with one device."""
    blocks = []
    for devices in devices_of(machine, effort):
        if len(devices) < 2 or not all(d.facts.get("collectives") for d in devices):
            continue
        largest = min(LARGEST, least_memory(devices) // 8)
        step = 4 if effort.name == "quick" else 1
        sizes: tuple[Scalar, ...] = (*(8192 << i for i in range(0, 16, step) if 8192 << i < largest), largest)
        one = block(
            devices[:1],
            sampling_of(effort, 0.1, 0.5),
            0.5 * len(devices),
            {"kernel": ("all_reduce", "alltoall"), "devices": (len(devices),), "message_bytes": sizes},
        )
        blocks.append(replace(one, bounds={**one.bounds, "devices": (2, len(devices))}))
    return tuple(blocks)


metrics = (
    Metric("bus_bandwidth", "B/s", "higher", "bandwidth of each link at least", per_second("bus_bytes")),
    Metric("bandwidth", "B/s", "higher", "bandwidth, size divided by time", per_second("bytes")),
    Metric("time", "s", "lower", "time of the operation", elapsed),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the bandwidth of each link against the size, for both operations."""
    return (
        Figure(
            name="device-collectives",
            title="Collective operations of the devices",
            kind="lines",
            x=Axis("size", "B", log=True),
            y=Axis("bandwidth of each link", "B/s", log=True),
            series=against("message_bytes", "bus_bandwidth", results, names=("kernel", "door", "devices")),
            caption="The right end shows the links. Small sizes show the time until all devices have begun.",
        ),
    )
