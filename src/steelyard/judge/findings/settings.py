"""Remedies that change a setting, offered only if the measured machine has this setting with a value that matters."""

from steelyard.judge.findings import doctor
from steelyard.judge.findings.doctor import Advice
from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.model import Machine

CLOCK = ("governor", "frequency limit", "turbo")  # settings that change the clock


def suggest(machine: Machine, *names: str) -> str:
    """Returns the doctor's remedies for the settings of these names that spoil a measurement here; "" if none does."""
    advised = [advice for advice in _list_spoiling_settings(machine) if advice.name in names]
    if not advised:
        return ""
    shown = "shows the command" if len(advised) == 1 else "shows the commands"
    remedies = " ".join(advice.remedy for advice in advised)
    return f"{remedies} steelyard doctor {shown}." if any(advice.command for advice in advised) else remedies


def advise_check(machine: Machine) -> str:
    """Returns the advice to check the settings, followed by a space; "" if the doctor finds nothing to change."""
    return "Check the settings: steelyard doctor. " if _list_spoiling_settings(machine) else ""


def suggest_fixed_clock(machine: Machine) -> str:
    """Returns how to keep the clock constant on this machine."""
    if remedy := suggest(machine, *CLOCK):
        return remedy
    if machine.is_virtual:
        return (
            "Ask the owner of the host to fix the clock, which this system does not control, or use a dedicated host."
        )
    return "Check the temperature and the power limit of the processor."


def suggest_free_cores(machine: Machine) -> str:
    """Returns how to keep other work off the hardware threads of the measured cores on this machine."""
    siblings = [cpu for core in machine.cores for cpu in core.cpus[1:]]
    advice = []
    if siblings:
        advice.append(f"Keep the second hardware thread of each core idle: processors {format_cpu_list(siblings)}.")
    if machine.is_virtual:
        advice.append("Ask for a dedicated host or for whole cores, which nothing else on the host can use.")
    return " ".join(advice) or "Check with top whether a program uses the cores, and stop it or wait."


def _list_spoiling_settings(machine: Machine) -> list[Advice]:
    return [a for a in doctor.examine(machine) if a.level in ("serious", "notice") and a.remedy and a.name != "load"]
