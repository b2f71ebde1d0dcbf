# ruff: noqa: N999
"""`steelyard import`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.command_line.options import FOLDERS, OUTPUT, Json, Quiet, Runs

PLACE = 35
WHAT = "What to import"  # title of a group of options


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
        typer.Option(
            "--tool",
            metavar="NAME",
            help="Read only outputs of this tool, such as stream or 'OSU micro-benchmarks' (default: all known tools).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            metavar="NAME|FILE",
            help="System file of the machine that was measured, such as ./cluster.toml. All files are then of this machine "
            "(default: the hosts that the files name).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(
            "--date",
            metavar="DATE",
            help="Date of the files that state none, such as 2024-05-03 (default: unknown).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be imported, and write nothing.", rich_help_panel=OUTPUT),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the run, such as before-update. The names of several runs begin with it (default: host and date).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    runs: Runs = Path("runs"),
    formats: Annotated[
        list[Path] | None,
        typer.Option(
            "--path",
            metavar="FOLDER",
            help="Folder with further formats, such as ./formats (default: none).",
            rich_help_panel=FOLDERS,
        ),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Import results of other tools (OSU, IMB, STREAM, HPL, IOR …) as runs: one for each machine and date that the files name.

    Each file is recognised by its content, and each value keeps its unit and statistic. Steelyard lists the files that it
    cannot read, with the reasons. Importing a file again adds nothing.

    Examples: **steelyard import logs** · **steelyard import osu.txt results.tar.gz --name before-update** ·
    **steelyard import logs --dry-run** · **steelyard import logs --system ./cluster.toml --date 2024-05-03** ·
    **steelyard import - < stream.log** · **steelyard import logs --tool stream --tool hpl**
    """
    import sys

    from steelyard import files
    from steelyard.command_line.progress_line import Line
    from steelyard.errors import UsageError
    from steelyard.importing import collecting, grouping, printed_import, sources, write_runs
    from steelyard.importing.dates import read_date
    from steelyard.machine.system_file import find_system, load_system
    from steelyard.records import expect_new

    chosen = collecting.choose_formats(tools or [], formats or [])
    described = load_system(find_system(system)) if system else None
    given = read_date(date) if date else ""
    if date and not given:
        raise UsageError(f"'{date}' (given by --date) is not a date. Write it as 2024-05-03.")
    if not dry_run:
        files.expect_folder(runs, "Runs")
        if name:
            expect_new(runs, name)
    inputs, skipped = sources.find_sources(paths)
    with Line(quiet) as line:
        collection = collecting.collect(inputs, chosen, collecting.find_known(runs), line.show)
    collection.unread += skipped
    hosts = [host for enclosure in described.enclosures for host in enclosure.hosts] if described else []
    groups = grouping.group_files(collection.files, given, described is not None, hosts)
    names = write_runs.name_runs(groups, name or "", described)
    if groups and not dry_run:
        command = ["steelyard", "import", *paths]
        with Line(quiet) as line:
            line.begin("Writing the runs …")
            names = list(map(str, write_runs.write_runs(runs, groups, names, described, command, collection)))
    printed_import.print_import(collection, list(zip(names, groups, strict=True)), not dry_run, json_)
    if collection.interrupted:
        print(
            "\nInterrupted. The values that were read are kept. Run the same command again to read the rest.",
            file=sys.stderr,
        )
        raise KeyboardInterrupt
    if not collection.files and not collection.known:
        raise UsageError("No file has a value that Steelyard can read. To add a format, see docs/import.md.")
