"""sysbench 0.4 to 1.1: cpu, memory, threads, mutex, fileio and databases (OLTP).

https://github.com/akopytov/sysbench
"""

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, number, size
from steelyard.model import Better

TOOL = "sysbench"
MARKS = ("sysbench 0.", "sysbench 1.", "Threads fairness:", "MiB transferred (", "events per second:")
KINDS = {
    "memory": "memory .*speed test|B transferred", "cpu": "[Pp]rime number|CPU speed", "threads": "thread subsystem",
    "fileio": "total file size|File operations", "oltp": "(SQL|OLTP test) statistics", "mutex": "mutex performance",
}  # fmt: skip
FIGURES = (  # versions before 1.0 write "MB" and "Mb" for 2^20 bytes
    ("bandwidth", "MiB/s", r"transferred \(\s*(\S+) Mi?B/sec\)|Total transferred \S+\s+\(\s*(\S+)Mb/sec\)"),
    *(("bandwidth", f"{p}iB/s", rf"Total transferred \S+\s+\(\s*(\S+){p}b/sec\)") for p in "KG"),
    ("transactions", "/s", r"transactions:\s+\d+\s+\((\S+) per sec"), ("queries", "/s", r"queries:\s+\d+\s+\((\S+) per sec"),
    ("requests", "/s", r"read/write requests:\s+\d+\s+\((\S+) per sec|(\S+) Requests/sec executed"),
    ("rate", "/s", r"(?:Total operations|Operations performed):\s+\d+\s+\(\s*(\S+) (?:per second|ops/sec)\)"),
    ("rate", "/s", r"events per second:\s*(\S+)"), ("event_rate", "/s", r"events/s \(eps\):\s*(\S+)"),
    ("read_bandwidth", "MiB/s", r"read, MiB/s:\s*(\S+)|read:\s+IOPS=\S+ (\S+) MiB/s"),
    ("write_bandwidth", "MiB/s", r"written, MiB/s:\s*(\S+)|write:\s+IOPS=\S+ (\S+) MiB/s"),
    ("reads", "/s", r"reads/s:\s*(\S+)|read:\s+IOPS=([\d.]+)\s"), ("writes", "/s", r"writes/s:\s*(\S+)|write:\s+IOPS=([\d.]+)\s"),
    ("fsyncs", "/s", r"fsyncs/s:\s*(\S+)|fsync:\s+IOPS=([\d.]+)(?:\s|$)"), ("moved", "MiB", r"(\S+) Mi?B transferred"),
    ("time", "s", r"(?:total time|time elapsed):\s+(\S+)s(?:\s|$)"), ("events", "", r"total number of events:\s+(\S+)"),
)  # fmt: skip
LATENCY = r"[\s#]+(min|avg|max|(?:approx\. +)?(\d+)(?:th)? percentile):\s+([^\sm]+)(?:ms)?(?:\s|$)"
DOING = r"Doing ([\w/ ]+?) (?:\(|test)"
COMMAND = r"sysbench\b.{0,200}?(?:--test=| )(cpu|memory|threads|mutex|fileio)\b"  # threads and mutex print no name from 1.0 on
THROTTLED = (
    "The test limited the rate of its transactions (--rate), so rates show this limit and not the speed of the system."
)
STATISTICS = {"min": "least", "avg": "mean", "max": "greatest"}


def read(text: Text) -> Values:
    """Yields the rates, the time and the latencies of each test in the file. Rates and latencies of zero are no results."""
    for part in text.runs(rf".*?(?:Running the test with following options|Threads fairness:)|.*{COMMAND}.* run\s*$"):
        before = f"{text.before(part, 'Threads fairness:', 10)}\n{part.lines[0]}"
        named = ["", *(found[1] for found in find_all(COMMAND, before))]
        kind = next((kind for kind, mark in KINDS.items() if part.find(mark)), named[-1])
        idle = part.find(r"total number of events:\s+0(?:\s|$)")
        if not kind or idle:
            part.refuse("total time:|time elapsed:", "its test made no event" if idle else "it does not name its test")
            continue
        block = part.find(r"[Bb]lock size:? *(\d+[KMG])")
        about = {
            **part.integers(threads=r"Number of threads:\s*(\d+)", prime_limit=r"(?:limit|CPU test): (\d+)"),
            **part.integers(target_rate=r"Target transaction rate: (\d+)"),
            "block_bytes": size(f"{block[:-1]} {block[-1:]}iB"),
            "operation": part.find(r"(?:operation|operations type): (\w+)") or part.find(DOING) or None,
        }
        for metric, unit, pattern in FIGURES:
            for line, _ in part.match(rf".*?(?:{pattern})"):
                if number(word := line[line.lastindex or 0]) > 0:
                    limited = unit == "/s" and bool(about.get("target_rate"))
                    better: Better | None = None if unit and not limited else "none"
                    note = THROTTLED if limited else ""
                    yield make(f"sysbench.{kind}", kind, metric, word, unit, "one run", about, better=better, note=note)
        for line, _ in part.match(LATENCY):
            if number(line[3]) > 0:
                statistic = STATISTICS.get(line[1], f"p{line[2]}")
                yield make(f"sysbench.{kind}", kind, "latency", line[3], "ms", statistic, about)
