"""What a tool doubts itself stands beside its values; dates are read in indented outputs, too."""

from textwrap import indent

import pytest

from foreign_outputs import output, read
from steelyard.importing.dates import read_date


def notes(text: str) -> set[str]:
    return {value.note for value in read(text).values}


@pytest.mark.parametrize(
    ("file", "warning", "note"),
    [
        ("ior_3", "WARNING: inconsistent file size by different tasks", "inconsistent file size by different tasks"),
        ("gromacs_own", "WARNING: Using the slow plain C kernels. This", "Using the slow plain C kernels"),
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
    ],
)
def test_a_warning_of_the_tool_is_a_note_of_its_values(file: str, warning: str, note: str) -> None:
    text = output(f"{file}.txt")
    assert not any(f"'{note}'" in one for one in notes(text))
    doubted = read(f"{text.rstrip()}\n{warning}\n").values
    assert any(one.note.endswith(f" warns: '{note}'.") for one in doubted)
    assert len(doubted) == len(read(text).values)


def test_a_warning_concerns_the_values_of_its_own_run_only() -> None:
    text = output("ior_3.txt").rstrip()
    values = read(f"{text}\nWARNING: inconsistent file size by different tasks\n{text}\n").values
    doubted = [bool(value.note) for value in values]
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
