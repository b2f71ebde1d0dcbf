"""BabelStream 1 to 5 and its predecessor GPU-STREAM, as text.

https://github.com/UoB-HPC/BabelStream
"""

from collections.abc import Iterator, Mapping

from steelyard.importing.text import Text
from steelyard.importing.values import Column, Given, best_of, make, make_row
from steelyard.model.foreign import ForeignValue

TOOL = "BabelStream"
MARKS = ("BabelStream", "GPU-STREAM", "Bytes/sec  Min (sec)")
BENCHMARK = "babelstream.stream"
KERNELS = ("Copy", "Mul", "Add", "Triad", "Dot", "Nstream", "Init", "Read")
HEAD = r"Function +(Mi?Bytes/sec) +Min \(sec\) +Max(?: \(sec\))? +Average"
ROW = rf"\s*({'|'.join(KERNELS)})\s"
NAMES = {
    "model": r"Implementation: *(.*)", "precision": r"Precision: *(\w+)", "device": r"Using \w+ device (.*)",
    "array": r"Array size: *(.*?) *\(", "memory": r"^Memory: *(?!DEFAULT)(\w+)",
}  # fmt: skip
COLUMNS: dict[str, Column] = {
    r"max_mbytes_per_sec|MBytes/sec": ("bandwidth", "MB/s", ""), r"max_mibytes_per_sec|MiBytes/sec": ("bandwidth", "MiB/s", ""),
    r"gbytes_per_sec": ("bandwidth", "GB/s", "mean"), r"gibytes_per_sec": ("bandwidth", "GiB/s", "mean"),
    r"avg_runtime": ("pass_time", "s", "mean"), r"min_runtime": ("pass_time", "s", "least"),
    r"max_runtime": ("pass_time", "s", "greatest"),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the best bandwidth of each kernel, and the mean, least and greatest time of its passes."""
    for run in text.runs(r"\s*(?:BabelStream|GPU-STREAM)\s*$"):
        if failed := run.find(r"Validation failed on .*"):
            text.problems.append(f"the check of the solution failed ({failed})")
            continue
        for part in run.split_tables(rf"\s*{HEAD}", ROW):
            about = part.words(**NAMES)
            unit = part.find(rf"^\s*{HEAD}")
            columns = ("kernel", unit, "min_runtime", "max_runtime", "avg_runtime")
            bare = part.rewrite(r"^(\s*\w+) :", r"\1")  # the ROCm Validation Suite writes "Copy :"
            for row in bare.fit(columns, ROW) if unit else ():
                yield from read_row(row["kernel"], row, part.find(r"Running \w+ (\d+) times"), about)
            for line, _ in part.match(r"\s*(Init|Read): *\S+ s \(=(\S+) (Mi?B)ytes/sec\)"):
                yield make(BENCHMARK, line[1].lower(), "bandwidth", line[2], line[3] + "/s", "one run", about)
            for line, _ in part.match(r"Bandwidth \((Gi?B/s)\): *(\S+)"):
                yield make(BENCHMARK, "triad", "bandwidth", line[2], line[1], "mean", about)


def read_row(kernel: str, row: Mapping[str, str], passes: str, about: Given) -> Iterator[ForeignValue]:
    """Yields the values of a row, whose columns have names of the CSV. `passes` is their number, or empty."""
    best = "one run" if passes == "1" else best_of(int(passes or 1) - 1)  # the first pass is left out
    columns = {name: (metric, unit, statistic or best) for name, (metric, unit, statistic) in COLUMNS.items()}
    yield from make_row(BENCHMARK, kernel.lower(), row, columns, about)
