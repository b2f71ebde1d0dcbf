"""ucx_perftest of UCX: latency or overhead of a message, bandwidth and rate of messages.

https://github.com/openucx/ucx
"""

import re

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, spell

TOOL = "ucx_perftest"
DOUBTS = r"\bUCX +(?:ERROR|WARN) +(.+)"
MARKS = ("message rate (msg/s)",)
HEAD = r"\s*\|.*\b(latency|overhead) +\((\w+)\).*\bbandwidth \((\S+)\)"
NAME = r"(?:\s-t +|=== )([a-z]\w+)|\| *(?:Test|API): +(\w[\w ]*\w)"
SIZE = r"(?:Message size: +|\s-s +)(\d+)"
STAGES = r"(?:\| *average *\| *overall *){3}\|"
FINAL = r"\s*Final:((?:\s+[\d.]+){8})\s*$"
BINARY = "ucx_perftest counts 2^20 bytes as a MB."


def read(text: Text) -> Values:
    """Yields the final values of each test; the command line or the box before the table names it."""
    for head, part in text.parts(HEAD):
        before = text.before(part, r"^\s*Final:")
        names, sizes = re.findall(NAME, before), re.findall(SIZE, before)
        name = re.sub(r"\W+", "_", "".join(names[-1])) if names else "messages"
        given = {"message_bytes": int(sizes[-1]) if sizes else None}
        if head[3] != "MB/s" or not part.find(STAGES):
            raise ValueError(f"the columns from line {part.first} on are not known, or their unit is not MB/s")
        clock = spell(head[2]) or head[2]
        middle = "median" if part.find(r"50\.0%ile") else "typical"
        for found, _ in part.match(FINAL):
            _, typical, _, time, _, bandwidth, _, rate = found[1].split()
            for metric, word, unit, statistic, note in (
                (head[1], time, clock, "mean", ""), (head[1], typical, clock, middle, ""),
                ("bandwidth", bandwidth, "MiB/s", "mean", BINARY), ("message_rate", rate, "/s", "mean", ""),
            ):  # fmt: skip
                yield make(f"ucx_perftest.{name}", name, metric, word, unit, statistic, given, note=note)
