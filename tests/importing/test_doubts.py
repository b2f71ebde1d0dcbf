"""What a tool doubts itself stands beside its values; dates are read in indented outputs, too."""

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from foreign_outputs import OUTPUTS, output, read
from import_fixture import imported, osu, write
from steelyard.importing.dates import read_date
from steelyard.importing.doubts import ONE_NODE, SEVERAL, STOPPED, mark_repetitions
from steelyard.importing.values import make
from steelyard.measure import records


def notes(text: str) -> set[str]:
    return {value.note for value in read(text).values}


@pytest.mark.parametrize(
    ("file", "warning", "note"),
    [
        ("ior_3", "WARNING: inconsistent file size by different tasks", "inconsistent file size by different tasks"),
        ("gromacs", "WARNING: Using the slow plain C kernels. This", "Using the slow plain C kernels"),
        (
            "hyperfine_screen",
            "  Warning: Statistical outliers were detected. Consider",
            "Statistical outliers were detected",
        ),
        ("google_benchmark_console", "***WARNING*** CPU scaling is enabled, or so.", "CPU scaling is enabled, or so"),
        (
            "netperf_stream",
            "!!! WARNING\n!!! Desired confidence was not achieved",
            "Desired confidence was not achieved",
        ),
        ("cp2k", " *** WARNING in qs_scf.F:598 :: SCF run NOT converged ***", "SCF run NOT converged"),
        ("lammps_2023", "WARNING: Bond atoms are missing", "Bond atoms are missing"),
        # Failures, and tools without a pattern of their own.
        ("lammps_own", "ERROR on proc 0: Non-numeric pressure", "Non-numeric pressure"),
        ("gromacs", "Fatal error:\nStep 200: The potential energy is nan", "Step 200: The potential energy is nan"),
        ("namd", "FATAL ERROR: Bad global exclusion count!", "Bad global exclusion count!"),
        ("fio_3", "verify: bad magic header 0 at file /x offset 0", "verify: bad magic header 0 at file /x offset 0"),
        ("iperf3_tcp", "iperf3: interrupt - the client has terminated", "interrupt - the client has terminated"),
        ("graph500_3", "Validation failed for bfs root 3", "Validation failed for bfs root 3"),
        ("perftest_write_bw", " Completion with error at client", "Completion with error at client"),
        ("vasp", "WARNING: Sub-Space-Matrix is not hermitian", "Sub-Space-Matrix is not hermitian"),
        ("openfoam", "--> FOAM FATAL ERROR: diverged", "diverged"),
        ("stream", "mpirun: WARNING: the ranks share cores", "the ranks share cores"),
        # A full stop behind an abbreviation ends no sentence.
        ("castep", " *Warning* max. SCF cycles performed. Stop.", "max. SCF cycles performed"),
        (
            "stream",
            "WARNING: The power is approx. 40 W above the limit. Check.",
            "The power is approx. 40 W above the limit",
        ),
        ("stream", "WARNING: Some clocks (e.g. 2.1 GHz) vary. Check.", "Some clocks (e.g. 2.1 GHz) vary"),
        ("stream", "WARNING: No limit is set, cf. ulimit. ", "No limit is set, cf. ulimit"),
    ],
)
def test_a_warning_of_the_tool_is_a_note_of_its_values(file: str, warning: str, note: str) -> None:
    text = output(f"{file}.txt")
    assert not any(f"'{note}'" in one for one in notes(text))
    doubted = read(f"{text.rstrip()}\n{warning}\n").values
    assert any(one.note.endswith(f" warns: '{note}'.") for one in doubted)
    assert all(one.note.count(" warns: ") <= 1 for one in doubted)
    assert len(doubted) == len(read(text).values)


@pytest.mark.parametrize("word", ["nan", "-nan", "inf", "*****"])
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("gromacs_own", "       Time:       22.510"),
        ("sysbench_cpu", "         max:                                   10.02"),
    ],
)
def test_a_value_that_is_no_number_is_missing_with_a_reason(file: str, line: str, word: str) -> None:
    text = output(f"{file}.txt")
    assert line in text
    assert not any("instead of a number" in problem for problem in read(text).problems)
    problems = read(text.replace(line, f"{line.rsplit(maxsplit=1)[0]} {word}")).problems
    assert any(f"has '{word}' instead of a number" in problem for problem in problems)


def test_a_warning_concerns_the_values_of_its_own_run_only() -> None:
    text = output("ior_3.txt").rstrip()
    values = read(f"{text}\nWARNING: inconsistent file size by different tasks\n{text}\n").values
    doubted = [" warns: " in value.note for value in values]
    first, second = doubted[: len(values) // 2], doubted[len(values) // 2 :]
    assert first[-1], "the last run before the warning"
    assert not any((first[0], *second))


def test_a_calculation_that_did_not_converge_says_so_beside_its_time() -> None:
    text = output("espresso.txt")
    failed = text.replace(
        "convergence has been achieved in   6 iterations", "convergence NOT achieved after 99 iterations"
    )
    assert any("'convergence NOT achieved after 99 iterations'" in note for note in notes(failed))
    assert not any("convergence" in note for note in notes(text))


@pytest.mark.parametrize("margin", ["    ", "\t", ""])
def test_the_date_of_an_indented_output_is_read(margin: str) -> None:
    text = output("hpl.txt")
    found = read(f"TASK [Output the results.]\n{indent(text, margin)}")
    assert read_date(found.started) == read_date(read(text).started) != ""


def test_the_end_of_gromacs_dates_a_run_without_a_start() -> None:
    text = (
        "                 (ns/day)    (hour/ns)\nPerformance:       17.916        1.340\n"
        "Finished mdrun on rank 0 Mon Mar  6 14:11:02 2023\n"
    )
    assert read_date(read(text).started) == "2023-03-06T14:11:02"


@pytest.mark.parametrize(
    ("printed", "date"),
    [
        ("2023-09-07 10:20:30 PM", "2023-09-07"),
        ("7-Sep-2023 10:20:30 p.m.", "2023-09-07"),
        ("7 Sep 2023 10:20:30PM", "2023-09-07"),
        ("Thu 07 Sep 2023 10:20:30 PM CEST", "2023-09-07"),
        ("Thu Sep  7 10:20:30 CEST 2023", "2023-09-07T10:20:30"),
        ("mar 7 nov 2023, 10:20:30", "2023-11-07"),  # a Tuesday in Italian
        ("mar 05 dic 2023 10:20:30", ""),
    ],
)
def test_a_date_of_another_clock_or_language_is_right_or_none(printed: str, date: str) -> None:
    assert read_date(printed) == date


def in_yaml(text: str) -> str:
    return f"TASK [run]\nok: [n1] => \n  out.stdout: |-\n{indent(text, '    ')}"


def in_container(text: str) -> str:
    lines = (json.dumps({"log": f"{line}\n", "time": "2024-02-03T04:05:06Z"}) for line in text.splitlines())
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("wrap", [in_yaml, in_container])
@pytest.mark.parametrize("file", ["gromacs", "ior_3", "hpl", "imb_mpi1"])
def test_an_output_within_a_log_has_all_its_values_and_its_date(file: str, wrap: Callable[[str], str]) -> None:
    text = output(f"{file}.txt")
    bare, wrapped = read(text), read(wrap(text))
    assert sorted(value.value for value in wrapped.values) == sorted(value.value for value in bare.values)
    assert read_date(wrapped.started) == read_date(bare.started)


STOPS = [
    "slurmstepd: error: *** JOB 4711 ON nid001 CANCELLED AT 2024-05-03T10:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: *** STEP 4711.0 ON nid001 CANCELLED AT 2024-05-03T10:00:00 ***",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0. Some of the job was killed.",
    "srun: error: nid001: task 3: Out Of Memory",
    "srun: error: nid001: tasks 0-3: Exited with exit code 1",
    "=>> PBS: job killed: walltime 3633 exceeded limit 3600",
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "mpirun noticed that process rank 0 with PID 0 on node n1 exited on signal 9 (Killed).",
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
    "aprun: Apid 7: Caught signal Terminated, sending to application",
    "/var/spool/job.sh: line 12: 40114 Killed                  ./stream",
    "Segmentation fault (core dumped)",
]
WITHOUT_VALUES = {"gpu_burn_faulty.txt"}
TEXTS = sorted(file.name for file in OUTPUTS.iterdir() if file.suffix == ".txt" and file.name not in WITHOUT_VALUES)


def lines_of(text: str, doubt: str) -> set[int]:
    return {value.line for value in read(text).values if doubt in value.note}


@pytest.mark.parametrize("stop", STOPS)
def test_the_values_of_a_stopped_run_are_doubted(stop: str) -> None:
    text = output("stream.txt")
    (note,) = {v.note.partition(STOPPED)[2] for v in read(f"{text}{stop}\n").values}
    assert note.startswith(f" (line {text.count(chr(10)) + 1}: '")
    assert note.rstrip("').").partition("'")[2] in stop


@pytest.mark.parametrize("file", TEXTS)
def test_a_stop_below_an_output_is_found_in_each_format(file: str) -> None:
    text = output(file).rstrip("\n")
    whole, stopped = read(f"{text}\n").values, read(f"{text}\n{STOPS[0]}\n").values
    assert [(v.case, v.value) for v in stopped] == [(v.case, v.value) for v in whole]
    assert any(STOPPED in v.note for v in stopped)
    assert not any(STOPPED in v.note for v in whole)


def test_only_the_output_above_a_stop_is_doubted() -> None:
    text = output("stream.txt")
    lines = text.count("\n")
    doubted = lines_of(f"{text}{text}{STOPS[0]}\n{text}", STOPPED)
    assert doubted
    assert all(lines < line <= 2 * lines for line in doubted)
    assert not lines_of(f"{STOPS[0]}\n{text}", STOPPED)
    assert not lines_of(f"{text}The job was CANCELLED by nobody, and no task was Killed.\n", STOPPED)


def test_a_file_that_ends_within_a_number_is_doubted() -> None:
    cut = osu() + "16  1.8"
    assert read(cut).problems
    assert {v.note[-32:] for v in read(cut).values} == {"value (line 5: 'the file ends here')."[-32:]}
    assert not lines_of(osu().rstrip("\n") + "  \n", STOPPED)


def test_two_outputs_in_one_file_are_named_with_their_lines() -> None:
    text = output("stream.txt")
    twice = read(f"{text}{text}").values
    again = 1 + text.count("\n") + next(at for at, line in enumerate(text.splitlines()) if "STREAM version" in line)
    assert all(SEVERAL in v.note and f" {again}." in v.note for v in twice)
    assert not lines_of(text, SEVERAL)


def test_few_recorded_outputs_hold_several_runs() -> None:
    several = {file for file in TEXTS if lines_of(output(file), SEVERAL)}
    assert several == {"mpptest_cit.txt", "osu_latency_two_runs.txt", "sysbench_memory.txt"}


BUILT = """C compiler:         /opt/bin/cc {}
Using {} MPI processes
               Core t (s)   Wall t (s)        (%)
       Time:     1000.000       {}      100.0
                 (ns/day)    (hour/ns)
Performance:        1.000       24.000
"""


def test_two_builds_in_one_folder_are_two_series(tmp_path: Path, capsys: Any) -> None:
    runs = [
        ("GNU 7.2.0", 64, 100.0, 1),
        ("GNU 7.2.0", 64, 101.0, 2),
        ("Intel 17.0.4", 64, 90.0, 3),
        ("Intel 17.0.4", 128, 50, 4),
    ]
    files = {f"md_20180115114{day}.log": BUILT.format(build, ranks, time) for build, ranks, time, day in runs}
    done = imported(capsys, write(tmp_path / "logs", files), "--runs", tmp_path / "runs")
    (run,) = (records.read(Path(one["run"])) for one in done["runs"])
    times = [v for v in (run.imported.values if run.imported else ()) if v.metric == "time"]
    assert [(v.parameters["build"], v.parameters["ranks"], v.value) for v in times] == [one[:3] for one in runs]
    assert [v.repetition for v in times] == [0, 1, 0, 0]


def test_other_versions_are_other_cases_and_repetitions_of_one_node_are_marked(tmp_path: Path, capsys: Any) -> None:
    files = {f"osu_{at}.out": osu(1.02 + at / 100) for at in range(1, 5)}
    files["osu_5.out"] = osu(1.07).replace("v5.6.2", "v7.2")
    files["osu_6.out"] = osu(0.2).replace("0.70", "0.31")
    done = imported(capsys, write(tmp_path / "logs", files), "--runs", tmp_path / "runs")
    (run,) = (records.read(Path(one["run"])) for one in done["runs"])
    found = run.imported.values if run.imported else ()
    versions = {(v.file[-9:], v.parameters["version"]) for v in found}
    assert versions == {(f"osu_{at}.out", "7.2" if at == 5 else "5.6.2") for at in range(1, 7)}
    assert {v.repetition for v in found if v.parameters["version"] == "7.2"} == {0}
    assert {(v.file[-9:], v.line) for v in found if ONE_NODE in v.note} == {("osu_6.out", 3), ("osu_6.out", 4)}


@pytest.mark.parametrize(
    ("latencies", "marked"),
    [
        ((0.626, 0.685), ()),  # two nodes with InfiniBand
        ((0.53, 0.57, 0.75, 0.73), ()),  # all on one node, with other pairs of cores
        ((0.25, 0.31, 1.45), (0, 1)),
        ((0.25, 0.31), ()),
        ((0.59, 0.88), ()),
        ((0.59, 0.89), (0,)),
    ],
)
def test_only_a_gap_between_repetitions_shows_one_node(latencies: tuple[float, ...], marked: tuple[int, ...]) -> None:
    parameters = {"message_bytes": 8}
    found = [make("network.pingpong", "pingpong", "latency", one, "us", "mean", parameters) for one in latencies]
    mark_repetitions(found, ["case"] * len(found))
    assert tuple(at for at, value in enumerate(found) if ONE_NODE in value.note) == marked


def test_stars_around_a_title_are_no_number() -> None:
    text = f"{output('hpl.txt')}\n **** Factorization, m = 92160, policy = 0 **** \n"
    assert not any("instead of a number" in problem for problem in read(text).problems)


def test_the_test_of_convergence_of_hpcg_is_no_warning() -> None:
    assert "UNPRECONDITIONED" in output("hpcg_yaml.txt")
    assert not any(" warns: " in value.note for value in read(output("hpcg_yaml.txt")).values)


def test_an_unread_file_has_each_reason_once(capsys: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = "-" * 80
    head = f"{line}\nBenchmark            Time             CPU   Iterations   Num Dofs |      Dof/s\n{line}\n"
    rows = "".join(
        f"BP3/{at}/manual_time     12509 ms        12442 ms            1    610.62M   976.255M/s\n" for at in range(9)
    )
    text = head + rows
    write(tmp_path, {"a.txt": text, "b.txt": output("stream.txt")})
    reasons = [row["reason"] for row in imported(capsys, "a.txt", "b.txt")["unread"]]
    assert [reason.count("counters") for reason in reasons] == [1]


def test_a_deadline_that_was_set_is_no_warning_of_ior() -> None:
    text = output("ior.txt")
    deadline = "WARNING: Using actual aggregate bytes moved = 1\nWARNING: Maybe caused by deadlineForStonewalling\n"
    broken = "WARNING: inconsistent file size by different tasks\n"
    noted = [[" warns: " in value.note for value in read(f"{text}{more}").values] for more in (deadline, broken)]
    assert [any(own) for own in noted] == [False, True]
