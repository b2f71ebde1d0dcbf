"""Messages made of raw bytes, as any sender could write them, and what a collector must do with each."""

import json
import random
import struct
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from steelyard.power.message import LARGEST, LATEST, Batch, Description, Gap, Refused
from steelyard.power.topics import Topics

SECOND, HOUR, DAY = 10**9, 3600 * 10**9, 86400 * 10**9
NOW = time.time_ns()
NODES = ("c/n0", "c/n1", "c/n2", "é/節點", "c/" + "x" * 126)
SENSORS = ("power", "rapl/package-0", "温度", "a b", "x" * 128, "é" * 64, "quote'd;--", "<b>&amp;")
MOMENTS = (0, 1, HOUR - 1, HOUR, NOW, NOW - 75 * 60 * SECOND, NOW + 2 * DAY, 4_102_444_800 * SECOND, LATEST - 1)
NEVER = (LATEST, (1 << 63) - 1, -1, -(1 << 63))
VALUES = (0.0, -0.0, 1.0, 137.5, 1e308, -1e308, 5e-324, 2.0**53 + 2, 0.1 + 0.2, -3.0)
WHYS = ("", "buffer full", 'a "quoted" \\ word', "é" * 500, "💥")
HEAD = struct.Struct("<B3xII4xQ16s")
FIXED = HEAD.size + 4  # bytes beside the head and the columns
PAIR = struct.Struct("<qq")


@dataclass
class Sender:
    """Makes messages by chance. `tried` counts the kinds, so that a test can demand that none is left out."""

    chance: random.Random
    sequence: int = 0
    tried: Counter[str] = field(default_factory=Counter)

    def messages(self, count: int) -> Iterator[tuple[str, bytes]]:
        kinds: dict[Callable[[], tuple[str, bytes]], int] = {
            self.ours: 60,
            self.dcdb: 12,
            self.examon: 8,
            self.description: 2,
            self.noise: 6,
            self.damaged: 6,
        }
        before: list[tuple[str, bytes]] = []
        for _ in range(count):
            if before and self.chance.random() < 0.05:
                self.tried["again"] += 1
                yield self.chance.choice(before)
                continue
            (kind,) = self.chance.choices([*kinds], [*kinds.values()])
            self.tried[kind.__name__] += 1
            topic, payload = kind()
            if len(payload) < 10_000:
                before = [*before[-50:], (topic, payload)]
            yield topic, payload

    def ours(self) -> tuple[str, bytes]:
        node, chance = self.chance.choice(NODES), self.chance
        names = chance.sample(SENSORS, chance.choice((0, 1, 1, 2, len(SENSORS))))
        if chance.random() < 0.002:
            names = [f"{number:03}/" + "n" * 124 for number in range(chance.choice((999, 1000, 1001)))]
        gaps = [self.gap(names) for _ in range(chance.choice((0, 0, 0, 1, 3)))]
        head = self.head(names, gaps)
        count = chance.choice((0, 1, 1, 3, 20)) if names else 0
        edge = chance.choice((0, 0, 1, 2, 7, 8, 18, -1)) if names and chance.random() < 0.001 else None
        if edge is not None:  # of the largest size, or a little less or more, whatever the length of the head
            self.tried["largest"] += 1
            count, spare = divmod(LARGEST - edge - FIXED - len(head), 18)
            head += b" " * spare
        wrong = chance.random()
        at = self.moments(count, NEVER if wrong < 0.02 and count < 1000 else ())
        values = (
            [1.0] * count
            if count > 1000
            else [
                chance.choice((*VALUES, *([float("nan"), float("inf")] if wrong > 0.98 else ()))) for _ in range(count)
            ]
        )
        most = len(names) if 0.5 < wrong < 0.52 else max(len(names) - 1, 0)
        numbers = [chance.randint(0, most) for _ in range(count)]
        return f"steelyard/{node}/readings", self.framed(head, at, values, numbers)

    def framed(self, head: bytes, at: list[int], values: list[float], numbers: list[int]) -> bytes:
        self.sequence += 1
        number = self.sequence if self.sequence % 50 else (1 << 64) - self.sequence
        body = HEAD.pack(1, len(head), len(at), number, b"raw bytes, no id") + head
        body += np.array(at, "<i8").tobytes() + np.array(values, "<f8").tobytes() + np.array(numbers, "<u2").tobytes()
        return body + struct.pack("<I", zlib.crc32(body))

    def head(self, names: list[str], gaps: list[dict[str, object]]) -> bytes:
        """JSON in one of the forms that mean the same: filled up or not, with escapes, with further fields."""
        forms = {
            "ensure_ascii": self.chance.random() < 0.3,
            "separators": (",", ":") if self.chance.random() < 0.7 else None,
        }
        text = json.dumps([names, gaps], **forms)  # type: ignore[arg-type]
        if self.chance.random() < 0.3:  # a number that is longer when somebody else writes it
            text = text.replace(str(10**18), "1e18")
        head = text.encode()
        return self.chance.choice((head, head, b" " * 3 + head, head.ljust(-(-len(head) // 8) * 8), head + b"\n"))

    def gap(self, names: list[str]) -> dict[str, object]:
        start, end = sorted(self.chance.choices((0, 10**18, NOW, *MOMENTS), k=2))
        wrong = self.chance.random()
        end = self.chance.choice(NEVER) if wrong < 0.03 else end
        some = names[: self.chance.randint(0, len(names))]
        gap = {"sensors": some, "start": start, "end": end, "why": self.chance.choice(WHYS), "more": [1]}
        return gap if wrong < 0.5 else dict(list(gap.items())[:4])

    def moments(self, count: int, more: tuple[int, ...] = ()) -> list[int]:
        if more:
            return [self.chance.choice((*MOMENTS, *more)) for _ in range(count)]
        base = self.chance.choice(MOMENTS) if count < 1000 else NOW
        step = self.chance.choice((0, 1, SECOND, HOUR)) if count < 1000 else SECOND
        return [min(max(base + step * (number - count // 2), 0), LATEST - 1) for number in range(count)]

    def dcdb(self) -> tuple[str, bytes]:
        chance = self.chance
        node, sensor = chance.choice(NODES), chance.choice(SENSORS)
        most = LARGEST // PAIR.size
        usual = (0, 1, 1, 2, 10)
        count = (
            chance.choice((most, most - 1, 30_000, 29_000, most + 1))
            if chance.random() < 0.003
            else chance.choice(usual)
        )
        at = self.moments(count, NEVER if chance.random() < 0.02 else ())
        value = chance.choice((0, 1, -1, -(1 << 63), (1 << 63) - 1, 1 << 53))
        pairs = b"".join(PAIR.pack(value, moment) for moment in at)
        cut = pairs[: -chance.randint(1, 15)] if chance.random() < 0.03 else pairs
        return f"{chance.choice(('/', 'steelyard/'))}{node}/{sensor}", cut

    def examon(self) -> tuple[str, bytes]:
        chance = self.chance
        value = chance.choice(("137.5", "-3", "1e3", "1e308", "1e999", "0.1", "-0", "9" * 20, "1.5e-300", "x", ""))
        at = chance.choice(
            ("0", "1", "1700000000.123", str(NOW // SECOND), "9999999999", "4611686018.427387903", "-1", "1e9")
        )
        beside = chance.choice(("", "core/3/", "plugin/p/chnl/data/core/11/"))
        topic = f"org/o/cluster/c/node/{chance.choice(('n0', 'n1', 'n2'))}/{beside}{chance.choice(('tsc', 'power'))}"
        return topic, f"{value};{at}{chance.choice(('', chr(10)))}".encode()

    def description(self) -> tuple[str, bytes]:
        sensors = [
            {"name": name, "quantity": "power", "source": "raw"} for name in SENSORS[: self.chance.randint(0, 8)]
        ]
        if sensors and self.chance.random() < 0.3:
            sensors[0] |= {self.chance.choice(("window", "range", "name")): self.chance.choice((-1.0, 1e308, "", 3))}  # type: ignore[dict-item]
        return f"steelyard/{self.chance.choice(NODES)}/sensors", json.dumps({"version": 1, "sensors": sensors}).encode()

    def noise(self) -> tuple[str, bytes]:
        letters = ("a", "readings", "sensors", "", "cluster", "node", "n", "\u200b", "é", '"', "$x", "x" * 129, "\\")
        levels = [self.chance.choice(letters) for _ in range(self.chance.randint(0, 6))]
        first = self.chance.choice(("steelyard", "", "org"))
        return "/".join((first, *levels, "x")), self.chance.randbytes(self.chance.randint(0, 60))

    def damaged(self) -> tuple[str, bytes]:
        topic, payload = self.chance.choice((self.ours, self.description))()
        data = bytearray(payload[: 1 + self.chance.randrange(len(payload))] if self.chance.random() < 0.3 else payload)
        data[0] = 2 if self.chance.random() < 0.05 else data[0]
        for _ in range(self.chance.choice((0, 1, 1, 4))):
            data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        if self.chance.random() < 0.5 and len(data) > FIXED:  # a hostile sender can compute checksums
            data[-4:] = struct.pack("<I", zlib.crc32(data[:-4]))
        return topic, bytes(data)


@dataclass
class Expected:
    """What a store must contain in the end, and what a collector must have counted."""

    topics: Topics = field(default_factory=Topics)
    counts: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    batches: set[tuple[str, bytes, int]] = field(default_factory=set)
    readings: dict[tuple[str, str], set[tuple[int, float]]] = field(default_factory=dict)
    gaps: dict[str, set[Gap]] = field(default_factory=dict)
    count: int = 0

    def add(self, topic: str, payload: bytes) -> None:
        # A description comes twice: retained ones are not shared among collectors.
        times = 2 if topic.count("/") == 3 and topic.startswith("steelyard/") and topic.endswith("/sensors") else 1
        self.sent += times
        try:
            content = self.topics.received(topic, payload)
        except Refused as refused:
            self.counts[refused.reason] += times
            return
        if isinstance(content, Description):
            self.counts["descriptions"] += times
            return
        self.counts["batches"] += 1
        for batch in content:
            self.counts["readings"] += len(batch.at)
            key = batch.node, batch.writer.bytes, batch.sequence
            if key not in self.batches:
                self.batches.add(key)
                self._add(batch)

    def _add(self, batch: Batch) -> None:
        self.count += len(batch.at)
        self.gaps.setdefault(batch.node, set()).update(batch.gaps)
        for number, at, value in zip(batch.number.tolist(), batch.at.tolist(), batch.value.tolist(), strict=True):
            self.readings.setdefault((batch.node, batch.sensors[number]), set()).add((at, value))
