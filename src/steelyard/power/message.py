"""Messages of readings: one message is a batch of one node, in a binary form with limits on every count.

Little-endian: version (1 byte, 3 unused), bytes of the head and number of readings (4 bytes each, 4 unused), sequence
(8), writer (16); the head, JSON of the sensors' names and of gaps, filled up with spaces to 8 bytes; then the columns:
moments (int64), values (float64), numbers of the sensors within the head (uint16); then the CRC-32 of all that (4 bytes).
"""

import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from steelyard.measure.telemetry.labels import LONGEST_TEXT
from steelyard.model.sensor import Moments, Sensor, Values

VERSION = 1
# Bytes of a message. A collector holds at most RECEIVE_MAXIMUM of them (64 MiB), and the one that is arriving.
LARGEST = 512 * 1024
RECEIVE_MAXIMUM = 128
MOST_SENSORS = 1000  # sensors of an agent and of a message; their names fit into one
LONGEST = 366 * 86400.0  # seconds between two values of a sensor, and that one value covers
LONGEST_NAME = 128  # bytes, in UTF-8
LATEST = 1 << 62  # ns since 1970 (in the year 2116): readings and gaps are before it
_START = struct.Struct("<B3xII4xQ16s")
_CHECKSUM = struct.Struct("<I")
READING_BYTES = 8 + 8 + 2
MOST_READINGS = (LARGEST - 4096) // READING_BYTES  # readings of one sensor: its batch with its name fits into a message

Reason = Literal["size", "topic", "version", "checksum", "form", "limit", "value"]
REASONS: dict[Reason, str] = {
    "size": "its length is too large, or differs from the length of its content",
    "topic": "the topic does not name a node and a sensor",
    "version": "it has an unknown version",
    "checksum": "its bytes were changed",
    "form": "its content has an unknown form",
    "limit": "it has too many names, or names that are not allowed",
    "value": "it has a value or a time that no reading can have",
}
Numbers = NDArray[np.uint16]


class Refused(Exception):
    """A message that is refused. Its reason is counted. There is no sentence, because its sender does not read one."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Gap:
    """An interval from `start` to `end` (ns since 1970) without readings of these sensors of a node (none named: all)."""

    sensors: tuple[str, ...]
    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Readings of one node as columns of equal length: the number of the sensor in `sensors`, the moment and the value.

    `node` is "SYSTEM/NODE". Batches with the same node, `writer` and `sequence` are the same batch. `payload` is the message
    that a batch was decoded from. Stores keep it as it is, because other bytes for the same batch could be too large.
    """

    node: str
    writer: UUID
    sequence: int
    sensors: tuple[str, ...]
    number: Numbers
    at: Moments
    value: Values
    gaps: tuple[Gap, ...] = ()
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Description:
    """The sensors of a node."""

    node: str
    sensors: tuple[Sensor, ...]


class _Head(msgspec.Struct, array_like=True):
    sensors: tuple[str, ...]
    gaps: tuple[Gap, ...]


class _Described(msgspec.Struct):
    version: int
    sensors: tuple[Sensor, ...]


_HEAD = msgspec.json.Decoder(_Head)
_DESCRIBED = msgspec.json.Decoder(_Described)
# The errors that msgspec raises for malformed bytes, including text that is not UTF-8 and endless nesting.
_NOT_THE_FORM = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def encode(batch: Batch) -> bytes:
    """Returns the bytes of a batch without its node, which is part of the topic. Refused if it exceeds the limits."""
    _check_batch(batch)
    head = msgspec.json.encode(_Head(batch.sensors, batch.gaps))
    head = head.ljust(-(-len(head) // 8) * 8)  # aligns the columns that follow
    start = _START.pack(VERSION, len(head), len(batch.at), batch.sequence, batch.writer.bytes)
    columns = (
        batch.at.astype("<i8", copy=False).tobytes(),
        batch.value.astype("<f8", copy=False).tobytes(),
        batch.number.astype("<u2", copy=False).tobytes(),
    )
    body = b"".join((start, head, *columns))
    if len(body) + _CHECKSUM.size > LARGEST:
        raise Refused("size")
    return body + _CHECKSUM.pack(zlib.crc32(body))


def decode(node: str, payload: bytes) -> Batch:
    """Returns the batch of a message; its columns are views of the payload. Refused for anything else."""
    if not _START.size + _CHECKSUM.size <= len(payload) <= LARGEST:
        raise Refused("size")
    version, head_bytes, readings, sequence, writer = _START.unpack_from(payload)
    if version != VERSION:
        raise Refused("version")
    columns = _START.size + head_bytes
    if columns + READING_BYTES * readings + _CHECKSUM.size != len(payload):
        raise Refused("size")
    body = memoryview(payload)[: -_CHECKSUM.size]
    if _CHECKSUM.unpack_from(payload, len(body))[0] != zlib.crc32(body):
        raise Refused("checksum")
    try:
        head = _HEAD.decode(body[_START.size : columns])
    except _NOT_THE_FORM:
        raise Refused("form") from None
    at = np.frombuffer(payload, "<i8", readings, columns)
    value = np.frombuffer(payload, "<f8", readings, columns + 8 * readings)
    number = np.frombuffer(payload, "<u2", readings, columns + 16 * readings)
    batch = Batch(node, UUID(bytes=writer), sequence, head.sensors, number, at, value, head.gaps, payload)
    _check_batch(batch)
    return batch


def select(batch: Batch, rows: NDArray[Any] | slice, gaps: tuple[Gap, ...] = ()) -> Batch:
    """Returns these readings of a batch, with these gaps."""
    columns = {name: getattr(batch, name)[rows] for name in ("number", "at", "value")}
    return replace(batch, **columns, gaps=gaps, payload=b"")


def read_identity(payload: bytes) -> tuple[UUID, int]:
    """Returns writer and sequence of a batch that `encode` made."""
    _, _, _, sequence, writer = _START.unpack_from(payload)
    return UUID(bytes=writer), sequence


def describe(sensors: Sequence[Sensor]) -> bytes:
    """Returns the description of a node's sensors as JSON."""
    return msgspec.json.encode(_Described(VERSION, tuple(sensors)))


def read_description(node: str, payload: bytes) -> Description:
    """Reads the bytes of `describe`. Refused for anything else."""
    if len(payload) > LARGEST:
        raise Refused("size")
    try:
        content = _DESCRIBED.decode(payload)
    except _NOT_THE_FORM:
        raise Refused("form") from None
    if content.version != VERSION:
        raise Refused("version")
    _check_names([sensor.name for sensor in content.sensors])
    for sensor in content.sensors:
        texts = (sensor.source, sensor.place, sensor.part_of)
        figures = (sensor.resolution, sensor.update, sensor.window, sensor.range or 0.0, sensor.error or 0.0)
        if not all(is_text(text) for text in texts):
            raise Refused("limit")
        if (
            not all(math.isfinite(figure) and figure >= 0 for figure in figures)
            or max(sensor.update, sensor.window) > LONGEST
        ):
            raise Refused("value")
    return Description(node, content.sensors)


def is_name(name: str) -> bool:
    """Returns whether it can name a sensor and a topic: levels of printable letters, none empty, no wildcard or quote."""
    return (
        name.isprintable() and len(name.encode()) <= LONGEST_NAME and all(name.split("/")) and not {*'+#$"\\'} & {*name}
    )


def is_text(text: str) -> bool:
    """Returns whether the text is printable and at most LONGEST_TEXT letters long."""
    return text.isprintable() and len(text) <= LONGEST_TEXT


def _check_batch(batch: Batch) -> None:
    _check_names(batch.sensors)
    if len(batch.gaps) > MOST_SENSORS or sum(len(gap.sensors) for gap in batch.gaps) > MOST_SENSORS:
        raise Refused("limit")
    for gap in batch.gaps:
        _check_names(gap.sensors)
        if not (0 <= gap.start <= gap.end < LATEST and is_text(gap.why)):
            raise Refused("value")
    if not len(batch.at) == len(batch.value) == len(batch.number):
        raise Refused("form")
    check_readings(batch.at, batch.value)
    if len(batch.at) and batch.number.max() >= len(batch.sensors):
        raise Refused("value")


def check_readings(at: Moments, value: Values) -> None:
    """Raises Refused for moments that no store keeps, and for values that are not finite."""
    if len(at) and not (at.min() >= 0 and at.max() < LATEST and np.isfinite(value).all()):
        raise Refused("value")


def _check_names(names: Sequence[str]) -> None:
    if len(names) > MOST_SENSORS or len({*names}) != len(names) or not all(map(is_name, names)):
        raise Refused("limit")
