"""BabelStream of the library alpaka.

https://github.com/alpaka-group/alpaka
"""

from collections.abc import Iterator

from steelyard.importing.formats.babelstream import BENCHMARK
from steelyard.importing.text import Text
from steelyard.importing.values import Column, Given, expect_near, make_row, number
from steelyard.model.foreign import ForeignValue

TOOL = "BabelStream"
MARKS = ("Bandwidths(GB/s)",)
NAMES = {"model": r"^AcceleratorType: *(.+)", "precision": r"^Precision: *(\w+)", "device": r"^DeviceName: *(.+)"}
COLUMNS: dict[str, Column] = {
    r"Bandwidths\(GB/s\)": ("bandwidth", "GB/s", "best"),
    r"MinTime\(s\)": ("pass_time", "s", "least"), r"MaxTime\(s\)": ("pass_time", "s", "greatest"),
    r"AvgTime\(s\)": ("pass_time", "s", "mean"),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the bandwidth of the fastest pass of each kernel, and the times of its passes."""
    for run in text.runs(r"\s*AcceleratorType:"):
        about: Given = {**run.words(**NAMES), **run.integers(elements=r"^DataSize\(items\): *(\d+)")}
        for rows in run.tables(r"Kernels\s.*Bandwidths\(GB/s\)", row=r"\w+Kernel"):
            for row in rows:
                with run.row(row.line):
                    rate, moved = number(row["Bandwidths(GB/s)"]), number(row["DataUsage(MB)"]) * 1e-3
                    sentence = "its bandwidth does not fit its time and the moved data"
                    expect_near(rate * number(row["MinTime(s)"]), moved, 0.01 * moved, sentence)
                    name = row["Kernels"].removesuffix("Kernel").lower().replace("mult", "mul")
                    yield from make_row(BENCHMARK, name, row, COLUMNS, about)
