"""Writes the guest's first file system: an archive in cpio's "newc" form, as the Linux kernel unpacks it."""

import stat
from collections.abc import Iterable
from dataclasses import dataclass

# The header and the form of the archive: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
_MAGIC = "070701"
_END = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file, a folder or a device of the archive; `mode` holds kind and rights, `device` (major, minor)."""

    path: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(path: str) -> Entry:
    """A folder; those above it must come before it."""
    return Entry(path, stat.S_IFDIR | 0o755)


def program(path: str, content: bytes) -> Entry:
    """A file that can be executed."""
    return Entry(path, stat.S_IFREG | 0o755, content)


def devices() -> tuple[Entry, Entry]:
    """What the kernel opens as the first process's output, and what a shell gives to background work."""
    # The numbers are those of Linux, Documentation/admin-guide/devices.txt.
    return (
        Entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        Entry("dev/null", stat.S_IFCHR | 0o666, device=(1, 3)),
    )


def pack(entries: Iterable[Entry]) -> bytes:
    """The archive. All that can change from call to call (times, inode numbers, owners) is constant."""
    packed = bytearray()
    for number, entry in enumerate([*entries, Entry(_END, 0)], 1):
        name = entry.path.encode() + b"\0"
        # inode, mode, owner, group, links, time, size, its disk's device (2), own device (2), name, check
        fields = (number, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0, *entry.device, len(name), 0)
        packed += (_MAGIC + "".join(f"{field:08X}" for field in fields)).encode() + name
        packed += bytes(-len(packed) % 4) + entry.content
        packed += bytes(-len(packed) % 4)
    return bytes(packed)
