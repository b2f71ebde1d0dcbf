"""Advice on the settings of the processor and on other work that shares it."""

from typing import Literal

from steelyard.judge.findings.doctor.advice import Advice, report_unknown
from steelyard.measure.launch.scheduler import schedulers
from steelyard.measure.machine.cpulist import format_cpu_list, readable_cpu_list
from steelyard.measure.machine.emulation import EMULATION, describe_emulation
from steelyard.measure.machine.limits import limiting_quota
from steelyard.model import Machine
from steelyard.model.proofs import WSL
from steelyard.model.words import plural

IDLE = 0.01  # tasks for each processor: the daemons of an idle desktop or node use 0.003
_CPUFREQ = "/sys/devices/system/cpu/cpu*/cpufreq"


def governor(machine: Machine) -> Advice:
    """Checks the frequency governor: one that saves power changes the clock during a measurement."""
    why = (
        "The governor sets the clock by the load of the recent past. A short sample runs before the clock rises, so it is "
        "slower than the machine."
    )
    policy, driver = machine.setting("governor"), machine.setting("frequency_driver").value or ""
    if policy.value is None:
        return report_unknown("governor", policy, why)
    state = f"The frequency governor is '{policy.value}'" + (f" (driver {driver})." if driver else ".")
    if policy.value == "performance":
        return Advice("governor", "fine", state, "The clock is always as high as permitted.")
    # With these drivers "powersave" follows the load. With other drivers it always means the lowest clock.
    follows_load = "pstate" in driver or "powersave" not in policy.value
    remedy = "Set the governor to 'performance' while you measure. A restart restores the old setting."
    command = f"echo performance | sudo tee {_CPUFREQ}/scaling_governor"
    return Advice("governor", "notice" if follows_load else "serious", state, why, remedy, command, root=True)


def frequency_limit(machine: Machine) -> Advice:
    """Checks whether the clock is limited below the maximum of the processor."""
    why = "With a frequency limit, every figure that depends on the clock is lower than the processor allows."
    highest, possible = machine.setting("frequency_max"), machine.setting("frequency_hardware_max")
    if highest.value is None or possible.value is None:
        return report_unknown("frequency limit", highest if highest.value is None else possible, why)
    if highest.value == possible.value:
        return Advice("frequency limit", "fine", f"The clock can rise to {possible.value}, its maximum.", why)
    state = f"The clock can rise to {highest.value} only. The maximum of the processor is {possible.value}."
    remedy = "Remove the limit. A laptop on battery may set it again: connect it to power."
    command = f"for c in {_CPUFREQ}; do sudo cp $c/cpuinfo_max_freq $c/scaling_max_freq; done"
    return Advice("frequency limit", "notice", state, why, remedy, command, root=True)


def turbo(machine: Machine) -> Advice:
    """Checks turbo, which makes the clock depend on the temperature and on the other cores."""
    why = (
        "With turbo, the clock depends on the temperature, on the number of busy cores and on their instructions. A thread "
        "alone is faster than a thread among many. Steelyard measures the true clock beside every sample, so figures in "
        "cycles stay right."
    )
    turbo_setting = machine.setting("turbo")
    if turbo_setting.value is None:
        return report_unknown("turbo", turbo_setting, why)
    if turbo_setting.value == "off":
        return Advice("turbo", "fine", "Turbo is off.", "The clock does not depend on the load.")
    bit = "1" if "no_turbo" in turbo_setting.source else "0"
    remedy = "Switch turbo off to compare settings or compilers. Leave it on to measure the best speed of the machine."
    command = f"echo {bit} | sudo tee {turbo_setting.source}"
    return Advice("turbo", "notice", "Turbo is on.", why, remedy, command, root=True)


def smt(machine: Machine) -> Advice:
    """Checks SMT: the hardware threads of one core share its execution units and caches."""
    why = (
        "Two hardware threads of a core share its execution units and caches, so work on one slows the other down. Steelyard "
        "pins each thread to a separate core as long as there are cores. Threads that are not pinned may share a core."
    )
    smt_setting = machine.setting("smt")
    if smt_setting.value is None:
        return report_unknown("smt", smt_setting, why)
    if smt_setting.value != "on":
        return Advice(
            "smt",
            "fine",
            "Every core has one hardware thread.",
            "No hardware thread shares the core with a measured thread.",
        )
    state = "Every core has several hardware threads (SMT is on)."
    remedy = "Pin the threads, or switch SMT off while you measure. Write 'on' instead of 'off' to restore it."
    command = "echo off | sudo tee /sys/devices/system/cpu/smt/control"
    return Advice("smt", "notice", state, why, remedy, command, root=True)


def cpu_quota(machine: Machine) -> Advice:
    """Checks the processor quota, which stops the process in the middle of a sample."""
    why = (
        "A quota does not make the processor slower. When the process has used its share of a period (usually 0.1 s), the "
        "quota stops it until the next period. Some samples are fast, and others contain a stop."
    )
    quota = machine.setting("cpu_quota")
    if quota.value is None:
        return report_unknown("processor quota", quota, why)
    limit = limiting_quota(machine)
    if limit is None:
        return Advice("processor quota", "fine", "No control group limits the processor time.", why)
    state = (
        f"A control group limits the processor time to that of {limit:g} of {plural(len(machine.cpus), 'processor')}."
    )
    value = "max" if quota.source.endswith("cpu.max") else "-1"
    remedy = "Remove the quota: start the container without --cpus, or the service without CPUQuota=."
    if limit >= 1:
        remedy += f" If this is impossible, use at most {int(limit)} of the processors."
    command = f"echo {value} | sudo tee {quota.source}"
    return Advice("processor quota", "serious", state, why, remedy, command, root=True)


def allowed_processors(machine: Machine) -> Advice:
    """Checks whether this process may use all processors."""
    why = "The figures describe only the processors that this process may use, not the whole machine."
    online = readable_cpu_list(machine.setting("online_cpus").value)
    if not online or not machine.cpus:
        return report_unknown("allowed processors", machine.setting("online_cpus"), why)
    if set(online) <= set(machine.cpus):
        return Advice("allowed processors", "fine", f"This process may use all {len(online)} processors.", why)
    allowed = format_cpu_list(machine.cpus)
    state = f"This process may use {len(machine.cpus)} of {len(online)} processors ({allowed})."
    words = "; ".join(f"{s.title}: {s.full_nodes}" for s in schedulers().values() if s.full_nodes)
    remedy = f"Start Steelyard without taskset, numactl or --cpuset-cpus, or ask the batch system for the whole node ({words})."
    return Advice("allowed processors", "notice", state, why, remedy)


def isolation(machine: Machine) -> Advice:
    """Checks isolated processors, which have no other work but must be chosen explicitly."""
    why = (
        "The scheduler never places a thread on an isolated processor by itself. Threads that are not pinned share the other "
        "processors; threads that are pinned there are not disturbed."
    )
    isolated_cpus = machine.setting("isolated_cpus")
    if isolated_cpus.value is None:
        return report_unknown("isolated processors", isolated_cpus, why)
    isolated = set(readable_cpu_list(isolated_cpus.value) or ())
    if not isolated:
        return Advice("isolated processors", "fine", "No processor is isolated from the scheduler.", why)
    usable = isolated.intersection(machine.cpus)
    if not usable:
        state = f"Processors {format_cpu_list(isolated)} are isolated, but this process may use none of them."
        remedy = "Start Steelyard with an affinity that includes them, and pin the threads."
        command = f"taskset -c {format_cpu_list(isolated.union(machine.cpus))} steelyard run"
        return Advice("isolated processors", "notice", state, why, remedy, command)
    named = format_cpu_list(usable)
    all_usable = len(machine.cpus)
    state = f"Processors {named} are isolated. They are {len(usable)} of the {all_usable} processors that this process may use."
    remedy = f"Pin the threads to these processors, where other work disturbs them least: the placement '{named}'."
    return Advice("isolated processors", "notice", state, why, remedy)


def container(machine: Machine) -> Advice:
    """Checks for a container, which can hide and limit parts of the machine."""
    why = (
        "The kernel and the processors are those of the host, so speeds are comparable. But a container can hide the memory "
        "modules, energy sensors, performance counters and programs of the host, and it can limit processors and memory."
    )
    setting = machine.setting("container")
    if setting.value is None:
        return report_unknown("container", setting, why)
    if setting.value == "none":
        return Advice(
            "container", "fine", "This process does not run in a container.", "Nothing of the machine is hidden."
        )
    name = "" if setting.value == "unnamed" else f" ({setting.value})"
    hidden = "" if machine.modules else " The memory modules are hidden."
    remedy = "steelyard help install lists the options that show what a container hides."
    return Advice("container", "notice", f"This process runs in a container{name}.{hidden}", why, remedy)


def hypervisor(machine: Machine) -> Advice:
    """Checks for a hypervisor, on which other guests may share the processors."""
    why = (
        "The host may give the processor to other guests (steal time). They also share caches and memory, which this machine "
        "cannot observe. The hypervisor decides which cache sizes and topology it reports. Steelyard records the steal "
        "time around every sample."
    )
    kind = machine.setting("hypervisor")
    if kind.value is None:
        return report_unknown("hypervisor", kind, why)
    if kind.value == "none":
        return Advice("hypervisor", "fine", "There is no hypervisor.", "No other guest takes time from this machine.")
    if kind.value == WSL:
        why = "Windows and its programs share the processors, the caches and the memory. Steelyard cannot observe their load."
        remedy = "Close the programs of Windows while you measure."
        return Advice("hypervisor", "notice", "This is a virtual machine of Windows (WSL2).", why, remedy)
    named = "a hypervisor that does not give its name" if kind.value == "unnamed" else kind.value
    remedy = "Measure while the host has little load, or on a dedicated host. Compare only runs that were interleaved."
    return Advice("hypervisor", "notice", f"This is a virtual machine ({named}).", why, remedy)


def emulation(machine: Machine) -> Advice:
    """Checks for an emulator, whose figures are not those of the processor."""
    why = "An emulator translates every instruction. Figures then describe the emulator and not the processor."
    kind = machine.setting(EMULATION)
    if kind.value is None:
        return report_unknown(EMULATION, kind, why)
    if not (note := describe_emulation(kind)):
        return Advice(EMULATION, "fine", "The processor runs the programs without an emulator.", why)
    remedy = "Use programs, or a container image, of the architecture of the processor."
    return Advice(EMULATION, "serious", note, why, remedy)


def mitigations(machine: Machine) -> Advice:
    """Checks the mitigations, which make entering the kernel slow."""
    why = (
        "Mitigations of processor vulnerabilities make system calls and context switches slower. They affect small "
        "messages and thread wake-ups, but hardly memory and arithmetic. Compare machines with the same mitigations."
    )
    active = machine.setting("mitigations")
    if active.value is None:
        return report_unknown("mitigations", active, why)
    if "mitigated" not in active.value:
        return Advice("mitigations", "fine", f"No mitigation is active ({active.value}).", why)
    remedy = (
        "Leave them on unless no other user can access this machine. To measure their cost, add mitigations=off to the "
        "command line of the kernel and restart."
    )
    return Advice("mitigations", "notice", f"{active.value[0].upper()}{active.value[1:]}.", why, remedy, root=True)


def load(machine: Machine) -> Advice:
    """Checks the load of the machine."""
    why = (
        "Other programs use time on the measured cores, space in the caches and memory bandwidth. The processor times do "
        "not show the last two."
    )
    average = machine.setting("load_average")
    try:
        recent = float((average.value or "").split()[0])
    except (IndexError, ValueError):
        return report_unknown("load", average, why)
    state = f"The load average of the last minute is {recent:.2f} tasks on {plural(machine.processors, 'processor')}."
    # 0.3: four samples, 5 s apart, found one more task. With half of the processors busy, no core is certainly idle.
    if recent < max(0.3, IDLE * machine.processors):
        return Advice("load", "fine", state, why)
    level: Literal["serious", "notice"] = "serious" if recent >= max(1.0, machine.processors / 2) else "notice"
    remedy = "Check which programs run, and stop them or wait. After a build, the average needs a minute to fall."
    return Advice("load", level, state, why, remedy, "top -o %CPU")
