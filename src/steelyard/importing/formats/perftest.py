"""perftest (ib_write_bw, ib_read_lat, ib_send_bw …): its tables. Also --output=json or --out_json, which most versions print
without quotes.

https://github.com/linux-rdma/perftest
"""

import re
from collections.abc import Iterator
from itertools import groupby

from steelyard.importing.grids import read_records
from steelyard.importing.operations import Meaning, read_rows
from steelyard.importing.patterns import Match
from steelyard.importing.text import OTHER_LINES, Row, Text
from steelyard.importing.values import Column, Given, Values, find_unit, number
from steelyard.model.foreign import ForeignValue

TOOL = "perftest"
DOUBTS = r"^[ \t]*+(Conflicting CPU frequency values detected.*|Completion with error.*)"
HEAD = r'[ \t"]*(?:test[" ]*:[ "]*)?(?P<verb>RDMA_Write|RDMA_Read|Send|Atomic|RawEth)(?P<what>[\w ]*?(?:BW|Latency))[ _]Test'
COMMAND = r"\bib_((?:write|read|send|atomic)_(?:bw|lat))\b"
ADDRESS = r"\s*(?:local|remote) address: .*?QPN (\w+) PSN (\w+)"
SIDE = r"\s*(Local|Remote) results:"  # of both directions, with --report-both
BINARY = "perftest counts 2^20 bytes as a MB."
HALF, WHOLE = "The time is half of a round trip.", "The time is that of a whole round trip."
NOTES = {"write_latency": HALF, "send_latency": HALF, "read_latency": WHOLE}
WORDS = {"connection": r'Connection[ _]type[" ]*:[ "]*(\w+)', "link": r'Link[ _]type[" ]*:[ "]*(\w+)'}
COUNTS = {"queue_pairs": r'Number[ _]of[ _]qps[" ]*: *(\d+)', "mtu": r'Mtu[" ]*: *(\d+)'}


def _describe_test(head: Match | None, part: Text) -> tuple[Meaning, Given]:
    """Returns what a test with this heading (else with this command) means, and its parameters: of tables or of JSON."""
    words = f"{head['verb'].removeprefix('RDMA_')}{head['what']}" if head else part.find(COMMAND, "messages")
    name = re.sub(r"_lat$", "_latency", re.sub(r"\W+", "_", words.lower()))
    given: Given = {**part.integers(**COUNTS), **part.words(**WORDS)}
    return Meaning(f"perftest.{name}", name, note=NOTES.get(name, BINARY)), given


def _find_ends(part: Text) -> object:
    """Returns the addresses of both ends of a run, the same for its client and its server; without them, what equals no other."""
    ends = frozenset(found.groups() for found, _ in part.match(ADDRESS))
    return ends if len(ends) > 1 else object()


def _split_sides(part: Text) -> Iterator[tuple[str | None, Text]]:
    """Yields the tables of a run with the side that each is of: None, or "local" or "remote" with --report-both."""
    for side, own in part.parts_or_whole(SIDE):
        yield side[1].lower() if side else None, own


TABLE = r"\\?#bytes\s+(?:\\?#sl\s+)?(?:\\?#)?iterations\s"
# In perftest, "MB/s" are 2^20 bytes per second: perftest_parameters.c divides by 0x100000, and by 125000000 for Gb/s.
COLUMNS: dict[str, Column] = {
    r"BW average\[MB/sec\]|BW average\[MiB/sec\]": ("bandwidth", "MiB/s", "mean"),
    r"BW average\[Gb/sec\]": ("bandwidth", "Gbit/s", "mean"),
    r"BW peak\[MB/sec\]|BW peak\[MiB/sec\]": ("bandwidth", "MiB/s", "best"),
    r"BW peak\[Gb/sec\]": ("bandwidth", "Gbit/s", "best"),
    r"MsgRate\[Mpps\]": ("message_rate", "M/s", "mean"), r"tps average": ("message_rate", "/s", "mean"),
    r"t_typical\[usec\]": ("latency", "us", "median"), r"t_avg\[usec\]": ("latency", "us", "mean"),
    r"t_min\[usec\]": ("latency", "us", "least"), r"t_max\[usec\]": ("latency", "us", "greatest"),
    r"([\d.]+)% percentile\[usec\]": ("latency", "us", r"p\1"),
}  # fmt: skip


def read_text(text: Text) -> Values:
    """Yields the values of each size. What both ends print counts once: the same row, or a run with their addresses."""
    spaced = text.rewrite(r"(#bytes|\biterations|\]) ", r"\1  ")
    printed = dict[object, list[ForeignValue]]()
    for head, whole in spaced.parts_or_whole(HEAD):
        for part in [whole] if head else whole.runs(rf".*{COMMAND}"):
            meaning, given = _describe_test(head, part)
            by_other = printed.setdefault(_find_ends(part), [])
            for side, own in _split_sides(part):
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


RATES = {"average": "mean", "peak": "best"}
JSON_COLUMNS: dict[str, Column] = {
    "MsgRate": ("message_rate", "M/s", "mean"), "t_typical": ("latency", "us", "median"), "t_avg": ("latency", "us", "mean"),
    "t_min": ("latency", "us", "least"), "t_max": ("latency", "us", "greatest"),
    r"percentile_([\d.]+)": ("latency", "us", r"p\1"),
}  # fmt: skip


def read_json(text: Text) -> Values:
    """Yields the values of each size. The rate of messages shows whether the bandwidth is in MB or in Gbit."""
    for head, part in text.parts(HEAD):
        meaning, given = _describe_test(head, part)
        for row in read_records(part, "MsgSize", rf"BW_peak|BW_average|{'|'.join(JSON_COLUMNS)}"):
            with part.row(row.line):
                columns = JSON_COLUMNS
                if "BW_average" in row:
                    moved = 1e6 * number(row.get("MsgRate", "0")) * number(row.get("MsgSize", ""))
                    unit = find_unit(row["BW_average"], moved, ("MiB/s", "Gbit/s"))
                    rates: dict[str, Column] = {f"BW_{at}": ("bandwidth", unit, of) for at, of in RATES.items()}
                    columns = rates | JSON_COLUMNS
                yield from read_rows(part, [row], meaning, columns, given, message_bytes="MsgSize")


READERS = {
    read_text: ("#iterations", "BW average[", "t_typical[usec]"),  # a page may lose the "#"
    read_json: ("n_iterations",),
}
