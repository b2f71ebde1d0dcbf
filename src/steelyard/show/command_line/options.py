"""The options that several commands share, with their help texts.

A class of options is one parameter of a command; `command_group` makes an option of each of its fields.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steelyard.errors import UsageError
from steelyard.model.numbers import option
from steelyard.show.command_line.completion import complete_benchmark, complete_run, complete_setting, complete_side
from steelyard.show.command_line.output_forms import Form, choose_form
from steelyard.system import files

# Titles of the groups of options on a help page.
WORK, TOOLS, POWER, OUTPUT, FOLDERS = "What to measure", "Compilers, MPI and hosts", "Power", "Output", "Folders"
SIDES = "What to compare"
work_option, tools_option, power_option, output_option, folders_option, sides_option = (
    partial(typer.Option, rich_help_panel=title) for title in (WORK, TOOLS, POWER, OUTPUT, FOLDERS, SIDES)
)


def _expect_report(path: Path | None) -> Path | None:
    """Refuses a report that cannot be written, before anything is measured."""
    if path:
        files.expect_output(path, "The report")
    return path


def _expect_compilers(words: list[str] | None) -> list[str] | None:
    """Refuses flags that no shell can read, before anything is compiled with them."""
    from steelyard.measure.build.toolchain import expect_words

    for word in words or []:
        expect_words(word)
        if not word.strip():
            raise UsageError(
                "The compiler given by --toolchain has no name. Give the name of a compiler, such as gcc or clang."
            )
    return words


Runs = Annotated[
    Path,
    folders_option("--runs", envvar="STEELYARD_RUNS", help="Folder of all runs, such as ~/runs.", metavar="FOLDER"),
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        autocompletion=complete_run,
        help="Id or folder of a run, such as 20261120-101500 (default: the newest run).",
    ),
]
RunNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        autocompletion=complete_run,
        help="Runs by id or folder (default: the newest run).",
        show_default=False,
    ),
]
Groups = Annotated[
    list[str] | None,
    sides_option(
        "--group",
        metavar="NAME=RUNS",
        help="Several runs of one system as one side, such as old='runs/2025*'. Their spread is its uncertainty.",
    ),
]
Baseline = Annotated[
    str | None,
    sides_option(
        "--baseline",
        metavar="NAME",
        help="Run, group or system that all others are compared with, such as old (default: the first).",
        autocompletion=complete_side,
    ),
]
Price = Annotated[
    list[str] | None,
    sides_option(
        "--price",
        metavar="SIDE=PRICE",
        help="Price of a node and hour (a=0.096/h), or of measured energy (energy=0.30/kWh), for the same money "
        "(default: those of the system files).",
    ),
]
Paths = Annotated[
    list[Path] | None,
    folders_option("--path", metavar="FOLDER", help="Folder with further benchmarks, such as ./mine (default: none)."),
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
    work_option(
        "--app",
        metavar="NAME|FILE",
        help="Program to measure: hpcc, lammps …, or a TOML file that describes your own program, such as mine.toml "
        "(default: none).",
    ),
]
Only = Annotated[
    list[str] | None,
    work_option(
        "--only",
        metavar="NAME",
        help="Measure only this benchmark or group, such as memory.apexmap (default: all that this machine can run).",
        autocompletion=complete_benchmark,
    ),
]
Compilers = Annotated[
    list[str] | None,
    tools_option(
        "--toolchain",
        metavar="COMPILER",
        callback=_expect_compilers,
        help="Compiler, with or without flags: gcc, g++-12, 'clang -O2' (default: the first that is found). "
        "Two compilers are compared.",
    ),
]
System = Annotated[
    str | None,
    work_option(
        "--system",
        metavar="NAME|FILE",
        help="TOML file with facts about this machine that Steelyard cannot detect (its name, its limits), such as "
        "./node.toml (default: none).",
    ),
]
Mpis = Annotated[
    list[str] | None,
    tools_option(
        "--mpi",
        metavar="MPI",
        help="MPI library: openmpi, mpich, intelmpi …, or the path of its mpicxx (default: the first that is found). "
        "Two libraries are compared.",
    ),
]
Wheels = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FOLDER",
        help="Folder with the wheel, such as ./wheels, for a machine without a network (default: pip's package index).",
    ),
]
Json = Annotated[bool, output_option("--json", help="Print JSON, for other programs.")]
All = Annotated[
    bool,
    output_option(
        "--all", help="Print everything instead of one screen: all findings with their evidence, and all tables."
    ),
]
Strict = Annotated[
    bool,
    output_option(
        "--strict",
        help="End with exit code 1 also for a serious finding about the measurement, such as too many disturbed results.",
    ),
]
Sensors = Annotated[
    list[str] | None,
    power_option(
        "--sensor",
        metavar="KIND:WORDS",
        help="Further sensor, such as model:idle=20,full=95 or ipmi:host=node7 (default: the sensors that are found).",
    ),
]
Every = Annotated[
    str,
    power_option("--every", metavar="TIME", help="Time between two readings, such as 10ms, 100ms or 1s."),
]
Quiet = Annotated[bool, output_option("--quiet", help="Print no progress.")]
Seed = Annotated[
    int,
    work_option(
        "--seed",
        metavar="NUMBER",
        parser=option("--seed"),
        help="Seed for the random order of launches and cases, such as 7.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options of run, scale and plan. They choose what is measured, and with which tools."""

    preset: Annotated[
        str,
        work_option(
            "--preset",
            help="How thoroughly to measure: quick (3 to 5 min on 2 cores), standard (20 to 30 min) or full.",
            autocompletion=lambda: ["quick", "standard", "full"],
        ),
    ] = "quick"
    settings: Annotated[
        list[str] | None,
        work_option(
            "--set",
            metavar="NAME=VALUES",
            help="Values of one parameter, such as threads=1,2,4 (default: the values that **steelyard list BENCHMARK** shows).",
            autocompletion=complete_setting,
        ),
    ] = None
    toolchains: Compilers = None
    budget: Annotated[
        str | None,
        work_option(
            "--budget",
            metavar="TIME",
            help="Longest time to measure, such as 90s, 5m or 1h (default: the time of the preset).",
        ),
    ] = None
    system: System = None
    mpis: Mpis = None
    hosts: Annotated[
        str | None,
        tools_option(
            "--hosts",
            metavar="HOSTS",
            help="Hosts for the ranks with their slots, such as node[01-04]:8, or a file of hosts (default: this machine, or the "
            "nodes of the batch job).",
        ),
    ] = None
    launcher: Annotated[
        str | None,
        tools_option(
            "--launcher",
            help="Program that starts the ranks: mpiexec or srun (default: the scheduler's launcher in a batch job, else "
            "mpiexec).",
        ),
    ] = None
    launcher_words: Annotated[
        list[str] | None,
        tools_option(
            "--launcher-option",
            metavar="WORD",
            help="Further option of the launcher, such as --launcher-option=--oversubscribe (default: none).",
        ),
    ] = None
    variants: Annotated[
        list[str] | None,
        tools_option(
            "--variant",
            metavar="NAME:WORDS",
            help="Measure also with these variables or launcher options, such as 'tcp:OMPI_MCA_btl=tcp,self' (default: none). "
            "NAME@mpich is for one MPI only.",
        ),
    ] = None
    seed: Seed = 1
    paths: Paths = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """When a run starts, and where it goes: options of run and scale."""

    wait: Annotated[
        str | None,
        work_option(
            "--wait",
            metavar="TIME",
            help="Longest time to wait for a quiet machine, such as 30m. Then the run starts anyway (default: do not wait).",
        ),
    ] = None
    runs: Runs = Path("runs")
    name: Annotated[
        str | None,
        output_option(
            "--name",
            metavar="NAME",
            help="Name of the run, such as before-update (default: the time, such as 20261120-101500).",
        ),
    ] = None
    report: Annotated[
        Path | None,
        output_option(
            "--report",
            metavar="FILE",
            callback=_expect_report,
            help="File for the HTML report, such as report.html (default: report.html in the run's folder).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PowerOptions:
    """The sensors that are read meanwhile: options of run and resume."""

    power: Annotated[
        bool | None,
        power_option(
            "--power/--no-power",
            help="Read power sensors during the run (default: yes, if there are sensors that you may read).",
        ),
    ] = None
    sensor: Sensors = None
    every: Every = "100ms"


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options of run, scale and resume. They choose what is printed."""

    all_: All = False
    json_: Json = False
    strict: Strict = False
    quiet: Quiet = False

    @property
    def form(self) -> Form:
        """The form of the result. UsageError for --all with --json."""
        return choose_form(self.all_, self.json_)
