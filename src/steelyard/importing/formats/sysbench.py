"""sysbench 0.4 to 1.1: cpu, memory, threads, mutex, fileio and databases (OLTP).

https://github.com/akopytov/sysbench
"""

from collections.abc import Iterator

from steelyard.importing.patterns import find_all
from steelyard.importing.sysbench_figures import FIGURES, KINDS
from steelyard.importing.text import Text
from steelyard.importing.values import make, number, size
from steelyard.model.foreign import ForeignValue

TOOL = "sysbench"
MARKS = ("sysbench 0.", "sysbench 1.", "Threads fairness:", "MiB transferred (", "events per second:")
LATENCY = r"[\s#]+(min|avg|max|(?:approx\. +)?(\d+)(?:th)? percentile):\s+([^\sm]+)(?:ms)?(?:\s|$)"
DOING = r"Doing ([\w/ ]+?) (?:\(|test)"
COMMAND = r"sysbench\b.{0,200}?(?:--test=| )(cpu|memory|threads|mutex|fileio)\b"  # threads and mutex print no name from 1.0 on
STATISTICS = {"min": "least", "avg": "mean", "max": "greatest"}


def read(text: Text) -> Iterator[ForeignValue]:
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
            "block_bytes": size(f"{block[:-1]} {block[-1:]}iB"),
            "operation": part.find(r"(?:operation|operations type): (\w+)") or part.find(DOING) or None,
        }
        for metric, unit, pattern in FIGURES:
            for line, _ in part.match(rf".*?(?:{pattern})"):
                if number(word := line[line.lastindex or 0]) > 0:
                    yield make(
                        f"sysbench.{kind}", kind, metric, word, unit, "one run", about, better=None if unit else "none"
                    )
        for line, _ in part.match(LATENCY):
            if number(line[3]) > 0:
                yield make(
                    f"sysbench.{kind}", kind, "latency", line[3], "ms", STATISTICS.get(line[1], f"p{line[2]}"), about
                )
