"""`steelyard verify`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from steelyard.measure.records import sums

from steelyard.show.command_line.options import Json, RunNames, Runs

PLACE = 66


def command(
    names: RunNames = None,
    runs: Runs = Path("runs"),
    json_: Json = False,
) -> None:
    """Check that the files of runs are as they were when the run ended.

    Each run has the checksums of its files in SHA256SUMS, which sha256sum --check reads as well. The digest is one hash of all
    of them. Exit code 1 if a file differs or is missing, or if a run has no checksums.

    Examples: **steelyard verify** (the newest run) · **steelyard verify runs/2026* --json**
    """
    from dataclasses import asdict

    from steelyard.measure import records
    from steelyard.measure.records import sums
    from steelyard.show.report.json_output import print_json

    paths = records.find_each(runs, names)
    found = [(records.head(path).id, sums.verify(path)) for path in paths]
    if json_:
        print_json([{"run": name, "same": one.same, **asdict(one)} for name, one in found])
    else:
        for name, one in found:
            print(_describe(name, one))
    if not all(one.same for _, one in found):
        raise typer.Exit(1)


def _describe(name: str, found: "sums.Verified") -> str:
    from steelyard.errors import one_line
    from steelyard.model.words import joined

    if not found.kept:
        return (
            f"{one_line(name)}: cannot be checked, because it has no checksums (it did not finish, or an earlier version of "
            f"Steelyard wrote it). The digest of its files now: {found.digest}"
        )
    if found.same:
        says = "unchanged since it ended"
    else:
        kinds = {"changed": found.changed, "missing": found.missing, "added": found.added}
        says = "; ".join(f"{kind}: {joined(files)}" for kind, files in kinds.items() if files)
    return f"{one_line(name)}: {says} (digest {found.digest})"
