"""Traces as the engine reads them: what is no text and no folder of ranks' files is made one, for as long as it is read."""

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
    """Where the engine finds it, and how many collectives have the bytes of each pair shared out evenly (OTF2)."""

    path: Path
    even: int = 0


@contextlib.contextmanager
def opened(trace: Path, machine: Machine) -> Iterator[Readable]:
    """A table or an OTF2 archive as a folder of its own, every other trace as it is. UsageError where it cannot be read."""
    anchor = otf2.anchor_of(trace)
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
