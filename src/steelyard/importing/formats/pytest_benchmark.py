"""pytest-benchmark 3 to 5: JSON (--benchmark-json, --benchmark-save) with the statistics of each test, and its rounds if saved.

https://github.com/ionelmc/pytest-benchmark
"""

import re
from contextlib import suppress
from math import isclose
from typing import Any

from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, expect_plausible, make

TOOL = "pytest-benchmark"
MARKS = ('"iqr_outliers"', '"ld15iqr"')
HOST = r'"node": "([^"\s]+)"'
STARTED = r'"datetime": "([^"]+)"'
STATISTICS = {"min": "least", "max": "greatest", "mean": "mean", "median": "median"}


def read(text: Text) -> Values:
    """Yields the least, greatest, mean and median time of the rounds of each test, and each round if the file has them."""
    for content in text.objects():
        common = _list_versions(content)
        for test in content.get("benchmarks", []):
            stats, name = test["stats"], test["fullname"].partition("[")[0]
            rounds = stats.get("data") or []
            middle = (stats["mean"], stats["median"])
            if min(middle) < stats["min"] or max(middle) > stats["max"]:
                raise ValueError(f"the mean or the median of {name[:80]} is not between its least and greatest time")
            if rounds and not isclose(sum(rounds) / len(rounds), stats["mean"], rel_tol=1e-6):
                raise ValueError(f"the mean of {test['fullname'][:80]} is not that of its rounds")
            kernel, about = name.rpartition("::")[2], {**_list_parameters(test), **common}
            single = "one run" if stats["iterations"] == 1 else "mean of a round"
            for seconds in rounds:
                yield make("pytest_benchmark.test", kernel, "time", seconds, "s", single, about)
            for key, statistic in STATISTICS.items():
                yield make("pytest_benchmark.test", kernel, "time", stats[key], "s", statistic, about)


def _list_versions(content: Any) -> Given:
    """Returns the commit of the code, and the version of Python."""
    commit = (content.get("commit_info") or {}).get("id") or ""
    known = re.fullmatch(r"[0-9a-f]{12,64}", commit)
    python = (content.get("machine_info") or {}).get("python_version")
    return {"commit": commit[:12] if known else None, "python_version": python}


def _list_parameters(test: Any) -> Given:
    """Returns the file of the test, its group, and its parameters: the name of the case if they are no plain parameters."""
    about = {"module": test["fullname"].partition("[")[0].rpartition("::")[0], "group": test.get("group")}
    given = test.get("params") or {}
    plain = bool(given) and all(isinstance(value, int | float | str) for value in given.values())
    if plain and not any("UNSERIALIZABLE" in str(value) for value in given.values()):
        with suppress(ValueError):  # of words for a number of threads, or of very long ones
            expect_plausible(make("", "", "", 0, "", "", given))
            return {**given, **about}
    return {"param": test.get("param", test["fullname"].partition("[")[2].removesuffix("]") or None), **about}
