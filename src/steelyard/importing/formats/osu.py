"""OSU micro-benchmarks 2 to 7: point to point, several pairs, one-sided and collective operations.

https://mvapich.cse.ohio-state.edu/benchmarks/
"""

from collections.abc import Iterator

from steelyard.importing.operations import count_ranks, read_rows
from steelyard.importing.osu_tests import HEAD, find_test
from steelyard.importing.text import OTHER_LINES, Text
from steelyard.importing.values import Column, rename
from steelyard.model.foreign import ForeignValue

TOOL = "OSU micro-benchmarks"
MARKS = ("# OSU ", "OSU MPI")
TABLE = r"(?:# *)?(?:Size|Avg Lat|Overall ?\(|Bandwidth|MB/s)"
COLUMNS: dict[str, Column] = {
    r"(?:Avg )?Lat(?:ency)? ?\(us\)|Pure Comm\. ?\(us\)": ("latency", "us", "mean"),
    r"Min (?:Lat(?:ency)?|Comm\.) ?\(us\)": ("latency", "us", "least of the ranks"),
    r"Max (?:Lat(?:ency)?|Comm\.) ?\(us\)": ("latency", "us", "greatest of the ranks"),
    r"(?:Bi-)?(?:Bandwidth|BW) ?\(MB/s\)|MB/s": ("bandwidth", "MB/s", "mean"), r"Messages/s": ("message_rate", "/s", "mean"),
    r"P(\d+) Tail Lat ?\(us\)": ("latency", "us", r"p\1"), r"P(\d+) Tail BW ?\(MB/s\)": ("bandwidth", "MB/s", r"p\1"),
    r"Overall ?\(us\)": ("together", "us", "mean"), r"Overlap ?\(%\)": ("overlap", "%", "mean"),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the values of each test; what a launcher prints before, between and after the rows is skipped."""
    start = text.first
    for head, part in text.rewrite(r" (P\d+ Tail)", r"  \1").parts(HEAD):
        before, start = text.before(part, r"^\s*\d+\s+[\d.]+\s", part.first - start), part.first
        meaning = find_test(head, part, before)
        columns = rename(COLUMNS, latency="time") if meaning.benchmark == "network.collectives" else COLUMNS
        given = {**count_ranks(before), **part.integers(pairs=r"pairs: (\d+)", window=r"window size: (\d+)")}
        given |= {"ranks": 2 * given["pairs"]} if "pairs" in given else {}
        part.refuse("window size: varied", "the windows of -V are not read")
        sections = list(part.parts(r"\s*# Datatype: MPI_(\w+)"))
        for kind, section in sections if len(sections) > 1 else [(None, part)]:
            about = {"datatype": kind[1], **given} if kind else given
            for again, rows in enumerate(section.tables(TABLE, gap=True, skip=OTHER_LINES)):
                if again:  # of another test or run, whose heading the page leaves out
                    part.problems.append(f"line {rows[0].line}: no heading names the test of this table")
                    continue
                if "Size" not in rows[0] and "barrier" not in meaning.kernel:
                    part.problems.append(f"line {rows[0].line}: its table has no sizes")
                    continue
                yield from read_rows(part, rows, meaning, columns, about, message_bytes="Size")
