"""Readings a second through a real broker: an agent's encoder, buffer and client, mosquitto, a collector, a null store.

All parts on this machine, each a process of its own; counted at both ends. What is expected: a million a second with 1000
readings a message on two cores. Needs Debian's mosquitto, and paho-mqtt (the extra "power").
"""

import argparse
import multiprocessing
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.synchronize import Event
from pathlib import Path
from uuid import uuid4

import numpy as np

from steelyard.model.sensor import Sensor
from steelyard.power.broker import Broker, Publisher, Subscriber
from steelyard.power.buffer import Buffer
from steelyard.power.collector import Collector, subscriptions
from steelyard.power.message import Batch
from steelyard.power.sender import Sender
from steelyard.power.topics import Topics

TOPICS = Topics()
NODE = "bench/n1"
SENSORS = tuple(Sensor(f"rapl/package-{i}", "energy", "bench") for i in range(16))
SETTINGS = """listener {port} 127.0.0.1
allow_anonymous true
persistence false
max_inflight_messages 0
max_queued_messages 0
"""


class Null:
    """A store that counts, and keeps nothing."""

    def __init__(self) -> None:
        self.readings = 0

    def write(self, batches: Sequence[Batch]) -> None:
        self.readings += sum(len(batch.at) for batch in batches)

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        pass


def collect(port: int, expected: int, ready: Event, seconds: "multiprocessing.Queue[tuple[int, float]]") -> None:
    """The collector's process: until it has as many readings as were sent."""
    inbox = Subscriber(Broker("127.0.0.1", port), f"bench-{uuid4()}", subscriptions(TOPICS))
    store = Null()
    collector = Collector(inbox, store, TOPICS)
    while not inbox.connected:
        time.sleep(0.01)
    time.sleep(0.5)  # the subscription is on its way
    ready.set()
    while store.readings < expected:
        collector.step()
    seconds.put((store.readings, _processor()))
    inbox.close()


def send(port: int, messages: int, size: int) -> tuple[float, int]:
    """The agent's side, in this process: seconds until every batch is confirmed, and how many were sent again."""
    link = Publisher(Broker("127.0.0.1", port), f"bench-{uuid4()}", TOPICS.stored(NODE))
    while not link.connected:
        time.sleep(0.01)
    time.sleep(0.5)
    names = tuple(sensor.name for sensor in SENSORS)
    number = (np.arange(size) % len(names)).astype(np.uint16)
    moments, values, writer = np.arange(size) + time.time_ns(), np.random.default_rng(1).random(size), uuid4()
    with tempfile.TemporaryDirectory() as folder:
        sender = Sender(link, Buffer(Path(folder)), TOPICS, NODE, SENSORS)
        start = time.perf_counter()
        for sequence in range(messages):
            sender.put(Batch(NODE, writer, sequence, names, number, moments + sequence * size, values))
            while sequence % 16 == 15 and sender.pump(time.monotonic()) and sender.backlog > 512:
                time.sleep(0.001)
        while sender.pump(time.monotonic()):
            time.sleep(0.001)
        taken = time.perf_counter() - start
        sender.close()
    return taken, sender.resent


def _processor(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Starts the three, and prints what came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=int, default=5_000_000)
    parser.add_argument("--size", type=int, nargs="+", default=[1000, 100], help="readings a message")
    asked = parser.parse_args()
    for size in asked.size:
        messages = asked.readings // size
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with tempfile.TemporaryDirectory() as folder:
            settings = Path(folder) / "mosquitto.conf"
            settings.write_text(SETTINGS.format(port=port))
            broker = subprocess.Popen(("mosquitto", "-c", str(settings)), stderr=subprocess.DEVNULL)
            ready, seconds = multiprocessing.Event(), multiprocessing.Queue()
            collector = multiprocessing.Process(target=collect, args=(port, messages * size, ready, seconds))
            before = _processor()
            collector.start()
            ready.wait()
            taken, resent = send(port, messages, size)
            came, processor = seconds.get()
            collector.join()
            sent = _processor() - before
            others = _processor(resource.RUSAGE_CHILDREN)
            broker.terminate()
            broker.wait()
            brokers = _processor(resource.RUSAGE_CHILDREN) - others
        print(
            f"{size} readings a message: {messages * size} sent, {came} came, {resent} messages sent again; {taken:.2f} s, "
            f"{messages * size / taken:,.0f} readings/s, {messages / taken:,.0f} messages/s; processor: sender {sent:.2f} s, "
            f"broker {brokers:.2f} s, collector {processor:.2f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
