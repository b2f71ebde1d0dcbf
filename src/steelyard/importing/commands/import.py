# ruff: noqa: N999
"""`steelyard import`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from steelyard.show.command_line.options import Json, Quiet, Runs, folders_option, output_option

PLACE = 35
what_option = partial(typer.Option, rich_help_panel="What to import")


def command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Files, folders and archives (tar, zip, gz, bz2, xz) with outputs of other tools; - is the standard input.",
        ),
    ],
    tools: Annotated[
        list[str] | None,
        what_option(
            "--tool",
            metavar="NAME",
            help="Read only outputs of this tool, such as stream or 'OSU micro-benchmarks' (default: all known tools).",
        ),
    ] = None,
    system: Annotated[
        str | None,
        what_option(
            "--system",
            metavar="NAME|FILE",
            help="System file of the machine that was measured, such as ./cluster.toml. All files are then of this machine "
            "(default: the hosts that the files name).",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        what_option(
            "--machine",
            metavar="NAME",
            help="Name of the machine that was measured, such as '2x EPYC 7742'. Instead of --system, without a file.",
        ),
    ] = None,
    date: Annotated[
        str | None,
        what_option(
            "--date", metavar="DATE", help="Date of the files that state none, such as 2024-05-03 (default: unknown)."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        what_option(
            "--layout",
            metavar="LAYOUT",
            help="Meaning of the names of folders and files, such as '{app}/{system}/{nodes}nodes_{date}'. A part in braces "
            "is the system, the host, the date or a parameter. {} counts repetitions (default: a guess, which --dry-run shows).",
        ),
    ] = None,
    each: Annotated[
        Literal["system", "host", "date"],
        output_option("--each", help="One run for each system, for each host, or for each day of a system."),
    ] = "system",
    dry_run: Annotated[
        bool,
        output_option("--dry-run", help="Show what would be imported, and write nothing."),
    ] = False,
    name: Annotated[
        str | None,
        output_option(
            "--name",
            metavar="NAME",
            help="Name of the run, such as before-update. The names of several runs begin with it (default: system and date).",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    formats: Annotated[
        list[Path] | None,
        folders_option(
            "--path", metavar="FOLDER", help="Folder with further formats, such as ./formats (default: none)."
        ),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Import results of other tools (OSU, IMB, STREAM, HPL, IOR …) as runs: one for each system that files and folders name.

    Each file is recognised by its content, and each value keeps its unit and statistic. Steelyard lists the files that it
    cannot read, with the reasons. Importing a file again adds nothing. Runs that others shared with **steelyard share** are
    checked and copied.

    Examples: **steelyard import logs** · **steelyard import osu.txt results.tar.gz --name before-update** ·
    **steelyard import logs --dry-run** · **steelyard import logs --layout '{system}/{nodes}nodes_{date}'** ·
    **steelyard import stream.log --machine '2x EPYC 7742'** ·
    **steelyard import logs --system ./cluster.toml --date 2024-05-03** · **steelyard import - < stream.log** ·
    **steelyard import logs --tool stream --tool hpl** · **steelyard import node17.zip** (made by steelyard share)
    """
    import sys

    from steelyard.errors import UsageError
    from steelyard.importing import collecting, grouping, identity, printed_import, shared_runs, sources, write_runs
    from steelyard.importing.dates import read_date
    from steelyard.importing.layout import Layout, expect_match
    from steelyard.importing.printed_import import Understood
    from steelyard.measure.machine.system_file import find_measured
    from steelyard.measure.records import expect_new
    from steelyard.show.command_line.progress_line import Line
    from steelyard.system import files

    chosen = collecting.choose_formats(tools or [], formats or [])
    described = find_measured(system, machine)
    given = read_date(date) if date else ""
    stated = Layout.of(layout) if layout else None
    if date and not given:
        raise UsageError(f"'{date}' (given by --date) is not a date. Write it as 2024-05-03.")
    if not dry_run:
        files.expect_folder(runs, "Runs")
        if name:
            expect_new(runs, name)
    inputs, skipped = sources.find_sources(paths)
    sharing, inputs = shared_runs.split_shared(inputs)
    known = collecting.find_known(runs)
    with Line(quiet) as line:
        collection = collecting.collect(inputs, chosen, known, line.show)
    collection.unread += skipped
    shared_runs.take_shared(sharing, runs, not dry_run, collection)
    names_of_files = [file.name for file in collection.files]
    if stated:
        expect_match(stated, names_of_files)
    stated = stated or known.find_layout(names_of_files)
    hosts = [host for enclosure in described.enclosures for host in enclosure.hosts] if described else []
    hosts += grouping.list_hosts(collection.files)
    identities, parts = identity.identify(collection.files, {*hosts}, stated)
    groups = grouping.group_files(collection.files, identities, given, described is not None, each)
    names = write_runs.name_runs(groups, name or "", described)
    if groups and not dry_run:
        command = ["steelyard", "import", *paths]
        with Line(quiet) as line:
            line.begin("Writing the runs …")
            names = list(
                map(
                    str,
                    write_runs.write_runs(
                        runs, groups, names, described, command, collection, stated.text if stated else ""
                    ),
                )
            )
    understood = Understood(parts, stated, sum(map(bool, map(stated.read, names_of_files))) if stated else 0)
    printed_import.print_import(collection, list(zip(names, groups, strict=True)), understood, not dry_run, json_)
    if collection.interrupted:
        kept = "The values that were read are kept." if groups and not dry_run else "No values are kept."
        print(f"\nInterrupted. {kept} Run the same command again to read the rest.", file=sys.stderr)
        raise KeyboardInterrupt
    if not (collection.files or collection.known or collection.shared):
        raise UsageError("No file has a value that Steelyard can read. To add a format, see: steelyard help import")
