"""Reads the settings of a machine that can change a measurement, each with the file that tells it."""

import os
import re
from collections.abc import Callable, Mapping

from steelyard.measure.machine.containers import read_container
from steelyard.measure.machine.emulation import read_emulation
from steelyard.measure.machine.files import KernelFiles, parse_kibibytes
from steelyard.measure.machine.frequency import read_frequencies
from steelyard.model import Setting
from steelyard.model.proofs import WSL
from steelyard.model.units import binary_size

_CPU = "/sys/devices/system/cpu"
_HUGE = "/sys/kernel/mm/hugepages"
_THP = "/sys/kernel/mm/transparent_hugepage"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"


def _read_selected(text: str) -> str:
    """'always [madvise] never' → 'madvise'."""
    return text.partition("[")[2].partition("]")[0] or text


def _name_switch(text: str) -> str:
    return {"0": "off", "1": "on"}.get(text, text)


def _name_empty(text: str) -> str:
    return "none" if text in ("", "(null)") else text


# name → the files that may tell it (the first that can be read does), and how to read them.
_FILES: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "kernel": (("/proc/sys/kernel/osrelease",), str),
    "kernel_command_line": (("/proc/cmdline",), str),
    "energy_preference": ((f"{_CPU}/cpu0/cpufreq/energy_performance_preference",), str),
    "idle_driver": ((f"{_CPU}/cpuidle/current_driver",), _name_empty),
    "smt": ((f"{_CPU}/smt/active",), _name_switch),
    "isolated_cpus": ((f"{_CPU}/isolated",), _name_empty),
    "tickless_cpus": ((f"{_CPU}/nohz_full",), _name_empty),
    "transparent_huge_pages": ((f"{_THP}/enabled",), _read_selected),
    "transparent_huge_pages_defrag": ((f"{_THP}/defrag",), _read_selected),
    "huge_pages_2MiB": ((f"{_HUGE}/hugepages-2048kB/nr_hugepages",), str),
    "huge_pages_2MiB_free": ((f"{_HUGE}/hugepages-2048kB/free_hugepages",), str),
    "huge_pages_1GiB": ((f"{_HUGE}/hugepages-1048576kB/nr_hugepages",), str),
    "huge_pages_1GiB_free": ((f"{_HUGE}/hugepages-1048576kB/free_hugepages",), str),
    "numa_balancing": (("/proc/sys/kernel/numa_balancing",), _name_switch),
    "zone_reclaim": (("/proc/sys/vm/zone_reclaim_mode",), str),
    "overcommit": (("/proc/sys/vm/overcommit_memory",), str),
    "clock_source": ((f"{_CLOCK}/current_clocksource",), str),
    "clock_sources_offered": ((f"{_CLOCK}/available_clocksource",), str),
    "perf_event_paranoid": (("/proc/sys/kernel/perf_event_paranoid",), str),
    "address_randomisation": (("/proc/sys/kernel/randomize_va_space",), str),
    "load_average": (("/proc/loadavg",), lambda text: " ".join(text.split()[:3])),
    "firmware": (("/sys/class/dmi/id/bios_version",), str),
    "product": (("/sys/class/dmi/id/product_name", "/sys/firmware/devicetree/base/model"), lambda text: text.strip("\0")),
}  # fmt: skip


def read_settings(files: KernelFiles, cpuinfo: Mapping[str, str]) -> list[Setting]:
    """Returns all settings that this module can read. A setting that cannot be read has a reason instead of a value."""
    hypervisor = _read_hypervisor(files, cpuinfo)
    settings = [_read_setting(files, name, paths, read) for name, (paths, read) in _FILES.items()]
    settings += [
        *read_frequencies(files, cpuinfo),
        _read_turbo(files),
        _read_mitigations(files),
        hypervisor,
        read_container(files, hypervisor.value),
        read_emulation(files, cpuinfo),
        *_read_swap(files),
        _read_microcode(files, cpuinfo),
        _read_distribution(files),
        _read_libc(files),
        _describe_page_size(files),
        _list_counters(files),
    ]
    return sorted(settings, key=lambda setting: setting.name)


def _read_setting(files: KernelFiles, name: str, paths: tuple[str, ...], read: Callable[[str], str]) -> Setting:
    reasons = []
    for path in paths:
        reading = files.read(path)
        if reading.text is not None:
            return Setting(name, read(reading.text), path)
        reasons.append(reading.reason)
    return Setting(name, None, paths[0], reasons[0])


def _read_turbo(files: KernelFiles) -> Setting:
    for path, read in (
        (f"{_CPU}/intel_pstate/no_turbo", lambda text: {"1": "off", "0": "on"}.get(text, text)),
        (f"{_CPU}/cpufreq/boost", _name_switch),
        (f"{_CPU}/cpufreq/policy0/boost", _name_switch),
    ):
        text = files.text(path)
        if text is not None:
            return Setting("turbo", read(text), path)
    reason = "neither intel_pstate/no_turbo nor cpufreq/boost exists, so this kernel does not control the turbo"
    return Setting("turbo", None, f"{_CPU}/cpufreq/boost", reason)


def _read_mitigations(files: KernelFiles) -> Setting:
    """Returns the weaknesses of the processor that the kernel mitigates, and those that it leaves open."""
    folder = f"{_CPU}/vulnerabilities"
    states: dict[str, list[str]] = {"mitigated": [], "vulnerable": []}
    names = files.names(folder)
    for name in names:
        text = files.text(f"{folder}/{name}") or ""
        state = {"Mitigation": "mitigated", "Vulnerable": "vulnerable"}.get(re.split(r"[:;]", text)[0].strip())
        if state:
            states[state].append(name)
    if not names:
        return Setting("mitigations", None, folder, f"there is no {folder} here")
    value = "; ".join(f"{state}: {', '.join(sorted(weaknesses))}" for state, weaknesses in states.items() if weaknesses)
    return Setting("mitigations", value or "none needed", folder)


_DMI = "/sys/class/dmi/id"
_VIRTIO = "/sys/bus/virtio/devices"
# Words in the firmware's names that betray a virtual machine.
_VIRTUAL = {
    "KVM": "KVM", "QEMU": "QEMU", "VMware": "VMware", "VirtualBox": "VirtualBox", "Xen": "Xen",
    "Bochs": "QEMU",
    "Parallels": "Parallels", "Apple Virtualization": "Apple Virtualization",
    "Virtual Machine": "Hyper-V", "Amazon EC2": "KVM (Amazon EC2)", "Google Compute Engine": "KVM (Google)",
    "OpenStack": "OpenStack",
}  # fmt: skip


# Devices that only a hypervisor has, by vendor and device on the PCI bus: they tell also where the processor's flag is hidden.
_GUEST_DEVICES = {"80eecafe": "VirtualBox", "15ad0740": "VMware", "58530001": "Xen"}


def _find_hypervisor(files: KernelFiles) -> tuple[str | None, str]:
    """The hypervisor that WSL2's kernel, a guest's PCI bus, s390's /proc/sysinfo or a POWER partition names, and the file."""
    release = "/proc/sys/kernel/osrelease"
    if re.search("microsoft-standard|wsl2", files.text(release) or "", re.IGNORECASE):
        return WSL, release
    devices = "/proc/bus/pci/devices"
    for line in (files.text(devices) or "").splitlines():
        if name := _GUEST_DEVICES.get("".join(line.split()[1:2])):
            return name, devices
    system = files.pairs("/proc/sysinfo", whole=True)
    control = " ".join(system.get("VM00 Control Program", "").split())
    if control or "LPAR Number" in system:
        return control or "PR/SM", "/proc/sysinfo"
    partition = next((path for path in _PARTITIONS if files.exists(path)), "")
    return ("PowerVM" if partition else None), partition


_PARTITIONS = ("/proc/device-tree/ibm,partition-name", "/sys/firmware/devicetree/base/ibm,partition-name")


def _read_hypervisor(files: KernelFiles, cpuinfo: Mapping[str, str]) -> Setting:
    """Returns the hypervisor's name, "unnamed" if it hides it, "none" without one, or unknown."""
    hypervisor, path = _find_hypervisor(files)
    if hypervisor:
        return Setting("hypervisor", hypervisor, path)
    flags = cpuinfo.get("flags", "").split()
    offered = files.text(f"{_CLOCK}/available_clocksource") or ""
    names = " ".join(filter(None, (files.text(f"{_DMI}/{name}") for name in ("sys_vendor", "product_name"))))
    # A bare-metal instance of a cloud has its maker's name too: on x86 the processor's own flag decides, elsewhere its product.
    if "hypervisor" not in flags and (flags or re.search(r"\bmetal\b", names, re.IGNORECASE)):
        return Setting("hypervisor", "none", "/proc/cpuinfo" if flags else _DMI)
    xen = files.text("/sys/hypervisor/type")
    clock = next((clock for clock in ("kvm", "hyperv", "xen") if clock in offered), None)
    named = next((maker for word, maker in _VIRTUAL.items() if word in names), None)
    tree = files.text("/sys/firmware/devicetree/base/hypervisor/compatible")
    for value, source in (
        (xen, "/sys/hypervisor/type"),
        (tree and tree.replace("\0", " ").strip(), "/sys/firmware/devicetree/base/hypervisor"),
        (clock and {"kvm": "KVM", "hyperv": "Hyper-V", "xen": "Xen"}[clock], f"{_CLOCK}/available_clocksource"),
        (named, _DMI),
    ):
        if value:
            return Setting("hypervisor", value, source)
    # Only a hypervisor offers such devices, but for a few network cards in servers, which control the clock themselves.
    virtual = files.names(_VIRTIO) and not files.exists(f"{_CPU}/cpufreq/policy0")
    if flags or virtual:
        return Setting("hypervisor", "unnamed", "/proc/cpuinfo" if flags else _VIRTIO)
    if names:
        return Setting("hypervisor", "none", _DMI)
    return Setting("hypervisor", None, "/proc/cpuinfo", "neither the processor nor the firmware reports it")


def _read_swap(files: KernelFiles) -> list[Setting]:
    source = "/proc/meminfo"
    memory = files.pairs(source)
    total, free = parse_kibibytes(memory.get("SwapTotal")), parse_kibibytes(memory.get("SwapFree"))
    if total is None or free is None:
        reason = f"{source} does not state it"
        return [Setting("swap", None, source, reason), Setting("swap_used", None, source, reason)]
    used = "none" if total == free else binary_size(total - free)
    return [Setting("swap", binary_size(total) if total else "none", source), Setting("swap_used", used, source)]


def _read_microcode(files: KernelFiles, cpuinfo: Mapping[str, str]) -> Setting:
    if cpuinfo.get("microcode"):
        return Setting("microcode", cpuinfo["microcode"], "/proc/cpuinfo")
    return _read_setting(files, "microcode", (f"{_CPU}/cpu0/microcode/version",), str)


def _read_distribution(files: KernelFiles) -> Setting:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        for line in (files.text(path) or "").splitlines():
            if line.startswith("PRETTY_NAME="):
                return Setting("distribution", line.partition("=")[2].strip("\"'"), path)
    return Setting("distribution", None, "/etc/os-release", "there is no /etc/os-release with a PRETTY_NAME here")


def _read_libc(files: KernelFiles) -> Setting:
    if not files.live:
        return Setting("libc", None, "confstr", "only a running system can report it")
    try:
        return Setting("libc", os.confstr("CS_GNU_LIBC_VERSION") or "unknown", "confstr")
    except (ValueError, OSError):
        musl = [name for name in files.names("/lib") if name.startswith("ld-musl")]
        return Setting(
            "libc", "musl" if musl else None, "/lib", "" if musl else "neither glibc nor musl was recognised"
        )


def _describe_page_size(files: KernelFiles) -> Setting:
    if not files.live:
        return Setting("page_size", None, "sysconf", "only a running system can report it")
    return Setting("page_size", f"{os.sysconf('SC_PAGE_SIZE') // 1024} KiB", "sysconf")


def _list_counters(files: KernelFiles) -> Setting:
    """Returns the processor's units that count events ("cpu", "cpu_core", "armv8_pmuv3_0" …), or "none"."""
    folder = "/sys/bus/event_source/devices"
    names = files.names(folder)
    if not names:
        return Setting("performance_counters", None, folder, files.read(f"{folder}/cpu/type").reason)
    units = [
        name for name in names if name.startswith(("cpu", "armv", "apple_")) and files.exists(f"{folder}/{name}/type")
    ]
    return Setting("performance_counters", " ".join(units) or "none", folder)
