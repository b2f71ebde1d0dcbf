"""iperf3 3.0 to 3.18: text, and JSON with --json or --json-stream.

https://software.es.net/iperf/
"""

from collections.abc import Iterator, Sequence
from math import isclose
from typing import Any

from steelyard.importing.patterns import Match
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, Values, expect_near, make, number

TOOL = "iperf3"
HOST = r'"system_info"\s*:\s*"\S+ (\S+)'
STARTED = r'^Time: (.+)|"time"\s*:\s*"([^"]+)"'
DOUBTS = r"^(?:iperf3: )?(?:warning|WARNING): (.+)|^iperf3: ((?:error|interrupt) - .+)"
ROW = (
    r"(?:.*?\[ *(?P<id>\d+|SUM)\])?(?:\[(?P<role>[TR]X-[CS])\])?\s+(?P<begin>[\d.]+)- *(?P<end>[\d.]+)\s+sec\s+"
    r"(?P<moved>[\d.]+) (?P<amount>[KMGT]Bytes)\s+(?P<rate>[\d.]+) (?P<unit>[KMGT]?bits|[KMGT]Bytes)/sec(?P<rest>.*)"
)
SIDES = {"sender": "sent", "receiver": "received"}
Found = tuple[Match, int]  # a row with the number of its line
NEAR = 0.05  # three digits are printed


def _split_runs(rows: Sequence[Found]) -> Iterator[Sequence[Found]]:
    """Yields the rows of each run: a row of the same stream, role and side as one before it begins the next run."""
    begin, known = 0, set[tuple[str | None, ...]]()
    for place, (row, _) in enumerate(rows):
        key = (row["id"], row["role"], *row["rest"].split()[-1:])
        if key in known:
            yield rows[begin:place]
            begin, known = place, set()
        known.add(key)
    if rows:
        yield rows[begin:]


def _is_complete(rows: Sequence[Found]) -> bool:
    """Returns whether the streams have the rate of their sum. A page may show only some of them, or the sum alone."""
    rates = [(row["id"], number(row["rate"]) * UNITS[f"{_name_unit(row['unit'])}/s"][0]) for row, _ in rows]
    whole = sum(rate for stream, rate in rates if stream == "SUM")
    return not whole or isclose(sum(rate for stream, rate in rates if stream != "SUM"), whole, rel_tol=NEAR)


def _name_unit(word: str) -> str:
    """Returns the unit of an amount: "MBytes" are 2^20 bytes, "Mbits" 10^6 bits."""
    return word.replace("Bytes", "iB").replace("bits", "bit")


def _find_loss(counts: str, share: str) -> float:
    """Returns the lost datagrams in percent: by their counts ("807/810") where the printed share has one digit ("(1e+02%)").

    ValueError if both contradict each other.
    """
    lost, slash, sent = counts.partition("/")
    percent = number(share.strip("(%)"))
    counted = 100 * number(lost) / number(sent) if slash and number(sent) else percent
    expect_near(percent, counted, 0.06 * counted + 0.006, f"{counts} lost datagrams are not {percent:g} %")
    return counted if "e+" in share else percent


def read_text(text: Text) -> Values:
    """Yields bandwidth, retransmissions, jitter and loss of all streams together, by sender and by receiver.

    A server of iperf3 3.1 prints 0 for the sender, which is no measurement.
    """
    for _, run in text.parts_or_whole(r".*(?:Connecting to host|Accepted connection from)"):
        sockets = {found[1] for found, _ in run.match(r".*?\[ *(\d+)\].* local .* connected to")}
        for _, part in run.parts_or_whole(r".*\[ ID\]"):
            rows = [(m, at) for m, at in part.match(ROW) if m["rest"].rstrip().endswith((*SIDES,)) and float(m["rate"])]
            rows = rows or [*part.match(ROW)] * ("datagrams" in part.whole)  # UDP of iperf3 3.0 and 3.1: one row
            for own in _split_runs(rows):
                sums = [(m, at) for m, at in own if m["id"] == "SUM"] or own
                streams = len({m["id"] for m, _ in own} - {"SUM"} | sockets) // len({m["role"] for m, _ in own})
                if streams > 1 and sums == own and own[0][0]["id"] != "SUM":
                    raise ValueError(f"the sum of {streams} streams is missing")
                reverse = "Reverse mode" in run.whole or None
                given = {"streams": streams if _is_complete(own) else None, "reverse": reverse}
                for row, at in sums:
                    yield from _read_row(row.groupdict(), at, given)


def _read_row(row: dict[str, str], at: int, given: Given) -> Values:
    """Yields the values of a row."""
    unit, amount = _name_unit(row["unit"]), _name_unit(row["amount"])
    rate, expected = number(row["rate"]), number(row["moved"]) * UNITS[amount][0]
    moved = rate * UNITS[f"{unit}/s"][0] * (float(row["end"]) - float(row["begin"]))
    if not isclose(moved, expected, rel_tol=0.06, abs_tol=0.006 * UNITS[amount][0]):
        raise ValueError(f"line {at}: the bandwidth is not the amount of data in the time")
    words, protocol = row["rest"].split(), "udp" if " ms " in row["rest"] else "tcp"
    about = {**given, "direction": row["role"], "operation": SIDES.get(words[-1])}
    yield make(f"iperf3.{protocol}", protocol, "bandwidth", row["rate"], f"{unit}/s", "mean", about)
    if protocol == "udp" and about["operation"] != "sent":
        yield make("iperf3.udp", "udp", "jitter", words[0], "ms", "mean", about)
        yield make("iperf3.udp", "udp", "loss", _find_loss(words[2], words[3]), "%", "mean", about, better="lower")
    elif words[0].isdecimal():
        yield make("iperf3.tcp", "tcp", "retransmissions", words[0], "", "one run", about, better="lower")


SUMS = ("sum", "sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse")
EXTRAS = (("jitter_ms", "jitter", "ms"), ("lost_percent", "loss", "%"), ("retransmits", "retransmissions", ""))


def read_json(text: Text) -> Values:
    """Yields bandwidth, retransmissions, jitter and loss of all streams together, by sender and by receiver."""
    start: dict[str, Any] = {}
    for content in text.objects():
        if "error" in content:
            raise ValueError(f"iperf3 says: {content['error']}")
        start = content.get("start") or (content["data"] if content.get("event") == "start" else start)
        end = content.get("end") or (content["data"] if content.get("event") == "end" else {})
        test = start.get("test_start", {})
        protocol = test.get("protocol", "udp" if "sum" in end else "tcp").lower()
        streams = test.get("num_streams") or len(end.get("streams", [])) or None
        reverse = True if test.get("reverse") else None
        given = {"streams": streams, "message_bytes": test.get("blksize"), "reverse": reverse}
        for name in SUMS:
            with_others = name == "sum" and (end.get("sum_received") or {}).get("bits_per_second")
            if with_others or not (total := end.get(name)) or not total["bits_per_second"]:
                continue
            if not isclose(8 * total["bytes"], total["bits_per_second"] * total["seconds"], rel_tol=0.01):
                raise ValueError(f"the bandwidth of {name} is not the amount of data in the time")
            operation, direction = (*name.split("_"), None)[1], "reverse" if name.endswith("reverse") else None
            about = {**given, "operation": operation, "direction": direction}
            yield make(f"iperf3.{protocol}", protocol, "bandwidth", total["bits_per_second"], "bit/s", "mean", about)
            for key, metric, unit in EXTRAS:
                way = "mean" if unit else "one run"
                if key in total and (operation != "sent" or key == "retransmits"):
                    yield make(f"iperf3.{protocol}", protocol, metric, total[key], unit, way, about, better="lower")


READERS = {
    read_text: ("[ ID] Interval", "[ ID][Role]", "iperf Done", "bits/sec                  receiver", "%)  receiver"),
    read_json: ('"sum_sent"', '"sum_received"', '"bits_per_second"'),
}
