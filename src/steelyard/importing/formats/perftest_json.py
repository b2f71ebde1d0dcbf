"""perftest with --output=json or --out_json, which most versions print without quotes.

https://github.com/linux-rdma/perftest
"""

from collections.abc import Iterator

from steelyard.importing.grids import read_records
from steelyard.importing.operations import read_rows
from steelyard.importing.perftest_tests import HEAD, describe_test
from steelyard.importing.text import Text
from steelyard.importing.values import Column, find_unit, number
from steelyard.model.foreign import ForeignValue

TOOL = "perftest"
MARKS = ("n_iterations",)
COLUMNS: dict[str, Column] = {
    "MsgRate": ("message_rate", "M/s", "mean"), "t_typical": ("latency", "us", "median"), "t_avg": ("latency", "us", "mean"),
    "t_min": ("latency", "us", "least"), "t_max": ("latency", "us", "greatest"),
    r"percentile_([\d.]+)": ("latency", "us", r"p\1"),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the values of each size. The rate of messages shows whether the bandwidth is in MB or in Gbit."""
    for head, part in text.parts(HEAD):
        meaning, given = describe_test(head, part)
        for row in read_records(part, "MsgSize", rf"BW_peak|BW_average|{'|'.join(COLUMNS)}"):
            with part.row(row.line):
                columns = COLUMNS
                if "BW_average" in row:
                    moved = 1e6 * number(row.get("MsgRate", "0")) * number(row.get("MsgSize", ""))
                    unit = find_unit(row["BW_average"], moved, ("MiB/s", "Gbit/s"))
                    columns = {
                        "BW_average": ("bandwidth", unit, "mean"),
                        "BW_peak": ("bandwidth", unit, "best"),
                        **COLUMNS,
                    }
                yield from read_rows(part, [row], meaning, columns, given, message_bytes="MsgSize")
