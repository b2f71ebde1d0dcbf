"""netperf 2.5 to 2.7 with a choice of results: comma-separated (-o), key=value (-k) and as a table (-O).

https://github.com/HewlettPackard/netperf
"""

import re
from collections.abc import Iterator

from steelyard.importing.grids import read_separated, read_stacked
from steelyard.importing.netperf_tests import COMMAND, LATENCIES, UNITS, name_test
from steelyard.importing.text import Text
from steelyard.importing.values import make, percentile
from steelyard.model.foreign import ForeignValue

TOOL = "netperf"
MARKS = ("Throughput Units", "THROUGHPUT_UNITS", "Throughput Throughput", "Tran/s", "Microseconds Latency")
TITLE = rf"(?:.* )?(?P<protocol>TCP|UDP|SCTP|OMNI) (?P<test>[\w|/ ]*?) *TEST (?:from|to)\b|{COMMAND}"
HEAD = r".*\bThroughput +Throughput\b|(?:[A-Z\d]\S* +)*(?:Transaction|\d+th)(?: +[A-Z\d]\S*)*$"
CELLS = r"(?:.* )?(?P<THROUGHPUT>\S+) +(?P<THROUGHPUT_UNITS>(?:10\^\dbits|[KMG]Bytes|Trans)/s)\b| *[\d.]+(?: +[\d.]+)+$"
NOTES = {"round_trip": "This is the time of a request and its response.", "call_time": "This is the time of one call."}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the throughput, and the percentiles and the ends of the latency, of each test."""
    for head, part in text.parts_or_whole(TITLE):
        kernel = name_test(head) if head else "omni"
        for row in _rows(part):
            unit = UNITS[row["THROUGHPUT_UNITS"].partition("/")[0]] if "THROUGHPUT_UNITS" in row else None
            sizes = filter(None, (re.fullmatch(r"(REQUEST|RESPONSE)_SIZE(?:_BYTES)?", name) for name in row))
            about = {f"{found[1].lower()}_bytes": int(row[found[0]]) for found in sizes}
            rate, time = ("rate", "round_trip") if unit == "/s" or kernel.endswith("rr") else ("bandwidth", "call_time")
            if unit:
                yield make(f"netperf.{kernel}", kernel, rate, row["THROUGHPUT"], unit, "mean", about)
            elif "THROUGHPUT" in row:
                part.problems.append(f"{kernel}: the throughput {row['THROUGHPUT']} has no unit")
            for pattern, statistic in LATENCIES.items():
                for found in filter(None, (re.fullmatch(pattern, name) for name in row)):
                    share = percentile(found["share"]) if statistic == "p" else statistic
                    yield make(f"netperf.{kernel}", kernel, time, row[found[0]], "us", share, about, note=NOTES[time])


def _rows(part: Text) -> Iterator[dict[str, str]]:
    """Yields the results by their names in capitals."""
    if "THROUGHPUT_UNITS=" in part.whole:
        yield {name: word.strip('"') for name, word in part.pairs(r"=").items()}
    rows = read_separated(part, r"(?=.*,).*Throughput Units?\b", wrapped=True)
    for row in (*rows, *read_stacked(part, HEAD, CELLS)):
        names = {name.upper().replace(" ", "_"): word for name, word in row.items()}
        if "TRANSACTION_RATE_TRAN/S" in names and "THROUGHPUT" not in names:
            names |= {"THROUGHPUT": names["TRANSACTION_RATE_TRAN/S"], "THROUGHPUT_UNITS": "Trans/s"}
        yield names
