"""Reads the memory modules from the firmware's SMBIOS tables: slot, size, kind, transfer rate, channel."""

import re
import struct
from collections.abc import Iterator

from steelyard.measure.machine.files import KernelFiles
from steelyard.model import MemoryModule, Setting

# Types, offsets and encodings: DMTF DSP0134 (SMBIOS reference specification) 3.6, sections 7.17 and 7.18.
_ARRAY, _DEVICE, _END = 16, 17, 127
_SYSTEM_MEMORY = 3
_KINDS = {
    0x0F: "SDRAM", 0x12: "DDR", 0x13: "DDR2", 0x14: "DDR2 FB-DIMM", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR",
    0x1C: "LPDDR2", 0x1D: "LPDDR3", 0x1E: "LPDDR4", 0x1F: "persistent", 0x20: "HBM", 0x21: "HBM2",
    0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
_OPTANE = 7  # "Memory Technology" of a module that is no DRAM although its type says DDR4
_MIB = 1 << 20

FOR_ROOT, NONE = "for root only", "none"  # values of the setting if no module is known

_Structure = tuple[int, bytes, list[str]]  # type, formatted part, strings


def read_modules(files: KernelFiles) -> tuple[tuple[MemoryModule, ...], Setting, tuple[str, ...]]:
    """Returns the memory modules below `files`, how many there are or why none is known, and notes on what they leave open."""
    name, path = "memory_modules", "/sys/firmware/dmi/tables/DMI"
    table, reason = files.read_bytes(path)
    if table is None:
        described = Setting(name, FOR_ROOT, path) if files.exists(path) else Setting(name, None, path, reason)
        note = f"The memory modules are unknown ({reason}). Give the memory bandwidth in a system file."
        return (), described, (note,)
    modules, unsized = parse_modules(table)
    described = Setting(name, str(len(modules)) if modules else NONE, path)
    note = ""
    if unsized:
        note = f"The firmware does not report the size of the module in {', '.join(unsized)}. Steelyard ignores this module."
    elif not modules:
        note = "The tables of the firmware do not describe any memory module."
    return modules, described, (note,) if note else ()


def parse_modules(table: bytes) -> tuple[tuple[MemoryModule, ...], tuple[str, ...]]:
    """Returns the populated modules of a table of SMBIOS structures, and the slots whose module has no known size.

    Never raises: a torn or hostile table gives the modules that can still be read.
    """
    structures = list(_split_structures(table))
    # An array that is flash, video memory or a cache is not the system's memory.
    foreign = {
        _word(body, 2) for kind, body, _ in structures if kind == _ARRAY and len(body) > 5 and body[5] != _SYSTEM_MEMORY
    }
    modules, unsized = [], []
    for kind, body, strings in structures:
        if kind != _DEVICE or _word(body, 4) in foreign:
            continue
        size = _size(body)
        slot = _read_string(strings, body, 0x10) or "?"
        if size is None:
            unsized.append(slot)
        elif size:
            channel = channel_of(slot, _read_string(strings, body, 0x11))
            modules.append(MemoryModule(slot, size, _read_kind(body), _read_rate(body), channel))
    return tuple(modules), tuple(unsized)


def _split_structures(table: bytes) -> Iterator[_Structure]:
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if length < 4 or at + length > len(table) or kind == _END:
            return
        end = table.find(b"\0\0", at + length)
        if end < 0:
            return
        strings = table[at + length : end].split(b"\0")
        yield kind, table[at : at + length], [text.decode("ascii", "replace").strip() for text in strings]
        at = end + 2


def _word(body: bytes, offset: int) -> int | None:
    return int(struct.unpack_from("<H", body, offset)[0]) if offset + 2 <= len(body) else None


def _read_double_word(body: bytes, offset: int) -> int | None:
    return int(struct.unpack_from("<I", body, offset)[0]) if offset + 4 <= len(body) else None


def _read_string(strings: list[str], body: bytes, offset: int) -> str:
    index = body[offset] if offset < len(body) else 0
    return strings[index - 1] if 0 < index <= len(strings) else ""


def _size(body: bytes) -> int | None:
    """Bytes; 0: the slot is empty; None: not reported."""
    word = _word(body, 0x0C)
    if word is None or word == 0xFFFF:
        return None
    if word == 0x7FFF:
        extended = _read_double_word(body, 0x1C)
        return None if extended is None else (extended & 0x7FFFFFFF) * _MIB
    return (word & 0x7FFF) * 1024 if word & 0x8000 else word * _MIB


def _read_kind(body: bytes) -> str:
    if len(body) > 0x28 and body[0x28] == _OPTANE:
        return "Optane"
    return _KINDS.get(body[0x12], "unknown") if len(body) > 0x12 else "unknown"


def _read_rate(body: bytes) -> float | None:
    """Transfers per second as configured, or else as the module is rated; None when neither is reported."""
    for offset, extended in ((0x20, 0x58), (0x15, 0x54)):
        rate = _word(body, offset)
        if rate == 0xFFFF:
            rate = _read_double_word(body, extended)
        if rate:
            return rate * 1e6
    return None


# Where a channel's own numbering starts again. A letter before the word would make it part of another one.
_SCOPES = {
    "processor": re.compile(r"(?<![A-Z])(?:CPU|PROC|SOCKET|P)[ _]?(\d+)", re.IGNORECASE),
    "node": re.compile(r"(?<![A-Z])NODE[ _]?(\d+)", re.IGNORECASE),
    "controller": re.compile(r"(?<![A-Z])(?:CONTROLLER|I?MC)[ _-]?(\d+)", re.IGNORECASE),
}
_CHANNEL = re.compile(r"CHANNEL[ _-]?([A-Z]|\d+)(?![A-Z])", re.IGNORECASE)
# "DIMM_A1", "P1-DIMMA1", "CPU0_A0". A bare "A1" is no answer: some makers number all slots of a socket so.
_LETTER = re.compile(r"(?:DIMM|CPU\d+|P\d+)[ _-]?([A-P])\d$", re.IGNORECASE)


def channel_of(slot: str, bank: str) -> str | None:
    """Returns the channel that the firmware's two location strings name, unique in the machine; None: none."""
    channel = _CHANNEL.search(slot) or _CHANNEL.search(bank) or _LETTER.search(slot)
    if channel is None:
        return None
    parts = []
    for name, pattern in _SCOPES.items():
        # The string that names the channel is asked first: its numbering belongs to the channel's.
        match = pattern.search(channel.string) or pattern.search(slot) or pattern.search(bank)
        parts += [f"{name} {match.group(1)}"] if match else []
    return " ".join([*parts, f"channel {channel.group(1).upper()}"])
