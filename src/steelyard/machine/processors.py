"""What the kernel does not tell of a processor: its fused multiply-add pipes, whether its L3 repeats L2."""

from collections.abc import Mapping
from dataclasses import dataclass

# Widths are doubles an instruction, units are instructions of that width started each cycle. Sources: Agner
# Fog's instruction tables; Intel's optimization manual; AMD's optimization guides for families 17h, 19h and
# 1Ah; Arm's guides for the Neoverse cores. A processor that is not here is unknown: no peak is derived.
_INTEL_SERVER_512 = {0x55, 0x6A, 0x8F, 0xCF, 0xAD, 0xAE}  # Skylake-SP to Granite Rapids
_INTEL_CLIENT_512 = {0x66, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7}  # Cannon, Ice, Tiger and Rocket Lake: one pipe
_INTEL_PHI = {0x57, 0x85}
_INTEL_256 = {
    0x3C,
    0x3F,
    0x45,
    0x46,
    0x3D,
    0x47,
    0x4F,
    0x56,
    0x4E,
    0x5E,
    0x8E,
    0x9E,
    0xA5,
    0xA6,
}  # Haswell to Comet Lake
_INTEL_SMALL = {0xBE, 0xAF}  # Gracemont and Crestmont alone: a 256-bit operation takes both 128-bit pipes
_INTEL_HYBRID = {0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0xAA, 0xAC, 0xB5, 0xC5, 0xC6, 0xBD}  # cores of two kinds
# Of the Skylake-SP generation (0x55) these have one 512-bit pipe, the other models two (Intel ARK).
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

# aarch64: (implementer, part) → name, width, units; width None: the name only.
_ARM: dict[tuple[int, int], tuple[str, int | None, int | None]] = {
    (0x41, 0xD03): ("Arm Cortex-A53", None, None),
    (0x41, 0xD05): ("Arm Cortex-A55", None, None),
    (0x41, 0xD07): ("Arm Cortex-A57", None, None),
    (0x41, 0xD08): ("Arm Cortex-A72", None, None),
    (0x41, 0xD0B): ("Arm Cortex-A76", 2, 2),
    (0x41, 0xD0C): ("Arm Neoverse N1", 2, 2),
    (0x41, 0xD40): ("Arm Neoverse V1", 4, 2),
    (0x41, 0xD49): ("Arm Neoverse N2", 2, 2),
    (0x41, 0xD4F): ("Arm Neoverse V2", 2, 4),
    (0x41, 0xD84): ("Arm Neoverse V3", 2, 4),
    (0x41, 0xD8E): ("Arm Neoverse N3", 2, 2),
    (0x42, 0x516): ("Broadcom Vulcan", 2, 2),
    (0x43, 0x0AF): ("Marvell ThunderX2", 2, 2),
    (0x46, 0x001): ("Fujitsu A64FX", 8, 2),
    (0x48, 0xD01): ("HiSilicon Kunpeng 920", None, None),
    (0xC0, 0xAC3): ("Ampere-1", 2, 2),
}


@dataclass(frozen=True)
class Processor:
    """A processor model. `fma_width` and `fma_units` are None where it is not in the table: see `reason`."""

    name: str
    vendor: str
    fma_width: int | None
    fma_units: int | None
    inclusive_l3: bool | None
    reason: str = ""


def identify(cpuinfo: Mapping[str, str]) -> Processor:
    """The processor that the first entry of /proc/cpuinfo describes."""
    vendor = cpuinfo.get("vendor_id", "")
    if "CPU implementer" in cpuinfo:
        return _identify_arm(cpuinfo)
    name = next(
        (cpuinfo[key] for key in ("model name", "cpu model", "cpu", "Processor", "uarch") if cpuinfo.get(key)),
        "",
    )
    family, model = _number(cpuinfo.get("cpu family")), _number(cpuinfo.get("model"))
    width, units, reason = None, None, f"'{name or 'this processor'}' is not in the table of known processors"
    flags = set(cpuinfo.get("flags", "").split())
    if family is not None and model is not None:
        if flags and "fma" not in flags:
            reason = "the processor offers no fused multiply-add (too old, or hidden by the hypervisor)"
        elif vendor == "GenuineIntel" and family == 6 and model in _INTEL_HYBRID:
            reason = "its cores are of two kinds, with different pipes"
        elif vendor == "GenuineIntel" and family == 6:
            width, units = _intel(model, name, flags)
        elif vendor in ("AuthenticAMD", "HygonGenuine"):
            width, units = _amd(family, model, flags)
    inclusive = _inclusive_l3(vendor, family, model)
    return Processor(name or "unknown", vendor or "unknown", width, units, inclusive, "" if width else reason)


def _intel(model: int, name: str, flags: set[str]) -> tuple[int | None, int | None]:
    wide = "avx512f" in flags
    if model in _INTEL_PHI and wide:
        return 8, 2
    if model in _INTEL_SERVER_512 and wide:
        if model == 0x55 and "Xeon(R) D" in name:
            return None, None  # one pipe or two, by model number: not in the table
        one = any(part in name for part in _ONE_PIPE_NAMES) and not any(part in name for part in _TWO_PIPES_AFTER_ALL)
        return (8, 1) if model == 0x55 and one else (8, 2)
    if model in _INTEL_CLIENT_512 and wide:
        return 8, 1
    if model in _INTEL_256 | _INTEL_SERVER_512 | _INTEL_CLIENT_512:
        return 4, 2  # two 256-bit pipes, also where the wider ones are switched off
    return (4, 1) if model in _INTEL_SMALL else (None, None)


def _amd(family: int, model: int, flags: set[str]) -> tuple[int | None, int | None]:
    for row_family, first, last, width, units in _AMD:
        if family == row_family and first <= model <= last:
            # With the 512-bit instructions hidden, the same pipes are two of 256 bits.
            return (width, units) if width < 8 or "avx512f" in flags else (4, 2)
    return None, None


def _identify_arm(cpuinfo: Mapping[str, str]) -> Processor:
    implementer, part = _number(cpuinfo.get("CPU implementer")), _number(cpuinfo.get("CPU part"))
    reported = (
        cpuinfo.get("model name") or f"implementer {cpuinfo['CPU implementer']} part {cpuinfo.get('CPU part', '?')}"
    )
    if implementer is None or part is None or (implementer, part) not in _ARM:
        return Processor(reported, "unknown", None, None, None, f"'{reported}' is not in the table of known processors")
    name, width, units = _ARM[implementer, part]
    reason = "" if width else f"the pipes of '{name}' are not in the table of known processors"
    return Processor(name, name.split()[0], width, units, None, reason)


def _inclusive_l3(vendor: str, family: int | None, model: int | None) -> bool | None:
    """Whether the L3 repeats what L2 holds; None: not in the table. Source: the makers' manuals."""
    if vendor in ("AuthenticAMD", "HygonGenuine"):
        return False if family in (0x10, 0x12, 0x15, 0x17, 0x18, 0x19, 0x1A) else None
    if vendor == "GenuineIntel" and family == 6 and model in _INTEL_SERVER_512:
        return False
    # Nehalem to Broadwell and the client chips to Comet Lake.
    old = {0x1A, 0x1E, 0x1F, 0x2E, 0x25, 0x2C, 0x2F, 0x2A, 0x2D, 0x3A, 0x3E} | _INTEL_256
    return True if vendor == "GenuineIntel" and family == 6 and model in old else None


def _number(text: str | None) -> int | None:
    try:
        return int(text or "", 0)
    except ValueError:
        return None
