"""Reads the files in archives in memory, and writes none of them to the disk.

tar, gzip, bzip2, xz and zip, also inside of each other. A small file that unpacks to terabytes ends after MOST bytes.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import re
import tarfile
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from steelyard.importing.streams import (
    LARGEST,
    MOST,
    OVERHEAD,
    Allowance,
    Content,
    Equal,
    Item,
    Readable,
    Stream,
    TooMuchError,
    Unread,
)
from steelyard.measure.records.shared import DAMAGED, expect_directory

DEEPEST = 5  # archives inside of each other; .tar.gz counts as two
TOO_LARGE = f"it has more than {LARGEST >> 20} MiB"
TOO_MUCH = f"the archive unpacks to more than {MOST >> 30} GiB, so the rest of it was not read"
_XZ_MEMORY = 128 << 20  # bytes: enough for xz -9
_HEADERS = 16 << 10  # bytes of all headers of a member of a tar archive; its name has at most 4096
_DIGITS = re.compile(rb"\d{99}")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_OTHERS = {b"\x28\xb5\x2f\xfd": "Zstandard", b"7z\xbc\xaf": "7-Zip", b"Rar!": "RAR", b"\x04\x22\x4d\x18": "LZ4"}
_DAMAGED = (*DAMAGED, lzma.LZMAError, tarfile.TarError)


def unpack(name: str, file: BinaryIO, seen: dict[bytes, str] | None = None) -> Iterator[Item]:
    """Yields the file, or the files in it if it is an archive. `file` must be seekable. No content raises an error.

    `seen` keeps the contents of archives from call to call: an archive that is equal to another one is not unpacked.
    """
    try:
        yield from _unpack_once(name, file, Allowance(seen), 0)
    except TooMuchError:
        yield Unread(name, TOO_MUCH)


def _unpack_once(name: str, file: BinaryIO, allowance: Allowance, depth: int) -> Iterator[Item]:
    if _kind(file.read(tarfile.BLOCKSIZE)):
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
        other = allowance.seen.setdefault(digest, name)
        if other != name:
            yield Equal(name, other)
            return
    file.seek(0)
    yield from _unpack(name, file, Stream(file), allowance, depth)


def _unpack(name: str, seekable: BinaryIO | None, stream: Stream, allowance: Allowance, depth: int) -> Iterator[Item]:
    """`seekable` is the file that the stream reads; None if it can only be read in its order."""
    try:
        kind = _kind(stream.peek(tarfile.BLOCKSIZE))
        if not kind:
            data = stream.read(LARGEST + 1)
            yield Unread(name, TOO_LARGE) if len(data) > LARGEST else Content(name, data)
        elif kind in _OTHERS.values():
            yield Unread(name, f"it is a {kind} archive, which must be unpacked first")
        elif depth == DEEPEST:
            yield Unread(name, "it is an archive inside of too many others")
        elif kind == "zip":
            yield from _zip(name, seekable or io.BytesIO(stream.read(LARGEST)), allowance, depth)
        elif kind == "tar":
            for item in _read_tar(name, stream, allowance):
                yield from _unpack_content(item, allowance, depth) if isinstance(item, Content) else (item,)
        else:
            unpacked = Stream(_unpacker(kind, stream), allowance)
            yield from _unpack(name, None, unpacked, allowance, depth + 1)
    except _DAMAGED as error:
        yield Unread(name, f"it is damaged or incomplete ({str(error).strip().rstrip('.') or type(error).__name__})")


def _unpack_content(content: Content, allowance: Allowance, depth: int) -> Iterator[Item]:
    if _kind(content.data[: tarfile.BLOCKSIZE]):
        yield from _unpack_once(content.name, io.BytesIO(content.data), allowance, depth + 1)
    else:
        yield content


def _kind(head: bytes) -> str:
    """Returns the kind of archive by its first bytes, "" if it is none."""
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    if head[:6] == b"\xfd7zXZ\0":
        return "xz"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "replace")
        return "tar"
    except tarfile.HeaderError:
        return _OTHERS.get(head[:4], "")


def _unpacker(kind: str, stream: Stream) -> Readable:
    if kind == "xz":
        return _Xz(stream)
    return gzip.GzipFile(fileobj=stream) if kind == "gzip" else bz2.BZ2File(stream)


class _Xz:
    """Unpacks xz with a bound for the memory, which `lzma.open` does not have."""

    def __init__(self, file: Readable) -> None:
        self._file, self._rest = file, b""
        self._unpacker = self._make_decompressor()

    @staticmethod
    def _make_decompressor() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    def read(self, size: int, /) -> bytes:
        while True:
            if self._unpacker.eof:  # several streams may follow each other, with zeros between them
                self._rest = (self._unpacker.unused_data + self._rest).lstrip(b"\0") or self._file.read(1 << 16)
                if not self._rest.strip(b"\0"):
                    return b""
                self._unpacker = self._make_decompressor()
            packed = b""
            if self._unpacker.needs_input:
                packed, self._rest = self._rest or self._file.read(1 << 16), b""
                if not packed:
                    raise EOFError("its end is missing")
            if part := self._unpacker.decompress(packed, size):
                return part


def _read_tar(name: str, stream: Stream, allowance: Allowance) -> Iterator[Item]:
    headers = _Headers(stream, allowance)
    archive = tarfile.TarFile(fileobj=headers, encoding="utf-8", errors="replace")
    while member := archive.next():
        allowance.spend(OVERHEAD)
        inside = f"{name}/{member.name.removeprefix('./')}"
        if member.isreg() and not member.issparse() and member.size <= LARGEST:
            data = headers.read_content(member.size)
            if len(data) < member.size:
                raise ValueError(f"it ends within '{inside.rpartition('/')[2]}'")
            yield Content(inside, data)
        elif not member.isdir():
            yield Unread(inside, TOO_LARGE if member.size > LARGEST else "it is not an ordinary file")
        # It keeps all members, and what the headers of the whole archive say.
        archive.members = []  # type: ignore[attr-defined]
        archive.pax_headers = {}
        headers.left = _HEADERS
    if headers.last.strip(b"\0"):
        raise ValueError("a header is not valid")
    if not headers.last:
        raise ValueError("its end is missing")


class _Headers(io.RawIOBase):
    """What `tarfile` reads of an archive: for each member as many bytes as its headers may have, and only forwards.

    `tarfile` has no bound for the memory of a header. Up to Python 3.11.9 and 3.12.5 its patterns need time in proportion to
    the square of the size, most of all for digits.
    """

    def __init__(self, stream: Stream, allowance: Allowance) -> None:
        self._stream, self._allowance, self._place = stream, allowance, 0
        self.left, self.last = _HEADERS, b""

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= self.left:
            raise ValueError("a header is too long")
        self.left -= size
        if size > tarfile.BLOCKSIZE:
            self._allowance.spend(size * size >> 6)
        self.last = self.read_content(size)
        if _DIGITS.search(self.last):
            raise ValueError("a header has too many digits")
        return self.last

    def read_content(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._place += len(data)
        return data

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        if place < self._place:
            raise ValueError("a size is not valid")
        self._stream.skip(place - self._place)
        self._place = place
        return place


def _zip(name: str, file: BinaryIO, allowance: Allowance, depth: int) -> Iterator[Item]:
    expect_directory(file)
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            allowance.spend(OVERHEAD)
            inside = f"{name}/{member.filename}"
            if member.flag_bits & 1:
                yield Unread(inside, "it is encrypted")
            elif member.compress_type not in _METHODS:
                yield Unread(inside, "its compression is unknown, so it must be unpacked first")
            elif not member.is_dir():
                try:
                    with archive.open(member) as opened:
                        yield from _unpack(inside, None, Stream(opened, allowance), allowance, depth + 1)
                except _DAMAGED as error:
                    yield Unread(inside, f"it is damaged ({error})")
