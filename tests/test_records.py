"""Run folders: appending, torn lines, hostile content, and reading back what was written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import records
from steelyard.errors import MachineFailed, UsageError
from steelyard.model import Case, Check, Launch, Machine, Plan, Record, Verdict
from steelyard.model.plain import from_plain, to_plain

PLAN = Plan("quick", 1, (Launch(1, "g.b", "gcc", 1, (Case("g.b", "k", {"threads": 1}),)),), 1.0)


def record(case: int = 0, **more: object) -> Record:
    made = Record(
        "g.b",
        "k",
        {"threads": 1},
        1,
        case,
        1,
        (1e-3, 2e-3),
        4,
        {"bytes": 8.0},
        Check(True, "ok"),
        Verdict("CLEAN"),
        {"cpus": [0]},
    )
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
def folder(two_sockets: Machine, tmp_path: Path) -> records.RunFolder:
    return records.RunFolder.create(tmp_path / "runs", two_sockets, PLAN, {"versions": {"steelyard": "0"}})


def test_a_run_comes_back_as_it_was_written(folder: records.RunFolder, two_sockets: Machine) -> None:
    folder.append(record(0))
    folder.append(record(1, error="it died"))
    folder.finish({})
    folder.close()
    run = records.read(folder.path)
    assert run.machine == two_sockets
    assert run.plan == PLAN
    assert list(run.records) == [record(0), record(1, error="it died")]
    assert run.finished
    assert run.notes == ()


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_left_out_and_said(folder: records.RunFolder, cut: int) -> None:
    for case in range(3):
        folder.append(record(case))
    folder.close()
    path = folder.path / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    run = records.read(folder.path)
    assert [r.case for r in run.records] == [0, 1]
    assert "torn" in run.notes[0]


def test_resuming_cuts_a_torn_line_so_that_the_next_record_is_whole(folder: records.RunFolder) -> None:
    folder.append(record(0))
    folder.close()
    path = folder.path / "records.jsonl"
    path.write_bytes(path.read_bytes() + b'{"benchmark": "g.b", "ker')
    again = records.RunFolder(folder.path)
    again.append(record(1))
    again.close()
    assert [r.case for r in records.read(folder.path).records] == [0, 1]
    assert records.read(folder.path).notes == ()


def test_a_bad_line_in_the_middle_costs_that_line_alone(folder: records.RunFolder) -> None:
    folder.append(record(0))
    folder.close()
    path = folder.path / "records.jsonl"
    line = path.read_bytes()
    path.write_bytes(line + b'{"benchmark": 3}\n' + b"\xff\xfe\n" + line)
    run = records.read(folder.path)
    assert len(run.records) == 2
    assert len(run.notes) == 2
    assert "line 2" in run.notes[0]


def test_two_writers_of_one_run_are_refused(folder: records.RunFolder) -> None:
    with pytest.raises(UsageError, match="another process"):
        records.RunFolder(folder.path)


def test_a_folder_that_is_no_run_is_named_with_what_it_lacks(tmp_path: Path, folder: records.RunFolder) -> None:
    with pytest.raises(UsageError, match=r"not a run folder: it has no run\.json"):
        records.read(tmp_path)
    with pytest.raises(UsageError, match="the newest is"):
        records.read(tmp_path / "runs")


def test_a_run_json_that_is_damaged_is_an_explained_error(folder: records.RunFolder) -> None:
    path = folder.path / "run.json"
    whole = path.read_text()
    for damaged in ("{", "[]", json.dumps({**json.loads(whole), "machine": {"system": 3}})):
        path.write_text(damaged)
        with pytest.raises(MachineFailed, match="cannot be read"):
            records.read(folder.path)


def test_a_folder_without_permission_to_write_is_an_explained_error(two_sockets: Machine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MachineFailed, match="--runs"):
        records.RunFolder.create(tmp_path / "file" / "runs", two_sockets, PLAN, {})


def test_runs_of_the_same_second_get_names_of_their_own(two_sockets: Machine, tmp_path: Path) -> None:
    made = [records.RunFolder.create(tmp_path, two_sockets, PLAN, {}).path for _ in range(5)]
    assert len(set(made)) == 5


def test_an_unknown_run_is_answered_with_the_nearest(folder: records.RunFolder) -> None:
    wrong = folder.path.name[:-1] + "x"
    with pytest.raises(UsageError, match=f"Did you mean '{folder.path.name}'"):
        records.find(folder.path.parent, wrong)
    assert records.find(folder.path.parent, None) == folder.path


scalars = st.one_of(
    st.text(max_size=20), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)


@given(
    parameters=st.dictionaries(st.text(max_size=10), scalars, max_size=4),
    samples=st.lists(st.floats(1e-12, 1e6), max_size=5),
    text=st.text(max_size=50),
)
def test_any_record_survives_plain_data_and_json(parameters: dict, samples: list[float], text: str) -> None:
    made = record(parameters=parameters, samples=tuple(samples), error=text, verdict=Verdict("INVALID", (text,)))
    assert from_plain(Record, json.loads(json.dumps(to_plain(made)))) == made


@given(
    st.recursive(
        st.one_of(st.none(), scalars),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    )
)
def test_hostile_plain_data_is_refused_and_never_crashes(data: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_plain(Record, data)
