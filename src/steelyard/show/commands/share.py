"""`steelyard share`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.options import Paths, RunNames, Runs

PLACE = 84


def command(
    names: RunNames = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write, such as node17.zip (default: the run's id and .zip)."
        ),
    ] = None,
    anonymous: Annotated[
        bool,
        typer.Option(
            "--anonymous",
            help="Replace names of hosts, systems and users, paths, network addresses, serial numbers and job numbers "
            "by placeholders.",
        ),
    ] = False,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Pack runs into one file that others import: the measurements, the results and the report.

    Whoever gets the file unpacks it and opens report.html, or imports it, for example: **steelyard import node17.zip**

    Examples: **steelyard share** (the newest run) · **steelyard share 20261120-101500 --anonymous -o node.zip**
    """
    from tempfile import TemporaryDirectory

    from steelyard.errors import UsageError, one_line
    from steelyard.measure import records
    from steelyard.measure.records import power, shared, sums
    from steelyard.measure.records.anonymous import Anonymous
    from steelyard.model.words import joined, plural
    from steelyard.show.command_line import conclusion
    from steelyard.show.command_line.evaluated_run import read
    from steelyard.show.command_line.progress_line import Line
    from steelyard.system import files

    folders = records.find_each(runs, names)
    if output is None and len(folders) > 1:
        raise UsageError("Several runs need a name for their file. Give it with --output FILE.")
    hidden_names = [Anonymous(folder) if anonymous else None for folder in folders]
    first = hidden_names[0].name if hidden_names[0] else folders[0].resolve().name
    target = output or Path(f"{first}.zip")
    files.expect_output(target, "The shared file")
    replaced: dict[str, int] = {}
    with TemporaryDirectory() as within, Line(False) as line:
        copies = []
        for number, (folder, hidden) in enumerate(zip(folders, hidden_names, strict=True), 1):
            line.begin(f"Packing run {number} of {len(folders)} …")
            notes = (*records.read(folder).notes, *power.read(folder).unread)
            if notes and not anonymous:
                raise UsageError(
                    f"Readers would refuse the run {one_line(folder.name)}: {notes[0]}. --anonymous leaves such lines out."
                )
            copy = Path(within) / (hidden.name if hidden else folder.resolve().name)
            copy = copy.with_name(f"{copy.name}-{number}") if copy.exists() else copy
            if hidden:
                hidden.copy(folder, copy)
                replaced = {kind: replaced.get(kind, 0) + n for kind, n in hidden.counts.items()}
            else:
                sums.copy(folder, copy)
            conclusion.write_report(read(copy, paths or []), None)
            copies.append(copy)
        files.make(target, "The shared file", lambda path: shared.write(copies, path))
    print(f"{plural(len(copies), 'run')}: {one_line(str(target))} ({target.stat().st_size / 1e6:.1f} MB)")
    if anonymous:
        counts = joined(plural(n, kind) for kind, n in replaced.items()) or "nothing"
        print(f"Replaced: {counts}. Other identifying text may remain: look at the file before you publish it.")
    else:
        print("It names hosts, users and paths. To replace them: --anonymous")
