"""From agents through a real Mosquitto, with TLS and passwords, to two collectors: everything comes, once, whatever is killed.

Needs Debian's mosquitto and openssl; `make test-site` installs them.
"""

import contextlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
import test_power_agent

from folders import ROOT
from steelyard.errors import UsageError
from steelyard.measure.telemetry.sensors import Device
from steelyard.model.sensor import Reading, Sensor
from steelyard.power import message, sender
from steelyard.power.agent import Agent
from steelyard.power.broker import Broker, Publisher, Subscriber
from steelyard.power.buffer import Buffer
from steelyard.power.collector import Collector, list_subscriptions
from steelyard.power.message import Batch
from steelyard.power.sender import Sender
from steelyard.power.stores.embedded import Embedded
from steelyard.power.topics import Topics, read_receipt

pytest.importorskip("paho.mqtt.client", reason="the Python package paho-mqtt is not installed (the extra 'power')")
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
site = pytest.mark.site
real = pytest.mark.skipif(not (MOSQUITTO and shutil.which("openssl")), reason="there is no mosquitto, or no openssl")

TOPICS = Topics()
MANY = 1_000_000
MOMENT = 1_700_000_000_000_000_000
SENSORS = (Sensor("rapl/package-0", "energy", "test"), Sensor("ipmi/power", "power", "test"))
# Root's broker would become another user's, who may not read in a folder of the tests.
SETTINGS = """user root
listener {port} 127.0.0.1
cafile {folder}/ca.pem
certfile {folder}/server.pem
keyfile {folder}/server.key
allow_anonymous false
password_file {folder}/passwords
acl_file {folder}/rights
persistence false
max_inflight_messages 100
max_queued_messages 0
listener {second} 127.0.0.1
cafile {folder}/ca.pem
certfile {folder}/server.pem
keyfile {folder}/server.key
require_certificate true
use_identity_as_username true
"""
# What each may do: agents publish below the prefix and hear what is stored; collectors the other way round.
RIGHTS = """user agent
topic write steelyard/#
topic read steelyard-stored/#
user collector
topic read steelyard/#
topic write steelyard-stored/#
user stranger
"""


@dataclass
class Mosquitto:
    folder: Path
    port: int
    second: int  # the port at which a certificate stands for user and password
    program: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert MOSQUITTO
        log = (self.folder / "log").open("ab")
        self.program = subprocess.Popen((MOSQUITTO, "-c", str(self.folder / "mosquitto.conf")), stderr=log, stdout=log)
        until(self.listens, "the broker listens")

    def listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        assert self.program
        self.program.send_signal(signal.SIGKILL)
        self.program.wait()

    def broker(self, user: str, password: str | None = None, ca: str = "ca.pem") -> Broker:
        return Broker("127.0.0.1", self.port, user, password or f"{user}'s secret", self.folder / ca)

    def words(self, user: str) -> tuple[str, ...]:
        """The options of a command that connects as this user."""
        secret = self.folder / f"{user}.secret"
        secret.touch(0o600)
        secret.write_text(f"{user}'s secret\n")
        place = ("--broker", f"127.0.0.1:{self.port}", "--ca", str(self.folder / "ca.pem"))
        return (*place, "--user", user, "--password-file", str(secret))


@dataclass
class Memory(test_power_agent.Memory):
    """A store that two collectors write to; it notes what came twice."""

    twice: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, batches: Sequence[Batch]) -> None:
        with self.lock:
            self.twice += sum((batch.writer, batch.sequence) in self.batches for batch in batches)
            super().write(batches)

    @property
    def values(self) -> list[float]:
        with self.lock:
            return sorted(value for batch in self.batches.values() for value in batch.value.tolist())


@dataclass
class Counter(Device):
    """A device that counts how often it was read."""

    sensors: tuple[Sensor, ...] = SENSORS[:1]
    count: int = 0

    def read(self) -> Sequence[Reading]:
        self.count += 1
        return (Reading("rapl/package-0", time.time_ns(), self.count - 1.0),)


def until(happens: Callable[[], object], what: str, seconds: float = 120) -> None:
    """Waits for it; the limit only ends a test that has failed."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, f"did not come to pass: {what}"
        time.sleep(0.01)


def certificate(folder: Path, name: str, authority: str | None) -> None:
    """A key and a certificate by openssl, signed by itself or by the authority."""
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -addext subjectAltName=IP:127.0.0.1"
    out = ("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    signed = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key") if authority else ()
    subprocess.run((*words.split(), *out, *signed), cwd=folder, check=True, capture_output=True)


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        ports = one.getsockname()[1], two.getsockname()[1]
    certificate(tmp_path, "ca", None)
    certificate(tmp_path, "server", "ca")
    certificate(tmp_path, "agent", "ca")
    certificate(tmp_path, "forger", None)
    assert MOSQUITTO
    for user in ("agent", "collector", "stranger", "node1", "node2"):
        new = ["-c"] if user == "agent" else []
        words = ("mosquitto_passwd", "-b", *new, "passwords", user, f"{user}'s secret")
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "rights").write_text(RIGHTS)
    (tmp_path / "mosquitto.conf").write_text(SETTINGS.format(port=ports[0], second=ports[1], folder=tmp_path))
    broker = Mosquitto(tmp_path, *ports)
    broker.start()
    yield broker
    broker.kill()


class Running:
    """A collector in a thread of its own."""

    def __init__(self, broker: Broker, name: str, store: Memory) -> None:
        self.inbox = Subscriber(broker, name, list_subscriptions(TOPICS, ("/#",)))
        self.collector = Collector(self.inbox, store, TOPICS)
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        until(lambda: self.inbox.subscribed, "the collector has subscribed")

    def _run(self) -> None:
        while not self.stopping.is_set():
            self.collector.step()

    def stop(self) -> None:
        self.stopping.set()
        self._thread.join()
        self.inbox.close()


@pytest.fixture
def collectors(mosquitto: Mosquitto) -> Iterator[tuple[Memory, list[Running]]]:
    store = Memory()
    both = [Running(mosquitto.broker("collector"), f"collector-{i}", store) for i in range(2)]
    yield store, both
    for each in both:
        each.stopping.set()  # both at once: each looks a second for messages
    for each in both:
        each.stop()


def batch(node: str, writer: UUID, sequence: int, first: float, size: int = 10) -> Batch:
    at, value = MOMENT + np.arange(size), first + np.arange(size)
    return Batch(node, writer, sequence, ("rapl/package-0",), np.zeros(size, np.uint16), at, value)


def opened(mosquitto: Mosquitto, folder: Path, node: str) -> Sender:
    link = Publisher(mosquitto.broker("agent"), f"agent-{uuid4()}", TOPICS.stored(node))
    return Sender(link, Buffer(folder), TOPICS, node, SENSORS)


def settled(senders: Sequence[Sender]) -> bool:
    """Whether all is confirmed, after one more attempt."""
    for each in senders:
        each.pump(time.monotonic())
    return not any(each.backlog for each in senders)


@real
@site
def test_two_agents_and_two_collectors_share_the_load_and_all_comes_once(mosquitto, collectors, tmp_path):
    store, both = collectors
    senders = [opened(mosquitto, tmp_path / f"buffer{i}", f"s/n{i}") for i in range(2)]
    for number, each in enumerate(senders):
        writer = uuid4()
        for sequence in range(300):
            each.put(batch(f"s/n{number}", writer, sequence, 10 * (2 * sequence + number)))
    until(lambda: settled(senders), "all is confirmed")
    assert store.values == [float(i) for i in range(6000)]
    assert store.twice == 0
    assert store.described == {"s/n0": SENSORS, "s/n1": SENSORS}
    assert all(each.collector.counts["batches"] for each in both)
    for each in senders:
        each.close()
    # Who comes later is given the descriptions that were retained.
    later = Memory()
    third = Running(mosquitto.broker("collector"), "collector-3", later)
    until(lambda: len(later.described) == 2, "the retained descriptions")
    third.stop()


@real
@site
def test_a_broker_that_is_killed_again_and_again_loses_nothing_and_doubles_nothing(
    mosquitto, collectors, tmp_path, monkeypatch
):
    """It keeps nothing on its disk: whatever it had acknowledged is forgotten each time."""
    monkeypatch.setattr(sender, "PATIENCE", 1.0)
    store, both = collectors
    one = opened(mosquitto, tmp_path / "buffer", "s/n")
    writer = uuid4()
    sent = 0
    for _ in range(3):
        for _ in range(200):
            one.put(batch("s/n", writer, sent, 10 * sent))
            one.pump(time.monotonic())
            sent += 1
        mosquitto.kill()
        for _ in range(100):
            one.put(batch("s/n", writer, sent, 10 * sent))
            one.pump(time.monotonic())
            sent += 1
        mosquitto.start()
        until(lambda: all(each.inbox.connected for each in both), "the collectors are back")
    until(lambda: settled([one]), "all is confirmed")
    assert store.values == [float(i) for i in range(10 * sent)]
    assert {*(number for _, number in store.batches)} == {*range(sent)}
    one.close()


@real
@site
@pytest.mark.attack
def test_a_node_can_neither_silence_another_nor_read_its_receipts(mosquitto, tmp_path):
    """With the access list that is shipped: node2 knows the writer of node1, and is always ahead of its sequences."""
    (tmp_path / "rights").write_text((ROOT / "docs" / "mosquitto.acl").read_text())
    mosquitto.kill()
    mosquitto.start()
    store, writer, batches = Embedded(tmp_path / "store", make=True), uuid4(), 100
    link = Publisher(mosquitto.broker("node1"), "node1", TOPICS.stored("cluster/node1"))
    victim = Sender(link, Buffer(tmp_path / "buffer"), TOPICS, "cluster/node1", SENSORS)
    enemy = Publisher(mosquitto.broker("node2"), "node2", f"{TOPICS.prefix}-stored/#")

    def nothing(sequence: int) -> bytes:
        empty = np.empty(0, np.int64)
        return message.encode(Batch("", writer, sequence, (), empty.astype(np.uint16), empty, empty.astype(float)))

    with contextlib.ExitStack() as ended:
        collector = Running(mosquitto.broker("collector"), "collector-1", store)
        for each in (collector.stop, victim.close, enemy.close):
            ended.callback(each)
        until(lambda: link.connected and enemy.connected, "both are connected")
        for sequence in range(batches):
            until(enemy.publish(TOPICS.readings("cluster/node2"), nothing(sequence)), "the broker has answered")
            at, value = MOMENT + 10 * sequence + np.arange(10), 10.0 * sequence + np.arange(10)
            number = np.zeros(10, np.uint16)
            victim.put(Batch("cluster/node1", writer, sequence, ("rapl/package-0",), number, at, value))
            victim.pump(time.monotonic())
        until(lambda: settled([victim]), "all is confirmed")
        until(lambda: collector.collector.counts["batches"] >= 2 * batches, "the attack was taken for what it is")
        enemy.publish(TOPICS.readings("cluster/node1"), nothing(batches))  # Mosquitto refuses, or ends the connection
        until(lambda: enemy.trouble, "the broker has refused")
        victim.put(batch("cluster/node1", writer, batches, 10.0 * batches))
        until(lambda: settled([victim]), "the next is confirmed, too")
    assert sorted(store.trace("cluster/node1", "rapl/package-0").value.tolist()) == [
        float(i) for i in range(10 * batches + 10)
    ]
    heard = [identity for payload in enemy.receipts() for identity in read_receipt(payload)]
    assert len(heard) <= batches, "receipts of its own batches, and none of another's"


AGENT = """
import sys, time
from pathlib import Path
from uuid import UUID
import numpy as np
from steelyard.power.broker import Broker, Publisher
from steelyard.power.buffer import Buffer
from steelyard.power.message import Batch
from steelyard.power.sender import Sender
from steelyard.power.stores.embedded import Embedded
from steelyard.power.topics import Topics
port, ca, folder = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
link = Publisher(Broker("127.0.0.1", port, "agent", "agent's secret", ca), "killed", "steelyard-stored/s/n")
one = Sender(link, Buffer(folder), Topics(), "s/n", ())
for sequence in range(100000):
    value = np.array([float(sequence)])
    one.put(Batch("s/n", UUID(int=5), sequence, ("p",), np.zeros(1, np.uint16), np.array([1]), value))
    one.pump(time.monotonic())
    print(sequence, flush=True)
"""


@real
@site
def test_an_agent_that_is_killed_leaves_what_it_had_to_the_next(mosquitto, collectors, tmp_path):
    store, _ = collectors
    words = (sys.executable, "-c", AGENT, str(mosquitto.port), str(tmp_path / "ca.pem"), str(tmp_path / "buffer"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout
        next(line for line in agent.stdout if int(line) >= 2000)
        agent.kill()
        last = max((int(line) for line in agent.stdout.read().splitlines()[:-1]), default=2000)
    one = opened(mosquitto, tmp_path / "buffer", "s/n")
    until(lambda: settled([one]), "all is confirmed")
    assert store.values[: last + 1] == [float(i) for i in range(last + 1)]
    one.close()


@real
@site
def test_a_collector_that_is_gone_leaves_its_share_to_the_other(mosquitto, collectors, tmp_path, monkeypatch):
    monkeypatch.setattr(sender, "PATIENCE", 1.0)
    store, _ = collectors
    gone = Running(mosquitto.broker("collector"), "collector-3", store)
    one, writer = opened(mosquitto, tmp_path / "buffer", "s/n"), uuid4()
    for sequence in range(300):
        one.put(batch("s/n", writer, sequence, 10 * sequence))
    until(lambda: one.pump(time.monotonic()) and gone.collector.counts["batches"], "the third has its share")
    gone.stop()
    assert one.backlog
    until(lambda: settled([one]), "all is confirmed")
    assert store.values == [float(i) for i in range(3000)]
    one.close()


@real
@site
def test_an_agent_with_a_certificate_is_let_in_and_one_with_a_forged_one_is_not(mosquitto, collectors, tmp_path):
    """The whole agent, with the machine's clock."""
    store, _ = collectors

    def mine(name: str) -> Broker:
        names = (tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        return Broker("127.0.0.1", mosquitto.second, "", "", tmp_path / "ca.pem", *names)

    forged = Publisher(mine("forger"), "forged", TOPICS.stored("s/n"))
    until(lambda: forged.trouble, "the broker refuses")
    assert not forged.connections
    forged.close()
    link = Publisher(mine("agent"), "agent", TOPICS.stored("s/n"))
    until(lambda: link.connected, "the agent is connected")
    counter = Counter()
    outlet = Sender(link, Buffer(tmp_path / "buffer"), TOPICS, "s/n", counter.sensors)
    Agent("s/n", [counter], outlet, 0.002).run(500)
    assert store.values == [float(i) for i in range(500)]
    assert not outlet.backlog


@real
@site
def test_strangers_get_nothing_in_and_are_told_why(mosquitto, collectors, tmp_path):
    store, _ = collectors
    anonymous = Broker("127.0.0.1", mosquitto.port, ca=tmp_path / "ca.pem")
    wrong = mosquitto.broker("agent", "guessed")
    forged = mosquitto.broker("agent", ca="forger.pem")
    plain = Broker("127.0.0.1", mosquitto.port)
    payload = message.encode(batch("s/n", uuid4(), 0, 0.0))
    for broker, words in (
        (anonymous, "refuses the connection"),
        (wrong, "refuses the connection"),
        (forged, "its certificate is not signed"),
        (plain, "lost|No MQTT broker answers"),
    ):
        link = Publisher(broker, f"x-{uuid4()}", TOPICS.stored("s/n"))
        link.publish(TOPICS.readings("s/n"), payload)
        until(lambda link=link: link.trouble, "the broker refuses")
        assert any(word in link.trouble for word in words.split("|")), link.trouble
        assert not link.connected
        link.close()
    assert_nothing_but(store, mosquitto, tmp_path)


@real
@site
def test_a_user_without_rights_publishes_nothing_and_hears_nothing(mosquitto, collectors, tmp_path):
    store, _ = collectors
    stranger = Subscriber(mosquitto.broker("stranger"), "stranger", ("#", "steelyard/#", "$share/steelyard/#"))
    until(lambda: stranger.connected, "the stranger is connected")
    stranger.confirm(TOPICS.readings("s/n"), message.encode(batch("s/n", uuid4(), 0, 0.0)))
    assert_nothing_but(store, mosquitto, tmp_path)
    assert not stranger.take(10, 0.0)
    stranger.close()
    link = Publisher(mosquitto.broker("stranger"), "no rights", TOPICS.stored("s/n"))
    until(lambda: link.connected, "the stranger is connected")
    link.publish(TOPICS.readings("s/n"), message.encode(batch("s/n", uuid4(), 0, 0.0)))
    until(lambda: "refuses published messages: Not authorized" in link.trouble, "the broker says that it refused")
    link.close()


@real
@site
def test_without_a_collector_readings_wait_and_the_agent_says_so(mosquitto, tmp_path):
    """And they come soon after one does: the broker has said that nobody listened."""
    link = Publisher(mosquitto.broker("agent"), "early", TOPICS.stored("s/n"))
    one = Sender(link, Buffer(tmp_path / "buffer"), TOPICS, "s/n", SENSORS)
    one.put(batch("s/n", uuid4(), 0, 0.0))
    until(lambda: one.pump(time.monotonic()) and link.trouble.startswith("No collector listens"), "it says so")
    store = Memory()
    late = Running(mosquitto.broker("collector"), "late", store)
    until(lambda: settled([one]), "all is confirmed", sender.PATIENCE / 3)
    assert store.values == [float(i) for i in range(10)]
    assert not link.trouble
    late.stop()
    one.close()


@real
@site
def test_a_flood_without_acknowledgement_keeps_no_acknowledged_message_out(mosquitto):
    """A collector that is busy meanwhile: what it cannot hold of the flood is dropped, and nothing else."""
    inbox = Subscriber(mosquitto.broker("collector"), "busy", list_subscriptions(TOPICS))
    until(lambda: inbox.subscribed, "the collector has subscribed")
    with plain_client(mosquitto, "agent") as hostile:
        hostile.sendall(b"".join(published(f"steelyard/hostile/n{number}/power", b"x") for number in range(5000)))
    until(lambda: inbox.overflowed > 1000, "the flood is more than it holds")
    link = Publisher(mosquitto.broker("agent"), "sound", TOPICS.stored("s/n"))
    until(lambda: link.connected, "the agent is connected")
    answers = [link.publish(f"steelyard/s/n/{number}", b"sound") for number in range(60)]
    until(lambda: all(answered() for answered in answers), "the broker has them")
    time.sleep(0.5)  # and hands them on to where there is no room
    taken = []
    until(
        lambda: taken.extend(inbox.take(1000, 0.0)) or sum(each.payload == b"sound" for each in taken) == 60, "all came"
    )
    link.close()
    inbox.close()


@real
@site
def test_a_million_topics_get_nothing_in_and_let_no_collector_grow(mosquitto, tmp_path):
    """By a client with an agent's rights; a real collector and its store, and an agent that comes behind all of that."""
    store = tmp_path / "store"
    with collecting(mosquitto, store) as collector:
        before = resident(collector)
        with plain_client(mosquitto, "agent") as hostile:
            for first in range(0, MANY, 1000):
                topics = (f"steelyard/hostile/n{number}/power" for number in range(first, first + 1000))
                hostile.sendall(b"".join(published(topic, b"x") for topic in topics))
        one = opened(mosquitto, tmp_path / "sound", "s/sound")
        one.put(batch("s/sound", uuid4(), 0, 1000.0))
        until(lambda: settled([one]), "the sound one is confirmed", 120)
        one.close()
        grown = resident(collector) - before
    kept = Embedded(store)
    assert kept.sensors() == {"s/sound": SENSORS}
    assert kept.trace("s/sound", "rapl/package-0").value.tolist() == [1000.0 + i for i in range(10)]
    assert kept.count() == 10
    assert grown < 96 * 2**20, f"{grown / 2**20:.0f} MiB"  # of which the first write of a store takes 50


@contextlib.contextmanager
def collecting(mosquitto: Mosquitto, store: Path, name: str = "real") -> Iterator[subprocess.Popen[str]]:
    """A real collector, a process of its own; ended in good order."""
    words = ("power", "collect", *mosquitto.words("collector"), "--store", str(store), "--name", name)
    line = [sys.executable, "-m", "steelyard", *words]
    with (mosquitto.folder / "collector.log").open("w+") as log:
        process = subprocess.Popen(line, stdout=log, stderr=log, text=True)
        until(store.exists, "the collector has made its store")
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 143


# A collector that is stopped when its store has the messages, and before the broker hears of it.
STOPPED = """
import os, signal, sys
from steelyard.__main__ import main
from steelyard.power.stores.embedded import Embedded
write = Embedded.write
def write_and_stop(store, batches):
    write(store, batches)
    os.kill(os.getpid(), signal.SIGTERM)
Embedded.write = write_and_stop
sys.argv[0] = "steelyard"
main()
"""


@real
@site
def test_a_collector_stopped_before_it_acknowledges_stores_nothing_twice(mosquitto, tmp_path):
    """The broker delivers what was not acknowledged at the next start: readings of agents, and of DCDB without a number."""
    store, writer, starts = tmp_path / "store", uuid4(), 3
    words = ("power", "collect", *mosquitto.words("collector"), "--store", str(store), "--name", "stopped")
    pair = np.array([42, MOMENT], "<i8").tobytes()
    link = Publisher(mosquitto.broker("agent"), "dcdb", TOPICS.stored("s/d"))
    with contextlib.closing(link), contextlib.closing(opened(mosquitto, tmp_path / "buffer", "s/n")) as one:
        for sequence in range(100):
            one.put(batch("s/n", writer, sequence, 10 * sequence))

        until(lambda: link.connected, "the link is connected")
        answers = [link.publish(f"{TOPICS.prefix}/s/d/power", pair)]

        def send() -> None:
            one.pump(time.monotonic())
            if answers[-1]() == "unheard":  # the collector has not subscribed yet
                answers.append(link.publish(f"{TOPICS.prefix}/s/d/power", pair))

        stored = []
        for _ in range(starts):
            stopped = subprocess.Popen([sys.executable, "-c", STOPPED, *words], stderr=subprocess.PIPE, text=True)
            until(lambda: send() or stopped.poll() is not None, "it has stopped")  # noqa: B023
            assert stopped.communicate()[1].endswith("steelyard: interrupted\n")
            assert stopped.returncode == 143
            stored.append(Embedded(store).count())
        assert stored[0], "the first one stored some"
        assert one.backlog, "no agent has heard of it"
        with collecting(mosquitto, store, "stopped"):
            until(lambda: settled([one]), "all is confirmed")
    said = (mosquitto.folder / "collector.log").read_text()
    (received,) = re.findall(r"(\d+) readings", said)
    kept = Embedded(store)
    assert int(received) > 1001 - stored[-1], "some came again"
    assert sorted(kept.trace("s/n", "rapl/package-0").value.tolist()) == [float(i) for i in range(1000)]
    assert kept.count() == 1001, "and one of DCDB"


def resident(process: subprocess.Popen[str]) -> int:
    """The most memory that it has had, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


@contextlib.contextmanager
def plain_client(mosquitto: Mosquitto, user: str) -> Iterator[ssl.SSLSocket]:
    """A connection of MQTT 5 without a library, which would take a minute for what this does in seconds."""
    words = b"".join(
        len(word).to_bytes(2, "big") + word for word in (b"hostile", user.encode(), f"{user}'s secret".encode())
    )
    head = b"\x00\x04MQTT\x05\xc2\x00\x00\x00"  # version 5, user and password, a clean start; no properties
    context = ssl.create_default_context(cafile=mosquitto.folder / "ca.pem")
    with (
        socket.create_connection(("127.0.0.1", mosquitto.port)) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as client,
    ):
        client.sendall(b"\x10" + length(len(head) + len(words)) + head + words)
        assert client.recv(1000)[3] == 0, "the broker takes us"
        yield client
        client.sendall(b"\xc0\x00")  # a question whether it is there: answered behind all that came before
        assert client.recv(2) == b"\xd0\x00"


def published(topic: str, payload: bytes) -> bytes:
    """A message of QoS 0, as it travels."""
    body = len(topic).to_bytes(2, "big") + topic.encode() + b"\x00" + payload
    return b"\x30" + length(len(body)) + body


def length(count: int) -> bytes:
    """As MQTT has it (1.5.5), of less than 16384."""
    return bytes([count]) if count < 128 else bytes([count % 128 | 128, count // 128])


def assert_nothing_but(store: Memory, mosquitto: Mosquitto, tmp_path: Path) -> None:
    """A batch that is sent the right way comes: it went behind what must not come, which would be there by now."""
    one = opened(mosquitto, tmp_path / "sound", "s/sound")
    one.put(batch("s/sound", uuid4(), 0, 1000.0))
    until(lambda: settled([one]), "the sound one is confirmed")
    assert store.values == [1000.0 + i for i in range(10)]
    one.close()


def test_a_password_does_not_travel_readable_over_a_network():
    with pytest.raises(UsageError, match="could read the password"):
        Publisher(Broker("10.0.0.1", user="agent", password="secret", insecure=True), "x", "y")


def test_nothing_travels_to_another_host_without_tls_unless_it_is_asked_for():
    with pytest.raises(UsageError, match="Without TLS, anyone on the network path.*--insecure"):
        Publisher(Broker("10.0.0.1", 1883), "x", "y")
    with contextlib.closing(Publisher(Broker("127.0.0.1", 1), "x", "y")):
        pass
    with contextlib.closing(Publisher(Broker("this-host-is-not-there.invalid", 1, insecure=True), "x", "y")):
        pass


def test_a_broker_that_cannot_be_one_is_a_sentence():
    for host, port in (("", 8883), ("here", 0), ("here", 65536)):
        with pytest.raises(UsageError, match="is not an address of a broker"):
            Publisher(Broker(host, port), "x", "y")


def test_certificates_that_are_missing_or_none_are_sentences(tmp_path):
    with pytest.raises(UsageError, match=r"'.*none\.pem' does not exist"):
        Publisher(Broker("10.0.0.1", ca=tmp_path / "none.pem"), "x", "y")
    (tmp_path / "no.pem").write_text("no certificate")
    with pytest.raises(UsageError, match=r"'.*no\.pem' cannot be read as a certificate"):
        Publisher(Broker("10.0.0.1", ca=tmp_path / "no.pem"), "x", "y")
    with pytest.raises(UsageError, match="needs a certificate"):
        Publisher(Broker("10.0.0.1", key=tmp_path / "no.pem", ca=tmp_path / "no.pem"), "x", "y")


def test_without_the_package_there_is_a_sentence_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(UsageError, match=r"-m pip install 'paho-mqtt>=2'"):
        Publisher(Broker("127.0.0.1"), "x", "y")
