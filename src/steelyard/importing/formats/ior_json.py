"""IOR 3.3 to 4 with summaryFormat=JSON. IOR writes some keys twice.

https://ior.readthedocs.io
"""

from collections.abc import Iterator
from typing import Any

from steelyard.importing.ior_parameters import order_of_ranks
from steelyard.importing.text import Text
from steelyard.importing.values import Given, make, make_spread
from steelyard.model.foreign import ForeignValue

TOOL = "IOR"
MARKS = ('"bwMiB"', '"bwMaxMIB"')
HOST = r'"Machine"\s*:\s*"\S+ ([^\s"]+)'
STARTED = r'"(?:Began|StartTime)"\s*:\s*"([^"]+)"'
COLUMNS = {
    "bwMiB": ("bandwidth", "MiB/s"), "iops": ("rate", "/s"), "latency": ("latency", "s"), "openTime": ("open_time", "s"),
    "wrRdTime": ("transfer_time", "s"), "closeTime": ("close_time", "s"), "totalTime": ("time", "s"),
}  # fmt: skip
NAMES = {
    "api": "api", "API": "api", "access": "access", "type": "type", "ordering in a file": "order", "numTasks": "ranks",
    "tasks": "ranks", "nodes": "nodes", "segmentCount": "segments", "transferSize": "transfer_bytes", "blockSize": "block_bytes",
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the results of each repetition of writing and reading, and the summaries of several repetitions."""
    for content in text.objects():
        tests = {test.get("TestID", place): test for place, test in enumerate(content.get("tests", []))}
        for test in tests.values():
            for row in _rows(test.get("Results") or test.get("Options", {}).get("Results", [])):
                for key, (metric, unit) in COLUMNS.items():
                    if row["access"] != "remove" and row.get(key, -1) >= 0:
                        statistic = "as printed" if key == "latency" else "one run"  # some versions forget the segments
                        yield make("ior.file", row["access"], metric, row[key], unit, statistic, _parameters(test))
        for row in content.get("summary", []):
            if row.get("repetitions", 0) != 1 or not tests:
                words = [str(row[key]) for key in ("bwMaxMIB", "bwMinMIB", "bwMeanMIB")]
                about = _parameters(tests.get(row.get("TestID"), {"Parameters": row}))
                yield from make_spread("ior.file", row["operation"], "bandwidth", words, "MiB/s", about)


def _rows(results: list[Any]) -> Iterator[dict[str, Any]]:
    for entry in results:  # a list of rows, or a list for each repetition
        yield from entry if isinstance(entry, list) else [entry]


def _parameters(test: dict[str, Any]) -> Given:
    given = {**test.get("Parameters", {}), **test.get("Options", {})}
    order = order_of_ranks(str(given.get("ordering inter file", "")))
    about = {ours: given[theirs] for theirs, ours in NAMES.items() if given.get(theirs) not in {None, ""}}
    return {**about, "order_of_ranks": order}
