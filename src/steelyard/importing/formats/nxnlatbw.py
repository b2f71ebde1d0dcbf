"""mpi_nxnlatbw: the latency and the bandwidth of each pair of ranks.

https://github.com/stackhpc/hpc-tests/tree/master/apps/nxnlatbw/src
"""

from steelyard.importing.operations import WARM
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make

TOOL = "mpi_nxnlatbw"
MARKS = ("src,dst,lat(us),bandwidth((Mbytes/sec)",)
ROW = r"\s*(?P<src>\d{1,6}),(?P<dst>\d{1,6}),(?P<latency>[^\s,]+),(?P<bandwidth>[^\s,]+)\s*$"


def read(text: Text) -> Values:
    """Yields both values of each pair. Launchers may print rows before the heading. A matrix that is incomplete has none."""
    rows = [row for row, _ in text.ended().match(ROW)]
    pairs = {(int(row["src"]), int(row["dst"])) for row in rows}
    ranks = 1 + max((rank for pair in pairs for rank in pair), default=0)
    if len(rows) != ranks * (ranks - 1) or len(pairs) != len(rows) or any(a == b for a, b in pairs):
        raise ValueError(f"the file has {len(rows)} pairs, but {ranks} ranks have {ranks * (ranks - 1)}")
    for row in rows:
        about = {"ranks": ranks, "row": int(row["src"]), "column": int(row["dst"])}
        yield make("nxnlatbw.pairs", "empty_message", "latency", row["latency"], "us", "mean", about, note=WARM)
        yield make("nxnlatbw.pairs", "message", "bandwidth", row["bandwidth"], "MB/s", "mean", about, note=WARM)
