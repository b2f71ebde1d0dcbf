"""Google Benchmark 1.1 to 1.9: JSON with repetitions, aggregates and counters; the screen and CSV with times, bytes and items
per second. Other counters of the screen are left out, since their prefixes may count by 1000 or by 1024.

https://github.com/google/benchmark
"""

import re
from collections.abc import Collection
from itertools import takewhile
from typing import Any

from steelyard.importing.grids import read_separated
from steelyard.importing.text import Match, Text, find_last_before
from steelyard.importing.values import Given, Values, make
from steelyard.model import Better

TOOL = "Google Benchmark"
HOST = r'"host_name"\s*:\s*"([^"]+)"'
STARTED = r'"date"\s*:\s*"([^"]+)"|^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)$'
DOUBTS = r"^[^\w\n]*+WARNING[^\w\n]+(.+)|\"library_build_type\"\s*:\s*\"debug\""
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


def _count_threads(name: str) -> int | None:
    """Returns the number of threads in a name such as "copy/1024/threads:2"."""
    match = re.search(r"/threads:(\d{1,6})(?:/|$)", name)
    return int(match[1]) if match else None


def _find_programs(text: Text) -> list[tuple[int, str]]:
    """Returns the programs of a text that has outputs of several ones, with the lines where they begin."""
    programs = [(place, match[1]) for match, place in text.match(r"\s*Running (\S+)\s*$")]
    return programs if len({program for _, program in programs}) > 1 else []


NO_COUNTERS = {
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations", "big_o", "rms",
    "real_time", "cpu_time", "cpu_coefficient", "real_coefficient",
}  # fmt: skip


def read_json(text: Text) -> Values:
    """Yields times, rates and counters of each repetition and aggregate; counters have no unit and no direction."""
    for content in text.objects():
        names = {entry["name"] for entry in content.get("benchmarks", [])}
        for entry in content.get("benchmarks", []):
            name, statistic = find_statistic(entry["name"], names)
            if "run_type" in entry:
                aggregate = entry.get("aggregate_name") if entry["run_type"] == "aggregate" else None
                name = entry.get("run_name", entry["name"])
                statistic = "one run" if aggregate is None else AGGREGATES.get(aggregate, "")
            if entry.get("error_occurred") or entry.get("skipped"):
                reason = entry.get("error_message") or entry.get("skip_message") or "it failed"
                text.problems.append(f"{name}: {reason}")
            elif statistic and "big_o" not in entry:
                yield from _read_entry(entry, name, statistic)


def _read_entry(entry: dict[str, Any], name: str, statistic: str) -> Values:
    benchmark = f"google_benchmark.{name.partition('/')[0]}"
    about = {"threads": entry.get("threads"), "label": entry.get("label") or None}
    for metric in ("real_time", "cpu_time"):
        yield make(benchmark, name, metric, entry[metric], entry.get("time_unit", "ns"), statistic, about)
    for key, value in entry.items():
        if key not in NO_COUNTERS and isinstance(value, int | float) and not isinstance(value, bool):
            metric, unit = RATES.get(key, (key, ""))
            better: Better | None = None if key in RATES else "none"
            yield make(benchmark, name, metric, value, unit, statistic, about, better=better)


HEAD = r"\s*Benchmark\s+Time\s+CPU\s+Iterations(?P<counters>.*)"
TIMES = r"(?P<real>[\d.e+-]+) (?P<unit>[nuµm]?s) {1,40}(?P<cpu>[\d.e+-]+) (?P=unit) {1,40}(?P<iterations>\d+)(?P<rest>(?: .*)?)$"
ROW = rf"\s*(?P<name>\S+(?: \S+){{0,40}}) {{1,500}}(?:{TIMES}|(?:ERROR OCCURRED|SKIPPED): '(?P<error>.*)'\s*$)"
RATE = re.compile(r"([\d.]+(?:e[+-]?\d+)?)([kMGT]?)(i?)(?:/s)?")


def read_screen(text: Text) -> Values:
    """Yields the times and rates of each repetition and aggregate. The bytes per second count by 1024 in all versions."""
    programs = _find_programs(text)
    for head, part in text.ended().parts(HEAD):
        columns = head["counters"].replace("UserCounters...", "").split()
        program = find_last_before(programs, part.first)
        rows = [*part.match(ROW)]
        names = {row["name"] for row, _ in rows}
        for row, at in rows:
            name, statistic = find_statistic(row["name"], names)
            if row["error"] is not None:
                text.problems.append(f"line {at}: {name}: {row['error']}")
            elif statistic:
                with text.row(at):
                    about: Given = {"threads": _count_threads(name), "program": program}
                    yield from _read_row(row, name, statistic, columns, about)


def _read_row(row: Match, name: str, way: str, columns: list[str], about: Given) -> Values:
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


def read_csv(text: Text) -> Values:
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
                        about: Given = {**{column: row[column] for column in before}, "threads": _count_threads(name)}
                        benchmark = f"google_benchmark.{name.partition('/')[0]}"
                        yield make(benchmark, name, metric, word, unit, statistic, about)


READERS = {
    read_json: ('"real_time"', '"cpu_time"'),
    read_screen: ("CPU   Iterations", "CPU Iterations"),
    read_csv: ("name,iterations,real_time,cpu_time,time_unit",),
}
