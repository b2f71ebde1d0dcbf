"""The embedded store: what is written is what is read, once, whatever is killed, damaged or written twice."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import MachineFailed, UsageError
from steelyard.model.sensor import Rollup, Sensor
from steelyard.power.message import Batch, Gap
from steelyard.power.rollup import LEVELS
from steelyard.power.stores._rollups import Rollups
from steelyard.power.stores._segments import Sequences, database, files, metadata, named, written
from steelyard.power.stores._tidying import TIER
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


@given(st.lists(st.integers(0, 40)))
def test_sequences_are_kept_as_stretches(numbers: list[int]) -> None:
    found = Sequences()
    for number in numbers:
        found.add(number, number)
    assert [n for n in range(50) if n in found] == sorted(set(numbers))
    ends = [n for stretch in found.stretches for n in stretch]
    assert ends == sorted(ends)
    assert all(b[0] > a[1] + 1 for a, b in zip(found.stretches, found.stretches[1:], strict=False))


def test_many_small_segments_become_few(store: Embedded, tmp_path: Path) -> None:
    for sequence in range(2 * TIER):
        store.write([batch(sequence, [float(sequence)])])
    files = list((tmp_path / "store" / "segments").iterdir())
    assert len(files) < TIER
    assert Embedded(tmp_path / "store").trace(NODE, "rail").value.tolist() == [float(n) for n in range(2 * TIER)]
    store.write([batch(5, [99.0])])  # stored before, and merged since
    assert store.count() == 2 * TIER


def test_what_a_killed_writer_left_half_is_removed(store: Embedded, tmp_path: Path) -> None:
    half = tmp_path / "store" / "segments" / "1-2-3.parquet.making"
    half.write_bytes(b"PAR1")
    store.write([batch(1, [80.0])])
    assert not half.exists()
    assert store.count() == 1


def test_half_a_line_of_a_full_disk_spoils_no_description(store: Embedded, tmp_path: Path) -> None:
    there = (tmp_path / "store" / "sensors.jsonl").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (there + 20, before[1]))  # room for a part of the next line
    try:
        with pytest.raises(MachineFailed, match="cannot be written"):
            store.describe("cluster/node2", [RAIL])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "store" / "sensors.jsonl").stat().st_size == there + 20
    store.describe("cluster/node2", [RAIL])
    store.describe("cluster/node3", [RAIL])
    assert Embedded(tmp_path / "store").sensors().keys() == {NODE, "cluster/node2", "cluster/node3"}


def test_a_merge_that_was_killed_before_it_tidied_up_doubles_nothing(store: Embedded, tmp_path: Path) -> None:
    folder = tmp_path / "store" / "segments"
    kept = []
    for sequence in range(TIER - 1):
        store.write([batch(sequence, [float(sequence)])])
        kept = [(path, path.read_bytes()) for path in folder.iterdir()]
    store.write([batch(TIER - 1, [0.5])])
    for path, content in kept:
        path.write_bytes(content)
    assert Embedded(tmp_path / "store").count() == TIER


def test_gaps_are_kept_with_their_reason(store: Embedded, tmp_path: Path) -> None:
    gap = Gap(("rail",), START, START + 60 * 10**9, "buffer full")
    empty = Batch(NODE, WRITER, 9, (), np.empty(0, np.uint16), np.empty(0, np.int64), np.empty(0), (gap,))
    store.write([empty])
    store.write([empty])
    assert Embedded(tmp_path / "store").gaps(NODE) == [gap]
    assert Embedded(tmp_path / "store").gaps(NODE, START + 61 * 10**9) == []
    assert Embedded(tmp_path / "store").gaps("cluster/other") == []


def test_a_damaged_segment_is_left_out_and_named(store: Embedded, tmp_path: Path) -> None:
    store.write([batch(1, [80.0])])
    store.write([batch(2, [81.0])])
    first, _ = sorted((tmp_path / "store" / "segments").iterdir())
    first.write_bytes(first.read_bytes()[:100])
    found = Embedded(tmp_path / "store")
    assert found.trace(NODE, "rail").value.tolist() == [81.0]
    assert first.name in found.notes[0]
    for sequence in range(3, 3 + TIER):
        found.write([batch(sequence, [1.0])])
    assert first.exists()  # a merge leaves it alone


def test_mistakes_are_said(store: Embedded, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sensor 'none'"):
        store.trace(NODE, "none")
    with pytest.raises(UsageError, match="is no store of readings"):
        Embedded(tmp_path)
    (tmp_path / "store" / "format.json").write_text('{"format": 2}')
    with pytest.raises(MachineFailed, match="format 2"):
        Embedded(tmp_path / "store")
    (tmp_path / "store" / "format.json").write_text("{")
    with pytest.raises(MachineFailed, match="damaged"):
        Embedded(tmp_path / "store")


def rewritten(store: Path, **changed: object) -> Path:
    """The newest segment with other metadata, as a stranger's store may have it."""
    path = max((store / "segments").glob("*.parquet"), key=lambda found: found.stat().st_mtime_ns)
    about = replace(metadata([path])[path.name], **changed)  # type: ignore[type-var, arg-type]
    with database() as opened:
        made = written(
            path.parent, opened, f"select * from {files([named(path)])}", (named(path).first, named(path).last), about
        )
    path.unlink()
    return made.path


@pytest.mark.parametrize("name", ["../../precious", "../../precious.parquet", "/etc/passwd", "lock"])
def test_a_segment_replaces_nothing_but_segments(name: str, store: Embedded, tmp_path: Path) -> None:
    for file in (precious := [tmp_path / "precious", tmp_path / "precious.parquet"]):
        file.write_text("kept")
    store.write([batch(1, [80.0])])
    made = rewritten(tmp_path / "store", replaces=[name])
    other = Embedded(tmp_path / "store")
    other.tidy(time.time_ns())
    assert other.notes == [f"The segment {made.name} is left out: it says that it replaces what is no segment"]
    assert all(file.read_text() == "kept" for file in precious)
    assert (tmp_path / "store" / "lock").exists()


def test_a_reason_of_a_gap_does_not_act_on_the_terminal(store: Embedded, tmp_path: Path) -> None:
    store.write([batch(1, [80.0])])
    rewritten(tmp_path / "store", gaps=[(NODE, Gap(("rail",), 1, 2, "\x1b[2J"))])
    (gap,) = Embedded(tmp_path / "store").gaps(NODE)
    assert gap.why == "\\x1b[2J"


def test_a_merged_segment_names_what_it_replaces_and_not_what_that_replaced(store: Embedded, tmp_path: Path) -> None:
    """Else each would name all segments that there ever were of its day."""
    for sequence in range(TIER * TIER + 1):
        store.write([batch(sequence, [float(sequence)])])
    for path, about in metadata(list((tmp_path / "store" / "segments").glob("*.parquet"))).items():
        assert not isinstance(about, Exception)
        assert len(about.replaces) <= TIER, path
    assert len(store._index._replaced) <= TIER
    assert store.count() == TIER * TIER + 1


@pytest.mark.parametrize("moment", [0, 1, 599 * 10**9, 3600 * 10**9, 2**62 - 1])
def test_a_clock_at_1970_or_far_ahead_does_not_keep_the_store_from_being_tidied(moment: int, store: Embedded) -> None:
    """The hour before 1970 has no rollups, and was made again and again."""
    store.write([replace(batch(1, [80.0]), at=np.array([moment]))])
    store.write([batch(2, [80.0])])
    store.tidy(time.time_ns())
    assert store.count() == 2


@pytest.mark.parametrize("name", ["a b", "a[1]", "a*", "a?", "a'q", 'a"q', "a:c", "ä", "a\nb", "-a", "#a"])
def test_a_store_may_have_any_name(name: str, tmp_path: Path) -> None:
    """In DuckDB's SQL * ? [ stand for other letters: it must not read another store."""
    for place, value in (("aX", 1.0), (name, 2.0)):
        made = Embedded(tmp_path / place, make=True)
        made.describe(NODE, [RAIL])
        for sequence in range(TIER + 1):
            made.write([batch(sequence, [value])])
        made.tidy(START + 10 * HOUR)
    assert set(Embedded(tmp_path / name).trace(NODE, "rail").value.tolist()) == {2.0}
    assert Embedded(tmp_path / name).count() == TIER + 1
    assert Embedded(tmp_path / name).rollup([(NODE, "rail")], 3600, 0, START + 10 * HOUR).mean.max() == 2.0


def test_a_line_of_sensors_that_is_no_text_is_left_out(store: Embedded, tmp_path: Path) -> None:
    with (tmp_path / "store" / "sensors.jsonl").open("ab") as file:
        file.write(b'{"node": "\xdc", "sensors": []}\n[[[[\n')
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
    assert sorted(p.name for p in (tmp_path / "store" / "rollups" / "60").iterdir()) == [
        f"{(FIRST // HOUR) + h}-{(FIRST // HOUR) + h}.parquet" for h in range(-1, 3)
    ]
    same(rolled(Embedded(tmp_path / "store"), level), before)
    some = rolled(store, level, FIRST + HOUR, FIRST + 2 * HOUR)
    assert set(some.at.tolist()) <= {FIRST + HOUR + k * level * 10**9 for k in range(3600 // level)}
    store.tidy(FIRST + 40 * HOUR)  # the day is over
    assert (
        len(list((tmp_path / "store" / "rollups" / str(level)).iterdir())) == 2
    )  # the hour before the first is a day's of its own
    same(rolled(Embedded(tmp_path / "store"), level), before)


def test_late_readings_make_rollups_anew(store: Embedded, tmp_path: Path) -> None:
    hours_of(store, 2)
    hours_of(store, 2, 3)
    store.tidy(FIRST + 40 * HOUR)
    hours_of(store, 1, 2)
    hours = Rollups(tmp_path / "store").hours()
    assert FIRST // HOUR in hours
    assert FIRST // HOUR + 2 not in hours
    whole = Embedded(tmp_path / "whole", make=True)
    whole.describe(NODE, [RAIL, SOCKET])
    hours_of(whole, 5)
    same(rolled(store), rolled(whole))
    store.tidy(FIRST + 40 * HOUR)
    assert FIRST // HOUR + 2 in Rollups(tmp_path / "store").hours()
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
    assert FIRST // HOUR in Rollups(tmp_path / "store").hours()
    same(rolled(Embedded(tmp_path / "store")), rolled(whole))


def test_a_surprise_in_tidying_is_noted_and_ends_no_collection(
    store: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(*_: object) -> bool:
        raise ValueError("zip() argument 2 is longer than argument 1")

    monkeypatch.setattr("steelyard.power.stores._tidying.Tidying.hour", surprise)
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
    assert note.startswith("Readings of cluster/node1 are dated more than a day ahead.")
    assert store.count() == 1010
    store.keep({"readings": 3600.0})
    store.write([batch(1000, [1.0])])  # a later one, by which the others are old
    store.tidy(now)
    left = store.trace(NODE, "rail").at
    assert [int(at) for at in left if at < year_2100] == [int(batch(1000, [1.0]).at[0])]
    assert len(left) == 11
    assert store.gaps(NODE) == [], "nothing counts as removed that has not come yet"
    for path in (tmp_path / "store" / "segments").iterdir():
        os.utime(path, (START // 10**9, START // 10**9))  # written long ago
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
"""


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
