"""Which device computes in a case."""

from collections.abc import Mapping

from steelyard.model.machine import DOORS, Device, Machine
from steelyard.model.scalars import Scalar

ALONE = "device"  # the name of a side


def on_device(parameters: Mapping[str, Scalar]) -> bool:
    """Returns whether a device alone computes a case with these parameters."""
    return parameters.get("mode", parameters.get("door")) in DOORS


def find_device(machine: Machine | None, parameters: Mapping[str, Scalar]) -> Device | None:
    """Returns the device that computes in a case; None if it is not known, or none does."""
    door = parameters.get("door", parameters.get("mode"))
    named = (door if door in DOORS else "opencl", parameters.get("device", 0))
    return next((d for d in (machine.devices if machine else ()) if (d.door, d.number) == named), None)


def name_device(machine: Machine | None, parameters: Mapping[str, Scalar]) -> str:
    """Returns "GPU 0 (CUDA)"; "device 0 (OpenCL)" for one that is not known."""
    device = find_device(machine, parameters)
    door = str(parameters.get("door", parameters.get("mode")))
    kind = device.kind if device else "device"
    return f"{kind} {parameters.get('device', 0)} ({DOORS.get(door, 'OpenCL')})"


def find_narrow_link(device: Device) -> tuple[int, int] | None:
    """Returns the lanes of the link that are used and those that are possible, if both are known and differ; otherwise None."""
    width, most = (device.facts.get(fact) for fact in ("link_width", "most_link_width"))
    return (width, most) if isinstance(width, int) and isinstance(most, int) and 0 < width < most else None
