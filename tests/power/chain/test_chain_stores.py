"""What every store does, on a folder and on a real Cassandra."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from cassandra_server import Server
from test_attack_messages import Inbox

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Reading, Sensor, Trace
from steelyard.power.broker import Received
from steelyard.power.collector import Collector
from steelyard.power.message import Batch, Gap, encode
from steelyard.power.rollup import LEVELS, SECOND, roll_up
from steelyard.power.stores import Store, Unavailable, _place, open_store
from steelyard.power.topics import Topics

HOUR = 3600 * SECOND
START = 1_790_000_000 * SECOND // HOUR * HOUR
NODE = "cluster/node1"
RAIL = Sensor("rail", "power", "BMC", window=1.12)
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", range=262144.0)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    made = open_store(place, make=True)
    made.describe(NODE, [RAIL, SOCKET])
    yield made
    made.close()


def batch(sequence: int, begin: int, readings: int, step: int = SECOND, node: str = NODE) -> Batch:
    """Of both sensors in turn."""
    at = begin + step * np.arange(readings, dtype=np.int64)
    number = (np.arange(readings) % 2).astype(np.uint16)
    value = np.where(number == 0, 100.0 + np.arange(readings) % 7, 3.0 * (at - START) / SECOND + 1000)
    return Batch(node, UUID(int=5), sequence, ("rail", "rapl/package-0"), number, at, value)


def expected(batches: list[Batch], number: int) -> list[tuple[int, float]]:
    return sorted(
        (int(at), float(value))
        for each in batches
        for at, value, of in zip(each.at, each.value, each.number, strict=True)
        if of == number
    )


def pairs(trace: Trace) -> list[tuple[int, float]]:
    return list(zip(trace.at.tolist(), trace.value.tolist(), strict=True))


def test_what_is_written_is_read_by_another(store: Store, place: str) -> None:
    batches = [batch(1, START, 1500), batch(2, START + 1500 * SECOND, 5000), batch(3, START - 2 * SECOND, 2)]
    store.write(batches)
    other = open_store(place)
    assert other.sensors() == {NODE: (RAIL, SOCKET)}
    for number, sensor in enumerate((RAIL, SOCKET)):
        trace = other.trace(NODE, sensor.name)
        assert trace.sensor == sensor
        assert pairs(trace) == expected(batches, number)
    some = other.trace(NODE, "rail", START + 3500 * SECOND, START + 3700 * SECOND)
    assert pairs(some) == [p for p in expected(batches, 0) if START + 3500 * SECOND <= p[0] <= START + 3700 * SECOND]
    assert other.count() == 6502
    assert not len(other.trace(NODE, "rail", START + 100 * HOUR, START + 101 * HOUR).at)
    other.close()


def test_what_comes_again_is_stored_once(store: Store, place: str) -> None:
    store.write([batch(1, START, 300)])
    store.write([batch(1, START, 300), batch(2, START + 300 * SECOND, 10)])
    other = open_store(place)
    other.write([batch(2, START + 300 * SECOND, 10)])
    assert other.count() == store.count() == 310
    other.close()


def test_the_newest_reading_of_each_sensor_is_given(store: Store) -> None:
    begin = START // HOUR * HOUR + HOUR - 5 * SECOND  # so that another hour begins in it
    store.write([batch(1, begin, 10)])
    store.write([batch(2, begin - 3 * SECOND, 3)])  # which came late
    for start, end in ((begin, begin + 100 * SECOND), (begin, begin + 4 * SECOND), (begin + 3 * SECOND, begin + HOUR)):
        expected = {}
        for sensor in (RAIL, SOCKET):
            trace = store.trace(NODE, sensor.name, start, end)
            expected[NODE, sensor.name] = Reading(sensor.name, int(trace.at[-1]), float(trace.value[-1]))
        assert store.newest(start, end) == expected
    assert store.newest(begin + 10 * SECOND, begin + HOUR) == store.newest(begin - HOUR, begin - 4 * SECOND) == {}


@pytest.mark.parametrize("level", LEVELS)
def test_a_rollup_is_that_of_the_readings(store: Store, level: int) -> None:
    batches = [batch(n, START + 1000 * n * SECOND, 1000) for n in range(8)]
    store.write(batches)
    store.tidy(START + 100 * HOUR)
    found = store.rollup([(NODE, "rail"), (NODE, "rapl/package-0")], level, START, START + 2 * HOUR)
    for number, sensor in enumerate((RAIL, SOCKET)):
        whole = roll_up(NODE, store.trace(NODE, sensor.name), level, START, START + 2 * HOUR)
        mine = found.number == number
        assert found.at[mine].tolist() == whole.at.tolist()
        assert found.count[mine].tolist() == whole.count.tolist()
        for name in ("least", "mean", "greatest", "joules", "known"):
            one, other = getattr(found, name)[mine], getattr(whole, name)
            assert np.nan_to_num(one, nan=-1) == pytest.approx(np.nan_to_num(other, nan=-1), rel=1e-6, abs=1e-3), name


def test_gaps_are_kept_once(store: Store, place: str) -> None:
    gap = Gap(("rail",), START, START + 60 * SECOND, "buffer full")
    all_of_them = Gap((), START + HOUR, START + HOUR + SECOND, "the node was off")
    none = np.empty(0)
    empty = Batch(NODE, UUID(int=5), 9, (), none.astype(np.uint16), none.astype(np.int64), none, (gap, all_of_them))
    store.write([empty])
    store.write([empty])
    other = open_store(place)
    assert other.gaps(NODE) == [gap, all_of_them]
    assert other.gaps(NODE, START + 61 * SECOND) == [all_of_them]
    assert other.gaps("cluster/other") == []
    other.close()


def test_a_gap_of_as_many_sensors_as_fit_into_a_message_is_kept(store: Store) -> None:
    names = tuple(f"{number:03}/" + "n" * 124 for number in range(1000))
    none = np.empty(0)
    gap = Gap(names, START, START + SECOND, "é" * 500)
    store.write([Batch(NODE, UUID(int=5), 9, (), none.astype(np.uint16), none.astype(np.int64), none, (gap,))])
    found = store.gaps(NODE)
    assert {name for each in found for name in each.sensors} == {*names}
    assert {(each.start, each.end, each.why) for each in found} == {(gap.start, gap.end, gap.why)}


def test_a_trial_write_leaves_nothing(store: Store) -> None:
    store.write([batch(1, START, 10)])
    for _ in range(2):
        store.probe(500_000)
    assert store.count() == 10
    assert store.sensors().keys() == {NODE}


def test_a_message_of_many_hours_delays_another_node_by_at_most_5_s(store: Store) -> None:
    """Of the slow node, each reading is in an hour of its own; the other one sends a message when the first write is done.

    Where n programs share a processor, it takes n times as long.
    """
    many = 8000
    number, at = np.zeros(many, np.uint16), START - HOUR * np.arange(many)
    heavy = Batch("cluster/heavy", UUID(int=6), 1, ("rail",), number, at, np.ones(many))
    inbox = Inbox([Received(Topics().readings(heavy.node), encode(heavy), 1, 1, 1)])
    collector = Collector(inbox, store, Topics())
    collector.step()
    sent = time.monotonic()
    inbox.waiting.append(Received(Topics().readings(NODE), encode(batch(1, START, 10)), 1, 1, 2))
    while not len(store.trace(NODE, "rail").at):
        collector.step()
    assert time.monotonic() - sent < 5 * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))
    while len(inbox.acknowledged) < 2:
        collector.step()
    assert inbox.acknowledged == [1, 2]
    store.describe(heavy.node, [RAIL])
    assert len(store.trace(heavy.node, "rail").at) == many


def test_a_sensor_that_is_not_there_is_a_sentence(store: Store) -> None:
    with pytest.raises(UsageError, match="no sensor 'none'"):
        store.trace(NODE, "none")
    with pytest.raises(UsageError, match="of the node 'cluster/none'"):
        store.trace("cluster/none", "rail")


def test_names_that_are_hostile_stay_names(store: Store, place: str) -> None:
    name = "x'; drop table readings; --"
    store.describe("cluster/o'node", [Sensor(name, "power", "a 'source'")])
    store.write(
        [Batch("cluster/o'node", UUID(int=8), 1, (name,), np.zeros(2, np.uint16), START + np.arange(2), np.ones(2))]
    )
    other = open_store(place)
    assert len(other.trace("cluster/o'node", name).at) == 2
    other.close()


def test_readings_live_as_long_as_it_is_said(keyspace: str) -> None:
    store = open_store(keyspace, make=True)
    store.describe(NODE, [RAIL, SOCKET])
    store.keep({"readings": 2.0})
    store.write([batch(1, START, 10)])
    assert store.count() == 10
    store.keep({"readings": 1e12})
    store.write([batch(2, START + HOUR, 4)])
    time.sleep(3)
    assert store.count() == 4
    with pytest.raises(UsageError, match="cannot keep '1min'"):
        store.keep({"1min": 5.0})
    store.close()


def opened_again(place: str) -> Store:
    """Returns the store of a server that has just started, which may not answer in time on a busy machine."""
    until = time.monotonic() + 120
    while True:
        try:
            return open_store(place)
        except Unavailable:
            if time.monotonic() > until:
                raise


def test_a_cassandra_that_is_killed_has_what_it_acknowledged(cassandra: Server, keyspace: str) -> None:
    store = open_store(keyspace, make=True)
    store.describe(NODE, [RAIL, SOCKET])
    for turn in range(3):
        store.write([batch(turn, START + turn * HOUR, 1000)])
        cassandra.kill()
        with pytest.raises(MachineFailed, match="cannot be written"):
            store.write([batch(99, START + 50 * HOUR, 1000)])
        cassandra.start()
        store.close()
        store = opened_again(keyspace)
        assert len(store.trace(NODE, "rail", START, START + 10 * HOUR).at) == 500 * (turn + 1)
    store.close()


def test_a_server_that_accepts_but_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_place, "TIMEOUT", 0.5)
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(Unavailable, match=r"cannot be reached: no answer within 0\.5 s"):
        open_store(f"cassandra://127.0.0.1:{silent.getsockname()[1]}/x")


def test_mistakes_in_the_place(cassandra: Server, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no keyspace 'nobody'"):
        open_store(f"cassandra://127.0.0.1:{cassandra.port}/nobody")
    with pytest.raises(MachineFailed, match="cannot be reached"):
        open_store("cassandra://127.0.0.1:9/x")
    for wrong in (
        "cassandra://",
        "cassandra://a:1,b:2/x",
        "cassandra://a/no-name",
        "cassandra://a/x?tls=1",
        "cassandra://a:99999",
    ):
        with pytest.raises(UsageError, match="is not a valid place of a store"):
            open_store(wrong)
    with pytest.raises(UsageError, match="password file"):
        open_store("cassandra://me@127.0.0.1/x")
    with pytest.raises(UsageError, match="certificate"):
        open_store(f"cassandra://127.0.0.1/x?ca={tmp_path}/none.pem")
