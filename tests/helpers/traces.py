"""Starts programs with an MPI, so that they can be traced; and traces of ours written by hand, from docs/formats.md."""

import struct
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from folders import DATA
from steelyard.measure.launch import scheduler
from steelyard.measure.mpi import Job
from steelyard.model import Tool
from steelyard.whatif import tracing


def mpiexec(program: Path, ranks: int, own: Tool, patch: pytest.MonkeyPatch) -> list[str]:
    """What starts a program, and hands to its ranks what tracing sets."""
    starter = scheduler.launcher("mpiexec")
    for name, value in starter.environment(Job(program, ranks, own), {}).items():
        patch.setenv(name, value)
    return starter.argv(Job(program, ranks, own, environment=dict.fromkeys(("LD_PRELOAD", tracing.FOLDER), "")))


def number(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def folded(value: int) -> bytes:
    return number(2 * value if value >= 0 else -2 * value - 1)


def record(kind: int, gap: int, duration: int, *numbers: int | bytes, communicator: int = 0) -> bytes:
    """`numbers`: those that may be negative come as bytes, folded."""
    rest = b"".join(one if isinstance(one, bytes) else number(one) for one in numbers)
    begin = bytes([kind | (0x80 if communicator else 0)]) + number(gap) + number(duration)
    return begin + (number(communicator) if communicator else b"") + rest


def rank_file(
    rank: int, ranks: int, records: Sequence[bytes], offsets: tuple[int, int] = (0, 0), error: int = 0
) -> bytes:
    """A tick is 1 ns, and the trace lasts 1 s by the clock."""
    begin, end = 1_000_000_000, 2_000_000_000
    times = struct.pack("<4Q2q3Q", begin, begin, end, end, *offsets, error, 2, begin)
    return struct.pack("<8s4I", b"STLYTRC1", rank, ranks, 0, 1) + times + b"host".ljust(64, b"\0") + b"".join(records)


def by_hand(folder: Path, files: Sequence[bytes]) -> Path:
    """A trace of these ranks."""
    folder.mkdir()
    for rank, text in enumerate(files):
        (folder / f"rank-{rank}.trace").write_bytes(text)
    return folder


def otf2_archive(name: str, folder: Path) -> Path:
    """One of the OTF2 archives that Steelyard wrote while it did (November 2026), in a new folder."""
    with tarfile.open(DATA / "otf2.tar.xz") as archive:
        for member in archive:
            if member.isfile() and member.name.startswith(f"./{name}/"):
                path = folder / member.name.removeprefix(f"./{name}/")
                path.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content
                path.write_bytes(content.read())
    return folder


# One of each kind, of two ranks that fit each other: rank 0's, then rank 1's.
FINALIZE = record(22, 0, 0)
ALL_KINDS = tuple(
    [
        record(13, 5, 10, 2, 77, 2, folded(0), folded(1)),
        record(1, 10, 10),
        record(2, 10, 10, folded(other), folded(3), 1000),
        record(4, 10, 10, folded(other), folded(3)),
        record(3, 10, 10, folded(other), folded(4), 70000, 1, communicator=2),
        record(5, 10, 10, folded(-1), folded(-1), 2, communicator=2),
        record(19, 0, 50, 12),
        record(7, 10, 10, 2, 1 << 2, 2 << 2 | 1, folded(other), folded(4)),
        record(5, 10, 10, folded(other), folded(4), 2),
        record(7, 10, 10, 1, 2 << 2 | 2),
        record(6, 10, 10, folded(other), folded(5), 100, folded(other), folded(5)),
        record(8, 10, 10, folded(other), folded(5)),
        *[record(9, 10, 10, which, 0, 800, communicator=2) for which in range(10)],
        record(10, 10, 10, 3, 0, 8, 1),
        record(7, 10, 10, 1, 1 << 2),
        record(11, 10, 10, 6, 0, 2, 8, 16),
        record(12, 10, 10, 7, 0, 4, 8, 16, 8, 16, 1),
        record(7, 10, 10, 1, 1 << 2),
        record(3, 10, 10, folded(0), folded(6), 0, 1, communicator=1),
        record(5, 10, 10, folded(0), folded(6), 2, communicator=1),
        record(14, 10, 10, 1),
        record(7, 10, 10, 1, 2 << 2),
        record(15, 10, 10, 0),
        record(17, 10, 10, 0, folded(other), 64),
        record(18, 10, 10, 0, folded(other), 64),
        record(16, 10, 10, 0),
        record(20, 10, 10, 500),
        record(21, 0, 10),
        record(24, 10, 10, folded(3)),
        FINALIZE,
    ]
    for other in (1, 0)
)
