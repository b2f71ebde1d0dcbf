"""perftest (ib_write_bw, ib_read_lat, ib_send_bw …): its tables.

https://github.com/linux-rdma/perftest
"""

from collections.abc import Iterator
from itertools import groupby

from steelyard.importing.operations import read_rows
from steelyard.importing.perftest_tests import COMMAND, HEAD, describe_test, find_ends, split_sides
from steelyard.importing.text import OTHER_LINES, Row, Text
from steelyard.importing.values import Column
from steelyard.model.foreign import ForeignValue

TOOL = "perftest"
MARKS = ("#iterations", "BW average[", "t_typical[usec]")  # a page may lose the "#"
TABLE = r"\\?#bytes\s+(?:\\?#sl\s+)?(?:\\?#)?iterations\s"
# In perftest, "MB/s" are 2^20 bytes per second: perftest_parameters.c divides by 0x100000, and by 125000000 for Gb/s.
COLUMNS: dict[str, Column] = {
    r"BW average\[MB/sec\]": ("bandwidth", "MiB/s", "mean"), r"BW average\[Gb/sec\]": ("bandwidth", "Gbit/s", "mean"),
    r"BW peak\[MB/sec\]": ("bandwidth", "MiB/s", "best"), r"BW peak\[Gb/sec\]": ("bandwidth", "Gbit/s", "best"),
    r"MsgRate\[Mpps\]": ("message_rate", "M/s", "mean"), r"tps average": ("message_rate", "/s", "mean"),
    r"t_typical\[usec\]": ("latency", "us", "median"), r"t_avg\[usec\]": ("latency", "us", "mean"),
    r"t_min\[usec\]": ("latency", "us", "least"), r"t_max\[usec\]": ("latency", "us", "greatest"),
    r"([\d.]+)% percentile\[usec\]": ("latency", "us", r"p\1"),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the values of each size. What both ends print counts once: the same row, or a run with their addresses."""
    spaced = text.rewrite(r"(#bytes|\biterations|\]) ", r"\1  ")
    printed = dict[object, list[ForeignValue]]()
    for head, whole in spaced.parts_or_whole(HEAD):
        for part in [whole] if head else whole.runs(rf".*{COMMAND}"):
            meaning, given = describe_test(head, part)
            by_other = printed.setdefault(find_ends(part), [])
            for side, own in split_sides(part):
                about = {**given, "side": side}
                for row, _ in groupby(_read_tables(own)):
                    found = read_rows(part, [row], meaning, COLUMNS, about, message_bytes="bytes", service_level="#sl")
                    values = list(found)
                    yield from (value for value in values if value not in by_other)
                    by_other += values


def _read_tables(part: Text) -> Iterator[Row]:
    for rows in part.tables(TABLE, gap=True, skip=rf"(?!\s*---){OTHER_LINES}"):
        for row in rows:
            for unmeasured in [name for name, word in row.items() if name.startswith("BW peak") and word == "0.00"]:
                del row[unmeasured]
            yield row
