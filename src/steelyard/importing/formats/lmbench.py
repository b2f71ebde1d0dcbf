"""LMbench 2 and 3: the single results in the file of a machine and in the output of its programs.

https://lmbench.sourceforge.net
"""

import re
from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make, make_name, make_printed
from steelyard.model.foreign import ForeignValue

TOOL = "LMbench"
MARKS = (
    "[lmbench", *(f"Simple {call}: " for call in ("syscall", "read", "write", "stat", "fstat", "open/close")), "Process fork+",
    "Signal handler overhead: ", "Protection fault: ", "Pipe latency: ", "Pipe bandwidth: ", "AF_UNIX sock stream ",
    "TCP latency using ", "UDP latency using ", "STREAM copy bandwidth: ", "STREAM2 copy bandwidth: ",
)  # fmt: skip
HOST = r"^\[HOSTNAME: (\S+)\]"
STARTED = r"^\[(\w{3} \w{3} +\d+ [\d:]+ .*\d{4})\]"
LINE = r"\s*(?P<name>[A-Za-z][^:]*): +(?P<word>\S+) (?P<unit>microseconds|nanoseconds|milliseconds|[KM]B/sec)\s*$"
FILES = r"\s*(?P<kib>\d{1,6})k\s+\d+\s+(?P<create>\d+)\s+(?P<delete>\d+)\s*$"
NOTE = "The bytes are counted as in STREAM. The compiler may have used streaming stores."


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each latency, bandwidth and rate. The programs print medians, and of STREAM the best of all passes."""
    alone = text.find(r"\[SYNC_MAX: (\d+)") in ("", "1")
    for line, _ in text.match(LINE):
        metric = "bandwidth" if line["unit"].endswith("B/sec") else "latency"
        ours = re.fullmatch(r"STREAM (copy|scale|add|triad) bandwidth", line["name"]) if alone else None
        name = make_name(
            " ".join(word for word in line["name"].split() if word[0] != "/")
        )  # without the path of a file
        benchmark, kernel = ("memory.stream", ours[1]) if ours else ("lmbench.result", name)
        statistic = "best" if line["name"].startswith("STREAM") else "median"
        about, note = ({"threads": 1}, NOTE) if ours else ({}, "")
        yield make_printed(benchmark, kernel, metric, line["word"], line["unit"], statistic, about, note=note)
    for line, _ in text.match(FILES):
        for name in ("create", "delete"):
            size = {"bytes": int(line["kib"]) << 10}
            yield make("lmbench.file_system", name, "rate", line[name], "op/s", "mean", size)
