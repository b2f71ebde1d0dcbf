"""HPC Challenge (HPCC) 1.0 to 1.5: the sections before the summary. If a summary follows, the means are read from it.

https://hpcchallenge.org
"""

from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "HPC Challenge"
MARKS = ("HPC Challenge Benchmark version", "Begin of StarSTREAM section")
RUN = r"This is the DARPA/DOE HPC Chall"
LINE = (
    r"(?:(?P<which>Minimum|Average|Maximum|Single)(?: (?:STREAM|DGEMM|FFT))?(?: (?P<operation>Copy|Scale|Add|Triad))? "
    r"(?P<unit>GUP/s|Gflop/s|GB/s)\s+|(?P<one>Gflop/s):\s+)(?P<value>\S+)\s*$"
)
UPDATES = r"(?P<value>\S+) Billion\(10\^9\) Updates\s+per second \[GUP/s\]"
UNITS = {"GUP/s": ("rate", "Gupdate/s"), "Gflop/s": ("flops", "Gflop/s"), "GB/s": ("bandwidth", "GB/s")}
STATISTICS = {"Average": "mean of the ranks", "Minimum": "least of the ranks", "Maximum": "greatest of the ranks"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields least and greatest result of the ranks, without a summary also their means and the results of one rank."""
    for run in text.ended().runs(RUN):
        ranks = run.integers(ranks=r"^CommWorldProcs=(\d+)|^Running on (\d+) processors")
        summary = "Begin of Summary section" in run.whole
        if "Success=0" in run.lines:
            continue  # the summary is read by its own format, which says it
        for head, part in run.parts(r"Begin of (\w+) section"):
            if part.find(r"Node\(s\) with error [1-9]|\(failed\)"):
                text.problems.append(f"line {part.first}: a check of {head[1]} failed")
                continue
            rows = [(row, at) for row, at in part.match(LINE) if not summary or row["which"] in ("Minimum", "Maximum")]
            for row, at in sorted(rows, key=lambda found: found[0]["which"] != "Average"):  # means first
                with run.row(at):
                    metric, unit = UNITS[row["unit"] or row["one"]]
                    kernel = f"{head[1]}_{row['operation']}" if row["operation"] else head[1]
                    statistic = STATISTICS.get(row["which"], "one run")
                    yield make("hpcc.summary", kernel, metric, row["value"], unit, statistic, ranks)
            for row, at in part.match(UPDATES) if not summary and head[1].startswith("MPI") else ():
                with run.row(at):
                    yield make("hpcc.summary", head[1], "rate", row["value"], "Gupdate/s", "one run", ranks)
