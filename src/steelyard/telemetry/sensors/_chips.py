"""The channels of a chip that contain other channels, from the kernel's documentation of its driver (Documentation/hwmon)."""

import re
from collections.abc import Collection

# By the chip's name and the channel's: the channels of which the first that is there holds it. \1 is what the brackets match.
_HOLDERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # pmbus: what comes out of a page went into it; a phase is a part of its page.
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
_WHOLE = (("power_meter", r".*"), (r"occ.*|ibmpowernv", r"system"), (r"macsmc.*", r"total-system-power"))
_CORE = re.compile(r"ecore([0-9]+)")
_SOCKET = re.compile(r"esocket([0-9]+)")


def holder(chip: str, label: str, labels: Collection[str]) -> str:
    """Returns the channel of `chip` whose power contains that of `label`; "" if the documentation names none."""
    if chip == "amd_energy":
        return _socket(label, labels)
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


def _socket(label: str, labels: Collection[str]) -> str:
    """Returns the socket of a core for amd_energy: the cores are numbered over the sockets, and each socket has equally many."""
    core = _CORE.fullmatch(label)
    sockets = sorted((int(match[1]), name) for name in labels if (match := _SOCKET.fullmatch(name)))
    if not core or not sockets:
        return ""
    most = max(int(match[1]) for name in labels if (match := _CORE.fullmatch(name)))
    cores = -(-(most + 1) // len(sockets))
    return sockets[min(int(core[1]) // cores, len(sockets) - 1)][1]
