"""Logs of applications: a description with patterns is a format, and says what is wrong with it."""

import re
from pathlib import Path

import pytest

import foreign_outputs
from folders import ROOT
from foreign_outputs import output
from steelyard.importing import reading
from steelyard.importing.dates import read_date
from steelyard.importing.values import seconds

SECTION = (ROOT / "docs" / "import.md").read_text(encoding="utf-8").partition("## Add the log of an application\n")[2]
LOG, DESCRIPTION = (re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.M | re.S)[0] for kind in ("text", "toml"))
COMMAS = DESCRIPTION.replace('unit = "Mupdate/s"', 'unit = "Mupdate/s"\ncommas = true')


def read(folder: Path, text: str, description: str = DESCRIPTION) -> reading.Reading:
    (folder / "heat.toml").write_text(description, encoding="utf-8")
    reading.find_formats.cache_clear()
    return reading.read(text.encode(), reading.find_formats((folder,)))


def test_the_example_of_the_page_reads_its_log(tmp_path: Path) -> None:
    result = read(tmp_path, LOG)
    assert (result.tools, result.host, result.problems) == (("Solver of heat",), "node17", ())
    assert [(v.metric, v.value, v.unit, v.repetition, v.parameters) for v in result.values] == [
        ("rate", 12.5e6, "update/s", 0, {"cells": 1_000_000}),
        ("rate", 12.7e6, "update/s", 1, {"cells": 1_000_000}),
        ("time", 3720, "s", 0, {"cells": 1_000_000}),
    ]


def test_a_parameter_is_that_printed_before_the_value(tmp_path: Path) -> None:
    rates = [f"step rate: {n} million cells\n" for n in (1, 2, 3)]
    text = f"SOLVER OF HEAT\n{rates[0]}cells: 10\n{rates[1]}cells: 20\n{rates[2]}"
    assert [v.parameters["cells"] for v in read(tmp_path, text).values] == [10, 10, 20]
    after = DESCRIPTION.replace("[parameters]", "[parameters_after]")
    assert [v.parameters["cells"] for v in read(tmp_path, text, after).values] == [10, 20, 20]


def test_a_wrong_run_costs_its_own_values_only(tmp_path: Path) -> None:
    result = read(tmp_path, LOG + "DIVERGED\n" + LOG.replace("12.7", "13"))
    assert [v.value for v in result.values if v.metric == "rate"] == [12.5e6, 13e6]
    assert result.problems == ("Solver of heat: line 1: the run is wrong: 'DIVERGED'",)


def test_a_number_with_a_comma_is_refused_unless_it_is_said(tmp_path: Path) -> None:
    log = LOG.replace("12.5", "1,250.5").replace("12.7", "12,7")
    result = read(tmp_path, log)
    assert [v.metric for v in result.values] == ["time"]
    assert result.problems[1] == "Solver of heat: line 4: '12,7' is not a number"
    assert [v.value for v in read(tmp_path, log, COMMAS).values if v.metric == "rate"] == [1250.5e6]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (r"(\S+) million", r"\S+ million", "has no group"),
        ("Mupdate/s", "Mfoo/s", "the unit 'Mfoo/s' of 'rate' is unknown"),
        ("source = ", "sauce = ", "this key is unknown"),
        (r"(\d+)'", "(+)'", "nothing to repeat"),
        ('tool = "Solver of heat"', "", "the key 'tool' is missing"),
        ('name = "heat"', 'name = "../heat"', "'../heat' is not a valid name"),
        ('marks = ["SOLVER OF HEAT"]', 'marks = [""]', "at least 5 characters"),
        ("[[figures]]", "[figures]", "figures"),
    ],
)
def test_a_mistake_in_a_description_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, sentence: str
) -> None:
    description = DESCRIPTION.replace(old, new)
    assert description != DESCRIPTION
    assert read(tmp_path, LOG, description).values == ()
    warning = capsys.readouterr().err
    assert "The format 'heat' failed" in warning
    assert sentence in warning


def test_a_file_without_marks_describes_another_thing(tmp_path: Path) -> None:
    assert read(tmp_path, LOG, DESCRIPTION.replace("marks", "words")).problems == (reading.NO_FORMAT,)


def test_the_columns_of_an_old_version_are_not_mistaken() -> None:
    result = foreign_outputs.read(output("gromacs_4.txt"))
    assert [v.value for v in result.values if v.metric == "simulated"] == [8.555]  # not the first column, Mnbf/s


def test_times_on_the_clock_are_seconds_and_others_are_refused() -> None:
    times = {"51.81s": 51.81, "1m41.71s": 101.71, "1h23m": 4980, "2d 3h12m": 184320, " 5m 0.07s ": 300.07}
    assert {word: seconds(word) for word in times} == pytest.approx(times)
    for word in ("", "12", "1:30", "3s2m", "5 minutes"):
        with pytest.raises(ValueError, match=f"'{word}' is not a time"):
            seconds(word)


def test_a_run_takes_no_parameter_of_another_run() -> None:
    """The steps of the second run are unreadable: they must not be those of the first one."""
    text = output("lammps_own.txt").replace("for 20 steps", "for  steps")
    steps = [v.parameters.get("steps") for v in foreign_outputs.read(text).values if v.metric == "time"]
    assert steps == [50, None]


def test_a_number_that_a_run_prints_again_counts_once_if_said(tmp_path: Path) -> None:
    again = LOG.replace("SOLVER OF HEAT 3.2 on node17\n", "")
    once = DESCRIPTION.replace('run = "SOLVER', 'once = true\nrun = "SOLVER')
    assert [v.metric for v in read(tmp_path, LOG + again, once).values] == ["rate", "rate", "time"]
    assert [v.metric for v in read(tmp_path, LOG + again).values] == ["rate"] * 4 + ["time"] * 2


@pytest.mark.parametrize("loop", ["for 500 steps with 50729 particles", "(Serial x 1) for 10000 steps with 128 atoms"])
def test_the_loop_of_another_program_is_not_one_of_lammps(loop: str) -> None:
    log = f"Loop time of 1.44051 on 1 procs {loop}\n\nPerformance: 889568.862 tau/day, 3431.979 timesteps/s\n"
    result = foreign_outputs.read(log)
    assert not result.values
    assert result.problems == (f"LAMMPS: line 1: the run is wrong: 'Loop time of 1.44051 on 1 procs {loop}'",)


def test_a_word_among_the_numbers_of_gromacs_moves_no_column() -> None:
    text = output("gromacs.txt")
    damaged = text.replace("Performance:       22.273", "Performance: x     22.273").replace("        4.367\n", "\n")
    assert damaged.count("x     22.273") == text.count("22.273")
    assert not [v for v in foreign_outputs.read(damaged).values if v.metric == "speed"]


@pytest.mark.parametrize(
    ("file", "metric", "parameters"),
    [
        ("namd_2_12", "step_time", {"atoms": 507, "processors": 1}),  # not the "4 ATOMS IN LARGEST HYDROGEN GROUP"
        ("lulesh_threads", "speed", {"threads": 1, "ranks": 1}),
        ("comd_report", "speed", {"ranks": 8}),
        ("vasp_two", "loop_time", {"ranks": 12, "ions": 2}),
        ("espresso_cp_4", "time", {"program": "CP"}),
        ("espresso_neb", "time", {"program": "NEB", "ranks": 1, "threads": 2}),
    ],
)
def test_a_log_names_the_size_of_its_run(file: str, metric: str, parameters: dict[str, object]) -> None:
    values = foreign_outputs.read(output(f"{file}.txt")).values
    given = next(v.parameters for v in values if v.metric == metric)
    assert {name: given.get(name) for name in parameters} == parameters


@pytest.mark.parametrize(("file", "day"), [("espresso_neb", "2017-08-26"), ("espresso_cp_4", "2009-07-14")])
def test_a_log_of_espresso_has_a_date(file: str, day: str) -> None:
    result = foreign_outputs.read(output(f"{file}.txt"))
    assert read_date(result.started)[:10] == day


def known(text: str) -> list[tuple[str, float, dict[str, object]]]:
    """Returns metric, value and parameters of what the formats of the wing read."""
    result = foreign_outputs.read(text)
    return [(v.metric, v.value, dict(v.parameters)) for v in result.values]


def test_a_match_without_the_first_group_has_no_value(tmp_path: Path) -> None:
    description = DESCRIPTION.replace("'^step rate: ", "'^step rate: 12.5 .*|^step rate: ")
    assert description != DESCRIPTION
    assert [v.value for v in read(tmp_path, LOG, description).values if v.metric == "rate"] == [12.7e6]


def test_lammps_counts_a_billion_atoms_a_second() -> None:
    log = "Performance: 5829.5 tau/day, 134.5 timesteps/s, {} {}atom-step/s\n50.0% CPU use with 4 MPI tasks x 1 OpenMP threads\n"
    about = {"ranks": 4, "threads": 1}
    for word, prefix, value in (("3.5", "G", 3.5e9), ("350.5", "M", 350.5e6), ("35.5", "k", 35.5e3), ("355", "", 355)):
        assert ("speed", value, about) in known(log.format(word, prefix))


def test_lammps_is_known_by_its_last_lines_without_atoms() -> None:
    log = "   Performance: 5829.5 tau/day, 134.5 timesteps/s\n   98.1% CPU use with 96 MPI tasks x no OpenMP threads\n"
    assert known(log) == [("steps", 134.5, {"ranks": 96})]


def test_a_comment_without_a_blank_behind_its_mark_is_read() -> None:
    log = "Loop time of 12.5 on 8 procs for 100 steps with 4000 atoms\nPerformance: 691.2 tau/day, 8.0 timesteps/s\n"
    assert known(log)
    assert known("".join(f"#{line}\n" for line in log.splitlines())) == known(log)


def test_gromacs_is_read_where_a_page_trims_its_lines() -> None:
    log = (
        "Core t (s)   Wall t (s)        (%)\nTime:      887.5       31.75     2795.0\n"
        "(ns/day)    (hour/ns)\nPerformance:      108.5        0.221\n"
    )
    assert known(log) == [("time", 31.75, {}), ("simulated", 108.5, {})]


def test_a_program_of_espresso_in_small_letters_is_that_before_the_end() -> None:
    log = (
        "     Program epsilon v.6.4 starts on  3Mar2023 at 10:11:12\n\n     init_run     :      0.75s CPU\n\n"
        "     epsilon      :     2.25s CPU         2.5s WALL\n\n"
        "     grids        :      0.35s CPU      0.4s WALL (       7 calls)\n\n"
        "     epsilon      :     2.25s CPU         2.5s WALL\n\n\n   This run was terminated on:  10:11:15   3Mar2023\n"
    )
    assert known(log) == [("time", 2.5, {"program": "epsilon"}), ("cpu_time", 2.25, {"program": "epsilon"})]


def test_nwchem_is_known_by_its_last_line() -> None:
    assert known("\n Total times  cpu:       56.5s     wall:       57.25s\n") == [("time", 57.25, {})]


def test_xsbench_tells_the_kernel_from_the_whole_run() -> None:
    log = (
        "XSBench\nTotal Time Statistics (SYCL Init / JIT Compilation + Simulation Kernel)\nRuntime:   8.5 seconds\n"
        "Lookups:   17,000,000\nLookups/s:   2,000,000\nSimulation Kernel Only Statistics\n{}Lookups/s:   2,500,000\n"
    )
    for line in ("", "Runtime:   6.8 seconds\n"):
        found = [(metric, value) for metric, value, _ in known(log.format(line))]
        assert found == [("rate", 2e6), ("time", 8.5), ("kernel_rate", 2.5e6)]


def test_cp2k_is_known_by_a_line_that_a_page_trims() -> None:
    assert known("CP2K                                 1  1.0    0.075    0.095   55.25   55.75\n") == [
        ("time", 55.75, {})
    ]


def test_each_step_of_wrf_belongs_to_its_domain() -> None:
    log = (
        "Timing for main: time 2021-06-01_00:00:20 on domain   2:    0.25 elapsed seconds\n"
        "Timing for main (dt= 20.00): time 2021-06-01_00:00:40 on domain   2:    0.35 elapsed seconds\n"
        "Timing for main: time 2021-06-01_00:01:00 on domain   1:    1.75 elapsed seconds\n"
        "Timing for Writing wrfout_d01_2021-06-01_00:01:00 for domain        1:    2.5 elapsed seconds\n"
    )
    steps = [("step_time", 0.25, {"domain": 2}), ("step_time", 0.35, {"domain": 2}), ("step_time", 1.75, {"domain": 1})]
    assert known(log) == steps


def test_steps_of_wrf_with_files_are_apart_and_slow_ones_are_counted() -> None:
    step = "Timing for main: time 2021-06-01_00:{:02}:00 on domain   1:    {} elapsed seconds\n"
    writing = "Timing for Writing wrfout_d01_2021-06-01_00:00:00 for domain        1:    1.2 elapsed seconds\n"
    boundary = "Timing for processing lateral boundary for domain        1:    0.5 elapsed seconds\n"
    times = [0.5, 0.5, 2.0, 0.5, 0.6, 0.5, 2.0, 0.6]
    log = (
        "Ntasks in X            2 , ntasks in Y            4\nWRF V4.4 MODEL\n" + writing + step.format(1, 2.8)
        + "".join(step.format(at, time) for at, time in enumerate(times, 2)) + boundary + step.format(20, 1.1)
    )  # fmt: skip
    files, others = {"domain": 1, "ranks": 8, "files": "yes"}, {"domain": 1, "ranks": 8, "steps": 8}
    assert known(log) == [
        ("step_time", 2.8, files), ("step_time", 1.1, files),
        ("step_time", pytest.approx(0.9), others), ("step_time", pytest.approx(0.55), others), ("slow_steps", 2, others),
    ]  # fmt: skip


SCF = "{:>7}  -7.24124699E+004  4.04597277E+000   4.81651228E+001     {:>6}  <-- SCF\n"
FIXED = "{:>7}  -7.24124699E+004   4.81651228E+001     {:>6}  <-- SCF\n"


@pytest.mark.parametrize("line", [SCF, FIXED])
def test_the_mean_cycle_of_castep_has_no_time_between_two_calculations(line: str) -> None:
    tables = [[(1, 40.0), (2, 50.0), (3, 62.0)], [(1, 500.0), (2, 514.0)]]
    log = "CASTEP version 17\n" + "------ <-- SCF\n".join(
        "".join(line.format(*row) for row in table) for table in tables
    )
    assert known(log) == [("scf_cycle_time", 12.0, {})]
    assert not known(log.replace("   3  ", " x 3  ").replace("   2  ", " x 2  "))


def test_a_log_of_sparta_is_none_of_lammps_and_one_that_did_not_end_is_named() -> None:
    text = foreign_outputs.output("sparta.txt")
    assert not foreign_outputs.read(text).problems
    assert {value.tool for value in foreign_outputs.read(text).values} == {"SPARTA"}
    (problem,) = foreign_outputs.read(text.partition("Loop time")[0]).problems
    assert "did not finish" in problem


PAGE = "$ cat {}\n```\nLoop time of 2.5 on 4 procs for 100 steps with 500 atoms\n```\n"


@pytest.mark.parametrize("prompt", ["", "me@node17:~/runs", "[me@node17 runs]"])
def test_outputs_below_different_commands_are_no_repetitions(prompt: str) -> None:
    text = "".join(f"{prompt}{PAGE.format(name)}" for name in ("small.log", "large.log"))
    assert [parameters.get("command") for _, _, parameters in known(text)] == ["cat small.log", "cat large.log"]


def test_outputs_below_the_same_command_are_repetitions() -> None:
    text = 2 * PAGE.format("log.lammps")
    assert [parameters.get("command") for _, _, parameters in known(text)] == [None, None]


def test_the_last_time_of_each_output_on_a_page_counts() -> None:
    block = "```\nExecutionTime = {0}.5 s  ClockTime = {0} s\nExecutionTime = {1}.5 s  ClockTime = {1} s\n```\n"
    text = f"Before:\n{block.format(8, 17)}After:\n{block.format(3, 5)}"
    assert [value for metric, value, _ in known(text) if metric == "time"] == [17, 5]


def test_the_end_of_a_program_of_espresso_ends_its_output() -> None:
    end = "     PWSCF        :  {}m 1.50s CPU  {}m 2.50s WALL\n\n   JOB DONE.\n"
    assert [value for metric, value, _ in known(end.format(1, 2) + end.format(3, 4)) if metric == "time"] == [
        122.5,
        242.5,
    ]


LOOP = "Loop time of {} on {} procs for 100 steps with 4000 atoms"


@pytest.mark.parametrize(
    "text",
    [
        f"small/log.4:{LOOP.format(25.5, 4)}\nlog.8:{LOOP.format(12.5, 8)}\n",
        f"$ grep -n Loop log.4 log.8\nsmall/log.4:118:{LOOP.format(25.5, 4)}\nlog.8:96:{LOOP.format(12.5, 8)}\n",
        f"==> small/log.4 <==\n{LOOP.format(25.5, 4)}\n\n==> log.8 <==\n{LOOP.format(12.5, 8)}\n",
    ],
)
def test_lines_of_different_files_are_no_repetitions(text: str) -> None:
    found = [(value, parameters["processors"], parameters["file"]) for _, value, parameters in known(text)]
    assert found == [(25.5, 4, "small/log.4"), (12.5, 8, "log.8")]


def test_a_line_that_grep_numbered_is_read() -> None:
    assert known(f"$ grep -n Loop log.lammps\n2118:{LOOP.format(9.5, 1)}\n") == [
        ("time", 9.5, {"processors": 1, "steps": 100, "atoms": 4000})
    ]


def test_an_old_loop_of_lammps_names_ranks_and_threads() -> None:
    log = "Loop time of 21.5 on 64 procs (32 MPI x 2 OpenMP) for 100 steps with 32000 atoms\n"
    assert known(log) == [("time", 21.5, {"processors": 64, "steps": 100, "atoms": 32000, "ranks": 32, "threads": 2})]


@pytest.mark.parametrize("numbers", ["42.315", "42.315        0.667", "0.567        0.567"])
def test_a_line_found_in_a_log_of_gromacs_needs_numbers_that_fit(numbers: str) -> None:
    assert known("run_1/md.log:Performance:       42.315        0.567\n") == [
        ("simulated", 42.315, {"file": "run_1/md.log"})
    ]
    assert not known(f"run_1/md.log:Performance:       {numbers}\n")


def test_amg_rates_its_setup_and_its_solve() -> None:
    log = (
        "FOM_Setup: nnz_AP / Setup Phase Time: 3.25e+08\n"
        "FOM_Solve: nnz_AP * iterations / Solve Phase Time: 6.5e+08\n"
        "Figure of Merit (FOM): nnz_AP / (Setup Phase Time + 3 * Solve Phase Time) 1.5e+08\n"
    )
    assert known(log) == [("merit", 1.5e8, {}), ("setup_merit", 3.25e8, {}), ("solve_merit", 6.5e8, {})]


def test_kripke_names_the_size_of_its_run() -> None:
    values = known(output("kripke.txt"))
    about = {"ranks": 8, "groups": 48, "zones": 13824, "layout": "GDZ", "architecture": "OpenMP", "unknowns": 42467328}
    assert {metric: parameters for metric, _, parameters in values} == dict.fromkeys(
        ("rate", "grind_time", "time"), about
    )


def test_the_last_time_of_a_log_counts_where_grep_names_its_file_in_each_line() -> None:
    lines = [f"runs/log.simpleFoam:ExecutionTime = {n}.5 s  ClockTime = {n} s\n" for n in (2, 5, 9)]
    assert [value for metric, value, _ in known("".join(lines)) if metric == "time"] == [9]


GROMACS = """Log file opened on Fri Aug 23 12:20:00 2019
                      :-) GROMACS - gmx mdrun, 2023.1 (-:
Command line:
  gmx mdrun
Input Parameters:
   epsilon-rf                     = inf
"""
FINISHED = """               Core t (s)   Wall t (s)        (%)
       Time:      386.123       48.265      800.0
                 (ns/day)    (hour/ns)
Performance:       17.902        1.341
Finished mdrun on rank 0 Fri Aug 23 12:25:36 2019
"""


def test_an_infinite_setting_of_gromacs_is_no_damaged_number() -> None:
    assert foreign_outputs.read(GROMACS + FINISHED).problems == ()
    assert "line 10: 'inf' is" in foreign_outputs.read(f"{GROMACS}{FINISHED}".replace("17.902", "inf")).problems[0]


def test_a_log_without_its_end_is_one_of_a_run_that_did_not_finish() -> None:
    espresso = (
        "     Program PWSCF v.6.5 starts on 10Mar2016 at 15: 9:29\n     number of atoms/cell      =           8\n"
    )
    assert foreign_outputs.read(espresso).problems == ("Quantum ESPRESSO: line 1: the run did not finish",)
    assert foreign_outputs.read(GROMACS).problems == ("GROMACS: line 2: the run did not finish",)
    assert "did not finish" not in str(foreign_outputs.read(GROMACS + FINISHED[-50:]).problems)


def test_gromacs_that_was_compiled_for_another_processor_has_a_note() -> None:
    line = "This program was compiled for different hardware than you are running on,\n"
    assert all(
        "compiled for different hardware" in value.note
        for value in foreign_outputs.read(GROMACS + line + FINISHED).values
    )
