"""The embedded store: what is written is what is read, once, whatever is killed, damaged or written twice."""

import contextlib
import gc
import itertools
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.plain import to_json
from steelyard.model.sensor import Rollup, Sensor
from steelyard.power.message import Batch, Gap
from steelyard.power.rollup import LEVELS
from steelyard.power.stores._database import FILE
from steelyard.power.stores._packing import pack, unpack
from steelyard.power.stores._tidying import is_stored
from steelyard.power.stores.embedded import Embedded

START = 1_790_000_000_000_000_000
RAIL = Sensor("rail", "power", "BMC", window=1.12)
SOCKET = Sensor("rapl/package-0", "energy", "RAPL", range=262144.0)
NODE = "cluster/node1"
WRITER = UUID(int=7)


def batch(
    sequence: int, values: Sequence[float], sensor: str = "rail", node: str = NODE, writer: UUID = WRITER
) -> Batch:
    """Readings a second apart, the first after as many seconds as the sequences before it had."""
    at = START + (1000 * sequence + np.arange(len(values))) * 10**9
    return Batch(
        node, writer, sequence, (sensor,), np.zeros(len(values), dtype=np.uint16), at, np.array(values, dtype=float)
    )


@pytest.fixture
def store(tmp_path: Path) -> Embedded:
    made = Embedded(tmp_path / "store", make=True)
    made.describe(NODE, [RAIL, SOCKET])
    return made


def test_what_is_written_is_read_by_another(store: Embedded, tmp_path: Path) -> None:
    store.write([batch(1, [80.0, 81.5]), batch(2, [7.0], "rapl/package-0")])
    other = Embedded(tmp_path / "store")
    trace = other.trace(NODE, "rail")
    assert (trace.sensor, trace.value.tolist()) == (RAIL, [80.0, 81.5])
    assert trace.at.tolist() == [START + 1000 * 10**9, START + 1001 * 10**9]
    assert other.trace(NODE, "rapl/package-0").value.tolist() == [7.0]
    assert other.sensors() == {NODE: (RAIL, SOCKET)}
    assert other.trace(NODE, "rail", START + 1001 * 10**9).value.tolist() == [81.5]
    assert other.trace(NODE, "rail", 0, START).value.tolist() == []


def test_a_store_that_nobody_uses_any_more_is_closed(store: Embedded, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        assert Embedded(tmp_path / "store").count() == 0
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 5


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0, 1]), st.integers(0, 3)), max_size=25))
def test_each_batch_is_kept_once(tmp_path_factory: pytest.TempPathFactory, told: list[tuple[int, int, int]]) -> None:
    folder = tmp_path_factory.mktemp("store")
    made = Embedded(folder, make=True)
    made.describe(NODE, [RAIL])
    sent = {(s, w): batch(s + 100 * w, [float(s)] * n, writer=UUID(int=w)) for s, w, n in told}
    for place in range(0, len(told), 4):
        made.write([sent[s, w] for s, w, _ in told[place : place + 4]])
    Embedded(folder).write([sent[s, w] for s, w, _ in told])  # all of it again, by another collector
    expected = sorted((int(at), float(v)) for b in sent.values() for at, v in zip(b.at, b.value, strict=True))
    trace = Embedded(folder).trace(NODE, "rail")
    assert list(zip(trace.at.tolist(), trace.value.tolist(), strict=True)) == expected
    assert Embedded(folder).count() == len(expected)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 12), min_size=1), st.sampled_from([0, 2**63 - 6, 2**64 - 13]))
def test_batches_that_became_parts_are_known_as_stretches(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], least: int
) -> None:
    made = Embedded(tmp_path_factory.mktemp("store"), make=True)
    for number in numbers:
        made.write([replace(batch(1, [float(number)]), sequence=least + number)])
        if number % 3 == 0:
            made.tidy(START)
    made.tidy(START)
    with made._database.reading() as base:
        for number in range(-1, 14):
            key = (NODE, WRITER.bytes, least + number - 2**63)
            if abs(key[2]) < 2**63:
                assert is_stored(base, key) == (number in numbers), number
        kept = base.execute("select first, last from stored order by first").fetchall()
    assert all(later[0] > sooner[1] + 1 for sooner, later in itertools.pairwise(kept))
    assert made.count() == len({*numbers})


def asked(store: Path, question: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a question to the database, or what it changes."""
    with contextlib.closing(sqlite3.connect(store / FILE)) as base, base:
        return base.execute(question, values).fetchall()


def test_many_small_batches_become_a_part_of_each_hour(store: Embedded, tmp_path: Path) -> None:
    for sequence in range(8):
        store.write([batch(sequence, [float(sequence)])])
        store.tidy(START)  # no hour is over
    assert len(asked(tmp_path / "store", "select 1 from parts")) == 8
    store.tidy(START + 40 * HOUR)
    assert asked(tmp_path / "store", "select hour, count(*) from parts group by 1 having count(*) > 1") == []
    assert Embedded(tmp_path / "store").trace(NODE, "rail").value.tolist() == [float(n) for n in range(8)]
    store.write([batch(5, [99.0])])  # stored before, and moved since
    assert store.count() == 8


def test_an_hour_of_many_readings_is_several_parts(store: Embedded, tmp_path: Path) -> None:
    at = START // HOUR * HOUR + np.arange(20_000, dtype=np.int64) * 10**6
    for sequence in range(8):
        number = np.zeros(len(at), np.uint16)
        store.write([Batch(NODE, WRITER, sequence, ("rail",), number, at + sequence * len(at) * 10**6, at * 1e-18)])
    before = store.trace(NODE, "rail")
    store.tidy(START + 40 * HOUR)
    assert asked(tmp_path / "store", "select readings from parts order by first") == [(65536,), (65536,), (28928,)]
    after = store.trace(NODE, "rail")
    assert (before.at == after.at).all()
    assert (before.value == after.value).all()


@given(
    st.lists(
        st.one_of(st.floats(), st.integers(-(10**9), 10**9).map(lambda n: n / 10), st.just(-0.0)),
        max_size=30,
    ),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=30, max_size=30),
)
def test_columns_are_unpacked_to_the_last_bit(values: list[float], whole: list[int]) -> None:
    value, number = np.array(values, dtype=float), np.array(whole[: len(values)], dtype=np.int64)
    found = unpack(pack([number, value]), 2)
    assert (found[0] == number).all()
    assert (found[1].view(np.int64) == value.view(np.int64)).all()


def test_a_store_that_is_being_made_by_another_is_joined(tmp_path: Path) -> None:
    (tmp_path / "store" / ".steelyard-left-by-a-killed-one").mkdir(parents=True)
    one, other = Embedded(tmp_path / "store", make=True), Embedded(tmp_path / "store", make=True)
    one.write([batch(1, [80.0])])
    other.write([batch(1, [80.0]), batch(2, [81.0])])
    assert one.count() == other.count() == 2


def test_a_full_disk_spoils_nothing(store: Embedded, tmp_path: Path) -> None:
    store.write([batch(2, [81.0])])
    there = (tmp_path / "store" / f"{FILE}-wal").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (there + 20, before[1]))  # room for a part of what is written next
    try:
        for write in (
            lambda: store.describe("cluster/node2", [RAIL]),
            lambda: store.write([batch(1, [80.0])]),
            lambda: store.tidy(START),
        ):
            with pytest.raises(MachineFailed, match="cannot be"):
                write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert store.count() == 1
    store.describe("cluster/node2", [RAIL])
    store.write([batch(1, [80.0])])
    store.tidy(START)
    assert Embedded(tmp_path / "store").sensors().keys() == {NODE, "cluster/node2"}
    assert Embedded(tmp_path / "store").trace(NODE, "rail").value.tolist() == [80.0, 81.0]


def test_gaps_are_kept_with_their_reason(store: Embedded, tmp_path: Path) -> None:
    gap = Gap(("rail",), START, START + 60 * 10**9, "buffer full")
    empty = Batch(NODE, WRITER, 9, (), np.empty(0, np.uint16), np.empty(0, np.int64), np.empty(0), (gap,))
    store.write([empty])
    store.write([empty])
    assert Embedded(tmp_path / "store").gaps(NODE) == [gap]
    assert Embedded(tmp_path / "store").gaps(NODE, START + 61 * 10**9) == []
    assert Embedded(tmp_path / "store").gaps("cluster/other") == []


@pytest.mark.parametrize("table", ["batches", "parts"])
def test_a_damaged_blob_is_left_out_and_named(table: str, store: Embedded, tmp_path: Path) -> None:
    for sequence, value in ((1, 80.0), (2, 81.0)):
        store.write([batch(sequence, [value])])
        if table == "parts":
            store.tidy(START)
    (first,) = asked(tmp_path / "store", f"select rowid, body from {table} order by first limit 1")
    asked(tmp_path / "store", f"update {table} set body = ? where rowid = ?", bytes([*first[1][:-1], 7]), first[0])
    found = Embedded(tmp_path / "store")
    assert found.trace(NODE, "rail").value.tolist() == [81.0]
    assert "is left out: it is damaged" in found.notes[0]
    assert NODE in found.notes[0]
    found.tidy(START + 40 * HOUR)
    found.write([batch(3, [1.0])])
    assert found.trace(NODE, "rail").value.tolist() == [81.0, 1.0]
    assert asked(tmp_path / "store", f"select rowid from {table} where rowid = ?", first[0]), "it stays"


def test_a_rollup_that_is_damaged_is_made_of_the_readings(store: Embedded, tmp_path: Path) -> None:
    hours_of(store, 2)
    store.tidy(FIRST + 40 * HOUR)
    before = rolled(store)
    asked(tmp_path / "store", "update rollups set body = x'00'")
    same(rolled(store), before)
    assert "rollup of cluster/node1/rail" in store.notes[0]


def test_mistakes_are_said(store: Embedded, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sensor 'none'"):
        store.trace(NODE, "none")
    with pytest.raises(UsageError, match="is not a store of readings"):
        Embedded(tmp_path)
    with pytest.raises(UsageError, match="contains other files"):
        Embedded(tmp_path, make=True)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "format.json").write_text('{"format": 1}')
    for make in (False, True):
        with pytest.raises(MachineFailed, match="old format 1.*power export.*new folder"):
            Embedded(tmp_path / "old", make)
    asked(tmp_path / "store", "pragma user_version = 3")
    with pytest.raises(MachineFailed, match="has the format 3, but this Steelyard reads only format 2"):
        Embedded(tmp_path / "store")
    asked(tmp_path / "store", "pragma application_id = 7")
    with pytest.raises(MachineFailed, match="another program wrote"):
        Embedded(tmp_path / "store")
    store.close()
    (tmp_path / "store" / FILE).write_bytes(b"no database " * 1000)
    with pytest.raises(MachineFailed, match="not a database"):
        Embedded(tmp_path / "store")


@pytest.mark.parametrize(
    "more",
    [
        "create trigger more after insert on batches begin delete from parts; end",
        "create view more as select 1",
        "create table more (x)",
        "drop index stale_hours",
    ],
)
def test_a_store_with_other_tables_is_refused(more: str, store: Embedded, tmp_path: Path) -> None:
    """A trigger or a view of a stranger would be carried out."""
    store.close()
    asked(tmp_path / "store", more)
    with pytest.raises(MachineFailed, match="its tables are not the tables of a store"):
        Embedded(tmp_path / "store")


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"])
def test_files_of_a_strangers_store_lead_nowhere(name: str, store: Embedded, tmp_path: Path) -> None:
    store.close()
    precious, place = tmp_path / "precious", tmp_path / "store" / name
    precious.write_text("kept")
    place.unlink(missing_ok=True)
    for lead in (lambda: place.symlink_to(precious), lambda: os.mkfifo(place), place.mkdir):
        lead()
        with pytest.raises(MachineFailed, match="not an ordinary file|a store never has"):
            Embedded(tmp_path / "store", make=True)
        place.rmdir() if place.is_dir() else place.unlink()
    assert precious.read_text() == "kept"


def test_a_page_that_leads_to_itself_ends_a_question(store: Embedded, tmp_path: Path) -> None:
    """Each entry of each page of a tree may be the same page: it would be walked through for years."""
    store._database.close()
    file = tmp_path / "store" / FILE
    ((root,),) = asked(tmp_path / "store", "select rootpage from sqlite_master where name = 'parts'")
    data = bytearray(file.read_bytes())
    size = int.from_bytes(data[16:18])
    for level in range(18):
        child = len(data) // size + (1 if level == 0 else 2)
        page = bytearray(size)
        cells = 400
        page[:12] = b"\x05\0\0" + cells.to_bytes(2) + (size - 5).to_bytes(2) + b"\0" + child.to_bytes(4)
        for cell in range(cells):
            page[12 + 2 * cell : 14 + 2 * cell] = (size - 5).to_bytes(2)
        page[-5:] = child.to_bytes(4) + b"\1"
        if level == 0:
            data[(root - 1) * size : root * size] = page
        else:
            data += page
    data += b"\x0d" + bytes(size - 1)
    data[28:32] = (len(data) // size).to_bytes(4)
    file.write_bytes(data)
    began = time.process_time()
    with pytest.raises(MachineFailed, match="cannot be read"):
        print(Embedded(tmp_path / "store").count())
    assert time.process_time() - began < 60


def test_a_folder_without_the_right_to_write_can_be_read(
    store: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write([batch(1, [80.0])])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    beside = Embedded(tmp_path / "store")
    assert beside.trace(NODE, "rail").value.tolist() == [80.0]
    beside.close()
    store.close()
    found = Embedded(tmp_path / "store")
    assert found.trace(NODE, "rail").value.tolist() == [80.0]
    with pytest.raises(MachineFailed, match="cannot be written: attempt to write a readonly database"):
        found.write([batch(2, [81.0])])
    assert [path.name for path in (tmp_path / "store").iterdir()] == [FILE]


def test_a_store_whose_file_was_replaced_takes_nothing(store: Embedded, tmp_path: Path) -> None:
    """What is written into a file without a name would be lost."""
    (tmp_path / "store" / FILE).rename(tmp_path / "moved")
    with pytest.raises(MachineFailed, match="cannot be written: No such file"):
        store.write([batch(1, [80.0])])
    Embedded(tmp_path / "other", make=True).close()
    (tmp_path / "other" / FILE).rename(tmp_path / "store" / FILE)
    with pytest.raises(MachineFailed, match="its file was replaced"):
        store.write([batch(1, [80.0])])


def test_a_reason_of_a_gap_does_not_act_on_the_terminal(store: Embedded, tmp_path: Path) -> None:
    gap = to_json(Gap(("rail",), 1, 2, "\x1b[2J")).decode()
    asked(tmp_path / "store", "insert into gaps values (?, ?)", NODE, gap)
    (found,) = Embedded(tmp_path / "store").gaps(NODE)
    assert found.why == "\\x1b[2J"


@pytest.mark.parametrize("moment", [0, 1, 599 * 10**9, 3600 * 10**9, 2**62 - 1])
def test_a_clock_at_1970_or_far_ahead_does_not_keep_the_store_from_being_tidied(moment: int, store: Embedded) -> None:
    """The hour before 1970 has no rollups, and was made again and again."""
    store.write([replace(batch(1, [80.0]), at=np.array([moment]))])
    store.write([batch(2, [80.0])])
    store.tidy(time.time_ns())
    assert store.count() == 2


@pytest.mark.parametrize(
    "name", ["a b", "a[1]", "a*", "a?", "a'q", 'a"q', "a:c", "ä", "a\nb", "-a", "#a", "a?mode=ro", "a%41"]
)
def test_a_store_may_have_any_name(name: str, tmp_path: Path) -> None:
    """In the address of a database ? # % stand for something else: it must not read another store."""
    for place, value in (("aX", 1.0), (name, 2.0)):
        made = Embedded(tmp_path / place, make=True)
        made.describe(NODE, [RAIL])
        for sequence in range(3):
            made.write([batch(sequence, [value])])
        made.tidy(START + 10 * HOUR)
    assert set(Embedded(tmp_path / name).trace(NODE, "rail").value.tolist()) == {2.0}
    assert Embedded(tmp_path / name).count() == 3
    assert Embedded(tmp_path / name).rollup([(NODE, "rail")], 3600, 0, START + 10 * HOUR).mean.max() == 2.0


@pytest.mark.parametrize("text", ["[[[[", "\udcff", '[{"name": 1}]', "null", b"x", None])
def test_a_description_that_is_none_is_left_out(text: Any, store: Embedded, tmp_path: Path) -> None:
    text = text.encode(errors="surrogateescape") if isinstance(text, str) else text
    asked(tmp_path / "store", "insert into described values ('cluster/node2', ?)", text)
    asked(tmp_path / "store", "insert into described values ('cluster/\x1b[2J', '[]')")
    assert Embedded(tmp_path / "store").sensors() == {NODE: (RAIL, SOCKET)}


def test_a_store_in_a_file_s_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(MachineFailed, match="cannot be opened"):
        Embedded(tmp_path / "store", make=True)


HOUR = 3600 * 10**9
FIRST = START // (24 * HOUR) * 24 * HOUR  # a day begins


def hours_of(store: Embedded, count: int, first: int = 0) -> None:
    """A reading a second of two sensors, an hour a batch."""
    for hour in range(first, first + count):
        at = FIRST + hour * HOUR + np.arange(3600) * 10**9
        chance = np.random.default_rng(hour)
        for place, (sensor, value) in enumerate(
            (("rail", chance.uniform(50, 150, 3600)), ("rapl/package-0", np.cumsum(chance.uniform(1, 9, 3600))))
        ):
            number = np.zeros(3600, dtype=np.uint16)
            store.write([Batch(NODE, UUID(int=place), hour, (sensor,), number, at, np.round(value, 1))])


def rolled(store: Embedded, level: int = 60, start: int = FIRST, end: int = FIRST + 48 * HOUR) -> Rollup:
    return store.rollup([(NODE, "rail"), (NODE, "rapl/package-0")], level, start, end)


COLUMNS = ("number", "at", "count", "least", "mean", "greatest", "joules", "known")


def made_hours(store: Path) -> set[int]:
    """The hours that have their rollups."""
    return {hour for (hour,) in asked(store, "select hour from hours where not stale")}


def same(found: Rollup, other: Rollup) -> None:
    for name in COLUMNS:
        column, expected = (np.nan_to_num(getattr(one, name), nan=-1.0) for one in (found, other))
        assert column.shape == expected.shape, name
        assert (np.abs(column - expected) <= np.maximum(1e-6 * np.abs(expected), 1e-3)).all(), name


@pytest.mark.parametrize("level", LEVELS)
def test_kept_rollups_are_what_the_readings_give(store: Embedded, tmp_path: Path, level: int) -> None:
    hours_of(store, 4)
    before = rolled(store, level)
    assert len(before.at) == 2 * 4 * 3600 // level
    store.tidy(FIRST + 3 * HOUR + 20 * 60 * 10**9)  # three hours are over, the fourth is not
    assert made_hours(tmp_path / "store") == {FIRST // HOUR + hour for hour in range(-1, 3)}
    same(rolled(Embedded(tmp_path / "store"), level), before)
    some = rolled(store, level, FIRST + HOUR, FIRST + 2 * HOUR)
    assert set(some.at.tolist()) <= {FIRST + HOUR + k * level * 10**9 for k in range(3600 // level)}
    store.tidy(FIRST + 40 * HOUR)  # the day is over
    assert made_hours(tmp_path / "store") == {FIRST // HOUR + hour for hour in range(-1, 4)}
    same(rolled(Embedded(tmp_path / "store"), level), before)


def test_late_readings_make_rollups_anew(store: Embedded, tmp_path: Path) -> None:
    hours_of(store, 2)
    hours_of(store, 2, 3)
    store.tidy(FIRST + 40 * HOUR)
    hours_of(store, 1, 2)
    assert FIRST // HOUR in made_hours(tmp_path / "store")
    whole = Embedded(tmp_path / "whole", make=True)
    whole.describe(NODE, [RAIL, SOCKET])
    hours_of(whole, 5)
    same(rolled(store), rolled(whole))
    store.tidy(FIRST + 40 * HOUR)
    assert FIRST // HOUR + 2 in made_hours(tmp_path / "store")
    same(rolled(store), rolled(whole))


@pytest.mark.parametrize("described", ["never", "late", "another sensor"])
def test_readings_that_nobody_has_described_are_tidied_and_become_rollups_once_they_are(
    tmp_path: Path, described: str
) -> None:
    made, whole = (Embedded(tmp_path / name, make=True) for name in ("store", "whole"))
    whole.describe(NODE, [RAIL, SOCKET])
    if described == "another sensor":
        made.describe(NODE, [SOCKET])
    elif described == "late":
        made.describe("cluster/another", [RAIL])
    at = FIRST + np.arange(5, dtype=np.int64) * 10**9
    for each in (made, whole):  # alone in its hour
        each.write([Batch(NODE, WRITER, 0, ("rail",), np.zeros(5, np.uint16), at, np.ones(5))])
    made.tidy(FIRST + 40 * HOUR)
    made.write([batch(900, [1.0])])
    whole.write([batch(900, [1.0])])
    made.describe(NODE, [RAIL, SOCKET])
    for level in LEVELS:
        same(rolled(made, level), rolled(whole, level))
    made.tidy(FIRST + 40 * HOUR)
    assert FIRST // HOUR in made_hours(tmp_path / "store")
    same(rolled(Embedded(tmp_path / "store")), rolled(whole))


def test_a_sensor_that_cannot_be_summarized_costs_no_other_its_rollups(store: Embedded, tmp_path: Path) -> None:
    """Its window leads to moments that are no numbers."""
    store.describe("cluster/bad", [replace(RAIL, window=1e308)])
    store.write([batch(1, [1.0, 2.0], node="cluster/bad"), batch(1, [1.0, 2.0])])
    store.tidy(START + 40 * HOUR)
    (note,) = store.notes
    assert note.startswith("Some readings of cluster/bad/rail cannot be summarized:")
    rows = asked(
        tmp_path / "store",
        "select node, max(stale), (select count(*) from rollups r where r.node = h.node) from hours h group by 1",
    )
    assert [(node, stale, bool(rollups)) for node, stale, rollups in rows] == [
        ("cluster/bad", -1, False),
        (NODE, 0, True),
    ]
    assert store.trace("cluster/bad", "rail").value.tolist() == [1.0, 2.0]
    store.describe("cluster/bad", [RAIL])
    store.tidy(START + 40 * HOUR)
    assert {stale for (stale,) in asked(tmp_path / "store", "select stale from hours")} == {0}


def test_a_surprise_in_tidying_is_noted_and_ends_no_collection(
    store: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(*_: object) -> bool:
        raise ValueError("zip() argument 2 is longer than argument 1")

    monkeypatch.setattr("steelyard.power.stores._tidying.roll", surprise)
    monkeypatch.setattr("steelyard.power.stores.embedded.SELDOM", -1.0)
    for sequence in range(3):
        store.write([batch(sequence, [1.0])])
    assert store.count() == 3
    (note,) = store.notes
    assert "cannot be tidied up; nothing was removed: zip()" in note
    with pytest.raises(MachineFailed, match=r"zip\(\)"):
        store.tidy(time.time_ns())


def test_another_node_cannot_pass_its_batches_off_as_stored_ones_of_this(store: Embedded) -> None:
    empty = Batch("cluster/node2", WRITER, 5, (), np.empty(0, np.uint16), np.empty(0, np.int64), np.empty(0))
    store.write([empty])
    store.write([batch(5, [1.0, 2.0])])
    assert store.trace(NODE, "rail").value.tolist() == [1.0, 2.0]
    store.write([batch(5, [1.0, 2.0])])
    assert store.count() == 2, "the same of the same node is the same"


def test_what_is_old_is_removed_and_its_rollups_stay(store: Embedded, tmp_path: Path) -> None:
    hours_of(store, 3)
    hours_of(store, 6, 24)
    before = rolled(store)
    store.keep({"readings": 3600.0, "1s": 7200.0})
    store.tidy(FIRST + 31 * HOUR)
    found = Embedded(tmp_path / "store")
    left = found.trace(NODE, "rail").at
    assert FIRST + 24 * HOUR <= int(left[0]) <= FIRST + 29 * HOUR
    same(rolled(found), before)
    store.tidy(FIRST + 9000 * HOUR)  # a clock that is ahead removes no more: the newest reading says what is old
    assert len(found.trace(NODE, "rail").at) == len(left)
    assert len(rolled(found, 1, FIRST, FIRST + HOUR).at) == 0
    hours_of(found, 1)  # stored before
    assert len(found.trace(NODE, "rail").at) == len(left)


def test_a_clock_of_the_year_2100_neither_keeps_what_is_old_nor_fills_the_disk(store: Embedded, tmp_path: Path) -> None:
    """One reading of it in each batch: 1,000 old readings beside them are removed all the same."""
    year_2100, now = 4_102_444_800 * 10**9, START + 2000 * HOUR
    for sequence in range(10):
        one = batch(sequence, [50.0] * 101)
        one.at[100] = year_2100 + sequence
        store.write([one])
    (note,) = store.notes
    assert note.startswith("Readings of cluster/node1 have times that are more than one day in the future.")
    assert store.count() == 1010
    store.keep({"readings": 3600.0})
    store.write([batch(1000, [1.0])])  # a later one, by which the others are old
    store.tidy(now)
    left = store.trace(NODE, "rail").at
    assert [int(at) for at in left if at < year_2100] == [int(batch(1000, [1.0]).at[0])]
    assert len(left) == 11
    assert store.gaps(NODE) == [], "nothing counts as removed that has not come yet"
    asked(tmp_path / "store", "update parts set stored = ?", START)  # written long ago
    store.tidy(now)
    assert len(store.trace(NODE, "rail").at) == 1
    store.write([batch(9, [50.0] * 101)])
    assert len(Embedded(tmp_path / "store").trace(NODE, "rail").at) == 1, "a batch that comes again is known"


def test_readings_that_come_after_their_time_was_removed_are_named(store: Embedded) -> None:
    hours_of(store, 2)
    hours_of(store, 2, 24)
    store.keep({"readings": 3600.0})
    store.tidy(FIRST + 30 * HOUR)
    before = rolled(store)
    at = FIRST + 1 * HOUR + np.arange(5, dtype=np.int64)
    store.write([Batch(NODE, UUID(int=9), 1, ("rail",), np.zeros(5, dtype=np.uint16), at, np.ones(5))])
    same(rolled(store), before)
    assert [(gap.start, gap.end, gap.sensors) for gap in store.gaps(NODE)] == [(int(at[0]), int(at[-1]), ("rail",))]


WRITES = """
import sys
from pathlib import Path
from typing import Any
from uuid import UUID
import numpy as np
from steelyard.power.message import Batch
from steelyard.power.stores.embedded import Embedded
store = Embedded(Path(sys.argv[1]))
for sequence in range(int(sys.argv[2]), 10**6):
    at = int(sys.argv[3]) + (1000 * sequence + np.arange(3)) * 10**9
    number, value = np.zeros(3, dtype=np.uint16), np.full(3, float(sequence))
    store.write([Batch("cluster/node1", UUID(int=7), sequence, ("rail",), number, at, value)])
    print(sequence, flush=True)
    if sequence % 9 == 0:
        store.tidy(at[-1] + 5 * 3600 * 10**9)
"""


@pytest.mark.long
def test_two_writers_and_a_reader_do_not_disturb_each_other(store: Embedded, tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITES, tmp_path / "store", "0", str(START)]
    writers = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for _ in range(5):  # each of them stores what the other one has, too, and tidies up
            for writer in writers:
                assert writer.stdout
                last = int(writer.stdout.readline())
            found = store.trace(NODE, "rail").value.tolist()
            assert found == [float(s) for s in range(len(found) // 3) for _ in range(3)]
            assert len(found) > 3 * last
            assert store.count() >= len(found)
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert store.count() == len(store.trace(NODE, "rail").at), "none is there twice"


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.long)])
def test_what_was_acknowledged_survives_a_kill(store: Embedded, tmp_path: Path, kills: int) -> None:
    following = 0
    for turn in range(kills):
        words = [sys.executable, "-c", WRITES, tmp_path / "store", str(following), str(START)]
        writer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert writer.stdout
        last = writer.stdout.readline()  # it has begun
        time.sleep(0.02 * turn)
        os.kill(writer.pid, signal.SIGKILL)
        last = ([last, *writer.stdout.read().splitlines()][-1]) or last
        writer.wait()
        found = Embedded(tmp_path / "store").trace(NODE, "rail").value.tolist()
        whole = len(found) // 3
        assert found == [float(s) for s in range(whole) for _ in range(3)]
        assert whole > int(last)
        following = whole
    assert store.notes == []
