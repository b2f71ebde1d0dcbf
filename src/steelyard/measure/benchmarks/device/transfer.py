"""Copies between host and device

Blocks are copied to the device, from the device, and both ways at once. The memory of the host is ordinary (pageable) or pinned.
Pinned memory stays at its place, so the device can read and write it without the processor.

Reading: Large blocks in pinned memory show the link, usually from 80 to 90 % of its limit. From ordinary (pageable) memory the
driver copies the data twice, so that copies often reach only half of the speed. Small blocks show the time until a copy begins.
If both ways together are no faster than one, the link or the driver has one direction at a time.

Caution: One copy is under way in each direction. The thread that starts the copies runs on the first processor; on a machine of
several NUMA nodes its memory may be far from the device.

Source: The definition of nvbandwidth (NVIDIA) and of most other tools: bytes divided by the time of the host. The program is our
own.
"""

from steelyard.measure.benchmarks.device.shared import UNREAD, block, devices_of, limit_of, sampling_of
from steelyard.measure.benchmarks.figures import against
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Result, Scalar
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import Headline

LARGEST = 1 << 28  # bytes
MEMORIES = ("pinned", "pageable")
WAYS = ("to_device", "from_device", "both_ways")
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
    return tuple(blocks)


metrics = (
    Metric("bandwidth", "B/s", "higher", "bandwidth", per_second("bytes")),
    Metric("time", "s", "lower", "time of a copy", elapsed),
)
_link = limit_of("link", "speed × width of the link (PCI Express), one direction")


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the bandwidth of the link, twice that for both ways."""
    one = _link(result, machine) if metric == "bandwidth" else None
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
            names=("door", "device", "memory"),
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
    )
