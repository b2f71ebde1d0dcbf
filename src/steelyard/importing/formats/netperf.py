"""netperf 2.4 to 2.7: the classic tables (TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, TCP_CRR and UDP_RR). From 2.5 on also
a choice of results: comma-separated (-o), key=value (-k) and as a table (-O).

https://github.com/HewlettPackard/netperf
"""

import re
from collections.abc import Iterator

from steelyard.importing.grids import read_separated, read_stacked
from steelyard.importing.patterns import Match
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, make_name, number, percentile

TOOL = "netperf"
DOUBTS = r"^!!! (Desired confidence .+)"
KERNELS = {"REQUEST/RESPONSE": "rr", "Connect/Request/Response": "crr", "UNIDIRECTIONAL SEND": "stream"}
# The title may be cut away; without -t, which no word of the command begins with then, the test is TCP_STREAM.
COMMAND = (
    r".{0,200}\bnetperf(?:(?: +-.{0,200}?)? -t *(?P<kind>(?:TCP|UDP|SCTP|DCCP)_\w+|omni)\b.*"
    r"| +-[a-su-zA-Z]\S*(?:\s+(?:[^-\s]\S*|-(?:[^t\s]\S*)?))*\s*$)"
)
TEST = (
    rf"(?:.* )?(?P<protocol>TCP|UDP|SCTP|DCCP) (?P<test>STREAM|MAERTS|SENDFILE|{'|'.join(KERNELS)}) TEST (?:from|to)\b"
    rf"|{COMMAND}"
)
# netperf's "MBytes" are 2^20 bytes, its "10^6bits" 10^6 bits.
UNITS = {
    "10^3bits": "Kbit/s", "10^6bits": "Mbit/s", "10^9bits": "Gbit/s", "KBytes": "KiB/s", "MBytes": "MiB/s",
    "GBytes": "GiB/s", "Trans": "/s", "per sec": "/s",
}  # fmt: skip
LATENCIES = {  # of their names in capitals
    r"P?(?P<share>\d+)(?:TH_PERCENTILE)?_LATENCY(?:_MICROSECONDS)?": "p", r"MEAN_LATENCY(?:_MICROSECONDS)?": "mean",
    r"MIN(?:IMUM)?_LATENCY(?:_MICROSECONDS)?": "least", r"MAX(?:IMUM)?_LATENCY(?:_MICROSECONDS)?": "greatest",
    r"RT_LATENCY|ROUND_TRIP_LATENCY_USEC/TRAN": "as printed",
}  # fmt: skip


def _name_test(head: Match) -> str:
    """Returns the name of the test that a title or a command names."""
    if head["protocol"]:
        return make_name(f"{head['protocol']} {KERNELS.get(head['test'], head['test'])}")
    return (head["kind"] or "TCP_STREAM").lower()


# The line of units; for each row below it the columns without and with use of the CPU, the place of the result, and sizes.
TABLES = {
    r"\s*bytes +bytes +bytes +secs\. +(?P<unit>[\w^]+) */s": ((5, 9, 4, {"message_bytes": 2}, None),),
    r"\s*bytes +bytes +secs\.? +# +# +(?P<unit>[\w^]+) */s": ((6, 8, 5, {"message_bytes": 1}, "sent"), (4, 6, 3, {}, "received")),
    r"\s*bytes +[Bb]ytes( +bytes){2} +secs\. +(?P<unit>per sec)": ((6, 10, 5, {"request_bytes": 2, "response_bytes": 3}, None),),
}  # fmt: skip


def read_tables(text: Text) -> Values:
    """Yields the bandwidth or the rate of transactions of each test; UDP_STREAM has one of the sender and one of the receiver."""
    for head, part in text.ended().parts(TEST):
        kernel = _name_test(head)
        for units, rows in TABLES.items():
            for found, place in part.match(units):
                with text.row(place):
                    unit, sizes = UNITS[found["unit"]], dict[str, int]()
                    if (unit == "/s") != kernel.endswith(("rr", "cc")):
                        raise ValueError(f"{kernel} prints no table with the unit {unit}")
                    lines = map(part.read_line, range(place - part.first + 1, len(part.lines)))
                    below = (line.split() for line in lines if line.strip())
                    for words, (few, many, at, columns, operation) in zip(below, rows, strict=False):
                        if len(words) not in {few, many}:
                            raise ValueError(f"the table below has {len(words)} columns instead of {few}")
                        for word in words:
                            number(word)  # a damaged one makes the row doubtful
                        sizes |= {name: int(words[column]) for name, column in columns.items()}
                        metric, about = "rate" if unit == "/s" else "bandwidth", {"operation": operation, **sizes}
                        yield make(f"netperf.{kernel}", kernel, metric, words[at], unit, "mean", about)


TITLE = rf"(?:.* )?(?P<protocol>TCP|UDP|SCTP|OMNI) (?P<test>[\w|/ ]*?) *TEST (?:from|to)\b|{COMMAND}"
HEAD = r".*\bThroughput +Throughput\b|(?:[A-Z\d]\S* +)*(?:Transaction|\d+th)(?: +[A-Z\d]\S*)*$"
CELLS = r"(?:.* )?(?P<THROUGHPUT>\S+) +(?P<THROUGHPUT_UNITS>(?:10\^\dbits|[KMG]Bytes|Trans)/s)\b| *[\d.]+(?: +[\d.]+)+$"
NOTES = {"round_trip": "This is the time of a request and its response.", "call_time": "This is the time of one call."}


def read_choice(text: Text) -> Values:
    """Yields the throughput, and the percentiles and the ends of the latency, of each test."""
    for head, part in text.parts_or_whole(TITLE):
        kernel = _name_test(head) if head else "omni"
        for row in _find_rows(part):
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


def _find_rows(part: Text) -> Iterator[dict[str, str]]:
    """Yields the results by their names in capitals."""
    if "THROUGHPUT_UNITS=" in part.whole:
        yield {name: word.strip('"') for name, word in part.pairs(r"=").items()}
    rows = read_separated(part, r"(?=.*,).*Throughput Units?\b", wrapped=True)
    for row in (*rows, *read_stacked(part, HEAD, CELLS)):
        names = {name.upper().replace(" ", "_"): word for name, word in row.items()}
        if "TRANSACTION_RATE_TRAN/S" in names and "THROUGHPUT" not in names:
            names |= {"THROUGHPUT": names["TRANSACTION_RATE_TRAN/S"], "THROUGHPUT_UNITS": "Trans/s"}
        yield names


READERS = {
    read_tables: ("TEST from", "TEST to", "secs.    per sec", "10^6bits/s"),
    read_choice: ("Throughput Units", "THROUGHPUT_UNITS", "Throughput Throughput", "Tran/s", "Microseconds Latency"),
}
