"""Rows of iperf3 with the rates of streams and of their sum: which of them belong together."""

from collections.abc import Iterator, Sequence
from math import isclose

from steelyard.importing.patterns import Match
from steelyard.importing.values import UNITS, expect_near, number

ROW = (
    r"(?:.*?\[ *(?P<id>\d+|SUM)\])?(?:\[(?P<role>[TR]X-[CS])\])?\s+(?P<begin>[\d.]+)- *(?P<end>[\d.]+)\s+sec\s+"
    r"(?P<moved>[\d.]+) (?P<amount>[KMGT]Bytes)\s+(?P<rate>[\d.]+) (?P<unit>[KMGT]?bits|[KMGT]Bytes)/sec(?P<rest>.*)"
)
SIDES = {"sender": "sent", "receiver": "received"}
Found = tuple[Match, int]  # a row with the number of its line
NEAR = 0.05  # three digits are printed


def split_runs(rows: Sequence[Found]) -> Iterator[Sequence[Found]]:
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


def is_complete(rows: Sequence[Found]) -> bool:
    """Returns whether the streams have the rate of their sum. A page may show only some of them, or the sum alone."""
    rates = [(row["id"], number(row["rate"]) * UNITS[f"{name_unit(row['unit'])}/s"][0]) for row, _ in rows]
    whole = sum(rate for stream, rate in rates if stream == "SUM")
    return not whole or isclose(sum(rate for stream, rate in rates if stream != "SUM"), whole, rel_tol=NEAR)


def name_unit(word: str) -> str:
    """Returns the unit of an amount: "MBytes" are 2^20 bytes, "Mbits" 10^6 bits."""
    return word.replace("Bytes", "iB").replace("bits", "bit")


def find_loss(counts: str, share: str) -> float:
    """Returns the lost datagrams in percent: by their counts ("807/810") where the printed share has one digit ("(1e+02%)").

    ValueError if both contradict each other.
    """
    lost, slash, sent = counts.partition("/")
    percent = number(share.strip("(%)"))
    counted = 100 * number(lost) / number(sent) if slash and number(sent) else percent
    expect_near(percent, counted, 0.06 * counted + 0.006, f"{counts} lost datagrams are not {percent:g} %")
    return counted if "e+" in share else percent
