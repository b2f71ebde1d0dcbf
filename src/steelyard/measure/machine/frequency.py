"""Reads the settings of the processors' clock: governor, driver, allowed and possible range, nominal clock."""

import re
from collections.abc import Iterator, Mapping

from steelyard.measure.machine.cpulist import format_cpu_list, readable_cpu_list
from steelyard.measure.machine.files import KernelFiles, natural
from steelyard.model import Setting
from steelyard.model.units import quantity

_CPU = "/sys/devices/system/cpu"
_FILES = {
    "governor": "scaling_governor",
    "frequency_driver": "scaling_driver",
    "frequency_min": "scaling_min_freq",
    "frequency_max": "scaling_max_freq",
    "frequency_hardware_max": "cpuinfo_max_freq",
}
# Clocks that do not change, by the architecture's key in /proc/cpuinfo, and the hertz that the number counts.
_NOMINAL = (
    ("cpu MHz static", r"(\d+(?:\.\d+)?)", 1e6),  # s390
    ("clock", r"(\d+(?:\.\d+)?)MHz", 1e6),  # POWER
    ("CPU MHz", r"(\d+(?:\.\d+)?)", 1e6),  # LoongArch
    ("cycle frequency [Hz]", r"(\d+)", 1.0),  # Alpha
)


def read_frequencies(files: KernelFiles, cpuinfo: Mapping[str, str]) -> list[Setting]:
    """Returns governor, driver and range of all frequency policies, and the nominal clock."""
    return [*_list_policies(files), _find_nominal(files, cpuinfo)]


def _list_policies(files: KernelFiles) -> Iterator[Setting]:
    folders = _list_folders(files)
    of_each = f"{_CPU}/cpu*/cpufreq" if folders and folders[0].endswith("/cpufreq") else f"{_CPU}/cpufreq/policy*"
    for name, file in _FILES.items():
        having: dict[str, list[str]] = {}  # value → the policies that have it
        for folder in folders:
            text = files.text(f"{folder}/{file}")
            if text:
                kilohertz = natural(text)
                having.setdefault(text if kilohertz is None else _write_hertz(kilohertz * 1e3), []).append(folder)
        if folders:
            reason = "" if having else f"no policy has a readable {file}"
            yield Setting(name, _summarise_policies(files, having), f"{of_each}/{file}", reason)
        else:
            reason = f"there is no {_CPU}/cpufreq here, so this kernel does not control the frequency"
            yield Setting(name, None, f"{_CPU}/cpufreq", reason)


def _list_folders(files: KernelFiles) -> list[str]:
    """Returns the folders of the policies. Kernels before 4.3 have one below each processor, often as a link."""
    shared = f"{_CPU}/cpufreq"
    policies = [f"{shared}/{name}" for name in files.names(shared) if name.startswith("policy")]
    if policies:
        return policies
    folders: list[str] = []
    covered: set[int] = set()
    for cpu, place in files.processors().items():
        folder = f"{place}/cpufreq"
        if cpu in covered or not files.names(folder):
            continue
        covered.update(_read_affected_cpus(files, folder))
        folders.append(folder)
    return folders


def _write_hertz(value: float) -> str:
    """Returns '3.20 GHz'; '1.996 GHz' where three digits are off by a part of 2000."""
    rounded = float(f"{value:.3g}")
    return quantity(value, "Hz", 3 if abs(rounded - value) < 5e-4 * value else 4)


def _read_affected_cpus(files: KernelFiles, folder: str) -> tuple[int, ...]:
    text = files.text(f"{folder}/affected_cpus") or ""
    return readable_cpu_list(",".join(text.split())) or ()


def _summarise_policies(files: KernelFiles, having: Mapping[str, list[str]]) -> str | None:
    """Returns the common value of all policies, or each value with its processors if they differ."""
    if len(having) < 2:
        return next(iter(having), None)
    parts = []
    for value, policies in sorted(having.items()):
        cpus = (_read_affected_cpus(files, policy) for policy in policies)
        parts.append(f"{value} (cpus {format_cpu_list(cpu for some in cpus for cpu in some)})")
    return ", ".join(parts)


def _find_nominal(files: KernelFiles, cpuinfo: Mapping[str, str]) -> Setting:
    """Returns the nominal clock of the processor, if a driver or the architecture's /proc/cpuinfo states it."""
    name = "frequency_nominal"
    for path in (f"{_CPU}/cpufreq/policy0/base_frequency", f"{_CPU}/cpu0/cpufreq/base_frequency"):
        if kilohertz := natural(files.text(path)):
            return Setting(name, _write_hertz(kilohertz * 1e3), path)
    for key, pattern, hertz in _NOMINAL:
        match = re.match(pattern, cpuinfo.get(key, ""))
        if match and float(match.group(1)):
            return Setting(name, _write_hertz(float(match.group(1)) * hertz), "/proc/cpuinfo")
    for place in [*files.processors().values()][:1]:
        if ticks := natural(files.text(f"{place}/clock_tick")):  # SPARC, in hertz
            return Setting(name, _write_hertz(float(ticks)), f"{place}/clock_tick")
    reason = "neither the frequency driver nor /proc/cpuinfo states it"
    return Setting(name, None, f"{_CPU}/cpufreq/policy0/base_frequency", reason)
