"""The options that several commands share: each once, with its help."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard import files
from steelyard.errors import UsageError
from steelyard.numbers import option


def _report(path: Path | None) -> Path | None:
    """Refuses a report that cannot be written before the run is measured."""
    if path:
        files.expect_output(path, "The report")
    return path


def _toolchains(words: list[str] | None) -> list[str] | None:
    """Refuses flags that no shell can read, before anything is compiled with them."""
    from steelyard.build.toolchain import expect_words

    for word in words or []:
        expect_words(word)
        if not word.strip():
            raise UsageError("The compiler given by --toolchain has no name: expected gcc, clang or another one.")
    return words


Runs = Annotated[Path, typer.Option("--runs", envvar="STEELYARD_RUNS", help="Folder that holds the runs.")]
RunName = Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run's id or folder; the newest when left out.")]
Paths = Annotated[list[Path] | None, typer.Option("--path", help="A folder with further benchmarks (may be repeated).")]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Use compiler flags, MPIs and words for the launcher that a run names, although you never measured with them: "
        "they can start any program.",
    ),
]
Apps = Annotated[
    list[str] | None,
    typer.Option(
        "--app",
        metavar="NAME|FILE",
        help="Somebody else's program: hpcc, lammps …, or a file (TOML) that describes one (may be repeated).",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME", help="Only this benchmark or group, as memory.apexmap (may be repeated)."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUES", help="Values of an axis, as threads=1,2,4 (may be repeated)."),
]
Preset = Annotated[str, typer.Option("--preset", help="quick (at most 3 min on 2 cores), standard (20 min) or full.")]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="TIME", help="The most time to take, as 90s, 5m or 1h.")
]
Wait = Annotated[
    str | None,
    typer.Option("--wait", metavar="TIME", help="How long to wait for a quiet machine before the run begins, as 30m."),
]
Compilers = Annotated[
    list[str] | None,
    typer.Option(
        "--toolchain",
        metavar="COMPILER",
        callback=_toolchains,
        help="gcc, clang, g++-12, or with flags: 'gcc -O2' (repeat to compare).",
    ),
]
System = Annotated[
    str | None,
    typer.Option("--system", metavar="NAME|FILE", help="A system file (TOML) with what cannot be read: name, limits."),
]
Mpis = Annotated[
    list[str] | None,
    typer.Option(
        "--mpi", metavar="MPI", help="openmpi, mpich, intelmpi …, or the path of an mpicxx (repeat to compare)."
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts", metavar="A:N,B:N", help="Hosts for the ranks with their slots, or a file of them; else this machine."
    ),
]
LauncherName = Annotated[
    str | None,
    typer.Option(
        "--launcher", help="mpiexec, or a scheduler's own, as srun; within its allocation that is taken by itself."
    ),
]
LauncherWords = Annotated[
    list[str] | None,
    typer.Option("--launcher-option", metavar="WORD", help="A further word for the launcher (may be repeated)."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output, for other programs.")]
All = Annotated[
    bool, typer.Option("--all", help="Everything instead of one screen: every finding with its evidence, all tables.")
]
NpbOutput = Annotated[
    bool,
    typer.Option("--npb-output", help="Of NAS Parallel Benchmarks the result block that NPB prints, and nothing else."),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", callback=_report, help="Where the report goes; into the run's folder when left out."
    ),
]
Sensors = Annotated[
    list[str] | None,
    typer.Option(
        "--sensor",
        metavar="KIND:WORDS",
        help="A further sensor, as model:idle=20,full=95 or ipmi:host=node7 (may be repeated).",
    ),
]
Every = Annotated[
    str, typer.Option("--every", metavar="TIME", help="How long between two readings, as 10ms, 100ms or 1s.")
]
Power = Annotated[
    bool | None,
    typer.Option(
        "--power/--no-power",
        help="Read sensors of power beside the run; by itself where there are some that may be read.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Seed = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", parser=option("--seed"), help="Of the order of launches and cases.")
]
