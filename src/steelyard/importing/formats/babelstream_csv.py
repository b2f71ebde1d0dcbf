"""BabelStream 3 to 5 with --csv.

https://github.com/UoB-HPC/BabelStream
"""

import re
from collections.abc import Iterator

from steelyard.importing.formats.babelstream import COLUMNS, KERNELS, NAMES, read_row
from steelyard.importing.grids import read_separated
from steelyard.importing.grouping import NEUTRAL
from steelyard.importing.patterns import search
from steelyard.importing.text import Row, Text
from steelyard.importing.values import make_name
from steelyard.model.foreign import ForeignValue

TOOL = "BabelStream"
MARKS = ("function,num_times,n_elements", "phase,n_elements")
HEAD = r"(?:function,num_times|phase,n_elements),"
KNOWN = rf"function|phase|num_times|n_elements|sizeof|runtime|{'|'.join(COLUMNS)}"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the best bandwidth of each kernel, and the mean, least and greatest time of its passes."""
    for _, part in text.parts(HEAD):
        device = search(NAMES["device"], text.before(part, rf"^(?:{'|'.join(KERNELS)}),"))
        for row in read_separated(part, HEAD):
            kernel = row.get("function") or row["phase"]
            sizes = {"elements": int(row["n_elements"]), "precision": "float" if row["sizeof"] == "4" else "double"}
            if kernel in KERNELS:
                about = {"device": device[1].strip() if device else None, **sizes, **_added(row)}
                yield from read_row(kernel, row, row.get("num_times", "1"), about)
            else:
                text.problems.append(f"line {row.line}: the kernel '{kernel}' is unknown")


def _added(row: Row) -> dict[str, str]:
    """Returns the columns that a script added, such as the threads, without those that count repetitions."""
    added = {name: word for name, word in row.items() if not re.fullmatch(KNOWN, name)}
    return {
        make_name(name): word for name, word in added.items() if not NEUTRAL & {*re.findall("[a-z]+", name.lower())}
    }
