"""End to end through the command line: a run, its exports, bad input, and its exit codes."""

import csv
import errno
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from scripts import write_script
from steelyard.errors import MachineFailed
from steelyard.judge.evaluation import evaluate
from steelyard.measure.machine import describe
from steelyard.measure.records import all_runs, read
from steelyard.model import Evaluation
from steelyard.show.command_line import cli, command_group, help_page
from steelyard.show.report import columns, export

STEELYARD = [str(Path(sys.executable).with_name("steelyard"))]
WITHOUT_ELEMENTS = ["run", "--only", "memory.stream"]
for setting in ("kernel=triad", "threads=1", "pinning=compact"):
    WITHOUT_ELEMENTS += ["--set", setting]
SMALL = [*WITHOUT_ELEMENTS, "--set", "elements=4096,65536", "--set", "stores=ordinary"]


def steelyard(*words: str, cwd: Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*STEELYARD, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
        **more,
    )  # type: ignore[call-overload, no-any-return]


Answer = subprocess.CompletedProcess[str]
Answered = Callable[..., Answer]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answered:
    """`steelyard` in this process, which takes a tenth of the time of a process of its own."""

    def answer(*words: str, cwd: Path) -> Answer:
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("COLUMNS", "200")
        code = cli.run_and_explain(lambda: cli.app(list(words)))
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, printed.out, printed.err)

    return answer


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished small run."""
    folder = tmp_path_factory.mktemp("cli")
    done = steelyard(*SMALL, "--quiet", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    assert "The report: " in done.stdout.splitlines()[-1]
    return folder


def test_a_run_ends_by_naming_its_report(finished: Path) -> None:
    assert (all_runs(finished / "runs")[0] / "report.html").stat().st_size > 100_000


def test_every_sample_is_kept(finished: Path) -> None:
    run = read(all_runs(finished / "runs")[0])
    assert run.finished
    assert {r.parameters["elements"] for r in run.records} == {4096, 65536}
    assert {r.launch for r in run.records} >= {1, 2}  # and further ones of what was not settled
    assert all(len(r.samples) >= 5 for r in run.records)
    assert all(len(r.surroundings.samples.waited or ()) == len(r.samples) for r in run.records)


def test_exports_say_the_same_in_every_format(finished: Path, tmp_path: Path, answered: Answered) -> None:
    whole = json.loads(answered("export", cwd=finished).stdout)
    rows = list(csv.DictReader(io.StringIO(answered("export", "--format", "csv", cwd=finished).stdout)))
    assert {float(r["value"]) for r in rows} == {v["value"] for x in whole["results"] for v in x["metrics"].values()}
    assert whole["results"][0]["metrics"]["bandwidth"]["unit"] == "B/s"
    assert {r["unit"] for r in rows if r["metric"] == "bandwidth"} == {"B/s"}
    target = tmp_path / "run.parquet"
    assert answered("export", "--format", "parquet", "--output", str(target), cwd=finished).returncode == 0
    import duckdb

    assert duckdb.sql(f"select count(*) from '{target}'").fetchall() == [(len(rows),)]
    samples = duckdb.sql(f"select count(*) from '{target.with_name('run-samples.parquet')}'").fetchall()
    assert samples == [(sum(len(r["samples"]) for r in whole["records"]),)]


def test_an_export_that_cannot_write_its_second_file_leaves_none(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = columns.write

    def refuse(evaluation: Evaluation, table: columns.Table, path: Path, flat: bool = False) -> None:
        write(evaluation, table, path, flat)
        if flat:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(columns, "write", refuse)
    with pytest.raises(MachineFailed, match="could not be written"):
        export.write(evaluate(next((finished / "runs").iterdir())), "parquet", tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_question_in_sql_is_answered(finished: Path, answered: Answered) -> None:
    done = answered(
        "query",
        "select kernel, count(*) as n from metrics where metric = 'bandwidth' group by kernel",
        "--json",
        cwd=finished,
    )
    assert json.loads(done.stdout) == [{"kernel": "triad", "n": 2}]
    wrong = answered("query", "select nothing from no_table", cwd=finished)
    assert wrong.returncode == 2
    assert "no_table" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_show_list_and_report_find_the_run(finished: Path, tmp_path: Path, answered: Answered) -> None:
    shown = steelyard("show", cwd=finished)
    assert "Triad (memory)" in shown.stdout
    assert f"The report: {all_runs(finished / 'runs')[0].relative_to(finished)}/report.html" in shown.stdout
    assert len(shown.stdout.splitlines()) <= 50
    assert max(map(len, shown.stdout.splitlines())) <= 80, "a pipe has 80 columns, whatever COLUMNS says"
    assert "\x1b" not in shown.stdout
    assert "memory.stream" in answered("show", "--all", cwd=finished).stdout
    assert "finished" in answered("list", cwd=finished).stdout
    done = answered("report", "--output", str(tmp_path / "r.html"), cwd=finished)
    assert done.stdout.strip() == str(tmp_path / "r.html")


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "expected"), [(["run", "--set", "thread=1"], "Did you mean 'threads'"), (["nonsense"], "nonsense")]
)
def test_bad_input_of_a_process_of_its_own_is_answered(words: list[str], expected: str, finished: Path) -> None:
    """All others: whole/test_mistakes."""
    done = steelyard(*words, cwd=finished)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert len(all_runs(finished / "runs")) == 1, "bad input must not leave a run behind"


def test_a_machine_without_a_compiler_is_an_explained_failure(tmp_path: Path) -> None:
    done = subprocess.run(
        [*STEELYARD, *SMALL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        timeout=240,
        check=False,
    )
    assert done.returncode == 4
    assert "no C++ compiler" in done.stderr
    assert "apt-get install" in done.stderr


@pytest.mark.long
def test_a_machine_with_an_old_compiler_is_an_explained_failure_that_leaves_nothing(tmp_path: Path) -> None:
    write_script(tmp_path / "bin/g++", "echo 'g++ (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0'")
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [*STEELYARD, *SMALL], cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 4
    assert "bin/g++ is gcc 9.4.0, but Steelyard needs gcc 11 or later" in done.stderr
    # An OpenCL driver that is asked what devices there are may make a cache of its own.
    assert set(os.listdir(tmp_path)) - {".cache"} == {"bin"}
    assert not (tmp_path / ".cache" / "steelyard").exists()


def test_impossible_sizes_become_explained_records_and_exit_code_4(tmp_path: Path, answered: Answered) -> None:
    # Eight bytes for each in three vectors are too many, as the kernel finds; the plan only knows that each needs four.
    elements = describe().memory // 5
    done = answered(
        "run", "--only", "memory.stream", "--set", "kernel=triad", "--set", "threads=1", "--set", f"elements={elements}",
        "--quiet", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 4
    run = read(all_runs(tmp_path / "runs")[0])
    assert all("not enough memory" in str(r.error) for r in run.records)


def test_a_plan_is_shown_without_running_anything(tmp_path: Path, answered: Answered) -> None:
    done = answered("plan", "--only", "memory.stream", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["launches"][0]["benchmark"] == "memory.stream"
    assert not (tmp_path / "runs").exists()


def _in_format_1(run: Path) -> None:
    """The run as it was once written: evidence in sentences, and no word of when a case ended."""
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "format": 1}))
    lines = []
    for line in (run / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        record["verdict"]["evidence"] = [f"{e['kind']}: {e['text']}" for e in record["verdict"]["evidence"]]
        del record["surroundings"]["ended"], record["surroundings"]["monotonic"]
        lines.append(json.dumps(record) + "\n")
    (run / "records.jsonl").write_text("".join(lines))


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that Ctrl-C ended after its first records."""
    folder = tmp_path_factory.mktemp("interrupted")
    words = [*STEELYARD, *WITHOUT_ELEMENTS, "--set", "elements=4096,8192,16384", "--quiet"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _wait_for_records(folder / "runs", 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "steelyard resume" in said
    return folder


@pytest.mark.sampled(1)
@pytest.mark.parametrize("written", [1, 2])
def test_ctrl_c_keeps_what_was_measured_and_resume_goes_on(
    tmp_path: Path, interrupted: Path, written: int, answered: Answered
) -> None:
    shutil.copytree(interrupted / "runs", tmp_path / "runs")
    (run,) = all_runs(tmp_path / "runs")
    if written == 1:
        _in_format_1(run)
    before = read(run)
    assert len(before.records) >= 2
    assert not before.finished
    done = (answered if written == 1 else steelyard)("resume", "--quiet", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    after = read(run)
    assert json.loads((run / "run.json").read_text())["format"] == 2
    assert after.notes == ()
    assert after.finished
    assert after.records[: len(before.records)] == before.records
    measured = [(r.launch, r.case, r.attempt) for r in after.records]
    assert len(set(measured)) == len(measured)
    assert {(x.number, i) for x in after.plan.launches for i in range(len(x.cases))} == {
        (r.launch, r.case) for r in after.records
    }


def _wait_for_records(runs: Path, count: int) -> None:
    for _ in range(12000):
        if any(p.read_bytes().count(b"\n") >= count for p in runs.glob("*/records.jsonl")):
            return
        time.sleep(0.01)
    raise AssertionError(f"no {count} records in {runs} after two minutes")


@pytest.mark.site
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_a_full_disk_ends_the_run_with_whole_records_and_resume_goes_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", disk], check=True)
    try:
        words = [*WITHOUT_ELEMENTS]
        words += ["--set", f"elements={','.join(str(512 * n) for n in range(1, 16))}", "--runs", str(disk), "--quiet"]
        full = steelyard(*words, cwd=tmp_path)
        assert full.returncode == 4, full.stderr
        assert "No space left" in full.stderr
        assert "steelyard resume" in full.stderr
        before = read(all_runs(disk)[0])
        assert before.notes == ()
        assert not before.finished
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        done = steelyard("resume", "--runs", str(disk), "--quiet", cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        after = read(all_runs(disk)[0])
        assert after.finished
        assert after.records[: len(before.records)] == before.records
    finally:
        subprocess.run(["umount", disk], check=True)


def test_runs_that_cannot_be_kept_are_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: Answered
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    done = answered("run", "--only", "memory.stream", "--runs", str(tmp_path / "file" / "runs"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "is a file" in done.stderr
    assert "--runs" in done.stderr
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("words", "read"), [(["--version"], set()), (["--help"], {"device", "mpi"}), (["list", "--help"], {"list"})]
)
def test_a_command_reads_the_files_of_no_other_command(words: list[str], read: set[str]) -> None:
    code = (
        "import sys; from steelyard.show.command_line import cli; cli.run_and_explain(lambda: cli.app(sys.argv[1:]));"
        "print(*(n.rpartition('.')[2] for n in sys.modules if '.commands.' in n and n.startswith('steelyard')))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    groups = {"power"}  # of a wing, and read for its summary
    assert set(done.stdout.splitlines()[-1].split()) - groups == read


@pytest.mark.parametrize(
    "package",
    [
        "steelyard.show.command_line.cli",
        pytest.param("steelyard.power.commands.power", marks=pytest.mark.wings),
        "steelyard.show.commands.mpi",
    ],
)
def test_the_page_of_help_says_what_each_command_says_of_itself(package: str) -> None:
    group: Any = typer.main.get_command(importlib.import_module(package).app)
    for name, command in group.commands.items():
        first = " ".join(command.help.split("\n\n")[0].split())
        assert len(first) > 20
        assert command_group.read_summary(group.commands, name) == first


def test_the_page_of_help_marks_words_and_loads_no_parser_of_markdown() -> None:
    code = (
        "import sys; from steelyard.show.command_line import cli; cli.run_and_explain(lambda: cli.app(['--help']));"
        "print({'markdown_it', 'pygments', 'numpy', 'msgspec'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Begin with steelyard run, which" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"
    assert help_page.mark_bold("a **b c** d** e").markup == "a [bold]b c[/bold] d** e"


def options() -> Iterator[tuple[list[str], str]]:
    """Each command, and each of its options that takes a value."""

    def of(found: Any, words: list[str]) -> Iterator[tuple[list[str], str]]:
        for name in getattr(found, "commands", {}):
            yield from of(found.commands[name], [*words, name])
        if not hasattr(found, "commands"):
            yield from (
                (words, each.opts[0]) for each in found.params if each.param_type_name == "option" and not each.is_flag
            )

    return of(typer.main.get_command(cli.app), [])


@pytest.mark.sampled(40)
@pytest.mark.parametrize(("words", "option"), [pytest.param(w, o, id=f"{' '.join(w)} {o}") for w, o in options()])
def test_an_option_without_its_value_is_refused(
    words: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As from a script whose variable is not set."""
    for given in ([option, ""], [f"{option}="]) if option.startswith("--") else ([option, ""],):
        assert cli.run_and_explain(lambda given=given: cli.app([*words, *given])) == 2
        assert f"The value of {option} is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (ImportError("libopenblas.so: failed to map segment from shared object"), "not enough memory"),
        (ImportError("libx.so: cannot allocate memory in static TLS block"), "not enough memory"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
    ],
)
def test_what_a_limit_does_not_give_is_a_sentence(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        raise error

    assert cli.run_and_explain(work) == 4
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("error", [ImportError("No module named 'steelyard.x'"), RuntimeError("a mistake of ours")])
def test_a_mistake_of_ours_is_not_hidden(error: Exception) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        cli.run_and_explain(work)
