"""Copies between host and device, and between devices

Blocks are copied to the device, from the device, and both ways at once. The memory of the host is ordinary (pageable) or pinned.
Pinned memory stays at its place, so the device can read and write it without the processor. By CUDA and HIP, "between" copies
within a device or from it to its `peer`, and "between_both_ways" both ways at once. "to_all" and "from_all" copy between the host
and all devices at once. On a machine of several memory nodes the largest blocks also come from each node (`memory_policy`).

Reading: Large blocks in pinned memory show the link, usually from 80 to 90 % of its limit. From ordinary (pageable) memory the
driver copies the data twice, so that copies often reach only half of the speed. Small blocks show the time until a copy begins.
If both ways together are no faster than one, the link or the driver has one direction at a time. If all devices together are no
faster than one, they share a link or the memory of the host. A copy within a device reads and writes its memory: it moves twice
the bytes that are counted.

Caution: One copy is under way in each direction. The thread that starts the copies runs on the first processor. Without a
`memory_policy` the memory of the host is near this processor, and may be far from the device.

Source: The definition of nvbandwidth (NVIDIA) and of most other tools: bytes divided by the time of the host. The program is our
own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.measure.benchmarks.device.shared import UNREAD, Values, block, devices_of, limit_of, sampling_of
from steelyard.measure.benchmarks.figures import against, select
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Result, Scalar
from steelyard.model.devices import find_device
from steelyard.model.figure import Axis, Figure
from steelyard.model.machine import Device
from steelyard.model.plan import Sampling
from steelyard.model.roles import Headline

LARGEST = 1 << 28  # bytes
MEMORIES = ("pinned", "pageable")
WAYS = ("to_device", "from_device", "both_ways")
BETWEEN, BOTH, ALL = "between", "between_both_ways", ("to_all", "from_all")
unread = UNREAD


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: sizes from 8 B, in each way, with both kinds of memory."""
    blocks = []
    for devices in devices_of(machine, effort):
        largest = min(LARGEST, devices[0].memory // 8) if devices[0].kind != "CPU" else 1 << 24
        step = 6 if effort.name == "quick" else 2
        sizes: tuple[Scalar, ...] = (*(8 << i for i in range(0, 26, step) if 8 << i < largest), largest)
        sampling = sampling_of(effort, 0.1, 0.5)
        one = block(devices, sampling, 0.4, {"kernel": WAYS, "memory": ("pinned",), "bytes": sizes}, memory=MEMORIES)
        pageable = block(
            devices, sampling, 0.4, {"kernel": WAYS, "memory": ("pageable",), "bytes": (largest,)}, memory=MEMORIES
        )
        blocks += [one, pageable]
        if len(main := main_nodes(machine.nodes)) > 1:
            of_node: Values = {"memory_policy": tuple(f"bind:{node.number}" for node in main)}
            far: Values = {"kernel": WAYS[:2], "memory": ("pinned",), "bytes": (largest,), **of_node}
            blocks.append(block(devices, sampling, 0.4, far, ("memory_policy",), memory=MEMORIES))
        if devices[0].door != "opencl":
            blocks += _among(devices, sampling_of(effort, 0.1, 0.5), largest, effort)
    return tuple(blocks)


def _among(devices: Sequence[Device], sampling: Sampling, largest: int, effort: Effort) -> Iterator[Axes]:
    """Yields the copies within a device and between two, each pair in both orders, and those of all at once.

    A quick run has one peer of each device.
    """
    numbers = tuple(d.number for d in devices)
    peers: Values = {"kernel": (BETWEEN, BOTH), "bytes": (largest,), "peer": numbers}

    def is_planned(point: Parameters) -> bool:
        own, peer = numbers.index(int(point["device"])), numbers.index(int(point["peer"]))
        if own == peer or (effort.name == "quick" and peer != (own + 1) % len(numbers)):
            return own == peer and point["kernel"] == BETWEEN
        return point["kernel"] == BETWEEN or own < peer

    pairs = block(devices, sampling, 0.5, peers)
    yield replace(pairs, keep=is_planned, bounds={**pairs.bounds, "peer": (0, 1023)})
    if len(numbers) > 1:
        yield block(devices[:1], sampling, 0.5 * len(numbers), {"kernel": ALL, "bytes": (largest,)})


metrics = (
    Metric("bandwidth", "B/s", "higher", "bandwidth", per_second("bytes")),
    Metric("time", "s", "lower", "time of a copy", elapsed),
)
_link = limit_of("link", "speed × width of the link (PCI Express), one direction")
_memory = limit_of("bandwidth", "clock of the device's memory × width of its bus × 2; a copy reads and writes")


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the bandwidth of the link, twice that for both ways; within a device, half of its memory's.

    That of links between devices, and of several links together, is unknown.
    """
    if metric != "bandwidth" or result.kernel in (BOTH, *ALL):
        return None
    if result.kernel == BETWEEN:
        within = _memory(result, machine) if result.parameters["peer"] == result.parameters["device"] else None
        return Limit(within.value / 2, within.unit, within.source) if within else None
    one = _link(result, machine)
    return Limit(2 * one.value, one.unit, one.source) if one and result.kernel == "both_ways" else one


roles = tuple(
    Headline(
        name=f"device_{way}",
        title=title,
        unit="B/s",
        order=order,
        kernel=way,
        least=("device",),
        most=("bytes",),
        usual=(("memory", "pinned"),),
    )
    for order, (way, title) in enumerate(
        (("to_device", "Device: copy to it"), ("from_device", "Device: copy from it")), 65
    )
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the bandwidth against the size, for each way and kind of memory."""
    lines = tuple(
        line
        for way in WAYS
        for line in against(
            "bytes",
            "bandwidth",
            [r for r in results if r.kernel == way],
            names=("door", "device", "memory", "memory_policy"),
            label=way.replace("_", " "),
        )
    )
    return (
        Figure(
            name="device-transfer",
            title="Copies between host and device",
            kind="lines",
            x=Axis("block", "B", log=True),
            y=Axis("bandwidth", "B/s", log=True),
            series=lines,
            caption="The right end shows the link. Small blocks show the time until a copy begins.",
        ),
        *_pairs(results, machine),
    )


def _pairs(results: tuple[Result, ...], machine: Machine) -> Iterator[Figure]:
    """Yields the map of copies between devices, the sender in the row; none without two devices."""
    values = {
        (int(r.parameters["device"]), int(r.parameters["peer"])): r.metrics["bandwidth"].value
        for r in select(results, kernel=BETWEEN)
        if "bandwidth" in r.metrics and find_device(machine, r.parameters)
    }
    numbers = sorted({number for pair in values for number in pair})
    if len(numbers) > 1:
        yield Figure(
            name="device-pairs",
            title="Copies between devices",
            kind="heat",
            x=Axis("to device"),
            y=Axis("from device"),
            z=tuple(tuple(values.get((a, b)) for b in numbers) for a in numbers),
            columns=tuple(map(str, numbers)),
            rows=tuple(map(str, numbers)),
            value=Axis("bandwidth", "B/s"),
            caption="Slower pairs have fewer links between them, or copy by the host. The diagonal is a device's memory.",
        )
