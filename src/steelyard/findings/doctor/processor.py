"""What the processor's settings, and those who share it, do to a measurement."""

from typing import Literal

from steelyard.findings.doctor.advice import Advice, unknown
from steelyard.launch.scheduler import schedulers
from steelyard.machine.cpulist import format_cpu_list, readable_cpu_list
from steelyard.machine.settings import setting
from steelyard.model import Machine

_CPUFREQ = "/sys/devices/system/cpu/cpu*/cpufreq"


def governor(machine: Machine) -> Advice:
    """A governor that saves power changes the clock while we measure."""
    why = (
        "The governor chooses the clock by the load it has observed. A short sample runs before it has made "
        "up its mind, and is slow for a reason that has nothing to do with the machine."
    )
    known, driver = setting(machine, "governor"), setting(machine, "frequency_driver").value or ""
    if known.value is None:
        return unknown("governor", known, why)
    observed = f"The frequency governor is '{known.value}'" + (f" (driver {driver})." if driver else ".")
    if known.value == "performance":
        return Advice("governor", "fine", observed, "The clock is as high as it may be at all times.")
    # Under these drivers "powersave" still follows the load; elsewhere it means the lowest clock always.
    follows_load = "pstate" in driver or "powersave" not in known.value
    remedy = "Choose the governor 'performance' while you measure; it is back to normal after a restart."
    command = f"echo performance | sudo tee {_CPUFREQ}/scaling_governor"
    return Advice("governor", "notice" if follows_load else "serious", observed, why, remedy, command, root=True)


def frequency_limit(machine: Machine) -> Advice:
    """A clock that is capped below what the processor can do."""
    why = "Under a cap every figure that depends on the clock is smaller than the processor's own."
    highest, possible = setting(machine, "frequency_max"), setting(machine, "frequency_hardware_max")
    if highest.value is None or possible.value is None:
        return unknown("frequency limit", highest if highest.value is None else possible, why)
    if highest.value == possible.value:
        return Advice("frequency limit", "fine", f"The clock may rise to {possible.value}, its maximum.", why)
    observed = f"The clock may rise to {highest.value} only; the processor's maximum is {possible.value}."
    remedy = "Lift the cap. A laptop on battery may put it back: plug it in."
    command = f"for c in {_CPUFREQ}; do sudo cp $c/cpuinfo_max_freq $c/scaling_max_freq; done"
    return Advice("frequency limit", "notice", observed, why, remedy, command, root=True)


def turbo(machine: Machine) -> Advice:
    """Turbo makes the clock depend on temperature and on the neighbours."""
    why = (
        "With turbo the clock depends on temperature, on how many cores are busy and on the instructions "
        "they run: one thread looks faster than a share of all. The true clock is measured beside every "
        "sample, so figures in cycles stay right."
    )
    known = setting(machine, "turbo")
    if known.value is None:
        return unknown("turbo", known, why)
    if known.value == "off":
        return Advice("turbo", "fine", "Turbo is off.", "The clock does not rise and fall with the load.")
    bit = "1" if "no_turbo" in known.source else "0"
    remedy = "Switch it off to compare settings or compilers; leave it on to see the machine at its best."
    command = f"echo {bit} | sudo tee {known.source}"
    return Advice("turbo", "notice", "Turbo is on.", why, remedy, command, root=True)


def smt(machine: Machine) -> Advice:
    """Hardware threads of one core share its pipes and its caches."""
    why = (
        "Two hardware threads of a core share its pipes and caches: whatever runs on the sibling slows "
        "the one that is measured. Pinned threads here get a core each as long as there are cores; "
        "unpinned ones may not."
    )
    known = setting(machine, "smt")
    if known.value is None:
        return unknown("smt", known, why)
    if known.value != "on":
        return Advice("smt", "fine", "Every core shows one hardware thread.", "No thread has a sibling to disturb it.")
    observed = "Every core shows several hardware threads (SMT is on)."
    remedy = "Pin the threads, or switch SMT off while you measure ('on', the same way, brings it back)."
    command = "echo off | sudo tee /sys/devices/system/cpu/smt/control"
    return Advice("smt", "notice", observed, why, remedy, command, root=True)


def cpu_quota(machine: Machine) -> Advice:
    """A quota stops the process in the middle of a sample."""
    why = (
        "A quota does not make the processor slower: it stops the process altogether for the rest of each "
        "period (usually 0.1 s) once its share is used up. Samples fall into fast ones and stopped ones."
    )
    known = setting(machine, "cpu_quota")
    if known.value is None:
        return unknown("processor quota", known, why)
    if machine.cpu_quota is None:
        return Advice("processor quota", "fine", "No control group limits the processor time.", why)
    observed = f"A control group allows the time of {machine.cpu_quota:g} cores on {len(machine.cpus)} processors."
    value = "max" if known.source.endswith("cpu.max") else "-1"
    remedy = (
        "Lift the quota: start the container without --cpus, the service without CPUQuota=. If you "
        f"cannot, use at most {max(1, int(machine.cpu_quota))} of the processors."
    )
    command = f"echo {value} | sudo tee {known.source}"
    return Advice("processor quota", "serious", observed, why, remedy, command, root=True)


def allowed_processors(machine: Machine) -> Advice:
    """A process that may use only a part of the machine measures that part."""
    why = "The figures are those of the processors that this process may use, not of the whole machine."
    online = readable_cpu_list(setting(machine, "online_cpus").value)
    if not online or not machine.cpus:
        return unknown("allowed processors", setting(machine, "online_cpus"), why)
    if set(online) <= set(machine.cpus):
        return Advice("allowed processors", "fine", f"All {len(online)} processors may be used.", why)
    mine = format_cpu_list(machine.cpus)
    observed = f"This process may use {len(machine.cpus)} of {len(online)} processors ({mine})."
    words = "; ".join(f"{s.title}: {s.whole_nodes}" for s in schedulers().values() if s.whole_nodes)
    remedy = (
        f"Start it without taskset, numactl or --cpuset-cpus, or ask the batch system for the whole node ({words})."
    )
    return Advice("allowed processors", "notice", observed, why, remedy)


def isolation(machine: Machine) -> Advice:
    """Isolated processors are quiet, but nothing goes there by itself."""
    why = (
        "The scheduler puts nothing on an isolated processor by itself: threads that are not pinned crowd "
        "on the others, and pinned ones find peace there."
    )
    known = setting(machine, "isolated_cpus")
    if known.value is None:
        return unknown("isolated processors", known, why)
    isolated = set(readable_cpu_list(known.value) or ())
    if not isolated:
        return Advice("isolated processors", "fine", "No processor is isolated from the scheduler.", why)
    mine = isolated.intersection(machine.cpus)
    if not mine:
        observed = f"Processors {format_cpu_list(isolated)} are isolated, and this process may use none of them."
        remedy = "Start with an affinity that includes them, and pin the threads."
        command = f"taskset -c {format_cpu_list(isolated.union(machine.cpus))} steelyard run"
        return Advice("isolated processors", "notice", observed, why, remedy, command)
    named = format_cpu_list(mine)
    observed = f"Processors {named} are isolated, {len(mine)} of {len(machine.cpus)} that may be used."
    remedy = f"Pin the threads there for the quietest figures: the placement '{named}'."
    return Advice("isolated processors", "notice", observed, why, remedy)


def hypervisor(machine: Machine) -> Advice:
    """In a virtual machine others may take the processor away."""
    why = (
        "The host may give the processor to somebody else (steal time), and its caches and memory are "
        "shared with neighbours that cannot be observed from here; cache sizes and topology are what the "
        "hypervisor chooses to show. Steal time is watched around every sample."
    )
    known = setting(machine, "hypervisor")
    if known.value is None:
        return unknown("hypervisor", known, why)
    if known.value == "none":
        return Advice("hypervisor", "fine", "No hypervisor: the machine is bare.", "Nobody outside takes time from it.")
    named = "a hypervisor that does not give its name" if known.value == "unnamed" else known.value
    remedy = "Measure at a quiet hour, or on a dedicated host; trust comparisons of runs that were interleaved."
    return Advice("hypervisor", "notice", f"This is a virtual machine ({named}).", why, remedy)


def mitigations(machine: Machine) -> Advice:
    """Mitigations make entering the kernel dear."""
    why = (
        "Work-arounds for weaknesses of the processor make system calls and context switches dearer. "
        "Memory and arithmetic hardly feel it; small messages and thread wake-ups do. Compare machines "
        "with the same ones."
    )
    known = setting(machine, "mitigations")
    if known.value is None:
        return unknown("mitigations", known, why)
    if "mitigated" not in known.value:
        return Advice("mitigations", "fine", f"No mitigation is active ({known.value}).", why)
    remedy = (
        "Leave them on, unless nobody else can reach this machine: then add mitigations=off to the "
        "kernel's command line and restart, to see what they cost."
    )
    return Advice("mitigations", "notice", f"{known.value[0].upper()}{known.value[1:]}.", why, remedy, root=True)


def load(machine: Machine) -> Advice:
    """Other work on the machine while we measure."""
    why = (
        "Whatever else runs takes time on the measured cores, room in the caches and a share of the "
        "memory's bandwidth, and the last two are not observed in any processor time."
    )
    known = setting(machine, "load_average")
    try:
        recent = float((known.value or "").split()[0])
    except (IndexError, ValueError):
        return unknown("load", known, why)
    observed = f"On average {recent:.2f} tasks wanted to run in the last minute, on {len(machine.cpus)} processors."
    # 0.3: an idle desktop or node with its daemons stays below. Half the processors: no core is surely quiet.
    if recent < 0.3:
        return Advice("load", "fine", observed, why)
    level: Literal["serious", "notice"] = "serious" if recent >= max(1.0, len(machine.cpus) / 2) else "notice"
    remedy = "See what runs, and stop it or wait. After a build the average takes a minute to fall by itself."
    return Advice("load", level, observed, why, remedy, "top -o %CPU")
