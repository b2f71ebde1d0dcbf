"""Converts tables and OTF2 archives to folders that the engine can read, for as long as they are needed."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.model import Machine
from steelyard.whatif import otf2, table


@dataclass(frozen=True)
class Readable:
    """The path for the engine, and the number of collectives whose bytes are divided evenly among the pairs (OTF2)."""

    path: Path
    even: int = 0


@contextlib.contextmanager
def open_readable(trace: Path, machine: Machine) -> Iterator[Readable]:
    """Yields a temporary folder for a table or an OTF2 archive, and every other trace itself. UsageError if it is unreadable."""
    anchor = otf2.find_anchor(trace)
    if not anchor and not table.is_table(trace):
        yield Readable(trace)
        return
    folder = Path(tempfile.mkdtemp(prefix="steelyard-"))
    try:
        even = 0
        if anchor:
            even = otf2.rebuild(anchor, folder, machine)
        else:
            table.rebuild(trace, folder, machine)
        yield Readable(folder, even)
    finally:
        shutil.rmtree(folder)
