"""netperf 2.4 to 2.7, the classic tables: TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, TCP_CRR and UDP_RR.

https://github.com/HewlettPackard/netperf
"""

from collections.abc import Iterator

from steelyard.importing.netperf_tests import TEST, UNITS, name_test
from steelyard.importing.text import Text
from steelyard.importing.values import make, number
from steelyard.model.foreign import ForeignValue

TOOL = "netperf"
MARKS = ("TEST from", "TEST to", "secs.    per sec", "10^6bits/s")
# The line of units; for each row below it the columns without and with use of the CPU, the place of the result, and sizes.
TABLES = {
    r"\s*bytes +bytes +bytes +secs\. +(?P<unit>[\w^]+) */s": ((5, 9, 4, {"message_bytes": 2}, None),),
    r"\s*bytes +bytes +secs\.? +# +# +(?P<unit>[\w^]+) */s": ((6, 8, 5, {"message_bytes": 1}, "sent"), (4, 6, 3, {}, "received")),
    r"\s*bytes +[Bb]ytes( +bytes){2} +secs\. +(?P<unit>per sec)": ((6, 10, 5, {"request_bytes": 2, "response_bytes": 3}, None),),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the bandwidth or the rate of transactions of each test; UDP_STREAM has one of the sender and one of the receiver."""
    for head, part in text.ended().parts(TEST):
        kernel = name_test(head)
        for units, rows in TABLES.items():
            for found, place in part.match(units):
                with text.row(place):
                    unit, sizes = UNITS[found["unit"]], dict[str, int]()
                    if (unit == "/s") != kernel.endswith(("rr", "cc")):
                        raise ValueError(f"{kernel} prints no table with the unit {unit}")
                    lines = map(part.lines.__getitem__, range(place - part.first + 1, len(part.lines)))
                    below = (line.split() for line in lines if line.strip())
                    for words, (few, many, at, columns, operation) in zip(below, rows, strict=False):
                        if len(words) not in {few, many}:
                            raise ValueError(f"the table below has {len(words)} columns instead of {few}")
                        amounts = list(map(number, words))  # all of them, since a damaged word makes the row doubtful
                        sizes |= {name: int(words[column]) for name, column in columns.items()}
                        metric, about = "rate" if unit == "/s" else "bandwidth", {"operation": operation, **sizes}
                        yield make(f"netperf.{kernel}", kernel, metric, amounts[at], unit, "mean", about)
