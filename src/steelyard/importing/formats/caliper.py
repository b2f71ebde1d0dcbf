"""Caliper 2: the tables of runtime-report, mpi-report and of the activities of GPUs, and JSON (json-split) whose columns name
their units.

https://github.com/LLNL/Caliper
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.importing.patterns import Match, find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, has_direction, make, make_name, spell
from steelyard.importing.words import Word
from steelyard.model.foreign import ForeignValue

TOOL = "Caliper"
STARTED = r'^ *"launchdate": "(\d+)"'
HEAD = r"\s*(Path|Function) +(\S.* (?:Time|GPU) %.*)"
OUTSIDE = "outside of MPI"  # mpi-report has a row without a name
# Names of columns in seconds, with their metrics and statistics.
COLUMNS = {
    f"{word} {name}": (metric, statistic)
    for word, statistic in (("Min", "least of the ranks"), ("Max", "greatest of the ranks"), ("Avg", "mean of the ranks"))
    for name, metric in (
        ("time/rank", "time"), ("GPU Time/rank", "gpu_time"), ("Host Time", "host_time"), ("GPU Time", "gpu_time"),
    )
}  # fmt: skip
COLUMNS |= {"Time (E)": ("exclusive_time", "one run"), "Time (I)": ("inclusive_time", "one run")}
COLUMNS |= {"Time (min)": ("time", "least of the ranks"), "Time (max)": ("time", "greatest of the ranks")}
COLUMNS |= {"Time (avg)": ("time", "mean of the ranks")}
NAMES = re.compile("|".join(rf"(?<!\S){re.escape(name)}(?!\S)" for name in sorted(COLUMNS, key=len, reverse=True)))
DEEPEST = 200  # levels of regions
WAYS = "The table does not say whether a time of a region includes those of the regions in it."


def read_table(text: Text) -> Values:
    """Yields the times of each region, whose name has those of the regions around it before it."""
    for head, part in text.ended().parts(HEAD):
        margin, width = head.start(1), head.start(2)
        if re.search(r"\s(?:Kernel|Function|Source)(?:\s|$)", head.string[width - 1 :]):
            text.problems.append(f"line {part.first} begins a table of kernels or of samples, which is not read")
            continue
        columns, ends = list(NAMES.finditer(head.string)), dict[str, int]()
        for at, path, line in _find_regions(part, margin, width):
            with part.row(at):
                yield from _read_row(path, list(find_all(r"\S+", line)), columns, ends)


def _read_row(
    path: str, numbers: Sequence[Match], columns: Sequence[re.Match[str]], ends: dict[str, int]
) -> list[ForeignValue]:
    """Returns the numbers below the columns. `ends` keeps where those of a column end, which is the same in all rows."""
    values = []
    for column in columns:
        metric, statistic = COLUMNS[column[0]]
        note = WAYS if column[0].endswith("time/rank") else ""
        for word in numbers:
            if word.start() < column.end() and word.end() > column.start():
                if ends.setdefault(column[0], word.end()) != word.end():
                    raise ValueError(f"{word[0]} does not end where the column {column[0]} ends")
                values.append(make("caliper.region", path, metric, word[0], "s", statistic, note=note))
    return values


def _find_regions(part: Text, margin: int, width: int) -> Iterator[tuple[int, str, str]]:
    """Yields line, path and numbers of each row below the heading, up to a line without a number.

    The names begin behind `margin` blanks and end before the character `width`.
    """
    around: list[tuple[int, str]] = []
    for at, line in enumerate(part.lines[1:], part.first + 1):
        label, numbers = line[:width].rstrip(), Word.of(" " * width + line[width:], at)
        if not re.fullmatch(r"[\s\d.e+-]*\d", numbers.rstrip()):
            return
        if line[width - 1].strip():
            part.problems.append(f"line {at} does not fit the columns of its table")
            return
        indent = len(label) - len(label.lstrip()) if label else margin
        around = [(depth, name) for depth, name in around if depth < indent] + [(indent, label.strip() or OUTSIDE)]
        yield at, "/".join(name for _, name in around), numbers


def read_json(text: Text) -> Values:
    """Yields the number of each region and rank in each column with a unit. ValueError if no column has one."""
    for profile in text.objects():
        if not {"data", "columns", "column_metadata", "nodes"} <= profile.keys():
            continue
        names, about = profile["columns"], profile["column_metadata"]
        units = {at: spell(str(column.get("attribute.unit", ""))) for at, column in enumerate(about)}
        values = {at: unit for at, unit in units.items() if unit and has_direction(unit)}
        if not values:
            raise ValueError("none of its columns has a unit, so the meaning of the numbers is unknown")
        path, rank = names.index("path"), names.index("mpi.rank") if "mpi.rank" in names else None
        ranks = str(profile.get("mpi.world.size", ""))
        given: Given = {"ranks": int(ranks) if ranks.isdecimal() else None}
        seen = set[tuple[str, int | None]]()
        for row in profile["data"]:
            if row[path] is not None:
                region = _name_region(profile["nodes"], row[path])
                of_rank = None if rank is None or row[rank] is None else int(row[rank])
                if (region, of_rank) in seen:
                    raise ValueError(
                        f"the region {region} has several rows, which differ in columns of unknown meaning"
                    )
                seen.add((region, of_rank))
                case: Given = {**given, "rank": of_rank}
                for at, unit in values.items():
                    if row[at] is not None:
                        yield make("caliper.region", region, make_name(names[at]), row[at], unit, "as printed", case)


def _name_region(nodes: Sequence[Mapping[str, Any]], at: int) -> str:
    """Returns the names of a region and of those around it. ValueError if they are too deep, or contain each other."""
    path: list[str] = []
    parent: int | None = at
    while parent is not None:
        if len(path) == DEEPEST:
            raise ValueError(f"a region lies in more than {DEEPEST} others")
        path.insert(0, nodes[parent]["label"])
        parent = nodes[parent].get("parent")
    return "/".join(path)


READERS = {read_table: (" time/rank", "Time (E)", "Time (avg) Time %", "Host Time"), read_json: ('"column_metadata"',)}
