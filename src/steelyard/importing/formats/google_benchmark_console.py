"""Google Benchmark 1.1 to 1.9 on the screen: times, and the bytes and items per second. Other counters are left out, since their
prefixes may count by 1000 or by 1024.

https://github.com/google/benchmark
"""

import re
from collections.abc import Iterator

from steelyard.importing.benchmark_names import RATES, count_threads, find_programs, find_statistic
from steelyard.importing.text import Match, Text
from steelyard.importing.values import Given, make
from steelyard.model.foreign import ForeignValue

TOOL = "Google Benchmark"
MARKS = ("CPU   Iterations", "CPU Iterations")
STARTED = r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)$"
HEAD = r"\s*Benchmark\s+Time\s+CPU\s+Iterations(?P<counters>.*)"
TIMES = r"(?P<real>[\d.e+-]+) (?P<unit>[nuµm]?s) {1,40}(?P<cpu>[\d.e+-]+) (?P=unit) {1,40}(?P<iterations>\d+)(?P<rest>(?: .*)?)$"
ROW = rf"\s*(?P<name>\S+(?: \S+){{0,40}}) {{1,500}}(?:{TIMES}|(?:ERROR OCCURRED|SKIPPED): '(?P<error>.*)'\s*$)"
RATE = re.compile(r"([\d.]+(?:e[+-]?\d+)?)([kMGT]?)(i?)(?:/s)?")


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the times and rates of each repetition and aggregate. The bytes per second count by 1024 in all versions."""
    programs = find_programs(text)
    for head, part in text.ended().parts(HEAD):
        columns = head["counters"].replace("UserCounters...", "").split()
        program = next((program for program, place in programs if place < part.first), None)
        rows = [*part.match(ROW)]
        names = {row["name"] for row, _ in rows}
        for row, at in rows:
            name, statistic = find_statistic(row["name"], names)
            if row["error"] is not None:
                text.problems.append(f"line {at}: {name}: {row['error']}")
            elif statistic:
                with text.row(at):
                    about: Given = {"threads": count_threads(name), "program": program}
                    yield from _values(row, name, statistic, columns, about)


def _values(row: Match, name: str, way: str, columns: list[str], about: Given) -> Iterator[ForeignValue]:
    benchmark = f"google_benchmark.{name.partition('/')[0]}"
    words = row["rest"].split()
    if len(words) < len(columns):
        raise ValueError(f"{name} has {len(words)} counters, but its heading has {len(columns)}")
    given = dict(zip(columns, words, strict=False)) or dict(word.split("=", 1) for word in words if "=" in word)
    for metric, key in (("real_time", "real"), ("cpu_time", "cpu")):
        yield make(benchmark, name, metric, row[key], row["unit"].replace("µ", "u"), way, about)
    for key, (metric, unit) in RATES.items():
        if (rate := RATE.fullmatch(given.get(key, ""))) and (unit == "B/s" or not rate[3]):
            prefix = f"{rate[2].upper()}i" if rate[2] and unit == "B/s" else rate[2]
            yield make(benchmark, name, metric, rate[1], f"{prefix}{unit}", way, about)
