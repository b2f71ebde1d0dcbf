"""mpptest of Argonne National Laboratory: pairs of ranks, also -bisect and -async, as tables for C.It and for gnuplot.

https://www.mcs.anl.gov/research/projects/mpi/mpptest/
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from steelyard.importing.operations import Meaning, read_rows
from steelyard.importing.text import OTHER_LINES, Row, Text
from steelyard.importing.values import Column, Values, number, rename

TOOL = "mpptest"
MARKS = ("#p0\tp1\tdist", "#p0 p1 dist", "#p0     p1 ", "Comm Perf for ", "#np time (us) for various sizes")
HOST = r"Comm Perf for \S+ \(([A-Za-z][^)]*)\)"
STARTED = r"^\s*'on (.+)',"
HEAD = r"#p0\s+p1\s+dist\s+len\b"
NARROW = rf"^([ \t]*{HEAD}.*)$(?=\n[ \t]*(?:\S+[ \t]+){{7}}\S+[ \t]*$)"  # -givedy adds columns only to the rows below
NOTE = "The times are those of rank 0. The file does not say whether -cachesize or -head was set."
OURS = {
    "blocking": ("network.pingpong", "pingpong"), "blocking-bisect": ("network.bisection", "round_trip"),
    "nonblocking-bisect": ("network.bisection", "round_trip_nonblocking"),
}  # fmt: skip
BEST: Column = ("time", "us", "best")
COLUMNS: dict[str, Column] = {r"ave time \(us\)": BEST, "rate": ("bandwidth", "B/s", "best")}
SPREAD: dict[str, Column] = {
    "min": BEST, r"ave time \(us\)": ("time", "us", "mean"), "max": ("time", "us", "greatest"), "rate": COLUMNS["rate"],
}  # fmt: skip
NAMES = {"network.pingpong": {"time": "latency"}, "network.bisection": {"bandwidth": "rank0_rate"}}


def read(text: Text) -> Values:
    """Yields the times and rates of each run. The rate counts the messages of all pairs, which shows their number."""
    for _, run in text.rewrite(NARROW, "\\1\tmin\tmax").parts_or_whole(r"\s*set default\b"):
        kind = run.find(r"'type = ([^']+)'") or run.find(r'\) type ([^"]+)"')
        host, started = run.find(HOST), run.find(STARTED)
        run.refuse(r"#np time \(us\)", "the collective operations of -gop are not read")
        for rows in run.tables(HEAD, gap=True, skip=OTHER_LINES):
            with run.row(rows[0].line):
                pairs = _count_pairs(rows)
                name = re.sub(r"\W+", "_", kind or ("pair" if pairs == 1 else "bisection"))
                benchmark, kernel = OURS.get(kind, (f"mpptest.{name}", name))
                given = {"ranks": 2 * pairs, "pairs": pairs if benchmark == "network.bisection" else None}
                columns = rename(SPREAD if "min" in rows[0] else COLUMNS, **NAMES.get(benchmark, {}))
                meaning = Meaning(benchmark, kernel, note=NOTE)
                values = read_rows(run, rows, meaning, columns, given, message_bytes="len")
                yield from (replace(value, host=host, started=started) for value in values)


def _count_pairs(rows: Sequence[Row]) -> int:
    """Returns how many pairs of ranks sent at once: their common rate (B/s), times the time, is a multiple of the length.

    ValueError if it is none within 1 %.
    """
    row = max(rows, key=lambda row: number(row["len"]))
    time = row.get("min", row.get("ave time (us)"))
    if time is None:
        raise ValueError("the heading of its table names no time")
    pairs = number(row["rate"]) * 1e-6 * number(time) / number(row["len"]) if number(row["len"]) else 1.0
    if pairs < 0.99 or abs(pairs / round(pairs) - 1) > 0.01:
        raise ValueError("its rate does not fit its time and length")
    return round(pairs)
