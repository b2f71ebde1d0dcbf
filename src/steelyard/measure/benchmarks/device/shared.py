"""Common parts of the benchmarks of a device: its cases, its limits, and the bars that compare several devices."""

from collections.abc import Callable, Sequence

from steelyard.measure.benchmarks.figures import draw_values
from steelyard.model import Axes, Effort, Limit, Machine, Result, Sampling, Scalar
from steelyard.model.devices import find_device, name_device
from steelyard.model.figure import Series
from steelyard.model.machine import DOORS, Device

Values = dict[str, tuple[Scalar, ...]]
BY_ITS_DATA = "clocks and units of the device, as its driver states them"
UNREAD = ("page_size", "memory_policy")


def devices_of(machine: Machine, effort: Effort) -> list[list[Device]]:
    """Returns the devices that are measured, a list for each door. A quick run leaves out the processors behind OpenCL."""
    chosen = [d for d in machine.devices if (d.kind != "CPU" or effort.name != "quick") and _is_usable(d)]
    by_door = ([d for d in chosen if d.door == door] for door in DOORS)
    return [devices for devices in by_door if devices]


def _is_usable(device: Device) -> bool:
    return device.door != "cuda" or bool(device.facts.get("compiler"))


def block(
    devices: Sequence[Device],
    sampling: Sampling,
    setup: float,
    values: Values,
    further: tuple[str, ...] = (),
    **choices: tuple[Scalar, ...],
) -> Axes:
    """Returns the cases of these devices, which have one door; one thread of the host starts the kernels.

    `choices`: all words that a parameter may have.
    """
    where: Values = {"door": (devices[0].door,), "device": tuple(d.number for d in devices)}
    return Axes(
        {**values, **where, "threads": (1,), "pinning": ("compact",)},
        sampling,
        setup,
        choices={"door": tuple(DOORS), **choices},
        bounds={"threads": (1, 1), "device": (0, 1023)},
        further=further,
    )


def sampling_of(effort: Effort, quick: float, usual: float) -> Sampling:
    """Returns the sampling with these seconds in a quick run and in others."""
    return Sampling(effort.sampling.width, quick if effort.name == "quick" else usual, 5, 400)


def least_memory(devices: Sequence[Device]) -> int:
    """Returns the bytes of the device with the least memory."""
    return min(device.memory for device in devices)


def limit_of(name: str, words: str = BY_ITS_DATA) -> Callable[[Result, Machine], Limit | None]:
    """Returns the function of a device's limit: "bandwidth", "link" (B/s), "flops", "flops_single" (flop/s)."""
    unit = "B/s" if name in ("bandwidth", "link") else "flop/s"

    def limit(result: Result, machine: Machine) -> Limit | None:
        device = find_device(machine, result.parameters)
        value = device.limits.get(name) if device else None
        return Limit(value, unit, words) if value else None

    return limit


def draw_bars(
    results: Sequence[Result], metric: str, name: Callable[[Result], str], machine: Machine
) -> tuple[Series, ...]:
    """Returns a set of bars for each device: the metric of each result under its name."""
    groups: dict[str, list[Result]] = {}
    for r in results:
        if metric in r.metrics:
            groups.setdefault(name_device(machine, r.parameters), []).append(r)
    return tuple(
        draw_values(label, [name(r) for r in members], [r.metrics[metric] for r in members])
        for label, members in groups.items()
    )
