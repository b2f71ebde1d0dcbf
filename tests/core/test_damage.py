"""Damaged and hostile run folders: a sentence and no traceback, nothing that acts on the terminal, no other run lost.

STEELYARD_DAMAGE=10000 tries so many more ways of damaging a run than `make test` and `make test-long` do together.
"""

import html
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from builders import measured
from damage import ESCAPES, NESTED, Damage, powered, renewed, spoilt, unpack
from steelyard.compare import published_figures
from steelyard.compare import runs as comparing
from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.judge import evaluation
from steelyard.measure import published, records
from steelyard.measure.machine.system_file import find_system, load_system
from steelyard.measure.records import RunFolder, power
from steelyard.measure.run import session
from steelyard.measure.run.again import again
from steelyard.measure.run.asking import line, time_limit
from steelyard.model import Check, Evaluation, Value
from steelyard.model.observed import Observed
from steelyard.show import report
from steelyard.show.command_line import cli, output_forms, tables
from steelyard.show.report import columns, comparison, export, side_by_side
from steelyard.show.report.columns import metric_rows
from steelyard.show.report.question import query
from steelyard.statistics.results.cost import cost
from steelyard.statistics.results.energy_metrics import METRICS
from steelyard.statistics.validity.verdict import judgement

# What NumPy warns of would stand on the user's screen.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

SEEDS = int(os.environ.get("STEELYARD_DAMAGE", "24"))
USUAL = 4  # seeds of `make test`: a fault that one of two damages shows is found with probability 0.9
AT_ONCE = 4
FOUND = (4231, 7542, 8382, 8742)  # seeds of damages that 10,000 ways found, and that were mended
BY_COMMAND = 13  # of so many seeds one, and so of each format, goes through the commands themselves
LINES = (8 * USUAL, pytest.param(4 * SEEDS, marks=pytest.mark.long))  # damages of a file of lines
LONGEST = 5.0  # seconds, of any reading
ACTS = ("\x1b[2J", "\x1b]0", "\x07", "\u202e")
PUBLISHED = "4x AMD 8350 Barcelona"
COUNTED = "select run, count(*) as n from metrics group by run"


@pytest.fixture(autouse=True)
def stumbling() -> None:
    """Rules may stumble over what is damaged, and say so."""


@dataclass(frozen=True)
class Pair:
    """A run to be damaged, and a healthy one beside it in the same folder."""

    run: Path
    damages: tuple[Damage, ...]  # of each format that a run may have
    healthy: Evaluation


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Made once: all that is damaged is written anew each time."""
    folder = tmp_path_factory.mktemp("pair")
    run = unpack(folder / "runs")
    damages = (Damage(run), Damage(renewed(run)))
    healthy = run.rename(run.with_name("healthy"))
    said(healthy, {"id": "healthy"})
    run.mkdir()
    with pytest.MonkeyPatch.context() as patch:  # it comes before the fixture that keeps judgements apart
        patch.setenv("STEELYARD_CACHE", str(folder / "cache"))
        return Pair(run, damages, evaluation.evaluate(healthy))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A healthy run, alone in its folder of runs."""
    return unpack(tmp_path / "runs")


def command(*words: object) -> int:
    """The exit code of a command in this process."""
    return cli.run_and_explain(lambda: cli.app([str(word) for word in words]))


def said(run: Path, content: dict) -> None:
    """Changes what run.json says."""
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **content}))


def readings(healthy: Evaluation) -> dict[str, Callable[[Evaluation], object]]:
    """All that is made of a run that was read."""
    return {
        "show": lambda e: output_forms.show(e, "screen", None),
        "show --all": lambda e: output_forms.show(e, "all", None),
        "show --json": lambda e: output_forms.show(e, "json", None),
        "export": lambda e: (
            export.write(e, "csv", None) + export.write(e, "json", None) + str(list(columns.sample_lists(e)))
        ),
        "query": lambda e: tables.print_rows(*query([e], COUNTED), as_json=False),
        "report": report.render,
        "compare": lambda e: side_by_side.show(healthy, e, comparing.compare(healthy, e)),
        "compare the other way": lambda e: comparison.runs(comparing.compare(e, healthy), False),
        "compare with a published system": lambda e: side_by_side.show_published(
            published_figures.compare(e, PUBLISHED)
        ),
        "resume": reopened,
    }


def reopened(found: Evaluation) -> object:
    """What `resume` would start: the programs of the plan, and the line that each case which is missing is asked for with."""
    try:
        here = again(found.run, [], found.run.machine, trusted=False)
        done = session.finished_cases(found.run)
        cases = [(x, i, c) for x in found.run.plan.launches for i, c in enumerate(x.cases) if (x.number, i) not in done]
        lines = [line(found.run.machine, launch, number, case) for launch, number, case in cases]
    except SteelyardError as refused:
        return refused.shown()
    return sorted(here.benchmarks), lines, [time_limit(case, found.run.machine) for _, _, case in cases]


def test_over_a_sound_run_no_rule_stumbles(run: Path) -> None:
    found = evaluation.evaluate(run)
    assert found.run.notes == ()
    assert not [f.seen for f in found.findings if "cannot judge" in f.seen]
    assert not [e for r in found.results for e in r.verdict.evidence if e.kind == "damaged"]


def groups(*more: int, usual: int = USUAL) -> list[Any]:
    """The seeds, a few at a time; beyond the usual ones each group is `long`. `more`: groups of these, too."""
    firsts = sorted({*range(0, SEEDS, AT_ONCE), *(seed - seed % AT_ONCE for seed in more)})
    every = [range(first, first + AT_ONCE) for first in firsts]
    return [pytest.param(g, id=str(g[0]), marks=() if g[0] < usual else pytest.mark.long) for g in every]


@pytest.mark.parametrize("seeds", [pytest.param(FOUND, id="found"), *groups(*FOUND, usual=0)])
def test_a_damaged_run_is_read_or_refused_in_words(
    seeds: Sequence[int], pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        how = f"seed {seed}: {pair.damages[seed % 2].make(seed, pair.run)}"
        tables.print_lists([], [pair.run], False)
        found = evaluated(pair.run, how)
        for name, read in readings(pair.healthy).items() if found else ():
            began = time.process_time()
            try:
                page = str(read(found))
            except Exception as error:
                raise AssertionError(f"{name} of a run with {how}") from error
            # Of the processor: what a hang would take without end.
            assert time.process_time() - began < LONGEST, f"{name} of a run with {how}"
            harmless(page, f"{name} of a run with {how}")
        harmless("".join(capsys.readouterr()), how)


STRANGE: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "link in a circle": lambda file: file.symlink_to(file.name),
    "pipe": os.mkfifo,
    "device without end": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.fixture(scope="module")
def sensed(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """The same of a run beside which sensors were read."""
    run = powered(unpack(tmp_path_factory.mktemp("sensed") / "runs"))
    damages = (Damage(run),)
    healthy = run.rename(run.with_name("healthy"))
    said(healthy, {"id": "healthy"})
    run.mkdir()
    return Pair(run, damages, evaluation.evaluate(healthy))


def test_a_sound_run_with_power_has_its_energy(sensed: Pair) -> None:
    assert sensed.healthy.run.notes == ()
    assert len([r for r in sensed.healthy.results if "energy" in r.metrics]) >= 20  # of one host, without a device
    assert not [f.seen for f in sensed.healthy.findings if "cannot judge" in f.seen]


@pytest.mark.parametrize("seeds", groups())
def test_damaged_readings_are_left_out_in_words_and_the_rest_of_the_run_is_shown(
    seeds: Sequence[int], sensed: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        how = f"seed {seed}: {sensed.damages[0].of_power(seed, sensed.run)}"
        found = evaluated(sensed.run, how)
        assert found
        times = {(r.benchmark, r.kernel, str(r.parameters)): r.metrics for r in sensed.healthy.results}
        for result in found.results:
            of = times[result.benchmark, result.kernel, str(result.parameters)]
            own = {m.name for m in METRICS}
            assert without_ranges(result.metrics, own) == without_ranges(of, own), how
            for name in own & set(result.metrics):
                ends = result.metrics[name]
                assert all(end is None or math.isfinite(end) for end in (ends.value, ends.low, ends.high)), how
        assert not [f.seen for f in found.findings if "cannot judge" in f.seen], how
        for name, read in readings(sensed.healthy).items():
            began = time.process_time()
            try:
                page = str(read(found))
            except Exception as error:
                raise AssertionError(f"{name} of a run with {how}") from error
            assert time.process_time() - began < LONGEST, f"{name} of a run with {how}"
            harmless(page, f"{name} of a run with {how}")
        harmless("".join(capsys.readouterr()), how)


def without_ranges(metrics: Mapping[str, Value], but: set[str]) -> dict[str, Value]:
    """The ranges of another run follow from all cases of the run, of which a damaged run has fewer."""
    return {
        name: replace(value, now=None, later=None, undisturbed=None)
        for name, value in metrics.items()
        if name not in but
    }


@pytest.mark.wings
def test_a_line_of_readings_that_does_not_hold_is_named_on_the_page(sensed: Pair) -> None:
    sensed.damages[0].of_power(0, sensed.run)
    lines = (sensed.run.parent / "healthy" / power.FILE).read_bytes().splitlines(keepends=True)
    lines[5] = b'{"columns": [{"sensor": "board", "at": [3], "value": ["much"]}]}\n'
    (sensed.run / power.FILE).write_bytes(b"".join(lines))
    found = evaluation.evaluate(sensed.run)
    (note,) = found.run.notes
    assert note.startswith("line 6 of power.jsonl was left out: ")
    assert "$.columns[0].value[0]" in note
    assert f"Some readings cannot be used: {html.escape(note, quote=False)}." in report.render(found)
    assert [r for r in found.results if "energy" in r.metrics]


@pytest.mark.parametrize("kind", STRANGE)
def test_readings_that_are_no_file_leave_the_run_without_energy(
    kind: str, sensed: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    sensed.damages[0].of_power(0, sensed.run)
    file = sensed.run / power.FILE
    file.unlink()
    STRANGE[kind](file)
    try:
        assert command("show", sensed.run, "--all") == command("export", sensed.run) == 0
        assert "Traceback" not in capsys.readouterr().err
        found = evaluation.evaluate(sensed.run)
        assert found.results
        assert not [r for r in found.results if "energy" in r.metrics]
        (note,) = found.run.notes
        assert note.startswith("power.jsonl was left out: ")
        assert note in report.render(found)
    finally:
        shutil.rmtree(file) if kind == "folder" else file.unlink()


def evaluated(run: Path, how: str) -> Evaluation | None:
    """None where it is refused, as what the machine's files are to blame for."""
    try:
        return evaluation.evaluate(run)
    except MachineFailed as error:
        harmless(error.shown(), how)
        return None
    except Exception as error:
        raise AssertionError(f"a run with {how} cannot be judged") from error


def harmless(text: str, how: str) -> None:
    """Nothing in it acts on a terminal, and of a page nothing in a browser."""
    assert not any(acts in text for acts in ACTS), how
    assert "<script>alert(1)" not in text or "<html" not in text, how


@pytest.mark.parametrize("seed", range(0, SEEDS, BY_COMMAND))
def test_commands_on_a_damaged_run_end_with_the_exit_code_for_it(
    seed: int, pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = pair.damages[seed % 2].make(seed, pair.run)
    code = 0 if evaluated(pair.run, how) else MachineFailed.exit_code
    run, healthy, page = pair.run, pair.healthy.run.path, tmp_path / "report.html"
    for words in (
        ("show", run),
        ("show", run, "--all"),
        ("show", run, "--json"),
        ("report", run, "--output", page),
        ("export", run, "--format", "csv"),
        ("export", run, "--format", "parquet", "--output", tmp_path / "run.parquet"),
        ("compare", run, healthy),
        ("compare", healthy, run, "--all"),
        ("compare", healthy, run, "--json"),
        ("compare", run, PUBLISHED),
    ):
        assert command(*words) == code, (words, how)
        answer = capsys.readouterr()
        harmless(answer.out + answer.err, f"{words} of a run with {how}")
        assert answer.err.startswith("steelyard: The run folder") == bool(code), (words, answer.err)
    if page.exists():
        harmless(page.read_text(), how)
    hides_no_other(run.parent, pair.healthy, capsys)


def hides_no_other(runs: Path, healthy: Evaluation, capsys: pytest.CaptureFixture[str]) -> None:
    """The healthy run in that folder is listed, and asked, whatever the other is."""
    assert command("list", "--json", "--runs", runs) == 0
    listed = {each["run"]: each for each in json.loads(capsys.readouterr().out)["runs"]}
    assert listed["healthy"]["finished"]
    assert command("query", COUNTED, "--runs", runs, "--json") == 0
    answer = capsys.readouterr()
    harmless(answer.out + answer.err, str(runs))
    counted = {each["run"]: each["n"] for each in json.loads(answer.out)}
    assert counted["healthy"] == len(metric_rows(healthy))


@pytest.mark.timeout(120)  # before an endless file fills the memory
@pytest.mark.parametrize("name", ["run.json", "records.jsonl"])
@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_file_is_neither_waited_for_nor_read_without_end(
    name: str, kind: str, pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unpack(pair.run.parent / "strange").rename(pair.run.parent / "no-file")
    (run / name).unlink()
    STRANGE[kind](run / name)
    try:
        for words in (("show", run), ("export", run), ("compare", pair.healthy.run.path, run), ("resume", run)):
            assert command(*words) == MachineFailed.exit_code
            assert capsys.readouterr().err.startswith(f"steelyard: The run folder {run} cannot be read: ")
        hides_no_other(run.parent, pair.healthy, capsys)
    finally:
        shutil.rmtree(run)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"\0" * 100, b"[]", b"1e999"])
def test_a_run_json_of_other_content_is_refused(content: bytes, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").write_bytes(content)
    for words in (("show", run), ("report", run), ("resume", run)):
        assert command(*words) == MachineFailed.exit_code
        assert "run.json is not of the expected form" in capsys.readouterr().err


@pytest.mark.sampled(1)
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_report_goes_nowhere_else_than_into_the_run(
    kind: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    os.mkfifo(run / "report.html") if kind == "pipe" else (run / "report.html").symlink_to(precious)
    assert command("report", run) == MachineFailed.exit_code
    assert "not an ordinary file" in capsys.readouterr().err
    assert command("report", run, "--output", tmp_path / "mine.html") == 0
    assert precious.read_text() == "kept"


def test_a_run_that_does_not_say_its_versions_has_a_report(run: Path) -> None:
    said(run, {"versions": {}})
    assert "<footer>Steelyard · run" in report.render(evaluation.evaluate(run))


def test_what_a_run_links_to_is_not_written(run: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept, without a line's end")
    (run / "run.json.making").symlink_to(precious)
    said(run, {"format": 1})
    RunFolder(run).close()
    assert precious.read_text() == "kept, without a line's end"
    (run / "records.jsonl").unlink()
    (run / "records.jsonl").symlink_to(precious)
    with pytest.raises(MachineFailed, match="cannot be written"):
        RunFolder(run)
    assert precious.read_text() == "kept, without a line's end"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("readable", [True, False])
def test_what_a_folder_is_called_never_acts_on_the_terminal(
    readable: bool, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = run.rename(run.parent / ESCAPES.replace("/", "_"))
    if not readable:
        (named / "run.json").write_text("{")
    for words in (
        ["list"],
        ["list", "--json"],
        ["show"],
        ["show", "--all"],
        ["report"],
        ["export"],
        ["query", COUNTED],
    ):
        code = command(*words, "--runs", run.parent)
        assert code == (0 if readable or words[0] in ("list", "query") else MachineFailed.exit_code), words
        answer = capsys.readouterr()
        harmless(answer.out + answer.err, str(words))


@pytest.mark.parametrize("lines", LINES)
def test_a_damaged_system_file_is_read_or_refused_in_words(lines: int, tmp_path: Path) -> None:
    sound, file, refused = find_system("example").read_text(), tmp_path / "system.toml", 0
    for seed in range(lines):
        file.write_bytes(spoilt(sound, seed))
        try:
            found = load_system(file)
        except UsageError as error:
            refused += 1
            harmless(error.shown(), f"seed {seed}")
            continue
        assert all(0 < limit.value < 1e40 for limit in found.limits.values()), seed
        harmless(f"{found.name} {found.notes}", f"seed {seed}")
    assert lines / 4 < refused < lines


@pytest.mark.long
@pytest.mark.parametrize("lines", [4 * SEEDS])
def test_damaged_published_figures_are_compared_or_refused_in_words(
    lines: int, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sound, file, refused = published.DATA.read_text(), tmp_path / "published.csv", 0
    for seed in range(lines):
        file.write_bytes(spoilt(sound, seed))
        try:
            found = published.read(file)
        except MachineFailed as error:
            refused += 1
            harmless(error.shown(), f"seed {seed}")
            continue
        monkeypatch.setattr(published, "shipped", lambda found=found: found)
        for system in dict.fromkeys(entry.system for entry in found) if seed % 4 == 0 else ():
            comparison.beside(published_figures.compare(pair.healthy, system), as_json=False)
        harmless("".join(capsys.readouterr()), f"seed {seed}")
    assert lines / 4 < refused < lines


def test_work_that_no_operation_does_has_no_cost(pair: Pair) -> None:
    known = next(r for r in pair.healthy.results if r.benchmark == "memory.stream")
    for count in (1e308, 1e-308, 0.0, -1.0, float("nan"), float("inf")):
        records = tuple(replace(r, work={"bytes": count}) for r in known.records)
        assert cost(known) is not None
        assert cost(measured(known, records=records)) is None, count


def test_samples_that_are_no_times_of_a_machine_are_invalid() -> None:
    for seconds in (1e308, 1e-308, 0.0, -1.0, float("nan"), float("inf")):
        judged = judgement([1e-3] * 11 + [seconds], Observed(), Check(True))
        assert judged.verdict.level == "INVALID", seconds
        assert judged.verdict.evidence[0].numbers == {"samples": 1, "of": 12}


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
        ({"format": "two"}, "'two' is not a format number"),
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
