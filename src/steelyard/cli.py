"""The command line. Each command is a few lines: it reads its words, calls one part of the house, and prints."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard import __version__, submit
from steelyard.compare import ROUNDS
from steelyard.errors import SteelyardError, UsageError

app = typer.Typer(
    name="steelyard",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Measures computers honestly, from a laptop to a cluster, and explains what it measured.",
    epilog="Begin with **steelyard run**, which ends with findings and an HTML report. Exit codes: 0 fine, 1 a serious finding, "
    "2 wrong usage, 3 a wrong result, 4 the machine failed.",
)

Runs = Annotated[Path, typer.Option("--runs", envvar="STEELYARD_RUNS", help="Folder that holds the runs.")]
RunName = Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run's id or folder; the newest when left out.")]
Paths = Annotated[list[Path] | None, typer.Option("--path", help="A folder with further benchmarks (may be repeated).")]
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
Compilers = Annotated[
    list[str] | None,
    typer.Option(
        "--toolchain", metavar="COMPILER", help="gcc, clang, g++-12, or with flags: 'gcc -O2' (repeat to compare)."
    ),
]
System = Annotated[
    str | None,
    typer.Option("--system", metavar="NAME|FILE", help="A system file (TOML) with what cannot be read: name, limits."),
]
Mpis = Annotated[
    list[str] | None,
    typer.Option("--mpi", metavar="MPI", help="openmpi, mpich, or the path of an mpicxx (repeat to compare)."),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts", metavar="A:N,B:N", help="Hosts for the ranks with their slots; this machine when left out."
    ),
]
LauncherName = Annotated[
    str | None,
    typer.Option("--launcher", help="mpiexec, or srun (as within a Slurm allocation by itself)."),
]
LauncherWords = Annotated[
    list[str] | None,
    typer.Option("--launcher-option", metavar="WORD", help="A further word for the launcher (may be repeated)."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output, for other programs.")]
NpbOutput = Annotated[
    bool,
    typer.Option("--npb-output", help="Of NAS Parallel Benchmarks the result block that NPB prints, and nothing else."),
]

Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the order of launches and cases.")]


def main() -> None:
    """The entry point: mistakes are explained without a traceback, and Ctrl-C keeps what was measured."""
    try:
        app()
    except SteelyardError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("steelyard: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone (as `| head` does): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    preset: Preset = "quick",
    only: Only = None,
    settings: Settings = None,
    toolchains: Compilers = None,
    budget: Budget = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Where the report goes; into the run's folder when left out."),
    ] = None,
    json_: Json = False,
    npb_output: NpbOutput = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate this machine; ends with findings and an HTML report.

    Examples: **steelyard run** · **steelyard run --preset standard** ·
    **steelyard run --only memory.stream --set threads=1,2 --toolchain gcc --toolchain clang** ·
    **steelyard run --only network --hosts node1:1,node2:1**
    """
    from steelyard import session

    _one_form(json_, npb_output)
    asked = session.Asked(
        preset,
        only or [],
        settings or [],
        toolchains or [],
        budget,
        system,
        seed,
        paths or [],
        mpis or [],
        hosts,
        launcher,
        launcher_words or [],
    )
    session.conclude(session.start(asked, runs, quiet), paths or [], report, json_, npb_output)


@app.command()
def scale(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="A benchmark, as application.npb_cg.")],
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            metavar="WHAT",
            help="threads, ranks, nodes or ranks_per_node; when left out threads and ranks, as far as it has programs of both.",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option("--counts", metavar="N,N…", help="What to compare; 1, 2, 4 … and all processors when left out."),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="The work grows with the count, instead of the same work for all.")
    ] = False,
    preset: Preset = "quick",
    settings: Settings = None,
    toolchains: Compilers = None,
    budget: Budget = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Where the report goes; into the run's folder when left out."),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how a benchmark scales: speed-up, efficiency, serial fraction, the laws that fit, and where to stop.

    It is a run like any other, and is resumed like one. Of all other parameters one value is taken, of sizes the preset's
    largest; --set chooses.

    Examples: **steelyard scale application.npb_cg --set class=A** · **steelyard scale node.vector --weak --counts 1,2,4** ·
    **steelyard scale cluster.flops --over nodes --hosts node1:4,node2:4**
    """
    from steelyard import scale, session

    asked = session.Asked(
        preset,
        [benchmark],
        settings or [],
        toolchains or [],
        budget,
        system,
        seed,
        paths or [],
        mpis or [],
        hosts,
        launcher,
        launcher_words or [],
        scale.shape(scale.wanted(benchmark, over, counts, weak, paths or []), paths or []),
    )
    scale.conclude(session.start(asked, runs, quiet), paths or [], report, json_)


@app.command()
def resume(
    name: RunName = None, runs: Runs = Path("runs"), paths: Paths = None, json_: Json = False, quiet: Quiet = False
) -> None:
    """Go on with a run that was interrupted or killed; nothing that was finished is measured again.

    Example: **steelyard resume 20261120-101500**
    """
    from steelyard import records, session

    session.conclude(session.go_on(records.find(runs, name), paths or [], quiet), paths or [], None, json_)


@app.command()
def plan(
    preset: Preset = "quick",
    only: Only = None,
    settings: Settings = None,
    toolchains: Compilers = None,
    budget: Budget = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    seed: Seed = 1,
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """Show what a run would do and how long it would take, without doing it.

    Example: **steelyard plan --preset standard --only memory.apexmap**
    """
    from steelyard import session, show

    asked = session.Asked(
        preset,
        only or [],
        settings or [],
        toolchains or [],
        budget,
        system,
        seed,
        paths or [],
        mpis or [],
        hosts,
        launcher,
        launcher_words or [],
    )
    show.plan(session.plan(asked)[0], json_)


@app.command("list")
def list_(runs: Runs = Path("runs"), paths: Paths = None, json_: Json = False) -> None:
    """List the benchmarks and the runs.

    Example: **steelyard list --json**
    """
    from steelyard import catalogue, records, show

    show.everything(catalogue.find(paths or []), records.all_runs(runs), json_)


@app.command("show")
def show_(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
    npb_output: NpbOutput = False,
) -> None:
    """Show a run's findings and figures in the terminal.

    Examples: **steelyard show** (the newest run) · **steelyard show --npb-output** (for scripts that read NPB's output)
    """
    from steelyard import records, session

    _one_form(json_, npb_output)
    session.present(records.find(runs, name), paths or [], json_, npb_output)


def _one_form(as_json: bool, npb_output: bool) -> None:
    if as_json and npb_output:
        raise UsageError("--json and --npb-output are two forms of the same output: choose one.")


@app.command()
def report(
    name: RunName = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file; into the run's folder when left out.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="RUN", help="Another system's run: the node's kernels are also shown over its times."
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Write a run's HTML report anew: one file, no network needed.

    Examples: **steelyard report --output node17.html** · **steelyard report node17 --against node3**
    """
    from steelyard import records, session
    from steelyard.compare import modes

    base = modes.base(runs, against) if against else None
    print(session.write_report(records.find(runs, name), paths or [], output, base))


@app.command()
def export(
    name: RunName = None,
    form: Annotated[str, typer.Option("--format", help="json, csv or parquet.")] = "json",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; standard output when left out.")
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Export a run for spreadsheets, data frames and scripts.

    Example: **steelyard export --format csv > run.csv**
    """
    from steelyard import evaluation, export, records
    from steelyard.errors import nearest

    if form not in export.FORMATS:
        raise UsageError(f"There is no format '{form}' (given by --format). {nearest(form, export.FORMATS)}")
    sys.stdout.write(export.write(evaluation.evaluate(records.find(runs, name), paths or []), form, output))


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="SQL over the tables metrics and samples.")],
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """Ask all runs at once, in SQL (DuckDB).

    Example: **steelyard query "select run, value from metrics where kernel = 'triad' and metric = 'bandwidth'"**
    """
    from steelyard import evaluation, export, records, show

    show.table(*export.query((evaluation.evaluate(p, paths or []) for p in records.all_runs(runs)), sql), json_)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="A run.")],
    second: Annotated[str, typer.Argument(help="Another run, or a published system.")],
    in_turn: Annotated[
        bool,
        typer.Option(
            "--in-turn",
            help="Measure both again on this machine, launch by launch in turn, and compare the launches in pairs.",
        ),
    ] = False,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="NUMBER", help="With --in-turn: how often each case is measured.")
    ] = ROUNDS,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
    quiet: Quiet = False,
    fail_on_slower: Annotated[
        bool,
        typer.Option(
            "--fail-on-slower", help="Exit code 1 if anything undisturbed is slower for sure in the second run."
        ),
    ] = False,
) -> None:
    """Compare two runs: what differs between the machines, and which figures really differ.

    Examples: **steelyard compare 20261120-101500 20261120-113000** ·
    **steelyard compare 20261120-101500 "4x AMD 8350 Barcelona"** (a published system) ·
    **steelyard compare --in-turn 20261120-101500 20261120-113000** (both measured again: for a machine that is not quiet)
    """
    from steelyard import evaluation, records
    from steelyard.compare import beside, tables
    from steelyard.compare import in_turn as turns
    from steelyard.compare import runs as comparing
    from steelyard.errors import nearest

    earlier = records.find(runs, first)
    try:
        path = records.find(runs, second)
    except UsageError as error:
        system = beside.find(second)
        if system is None:
            raise UsageError(f"{error} Nor is it a published system. {nearest(second, beside.systems())}") from None
        if fail_on_slower or in_turn:
            option = "--in-turn" if in_turn else "--fail-on-slower"
            raise UsageError(
                f"{option} needs two runs: of a published system there are only printed numbers."
            ) from None
        tables.beside(beside.compare(evaluation.evaluate(earlier, paths or []), system), json_)
        return
    if in_turn:
        earlier, path = turns.measure(earlier, path, runs, paths or [], rounds, seed, quiet)
    if turns.partners(earlier, path):
        compared = turns.compare(earlier, path, paths or [])
    else:
        compared = comparing.compare(*(evaluation.evaluate(p, paths or []) for p in (earlier, path)))
    comparing.show(compared, json_)
    if fail_on_slower and comparing.slower(compared):
        raise typer.Exit(1)


@app.command()
def doctor(system: System = None, json_: Json = False) -> None:
    """Say what in this machine's settings will spoil a measurement, and how to change it.

    Example: **steelyard doctor**
    """
    from steelyard import session, show
    from steelyard.machine.doctor import examine

    show.advice(examine(session.machine(system)), json_)


@app.command()
def build(only: Only = None, toolchains: Compilers = None, paths: Paths = None, mpis: Mpis = None) -> None:
    """Compile the native programs for this machine into the cache (a run does it by itself).

    Example: **steelyard build --toolchain clang**
    """
    from steelyard import session

    for (name, toolchain), program in session.build_all(
        session.machine(None), only or [], toolchains or [], paths or [], mpis or []
    ).items():
        print(f"{name} {toolchain} {program}")


@app.command()
def selfcheck(
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this check (may be repeated).")] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="100 repetitions, as the guarantees are stated for; some 20 minutes.")
    ] = False,
    json_: Json = False,
) -> None:
    """Plant known disturbances and see whether each is found and named.

    Example: **steelyard selfcheck**
    """
    from steelyard import selfcheck

    raise typer.Exit(selfcheck.main(only or [], thorough, json_))


app.command("submit")(submit.command)


def arguments(words: Sequence[str]) -> None:
    """Runs the command line with these words; for tests."""
    app(list(words), standalone_mode=False)
