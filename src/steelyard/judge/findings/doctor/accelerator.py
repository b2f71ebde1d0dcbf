"""Advice on accelerators: what their drivers say of their state."""

from collections.abc import Iterator

from steelyard.judge.findings.doctor.advice import Advice
from steelyard.model import Device, Machine
from steelyard.model.devices import find_narrow_link
from steelyard.model.units import quantity

_WHY = (
    "The figures of an accelerator depend on its limit of power, its link, the correction of errors in its memory, and on what "
    "else uses it. Steelyard records these with each run."
)


def examine_devices(machine: Machine) -> list[Advice]:
    """Returns one piece of advice for each accelerator; [] without any."""
    return [_examine_device(device) for device in machine.devices if device.kind != "CPU"]


def _examine_device(device: Device) -> Advice:
    states = list(_list_states(device))
    name = f"accelerator {device.number}"
    if device.door == "cuda" and not device.facts.get("compiler"):
        state = f"{device.name} cannot be measured: NVIDIA's compiler NVRTC is not on this machine."
        remedy = "Install it. This needs no root rights."
        return Advice(name, "serious", state, _WHY, remedy, "steelyard device install nvrtc")
    if not states:
        return Advice(name, "fine", f"{device.name}: nothing that its driver says spoils a measurement.", _WHY)
    remedies = " ".join(remedy for _, remedy in states if remedy)
    return Advice(name, "notice", f"{device.name}: {' '.join(state for state, _ in states)}", _WHY, remedies)


def _list_states(device: Device) -> Iterator[tuple[str, str]]:
    """Yields what lowers or changes figures, with what to do; "" if it may stay as it is."""
    facts = device.facts
    if lanes := find_narrow_link(device):
        yield (
            f"It uses {lanes[0]} of its {lanes[1]} lanes of PCI Express.",
            "Look at its slot and at the firmware's settings.",
        )
    limit, usual = facts.get("power_limit"), facts.get("usual_power_limit")
    if isinstance(limit, float) and isinstance(usual, float) and limit < usual:
        yield (
            f"Its power limit is {quantity(limit, 'W')}; the default is {quantity(usual, 'W')}.",
            "Ask the administrator why.",
        )
    if facts.get("ecc") is False and facts.get("capability"):
        yield "The memory is used without correction of errors (ECC), which costs bandwidth on some devices.", ""
    if facts.get("mig"):
        yield "It is divided (MIG): a part of it is measured.", ""
    if facts.get("display"):
        yield "A screen is connected to it.", ""
    if isinstance(processes := facts.get("processes"), int) and processes:
        yield f"Processes that compute on it now: {processes}.", "Wait until they have ended."
    if facts.get("persistence") is False:
        yield "The driver is unloaded when no program uses it.", "Turn the persistence mode on: sudo nvidia-smi -pm 1."
