"""From agents through a real Mosquitto and collectors into a store: how many readings a second, all parts on this machine.

    python bench/ingest.py [--store cassandra://127.0.0.1:19042/ingest] [--readings 20000000] [--each 1000] [--collectors 2]

Each agent publishes batches as fast as they are confirmed; the time is from its first batch to the receipt of its last, which a
collector sends when the store has it. At the end the store's readings are counted. A Cassandra is started by
`python tests/power/chain/cassandra_server.py FOLDER`.
"""

import argparse
import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np

from steelyard.model.sensor import Sensor
from steelyard.power.broker import Broker, Publisher
from steelyard.power.buffer import Buffer
from steelyard.power.message import Batch
from steelyard.power.sender import WINDOW, Sender
from steelyard.power.stores import open_store
from steelyard.power.topics import Topics

START = 1_790_000_000 * 10**9
STEP = 10**8  # ns: ten readings a second of each of ten sensors
SENSORS = tuple(Sensor(f"rail{number}", "power", "bench") for number in range(10))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--store", default="")
    asked.add_argument("--readings", type=int, default=20_000_000)
    asked.add_argument("--each", type=int, default=1000, help="readings of a message")
    asked.add_argument("--agents", type=int, default=2)
    asked.add_argument("--collectors", type=int, default=2)
    asked.add_argument("--agent", type=int, help=argparse.SUPPRESS)
    asked.add_argument("--port", type=int, help=argparse.SUPPRESS)
    asked.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.agent is not None:
        publish(given.agent, given.port, given.readings, given.each, given.folder)
    else:
        measure(given)


def measure(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        port = stack.enter_context(mosquitto(Path(folder)))
        store = given.store or f"{folder}/store"
        before = counted(store)
        collect = [
            sys.executable,
            "-m",
            "steelyard",
            "power",
            "collect",
            "--broker",
            f"127.0.0.1:{port}",
            "--store",
            store,
        ]
        for number in range(given.collectors):
            stack.enter_context(program([*collect, "--name", f"c{number}"]))
        time.sleep(10 if given.store else 2)
        mine = given.readings // given.agents // given.each * given.each
        words = [sys.executable, __file__, "--port", str(port), "--folder", folder]
        words += ["--readings", str(mine), "--each", str(given.each)]
        began = time.monotonic()
        agents = [
            subprocess.Popen([*words, "--agent", str(n)], stdout=subprocess.PIPE, text=True)
            for n in range(given.agents)
        ]
        said = [agent.communicate()[0] for agent in agents]
        print("".join(said), end="")
        seconds, sent = [float(line.split()[0]) for line in said], mine * given.agents
        where = "Cassandra" if given.store else "the embedded store"
        print(f"{sent / max(seconds):,.0f} readings/s into {where}, {given.each} a message")
        found = counted(store) - before
        same = "" if sent == found else ": NOT THE SAME"
        print(f"{sent:,} sent, {found:,} in the store{same}; {time.monotonic() - began:.0f} s in all")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} processor seconds of all parts but Cassandra")


def publish(number: int, port: int, readings: int, each: int, folder: Path) -> None:
    """An agent's sender with its buffer on disk: batches as fast as they are confirmed."""
    topics, node, writer = Topics(), f"cluster/n{number}-{os.getpid()}", uuid4()
    link = Publisher(Broker("127.0.0.1", port), f"agent{number}", topics.stored(node))
    while not (link.connected and link.subscribed):
        time.sleep(0.01)
    # What nobody takes is sent again after half a minute only: a collector has to be there first.
    while not (link.publish(topics.readings(node), b"is anybody there?") and _heard(link)):
        time.sleep(0.2)
    sender = Sender(link, Buffer(folder / f"agent{number}"), topics, node, SENSORS)
    chance = np.random.default_rng(number)
    values = [np.round(chance.normal(200, 20, each), 1) for _ in range(256)]
    of, names = (np.arange(each) % len(SENSORS)).astype(np.uint16), tuple(s.name for s in SENSORS)
    at = START + np.arange(each) // len(SENSORS) * STEP
    began, sequence, batches = time.monotonic(), 0, readings // each
    while sequence < batches or sender.backlog:
        while sequence < batches and sender.backlog < 2 * WINDOW:
            moments = at + sequence * (each // len(SENSORS)) * STEP
            sender.put(Batch(node, writer, sequence, names, of, moments, values[sequence % 256]))
            sequence += 1
        sender.pump(time.monotonic())
        time.sleep(0.005)
    taken = time.process_time()
    print(
        f"{time.monotonic() - began:.3f} s, {taken:.1f} of a processor, agent {number}; {sender.resent} batches sent again"
    )
    sender.close()


def _heard(link: Publisher) -> bool:
    time.sleep(0.5)
    return not link.trouble


def counted(store: str) -> int:
    with contextlib.closing(open_store(store, make=True)) as kept:
        return kept.count()


@contextlib.contextmanager
def mosquitto(folder: Path) -> Iterator[int]:
    found = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if not found:
        raise SystemExit("There is no mosquitto. As root, on Debian: apt-get install mosquitto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    (folder / "conf").write_text(
        f"user root\nlistener {port} 127.0.0.1\nallow_anonymous true\nmax_inflight_messages 1000\nmax_queued_messages 0\n"
    )
    with program([found, "-c", str(folder / "conf")]):
        time.sleep(0.5)
        yield port


@contextlib.contextmanager
def program(line: list[str]) -> Iterator[None]:
    with subprocess.Popen(line) as started:
        try:
            yield
        finally:
            started.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
