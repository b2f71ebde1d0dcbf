"""The topics of messages and their payloads: Steelyard's, DCDB's and ExaMon's.

| topic | payload |
| --- | --- |
| `PREFIX/SYSTEM/NODE/readings` | a batch of the node |
| `PREFIX/SYSTEM/NODE/sensors` | what its sensors are, retained |
| `PREFIX/SYSTEM/NODE/SENSOR…`, and DCDB's own `/SYSTEM/NODE/SENSOR…` | pairs of int64: value, ns since 1970 |
| ExaMon's `…/cluster/SYSTEM/node/NODE/…/METRIC` | `value;seconds` as text |
| `PREFIX-stored/SYSTEM/NODE` | back to the agent: writer and sequence of each batch that the store has |
"""

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID, uuid5

import numpy as np

from steelyard.model.sensor import Moments, Values
from steelyard.power import message
from steelyard.power.message import (
    LARGEST,
    LATEST,
    Batch,
    Description,
    Refused,
    check_readings,
    decode,
    is_name,
    read_description,
)

_RECEIPT = struct.Struct("<16sQ")
# The namespace of the made-up writers of messages that name none; any fixed one does.
_FOREIGN = UUID("5f1d3c0e-7a52-4c36-9d0b-0c8f6b0a9e11")
_TEXT = re.compile(rb"(-?\d{1,20}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?);(\d{1,10})(?:\.(\d{1,9}))?\s{0,2}")
_PAIR = 16  # bytes
LONGEST_FILTER = 65_000  # bytes: MQTT has 65,535, and the collectors' group stands before it
_EXAMON_PLACE = ("org", "cluster", "node")


@dataclass(frozen=True, slots=True)
class Topics:
    """The names of topics. `levels`: how many levels name the node in DCDB's topics ("/i01/r01/c01/s09/PKG_POWER": 4)."""

    prefix: str = "steelyard"
    levels: int = 2

    def readings(self, node: str) -> str:
        return f"{self.prefix}/{node}/readings"

    def sensors(self, node: str) -> str:
        return f"{self.prefix}/{node}/sensors"

    def stored(self, node: str) -> str:
        return f"{self.prefix}-stored/{node}"

    def received(self, topic: str, payload: bytes) -> Sequence[Batch] | Description:
        """Returns the content of a message. Refused if it has none of these forms or is not valid.

        Pairs of DCDB that are too many for one batch become several batches.
        """
        if len(payload) > LARGEST:
            raise Refused("size")
        if topic.startswith("/"):
            return _read_dcdb(topic[1:], self.levels, payload)
        if not topic.startswith(f"{self.prefix}/"):
            return _read_examon(topic, payload)
        ours = topic.removeprefix(f"{self.prefix}/")
        node, sensor = _split_topic(ours, 2)
        if sensor == "readings":
            return (decode(node, payload),)
        if sensor == "sensors":
            return read_description(node, payload)
        return _read_dcdb(ours, 2, payload)


def is_filter(text: str) -> bool:
    """Returns whether MQTT allows it as a filter of topics: "+" is a whole level, "#" is the whole last level."""
    *levels, last = text.split("/")
    wrong = any("#" in level for level in levels) or any(
        {*"+#"} & {*level} and len(level) > 1 for level in (*levels, last)
    )
    return bool(text) and text.isprintable() and len(text.encode()) <= LONGEST_FILTER and not wrong


def write_receipt(batches: Iterable[tuple[UUID, int]]) -> bytes:
    """Returns writers and sequences as bytes, for the agents that sent them."""
    return b"".join(_RECEIPT.pack(writer.bytes, sequence) for writer, sequence in batches)


def read_receipt(payload: bytes) -> list[tuple[UUID, int]]:
    """Reads the bytes of `write_receipt`. Returns an empty list for bytes of another length."""
    if len(payload) % _RECEIPT.size or len(payload) > LARGEST:
        return []
    return [(UUID(bytes=writer), sequence) for writer, sequence in _RECEIPT.iter_unpack(payload)]


def _split_topic(topic: str, levels: int) -> tuple[str, str]:
    parts = topic.split("/", levels)
    node = "/".join(parts[:levels])
    if len(parts) <= levels or not is_name(node) or not is_name(parts[levels]):
        raise Refused("topic")
    return node, parts[levels]


def _read_dcdb(topic: str, levels: int, payload: bytes) -> Sequence[Batch]:
    node, sensor = _split_topic(topic, levels)
    if not payload or len(payload) % _PAIR:
        raise Refused("size")
    pairs = np.frombuffer(payload, "<i8").reshape(-1, 2)
    check_readings(pairs[:, 1], pairs[:, 0].astype(np.float64))
    most = message.MOST_READINGS * _PAIR
    parts = (payload[first : first + most] for first in range(0, len(payload), most))
    return [_read_pairs(node, sensor, part) for part in parts]


def _read_pairs(node: str, sensor: str, payload: bytes) -> Batch:
    pairs = np.frombuffer(payload, "<i8").reshape(-1, 2)
    return _read_foreign(node, sensor, pairs[:, 1], pairs[:, 0].astype(np.float64), payload)


def _read_examon(topic: str, payload: bytes) -> Sequence[Batch]:
    levels = topic.split("/")
    if not len(levels) % 2:
        raise Refused("topic")
    pairs = list(zip(levels[:-1:2], levels[1::2], strict=True))
    values = dict(pairs)
    if not {"cluster", "node"} <= values.keys():
        raise Refused("topic")
    # The words behind the place belong to the sensor's name: each core has a "tsc".
    beside = [level for key, value in pairs if key not in _EXAMON_PLACE for level in (key, value)]
    node, sensor = _split_topic("/".join((values["cluster"], values["node"], *beside, levels[-1])), 2)
    match = _TEXT.fullmatch(payload)
    if not match:
        raise Refused("form")
    value, seconds, fraction = match.groups(b"")
    # Ten digits of seconds may be more than 63 bits of ns.
    at = min(int(seconds) * 1_000_000_000 + int(fraction.ljust(9, b"0")), LATEST)
    moment, number = np.array([at], np.int64), np.array([float(value)])
    check_readings(moment, number)
    return (_read_foreign(node, sensor, moment, number, payload),)


def _read_foreign(node: str, sensor: str, at: Moments, value: Values, payload: bytes) -> Batch:
    """Returns a batch whose sender gives no number. A hash of its bytes is its number, so that a repeated one is recognised."""
    number = np.zeros(len(at), np.uint16)
    sequence = int.from_bytes(blake2b(payload, digest_size=8).digest(), "little")
    return Batch(node, uuid5(_FOREIGN, f"{node}/{sensor}"), sequence, (sensor,), number, at, value)
