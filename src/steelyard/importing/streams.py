"""The content of a file or an archive, and streams of bytes with a limit for the bytes that an archive unpacks to."""

import io
from dataclasses import dataclass
from typing import Protocol

LARGEST = 64 << 20  # bytes of a file with results
MOST = 1 << 30  # bytes that an archive may unpack to, with OVERHEAD for each of its files
OVERHEAD = 8 << 10
_PART = 1 << 20  # bytes that are read at once


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file; a file in an archive has the name of the archive in front of its own."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, a folder or an archive that was not read, and the reason: words without a full stop."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Equal:
    """An archive with the same content as another one, whose name is `other`."""

    name: str
    other: str


Item = Content | Unread | Equal


class TooMuchError(Exception):
    """An archive has unpacked to more than MOST bytes."""


class Readable(Protocol):
    """Anything that returns at most `size` bytes, and none at its end."""

    def read(self, size: int, /) -> bytes: ...


class Allowance:
    """The bytes that an archive may still unpack to, with all archives in it; `seen` has the archives by their contents."""

    def __init__(self, seen: dict[bytes, str] | None = None, left: int = MOST) -> None:
        self._left = left
        self.seen = {} if seen is None else seen

    def spend(self, size: int) -> None:
        """Raises TooMuchError if nothing is left."""
        self._left -= size
        if self._left < 0:
            raise TooMuchError


class Stream(io.RawIOBase):
    """Reads exactly as many bytes as asked, fewer only at the end. With an `allowance` it counts them as unpacked."""

    def __init__(self, file: Readable, allowance: Allowance | None = None) -> None:
        self._file, self._allowance, self._ahead = file, allowance, b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        """Returns the next bytes, which the next `read` returns again."""
        self._ahead = self.read(size)
        return self._ahead

    def read(self, size: int = -1, /) -> bytes:
        size = LARGEST if size < 0 else size
        parts, self._ahead = [self._ahead[:size]], self._ahead[size:]
        size -= len(parts[0])
        while size > 0 and (part := self._file.read(min(size, _PART))):
            parts.append(part)
            size -= len(part)
            if self._allowance:
                self._allowance.spend(len(part))
        return b"".join(parts)

    def skip(self, size: int) -> None:
        while size > 0 and (part := self.read(min(size, _PART))):
            size -= len(part)
