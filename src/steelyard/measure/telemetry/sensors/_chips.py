"""The channels of a chip that contain other channels, from the kernel's documentation of its driver (Documentation/hwmon)."""

import re
from collections.abc import Collection

from steelyard.model.sensor import Scope

# By the chip's name and the channel's: the channels of which the first that is there holds it. \1 is what the brackets match.
_HOLDERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # pmbus: the output of a page is a part of its input, and a phase is a part of its page.
    (r".*", r"pout([0-9]+)\.[0-9]+", (r"pin\1", "pin", r"pout\1")),
    (r".*", r"pout([0-9]*)", (r"pin\1", "pin", "pin1")),
    (r".*", r"pin([0-9]+)\.[0-9]+", (r"pin\1", "pin")),
    # xe (ABI/testing/sysfs-driver-intel-xe-hwmon): the package lies on the card.
    (r"xe", r"pkg", ("card",)),
    # ltc2947: both accumulate the same power.
    (r"ltc2947", r"2", ("1",)),
    # zenpower: the rails of cores and SoC, and the cores' energy, are within the package's.
    (r"zenpower.*", r"svi2_p_.*|rapl_p_core", ("rapl_p_package",)),
    # occ: the processor holds its rails, the system all.
    (r"occ.*", r"([0-9]+)_vd[dn]", ("system", r"\1_proc")),
    (r"occ.*|ibmpowernv", r".*", ("system",)),
    # corsair-psu: all rails; macsmc-hwmon: the whole machine.
    (r"corsairpsu", r".*", ("power-total",)),
    (r"macsmc.*", r".*", ("total-system-power",)),
)
# NVIDIA Grace (ACPI): a chip for each; a module holds its processor, which holds its cores and its input and output.
_GRACE = re.compile(r"(module|grace|cpu|sysio)-power-socket-([0-9]+)")
_OF_GRACE = {"module": (), "grace": ("module",), "cpu": ("grace", "module"), "sysio": ("grace", "module")}
# By the chip's name and the channel's: what it measures, all or one of several.
_SCOPES: tuple[tuple[str, str, Scope], ...] = (
    (r"power_meter", r"module-power-socket-[0-9]+", "module"),
    (r"power_meter", r"grace-power-socket-[0-9]+", "processors"),
    (r"amd_energy", r"esocket[0-9]+", "processors"),
    (r"zenpower.*", r"rapl_p_package", "processors"),
    (r"occ.*", r"[0-9]+_proc", "processors"),
    (r"amdgpu|xe|i915|nouveau", r".*", "accelerators"),
)
_WHOLE = (
    ("power_meter", rf"(?!{_GRACE.pattern}).*"),
    (r"occ.*|ibmpowernv", r"system"),
    (r"macsmc.*", r"total-system-power"),
)
_CORE = re.compile(r"ecore([0-9]+)")
_SOCKET = re.compile(r"esocket([0-9]+)")


def holder(chip: str, label: str, labels: Collection[str]) -> str:
    """Returns the channel of `chip` whose power contains that of `label`; "" if the documentation names none."""
    if chip == "amd_energy":
        return _find_socket(label, labels)
    for chips, part, holders in _HOLDERS:
        match = re.fullmatch(part, label)
        if match and re.fullmatch(chips, chip):
            for form in holders:
                candidate = match.expand(form)
                if candidate in labels and candidate != label:
                    return candidate
    return ""


def is_whole(chip: str, label: str) -> bool:
    """Returns whether the channel measures the whole machine."""
    return any(re.fullmatch(chips, chip) and re.fullmatch(labels, label) for chips, labels in _WHOLE)


def scope_of(chip: str, label: str) -> Scope:
    """Returns what the channel measures; "" if the documentation does not say it."""
    if is_whole(chip, label):
        return "node"
    return next(
        (scope for chips, labels, scope in _SCOPES if re.fullmatch(chips, chip) and re.fullmatch(labels, label)), ""
    )


def grace_holders(label: str) -> list[str]:
    """Returns the channels of NVIDIA Grace that contain this one, the nearest first; [] for other chips."""
    match = _GRACE.fullmatch(label)
    return [f"{name}-power-socket-{match[2]}" for name in _OF_GRACE[match[1]]] if match else []


def _find_socket(label: str, labels: Collection[str]) -> str:
    """Returns the socket of a core for amd_energy: the cores are numbered over the sockets, and each socket has equally many."""
    core = _CORE.fullmatch(label)
    sockets = sorted((int(match[1]), name) for name in labels if (match := _SOCKET.fullmatch(name)))
    if not core or not sockets:
        return ""
    most = max(int(match[1]) for name in labels if (match := _CORE.fullmatch(name)))
    cores = -(-(most + 1) // len(sockets))
    return sockets[min(int(core[1]) // cores, len(sockets) - 1)][1]
