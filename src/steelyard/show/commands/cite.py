"""`steelyard cite`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.completion import complete_side
from steelyard.show.command_line.options import Json, Runs

PLACE = 82


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIDE]...",
            autocompletion=complete_side,
            help="Run (its id or folder) or published system (default: the newest run).",
        ),
    ] = None,
    author: Annotated[
        str, typer.Option("--author", metavar="NAME", help="Who measured, such as 'Ada Lovelace' (default: not named).")
    ] = "",
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Print a citation of runs and published systems: a sentence, and an entry for BibTeX.

    The digest is a hash of a run's files. Readers who have the files check it with: **steelyard verify**

    Examples: **steelyard cite** (the newest run) · **steelyard cite 20261120-101500 --author 'Ada Lovelace' >> paper.bib** ·
    **steelyard cite Fugaku**
    """
    import sys
    from dataclasses import asdict

    from steelyard.compare.published_side import find_known
    from steelyard.errors import one_line
    from steelyard.measure import records
    from steelyard.measure.records import sums
    from steelyard.show.command_line.sides import find_named
    from steelyard.show.report import citation
    from steelyard.show.report.json_output import print_json

    found = []
    for name in names or [str(records.find(runs, None))]:
        path = find_named(name, runs)
        if isinstance(path, Path):
            run, checked = records.head(path), sums.verify(path)
            found.append(citation.cite_run(run, checked.digest, author))
            if checked.kept and not checked.same:
                print(
                    f"steelyard: The files of {one_line(name)} are not as they were when it ended. To see which: "
                    f"steelyard verify {one_line(name)}",
                    file=sys.stderr,
                )
        elif system := find_known(name):
            found.append(citation.cite_system(system))
    if json_:
        print_json([asdict(one) for one in found])
    else:
        print("\n".join(f"% {one.text}\n{one.bibtex}" for one in found), end="")
