"""`steelyard compare`."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from steelyard.compare import MOST_ROUNDS, ROUNDS
from steelyard.errors import UsageError
from steelyard.model.numbers import option
from steelyard.model.words import plural
from steelyard.show.command_line import output_forms
from steelyard.show.command_line.command_group import DASHES
from steelyard.show.command_line.completion import complete_benchmark, complete_side
from steelyard.show.command_line.options import (
    All,
    Baseline,
    Groups,
    Json,
    Paths,
    Price,
    Quiet,
    Runs,
    Seed,
    Trust,
    output_option,
    work_option,
)

PLACE = 100
OF_COMMANDS = (  # parameters that two commands after -- have
    "names", "groups", "rounds", "seed", "json_", "quiet", "fail_on_slower",
)  # fmt: skip
NO_DOCUMENT = ("--all", "--json", "--in-turn", "--equal-time")
Document = Literal["markdown", "latex", "csv"]
ComparisonForm = output_forms.Form | Document


def command(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            autocompletion=complete_side,
            help="Ids or folders of runs, such as 20261120-101500, or published systems (one run: also the nearest systems).",
        ),
    ] = None,
    groups: Groups = None,
    baseline: Baseline = None,
    in_turn: Annotated[
        bool,
        work_option(
            "--in-turn",
            help="Measure both runs again on this machine, alternating their launches, and compare the launches in pairs.",
        ),
    ] = False,
    rounds: Annotated[
        int,
        work_option(
            "--rounds",
            metavar="NUMBER",
            parser=option("--rounds", 1, MOST_ROUNDS),
            help="Number of rounds, such as 20. Each round measures each case (--in-turn) or each command (--) once.",
        ),
    ] = ROUNDS,
    only: Annotated[
        list[str] | None,
        work_option(
            "--only",
            metavar="NAME",
            help="Compare only this benchmark or group, such as memory.stream (default: all that the sides have in common).",
            autocompletion=complete_benchmark,
        ),
    ] = None,
    equal_time: Annotated[
        bool,
        work_option(
            "--equal-time",
            help="Compare programs at equal time and at equal ranks: ranks, nodes, power, energy, rack units and price.",
        ),
    ] = False,
    systems: Annotated[
        list[str] | None,
        work_option(
            "--system",
            metavar="SIDE=FILE",
            help="System file of a side with its cores, rack units and prices, for --equal-time (default: that of the run).",
        ),
    ] = None,
    price: Price = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    trust: Trust = False,
    all_: All = False,
    json_: Json = False,
    markdown: Annotated[
        bool,
        output_option(
            "--markdown", help="Print the comparison as tables in Markdown, for a ticket, a review or a paper."
        ),
    ] = False,
    latex: Annotated[
        bool, output_option("--latex", help="Print the same tables in LaTeX, to be read by \\input.")
    ] = False,
    csv: Annotated[bool, output_option("--csv", help="Print all numbers as rows in CSV, in SI units.")] = False,
    quiet: Quiet = False,
    fail_on_slower: Annotated[
        bool,
        output_option(
            "--fail-on-slower",
            help="Exit with code 1 if an undisturbed case is certainly slower than in the baseline; of two commands, if the "
            "second one certainly takes more time or processor time. What is unclear does not count.",
        ),
    ] = False,
) -> None:
    """Compare runs, groups of runs and published systems: which conditions differ, and which benchmarks really differ.

    Examples: **steelyard compare 20261120-101500 20261120-113000** ·
    **steelyard compare 20261120-101500 20261120-113000 --all** (every case) ·
    **steelyard compare 20261120-101500 20261121-090000 "4x AMD 8350 Barcelona"** (any number of sides) ·
    **steelyard compare 20261120-101500** (with the three nearest published systems) ·
    **steelyard compare --group old='runs/2025*' --group new='runs/2026*'** (several runs of each system) ·
    **steelyard compare "MareNostrum III" "Mont-Blanc system" --equal-time** (ranks, energy and rack units for equal time) ·
    **steelyard compare small large --price small=0.096/h --price large=0.768/h --price energy=0.30/kWh**
    (also for the same money) ·
    **steelyard compare --in-turn 20261120-101500 20261120-113000** (measures both again, for a machine that is not quiet) ·
    **steelyard compare 20261120-101500 20261120-113000 --markdown** (tables for a ticket; --latex for a paper) ·
    **steelyard compare -- ./old './new --fast'** (runs two of your own commands in turn)
    """
    given, grouped = names or [], groups or []
    if context.meta.get(DASHES):
        if len(given) != 2 or grouped:
            raise UsageError(
                f"After -- {plural(len(given), 'command')} given, but two are compared. "
                "Put each command into quotes: steelyard compare -- ./old './new -n 2'"
            )
        _expect_options_of_commands(context)
        _compare_commands(given[0], given[1], rounds, seed, json_, quiet, fail_on_slower)
        return
    form = output_forms.choose_form(all_, json_)
    document = _choose_document(
        markdown, latex, csv, dict(zip(NO_DOCUMENT, (all_, json_, in_turn, equal_time), strict=True))
    )
    if not given and not grouped:
        raise UsageError(
            "No run is given. Give two runs or more, such as: steelyard compare 20261120-101500 20261120-113000"
        )
    if equal_time:
        if in_turn or fail_on_slower:
            other = "--in-turn" if in_turn else "--fail-on-slower"
            raise UsageError(f"--equal-time and {other} cannot be used together. Use two commands.")
        if price:
            raise UsageError(
                f"--price {price[0]} and --equal-time cannot be used together. Prices of nodes stand in a system file."
            )
        _compare_at_equal_time(given, grouped, baseline, systems or [], form, only or (), runs, paths or [])
        return
    if systems:
        raise UsageError(f"--system {systems[0]} applies only to --equal-time. Add --equal-time, or omit --system.")
    if in_turn and (len(given) != 2 or grouped):
        raise UsageError(
            f"--in-turn needs two runs, but {plural(len(given) + len(grouped), 'side')} given. "
            "Give two runs, or omit --in-turn."
        )
    if len(given) == 2 and not grouped and not document:
        ordered = given[::-1] if baseline is not None and baseline == given[1] else given
        if baseline in (None, *given) and _compare_two(
            ordered,
            form,
            in_turn,
            rounds,
            only or (),
            seed,
            runs,
            paths or [],
            trust,
            quiet,
            fail_on_slower,
            price or (),
        ):
            return
    _compare_sides(
        given, grouped, baseline, document or form, only or (), runs, paths or [], fail_on_slower, price or ()
    )


def _choose_document(markdown: bool, latex: bool, csv: bool, others: dict[str, bool]) -> Document | None:
    """Returns the form that one of the three options chooses. UsageError with a further form or another kind of comparison."""
    given: dict[Document, bool] = {"markdown": markdown, "latex": latex, "csv": csv}
    chosen = [name for name, is_given in given.items() if is_given]
    further = [f"--{name}" for name in chosen[1:]] + [name for name, is_given in others.items() if is_given]
    if chosen and further:
        raise UsageError(f"--{chosen[0]} and {further[0]} cannot be used together. Omit one of them.")
    return chosen[0] if chosen else None


def _compare_sides(
    names: Sequence[str], groups: Sequence[str], baseline: str | None, form: ComparisonForm, only: Sequence[str],
    runs: Path, paths: Sequence[Path], fail_on_slower: bool, prices: Sequence[str],
) -> None:  # fmt: skip
    from steelyard.compare import prices as pricing
    from steelyard.compare.compared_sides import list_slower
    from steelyard.compare.nearest import find_nearest
    from steelyard.compare.sides import compare_sides, restrict_sides
    from steelyard.show.command_line.sides import name_baseline, read_sides
    from steelyard.show.report import comparison_document, sides_screen, sides_tables

    sides = read_sides(names, groups, runs, paths)
    published = next((side.name for side in sides if side.is_foreign), None)
    if fail_on_slower and published:
        raise UsageError(
            f"--fail-on-slower needs runs, but Steelyard did not measure '{published}'. Omit it, or omit --fail-on-slower."
        )
    baseline = name_baseline(sides, names, baseline)
    restricted = restrict_sides(sides, only)
    if len(restricted) == 1 and restricted[0].kind != "published":
        restricted += tuple(find_nearest(restricted[0].runs[-1]))
    compared = compare_sides(restricted, baseline, with_rows=form != "screen", with_mix=form != "screen")
    by_name = {side.name: side for side in restricted}
    of_sides = pricing.choose_of_sides(prices, {side.letter: by_name[side.name] for side in compared.sides})
    compared = replace(compared, machines=pricing.add_prices(compared.machines, of_sides))
    if form == "screen":
        sides_screen.show(compared)
    elif form in comparison_document.WRITERS:
        print(comparison_document.WRITERS[form](compared), end="")
    else:
        sides_tables.show(compared, form == "json")
    _warn(pricing.explain_unused(prices, compared.machines))
    if fail_on_slower and list_slower(compared):
        raise typer.Exit(1)


def _warn(text: str) -> None:
    import sys

    if text:
        print(f"steelyard: {text}", file=sys.stderr)


def _compare_two(
    names: Sequence[str], form: output_forms.Form, in_turn: bool, rounds: int, only: Sequence[str], seed: int,
    runs: Path, paths: Sequence[Path], trust: bool, quiet: bool, fail_on_slower: bool, prices: Sequence[str],
) -> bool:  # fmt: skip
    """Compares two runs by their samples, or a run and a published system; returns False for two sides of another kind."""
    from steelyard.compare import pairs, published_figures
    from steelyard.compare import prices as pricing
    from steelyard.compare import runs as comparing
    from steelyard.compare.measuring import measure
    from steelyard.compare.restriction import restrict
    from steelyard.compare.side import Side
    from steelyard.measure import records
    from steelyard.show.command_line.evaluated_run import read
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.sides import UnreadSide, expect_apart, find_named
    from steelyard.show.report import comparison, side_by_side

    sides = [UnreadSide(name, find_named(name, runs)) for name in names]
    if not in_turn:  # a run may be measured in turn with itself: both are new measurements
        expect_apart(sides)
    option = "--in-turn" if in_turn else "--fail-on-slower" if fail_on_slower else ""
    if system := next((side.found.name for side in sides if isinstance(side.found, Side)), None):
        if option:
            raise UsageError(
                f"{option} needs two runs, but '{system}' is a published system. Give another run, or omit {option}."
            )
        if not sides[0].folders:
            return False
        beside = published_figures.compare(restrict(read(sides[0].folders[0], paths), only), names[1])
        of = pricing.read_prices(prices, {"a": {"a", names[1], beside.system}, "b": {"b", names[0], beside.run}})
        beside = replace(beside, machines=pricing.add_prices(beside.machines, of))
        side_by_side.show_published(beside) if form == "screen" else comparison.beside(beside, form == "json")
        _warn(pricing.explain_unused(prices, beside.machines))
        return True
    folders = [folder for side in sides for folder in side.folders]
    if imported := next((path for path in folders if records.head(path).imported), None):
        if option:
            raise UsageError(
                f"{option} needs runs that Steelyard measured, but '{imported}' is imported. Omit {option}."
            )
        return False
    first, second = folders
    known = {letter: {letter, name, path.name} for letter, name, path in zip("ab", names, folders, strict=True)}
    of_sides = pricing.read_prices(prices, known)  # refuses before it reads or measures
    progress = Console(quiet)
    if in_turn:
        first, second = measure(first, second, runs, paths, rounds, seed, progress, trust, only)
    with progress.working("Comparing the runs") if in_turn else nullcontext():
        a, b = (restrict(read(path, paths), only) for path in (first, second))
        compared = pairs.compare(a, b) if pairs.are_partners(a.run, b.run) else comparing.compare(a, b)
        equipment = {letter: of.run.machine.equipment for letter, of in (("a", a), ("b", b))}
        of_sides = of_sides or pricing.choose_prices((), known, equipment)
        compared = replace(compared, machines=pricing.add_prices(compared.machines, of_sides))
    if form == "screen":
        side_by_side.show(a, b, compared)
    else:
        comparison.runs(compared, form == "json")
    _warn(pricing.explain_unused(prices, compared.machines))
    if fail_on_slower and comparing.list_slower(compared):
        raise typer.Exit(1)
    return True


def _compare_at_equal_time(
    names: Sequence[str], groups: Sequence[str], baseline: str | None, systems: Sequence[str], form: output_forms.Form,
    only: Sequence[str], runs: Path, paths: Sequence[Path],
) -> None:  # fmt: skip
    from steelyard.compare.equal_time import compare_sides
    from steelyard.compare.equipment import read_equipment
    from steelyard.compare.sides import restrict_sides
    from steelyard.show.command_line.sides import put_first, read_sides
    from steelyard.show.report import equal_time_rows

    sides = put_first(restrict_sides(read_sides(names, groups, runs, paths), only), names, baseline)
    equal_time_rows.show(compare_sides(sides, read_equipment(systems, sides)), form == "json", form == "all")


def _expect_options_of_commands(context: typer.Context) -> None:
    """UsageError for an option that has no effect on two commands."""
    for parameter in context.command.params:
        source = context.get_parameter_source(name := parameter.name or "")
        if name not in OF_COMMANDS and source and source.name == "COMMANDLINE":
            raise UsageError(f"{parameter.opts[0]} applies to runs, and not to two commands after --. Omit it.")


def _compare_commands(
    first: str, second: str, rounds: int, seed: int, as_json: bool, quiet: bool, fail_on_slower: bool
) -> None:
    import shlex
    import sys

    from steelyard.compare.commands import compare_timings, expect_enough
    from steelyard.measure.launch.commands_in_turn import time_in_turn
    from steelyard.show.command_line.progress_line import Line
    from steelyard.show.report import command_comparison

    expect_enough(rounds)
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
        print(f"{len(timings.first)} of {rounds} pairs of runs were measured.", file=sys.stderr)
    if fail_on_slower and any(measure.comparison.call == "SLOWER" for measure in measures):
        raise typer.Exit(1)
