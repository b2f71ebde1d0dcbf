"""Carrying out a plan with a replaced clock and a program made by hand: repeats, failures, budgets, resuming."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import MachineFailed, ProgramFailed, UsageError
from steelyard.measure import records
from steelyard.measure.plan import EFFORTS
from steelyard.measure.plan.cost import ASKED_SECONDS, STOPPED_EARLY, start_seconds
from steelyard.measure.plan.second import Patience
from steelyard.measure.records import start_times
from steelyard.measure.records.best_pace import Best
from steelyard.measure.run import ATTEMPTS, Measurer, Surroundings, session
from steelyard.measure.screen import Progress, Screen
from steelyard.model import Case, Launch, Machine, Plan, Run, Sampling


class Script:
    """A program that answers as it is told; its clock advances by a second a case."""

    def __init__(self) -> None:
        self.time = 0.0
        self.started = 0
        self.asked: list[str] = []
        self.answers: dict[int, list[dict[str, Any] | Exception]] = {}

    def start(self, command: list[str], environment: Mapping[str, str], ranks: int | None = None) -> "Script":
        self.started += 1
        return self

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        self.time += 1.0
        self.asked.append(line)
        queue = self.answers.get(int(line.split(maxsplit=1)[0].partition("=")[2]), [])
        answer = queue.pop(0) if queue else good()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass

    def wait(self, seconds: float) -> None:
        self.time += seconds


def good(**surroundings: Any) -> dict[str, Any]:
    samples = [1e-3 + 1e-6 * ((i * 7) % 5) for i in range(20)]
    clock = {"source": "tsc", "frequency": 1e9, "resolution": 1e-9, "overhead": 1e-9}
    return {
        "samples": samples,
        "operations": 1,
        "work": {"bytes": 1e6},
        "check": {"passed": True, "detail": ""},
        "surroundings": {"clock": clock, **surroundings},
        "declared": {"page_size": "default"},
    }


def disturbed() -> dict[str, Any]:
    return good(samples={"seconds": [1e-3] * 20, "waited": [5e-4] * 20})


def plan(cases: int = 4, launches: int = 2, seconds: float = 1.0) -> Plan:
    made = tuple(Case("g.b", "k", {"threads": 1, "n": i}, Sampling(0.02, seconds, 5, 50)) for i in range(cases))
    return Plan(
        "quick", 1, tuple(Launch(n + 1, "g.b", "gcc", n + 1, made) for n in range(launches)), cases * launches * seconds
    )


@pytest.fixture
def script() -> Script:
    return Script()


def measurer(machine: Machine, tmp_path: Path, script: Script, made: Plan, **more: Any) -> Measurer:
    folder = records.RunFolder.create(tmp_path, machine, made, {})
    around = Surroundings(now=lambda: script.time, start=script.start, wait=script.wait)
    return Measurer(
        machine=machine, plan=made, programs={("g.b", "gcc"): Path("/bin/true")}, folder=folder, around=around, **more
    )


def kept(e: Measurer) -> list[Any]:
    e.folder.close()
    return list(records.read(e.folder.path).records)


def test_every_case_of_every_launch_becomes_a_record(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    e = measurer(two_sockets, tmp_path, script, plan())
    assert e.run() == []
    assert [(r.launch, r.case) for r in kept(e)] == [(launch, case) for launch in (1, 2) for case in range(4)]
    assert script.started == 2


def test_what_the_kernel_declares_becomes_a_parameter(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    e = measurer(two_sockets, tmp_path, script, plan(1, 1))
    e.run()
    assert kept(e)[0].parameters == {"threads": 1, "n": 0, "page_size": "default", "toolchain": "gcc"}


def test_a_disturbed_case_is_waited_out_and_repeated(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    script.answers[1] = [disturbed(), good()]
    e = measurer(two_sockets, tmp_path, script, plan(4, 1, seconds=100))
    e.run()
    assert [(r.case, r.attempt, r.verdict.level) for r in kept(e)] == [
        (0, 1, "CLEAN"),
        (1, 1, "DISTURBED"),
        (1, 2, "CLEAN"),
        (2, 1, "CLEAN"),
        (3, 1, "CLEAN"),
    ]


def test_a_case_that_stays_disturbed_is_given_up_and_says_so(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers[0] = [disturbed() for _ in range(9)]
    e = measurer(two_sockets, tmp_path, script, plan(1, 1, seconds=1000))
    e.run()
    found = [record for record in kept(e) if record.launch == 1]
    assert len(found) == ATTEMPTS
    assert {r.verdict.level for r in found} == {"DISTURBED"}
    assert found[0].verdict.evidence


def test_repeating_ends_when_its_share_of_the_time_is_spent(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = {i: [disturbed() for _ in range(9)] for i in range(40)}
    e = measurer(two_sockets, tmp_path, script, plan(40, 1, seconds=1.0))
    e.run()
    assert 40 < sum(r.launch == 1 for r in kept(e)) < 60


def test_repeating_leaves_the_presets_promised_length_but_for_a_little(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = {i: [disturbed() for _ in range(9)] for i in range(160)}
    long = measurer(two_sockets, tmp_path / "long", script, plan(160, 1))
    long.run()
    assert 160 < long.seconds <= EFFORTS["quick"].promised * 1.02


def never_quiet(count: int) -> dict[int, list[Any]]:
    """Answers that no wait and no further launch makes any better."""
    return {i: [good(throttled=0.5) for _ in range(99)] for i in range(count)}


def test_the_time_that_is_left_goes_into_further_launches_of_what_is_not_settled(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = {2: [good(throttled=0.5), good(throttled=0.5), good(), good()]}
    e = measurer(two_sockets, tmp_path, script, plan(4, 2))
    e.run()
    found = kept(e)
    assert [(r.launch, r.case) for r in found[8:]] == [(3, 0)]
    assert found[8].parameters["n"] == 2
    assert found[8].verdict.level == "CLEAN"
    read = records.read(e.folder.path)
    assert [(x.number, x.repetition, len(x.cases)) for x in read.plan.launches] == [(1, 1, 4), (2, 2, 4), (3, 3, 1)]


def test_further_launches_end_where_the_preset_promised_to_be_done(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    promised = EFFORTS["quick"].promised
    script.answers = never_quiet(70)
    e = measurer(two_sockets, tmp_path, script, plan(70, 2))
    e.run()
    assert 0.8 * promised < e.seconds <= promised
    script.answers = never_quiet(70)
    e = measurer(two_sockets, tmp_path / "budget", script, plan(70, 2), budget=150.0)
    e.run()
    assert e.seconds <= 150


def test_a_case_that_stays_disturbed_gets_a_few_launches_more_and_no_further(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = never_quiet(1)
    e = measurer(two_sockets, tmp_path, script, replace(plan(1, 2), seconds=20.0))
    e.run()
    assert [r.launch for r in kept(e)] == [1, 2, 3, 4, 5]


def test_a_run_that_is_gone_on_with_measures_no_further_launch_twice(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = never_quiet(1)
    made = replace(plan(1, 2), seconds=20.0)
    e = measurer(two_sockets, tmp_path, script, made)
    e.run()
    e.folder.close()
    read = records.read(e.folder.path)
    done = {(r.launch, r.case) for r in read.records}
    again = replace(e, plan=read.plan, folder=records.RunFolder(e.folder.path), done=done, earlier=read.records)
    script.answers = {}
    again.run()
    assert [r.launch for r in kept(again)] == [1, 2, 3, 4, 5, 6]  # that one settles it


def test_waiting_takes_a_share_of_the_time_spent_otherwise_and_less_after_waits_in_vain() -> None:
    patience = Patience(0.5)
    assert patience.ask(0.0) == 1.0  # half of the longest wait
    patience.waited(1.0, 1.0)
    assert patience.ask(1.0) == 0.0  # the second that it waited earned nothing
    assert patience.ask(2.0) == 0.5
    assert patience.ask(100.0) == 1.0  # half as long as at most, after a wait in vain
    patience.waited(1.0, 1.0)
    assert patience.ask(100.0) == 0.5
    patience.waited(0.1, 0.5)
    assert patience.ask(100.0) == 2.0
    assert patience.spent == pytest.approx(2.1)


def test_each_case_is_given_what_there_is_of_patience(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    script.answers = {1: [good(pace={"waited": 0.3})]}
    e = measurer(two_sockets, tmp_path, script, plan(3, 1), patience=Patience(0.5))
    e.run()
    assert [line.partition("patience=")[2].split(" ")[0] for line in script.asked[:3]] == ["1", "1.5", "1.55"]
    assert e.patience.spent == pytest.approx(0.3)


def test_what_the_machine_has_shown_is_asked_for_and_judged_by(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    shared = {"samples": {"seconds": [1e-3] * 20, "issued": [2.0] * 20}}
    script.answers = {0: [good(**shared) for _ in range(9)]}
    e = measurer(two_sockets, tmp_path, script, plan(1, 1), best=Best({"issued gcc": 4.0}))
    e.run()
    assert "least_issued=3.8" in script.asked[0]
    (seen,) = (x for x in kept(e)[0].verdict.evidence if x.kind == "shared core")
    assert seen.numbers == {"samples": 20, "of": 20, "issued": 2.0, "best": 4.0}


def test_a_program_that_dies_leaves_a_record_and_the_next_case_a_new_program(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers[1] = [ProgramFailed("Running", "./x", -11, "Segmentation fault")]
    e = measurer(two_sockets, tmp_path, script, plan(3, 1))
    e.run()
    found = kept(e)
    assert [r.verdict.level for r in found] == ["CLEAN", "INVALID", "CLEAN"]
    assert "Segmentation fault" in str(found[1].error)
    assert script.started == 2


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"operations": "many"}, "operations"),
        ({"samples": [1e-3, "x"]}, "samples[1]"),
        ({"work": {"bytes": [1]}}, "work"),
        ({"surroundings": {"pace": {"waited": "long"}}}, "pace.waited"),
        ({"check": {"passed": "yes"}}, "check.passed"),
    ],
)
def test_an_answer_that_could_not_be_read_back_is_refused_at_once_and_the_field_is_named(
    two_sockets: Machine, tmp_path: Path, script: Script, wrong: dict[str, Any], named: str
) -> None:
    script.answers[1] = [good() | wrong]
    e = measurer(two_sockets, tmp_path, script, plan(3, 1))
    e.run()
    found = kept(e)
    assert [r.verdict.level for r in found] == ["CLEAN", "INVALID", "CLEAN"]
    assert named in str(found[1].error)
    assert script.started == 1


def test_cases_beyond_the_budget_are_left_out_and_counted(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    e = measurer(two_sockets, tmp_path, script, plan(4, 2), budget=5.0)
    notes = e.run()
    assert len(kept(e)) == 6
    assert "2 cases" in notes[0]


def test_a_case_that_is_expected_to_take_longer_than_the_budget_is_measured_if_there_is_no_other(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    e = measurer(two_sockets, tmp_path, script, plan(2, 2, seconds=60.0), budget=5.0, length=5.0, mains=frozenset())
    e.run()
    assert {record.case for record in kept(e)} >= {0}


@pytest.mark.parametrize("slower", [1.0, 1.8])
def test_a_slow_machine_repeats_fewer_cases_and_ends_in_the_stated_time(
    two_sockets: Machine, tmp_path: Path, script: Script, slower: float
) -> None:
    made = plan(50, 2, seconds=1 / slower)  # each case takes a second
    shown: list[Progress] = []
    e = measurer(two_sockets, tmp_path, script, made, length=made.seconds, show=shown.append)
    notes = e.run()
    measured = kept(e)
    assert e.seconds == pytest.approx(made.seconds, rel=0.12)
    assert len({record.case for record in measured}) == 50
    missing = 100 - len(measured)
    assert notes == [
        f"{missing} cases were measured in fewer launches, because measuring took longer than estimated"
    ] * (missing > 0)
    assert (missing > 0) == (slower > 1)
    assert shown[-1].seconds_left < 3


def test_resuming_measures_only_what_is_not_there(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    e = measurer(two_sockets, tmp_path, script, plan(3, 2), done={(1, 0), (1, 1), (1, 2), (2, 1)})
    e.run()
    assert [(r.launch, r.case) for r in kept(e)] == [(2, 0), (2, 2)]
    assert script.started == 1


def test_progress_counts_up_and_the_time_left_counts_down(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    seen: list[Progress] = []
    made = plan(10, 1, seconds=(1 - ASKED_SECONDS) / STOPPED_EARLY)  # each case takes a second, as expected
    measurer(two_sockets, tmp_path, script, made, show=seen.append).run()
    assert [p.done for p in seen] == list(range(10))
    left = [p.seconds_left for p in seen]
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] <= 2


def test_progress_counts_cases_as_the_result_does_and_names_the_launch(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = {2: [good(throttled=0.5), good(throttled=0.5), good(), good()]}
    seen: list[Progress] = []
    measurer(two_sockets, tmp_path, script, plan(4, 2), show=seen.append).run()
    assert [(p.phase, p.done, p.total) for p in seen] == [
        *(("launch 1 of 2", done, 4) for done in range(4)),
        *(("launch 2 of 2", done, 4) for done in range(4)),
        ("further launches", 0, 0),
    ]


def test_a_resumed_run_counts_on_from_what_is_measured(two_sockets: Machine, tmp_path: Path, script: Script) -> None:
    seen: list[Progress] = []
    done = {(1, 0), (1, 1), (1, 2), (2, 1)}
    measurer(two_sockets, tmp_path, script, plan(3, 2), done=done, show=seen.append).run()
    assert [(p.phase, p.done, p.total) for p in seen] == [("launch 2 of 2", 1, 3), ("launch 2 of 2", 2, 3)]


def test_a_run_ends_at_its_stated_length_and_counts_down_to_it(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    script.answers = never_quiet(30)
    seen: list[Progress] = []
    e = measurer(two_sockets, tmp_path, script, plan(30, 2), length=100.0, show=seen.append)
    e.run()
    assert 85 <= e.seconds <= 100
    assert seen[0].seconds_left == 100
    assert all(p.elapsed + p.seconds_left == pytest.approx(100) for p in seen)


def test_only_a_run_that_is_filled_measures_settled_cases_until_its_stated_length(
    two_sockets: Machine, tmp_path: Path, script: Script
) -> None:
    seconds = {}
    for filled in (True, False):
        e = measurer(two_sockets, tmp_path / str(filled), script, plan(10, 2), length=100.0, filled=filled)
        e.run()
        seconds[filled] = e.seconds
    assert seconds[False] < 0.8 * seconds[True] <= 80


def test_a_full_disk_ends_the_run_and_loses_nothing(
    two_sockets: Machine, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    e = measurer(two_sockets, tmp_path, script, plan(4, 1))
    real = os.write
    state = {"lines": 0}

    def write(file: int, data: bytes) -> int:
        state["lines"] += 1
        if state["lines"] == 3:
            real(file, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(MachineFailed, match="No space left.*steelyard resume"):
        e.run()
    monkeypatch.undo()
    assert len(kept(e)) == 2
    assert (e.folder.path / "records.jsonl").read_bytes().endswith(b"\n")


def test_records_that_come_before_the_lock_are_not_measured_again(
    kept_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes its last record and ends, while this one is about to go on with the run."""
    file = kept_run / "records.jsonl"
    *others, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(others))
    real, counted = records.RunFolder, list[int]()

    def locked(path: Path) -> records.RunFolder:
        with file.open("ab") as opened:
            opened.write(last)
        return real(path)

    def examined(run: Run, *_: object) -> None:
        counted.append(len(run.records))
        raise UsageError("enough")

    monkeypatch.setattr(records, "RunFolder", locked)
    monkeypatch.setattr(session, "again", examined)
    with pytest.raises(UsageError, match="enough"):
        session.go_on(kept_run, (), Screen())
    assert counted == [len(others) + 1]


def test_the_time_of_starts_is_learned_and_used_by_later_plans(
    two_sockets: Machine, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    phases = {"setup": 0.25, "sampling": 0.5, "check": 0.05}  # of the second that the clock of the script advances
    script.answers = {i: [good(phases=phases) for _ in range(3)] for i in range(4)}
    e = measurer(two_sockets, tmp_path, script, plan(launches=3))
    e.run()
    cases = e.plan.launches[0].cases
    assert e.starts.factors() == {"": pytest.approx(0.2 / start_seconds(cases, two_sockets))}

    start_times.save(two_sockets, e.starts.factors())
    start_times.save(two_sockets, {"": 3.0, "mpich-4": 0.5})
    start_times.save(two_sockets, {"": 5.0})
    learned = start_times.load(two_sockets)
    assert learned == {"": 3.0, "mpich-4": 0.5}
    later = replace(two_sockets, start_factors=learned)
    assert start_seconds(cases, later) == pytest.approx(3 * start_seconds(cases, two_sockets))
    assert start_times.load(replace(two_sockets, host="another")) == {}


@pytest.mark.parametrize("text", ["", "[]", '{"": 3}', '{"": ["a"]}', '{"": [NaN, -1, 1e9]}'])
def test_a_damaged_file_of_start_times_counts_as_none(
    two_sockets: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    start_times.save(two_sockets, {"": 3.0})
    next((tmp_path / "cache" / "starts").iterdir()).write_text(text)
    assert start_times.load(two_sockets) == {}
