"""Run folders: appending, torn lines, hostile content, and reading back what was written."""

import json
import shutil
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import GOLDEN
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import records
from steelyard.measure.records import expect_new, removing
from steelyard.model import Case, Check, Evidence, Launch, Machine, Plan, Record, Verdict
from steelyard.model.evidence import KINDS, sentence
from steelyard.model.observed import Observed, Pace
from steelyard.model.plain import from_plain, to_plain

PLAN = Plan("quick", 1, (Launch(1, "g.b", "gcc", 1, (Case("g.b", "k", {"threads": 1}),)),), 1.0)


def record(case: int = 0, **more: object) -> Record:
    made = Record(
        benchmark="g.b",
        kernel="k",
        parameters={"threads": 1},
        launch=1,
        case=case,
        attempt=1,
        samples=(1e-3, 2e-3),
        operations=4,
        work={"bytes": 8.0},
        check=Check(True, "ok"),
        verdict=Verdict("CLEAN"),
        surroundings=Observed(cpus=[0]),
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


AROUND = [
    "{}",
    '{"throttled": null, "cpus": [0], "began": 1.5}',
    '{"samples": {"waited": null, "issued": [1.0, null]}, "clock": {"resolution": 0.5}, "details": null, "pages": null}',
    '{"ranks": {"hosts": ["a"], "clock": {"residual": [null]}, "seconds": [[0.5], []]}, "pace": {"before": {}}}',
]


@pytest.mark.parametrize("around", AROUND)
def test_surroundings_are_written_as_they_were_read(folder: records.RunFolder, around: str) -> None:
    (found,) = read_back(folder, around)
    assert json.dumps(found.surroundings.given()) == around
    assert to_plain(found)["surroundings"] == json.loads(around)


def test_what_was_not_observed_is_none_in_parts_that_are_always_there(folder: records.RunFolder) -> None:
    (found,) = read_back(folder, '{"samples": {"issued": [1.0, 2.0]}}')
    around = found.surroundings
    assert around.samples.issued == [1.0, 2.0]
    assert around.samples.seconds is around.pace.before.exchange is around.ranks.clock.offset is around.pages is None
    with pytest.raises(FrozenInstanceError):
        around.samples.issued = None  # type: ignore[misc]


@pytest.mark.parametrize("part", ["clock", "core_clock", "samples", "pace", "processor_seconds", "counters", "ranks"])
def test_a_part_that_is_null_is_read_as_one_that_is_missing(folder: records.RunFolder, part: str) -> None:
    (found,) = read_back(folder, json.dumps({"throttled": None, part: None, "pace": {"before": None, "waited": 0.5}}))
    expected = Pace(waited=0.5) if part == "pace" else getattr(Observed(), part)
    assert getattr(found.surroundings, part) == expected
    assert "throttled" in found.surroundings.given()


def read_back(folder: records.RunFolder, around: str) -> tuple[Record, ...]:
    """The record, with these surroundings in its line."""
    folder.close()
    line = {**to_plain(record()), "surroundings": json.loads(around)}
    (folder.path / "records.jsonl").write_text(json.dumps(line) + "\n")
    run = records.read(folder.path)
    assert run.notes == ()
    return run.records


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_left_out_and_said(folder: records.RunFolder, cut: int) -> None:
    for case in range(3):
        folder.append(record(case))
    folder.close()
    path = folder.path / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    run = records.read(folder.path)
    assert [r.case for r in run.records] == [0, 1]
    assert "the last line of records.jsonl is incomplete" in run.notes[0]


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
    path.write_bytes(line + b'{"benchmark": 3}\n' + b"\xff\xfe\n" + line.replace(b'"case":0', b'"case":1'))
    run = records.read(folder.path)
    assert len(run.records) == 2
    assert len(run.notes) == 2
    assert "line 2" in run.notes[0]


@pytest.mark.parametrize("times", [2, 3])
def test_a_line_that_is_there_several_times_is_one_record(folder: records.RunFolder, times: int) -> None:
    for case in range(3):
        folder.append(record(case))
    folder.close()
    path = folder.path / "records.jsonl"
    path.write_bytes(path.read_bytes() * times)
    run = records.read(folder.path)
    assert [r.case for r in run.records] == [0, 1, 2]
    assert run.notes == (f"{3 * (times - 1)} lines of records.jsonl repeat earlier ones",)


TOLD = [f"{kind}: so: much" for kind in KINDS]


def test_evidence_of_format_1_is_read_by_the_kind_before_its_colon(folder: records.RunFolder) -> None:
    odd = ["The check failed: a[1] is 0.", "no kind", "error: ", ": nothing", "", "steal:much"]
    told = record(0)
    folder.close()
    plain = to_plain(told) | {"verdict": {"level": "DISTURBED", "evidence": [*TOLD, *odd]}}
    (folder.path / "records.jsonl").write_text(json.dumps(plain) + "\n")
    (read,) = records.read(folder.path).records
    assert [e.kind for e in read.verdict.evidence] == [*KINDS, "", "", "error", "", "", ""]
    assert [sentence(e) for e in read.verdict.evidence] == [*TOLD, *odd]
    assert all(e.numbers == {} for e in read.verdict.evidence)


def test_evidence_of_a_kind_that_is_not_known_is_read_as_it_is(folder: records.RunFolder) -> None:
    seen = Evidence("moonshine", "it was full.", {"moons": 2.0})
    folder.append(record(verdict=Verdict("DISTURBED", (seen,))))
    folder.close()
    assert records.read(folder.path).records[0].verdict.evidence == (seen,)


@pytest.mark.parametrize("written", [1, 2])
def test_the_number_of_the_format_is_raised_when_a_run_is_gone_on_with(folder: records.RunFolder, written: int) -> None:
    folder.close()
    path = folder.path / "run.json"
    about = json.loads(path.read_text())
    assert about["format"] == records.FORMAT == 2
    path.write_text(json.dumps({**about, "format": written}))
    assert records.read(folder.path).notes == ()
    records.RunFolder(folder.path).close()
    assert json.loads(path.read_text()) == {**about, "format": 2}


def test_two_writers_of_one_run_are_refused(folder: records.RunFolder) -> None:
    with pytest.raises(UsageError, match="Another process"):
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
    numbers=st.dictionaries(st.text(max_size=10), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
)
def test_any_record_survives_plain_data_and_json(
    parameters: dict, samples: list[float], text: str, numbers: dict[str, float]
) -> None:
    verdict = Verdict("INVALID", (Evidence(text, text, numbers),))
    made = record(parameters=parameters, samples=tuple(samples), error=text, verdict=verdict)
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


def test_a_run_has_the_name_that_its_user_gives(tmp_path: Path, two_sockets: Machine) -> None:
    expect_new(tmp_path, "before-update.2")
    folder = records.RunFolder.create(tmp_path, two_sockets, PLAN, {}, "before-update.2")
    folder.close()
    assert (folder.path, records.read(folder.path).id) == (tmp_path / "before-update.2", "before-update.2")
    with pytest.raises(UsageError, match="already"):
        expect_new(tmp_path, "before-update.2")
    for name in ("", "a/b", "..", ".hidden", "-rf", "a b", "x" * 101, "a\nb", "\x1b[2J"):
        with pytest.raises(UsageError, match="is not a valid name for a run"):
            expect_new(tmp_path, name)


def test_a_run_is_removed_with_all_its_files_and_nothing_else(tmp_path: Path, two_sockets: Machine) -> None:
    (kept := tmp_path / "kept").mkdir()
    (kept / "file").touch()
    folder = records.RunFolder.create(tmp_path / "runs", two_sockets, PLAN, {}, "old")
    with pytest.raises(UsageError, match="is writing the run"):
        removing.expect_removable(folder.path)
    folder.close()
    removing.expect_removable(folder.path)
    (folder.path / "link").symlink_to(kept)
    (link := tmp_path / "runs" / "link").symlink_to(folder.path)
    for path in (kept, link, tmp_path / "runs"):
        with pytest.raises(UsageError, match="is not the folder of a run"):
            removing.expect_removable(path)
    removing.remove(folder.path)
    assert not folder.path.exists()
    assert (kept / "file").exists()


def test_a_word_of_the_harness_in_old_records_is_no_parameter(tmp_path: Path) -> None:
    golden = GOLDEN / "run-format-2"
    shutil.copytree(golden, tmp_path / "run")
    file = tmp_path / "run" / "records.jsonl"
    new = records.read(golden)
    file.write_text(file.read_text().replace('"parameters":{"threads"', '"parameters":{"look":0,"threads"'))
    assert records.read(tmp_path / "run").records == new.records
    file.write_text(file.read_text().replace('"attempt":1', '"attempt":1.0'))  # not as this version writes
    assert all("look" not in record.parameters for record in records.read(tmp_path / "run").records)
