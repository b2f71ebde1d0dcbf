"""What in a machine's settings will spoil a measurement, why, and how to change it."""

from collections.abc import Callable
from typing import Literal

from steelyard.findings.doctor import memory as doctor_memory
from steelyard.findings.doctor import processor as doctor_processor
from steelyard.findings.doctor.advice import Advice, unknown
from steelyard.machine.files import natural
from steelyard.machine.settings import setting
from steelyard.model import Machine

__all__ = ["Advice", "examine"]

_INSTALL = (
    (("debian", "ubuntu", "mint"), "sudo apt-get install g++"),
    (("fedora", "red hat", "rocky", "alma", "centos", "amazon", "oracle"), "sudo dnf install gcc-c++"),
    (("suse",), "sudo zypper install gcc-c++"),
    (("arch", "manjaro"), "sudo pacman -S gcc"),
    (("alpine",), "sudo apk add g++"),
)


def compiler(machine: Machine) -> Advice:
    """Without a C++ compiler nothing can be built."""
    why = "The kernels are built on the machine that they measure, for its processor, by a C++ compiler."
    if machine.compilers:
        found = "; ".join(f"{tool.name}: {tool.version}" for tool in machine.compilers)
        return Advice("compiler", "fine", f"{found}.", why)
    distribution = (setting(machine, "distribution").value or "").lower()
    command = next((command for words, command in _INSTALL if any(word in distribution for word in words)), "")
    remedy = "Install g++ 11 or later, or clang++ 14 or later; on a cluster: module load gcc."
    observed = "No C++ compiler is on the PATH (looked for g++, clang++, icpx, nvc++, armclang++, c++)."
    return Advice("compiler", "serious", observed, why, remedy, command, root=bool(command))


def clock_source(machine: Machine) -> Advice:
    """A slow clock costs time inside of what it measures."""
    why = (
        "Reading the time-stamp counter takes some 20 ns. Other clocks of the kernel leave the process or "
        "ask a chip on the board: up to some microseconds, a hundred times as much, within every sample."
    )
    known = setting(machine, "clock_source")
    if known.value is None:
        return unknown("clock source", known, why)
    observed = f"The kernel's clock source is '{known.value}'."
    if machine.architecture not in ("x86_64", "i686") or known.value == "tsc":
        return Advice("clock source", "fine", observed, why)
    # These are read in the process itself, from a page that the hypervisor keeps.
    in_process = known.value in ("kvm-clock", "hyperv_clocksource_tsc_page")
    offered = (setting(machine, "clock_sources_offered").value or "").split()
    remedy, command = (
        "The kernel distrusts the time-stamp counter here; it says why.",
        "sudo dmesg | grep -i tsc",
    )
    if "tsc" in offered:
        remedy, command = (
            "The time-stamp counter is offered: choose it.",
            f"echo tsc | sudo tee {known.source}",
        )
    level: Literal["serious", "notice"] = "notice" if in_process else "serious"
    return Advice("clock source", level, observed, why, remedy, command, root=True)


def counters(machine: Machine) -> Advice:
    """Hardware counters explain figures; they are not needed to measure them."""
    why = "Instructions, cycles and cache misses stand beside the time of each case, and can explain it. None is wrong without."
    known = setting(machine, "perf_event_paranoid")
    value = natural(known.value)
    if value is None:
        return unknown("performance counters", known, why)
    observed = f"kernel.perf_event_paranoid is {value}."
    if setting(machine, "performance_counters").value == "none":
        observed = "This machine shows no performance counters: a virtual machine without them, or no driver."
        remedy = (
            "Where the machine is virtual and its hypervisor is yours, let the counters through "
            "(libvirt: <pmu state='on'/>). Figures are right without them."
        )
        return Advice("performance counters", "notice", observed, why, remedy)
    if value <= 2:
        return Advice("performance counters", "fine", f"{observed} Programs may count their own events.", why)
    observed = f"{observed} Only root may count events."
    remedy, command = "Let programs count their own events.", "sudo sysctl kernel.perf_event_paranoid=2"
    return Advice("performance counters", "notice", observed, why, remedy, command, root=True)


def address_randomisation(machine: Machine) -> Advice:
    """Different addresses at every start are a source of variation, and an honest one."""
    why = (
        "Programs lie at different addresses at every start, and two starts differ a little for it. "
        "Launches are repeated so that this is in the interval: leave it on. Fixed addresses would hide "
        "luck, not remove it."
    )
    known = setting(machine, "address_randomisation")
    if known.value is None:
        return unknown("address randomisation", known, why)
    state = "off" if known.value == "0" else "on"
    return Advice("address randomisation", "fine", f"Address randomisation is {state} ({known.value}).", why)


_RULES: tuple[Callable[[Machine], Advice], ...] = (
    compiler,
    doctor_processor.load,
    doctor_processor.cpu_quota,
    doctor_processor.allowed_processors,
    doctor_processor.governor,
    doctor_processor.frequency_limit,
    doctor_processor.turbo,
    doctor_processor.smt,
    doctor_processor.isolation,
    doctor_processor.hypervisor,
    doctor_processor.mitigations,
    clock_source,
    doctor_memory.memory_channels,
    doctor_memory.memory_limit,
    doctor_memory.numa_balancing,
    doctor_memory.transparent_huge_pages,
    doctor_memory.reserved_huge_pages,
    doctor_memory.swap,
    counters,
    address_randomisation,
)
_ORDER = ("serious", "notice", "unknown", "fine")


def examine(machine: Machine) -> list[Advice]:
    """One piece of advice for every rule, the serious ones first."""
    return sorted((rule(machine) for rule in _RULES), key=lambda advice: _ORDER.index(advice.level))
