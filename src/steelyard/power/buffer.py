"""Messages that wait on disk, in order, until they are stored. A full buffer drops its oldest segment.

The buffer is a folder of segments, such as "00000000000000000007.segment". A segment is a sequence of records: bytes and CRC-32
of the payload (4 bytes each), then the payload. A record that was cut off is left out, and so is the rest of its segment.
Nothing is synced: the buffer survives its process, but not a power failure.
"""

import contextlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.power.message import LARGEST
from steelyard.system.files import ordinary

_RECORD = struct.Struct("<II")
LIMIT = 256 * 1024 * 1024  # bytes: of 16 sensors at 10 Hz more than a day
SEGMENT = 1024 * 1024  # bytes: what is lost at once when the buffer is full, and what is held in memory then


class Buffer:
    """A queue on disk. A record is named by its ordinal; the first one is 0 when the buffer is opened.

    MachineFailed if the folder cannot be read or made. Only one process at a time may use it.
    """

    def __init__(self, folder: Path, limit: int = LIMIT, segment_size: int = SEGMENT) -> None:
        self.folder = folder
        self._limit, self._segment_size = limit, segment_size
        self._segments: list[_Segment] = []
        self._last = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.segment")):
                self._last = int(path.stem)
                segment = _Segment(path, self.end, _find_payloads(path))
                if segment.places:
                    self._segments.append(segment)
                else:
                    path.unlink()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it contains a segment with an unknown name"
            raise MachineFailed(
                f"The buffer of readings cannot be kept in '{folder}': {reason}. Name another folder."
            ) from None
        # What another process left is never added to, since its end may be torn.
        self._open: _Segment | None = None

    @property
    def first(self) -> int:
        """Returns the ordinal of the oldest record that is not confirmed; `end` if there is none."""
        return next((segment.first + min(segment.waiting) for segment in self._segments if segment.waiting), self.end)

    @property
    def end(self) -> int:
        """Returns the ordinal that the next record will have."""
        return self._segments[-1].first + len(self._segments[-1].places) if self._segments else 0

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(segment.size for segment in self._segments)

    def append(self, payload: bytes) -> list[bytes]:
        """Stores a payload. Returns the payloads that were dropped for it, oldest first. OSError if it cannot be written."""
        if self._open is None or self._open.size + len(payload) > self._segment_size:
            self._last += 1
            self._open = _Segment(self.folder / f"{self._last:020}.segment", self.end, [])
            self._segments = [*(segment for segment in self._segments if segment.waiting), self._open]
        self._open.append(payload)
        dropped: list[bytes] = []
        while self.size > self._limit and len(self._segments) > 1:
            dropped += (payload for _, payload in self._segments[0].payloads(0))
            self._drop(self._segments[0])
        return dropped

    def payloads(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yields ordinal and payload of each record that is not confirmed, in order, from the ordinal `start` on."""
        for segment in list(self._segments):
            if segment.first + len(segment.places) > start:
                yield from segment.payloads(start)

    def confirm(self, ordinal: int) -> None:
        """Marks a record as stored. A segment is deleted when all its records are stored."""
        for segment in self._segments:
            if segment.first <= ordinal < segment.first + len(segment.places):
                segment.waiting.discard(ordinal - segment.first)
                if not segment.waiting:
                    self._drop(segment)
                return

    def _drop(self, segment: "_Segment") -> None:
        """Deletes the segment. The newest one stays in the list, because the ordinals are counted from it."""
        segment.waiting.clear()
        with contextlib.suppress(OSError):
            segment.path.unlink()
        segment.size = 0
        if segment is self._open:
            self._open = None
        if segment is not self._segments[-1]:
            self._segments.remove(segment)


class _Segment:
    def __init__(self, path: Path, first: int, places: list[tuple[int, int]]) -> None:
        self.path = path
        self.first = first
        self.places = places  # offset and bytes of each payload
        self.waiting = {*range(len(places))}
        self.size = sum(places[-1]) if places else 0

    def append(self, payload: bytes) -> None:
        record = _RECORD.pack(len(payload), zlib.crc32(payload)) + payload
        # A full disk may have cut off the last record, so the next record is written over it.
        with self.path.open("r+b" if self.places else "wb") as file:
            file.seek(self.size)
            file.write(record)
        self.waiting.add(len(self.places))
        self.places.append((self.size + _RECORD.size, len(payload)))
        self.size += len(record)

    def payloads(self, start: int) -> Iterator[tuple[int, bytes]]:
        with contextlib.suppress(FileNotFoundError), ordinary(self.path) as file:
            for number in sorted(self.waiting):
                if self.first + number >= start:
                    offset, size = self.places[number]
                    file.seek(offset)
                    if len(payload := file.read(size)) == size:
                        yield self.first + number, payload


def _find_payloads(path: Path) -> list[tuple[int, int]]:
    """Returns offset and bytes of each valid payload of a segment, up to the first that is not valid."""
    places: list[tuple[int, int]] = []
    with ordinary(path) as file:
        while len(head := file.read(_RECORD.size)) == _RECORD.size:
            size, checksum = _RECORD.unpack(head)
            payload = file.read(min(size, LARGEST))
            # A file of zeros would be records without a payload, which nobody writes.
            if not payload or len(payload) != size or zlib.crc32(payload) != checksum:
                break
            places.append((file.tell() - size, size))
    return places
