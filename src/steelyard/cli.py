"""The command line. Each command is a few lines: it reads its words, calls one part of the house, and prints."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard import __version__, reading, streams, submit
from steelyard.errors import MachineFailed, SteelyardError
from steelyard.options import (
    All,
    Budget,
    Compilers,
    Hosts,
    Json,
    LauncherName,
    LauncherWords,
    Mpis,
    NpbOutput,
    Only,
    Paths,
    Preset,
    Quiet,
    Report,
    RunName,
    Runs,
    Seed,
    Settings,
    System,
    Wait,
)

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


def main() -> None:
    """Mistakes are explained without a traceback, and Ctrl-C keeps what was measured."""
    streams.prepare()
    code = explained(app)
    sys.exit(explained(sys.stdout.flush) or code)  # what is still to be written may fail, too


def explained(work: Callable[[], object]) -> int:
    """Does the work; returns the exit code, and says why it is not 0."""
    try:
        work()
    except SystemExit as ended:
        if ended.code == 130:
            print("steelyard: interrupted", file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
    except SteelyardError as error:
        print(f"steelyard: {error.shown()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("steelyard: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("steelyard: There is not enough memory for this. Ask for less, or free some.", file=sys.stderr)
        return MachineFailed.exit_code
    except OSError as error:
        where = f": '{error.filename}'" if error.filename else ""
        print(f"steelyard: The system refused: {error.strerror or error}{where}.", file=sys.stderr)
        return MachineFailed.exit_code
    return 0


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
    wait: Wait = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    report: Report = None,
    all_: All = False,
    json_: Json = False,
    npb_output: NpbOutput = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate this machine; ends with one screen and an HTML report: verdict, main figures, the findings that matter most.

    Examples: **steelyard run** · **steelyard run --preset standard --all** (everything on the terminal) ·
    **steelyard run --only memory.stream --set threads=1,2 --toolchain gcc --toolchain clang** ·
    **steelyard run --only network --hosts node1:1,node2:1**
    """
    from steelyard import session

    form = reading.one_form(all_, json_, npb_output)
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
        wait,
    )
    session.conclude(session.start(asked, runs, quiet), paths or [], report, form)


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
    wait: Wait = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    report: Report = None,
    all_: All = False,
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

    form = reading.one_form(all_, json_, False)
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
        wait,
        scale.shape(scale.wanted(benchmark, over, counts, weak, paths or []), paths or []),
    )
    scale.conclude(session.start(asked, runs, quiet), paths or [], report, form)


@app.command()
def resume(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was interrupted or killed; nothing that was finished is measured again.

    Example: **steelyard resume 20261120-101500**
    """
    from steelyard import records, session

    form = reading.one_form(all_, json_, False)
    session.conclude(session.go_on(records.find(runs, name), paths or [], quiet), paths or [], None, form)


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


app.command("list")(reading.listing)
app.command("show")(reading.show)
app.command("report")(reading.report)
app.command("export")(reading.export)
app.command("query")(reading.query)
app.command("compare")(reading.compare)


@app.command()
def doctor(system: System = None, json_: Json = False) -> None:
    """Say what in this machine's settings will spoil a measurement, and how to change it.

    Example: **steelyard doctor**
    """
    from steelyard import session, show
    from steelyard.machine.doctor import examine

    show.advice(examine(session.machine(system)), json_)


@app.command()
def build(
    only: Only = None, toolchains: Compilers = None, paths: Paths = None, mpis: Mpis = None, quiet: Quiet = False
) -> None:
    """Compile the native programs for this machine into the cache (a run does it by itself).

    Example: **steelyard build --toolchain clang**
    """
    from steelyard import session

    for (name, toolchain), program in session.build_all(
        session.machine(None), only or [], toolchains or [], paths or [], mpis or [], quiet
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
