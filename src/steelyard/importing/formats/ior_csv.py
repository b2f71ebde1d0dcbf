"""IOR 3.3 to 4 with summaryFormat=CSV: a row for each repetition.

https://ior.readthedocs.io
"""

from collections.abc import Iterator

from steelyard.importing.formats import ior
from steelyard.importing.grids import read_separated
from steelyard.importing.text import Text
from steelyard.importing.values import make_row, size
from steelyard.model.foreign import ForeignValue

TOOL = "IOR"
MARKS = ("access,bw(MiB/s),",)
COLUMNS = {**ior.COLUMNS, "Latency": ("latency", "s", "as printed")}
SIZES = {"transfer_bytes": "xfer(KiB)", "block_bytes": "block(KiB)"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the results of each repetition of writing and reading. A heading with columns of a script before it is refused."""
    for row in read_separated(text, r"\s*access,bw\(MiB/s\),"):
        if row["access"] in {"write", "read"}:
            with text.row(row.line):
                sizes = {ours: size(f"{row[theirs]} KiB") for ours, theirs in SIZES.items()}
                about = {"ranks": int(row["numTasks"]), **sizes}
                yield from make_row("ior.file", row["access"], row, COLUMNS, about)
