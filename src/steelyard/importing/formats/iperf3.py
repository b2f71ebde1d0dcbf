"""iperf3 3.0 to 3.18, as text.

https://software.es.net/iperf/
"""

from collections.abc import Iterator
from math import isclose

from steelyard.importing.iperf3_rows import ROW, SIDES, find_loss, is_complete, name_unit, split_runs
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, make, number
from steelyard.model.foreign import ForeignValue

TOOL = "iperf3"
MARKS = ("[ ID] Interval", "[ ID][Role]", "iperf Done", "bits/sec                  receiver", "%)  receiver")
STARTED = r"^Time: (.+)"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, retransmissions, jitter and loss of all streams together, by sender and by receiver.

    A server of iperf3 3.1 prints 0 for the sender, which is no measurement.
    """
    for _, run in text.parts_or_whole(r".*(?:Connecting to host|Accepted connection from)"):
        sockets = {found[1] for found, _ in run.match(r".*?\[ *(\d+)\].* local .* connected to")}
        for _, part in run.parts_or_whole(r".*\[ ID\]"):
            rows = [(m, at) for m, at in part.match(ROW) if m["rest"].rstrip().endswith((*SIDES,)) and float(m["rate"])]
            rows = rows or [*part.match(ROW)] * ("datagrams" in part.whole)  # UDP of iperf3 3.0 and 3.1: one row
            for own in split_runs(rows):
                sums = [(m, at) for m, at in own if m["id"] == "SUM"] or own
                streams = len({m["id"] for m, _ in own} - {"SUM"} | sockets) // len({m["role"] for m, _ in own})
                if streams > 1 and sums == own and own[0][0]["id"] != "SUM":
                    raise ValueError(f"the sum of {streams} streams is missing")
                given = {
                    "streams": streams if is_complete(own) else None,
                    "reverse": "Reverse mode" in run.whole or None,
                }
                for row, at in sums:
                    yield from _values(row.groupdict(), at, given)


def _values(row: dict[str, str], at: int, given: Given) -> Iterator[ForeignValue]:
    """Yields the values of a row."""
    unit, amount = name_unit(row["unit"]), name_unit(row["amount"])
    rate, expected = number(row["rate"]), number(row["moved"]) * UNITS[amount][0]
    moved = rate * UNITS[f"{unit}/s"][0] * (float(row["end"]) - float(row["begin"]))
    if not isclose(moved, expected, rel_tol=0.06, abs_tol=0.006 * UNITS[amount][0]):
        raise ValueError(f"line {at}: the bandwidth is not the amount of data in the time")
    words, protocol = row["rest"].split(), "udp" if " ms " in row["rest"] else "tcp"
    about = {**given, "direction": row["role"], "operation": SIDES.get(words[-1])}
    yield make(f"iperf3.{protocol}", protocol, "bandwidth", rate, f"{unit}/s", "mean", about)
    if protocol == "udp" and about["operation"] != "sent":
        yield make("iperf3.udp", "udp", "jitter", words[0], "ms", "mean", about)
        yield make("iperf3.udp", "udp", "loss", find_loss(words[2], words[3]), "%", "mean", about, better="lower")
    elif words[0].isdecimal():
        yield make("iperf3.tcp", "tcp", "retransmissions", words[0], "", "one run", about, better="lower")
