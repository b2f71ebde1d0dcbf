"""BabelStream 3 to 5 with --csv.

https://github.com/UoB-HPC/BabelStream
"""

from collections.abc import Iterator
from itertools import chain

from steelyard.importing.formats.babelstream import KERNELS, read_row
from steelyard.importing.grids import read_separated
from steelyard.importing.text import Text
from steelyard.model.foreign import ForeignValue

TOOL = "BabelStream"
MARKS = ("function,num_times,n_elements", "phase,n_elements")
HEAD = r"(?:function,num_times|phase,n_elements),"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the best bandwidth of each kernel, and the mean, least and greatest time of its passes."""
    for row in chain.from_iterable(read_separated(part, HEAD) for _, part in text.parts(HEAD)):
        kernel = row.get("function") or row["phase"]
        sizes = {"elements": int(row["n_elements"]), "precision": "float" if row["sizeof"] == "4" else "double"}
        if kernel in KERNELS:
            yield from read_row(kernel, row, row.get("num_times", "1"), sizes)
        else:
            text.problems.append(f"line {row.line}: the kernel '{kernel}' is unknown")
