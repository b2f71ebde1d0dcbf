"""Runs in one file that others get: a zip archive with a folder for each run. Nothing in such a file is trusted.

Only the files of a run are taken, each with a checksum that fits. Results and reports in the archive are for readers without
Steelyard: a run that is taken is judged again here.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from steelyard.errors import MachineFailed, SteelyardError
from steelyard.measure.records import power, read, sums
from steelyard.measure.records.writing import NAME, list_new_names
from steelyard.system.files import ordinary
from steelyard.system.keeper import temporary_folder

# Steelyard makes these files from the measurements. import makes them anew.
MADE = ("attempts.jsonl", "report.html", "results.jsonl", "summary.json")
MOST_RUNS = 1000
LARGEST = 512 << 20  # bytes of a file; all files of an archive have at most twice as many
THIN = 300  # times that a file may be larger than in the archive: JSON shrinks to a tenth
_DIRECTORY = 16 << 20  # bytes of the list of files at the end of an archive
_PART = 1 << 20
_DAY = (1980, 1, 1, 0, 0, 0)  # the same runs make the same file
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGED = (  # errors of `zipfile`
    OSError, EOFError, ValueError, LookupError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError,
    struct.error, OverflowError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taken:
    """A run of a shared file: its folder, its digest, and whether it is new."""

    folder: Path
    digest: str
    new: bool


def write(folders: Sequence[Path], file: Path | BinaryIO) -> None:
    """Writes the runs in these folders, with all that was made of them, into an archive. OSError."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            for name in (sums.SUMS, *sums.FILES, *MADE):
                if (folder / name).is_file():
                    about = zipfile.ZipInfo(f"{folder.name}/{name}", _DAY)
                    about.external_attr = 0o644 << 16
                    about.compress_type = zipfile.ZIP_DEFLATED
                    with ordinary(folder / name) as content, archive.open(about, "w", force_zip64=True) as packed:
                        while part := content.read(_PART):
                            packed.write(part)


def is_shared(path: Path) -> bool:
    """Returns whether the file is an archive with a run and its checksums."""
    try:
        with ordinary(path) as file:
            if file.read(4) != b"PK\x03\x04":
                return False
            expect_directory(file)
            with zipfile.ZipFile(file) as archive:
                names = set(archive.namelist())
        return any(name.endswith("/run.json") and f"{name[:-8]}{sums.SUMS}" in names for name in names)
    except DAMAGED:
        return False


def take(path: Path, runs: Path, written: bool = True) -> list[Taken]:
    """Copies the runs of a shared file into the folder `runs`, all of them or none, and returns them.

    A run that is there already is not copied again. If not `written`, the file is only checked. ValueError says why it is
    refused. MachineFailed if the folder cannot be written.
    """
    try:
        if not written:
            with TemporaryDirectory() as made:
                return [_place(folder, digest, runs) for folder, digest in _unpack(path, Path(made))]
        runs.mkdir(parents=True, exist_ok=True)
        with temporary_folder(runs) as within:
            found = [_place(folder, digest, runs) for folder, digest in _unpack(path, within)]
            for one in found:
                if one.new:
                    (within / one.folder.name).rename(one.folder)
            return found
    except OSError as error:
        raise MachineFailed(f"The runs of {path} cannot be written to {runs}: {error.strerror}.") from error


def _place(folder: Path, digest: str, runs: Path) -> Taken:
    """Returns where a run goes: its folder is then called so. A run of the same content is there already."""
    named = [runs / folder.name, *sorted(runs.glob(f"{folder.name}-*"))]
    same = next((other for other in named if (other / sums.SUMS).is_file() and sums.find_digest(other) == digest), None)
    if same:
        return Taken(same, digest, new=False)
    place = next(list_new_names(runs, folder.name))
    folder.rename(folder.with_name(place.name))
    return Taken(place, digest, new=True)


def _unpack(path: Path, within: Path) -> Iterator[tuple[Path, str]]:
    """Writes the runs of an archive into a folder, each checked, and yields them with their digests. ValueError, OSError."""
    with ordinary(path) as file:
        try:
            expect_directory(file)
            with zipfile.ZipFile(file) as archive:
                for name, members in _list_runs(archive).items():
                    folder = within / name
                    folder.mkdir()
                    for inside, member in members.items():
                        _write_member(archive, member, folder / inside)
                    yield folder, _check(folder)
        except DAMAGED as error:
            if isinstance(error, OSError) and error.errno:  # of the disk
                raise
            raise ValueError(str(error).strip().rstrip(".") or "it is damaged") from error


def _list_runs(archive: zipfile.ZipFile) -> dict[str, dict[str, zipfile.ZipInfo]]:
    """Returns the members to take of each run, by their names. ValueError for any that no shared file has."""
    found: dict[str, dict[str, zipfile.ZipInfo]] = {}
    whole = 0
    for member in archive.infolist():
        run, _, name = member.filename.partition("/")
        mode = member.external_attr >> 16
        if not NAME.fullmatch(run) or name not in (sums.SUMS, *sums.FILES, *MADE):
            raise ValueError(f"'{member.filename[:100]}' is no file of a run")
        if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
            raise ValueError(f"'{member.filename}' is not an ordinary file")
        if member.flag_bits & 1 or member.compress_type not in _METHODS:
            raise ValueError(f"'{member.filename}' is encrypted, or packed in an unknown way")
        members = found.setdefault(run, {})
        if name in members:
            raise ValueError(f"'{member.filename}' is there twice")
        whole += member.file_size
        if max(member.file_size, whole // 2) > LARGEST or member.file_size > THIN * member.compress_size + _PART:
            raise ValueError(f"'{member.filename}' unpacks to too many bytes ({member.file_size})")
        members[name] = member
    if len(found) > MOST_RUNS:
        raise ValueError(f"it has more than {MOST_RUNS} runs")
    return {run: {name: m for name, m in members.items() if name not in MADE} for run, members in found.items()}


def _write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    with archive.open(member) as packed, target.open("xb") as file:
        left = member.file_size
        while part := packed.read(_PART):
            left -= len(part)
            if left < 0:
                raise ValueError(f"'{member.filename}' has more bytes than it says")
            file.write(part)


def _check(folder: Path) -> str:
    """Returns the digest of a run. ValueError if a file differs from its checksum, or is not of the expected form."""
    try:
        verified = sums.verify(folder)
        if not verified.same:
            raise ValueError(_say_what_differs(folder.name, verified))
        run = read(folder)
        notes = (*run.notes, *power.read(folder).unread)
    except SteelyardError as error:
        raise ValueError(str(error).replace(f"{folder}", folder.name)) from None
    if notes:
        raise ValueError(f"a file of {folder.name} is not of the expected form: {notes[0]}")
    return verified.digest


def _say_what_differs(run: str, found: sums.Verified) -> str:
    if found.changed:
        return f"the checksum of {run}/{found.changed[0]} does not match"
    return f"{run}/{found.missing[0]} is missing" if found.missing else f"a file of {run} has no checksum"


def expect_directory(file: BinaryIO) -> None:
    """Raises ValueError for a list of files that needs too much memory: `zipfile` reads all of it."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 22 - (1 << 16)))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    entries, length = struct.unpack("<HI", tail[at + 10 : at + 16]) if at >= 0 else (0, 0)
    if entries == 0xFFFF or length > _DIRECTORY:
        raise ValueError("it has too many files, so it must be unpacked first")
