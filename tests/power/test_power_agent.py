"""The agent and the collector with a clock, a broker and a store that the test holds in its hand."""

import errno
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Reading, Sensor
from steelyard.power import message
from steelyard.power.agent import Agent, Cost
from steelyard.power.broker import Received
from steelyard.power.buffer import Buffer
from steelyard.power.collector import Collector, list_subscriptions
from steelyard.power.message import Batch, Gap
from steelyard.power.sender import AGAIN, PATIENCE, WINDOW, Direct, Sender, Taken
from steelyard.power.topics import Topics, write_receipt

SECOND = 1_000_000_000  # ns
EPOCH = 1_700_000_000 * SECOND
TOPICS = Topics()
NODE = "s/n"


@dataclass
class Watch:
    """A clock that goes on only while someone sleeps, or a device takes its time."""

    now: float = 0.0
    epoch: int = EPOCH
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> int:
        return self.epoch + round(self.now * SECOND)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Meter:
    """A device with `count` sensors; `took[i]` seconds for its i-th reading, `fails(i)` says whether that one fails."""

    clock: Watch
    count: int = 1
    name: str = "meter"
    took: dict[int, float] = field(default_factory=dict)
    fails: Callable[[int], bool] = lambda i: False
    value: Callable[[int], float] = float
    asked: int = 0
    closed: bool = False

    @property
    def sensors(self) -> Sequence[Sensor]:
        return [Sensor(f"{self.name}/{i}", "power", "test") for i in range(self.count)]

    def read(self) -> Sequence[Reading]:
        number, self.asked = self.asked, self.asked + 1
        if self.fails(number):
            raise OSError(errno.EIO, "the bus\nis gone")
        at = self.clock.wall()
        self.clock.now += self.took.get(number, 0.0)
        return [Reading(sensor.name, at, self.value(number)) for sensor in self.sensors]

    def close(self) -> None:
        self.closed = True


@dataclass
class Memory:
    """A store that keeps each batch once, in memory; `full` makes it fail so many times."""

    batches: dict[tuple[UUID, int], Batch] = field(default_factory=dict)
    described: dict[str, tuple[Sensor, ...]] = field(default_factory=dict)
    full: int = 0
    writes: int = 0
    at_once: int = 1_000_000
    failing: bool = False

    def write(self, batches: Sequence[Batch]) -> None:
        self.writes += 1
        self.failing = self.full > 0
        if self.failing:
            self.full -= 1
            raise MachineFailed("No space is left.")
        for batch in batches:
            self.batches.setdefault((batch.writer, batch.sequence), batch)

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        self.described[node] = tuple(sensors)

    def probe(self, size: int) -> None:
        if self.failing:
            raise MachineFailed("No space is left.")

    @property
    def gaps(self) -> list[Gap]:
        return [gap for batch in self.batches.values() for gap in batch.gaps]

    def readings(self, sensor: str) -> list[tuple[int, float]]:
        found = []
        for batch in self.batches.values():
            if sensor in batch.sensors:
                of = batch.number == batch.sensors.index(sensor)
                found += zip(batch.at[of].tolist(), batch.value[of].tolist(), strict=True)
        return sorted(found)


@dataclass
class Wire:
    """A broker between one agent and one collector that can be down, and forget what it has taken."""

    connected: bool = True
    connections: int = 1
    window: int = 128
    taking: bool = True
    listening: bool = True
    came: deque[tuple[str, bytes, bool]] = field(default_factory=deque)
    stored: list[bytes] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)
    closed: bool = False

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> Callable[[], Taken]:
        assert self.connected
        taken: Taken = ("taken" if self.listening else "unheard") if self.taking else ""
        if taken != "unheard":
            self.came.append((topic, payload, retain))
        return lambda: taken

    def receipts(self) -> list[bytes]:
        stored, self.stored = self.stored, []
        return stored

    def take(self, most: int, linger: float) -> Sequence[Received]:
        count = min(most, len(self.came))
        came = [self.came.popleft() for _ in range(count)]
        return [Received(topic, payload, 1, 1, number) for number, (topic, payload, _) in enumerate(came)]

    def acknowledge(self, received: Received) -> None:
        self.acknowledged.append(received.number)

    def confirm(self, topic: str, payload: bytes) -> None:
        assert topic == TOPICS.stored(NODE)
        self.stored.append(payload)

    def close(self) -> None:
        self.closed = True


def batch(sequence: int, readings: int = 1) -> Batch:
    at = EPOCH + sequence * SECOND + np.arange(readings)
    return Batch(
        NODE, UUID(int=1), sequence, ("p",), np.zeros(readings, np.uint16), at, np.full(readings, float(sequence))
    )


def direct(
    clock: Watch, *devices: Meter, period: float, moments: int, store: Memory | None = None
) -> tuple[Agent, Memory]:
    store = store or Memory()
    sensors = [sensor for device in devices for sensor in device.sensors]
    agent = Agent(NODE, devices, Direct(store, NODE, sensors), period, clock)
    agent.run(moments)
    return agent, store


def test_moments_do_not_drift_however_long_each_reading_takes():
    clock = Watch()
    meter = Meter(clock, took={i: 0.003 * (i % 7) for i in range(1000)})
    agent, store = direct(clock, meter, period=0.1, moments=1000)
    ats = [at for at, _ in store.readings("meter/0")]
    assert max(abs(at - EPOCH - i * SECOND // 10) for i, at in enumerate(ats)) < 1000
    assert (agent.counts.missed, agent.counts.readings) == (0, 1000)


def test_a_moment_that_is_missed_is_left_out_and_counted_and_the_next_is_in_step():
    clock = Watch()
    agent, store = direct(clock, Meter(clock, took={2: 0.35}), period=0.1, moments=5)
    assert [round((at - EPOCH) / SECOND, 3) for at, _ in store.readings("meter/0")] == [0.0, 0.1, 0.2, 0.6, 0.7]
    assert agent.counts.missed == 3


def test_a_batch_has_100_readings_or_those_of_a_second():
    clock = Watch()
    _, many = direct(clock, Meter(clock, count=30), period=0.01, moments=10)
    assert [len(batch.at) for batch in many.batches.values()] == [100, 100, 100]
    _, few = direct(clock, Meter(clock), period=0.25, moments=12)
    assert [len(batch.at) for batch in few.batches.values()] == [5, 5, 2]
    _, rare = direct(clock, Meter(clock), period=5.0, moments=3)
    assert [len(batch.at) for batch in rare.batches.values()] == [1, 1, 1]


def test_each_reading_keeps_its_sensor_moment_and_value():
    clock = Watch()
    _, store = direct(clock, Meter(clock, count=7), Meter(clock, name="other"), period=0.01, moments=40)
    for sensor in (*(f"meter/{i}" for i in range(7)), "other/0"):
        assert store.readings(sensor) == [(EPOCH + i * SECOND // 100, float(i)) for i in range(40)]
    assert len(store.described[NODE]) == 8


def test_a_device_that_fails_is_a_gap_and_is_tried_again_while_the_others_go_on():
    clock = Watch()
    broken, sound = Meter(clock, name="ipmi", fails=lambda i: 3 <= i < 6), Meter(clock)
    _, store = direct(clock, broken, sound, period=0.5, moments=40)
    assert len(store.readings("meter/0")) == 40
    assert broken.asked < 40  # after 1, 2 and 4 seconds
    ats = [at for at, _ in store.readings("ipmi/0")]
    (gap,) = store.gaps
    assert (gap.sensors, gap.why) == (("ipmi/0",), "[Errno 5] the bus is gone")
    assert (gap.start - EPOCH, gap.end - EPOCH) == (1.5 * SECOND, 8.5 * SECOND)
    assert not [at for at in ats if gap.start <= at < gap.end]
    assert gap.end in ats


def test_a_failure_that_lasts_is_recorded_while_it_lasts_and_asks_ever_less_often():
    clock = Watch()
    broken = Meter(clock, fails=lambda i: True)
    _, store = direct(clock, broken, period=1.0, moments=3600)
    assert store.gaps[0].start == EPOCH
    assert store.gaps[-1].end == clock.wall()
    assert all(one.end == other.start for one, other in zip(store.gaps, store.gaps[1:], strict=False))
    assert len(store.gaps) == pytest.approx(360, abs=2)
    assert broken.asked < 70
    assert broken.closed


def test_a_clock_that_is_set_back_during_a_failure_still_gives_gaps_that_travel():
    clock = Watch()
    meter = Meter(clock, fails=lambda i: True)
    sets = Meter(clock, name="sets")

    def value(number: int) -> float:
        clock.epoch -= 3600 * SECOND if number == 5 else 0
        return 1.0

    sets.value = value
    _, store = direct(clock, meter, sets, period=1.0, moments=10)
    assert all(message.encode(batch) for batch in store.batches.values())
    assert store.gaps
    assert len(store.readings("sets/0")) == 10


def test_what_is_no_number_or_of_no_known_sensor_is_counted_and_left_out():
    clock = Watch()
    meter = Meter(clock, value=lambda i: float("nan") if i % 2 else 1.0)
    agent, store = direct(clock, meter, period=1.0, moments=10)
    assert (agent.counts.senseless, len(store.readings("meter/0"))) == (5, 5)


def test_readings_that_the_store_did_not_take_are_a_gap():
    clock = Watch()
    _, store = direct(clock, Meter(clock), period=2.0, moments=10, store=Memory(full=3))
    assert [(gap.start, gap.end) for gap in store.gaps] == [(EPOCH, EPOCH + 4 * SECOND)]
    assert "No space" in store.gaps[0].why
    assert [value for _, value in store.readings("meter/0")] == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]


def test_the_agents_own_cost_is_a_sensor():
    clock = Watch()
    cost = Cost()
    store = Memory()
    Agent(NODE, [cost], Direct(store, NODE, cost.sensors), 1.0, clock).run(3)
    processor, memory = (store.readings(sensor.name) for sensor in cost.sensors)
    assert [sensor.unit for sensor in cost.sensors] == ["s", "B"]
    assert 0 < processor[0][1] <= processor[-1][1]
    assert memory[0][1] > 1e6


@pytest.mark.parametrize(
    ("node", "devices", "words"),
    [
        ("n", [1], "Expected SYSTEM/NODE"),
        ("s/n/x", [1], "Expected SYSTEM/NODE"),
        ("s/#", [1], "Expected SYSTEM/NODE"),
        (NODE, [1, 1], "have the name 'meter/0'"),
        (NODE, [1001], "1001 sensors, and an agent reads at most 1000"),
    ],
)
def test_names_that_cannot_travel_are_refused_before_the_start(node, devices, words):
    clock = Watch()
    with pytest.raises(UsageError, match=words):
        Agent(node, [Meter(clock, count=count) for count in devices], Direct(Memory(), node, ()), 1.0, clock)


# Through a broker


def through(tmp_path: Path, wire: Wire, limit: int = 1 << 20, segment: int = 1 << 12) -> Sender:
    return Sender(wire, Buffer(tmp_path / "buffer", limit, segment), TOPICS, NODE, Meter(Watch()).sensors)


def values(store: Memory) -> list[float]:
    return [value for _, value in store.readings("p")]


def test_what_is_sampled_is_in_the_store_and_the_buffer_is_empty(tmp_path):
    clock, wire, store = Watch(), Wire(), Memory()
    sender = through(tmp_path, wire)
    collector = Collector(wire, store, TOPICS, clock)
    Agent(NODE, [Meter(clock)], sender, 1.0, clock).run(20)
    collector.step()
    sender.pump(0.0)
    assert [value for _, value in store.readings("meter/0")] == [float(i) for i in range(20)]
    assert store.described[NODE] == tuple(Meter(clock).sensors)
    assert sender.backlog == 0
    assert not [*(tmp_path / "buffer").iterdir()]
    assert wire.closed


def test_without_a_broker_all_is_kept_and_sent_later_in_order(tmp_path):
    wire, store = Wire(connected=False), Memory()
    sender = through(tmp_path, wire)
    for sequence in range(1000):
        assert not sender.put(batch(sequence))
        assert not sender.pump(float(sequence))
    wire.connected = True
    collector = Collector(wire, store, TOPICS, Watch())
    while sender.pump(1000.0):
        assert len(wire.came) <= wire.window + 1
        sent = [message.read_identity(payload)[1] for topic, payload, _ in wire.came if topic.endswith("readings")]
        assert sent == sorted(sent)
        collector.step()
    assert values(store) == [float(i) for i in range(1000)]


def test_no_more_is_on_the_way_than_the_window_and_the_broker_allow(tmp_path):
    wire = Wire(window=20, taking=False)
    sender = through(tmp_path, wire)
    for sequence in range(500):
        sender.put(batch(sequence))
        sender.pump(0.0)
    assert len(wire.came) == 20
    wire.came.clear()
    wire.window, wire.taking = 1000, True
    for _ in range(100):
        sender.pump(0.0)
    assert len(wire.came) == WINDOW - 19


def test_what_a_killed_broker_forgot_is_sent_again_and_stored_once(tmp_path):
    wire, store = Wire(), Memory()
    sender = through(tmp_path, wire)
    collector = Collector(wire, store, TOPICS, Watch())
    for sequence in range(10):
        sender.put(batch(sequence))
    sender.pump(0.0)
    collector.step()
    wire.stored.clear()  # the receipts of 0 to 9 are lost
    for sequence in range(10, 20):
        sender.put(batch(sequence))
    sender.pump(1.0)
    wire.came.clear()  # and the batches 10 to 19
    assert sender.pump(PATIENCE - 1)
    assert not wire.came
    while sender.pump(PATIENCE + 2):
        collector.step()
    assert values(store) == [float(i) for i in range(20)]
    assert collector.counts["batches"] == 30
    assert sender.resent == 20


def test_what_nobody_listened_to_is_sent_again_soon_and_then_ever_more_seldom(tmp_path):
    wire, store = Wire(listening=False), Memory()
    sender = through(tmp_path, wire)
    for sequence in range(3):
        sender.put(batch(sequence))
    tries, now = [], 0.0
    while now < 200:
        before = sender.resent
        sender.pump(now)
        if sender.resent > before:
            tries.append(now)
        now += 0.5
    waits = np.diff([0.0, *tries])
    assert waits[:6].tolist() == [AGAIN, 2.0, 4.0, 8.0, 16.0, PATIENCE]
    assert {*waits[6:].tolist()} == {PATIENCE}
    assert sender.resent == 3 * len(tries)
    # One new batch is enough for a collector that comes to be noticed: what waits follows within a second.
    wire.listening = True
    sender.put(batch(3))
    sender.pump(now)
    collector = Collector(wire, store, TOPICS, Watch())
    collector.step()
    sender.pump(now + 0.5)
    sender.pump(now + AGAIN)
    while sender.pump(now + AGAIN):
        collector.step()
    assert values(store) == [0.0, 1.0, 2.0, 3.0]


def test_the_next_agent_sends_what_the_last_one_left(tmp_path):
    first = through(tmp_path, Wire(connected=False))
    for sequence in range(100):
        first.put(batch(sequence))
    wire, store = Wire(), Memory()
    sender = through(tmp_path, wire)
    collector = Collector(wire, store, TOPICS, Watch())
    while sender.pump(0.0):
        collector.step()
    assert values(store) == [float(i) for i in range(100)]


def test_of_an_agent_with_a_full_buffer_every_reading_is_stored_or_in_a_gap(tmp_path):
    clock, wire, store = Watch(), Wire(connected=False), Memory()
    sender = through(tmp_path, wire, limit=20_000, segment=2_000)
    meter = Meter(clock)
    Agent(NODE, [meter], sender, 1.0, clock).run(1000)
    wire.connected = True
    collector = Collector(wire, store, TOPICS, clock)
    while sender.pump(0.0):
        collector.step()
    ats = {at for at, _ in store.readings("meter/0")}
    for moment in range(1000):
        at = EPOCH + moment * SECOND
        held = [gap for gap in store.gaps if gap.start <= at <= gap.end]
        assert (at in ats) != bool(held), moment
    assert 0 < len(ats) < 1000


def test_a_disk_that_takes_nothing_more_is_a_gap(tmp_path):
    sender = through(tmp_path, Wire(connected=False))
    folder = tmp_path / "buffer"
    folder.rmdir()  # root is refused nothing, but what is not there
    (gap,) = sender.put(batch(3, readings=5))
    assert (gap.start, gap.end, gap.sensors) == (EPOCH + 3 * SECOND, EPOCH + 3 * SECOND + 4, ("p",))
    assert gap.why.startswith("the buffer cannot be written: No such file")
    folder.mkdir()
    assert not sender.put(batch(4))
    assert sender.backlog == 1


# The buffer


@settings(max_examples=50)
@given(st.lists(st.binary(min_size=1, max_size=200), max_size=60), st.data())
def test_a_torn_end_costs_what_is_torn_and_nothing_before_it(tmp_path_factory, payloads, data):
    folder = tmp_path_factory.mktemp("torn")
    buffer = Buffer(folder, segment_size=1 << 20)
    for payload in payloads:
        buffer.append(payload)
    assert [payload for _, payload in Buffer(folder).payloads(0)] == payloads
    for path in folder.iterdir():
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))] + data.draw(st.binary(max_size=3)))
    again = Buffer(folder)
    kept = [payload for _, payload in again.payloads(0)]
    assert kept == payloads[: len(kept)]
    again.append(b"later")
    assert [payload for _, payload in Buffer(folder).payloads(0)] == [*kept, b"later"]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=80))
def test_what_is_confirmed_is_gone_and_all_else_stays_in_order(tmp_path_factory, steps):
    """Beside a list in memory: appended and confirmed in any order, in segments of a few records."""
    folder = tmp_path_factory.mktemp("buffer")
    buffer, expected, end = Buffer(folder, segment_size=100), {}, 0
    for appending, which in steps:
        if appending:
            expected[end] = b"x" * which
            assert not buffer.append(b"x" * which)
            end += 1
        else:
            buffer.confirm(which)
            expected.pop(which, None)
        assert dict(buffer.payloads(0)) == expected
        assert (buffer.end, buffer.first) == (end, min(expected, default=end))
    if not expected:
        assert not [*folder.iterdir()]


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineFailed, match="cannot be kept in '.*file/x': Not a directory"):
        Buffer(tmp_path / "file" / "x")
    (tmp_path / "mine.segment").write_text("")
    with pytest.raises(MachineFailed, match="it contains a segment with an unknown name"):
        Buffer(tmp_path)


# The collector


def test_nothing_is_acknowledged_before_the_store_has_it():
    wire, store = Wire(), Memory(full=3)

    class Watching(Watch):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            assert not wire.acknowledged
            assert not wire.stored

    clock = Watching()
    wire.came.extend((TOPICS.readings(NODE), message.encode(batch(i)), False) for i in range(5))
    collector = Collector(wire, store, TOPICS, clock)
    assert collector.step() == 5
    assert clock.slept == [1.0, 2.0, 4.0]
    assert wire.acknowledged == [0, 1, 2, 3, 4]
    assert wire.stored == [write_receipt((UUID(int=1), i) for i in range(5))]
    assert (store.writes, len(store.batches), collector.trouble) == (4, 5, "")


def test_what_is_hostile_is_counted_acknowledged_and_holds_nothing_up():
    wire, store = Wire(), Memory()
    sound = message.encode(batch(1))
    hostile = [
        (TOPICS.readings(NODE), sound[:-1]),
        (TOPICS.readings(NODE), bytes(10_000_000)),
        (TOPICS.readings(NODE), b"\x09" + sound[1:]),
        (TOPICS.readings(NODE), sound[:-1] + bytes([sound[-1] ^ 1])),
        (TOPICS.sensors(NODE), b"{}"),
        ("elsewhere", b"x"),
        ("", b""),
    ]
    wire.came.extend((topic, payload, False) for topic, payload in [*hostile, (TOPICS.readings(NODE), sound)])
    collector = Collector(wire, store, TOPICS, Watch())
    collector.step()
    refused = {"size": 2, "version": 1, "checksum": 1, "form": 1, "topic": 2}
    assert collector.counts == {**refused, "batches": 1, "readings": 1, "descriptions": 0}
    assert len(wire.acknowledged) == 8
    assert values(store) == [1.0]


def test_collectors_share_readings_and_each_is_given_what_is_retained():
    assert list_subscriptions(Topics("p"), ("/#",)) == ("$share/steelyard/p/#", "$share/steelyard//#", "p/+/+/sensors")


@pytest.mark.parametrize("kind", ["pipe", "device", "gigabyte"])
def test_a_segment_of_the_buffer_that_is_no_file_of_records_is_refused_or_left_out(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000001.segment"
    if kind == "gigabyte":
        with path.open("wb") as file:
            file.truncate(1 << 30)
        assert Buffer(tmp_path).first == Buffer(tmp_path).end == 0
        return
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    with pytest.raises(MachineFailed, match="it is not an ordinary file"):
        Buffer(tmp_path)
