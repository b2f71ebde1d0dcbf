"""Somebody else's programs are carried out: real processes, their records, and the failures, each a record of its own."""

import contextlib
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hpl
from steelyard.applications.foreign.application import Application
from steelyard.applications.foreign.linked_mpi import describe_other_mpi
from steelyard.judge import evaluation
from steelyard.measure.machine import describe
from steelyard.measure.plan.variants import read_variants
from steelyard.model import Case, Launch, Site, Tool
from steelyard.show.command_line import cli

# Adds up 1 … n, sleeps or computes for so many seconds, and times itself. The sum is checked.
PROGRAM = """#!{python}
import time
size = int(open("size.txt").read())
begin, processor = time.perf_counter(), time.process_time()
total = sum(range(size + 1))
time.sleep({asleep})
while time.process_time() < processor + {busy}:
    pass
print("sum", total, "of", size)
print("took", time.perf_counter() - begin, "s")
"""
FILE = """name = "sum"
title = "A sum"
summary = "s"
reading = "r"
caution = "c"
source = "o"
tried = "in these tests"
command = ["./program.py"]
parallel = false
seconds = 0.1
memory = "8 * size"

[axes]
size = [1000]

[time]
pattern = 'took (\\S+) s'
unit = "s"

[[figures]]
name = "added"
title = "numbers added"
unit = "step/s"
amount = "size"
[[checks]]
title = "the sum"
pattern = 'sum (\\S+) of'
reference = 500500
tolerance = 0
[phases.adding]
pattern = 'took (\\S+) s'
unit = "s"
[files]
"size.txt" = "{{size}}"
"""

Ended = tuple[int, list[dict[str, Any]], str]  # exit code, records, output
Finished = tuple[Path, str]  # folder, output
BUSY = 0.1  # seconds of a processor


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def written(folder: Path, text: str = FILE, asleep: float = 0.0, busy: float = 0.0) -> Path:
    """Writes the program and its description; returns the path of the description."""
    executable(folder / "program.py", PROGRAM.format(python=sys.executable, asleep=asleep, busy=busy))
    (folder / "sum.toml").write_text(text)
    return folder / "sum.toml"


def carried_out(folder: Path, *words: str, text: str = FILE, asleep: float = 0.0) -> Ended:
    """Runs the program by its description, in this process."""
    return steelyard(folder, "--app", str(written(folder, text, asleep)), *words)


def steelyard(folder: Path, *words: str) -> Ended:
    """Returns how `steelyard run` ends with these words, in this process."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = cli.run_and_explain(lambda: cli.app(["run", "--runs", str(folder / "runs"), "--quiet", *words]))
    return code, records_in(folder), output.getvalue()


def records_in(folder: Path) -> list[dict[str, Any]]:
    """Returns the records of the latest run in this folder."""
    files = sorted((folder / "runs").glob("*/records.jsonl"))
    return [json.loads(line) for line in files[-1].read_text().splitlines()] if files else []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run of the program by a process of its own: the folder, and what the process printed."""
    folder = tmp_path_factory.mktemp("applications")
    words = ["run", "--runs", str(folder / "runs"), "--quiet", "--app", str(written(folder, busy=BUSY))]
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, timeout=250, check=False
    )
    return folder, done.stdout + done.stderr


def test_each_run_of_the_program_is_a_sample_with_its_accounts(finished: Finished) -> None:
    records, said = records_in(finished[0]), finished[1]
    assert len(records) >= 2, said
    for record in records:
        assert record["error"] is None
        assert record["check"]["passed"], record["check"]
        assert len(record["samples"]) >= 2
        assert all(BUSY <= seconds < 60 for seconds in record["samples"])  # what the program says of itself
        around = record["surroundings"]
        assert all(w > s for w, s in zip(around["samples"]["seconds"], record["samples"], strict=True))
        assert all(own >= BUSY for own in around["details"]["processor_seconds"])
        assert around["pace"]["before"]["issued"] > 0
        assert len(around["samples"]["chase"]) == len(record["samples"])
        assert around["phases"]["adding"] == pytest.approx(sum(record["samples"]))
        assert record["work"] == {"added": 1000.0}
        assert record["parameters"]["size"] == 1000
    assert "A sum" in said


def test_it_is_shown_and_exported_as_every_benchmark(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    run = next((finished[0] / "runs").iterdir())
    assert cli.run_and_explain(lambda: cli.app(["export", str(run), "--format", "json"])) == 0
    exported = capsys.readouterr().out
    assert '"added"' in exported
    assert '"application.sum"' in exported
    assert "numbers added" in (run / "report.html").read_text()


def read_often(run: Path, until: float) -> None:
    """Replaces the readings by ten in each second, up to this time, as a machine without load takes them."""
    lines = [json.loads(line) for line in (run / "power.jsonl").read_text().splitlines()]
    kept = [line for line in lines if not line["columns"]]
    columns = [column for line in lines for column in line["columns"]]
    assert {value for column in columns for value in column["value"]} == {8000.0}
    times = [*range(columns[0]["at"][0], round(until * 1e9), 100_000_000)]
    column = {"sensor": columns[0]["sensor"], "at": times, "value": [8000.0] * len(times)}
    kept.append({"sensors": [], "idle": None, "columns": [column]})
    (run / "power.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))


# On a machine under load the sensor is read so seldom that a run of a second has no energy.
@pytest.mark.parametrize(
    "readings",
    [pytest.param("ten a second", marks=pytest.mark.long), pytest.param("as they came", marks=pytest.mark.alone)],
)
def test_its_runs_have_their_energy_where_a_sensor_is_read(readings: str, tmp_path: Path) -> None:
    sensor = executable(tmp_path / "sensor.sh", "#!/bin/sh\necho 8000\n")  # W: more than any real sensor reports
    # Whatever the program says of its time, what it cost is that of all of it.
    program = FILE.replace('(\\S+) s\'\nunit = "s"\n\n[[fig', '(\\S+) s\'\nunit = "ms"\n\n[[fig', 1)
    assert program != FILE
    _, records, said = carried_out(tmp_path, "--sensor", f"command:run={sensor},scope=node", text=program, asleep=0.8)
    assert "Each case with an energy lasts 5.0 s" in said  # and its runs end then, though each of them is shorter
    assert len(records) >= 2, said
    assert all(r["error"] is None and len(r["samples"]) > 2 for r in records), said
    run = next((tmp_path / "runs").iterdir())
    if readings == "ten a second":
        read_often(run, records[-1]["surroundings"]["ended"] + 1)
    (result,) = evaluation.evaluate(run, ()).results
    whole = [s for r in records if r["verdict"]["level"] != "INVALID" for s in r["surroundings"]["samples"]["seconds"]]
    power, joules = result.metrics["power"], result.metrics["energy"]
    assert power.value == pytest.approx(8000, rel=1e-6)
    assert 8000 * min(whole) <= joules.value <= 8000 * max(whole)
    assert joules.low is not None
    assert joules.low < joules.value
    assert result.metrics["time"].value < joules.value / 8000 / 100


# What is replaced in the description, by what, and the sentence that follows.
TOOK, LASTED = (f"'{word} (\\S+) s'\nunit = \"s\"\n\n[[fig" for word in ("took", "lasted"))
FAILURES = {
    "wrong result": ("reference = 500500", "reference = 7", "the sum: 500500, expected 7 ± 0"),
    "missing program": (
        "./program.py",
        "no-such-one",
        "The program 'no-such-one', which sum.toml names, was not found. Install it",
    ),
    "pattern": (TOOK, LASTED, "The pattern of time, 'lasted (\\S+) s', matches nothing in the output."),
    "missing input": ("[files]", "[copies]\na = 'gone'\n[files]", "The input 'gone' of sum.toml cannot be read:"),
    "does not fit": ('"8 * size"', '"1e15 * size"', "The input of sum needs"),
    "exit": ('"{{size}}"', '"none"', "sum ended with exit code 1."),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("failure", sorted(FAILURES))
def test_what_fails_is_a_record_that_says_why(tmp_path: Path, failure: str) -> None:
    old, new, sentence = FAILURES[failure]
    assert old in FILE
    code, records, said = carried_out(tmp_path, "--budget", "20s", text=FILE.replace(old, new, 1))
    assert code == (3 if failure == "wrong result" else 4), said
    assert "Traceback" not in said or failure == "exit"  # then it is the program's own
    for record in records:
        assert record["verdict"]["level"] == "INVALID"
        assert record["surroundings"]["details"]["failure"] == failure
        assert sentence in (record["error"] or record["check"]["detail"])
        assert bool(record["samples"]) == (failure == "wrong result")  # what was measured is kept
    assert records


def failure_of(folder: Path, text: str, *words: str, limit: float = 60.0, variant: str = "") -> dict[str, Any]:
    """The answer of one run of a program with this description; `words`: the command in place of its own."""
    described = text.replace('["./program.py"]', json.dumps(words)) if words else text
    (folder / "sum.toml").write_text(described)
    site = Site(variants=read_variants([variant] if variant else []))
    changed = {"variant": site.variants[0].name} if variant else {}
    case = Case("application.sum", "sum", {"size": 1000, "threads": 1, **changed})
    running = Application(folder / "sum.toml", site, describe(), Launch(1, "application.sum", "gcc", 1, (case,)))
    try:
        return running.ask("case=0 seconds=1 least=1 most=1", limit)
    finally:
        running.close()


def test_a_foreign_program_gets_the_variables_of_a_variant(tmp_path: Path) -> None:
    words = ("sh", "-c", "echo driver: $DRIVER, threads: $OMP_NUM_THREADS; exit 3")
    found = failure_of(tmp_path, FILE, *words, variant="vendor driver:DRIVER=new")
    assert "driver: new, threads: 1" in found["error"]
    assert "driver: , threads: 1" in failure_of(tmp_path, FILE, *words)["error"]


COPIED = FILE.replace("[files]", "[copies]\na = 'input.gz'\n[files]")


def bomb(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        for _ in range(32):
            file.write(bytes(1 << 20))


INPUTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "bomb": (bomb, "The input 'input.gz' of sum.toml has more than 16 MiB."),
    "pipe": (os.mkfifo, "it is not an ordinary file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is not an ordinary file"),
    "text": (lambda path: path.write_text("no archive"), "Not a gzipped file"),
    "torn": (lambda path: path.write_bytes(gzip.compress(bytes(9999))[:-20]), "cannot be read"),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_strange_input_is_a_sentence(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.applications.foreign.application.MOST_INPUT", 16 << 20)
    make, sentence = INPUTS[kind]
    make(tmp_path / "input.gz")
    assert sentence in failure_of(tmp_path, COPIED, "true")["error"]


def test_output_without_an_end_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.applications.foreign.application.MOST_OUTPUT", 16 << 20)
    answer = failure_of(tmp_path, FILE, "yes")
    assert answer["error"] == "sum writes more than 16 MiB of output. Make it write less."
    assert b"yes\0" not in list(command_lines())


def test_a_huge_file_of_output_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.applications.foreign.application.MOST_OUTPUT", 16 << 20)
    text = 'output = "log"\n' + FILE
    assert "writes more than 16 MiB" in failure_of(tmp_path, text, "truncate", "-s", "1G", "log")["error"]


def test_a_pattern_that_explodes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.applications.foreign.output.LONGEST", 1.0)
    text = FILE.replace("pattern = 'took (\\S+) s'", "pattern = '(a+)+$'", 1)
    assert text != FILE
    answer = failure_of(tmp_path, text, "echo", "a" * 60 + "b")
    assert "The patterns took longer than 1 s" in answer["error"]
    assert answer["surroundings"]["details"]["failure"] == "pattern"


def test_the_check_finds_a_result_that_was_made_wrong(tmp_path: Path) -> None:
    code, records, _ = carried_out(tmp_path, "--budget", "20s", "--set", "plant=wrong")
    assert code == 3
    assert not any(r["check"]["passed"] for r in records)


def command_lines() -> Iterator[bytes]:
    """Of all processes; those that end while they are read are left out."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    lasting = str(90_000 + os.getpid())  # seconds, by which the process is known
    script = f"import subprocess; print('begun', flush=True); subprocess.run(['sleep', '{lasting}'])"
    answer = failure_of(tmp_path, FILE, sys.executable, "-c", script, limit=8.0)
    assert answer["surroundings"]["details"]["failure"] == "time"
    assert "begun" in answer["error"]
    assert b"sleep\0%s\0" % lasting.encode() not in list(command_lines())


def test_a_mistake_in_a_file_is_a_sentence_and_nothing_is_started(tmp_path: Path) -> None:
    code, records, said = carried_out(tmp_path, text=FILE.replace("unit =", "unti =", 1))
    assert (code, records) == (2, [])
    assert "sum.toml', line 18, key 'time.unti': there is no such key. Did you mean 'unit'?" in said
    code, _, said = steelyard(tmp_path, "--app", "lamps")
    assert code == 2
    assert "There is no application 'lamps' (given by --app). Did you mean 'lammps'?" in said


def test_a_binary_of_another_mpi_is_named(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler
    library, source, binary = tmp_path / "libmpi.so.40", tmp_path / "p.c", tmp_path / "p"
    source.write_text("int MPI_Made_up(void); int main(void) { return MPI_Made_up(); }")
    (tmp_path / "l.c").write_text("int MPI_Made_up(void) { return 0; }")
    subprocess.run([compiler, "-shared", "-o", library, tmp_path / "l.c", "-Wl,-soname,libmpi.so.40"], check=True)
    subprocess.run([compiler, "-o", binary, source, library, f"-Wl,-rpath,{tmp_path}"], check=True)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(library, tmp_path / "elsewhere")
    for name, folder in (("own", tmp_path), ("strange", tmp_path / "elsewhere")):
        executable(tmp_path / f"mpicxx-{name}", f"#!/bin/sh\necho g++ -L{folder} -lmpi\n")
    assert describe_other_mpi(str(binary), Tool("openmpi", str(tmp_path / "mpicxx-own"), "4.1.4")) == ""
    said = describe_other_mpi(str(binary), Tool("openmpi", str(tmp_path / "mpicxx-strange"), "5.0.1"))
    assert "is linked with the MPI library" in said
    assert "--mpi PATH-OF-mpicxx" in said
    assert describe_other_mpi(str(tmp_path / "p.c"), Tool("openmpi", str(tmp_path / "mpicxx-own"), "4.1.4")) == ""


SITE = {"hpcc": "hpcc", "lammps": "lmp", "espresso": "pw.x", "gromacs": "gmx"}
MPI = "/usr/bin/mpicxx"  # Debian's


@pytest.mark.site
@pytest.mark.parametrize("name", sorted(SITE))
def test_debians_programs_run_on_two_ranks_and_are_right(tmp_path: Path, name: str) -> None:
    if not shutil.which(SITE[name]) or not os.access(MPI, os.X_OK):
        pytest.skip(f"needs {SITE[name]} and Debian's MPI: make test-site installs them")
    # GROMACS's ranks are threads.
    right(tmp_path, name, *([] if name == "gromacs" else ["--mpi", MPI, "--set", "ranks=2"]))


@pytest.mark.site
def test_hpl_runs_on_two_ranks_and_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.access(MPI, os.X_OK):
        pytest.skip("needs Debian's MPI: make test-site installs it")
    program = hpl.built(tmp_path, MPI.replace("cxx", "cc"))
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    right(tmp_path, "hpl", "--mpi", MPI, "--set", "ranks=2")


def right(folder: Path, name: str, *words: str) -> None:
    """A shipped description is carried out, and every result of it is right."""
    _, records, said = steelyard(folder, "--app", name, "--budget", "5s", *words)
    assert records, said
    for record in records:
        assert record["error"] is None
        assert record["check"]["passed"], record["check"]
        assert record["work"]
