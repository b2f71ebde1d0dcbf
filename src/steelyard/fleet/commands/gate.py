"""`steelyard gate`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.errors import UsageError
from steelyard.fleet.options import UNDECIDED, Format, read_slowness
from steelyard.model.numbers import length_of_time
from steelyard.show.command_line.options import Json, Paths, Runs, Trust

PLACE = 103


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Runs of healthy nodes of this kind, or of this node, by id or folder, folders that contain runs, such as "
            "nodes/, or a saved baseline (default: all runs). save NAME RUN…, list and remove NAME manage baselines.",
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Longest time to measure, such as 60s or 5m.")
    ] = "60s",
    slow: Annotated[
        float,
        typer.Option(
            "--slow", metavar="PERCENT", help="Smallest slowness that must be detected, in percent, such as 5."
        ),
    ] = 5.0,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="FIGURE=VALUE",
            help="Compare this main figure with a value that you give, such as 'Triad bandwidth=36.6 GB/s', not with runs. "
            "May be given several times; other figures are not judged. 'published': the worst normal values of such systems.",
        ),
    ] = None,
    after_repair: Annotated[
        bool,
        typer.Option("--after-repair", help="Ignore earlier attempts of this node. Use this once, after a repair."),
    ] = False,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    trust: Trust = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing: only the exit code says the answer.")] = False,
    reason: Annotated[
        bool, typer.Option("--reason", help="Print one line only: the reason for a scheduler that drains the node.")
    ] = False,
    json_: Json = False,
    form: Format = "",
) -> None:
    """Measure this node for at most a minute, and compare it with its peers or with its own earlier runs.

    Give runs of at least five other hosts. Otherwise, five earlier runs of this host serve as the reference. With --expect, one
    run is enough: it names the cases. Main figures are measured in rounds until the answer is known. The attempts since the
    node last passed count together, so repeated attempts do not raise the chance that a slow node passes. Exit codes: 0 as
    usual, 1 slower, 2 wrong usage, 5 undecided.

    Examples: **steelyard gate nodes/** · **steelyard gate nodes/ --quiet** (only the exit code) ·
    **steelyard gate nodes/ --budget 5m --slow 3** · **steelyard gate nodes/ --after-repair** ·
    **steelyard gate nodes/ --format junit > gate.xml** (a test for each figure) ·
    **steelyard gate save healthy nodes/** (then: steelyard gate healthy) · **steelyard gate list**
    """
    from steelyard.fleet import baselines, checks, gate, gate_screen, run_folders
    from steelyard.measure.run import setup
    from steelyard.model.words import plural
    from steelyard.show.command_line.evaluated_run import find_summary
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.sides import read_side_run
    from steelyard.show.report.json_output import print_json

    if names and names[0] in baselines.WORDS:
        _manage(names[0], names[1:], runs, expect or [], json_)
        return
    form = checks.choose_format(form, json_=json_)
    seconds = length_of_time(budget, "--budget")
    slowness = read_slowness(slow)
    baseline = baselines.find(runs, names or [])
    expect = expect or [*baseline.expect] if baseline else expect
    folders = baseline.folders if baseline else run_folders.find(names or [], runs)
    screen = Console(quiet or reason or bool(form))
    with screen.working("Examining the machine"):
        here = setup.machine()
    if after_repair and (before := gate.forget(runs, here.host)):
        screen.inform(f"steelyard: Earlier attempts no longer count. They are in {before}.")
    with screen.working(f"Reading {plural(len(folders), 'run')}"):
        sides = [read_side_run(folder, paths or []) for folder in folders]
        summaries = [find_summary(folder, paths or []) for folder in folders]
        if expect == ["published"]:
            reference = gate.find_published(sides, summaries)
        elif expect:
            reference = gate.find_given(sides, summaries, expect)
        else:
            reference = gate.find_reference(sides, summaries, here.host)
    gated = gate.measure(
        reference, here, runs, paths or [], seconds=seconds, slow=slowness, trusted=trust, screen=screen
    )
    if form == "json":
        print_json(gate_screen.as_plain(gated))
    elif form:
        print(checks.render(form, f"steelyard gate {gated.host}", gate_screen.list_checks(gated)), end="")
    elif reason:
        print(gate_screen.word_reason(gated))
    elif not quiet:
        gate_screen.show(gated)
    if gated.answer != "as usual":
        raise typer.Exit(1 if gated.answer == "slower" else UNDECIDED)


def _manage(word: str, names: list[str], runs: Path, expect: list[str], json_: bool) -> None:
    """Saves, lists or removes baselines."""
    from dataclasses import asdict

    from steelyard.fleet import baselines, run_folders
    from steelyard.show.report.json_output import print_json

    if (word == "list") == bool(names) or (word == "remove" and len(names) > 1):
        usage = {"save": "save NAME RUN…", "list": "list", "remove": "remove NAME"}[word]
        raise UsageError(f"Use: steelyard gate {usage}")
    if word == "remove":
        baselines.remove(runs, names[0])
        print(f"removed the baseline {names[0]}")
        return
    saved = [baselines.save(runs, names[0], run_folders.find(names[1:], runs), expect)] if word == "save" else None
    found = baselines.list_all(runs) if saved is None else saved
    if json_:
        print_json([asdict(one) for one in found])
    else:
        print(
            "\n".join(map(baselines.describe, found))
            or "There are no baselines. Save one: steelyard gate save NAME RUN…"
        )
