"""Damaged and hostile run folders: a sentence and no traceback, nothing that acts on the terminal, no other run lost.

STEELYARD_DAMAGE=10000 tries so many more ways of damaging a run than `make test` does.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from damage import ESCAPES, NESTED, Damage, renewed, unpack
from steelyard import evaluation, records, report
from steelyard.commands import cli, forms
from steelyard.commands import tables as show
from steelyard.compare import runs as comparing
from steelyard.errors import MachineFailed, SteelyardError
from steelyard.model import Evaluation
from steelyard.report import comparison, export, side_by_side
from steelyard.run import session, setup
from steelyard.run.asking import line, time_limit

SEEDS = int(os.environ.get("STEELYARD_DAMAGE", "24"))
AT_ONCE = 4
LONGEST = 5.0  # seconds, of any reading
ACTS = ("\x1b[2J", "\x1b]0", "\x07", "\u202e")


@pytest.fixture(autouse=True)
def stumbling() -> None:
    """Rules may stumble over what is damaged, and say so."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A healthy run, alone in its folder of runs."""
    return unpack(tmp_path / "runs")


def command(*words: object) -> int:
    """The exit code of a command in this process."""
    return cli.explained(lambda: cli.app([str(word) for word in words]))


def said(run: Path, content: dict) -> None:
    """Changes what run.json says."""
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **content}))


def readings(healthy: Evaluation) -> dict[str, Callable[[Evaluation], object]]:
    """All that is made of a run that was read."""
    return {
        "show": lambda e: forms.show(e, "screen", None),
        "show --all": lambda e: forms.show(e, "all", None),
        "show --json": lambda e: forms.show(e, "json", None),
        "export": lambda e: (export.metric_rows(e), export.sample_rows(e)),
        "report": report.render,
        "compare": lambda e: side_by_side.show(healthy, e, comparing.compare(healthy, e)),
        "resume": reopened,
        "compare the other way": lambda e: comparison.runs(comparing.compare(e, healthy), False),
    }


def reopened(found: Evaluation) -> object:
    """What `resume` would start: the programs of the plan, and the line that each case which is missing is asked for with."""
    here = setup.again(found.run, [], found.run.machine)
    done = session.finished_cases(found.run)
    cases = [(x, i, c) for x in found.run.plan.launches for i, c in enumerate(x.cases) if (x.number, i) not in done]
    lines = [line(found.run.machine, launch, number, case) for launch, number, case in cases]
    return sorted(here.benchmarks), lines, [time_limit(case) for _, _, case in cases]


def test_over_a_sound_run_no_rule_stumbles(run: Path) -> None:
    found = evaluation.evaluate(run)
    assert found.run.notes == ()
    assert not [f.seen for f in found.findings if "cannot judge" in f.seen]
    assert not [e for r in found.results for e in r.verdict.evidence if e.kind == "damaged"]


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_a_damaged_run_is_read_or_refused_in_words(
    first: int, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy = evaluation.evaluate(unpack(tmp_path / "healthy"))
    of_format = (Damage(run), Damage(renewed(run)))
    for seed in range(first, first + AT_ONCE):
        how = f"seed {seed}: {of_format[seed % 2].make(seed, run)}"
        began = time.process_time()
        try:
            show.everything({}, [run], False)
            found = evaluation.evaluate(run)
        except SteelyardError as error:
            assert not any(acts in str(error) for acts in ACTS), how
            continue
        for name, read in readings(healthy).items():
            try:
                page = str(read(found))
            except SteelyardError:
                continue
            except Exception as error:
                raise AssertionError(f"{name} of a run with {how}") from error
            assert name != "report" or "<script>alert(1)" not in page, how
        assert not any(acts in capsys.readouterr().out for acts in ACTS), how
        # Of the processor: what a hang would take without end.
        assert time.process_time() - began < LONGEST * (1 + len(readings(healthy))), how


def test_a_damaged_run_hides_no_other(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = unpack(run.parent / "more")
    other.rename(run.parent / "healthy")
    said(run, {"machine": 3})
    assert command("list", "--json", "--runs", run.parent) == 0
    listed = {each["run"]: each for each in json.loads(capsys.readouterr().out)["runs"]}
    assert "not of the expected form" in listed["run"].pop("error")
    assert any(each.get("finished") for each in listed.values())
    assert command("query", "select count(*) as n from metrics", "--runs", run.parent, "--json") == 0
    answer = capsys.readouterr()
    assert json.loads(answer.out)[0]["n"] > 50
    assert f"left out: The run folder {run} cannot be read" in answer.err


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"paths": 3}, "$.paths"),
        ({"versions": []}, "$.versions"),
        ({"plan": {"preset": "quick"}}, "$.plan"),
        ({"budget": "long"}, "$.budget"),
        ({"format": "two"}, "'two' is no format"),
        ({"site": {"launcher": 3}}, "$.site.launcher"),
    ],
)
def test_a_field_of_run_json_that_does_not_hold_is_named(run: Path, content: dict, named: str) -> None:
    said(run, content)
    with pytest.raises(MachineFailed) as refused:
        records.read(run)
    assert named in str(refused.value)
    assert str(run) in str(refused.value)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ({"launch": 2**63}, "$.launch"),
        ({"parameters": {"threads": [1]}}, "$.parameters"),
        ({"work": {"bytes": None}}, "$.work"),
        ({"surroundings": {"pace": {"waited": "long"}}}, "$.pace.waited"),
        ({"samples": [1.0, "x"]}, "$.samples[1]"),
        ({"verdict": {"level": "FINE"}}, "$.verdict.level"),
        ({"verdict": {"level": "CLEAN", "evidence": [{"kind": "steal"}]}}, "$.verdict.evidence[0]"),
        ({"verdict": {"level": "CLEAN", "evidence": ["x", 3]}}, "$.verdict.evidence[1]"),
    ],
)
def test_a_field_of_a_record_that_does_not_hold_is_named_with_its_line(run: Path, damage: dict, named: str) -> None:
    lines = (run / "records.jsonl").read_text().splitlines()
    lines[4] = json.dumps({**json.loads(lines[4]), **damage})
    (run / "records.jsonl").write_text("\n".join(lines) + "\n")
    found = records.read(run)
    assert len(found.records) == len(lines) - 1
    (note,) = found.notes
    assert note.startswith("line 5 of records.jsonl was left out: ")
    assert named.lstrip("$") in note


def test_records_that_nest_without_end_are_left_out(run: Path) -> None:
    with (run / "records.jsonl").open("a") as file:
        file.write(NESTED + "\n")
    assert "left out" in records.read(run).notes[-1]


def test_a_run_of_a_later_format_is_read_with_a_note(run: Path) -> None:
    said(run, {"format": 99, "news": True})
    assert "newer Steelyard (format 99" in records.read(run).notes[-1]


def test_what_a_file_holds_never_acts_on_the_terminal(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = json.loads((run / "run.json").read_text())
    about["machine"] |= {"system": ESCAPES, "host": ESCAPES}
    (run / "run.json").write_text(json.dumps({**about, "started": ESCAPES + "[/]"}))
    for words in (
        ["list"],
        ["show"],
        ["show", "--all"],
        ["export", "--format", "csv"],
        ["query", "from metrics limit 1"],
    ):
        assert command(*words, "--runs", run.parent) == 0, words
        answer = capsys.readouterr()
        assert not any(acts in answer.out + answer.err for acts in ACTS), words
    assert records.read(run).machine.host.startswith("\\x1b[2J")


@pytest.mark.parametrize("name", ["run.json", "records.jsonl"])
def test_a_damaged_run_is_not_resumed(run: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").write_text("{") if name == "run.json" else (run / name).unlink()
    assert command("resume", run) in (2, 4)
    assert name in capsys.readouterr().err
