"""Messages of raw bytes through a real broker and a real collector: each is stored or refused once, and none stops the collector.

STEELYARD_ATTACK=50 sends fifty times as many messages: a million.
"""

import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from raw_messages import HOUR, NODES, SECOND, Expected, Sender

from folders import TESTS
from steelyard.model.sensor import Sensor
from steelyard.power.agent import Clock
from steelyard.power.broker import Received
from steelyard.power.collector import Collector
from steelyard.power.message import LARGEST, REASONS, RECEIVE_MAXIMUM, Batch, describe, encode
from steelyard.power.stores import END, _database
from steelyard.power.stores._database import FILE
from steelyard.power.stores._tidying import identify_batch, is_stored
from steelyard.power.stores.embedded import Embedded
from steelyard.power.topics import Topics

pytest.importorskip("paho.mqtt.client", reason="the Python package paho-mqtt is not installed (the extra 'power')")
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
pytestmark = [
    pytest.mark.attack,
    pytest.mark.timeout(600 * (1 + TIMES)),
    pytest.mark.skipif(not MOSQUITTO, reason="there is no mosquitto"),
]
MESSAGES = 20_000 * TIMES
AT_ONCE = 5000  # messages after which the store must have caught up: the broker keeps the others in its memory
STEELYARD = (sys.executable, "-P", "-m", "steelyard", "power")
WRITER = UUID(int=7)
TOPICS = Topics()
BROKER = "user root\nlistener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 0\n"


class Client:
    """A client of MQTT 3.1.1 that does not wait for the answer to each message (QoS 1)."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.sendall(b"\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04test")
        assert self._socket.recv(4) == b"\x20\x02\x00\x00"
        self._buffer = bytearray()
        self.sent = self._answered = 0

    def publish(self, topic: str, payload: bytes) -> None:
        self.sent += 1
        name = topic.encode()
        body = len(name).to_bytes(2, "big") + name + (self.sent % 65535 + 1).to_bytes(2, "big") + payload
        self._buffer += b"\x32" + length(len(body)) + body
        if len(self._buffer) > 1 << 16:
            self.flush()

    def flush(self) -> None:
        """Sends all, and waits for the broker's answers."""
        self._socket.sendall(self._buffer)
        self._buffer.clear()
        while self._answered < 4 * self.sent:
            answers = self._socket.recv(1 << 16)
            assert answers, "the broker ended the connection"
            self._answered += len(answers)


def length(count: int) -> bytes:
    """The length of a packet as MQTT writes it: seven bits in a byte."""
    rest, low = divmod(count, 128)
    return bytes([low | 128]) + length(rest) if rest else bytes([low])


@dataclass
class Chain:
    """A broker, a collector and its store."""

    folder: Path
    port: int
    client: Client
    words: tuple[str, ...]
    collector: "subprocess.Popen[bytes]"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def has(self, batches: Sequence[Batch]) -> bool:
        if not (self.store / FILE).exists():
            return False
        with closing(Embedded(self.store)) as store, store._database.reading() as base:
            return all(is_stored(base, identify_batch(batch)) for batch in batches)

    def wait_for(self, batches: Sequence[Batch], seconds: float = 120) -> float:
        """Returns after how many seconds these batches are stored."""
        begin = time.monotonic()
        while not self.has(batches):
            assert self.collector.poll() is None, self.said()
            assert time.monotonic() < begin + seconds, self.said()
            time.sleep(0.05)
        return time.monotonic() - begin

    def send(self, *batches: Batch) -> None:
        for batch in batches:
            self.client.publish(TOPICS.readings(batch.node), encode(batch))
        self.client.flush()

    def said(self) -> str:
        return (self.folder / "collector").read_text(errors="replace")

    def stopped(self) -> str:
        """Ends the collector. Returns what it said."""
        self.collector.send_signal(signal.SIGTERM)
        assert self.collector.wait(60) == 143, self.said()
        assert "Traceback" not in self.said()
        assert "Warning" not in self.said()
        return self.said()

    def start(self) -> None:
        with (self.folder / "collector").open("wb") as log:
            self.collector = subprocess.Popen(self.words, stdout=log, stderr=log)
        while "Receiving readings" not in self.said():
            assert self.collector.poll() is None, self.said()
            time.sleep(0.05)


@dataclass
class Inbox:
    """Messages that have come, for a collector within the test."""

    waiting: list[Received]
    acknowledged: list[int] = field(default_factory=list)

    def take(self, most: int, linger: float) -> Sequence[Received]:
        taken, self.waiting = self.waiting[:most], self.waiting[most:]
        return taken

    def acknowledge(self, received: Received) -> None:
        self.acknowledged.append(received.number)

    def confirm(self, topic: str, payload: bytes) -> None:
        pass

    def close(self) -> None:
        pass


@contextmanager
def chain(folder: Path, program: Sequence[str] = STEELYARD) -> Iterator[Chain]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "broker.conf").write_text(BROKER.format(port=port))
    assert MOSQUITTO
    words = (*program, "collect", "--broker", f"127.0.0.1:{port}", "--store", str(folder / "store"), "--name", "a")
    with subprocess.Popen([MOSQUITTO, "-c", str(folder / "broker.conf")], stderr=subprocess.DEVNULL) as broker:
        try:
            while True:
                with suppress(ConnectionRefusedError):
                    client = Client(port)
                    break
                time.sleep(0.05)
            made = Chain(folder, port, client, (*words, "--foreign", "/#", "--foreign", "org/#"), broker)
            made.start()
            subscribed = batch("c/first", 0, [1])
            while not made.has([subscribed]):  # what comes before the collector has subscribed is dropped
                made.send(subscribed)
                time.sleep(0.2)
            yield made
        finally:
            made.collector.kill()
            made.collector.wait()
            broker.kill()


def batch(node: str, sequence: int, moments: Sequence[int], sensor: str = "power", writer: UUID = WRITER) -> Batch:
    at = np.array(moments, np.int64)
    return Batch(node, writer, sequence, (sensor,), np.zeros(len(at), np.uint16), at, np.ones(len(at)))


def counted(said: str) -> Counter[str]:
    """What a collector counted, by its last sentence."""
    sentence = re.search(r"Received: (.*)\.", said)
    assert sentence, said
    return Counter({name: int(count) for count, name in (part.split(" ", 1) for part in sentence[1].split(", "))})


def test_raw_bytes_are_stored_once_or_refused_once(tmp_path: Path) -> None:
    sender, expected = Sender(random.Random(20261128)), Expected()
    with chain(tmp_path) as made:
        for number, (topic, payload) in enumerate(sender.messages(MESSAGES)):
            expected.add(topic, payload)
            made.client.publish(topic, payload)
            if number % AT_ONCE == AT_ONCE - 1:
                last = [batch(node, number, [number]) for node in NODES]
                for each in last:
                    expected.add(TOPICS.readings(each.node), encode(each))
                made.send(*last)
                made.wait_for(last, 60)
        tidied = subprocess.run(
            [*STEELYARD, "tidy", "--store", made.store], capture_output=True, text=True, timeout=300, check=False
        )
        assert tidied.returncode == 0
        assert tidied.stderr in (
            "",
            "steelyard: Some readings are not summarized yet, because there are very many. Tidy the store again.\n",
        )
        said = made.stopped()
        made.start()
        time.sleep(2)
        assert "No message was received" in made.stopped(), "nothing comes again"
    print(expected.sent, dict(expected.counts), dict(sender.tried))
    refused = sum(expected.counts[reason] for reason in REASONS)
    first = counted(said) - expected.counts  # the first message of the chain, which was sent until it was stored
    assert first == {"batches": first["batches"], "readings": first["batches"]}
    assert 1 <= first["batches"] <= 100
    assert +(counted(said) - first) == +expected.counts
    assert f"Messages that were refused and are not stored: {refused}. The last one" in said
    assert all(expected.counts[reason] for reason in REASONS), "each way to be refused was tried"
    assert all(sender.tried[kind] for kind in ("ours", "dcdb", "examon", "description", "noise", "damaged", "largest"))
    assert expected.counts["batches"] > MESSAGES / 2, "most are sound"
    with closing(Embedded(made.store)) as store:
        for node in {node for node, _ in expected.readings}:
            store.describe(node, [Sensor(name, "power", "raw") for at, name in expected.readings if at == node])
        with store._state() as state:  # it reads the batches of a node once for all its sensors
            for (node, name), readings in sorted(expected.readings.items(), key=lambda item: item[0]):
                trace = state.trace(node, Sensor(name, "power", "raw"), 0, END)
                assert {*zip(trace.at.tolist(), trace.value.tolist(), strict=True)} == readings, (node, name)
        assert store.count() == expected.count + 1, "each batch is there once, and the first message of the chain"
        assert {node: {*store.gaps(node)} for node in expected.gaps} == expected.gaps
        assert store.notes == []


def test_messages_that_are_too_large_are_refused_and_hold_no_place(tmp_path: Path) -> None:
    """There are more of them than a broker has on its way to a collector."""
    many = RECEIVE_MAXIMUM + 2
    with chain(tmp_path) as made:
        for _ in range(many):
            made.client.publish(TOPICS.readings("c/n0"), bytes(LARGEST + 2000))
        sound = batch("c/n0", 1, [2])
        made.send(sound)
        made.wait_for([sound], 30)
        assert counted(made.stopped())["size"] == many


@pytest.mark.parametrize(
    "error", ["ValueError", "MachineFailed", "sqlite3.DataError", "MemoryError", "RecursionError", "Exception"]
)
def test_any_exception_costs_only_the_message_that_causes_it(error: str, tmp_path: Path) -> None:
    """Two nodes send bad messages among many; the store fails with each of them, alone and together with others."""
    program = (sys.executable, str(TESTS / "power" / "failing_store.py"), error, "power")
    now = time.time_ns()
    batches = [batch(f"c/n{n % 5}", n, [now + n], "bad" if n % 10 in (3, 4) else "power") for n in range(100)]
    with chain(tmp_path, program) as made:
        made.send(*batches)
        seconds = made.wait_for(batches, 30)
        time.sleep(1)  # the last messages are acknowledged after the readings are stored
        said = made.stopped()
        made.start()
        time.sleep(1)
        assert "No message was received" in made.stopped()
    assert seconds < 5
    assert counted(said)["failed"] == 20
    assert counted(said)["batches"] > 80, "the sound ones, and the first message of the chain"
    assert (
        "Messages that were refused and are not stored: 20. The last one, with the topic 'steelyard/c/n4/readings': the store "
        "cannot keep it" in said
    )
    with closing(Embedded(made.store)) as store:
        assert store.count() == 81
        gaps = [gap for node in range(5) for gap in store.gaps(f"c/n{node}")]
        assert sorted((gap.start, gap.sensors) for gap in gaps) == [
            (b.at[0], ("bad",)) for b in batches if b.sensors == ("bad",)
        ]


@pytest.mark.parametrize("trouble", ["locked", "full"])
def test_a_store_that_takes_nothing_for_a_while_loses_nothing(
    trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message waits alone: nothing else shows that not it is the cause."""
    monkeypatch.setattr(_database, "WAIT", 0.05)
    store = Embedded(tmp_path / "store", make=True)
    other = sqlite3.connect(tmp_path / "store" / FILE, isolation_level=None)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    large = batch("c/n", 1, range(20_000))
    inbox = Inbox([Received(TOPICS.readings(large.node), encode(large), 1, 1, 7)])
    times = []

    class Waiting(Clock):
        def sleep(self, seconds: float) -> None:
            """The trouble ends after three tries, and for an instant before: then something small finds room."""
            times.append(seconds)
            assert not inbox.acknowledged
            if len(times) == 3:
                end()

    def end() -> None:
        other.rollback() if trouble == "locked" else resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    if trouble == "locked":
        other.execute("begin immediate")
    else:
        size = (tmp_path / "store" / f"{FILE}-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50_000, limits[1]))  # room for small messages
    collector = Collector(inbox, store, TOPICS, Waiting())
    try:
        collector.step()
    finally:
        end()
        other.close()
    assert times == [1.0, 2.0, 4.0]
    assert inbox.acknowledged == [7]
    assert (store.count(), collector.counts["batches"], collector.note) == (20_000, 1, "")


def test_the_load_of_one_node_delays_another_by_at_most_5_s(tmp_path: Path) -> None:
    """Each reading of its messages is in an hour of its own. Meanwhile, the collector and another process tidy the store."""
    now, many = time.time_ns(), 29_000
    number = np.arange(many)
    names = tuple(f"s{sensor}" for sensor in range(8))
    heavy = [
        Batch(
            "c/heavy",
            WRITER,
            n,
            names,
            (number % 8).astype(np.uint16),
            now - n * SECOND - number // 8 * HOUR,
            np.ones(many),
        )
        for n in range(4 + 4 * TIMES)
    ]
    with chain(tmp_path) as made:
        made.client.publish(TOPICS.sensors("c/heavy"), describe([Sensor(name, "power", "x") for name in names]))
        made.send(*heavy)
        seconds = [made.wait_for([*heavy, batch("c/n0", 0, [now])][:-1])]
        tidying = subprocess.Popen([*STEELYARD, "tidy", "--store", made.store], stderr=subprocess.DEVNULL)
        try:
            for sequence in range(30):
                one = batch("c/n0", sequence, [now + sequence])
                made.send(one)
                seconds.append(made.wait_for([one]))
                time.sleep(0.2)
        finally:
            tidying.terminate()
            tidying.wait()
        made.stopped()
    assert max(seconds) < 5, seconds
