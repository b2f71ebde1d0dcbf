"""The names that Google Benchmark gives to repetitions and to what it computes from them."""

import re
from collections.abc import Collection

from steelyard.importing.text import Text

AGGREGATES = {"mean": "mean", "median": "median", "min": "least", "max": "greatest"}
SPREADS = {"stddev", "cv", "BigO", "RMS"}
RATES = {"bytes_per_second": ("bandwidth", "B/s"), "items_per_second": ("rate", "/s")}


def find_statistic(name: str, names: Collection[str]) -> tuple[str, str]:
    """Returns the name of a benchmark without an aggregate that the library appends, and the statistic.

    The statistic is "" for a spread, for a fit, and for an aggregate of the user's own. `names` has all names of the output.
    """
    base, _, end = name.rpartition("_")
    if f"{name}_stddev" in names or not base:
        return name, "one run"
    repeated = f"{base}_stddev" in names
    if end in {"BigO", "RMS"} or repeated or (base in names and end in {*AGGREGATES, *SPREADS}):
        return base, AGGREGATES.get(end, "")
    return name, "one run"


def count_threads(name: str) -> int | None:
    """Returns the number of threads in a name such as "copy/1024/threads:2"."""
    match = re.search(r"/threads:(\d{1,6})(?:/|$)", name)
    return int(match[1]) if match else None


def find_programs(text: Text) -> list[tuple[str, int]]:
    """Returns the programs of a text that has outputs of several ones, with the lines where they begin, the last one first."""
    programs = [(match[1], place) for match, place in text.match(r"\s*Running (\S+)\s*$")]
    return programs[::-1] if len({program for program, _ in programs}) > 1 else []
