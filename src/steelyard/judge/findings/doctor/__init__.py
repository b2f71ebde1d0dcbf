"""Settings of a machine that spoil measurements, the reasons, and the commands that change them."""

from collections.abc import Callable
from typing import Literal

from steelyard.judge.findings.doctor import memory as doctor_memory
from steelyard.judge.findings.doctor import processor as doctor_processor
from steelyard.judge.findings.doctor.accelerator import examine_devices
from steelyard.judge.findings.doctor.advice import Advice, report_unknown
from steelyard.measure import mpi
from steelyard.measure.machine.files import natural
from steelyard.model import Machine
from steelyard.model.mpi_settings import ENVIRONMENT, describe_source
from steelyard.system.installation import suggest_package

__all__ = ["MPI_SETTINGS", "Advice", "examine"]

MPI_SETTINGS = "MPI settings"  # the name of the advice on settings that change the MPIs


def compiler(machine: Machine) -> Advice:
    """Checks that a C++ compiler is present, without which nothing can be built."""
    why = "Steelyard compiles its C++ kernels on the measured machine, for its processor."
    if machine.compilers:
        versions = "; ".join(f"{tool.name}: {tool.version}" for tool in machine.compilers)
        return Advice("compiler", "fine", f"{versions}.", why)
    command = suggest_package("compiler", machine.setting("distribution").value or "")
    remedy = "Install g++ 11 or later, or clang++ 14 or later. On a cluster, load a module: module load gcc."
    state = "There is no C++ compiler in PATH (searched: g++, clang++, icpx, nvc++, armclang++, c++)."
    return Advice("compiler", "serious", state, why, remedy, command and f"sudo {command}", root=bool(command))


def clock_source(machine: Machine) -> Advice:
    """Checks the clock source: a slow clock costs time inside each sample."""
    why = (
        "Reading the time-stamp counter takes about 20 ns. Other clock sources need a system call or a chip on the board. "
        "This takes up to some microseconds in every sample, a hundred times as long."
    )
    source = machine.setting("clock_source")
    if source.value is None:
        return report_unknown("clock source", source, why)
    state = f"The kernel's clock source is '{source.value}'."
    if machine.architecture not in ("x86_64", "i686") or source.value == "tsc":
        return Advice("clock source", "fine", state, why)
    # A process reads these clock sources without a system call, from a page of the hypervisor.
    in_process = source.value in ("kvm-clock", "hyperv_clocksource_tsc_page")
    offered = (machine.setting("clock_sources_offered").value or "").split()
    remedy, command = (
        "The kernel rejected the time-stamp counter. Its messages contain the reason.",
        "sudo dmesg | grep -i tsc",
    )
    if "tsc" in offered:
        remedy, command = ("The time-stamp counter is available. Select it.", f"echo tsc | sudo tee {source.source}")
    level: Literal["serious", "notice"] = "notice" if in_process else "serious"
    return Advice("clock source", level, state, why, remedy, command, root=True)


def counters(machine: Machine) -> Advice:
    """Checks the hardware counters, which explain figures but are not needed to measure them."""
    why = "Instructions, cycles and cache misses help to explain the time of a case. Without them, the figures are still right."
    paranoid = machine.setting("perf_event_paranoid")
    value = natural(paranoid.value)
    if value is None:
        return report_unknown("performance counters", paranoid, why)
    state = f"kernel.perf_event_paranoid is {value}."
    if machine.setting("performance_counters").value == "none":
        state = (
            "This machine has no usable performance counters: it is a virtual machine without them, or the "
            "driver is missing."
        )
        remedy = (
            "If you administer the hypervisor of this virtual machine, enable the counters "
            "(libvirt: <pmu state='on'/>). The figures are right without them."
        )
        return Advice("performance counters", "notice", state, why, remedy)
    if value <= 2:
        return Advice("performance counters", "fine", f"{state} Programs can count their own events.", why)
    state = f"{state} Only root can count events."
    remedy, command = "Allow programs to count their own events.", "sudo sysctl kernel.perf_event_paranoid=2"
    return Advice("performance counters", "notice", state, why, remedy, command, root=True)


def address_randomisation(machine: Machine) -> Advice:
    """Reports address randomisation, a real source of variation that should stay on."""
    why = (
        "Each start of a program uses different addresses, so two launches differ slightly. Steelyard repeats launches, and "
        "the interval includes this difference. Leave it on: fixed addresses would hide the effect, not remove it."
    )
    randomisation = machine.setting("address_randomisation")
    if randomisation.value is None:
        return report_unknown("address randomisation", randomisation, why)
    state = "off" if randomisation.value == "0" else "on"
    return Advice("address randomisation", "fine", f"Address randomisation is {state} ({randomisation.value}).", why)


def mpi_configuration(machine: Machine) -> Advice:
    """Checks for variables and files of parameters that steer the MPIs of this machine."""
    why = (
        "These settings change how ranks start and how messages travel, and small messages by more than a factor of ten. "
        "Steelyard records them with each run. Remove those that you do not need, or keep them equal in all runs."
    )
    if machine.mpi_settings is None:
        return Advice(MPI_SETTINGS, "unknown", "Unknown: this description of the machine does not contain them.", why)
    flavours = [mpi.of(tool) for tool in machine.mpis]
    if not machine.mpi_settings:
        return Advice(MPI_SETTINGS, "fine", "No variable and no file of parameters steers an MPI.", why)
    state = "; ".join(f"{s.name}={s.value} ({describe_source(s)})" for s in machine.mpi_settings)
    if not any(mpi.is_steering(s.name, flavours) for s in machine.mpi_settings):
        return Advice(MPI_SETTINGS, "fine", f"{state}. No MPI of this machine reads this.", why)
    variables = [s.name for s in machine.mpi_settings if s.source == ENVIRONMENT]
    return Advice(MPI_SETTINGS, "notice", f"{state}.", why, "", f"unset {' '.join(variables)}" if variables else "")


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
    doctor_processor.container,
    doctor_processor.hypervisor,
    doctor_processor.emulation,
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
    mpi_configuration,
)
_ORDER = ("serious", "notice", "unknown", "fine")


def examine(machine: Machine) -> list[Advice]:
    """Returns one piece of advice for every rule and every accelerator, the serious ones first."""
    advice = [*(rule(machine) for rule in _RULES), *examine_devices(machine)]
    return sorted(advice, key=lambda one: _ORDER.index(one.level))
