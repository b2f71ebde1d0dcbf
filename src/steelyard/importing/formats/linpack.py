"""Intel Optimized Linpack, the table for one node of Intel MKL and oneMKL.

https://www.intel.com/content/www/us/en/docs/onemkl/developer-guide-linux/current/intel-linpack-benchmark.html
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_solved, make_row, number

TOOL = "Intel Linpack"
MARKS = ("Optimized LINPACK", "Timing linear equation system solver", "Performance Summary (GFlops)")
STARTED = r"^Current date/time: (.+)"
# Columns: size, leading dimension and alignment of the matrix, then the results.
TRIAL = (
    r"\s*(?P<N>\d+)\s+\d+\s+(?P<align>\d+)\s+(?P<time>\S+)\s+(?P<rate>\S+)\s+\S+\s+\S+(\s+(?P<check>pass|fail))?\s*$"
)
SUMMARY = r"\s*(?P<N>\d+)\s+\d+\s+(?P<align>\d+)\s+(?P<mean>\S+)\s+(?P<most>\S+)\s*$"
COLUMNS = {
    "time": ("time", "s", "one run"), "rate": ("flops", "Gflop/s", "one run"),
    "mean": ("flops", "Gflop/s", "mean"), "most": ("flops", "Gflop/s", "greatest"),
}  # fmt: skip


def read(text: Text) -> Values:
    """Yields time and speed of each trial, and mean and greatest speed of each size. A size that failed has none."""
    text = text.ended()
    about = text.integers(threads=r"Number of threads:\s*(\d+)")
    failed = {row["N"] for row, _ in text.match(TRIAL) if row["check"] == "fail"}
    parts = text.parts(r"\s*(?:Performance (Summary)|Residual checks|End of tests)")
    summaries = [row for head, part in parts if head[1] for row in part.match(SUMMARY)]
    for row, at in [*text.match(TRIAL), *summaries]:
        with text.row(at):
            if row["N"] in failed:
                raise ValueError(f"a check of the residual for N = {row['N']} failed")
            given, columns = {"N": int(row["N"]), "align": int(row["align"]), **about}, row.groupdict()
            if "time" in columns:
                expect_solved(row["N"], row["time"], row["rate"])
            elif not number(row["mean"]) <= number(row["most"]):
                raise ValueError(f"the mean {row['mean']} is above the greatest speed, {row['most']}")
            yield from list(make_row("linpack.solve", "linpack", columns, COLUMNS, given))
