"""Sound messages at the edges, through a living broker and a living collector: all is stored once, and nothing stops a collector.

STEELYARD_ATTACK=50 sends fifty times as many messages: a hundred thousand.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from folders import TESTS

sys.path.insert(0, str(TESTS / "power" / "chain"))
from oracle import SENSOR, judge

from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch, Gap, describe, encode
from steelyard.power.stores._database import FILE
from steelyard.power.stores._tidying import is_stored, key
from steelyard.power.stores.embedded import Embedded
from steelyard.power.topics import Topics

mqtt = pytest.importorskip(
    "paho.mqtt.client", reason="the Python package paho-mqtt is not installed (the extra 'power')"
)
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
pytestmark = [
    pytest.mark.attack,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not MOSQUITTO, reason="there is no mosquitto"),
]

TIMES = int(os.environ.get("STEELYARD_ATTACK", "1"))
MESSAGES = 2_000 * TIMES
AT_ONCE = 2000  # messages that are sent again
NODES = tuple(f"c/n{number}" for number in range(4))
LATE = NODES[3]  # its sensor is described when all has come
WRITER = UUID(int=7)  # of all nodes: the store must not take one's batches for another's
TOPICS = Topics()
SECOND, HOUR, DAY = 10**9, 3600 * 10**9, 86400 * 10**9
YEAR_2100 = 4_102_444_800 * SECOND


@dataclass
class Chain:
    """A broker, a collector and its store."""

    folder: Path
    port: int
    collector: "subprocess.Popen[bytes]"
    client: Any
    batches: dict[tuple[str, int], Batch] = field(default_factory=dict)
    logs: dict[str, Path] = field(default_factory=dict)
    _on_their_way: list[Any] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def publish(self, topic: str, payload: bytes) -> None:
        self._on_their_way = [*self._on_their_way[-100:], self.client.publish(topic, payload, qos=1)]
        self._on_their_way[0].wait_for_publish(10)

    def send(self, batch: Batch) -> None:
        self.batches[batch.node, batch.sequence] = batch
        self.publish(TOPICS.readings(batch.node), encode(batch))

    def describe(self, node: str) -> None:
        self.publish(TOPICS.sensors(node), describe([Sensor(SENSOR, "power", "command")]))

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        line = [sys.executable, "-P", "-m", "steelyard", "power", *words, "--store", str(self.store)]
        return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)

    def settled(self) -> None:
        """Waits until all is stored. What is not after a while is sent again, as agents do: a broker may drop what it queues."""
        until = time.monotonic() + 120 * TIMES
        while time.monotonic() < until:
            assert self.collector.poll() is None, self.said()
            time.sleep(1)
            missing = [each for each in self.batches.values() if not self.has(each)]
            if not missing:
                return
            for each in missing[:AT_ONCE]:
                self.publish(TOPICS.readings(each.node), encode(each))

    def has(self, batch: Batch) -> bool:
        if not (self.store / FILE).exists():
            return False
        with Embedded(self.store)._database.reading() as base:
            return is_stored(base, key(batch))

    def said(self) -> str:
        return (self.folder / "collector").read_text(errors="replace")


def collecting(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    words = ["collect", "--broker", f"127.0.0.1:{port}", "--store", str(folder / "store"), "--name", "a"]
    with (folder / "collector").open("ab") as log:
        return subprocess.Popen([sys.executable, "-P", "-m", "steelyard", "power", *words], stdout=log, stderr=log)


@contextmanager
def chain(folder: Path) -> Iterator[Chain]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = f"user root\nlistener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 100\n"
    (folder / "broker.conf").write_text(settings)
    assert MOSQUITTO
    broker = subprocess.Popen([MOSQUITTO, "-c", str(folder / "broker.conf")], stderr=subprocess.DEVNULL)
    collector = collecting(folder, port)
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    try:
        while "Receiving readings" not in (folder / "collector").read_text():
            time.sleep(0.05)
        client.connect("127.0.0.1", port)
        client.loop_start()
        made = Chain(folder, port, collector, client)
        yield made
        made.collector.send_signal(signal.SIGTERM)
        assert made.collector.wait(60) == 0, made.said()
        assert "Traceback" not in made.said()
    finally:
        client.loop_stop()
        collector.kill()
        broker.kill()
        broker.wait()


def batch(node: str, sequence: int, moments: list[int], serials: list[int], gaps: tuple[Gap, ...] = ()) -> Batch:
    number = np.zeros(len(moments), np.uint16)
    at, value = np.array(moments, np.int64), np.array(serials, float)
    return Batch(node, WRITER, sequence, (SENSOR,), number, at, value, gaps)


def test_messages_at_the_edges_are_stored_once_or_are_in_a_gap(tmp_path: Path) -> None:
    chance = random.Random(20261125)
    now = time.time_ns()
    minute = 60 * SECOND
    edges = (
        (now - minute, now + minute),
        (now - 300 * minute, now - 75 * minute),  # of an hour that is over
        (now - 20 * DAY, now - DAY),
        (now + 2 * DAY, now + 400 * DAY),
        (YEAR_2100, YEAR_2100 + DAY),
        (0, 2 * HOUR),  # a clock that begins in 1970
        ((1 << 62) - DAY, (1 << 62) - 1),
    )
    logs = {node: {} for node in NODES}
    sequences = dict.fromkeys(NODES, 0)
    used: dict[str, set[int]] = {node: set() for node in NODES}
    before: list[Batch] = []
    with chain(tmp_path) as made:
        for node in NODES:
            if node != LATE:
                made.describe(node)
        for _ in range(MESSAGES):
            if before and chance.random() < 0.1:
                made.send(chance.choice(before))  # it comes again
                continue
            node, edge = chance.choice(NODES), chance.choice(edges)
            moments = sorted({chance.randrange(*edge) for _ in range(chance.choice((1, 1, 3)))} - used[node])
            used[node] |= {*moments}
            first = len(logs[node])
            serials = list(range(first, first + len(moments)))
            logs[node] |= dict(zip(serials, moments, strict=True))
            gap = moments and chance.random() < 0.02
            gaps = (Gap((SENSOR,), moments[0], moments[-1], "in a test"),) if gap else ()
            new = batch(node, sequences[node], moments, serials, gaps)
            sequences[node] += 1
            before = [*before[-200:], new]
            made.send(new)
        made.settled()
        made.describe(LATE)
        until = time.monotonic() + 60
        while time.monotonic() < until and LATE not in Embedded(made.store).sensors():
            time.sleep(0.2)
        for node, log in logs.items():
            made.logs[node] = tmp_path / node.replace("/", "-")
            made.logs[node].write_text("".join(f"{serial} {at}\n" for serial, at in log.items()))
        for _ in range(2):
            found = judge(Embedded(made.store), made.logs)
            assert found.right, (found.given, found.stored, found.twice, found.missing[:5], found.foreign[:5])
            tidied = made.command("tidy")
            assert tidied.returncode == 0, tidied.stderr
        assert made.collector.poll() is None, made.said()


@pytest.mark.parametrize("described", ["never", "late"])
def test_one_message_stops_no_collector(described: str, tmp_path: Path) -> None:
    """A reading 75 minutes old, alone in its hour, of a sensor that nobody has described."""
    with chain(tmp_path) as made:
        made.send(batch(NODES[0], 0, [time.time_ns() - 80 * 60 * SECOND], [0]))
        made.settled()
        if described == "late":
            made.describe(NODES[0])
        tidied = made.command("tidy")
        assert tidied.returncode == 0, tidied.stderr
        made.collector.send_signal(signal.SIGTERM)
        assert made.collector.wait(60) == 0
        made.collector = collecting(tmp_path, made.port)
        made.send(batch(NODES[0], 1, [time.time_ns()], [1]))
        made.settled()
        assert Embedded(made.store).count() == 2
