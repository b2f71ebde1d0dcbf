"""`steelyard compare`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from steelyard.command_line import output_forms
from steelyard.command_line.command_group import DASHES
from steelyard.command_line.completion import complete_benchmark, complete_side
from steelyard.command_line.options import OUTPUT, WORK, All, Json, Paths, Quiet, Runs, Seed, Trust
from steelyard.compare import MOST_ROUNDS, ROUNDS
from steelyard.errors import UsageError
from steelyard.numbers import option

PLACE = 100


def command(
    context: typer.Context,
    first: Annotated[
        str,
        typer.Argument(
            metavar="RUN", autocompletion=complete_side, help="Id or folder of a run, such as 20261120-101500."
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="OTHER", autocompletion=complete_side, help="Another run, or the name of a published system."
        ),
    ],
    in_turn: Annotated[
        bool,
        typer.Option(
            "--in-turn",
            help="Measure both runs again on this machine, alternating their launches, and compare the launches in pairs.",
            rich_help_panel=WORK,
        ),
    ] = False,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds",
            metavar="NUMBER",
            parser=option("--rounds", 1, MOST_ROUNDS),
            help="Number of rounds, such as 20. Each round measures each case (--in-turn) or each command (--) once.",
            rich_help_panel=WORK,
        ),
    ] = ROUNDS,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Compare only this benchmark or group, such as memory.stream (default: all that both runs have).",
            autocompletion=complete_benchmark,
            rich_help_panel=WORK,
        ),
    ] = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    trust: Trust = False,
    all_: All = False,
    json_: Json = False,
    quiet: Quiet = False,
    fail_on_slower: Annotated[
        bool,
        typer.Option(
            "--fail-on-slower",
            help="Exit with code 1 if an undisturbed case is certainly slower in the second run.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Compare two runs on one screen: which conditions differ, and which benchmarks really differ. --all shows every case.

    Examples: **steelyard compare 20261120-101500 20261120-113000** ·
    **steelyard compare 20261120-101500 20261120-113000 --all** (every case) ·
    **steelyard compare 20261120-101500 "4x AMD 8350 Barcelona"** (a published system) ·
    **steelyard compare --in-turn 20261120-101500 20261120-113000** (measures both again, for a machine that is not quiet) ·
    **steelyard compare -- ./old './new --fast'** (runs two of your own commands in turn)
    """
    if context.meta.get(DASHES):
        _compare_commands(first, second, rounds, seed, json_, quiet)
        return
    from steelyard import published, records
    from steelyard.command_line import conclusion
    from steelyard.command_line.progress import Console
    from steelyard.compare import in_turn as turns
    from steelyard.compare import published_figures
    from steelyard.compare import runs as comparing
    from steelyard.compare.restriction import restrict
    from steelyard.errors import nearest
    from steelyard.report import comparison, side_by_side
    from steelyard.run.in_turn import measure

    form = output_forms.choose_form(all_, json_)
    try:
        earlier = records.find(runs, first)
    except UsageError as error:
        if system := published_figures.find(first):
            raise UsageError(
                f"'{system}' is a published system, so it must be the second argument. Use: steelyard compare RUN '{system}'"
            ) from None
        raise error from None
    try:
        path = records.find(runs, second)
    except UsageError as error:
        system = published_figures.find(second)
        if system is None:
            raise UsageError(
                f"{error} There is no published system of that name, either. "
                f"{nearest(second, published.systems())} List all systems with: steelyard list"
            ) from None
        if fail_on_slower or in_turn:
            option = "--in-turn" if in_turn else "--fail-on-slower"
            raise UsageError(
                f"{option} needs two runs, but '{system}' is a published system. Give another run, or omit {option}."
            ) from None
        beside = published_figures.compare(restrict(conclusion.read(earlier, paths or []), only or ()), system)
        side_by_side.show_published(beside) if form == "screen" else comparison.beside(beside, json_)
        return
    progress = Console(quiet)
    if in_turn:
        earlier, path = measure(earlier, path, runs, paths or [], rounds, seed, progress, trust, only or ())
    with progress.working("Comparing the runs") if in_turn else nullcontext():
        a, b = (restrict(conclusion.read(p, paths or []), only or ()) for p in (earlier, path))
        compared = turns.compare_evaluations(a, b) if turns.are_partners(a.run, b.run) else comparing.compare(a, b)
    if form == "screen":
        side_by_side.show(a, b, compared)
    else:
        comparison.runs(compared, json_)
    if fail_on_slower and comparing.list_slower(compared):
        raise typer.Exit(1)


def _compare_commands(first: str, second: str, rounds: int, seed: int, as_json: bool, quiet: bool) -> None:
    import shlex
    import sys

    from steelyard.command_line.progress import Line
    from steelyard.compare.commands import compare_timings
    from steelyard.launch.commands_in_turn import time_in_turn
    from steelyard.report import command_comparison

    try:
        commands = [shlex.split(first), shlex.split(second)]
    except ValueError as error:
        raise UsageError(f"A command after -- cannot be read: {error}. Put the whole command into quotes.") from None
    if not all(commands):
        raise UsageError(
            "A command after -- is empty. Give two commands, as in: steelyard compare -- ./old './new -n 2'"
        )
    with Line(quiet) as line:

        def show(done: int, left: float) -> None:
            line.show(f"{done} of {rounds} pairs of runs", left)

        timings = time_in_turn(commands[0], commands[1], rounds, seed, show)
    measures = compare_timings(timings)
    command_comparison.show(commands, measures, timings, as_json)
    if timings.interrupted:
        print(f"steelyard: interrupted after {len(timings.first)} of {rounds} pairs of runs.", file=sys.stderr)
        raise typer.Exit(130)
