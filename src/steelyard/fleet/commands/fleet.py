"""`steelyard fleet`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.fleet.options import Format
from steelyard.show.command_line.options import OUTPUT, All, Json, Paths, Runs

PLACE = 102


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Runs of the nodes by id or folder, or folders that contain runs, such as nodes/ (default: all runs).",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    form: Format = "",
    fail_on_slow: Annotated[
        bool,
        typer.Option(
            "--fail-on-slow",
            help="Exit with code 1 if a slow node was found.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Compare the nodes of a cluster with each other, and name the slow ones. No limit has to be given.

    Each node has a run of the same cases; several runs of a host count together. In a run over several hosts, all pairs of
    hosts are compared. This shows slow nodes and links, and slow switches if the system file names the switches. In runs of one
    node each, a node is slow if neither chance nor the usual difference between nodes explains its time in a case, and if it
    takes at least 2 % more (5 % with fewer than eight nodes). If all nodes are equal, the chance that any node is named is
    about 1 %.

    Examples: **steelyard fleet nodes/** (all runs in this folder) · **steelyard fleet runs/node*-2026** ·
    **steelyard fleet nodes/ --all** (every node and case) · **steelyard fleet nodes/ --json --fail-on-slow** ·
    **steelyard fleet nodes/ --format junit > fleet.xml** (a test for each node)
    """
    from dataclasses import replace

    from steelyard.errors import UsageError
    from steelyard.fleet import checks, fleet_screen, run_folders
    from steelyard.fleet.nodes import (
        LEAST_NODES,
        add_up_seconds,
        describe_cluster,
        gather,
        judge_fleet,
        uses_several_hosts,
    )
    from steelyard.model.words import plural
    from steelyard.show.command_line import output_forms, sides
    from steelyard.show.command_line.evaluated_run import find_summary
    from steelyard.show.report.json_output import print_json

    shape = output_forms.choose_form(all_, json_)  # which refuses two of them
    form = checks.choose_format(form, json_=json_) or shape
    folders = run_folders.find(names or [], runs)
    summaries = [find_summary(folder, paths or []) for folder in folders]
    found = sides.read_sides([str(folder) for folder in folders], (), runs, paths or [])
    pairs = list(zip(summaries, found, strict=True))
    clusters = [describe_cluster(summary) for summary, side in pairs if uses_several_hosts(side)]
    alone = [(summary, side) for summary, side in pairs if not uses_several_hosts(side)]
    nodes = gather(side for _, side in alone)
    if len(nodes) < LEAST_NODES and not clusters:
        raise UsageError(
            f"{plural(len(nodes), 'node')} found in {plural(len(folders), 'run')}, but peers are at least three nodes. "
            "Give the runs of more nodes, or compare two with: steelyard compare RUN RUN"
        )
    seconds = add_up_seconds(Path(summary.path) for summary, _ in alone)
    judged = replace(judge_fleet(nodes, [summary for summary, _ in alone]), clusters=tuple(clusters), seconds=seconds)
    if form == "json":
        print_json(fleet_screen.as_plain(judged))
    elif form in checks.FORMATS:
        print(checks.render(form, "steelyard fleet", [*fleet_screen.list_checks(judged)]), end="")
    else:
        fleet_screen.show(judged, everything=form == "all")
    if fail_on_slow and (judged.slow or any(cluster.slow for cluster in clusters)):
        raise typer.Exit(1)
