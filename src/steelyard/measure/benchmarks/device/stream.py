"""Bandwidth of a device's memory (STREAM)

STREAM's four kernels run on a device: copy, scale, add and triad. Two more kernels only read, and only write. The device makes
the data and checks the results. Each group of work items takes a contiguous part, and each item several elements of it. Sizes
from 1 MiB to a large part of the memory show its last cache.

Reading: The values of the largest size belong to the memory. Smaller sizes are faster if they fit into the last cache. Reading
is faster than writing on most devices. A good value is from 85 to 93 % of the limit, which is the clock of the memory times the
width of its bus.

Caution: The bandwidth depends on the size of the groups, on the elements of each item, and on the size of the data. Other tools
choose other values, and two of them can differ by a fifth on one device. The time does not include copies from or to the host.

Source: J. D. McCalpin, STREAM (1991); reads and writes alone as in gpu-benches (Erlangen National High Performance Computing
Center) and BabelStream (University of Bristol). The kernels and their check are our own.
"""

from steelyard.measure.benchmarks.device.shared import (
    UNREAD,
    Values,
    block,
    devices_of,
    draw_bars,
    least_memory,
    limit_of,
    sampling_of,
)
from steelyard.measure.benchmarks.figures import against
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Result, Scalar
from steelyard.model.devices import name_device
from steelyard.model.figure import Axis, Figure, Mark
from steelyard.model.roles import Bandwidth, Headline
from steelyard.model.units import binary_size
from steelyard.statistics.results import cases

KERNELS = ("copy", "scale", "add", "triad", "read", "write")
ARRAY = 1 << 30  # bytes: many times the last cache of any device
SHARE = 16  # of the memory in which three arrays of a small device certainly fit
SMALLEST = 1 << 17  # elements of an array in the ladder: 1 MiB
PRECISIONS = ("double", "single")
GROUPS, EACH = (128, 256, 512, 1024), (1, 2, 4, 8)
unread = UNREAD


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: all kernels at the largest size, triad over sizes and in single precision; else also the shape of the groups."""
    quick, blocks = effort.name == "quick", []
    sampling = sampling_of(effort, 0.15, 0.5)
    for devices in devices_of(machine, effort):
        largest = min(ARRAY, least_memory(devices) // SHARE) // 8
        largest = largest if devices[0].kind != "CPU" else min(largest, 1 << 22)
        sizes: list[Scalar] = [SMALLEST << i for i in range(0, 14, 2 if quick else 1) if SMALLEST << i < largest]

        usual: Values = {
            "kernel": ("triad",), "precision": ("double",), "elements": (largest,), "group": (256,), "each": (4,)
        }  # fmt: skip
        # Some devices are faster with one element for each item, others with several. A quick run tries both.
        varied: list[Values] = [{"kernel": KERNELS}, {"elements": tuple(sizes)}, {"precision": ("single",)}]
        shapes: Values = {"each": (1,)} if quick else {"group": GROUPS, "each": EACH}
        varied.append({"kernel": ("copy", "triad", "read"), **shapes})
        if not quick:
            varied.append({"kernel": KERNELS, "precision": ("single",)})
        blocks += [block(devices, sampling, 0.3, usual | values, precision=PRECISIONS) for values in varied]
    return tuple(blocks)


metrics = (
    Metric("bandwidth", "B/s", "higher", "bandwidth", per_second("bytes")),
    Metric("time", "s", "lower", "time of a pass", elapsed),
)
_bandwidth = limit_of("bandwidth", "clock of the device's memory × width of its bus × 2")


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the bandwidth of the memory by its clock and bus, for data that no cache holds."""
    return _bandwidth(result, machine) if metric == "bandwidth" and _is_large(result) else None


def _is_large(result: Result) -> bool:
    return (cases.number(result, "elements") or 0) * 8 >= ARRAY // 4


roles = (
    Bandwidth(kernel="triad"),
    Headline(
        name="device_triad",
        title="Device: Triad bandwidth",
        unit="B/s",
        order=60,
        kernel="triad",
        least=("device",),
        most=("elements",),
        usual=(("precision", "double"), ("group", 256)),
        best="each",
        says="memory of the accelerator",
    ),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the kernels at the largest size, triad over sizes, and triad over the size of the groups."""
    double = [r for r in results if r.parameters.get("precision", "double") == "double"]
    usual = [r for r in double if (r.parameters.get("group"), r.parameters.get("each")) == (256, 4)]
    rated = [r for r in cases.select_greatest(double, "elements") if "bandwidth" in r.metrics]
    rated.sort(key=lambda r: r.metrics["bandwidth"].value)
    largest = {(r.kernel, name_device(machine, r.parameters)): r for r in rated}.values()  # of each, the fastest shape
    caches = [
        Mark("x", int(size), f"last cache {binary_size(int(size))}")
        for d in machine.devices
        if isinstance(size := d.facts.get("last_cache"), int) and size
    ]
    kernels = Figure(
        name="device-stream",
        title="Bandwidth of the device's memory",
        kind="bars",
        x=Axis("kernel"),
        y=Axis("bandwidth", "B/s"),
        series=draw_bars(
            sorted(largest, key=lambda r: KERNELS.index(r.kernel)), "bandwidth", lambda r: r.kernel, machine
        ),
        caption="Longer bars are better. Each has its fastest shape of groups. Compare reads alone with writes alone.",
    )
    triad = [r for r in usual if r.kernel == "triad"]
    sizes = Figure(
        name="device-stream-sizes",
        title="Triad of the device against the size of its data",
        kind="lines",
        x=Axis("data", "B", log=True),
        y=Axis("bandwidth", "B/s"),
        series=against("elements", "bandwidth", triad, names=("door", "device"), scale=24, label="triad"),
        marks=tuple(caches[:1]),
        caption="Small data are in the last cache, or too short to fill the device; the right end belongs to the memory.",
    )
    return (kernels, sizes)
