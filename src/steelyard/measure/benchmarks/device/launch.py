"""Cost of starting a kernel on a device

An empty kernel (it counts itself) is started in three ways. "queued": one after the other, with one wait at the end. "waited":
the host waits for each. "graph": 64 of them are recorded once and started together.

Reading: A kernel should run many times longer than "queued"; otherwise the cost of its start matters. A program that waits after
each kernel loses the time "waited" each time. If "graph" is much faster, a program with many small kernels should use graphs.

Caution: The values depend on the processor and the driver as much as on the device. OpenCL has no graphs.

Source: The three ways are usual, as in gpu-benches (Erlangen National High Performance Computing Center). The program is our own.
"""

from steelyard.measure.benchmarks.device.shared import UNREAD, block, devices_of, draw_bars, sampling_of
from steelyard.measure.benchmarks.rates import seconds_for_each
from steelyard.model import Axes, Effort, Machine, Metric, Result
from steelyard.model.figure import Axis, Figure
from steelyard.model.roles import Headline

WAYS = {"queued": "one after the other", "waited": "each with a wait", "graph": "as a graph"}
unread = UNREAD


def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
    """Axes: the ways that the door of a device has."""
    ways = tuple(WAYS)
    return tuple(
        block(
            devices,
            sampling_of(effort, 0.1, 0.5),
            0.3,
            {"kernel": ways[:2] if devices[0].door == "opencl" else ways, "items": (32,)},
        )
        for devices in devices_of(machine, effort)
    )


metrics = (Metric("time", "s", "lower", "time of a kernel", seconds_for_each("launches")),)

roles = (
    Headline(
        name="device_launch",
        title="Device: start of a kernel",
        unit="s",
        order=64,
        kernel="waited",
        least=("device", "items"),
        says="an empty kernel, and the wait for its end",
    ),
)


def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
    """Returns the time of a kernel for each way."""
    return (
        Figure(
            name="device-launch",
            title="Time of an empty kernel",
            kind="bars",
            x=Axis("way"),
            y=Axis("time of a kernel", "s"),
            series=draw_bars(results, "time", lambda r: WAYS.get(r.kernel, r.kernel), machine),
            caption="Shorter bars are better.",
        ),
    )
