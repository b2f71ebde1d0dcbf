"""The processor by /proc/cpuinfo: its name, its architecture, and from tables its multiply-add pipes and kind of L3."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.measure.machine.arm_parts import MAKERS, arm_name

# Widths are doubles an instruction, units are instructions of that width started each cycle. Sources: Agner
# Fog's instruction tables; Intel's optimization manual; AMD's optimization guides for families 17h, 19h and
# 1Ah; Arm's guides for the Neoverse cores. A processor that is not here is unknown: no peak is derived.
_INTEL_SERVER_512 = {0x55, 0x6A, 0x8F, 0xCF, 0xAD, 0xAE}  # Skylake-SP to Granite Rapids
_INTEL_CLIENT_512 = {0x66, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7}  # Cannon, Ice, Tiger and Rocket Lake: one pipe
_INTEL_PHI = {0x57, 0x85}
# Haswell to Comet Lake.
_INTEL_256 = {0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56, 0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6}
_INTEL_SMALL = {0xBE, 0xAF}  # Gracemont and Crestmont alone: a 256-bit operation takes both 128-bit pipes
_INTEL_HYBRID = {0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0xAA, 0xAC, 0xB5, 0xC5, 0xC6, 0xBD}  # cores of two kinds
# These models of the Skylake-SP generation (0x55) have one 512-bit pipe, the others two (Intel ARK).
_ONE_PIPE_NAMES = ("Bronze", "Silver", "Gold 51", "Gold 52")
_TWO_PIPES_AFTER_ALL = ("Gold 5122", "Gold 5222")

# AMD: (family, first model, last model) → width, units.
_AMD = (
    (0x17, 0x00, 0x2F, 4, 1),  # Zen, Zen+: 256 bits in two halves
    (0x17, 0x30, 0xFF, 4, 2),  # Zen 2
    (0x18, 0x00, 0xFF, 4, 1),  # Hygon Dhyana: Zen
    (0x19, 0x00, 0x0F, 4, 2),  # Zen 3
    (0x19, 0x10, 0x1F, 8, 1),  # Zen 4: 512 bits in two cycles
    (0x19, 0x20, 0x5F, 4, 2),  # Zen 3
    (0x19, 0x60, 0x7F, 8, 1),  # Zen 4
    (0x19, 0xA0, 0xAF, 8, 1),  # Zen 4c
    (0x1A, 0x00, 0x1F, 8, 2),  # Zen 5, servers
    (0x1A, 0x20, 0x2F, 8, 1),  # Zen 5, mobile: 512 bits in two cycles
    (0x1A, 0x40, 0x4F, 8, 2),  # Zen 5, desktop
)

# aarch64: (implementer, part) → width, units.
_ARM = {
    (0x41, 0xD0B): (2, 2),  # Cortex-A76
    (0x41, 0xD0C): (2, 2),  # Neoverse N1
    (0x41, 0xD40): (4, 2),  # Neoverse V1
    (0x41, 0xD49): (2, 2),  # Neoverse N2
    (0x41, 0xD4F): (2, 4),  # Neoverse V2
    (0x41, 0xD84): (2, 4),  # Neoverse V3
    (0x41, 0xD8E): (2, 2),  # Neoverse N3
    (0x42, 0x516): (2, 2),  # Broadcom Vulcan
    (0x43, 0x0AF): (2, 2),  # ThunderX2
    (0x46, 0x001): (8, 2),  # A64FX
    (0xC0, 0xAC3): (2, 2),  # Ampere-1
}
_A64FX = (0x46, 0x001)
_HBM_ONLY = ("MI300A", "MI300C", "EPYC 9V64H")  # AMD's processors with HBM and no other memory

# Keys of /proc/cpuinfo that hold a model's name, by architecture: arch/*/kernel/setup.c, proc.c and the like in Linux.
_NAMES = ("model name", "Model Name", "cpu model", "cpu", "uarch", "Processor", "CPU", "cpu type", "cpu-type", "family")


@dataclass(frozen=True, kw_only=True)
class Processor:
    """A processor model. `fma_width` and `fma_units` are None if it is not in the table: see `reason`.

    `kinds`: for Arm the (implementer, part) of each kind of core, in the order of the processors; else empty.
    """

    name: str
    vendor: str
    fma_width: int | None
    fma_units: int | None
    inclusive_l3: bool | None
    reason: str = ""
    kinds: tuple[tuple[int, int], ...] = ()

    @property
    def has_only_hbm(self) -> bool:
        """Returns whether all memory of this model is in its package."""
        return _A64FX in self.kinds or any(word in self.name for word in _HBM_ONLY)

    @property
    def is_arm(self) -> bool:
        """Returns whether /proc/cpuinfo names the processor by Arm's registers."""
        return bool(self.kinds)


def read_cpuinfo(lines: Iterable[str]) -> tuple[dict[str, str], tuple[tuple[int, int], ...]]:
    """Returns the first value of each key in the lines of /proc/cpuinfo, and each kind of Arm core (implementer, part) once.

    The first entry alone is not enough: old Arm and s390 kernels put what holds for all processors into an entry of its own.
    """
    first: dict[str, str] = {}
    kinds: dict[tuple[int, int], None] = {}
    implementer: int | None = None
    for line in lines:
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        first.setdefault(key, value)
        if key == "CPU implementer":
            implementer = _parse_number(value)
        elif key == "CPU part" and implementer is not None and (part := _parse_number(value)) is not None:
            kinds[implementer, part] = None
    return first, tuple(kinds)


def identify(cpuinfo: Mapping[str, str], kinds: tuple[tuple[int, int], ...] = ()) -> Processor:
    """Returns the processor that /proc/cpuinfo describes. `kinds`: those of its Arm cores, where `cpuinfo` is not all of it."""
    if "CPU implementer" in cpuinfo:
        return _identify_arm(cpuinfo, kinds)
    vendor = next((cpuinfo[key] for key in ("vendor_id", "vendor", "mvendorid") if cpuinfo.get(key)), "")
    # A number is no name: "family : 31" of Itanium, "cpu : 0" of some kernels.
    name = next((cpuinfo[key] for key in _NAMES if cpuinfo.get(key) and _parse_number(cpuinfo[key]) is None), "")
    name = name or _name_s390_machine(cpuinfo)
    family, model = _parse_number(cpuinfo.get("cpu family")), _parse_number(cpuinfo.get("model"))
    width, units, reason = None, None, f"'{name or 'this processor'}' is not in the table of known processors"
    flags = set(cpuinfo.get("flags", "").split())
    if family is not None and model is not None:
        if flags and "fma" not in flags:
            reason = "the processor offers no fused multiply-add (too old, or hidden by the hypervisor)"
        elif vendor == "GenuineIntel" and family == 6 and model in _INTEL_HYBRID:
            reason = "its cores are of two kinds, with different pipes"
        elif vendor == "GenuineIntel" and family == 6:
            width, units = _count_intel_units(model, name, flags)
        elif vendor in ("AuthenticAMD", "HygonGenuine"):
            width, units = _count_amd_units(family, model, flags)
    inclusive = _is_l3_inclusive(vendor, family, model)
    return Processor(
        name=name or "unknown",
        vendor=vendor or "unknown",
        fma_width=width,
        fma_units=units,
        inclusive_l3=inclusive,
        reason="" if width else reason,
    )


def _name_s390_machine(cpuinfo: Mapping[str, str]) -> str:
    """'IBM/S390 2817' by the line 'processor 0: version = 00, identification = 279F25, machine = 2817'; "" without one."""
    lines = (value for key, value in cpuinfo.items() if key.startswith("processor "))
    machine = next((match.group(1) for line in lines if (match := re.search(r"machine = (\w+)", line))), "")
    return f"IBM/S390 {machine}" if machine else ""


# The first key of /proc/cpuinfo that is there tells the architecture, as uname names it; the value is searched for the pattern.
_ARCHITECTURES = (
    ("CPU implementer", "", "aarch64"),
    ("arch", "IA-64", "ia64"),
    ("vendor_id", "IBM/S390", "s390x"),
    ("vendor_id", "", "x86_64"),
    ("hart", "", "riscv64"),
    ("isa", "rv64", "riscv64"),
    ("type", "sun4", "sparc64"),
    ("CPU Family", "Loongson-64bit", "loongarch64"),
    ("cpu", "Alpha", "alpha"),
    ("cpu", "PA", "parisc"),
    ("system type", "", "mips"),
    ("cpu", "POWER|Cell|PPC970", "ppc64"),
    ("revision", "pvr", "ppc"),
)


def architecture_of(cpuinfo: Mapping[str, str]) -> str:
    """Returns the architecture that the keys of /proc/cpuinfo show; "unknown" where they show none."""
    if "CPU implementer" in cpuinfo and (_parse_number(cpuinfo.get("CPU architecture")) or 8) < 8:
        return f"armv{cpuinfo['CPU architecture']}l"
    flags = cpuinfo.get("flags", "").split()
    if "lm" not in flags and ("pae" in flags or "pse" in flags):
        return "i686"  # a processor without long mode
    fitting = (name for key, pattern, name in _ARCHITECTURES if key in cpuinfo and re.search(pattern, cpuinfo[key]))
    return next(fitting, "unknown")


def _count_intel_units(model: int, name: str, flags: set[str]) -> tuple[int | None, int | None]:
    wide = "avx512f" in flags
    if model in _INTEL_PHI and wide:
        return 8, 2
    if model in _INTEL_SERVER_512 and wide:
        if model == 0x55 and "Xeon(R) D" in name:
            return None, None  # the number of pipes (one or two) depends on the model number, which is not in the table
        one = any(part in name for part in _ONE_PIPE_NAMES) and not any(part in name for part in _TWO_PIPES_AFTER_ALL)
        return (8, 1) if model == 0x55 and one else (8, 2)
    if model in _INTEL_CLIENT_512 and wide:
        return 8, 1
    if model in _INTEL_256 | _INTEL_SERVER_512 | _INTEL_CLIENT_512:
        return 4, 2  # two 256-bit pipes, also where the wider ones are switched off
    return (4, 1) if model in _INTEL_SMALL else (None, None)


def _count_amd_units(family: int, model: int, flags: set[str]) -> tuple[int | None, int | None]:
    for row_family, first, last, width, units in _AMD:
        if family == row_family and first <= model <= last:
            # With the 512-bit instructions hidden, the same pipes are two of 256 bits.
            return (width, units) if width < 8 or "avx512f" in flags else (4, 2)
    return None, None


def _identify_arm(cpuinfo: Mapping[str, str], kinds: tuple[tuple[int, int], ...]) -> Processor:
    implementer, part = _parse_number(cpuinfo.get("CPU implementer")), _parse_number(cpuinfo.get("CPU part"))
    if not kinds and implementer is not None and part is not None:
        kinds = ((implementer, part),)
    names = [arm_name(*kind) or f"implementer {kind[0]:#04x} part {kind[1]:#05x}" for kind in kinds]
    title = next((cpuinfo[key] for key in ("model name", "Processor") if cpuinfo.get(key)), "")
    maker = f"{MAKERS.get(kinds[0][0], '')} " if kinds else ""
    name = " + ".join(dict.fromkeys([*names[:1], *(name.removeprefix(maker) for name in names[1:])]))
    if not kinds or (len(kinds) == 1 and arm_name(*kinds[0]) is None):
        name = title or name or f"implementer {cpuinfo['CPU implementer']} part {cpuinfo.get('CPU part', '?')}"
        reason = f"'{name}' is not in the table of known processors"
    elif len(kinds) > 1:
        reason = f"its cores are of {len(kinds)} kinds, with different pipes"
    else:
        reason = f"the pipes of '{name}' are not in the table of known processors"
    vendor = MAKERS.get(kinds[0][0], "unknown") if kinds else "unknown"
    width, units = _ARM.get(kinds[0], (None, None)) if len(kinds) == 1 else (None, None)
    return Processor(
        name=name,
        vendor=vendor,
        fma_width=width,
        fma_units=units,
        inclusive_l3=None,
        reason="" if width else reason,
        kinds=kinds,
    )


def _is_l3_inclusive(vendor: str, family: int | None, model: int | None) -> bool | None:
    """Returns whether the L3 repeats what L2 holds; None: not in the table. Source: the makers' manuals."""
    if vendor in ("AuthenticAMD", "HygonGenuine"):
        return False if family in (0x10, 0x12, 0x15, 0x17, 0x18, 0x19, 0x1A) else None
    if vendor == "GenuineIntel" and family == 6 and model in _INTEL_SERVER_512:
        return False
    # Nehalem to Broadwell and the client chips to Comet Lake.
    old = {0x1A, 0x1E, 0x1F, 0x2E, 0x25, 0x2C, 0x2F, 0x2A, 0x2D, 0x3A, 0x3E} | _INTEL_256
    return True if vendor == "GenuineIntel" and family == 6 and model in old else None


def _parse_number(text: str | None) -> int | None:
    try:
        return int(text or "", 0)
    except ValueError:
        return None
