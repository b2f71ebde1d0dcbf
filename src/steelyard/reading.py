"""The commands that read what was measured: list, show, report, export, query, compare."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard import files
from steelyard.compare import ROUNDS
from steelyard.errors import SteelyardError, UsageError
from steelyard.forms import Form
from steelyard.model import Evaluation
from steelyard.numbers import option
from steelyard.options import All, Json, NpbOutput, Paths, Quiet, RunName, Runs, Seed

MOST_ROUNDS = 10_000  # of a comparison in turn: months, and still planned in seconds


def listing(runs: Runs = Path("runs"), paths: Paths = None, json_: Json = False) -> None:
    """List the benchmarks and the runs.

    Example: **steelyard list --json**
    """
    from steelyard import catalogue, records, show

    show.everything(catalogue.find(paths or []), records.all_runs(runs), json_)


def show(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    npb_output: NpbOutput = False,
) -> None:
    """Show a run on one screen: verdict, main figures, the findings that matter most; with --all everything.

    Examples: **steelyard show** (the newest run) · **steelyard show --all | less -R** ·
    **steelyard show --npb-output** (for scripts that read NPB's output)
    """
    from steelyard import records, session

    form = one_form(all_, json_, npb_output)
    session.present(records.find(runs, name), paths or [], form)


def one_form(everything: bool, as_json: bool, npb_output: bool) -> Form:
    """Which form of output is asked for. UsageError where several are."""
    asked = {"--all": everything, "--json": as_json, "--npb-output": npb_output}
    named = [option for option, given in asked.items() if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are forms of the same output: choose one.")
    forms: dict[str, Form] = {"--all": "all", "--json": "json", "--npb-output": "npb"}
    return forms[named[0]] if named else "screen"


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

    if output:
        files.expect_output(output, "The report")
    base = modes.base(runs, against) if against else None
    print(session.write_report(records.find(runs, name), paths or [], output, base))


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
    if output:
        files.expect_output(output, export.WHAT)
    sys.stdout.write(export.write(evaluation.evaluate(records.find(runs, name), paths or []), form, output))


def query(
    sql: Annotated[str, typer.Argument(help="SQL over the tables metrics and samples.")],
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """Ask all runs at once, in SQL (DuckDB).

    Example: **steelyard query "select run, value from metrics where kernel = 'triad' and metric = 'bandwidth'"**
    """
    from steelyard import export, records, show

    show.table(*export.query(_readable(records.all_runs(runs), paths or []), sql), json_)


def _readable(runs: Iterable[Path], paths: Sequence[Path]) -> Iterator[Evaluation]:
    """The evaluations of those runs that can be read; of the others it says why not."""
    from steelyard import evaluation

    for path in runs:
        try:
            yield evaluation.evaluate(path, paths)
        except SteelyardError as error:
            print(f"steelyard: left out: {error}", file=sys.stderr)


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
        int,
        typer.Option(
            "--rounds",
            metavar="NUMBER",
            parser=option("--rounds", 1, MOST_ROUNDS),
            help="With --in-turn: how often each case is measured.",
        ),
    ] = ROUNDS,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    quiet: Quiet = False,
    fail_on_slower: Annotated[
        bool,
        typer.Option(
            "--fail-on-slower", help="Exit code 1 if anything undisturbed is slower for sure in the second run."
        ),
    ] = False,
) -> None:
    """Compare two runs on one screen: what differs around them, and which figures really differ; with --all every case.

    Examples: **steelyard compare 20261120-101500 20261120-113000** ·
    **steelyard compare 20261120-101500 20261120-113000 --all** (every case) ·
    **steelyard compare 20261120-101500 "4x AMD 8350 Barcelona"** (a published system) ·
    **steelyard compare --in-turn 20261120-101500 20261120-113000** (both measured again: for a machine that is not quiet)
    """
    from steelyard import evaluation, records
    from steelyard.compare import beside, tables
    from steelyard.compare import in_turn as turns
    from steelyard.compare import runs as comparing
    from steelyard.errors import nearest
    from steelyard.report import side_by_side

    form = one_form(all_, json_, False)
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
        told = beside.compare(evaluation.evaluate(earlier, paths or []), system)
        side_by_side.show_published(told) if form == "screen" else tables.beside(told, json_)
        return
    if in_turn:
        earlier, path = turns.measure(earlier, path, runs, paths or [], rounds, seed, quiet)
    a, b = (evaluation.evaluate(p, paths or []) for p in (earlier, path))
    compared = turns.judged(a, b) if turns.partners(a.run, b.run) else comparing.compare(a, b)
    if form == "screen":
        side_by_side.show(a, b, compared)
    else:
        comparing.show(compared, json_)
    if fail_on_slower and comparing.slower(compared):
        raise typer.Exit(1)
