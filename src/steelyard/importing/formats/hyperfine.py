"""hyperfine 1.0 to 1.19, --export-json: each time of each command.

https://github.com/sharkdp/hyperfine
"""

from collections.abc import Iterator
from math import isclose

from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "hyperfine"
MARKS = ('"stddev"',)
STATISTICS = {"mean": "mean", "median": "median", "min": "least", "max": "greatest"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each time of each command, and their mean, median, least and greatest; a command that failed has none."""
    for content in text.objects():
        for result in content.get("results", []):
            if any(result.get("exit_codes") or []):
                text.problems.append(f"the command '{result['command'][:80]}' failed in some of its runs")
                continue
            times = result.get("times") or [result["mean"]]
            if not isclose(sum(times) / len(times), result["mean"], rel_tol=0.001):
                raise ValueError(f"the mean of '{result['command'][:80]}' is not that of its times")
            about = {"command": result["command"], **(result.get("parameters") or {})}
            for seconds in result.get("times") or []:
                yield make("hyperfine.command", "command", "time", seconds, "s", "one run", about)
            for name, statistic in STATISTICS.items():
                if result.get(name) is not None:
                    yield make("hyperfine.command", "command", "time", result[name], "s", statistic, about)
            for name in ("user", "system"):
                if result.get(name) is not None:
                    yield make("hyperfine.command", "command", f"{name}_time", result[name], "s", "mean", about)
