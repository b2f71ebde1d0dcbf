"""Runs that others shared: they are copied as they are, and not read as outputs of a tool."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.importing.collecting import Collection
from steelyard.importing.sources import Source
from steelyard.importing.streams import Unread
from steelyard.measure.records import shared


def split_shared(sources: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Returns the files that share runs, and the others."""
    which: tuple[list[Source], list[Source]] = [], []
    for source in sources:
        which[not (source.path and shared.is_shared(source.path))].append(source)
    return which


def take_shared(sources: Sequence[Source], runs: Path, written: bool, collection: Collection) -> None:
    """Copies the runs of shared files into the folder `runs`, if `written`, and adds them to the collection. MachineFailed."""
    for source in sources:
        try:
            taken = shared.take(source.path, runs, written) if source.path else []
        except ValueError as error:
            collection.unread.append(Unread(source.name, f"it is refused as a shared file: {error}"))
            continue
        if new := [str(one.folder) for one in taken if one.new]:
            collection.shared[source.name] = new
        else:
            collection.known[source.name] = taken[0].folder.name
