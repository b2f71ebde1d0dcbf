"""Google Benchmark 1.1 to 1.9 with --benchmark_format=csv: times, and the bytes and items per second.

https://github.com/google/benchmark
"""

from collections.abc import Iterator
from itertools import takewhile

from steelyard.importing.benchmark_names import RATES, count_threads, find_statistic
from steelyard.importing.grids import read_separated
from steelyard.importing.text import Text
from steelyard.importing.values import Given, make
from steelyard.model.foreign import ForeignValue

TOOL = "Google Benchmark"
MARKS = ("name,iterations,real_time,cpu_time,time_unit",)
STARTED = r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)$"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the times and rates of each repetition and aggregate. Columns before the name are parameters."""
    rows = [*read_separated(text, r"\s*(?:\w+,){0,8}name,iterations,real_time,cpu_time,time_unit\b")]
    names = {row["name"] for row in rows}
    for row in rows:
        name, statistic = find_statistic(row["name"], names)
        if row.get("error_occurred") == "true":
            text.problems.append(f"line {row.line}: {name}: {row.get('error_message')}")
        elif statistic:
            with text.row(row.line):
                figures = {metric: (row[metric], row["time_unit"]) for metric in ("real_time", "cpu_time")}
                figures |= {metric: (row.get(key, ""), unit) for key, (metric, unit) in RATES.items()}
                for metric, (word, unit) in figures.items():
                    if word or unit not in {"B/s", "/s"}:
                        before = takewhile(lambda column: column != "name", row)  # columns of rocRAND and its relatives
                        about: Given = {**{column: row[column] for column in before}, "threads": count_threads(name)}
                        benchmark = f"google_benchmark.{name.partition('/')[0]}"
                        yield make(benchmark, name, metric, word, unit, statistic, about)
