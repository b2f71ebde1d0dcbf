"""Finds out whether an emulator runs the programs of this system on a processor of another architecture."""

import os
import re
from collections.abc import Mapping

from steelyard.measure.machine.files import KernelFiles
from steelyard.measure.machine.processors import architecture_of
from steelyard.model import Setting

EMULATION = "emulation"  # the name of the setting
_KERNEL = "/proc/sys/kernel/arch"  # since Linux 6.1; emulators of single programs leave it as it is, unlike uname
# Kinds of processors by names of architectures. 32-bit programs of the same kind are not emulated.
_KINDS = re.compile("x86|arm|ppc|s390|riscv|mips|sparc|loong|ia64|alpha|parisc")
_INVENTED = ("VirtualApple", "TCG")  # appear in the vendor or the name of processors that Rosetta and QEMU emulate


def read_emulation(files: KernelFiles, cpuinfo: Mapping[str, str]) -> Setting:
    """Returns "none", or for example "x86_64 programs on aarch64"; no value if the architectures are unknown."""
    named = f"{cpuinfo.get('vendor_id', '')} {cpuinfo.get('model name', '')}"
    if any(word in named for word in _INVENTED):
        return Setting(EMULATION, named.strip(), "/proc/cpuinfo")
    kernel, processor = files.text(_KERNEL) or "unknown", architecture_of(cpuinfo)
    programs = os.uname().machine if files.live else kernel
    for real, source in ((processor, "/proc/cpuinfo"), (kernel, _KERNEL)):
        if (kinds := {_find_kind(real), _find_kind(programs)}) and len(kinds) == 2 and "" not in kinds:
            return Setting(EMULATION, f"{programs} programs on {real}", source)
    known = _find_kind(programs) and (_find_kind(processor) or _find_kind(kernel))
    reason = "the kernel's files do not show the architectures of processor and programs"
    return Setting(EMULATION, "none" if known else None, "/proc/cpuinfo", "" if known else reason)


def _find_kind(architecture: str) -> str:
    found = _KINDS.match(re.sub(r"^(i\d86|amd64)", "x86", architecture.replace("aarch64", "arm")))
    return found.group() if found else ""


def describe_emulation(emulation: Setting) -> str:
    """Returns a note on an emulated processor; "" if there is none."""
    if emulation.value in (None, "none"):
        return ""
    return f"The processor is emulated: {emulation.value} ({emulation.source}). All figures are those of the emulator."
