"""The options that several commands share, with their help texts."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard import files
from steelyard.command_line.completion import complete_benchmark, complete_run, complete_setting, complete_side
from steelyard.errors import UsageError
from steelyard.numbers import option

# Titles of the groups of options on a help page.
WORK, TOOLS, POWER, OUTPUT, FOLDERS = "What to measure", "Compilers, MPI and hosts", "Power", "Output", "Folders"
SIDES = "What to compare"


def _expect_report(path: Path | None) -> Path | None:
    """Refuses a report that cannot be written, before anything is measured."""
    if path:
        files.expect_output(path, "The report")
    return path


def _expect_compilers(words: list[str] | None) -> list[str] | None:
    """Refuses flags that no shell can read, before anything is compiled with them."""
    from steelyard.build.toolchain import expect_words

    for word in words or []:
        expect_words(word)
        if not word.strip():
            raise UsageError(
                "The compiler given by --toolchain has no name. Give the name of a compiler, such as gcc or clang."
            )
    return words


Runs = Annotated[
    Path,
    typer.Option(
        "--runs",
        envvar="STEELYARD_RUNS",
        help="Folder of all runs, such as ~/runs.",
        metavar="FOLDER",
        rich_help_panel=FOLDERS,
    ),
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        autocompletion=complete_run,
        help="Id or folder of a run, such as 20261120-101500 (default: the newest run).",
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME=RUNS",
        help="Several runs of one system as one side, such as old='runs/2025*'. Their spread is its uncertainty.",
        rich_help_panel=SIDES,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        help="Run, group or system that all others are compared with, such as old (default: the first).",
        autocompletion=complete_side,
        rich_help_panel=SIDES,
    ),
]
Paths = Annotated[
    list[Path] | None,
    typer.Option(
        "--path",
        metavar="FOLDER",
        help="Folder with further benchmarks, such as ./mine (default: none).",
        rich_help_panel=FOLDERS,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Trust the compiler flags, MPI libraries and launcher options in the run folder, even if you never used them. "
        "They can start any program. Use this only for runs from a source that you trust.",
    ),
]
Apps = Annotated[
    list[str] | None,
    typer.Option(
        "--app",
        metavar="NAME|FILE",
        help="Program to measure: hpcc, lammps …, or a TOML file that describes your own program, such as mine.toml "
        "(default: none).",
        rich_help_panel=WORK,
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="NAME",
        help="Measure only this benchmark or group, such as memory.apexmap (default: all that this machine can run).",
        autocompletion=complete_benchmark,
        rich_help_panel=WORK,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUES",
        help="Values of one parameter, such as threads=1,2,4 (default: the values that **steelyard list BENCHMARK** shows).",
        autocompletion=complete_setting,
        rich_help_panel=WORK,
    ),
]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        help="How thoroughly to measure: quick (3 to 5 min on 2 cores), standard (20 to 30 min) or full.",
        autocompletion=lambda: ["quick", "standard", "full"],
        rich_help_panel=WORK,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Longest time to measure, such as 90s, 5m or 1h (default: the time of the preset).",
        rich_help_panel=WORK,
    ),
]
Wait = Annotated[
    str | None,
    typer.Option(
        "--wait",
        metavar="TIME",
        help="Longest time to wait for a quiet machine, such as 30m. Then the run starts anyway (default: do not wait).",
        rich_help_panel=WORK,
    ),
]
Compilers = Annotated[
    list[str] | None,
    typer.Option(
        "--toolchain",
        metavar="COMPILER",
        callback=_expect_compilers,
        help="Compiler, with or without flags: gcc, g++-12, 'clang -O2' (default: the first that is found). "
        "Two compilers are compared.",
        rich_help_panel=TOOLS,
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="NAME|FILE",
        help="TOML file with facts about this machine that Steelyard cannot detect (its name, its limits), such as "
        "./node.toml (default: none).",
        rich_help_panel=WORK,
    ),
]
Mpis = Annotated[
    list[str] | None,
    typer.Option(
        "--mpi",
        metavar="MPI",
        help="MPI library: openmpi, mpich, intelmpi …, or the path of its mpicxx (default: the first that is found). "
        "Two libraries are compared.",
        rich_help_panel=TOOLS,
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="HOSTS",
        help="Hosts for the ranks with their slots, such as node[01-04]:8, or a file of hosts (default: this machine, or the "
        "nodes of the batch job).",
        rich_help_panel=TOOLS,
    ),
]
LauncherName = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        help="Program that starts the ranks: mpiexec or srun (default: the scheduler's launcher in a batch job, else mpiexec).",
        rich_help_panel=TOOLS,
    ),
]
LauncherWords = Annotated[
    list[str] | None,
    typer.Option(
        "--launcher-option",
        metavar="WORD",
        help="Further option of the launcher, such as --launcher-option=--oversubscribe (default: none).",
        rich_help_panel=TOOLS,
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="NAME:WORDS",
        help="Measure also with these variables or launcher options, such as 'tcp:OMPI_MCA_btl=tcp,self' (default: none). "
        "NAME@mpich is for one MPI only.",
        rich_help_panel=TOOLS,
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name of the run, such as before-update (default: the time, such as 20261120-101500).",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.", rich_help_panel=OUTPUT)]
All = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Print everything instead of one screen: all findings with their evidence, and all tables.",
        rich_help_panel=OUTPUT,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="End with exit code 1 also for a serious finding about the measurement, such as too many disturbed results.",
        rich_help_panel=OUTPUT,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        callback=_expect_report,
        help="File for the HTML report, such as report.html (default: report.html in the run's folder).",
        rich_help_panel=OUTPUT,
    ),
]
Sensors = Annotated[
    list[str] | None,
    typer.Option(
        "--sensor",
        metavar="KIND:WORDS",
        help="Further sensor, such as model:idle=20,full=95 or ipmi:host=node7 (default: the sensors that are found).",
        rich_help_panel=POWER,
    ),
]
Every = Annotated[
    str,
    typer.Option(
        "--every", metavar="TIME", help="Time between two readings, such as 10ms, 100ms or 1s.", rich_help_panel=POWER
    ),
]
Power = Annotated[
    bool | None,
    typer.Option(
        "--power/--no-power",
        help="Read power sensors during the run (default: yes, if there are sensors that you may read).",
        rich_help_panel=POWER,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress.", rich_help_panel=OUTPUT)]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        parser=option("--seed"),
        help="Seed for the random order of launches and cases, such as 7.",
        rich_help_panel=WORK,
    ),
]
