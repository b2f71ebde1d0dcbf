"""nccl-tests and rccl-tests of all generations: collective operations of GPUs, out of place and in place.

https://github.com/NVIDIA/nccl-tests
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from steelyard.importing.operations import Meaning, read_rows
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Row, Text
from steelyard.importing.values import FITTING, NUMBER, Column, Given, Values, expect_near, make, number

TOOL = "nccl-tests"
MARKS = ("# Avg bus bandwidth", "algbw   busbw", "algbw  busbw", "algbw busbw")
HOST = r"^\s*# +Rank +0 .*?on +(\S+) +device"
RANK = r"[\s#]*Rank +(\d+) .*?on +(\S+) +device"
HEAD = r"[\s#]*(?:size\s+count|(?P<first>bytes\s+N))\s+type\s"
LINE = r"[\s#]*(?P<bytes>\d+)\s+\d+\s+(?P<type>[a-z]\w*)\s"
ENDS = rf"{LINE}|.*(?:Avg bus bandwidth|concluded)"
COLUMNS: dict[str, Column] = {
    r"(?:cpu)?time": ("time", "us", "mean"), "algbw": ("bandwidth", "GB/s", "mean"),
    "busbw": ("bus_bandwidth", "GB/s", "mean"), "i_min": ("time", "us", "least"), "i_max": ("time", "us", "greatest"),
    r"i_(p\d+)": ("time", "us", r"\1"),
}  # fmt: skip
FIRST: dict[str, Column] = COLUMNS | {r"(?:cpu)?time": ("time", "ms", "mean")}  # the generation of 2015 to 2019


def read(text: Text) -> Values:
    """Yields the values of each size; those of a size whose results were wrong are refused."""
    runs = (run for _, part in text.parts_or_whole(r"[\s#]*nThread \d") for run in part.split_tables(HEAD, ENDS))
    for run in runs:
        given = _count_devices({found[1]: found[2] for found, _ in run.match(RANK)})
        for head, table in run.parts(HEAD):
            wrong = table.find(r"Out of bounds values\s*: \d+ FAILED")  # the mean has them, too
            if "#wrong" not in table.lines[0] and wrong:
                run.problems.append(f"line {table.first}: the results of this test were wrong")
                continue
            rows = list(_split_in_and_out_of_place(table, LINE))
            before = f"{text.before(run, 'Avg bus bandwidth')} {run.before(table, 'Avg bus bandwidth', 999)}"
            names = re.findall(r"(\w{1,40}?)_(?:perf|test)(?:_mpi)?\b", run.find(r"concluded: \w+") or before)
            unnamed = "all_reduce" if _fits_all_reduce(rows, given.get("ranks", 0)) else "collective"
            name = names[-1] if names else unnamed
            meaning = Meaning(f"nccl_tests.{name}", name, note="")
            for row in rows:
                about: Given = {**given, **{n: row.pop(n) for n in ("precision", "operation", "place")}}
                columns = FIRST if head["first"] else COLUMNS
                yield from read_rows(run, [row], meaning, columns, about, message_bytes="bytes")
            for found, _ in () if wrong else table.match(r"[\s#]*Avg bus bandwidth\s*: (?!0 |0$)(\S+)"):
                yield make(f"nccl_tests.{name}", name, "bus_bandwidth", found[1], "GB/s", "mean of all sizes", given)


def _count_devices(hosts: Mapping[str, str]) -> dict[str, int]:
    """Returns the numbers of ranks and of their nodes; empty if the list of ranks with their hosts is not complete."""
    complete = {*map(int, hosts)} == {*range(len(hosts) or 1)}  # an excerpt of the output may lack the first ranks
    return {"ranks": len(hosts), "nodes": len({*hosts.values()})} if complete else {}


def _split_in_and_out_of_place(table: Text, line: str) -> Iterator[Row]:
    """Yields for each line that matches a row out of place and a row in place, without what was not measured.

    The match ends before the words of the fourth column; its groups are bytes and type. Tests without a reduction leave columns
    before the times empty. A row whose bandwidth is not its bytes divided by its time becomes a problem. ValueError for units
    other than us and GB/s.
    """
    if {unit[1] for unit in find_all(r"\((\S+)\)", "".join(table.lines[1:2]))} - {"B", "elements", "us", "GB/s"}:
        raise ValueError(f"line {table.first + 1} has other units than us and GB/s")
    scale = 1e-3 if "size" in table.lines[0] else 1e-6  # from bytes/us, in the first generation from bytes/ms
    names = table.lines[0].lstrip(" #\t").split()[3:]
    begins = [at for at, name in enumerate(names) if name in ("time", "cputime")]
    halves = list(zip(("out of place", "in place"), pairwise([*begins, len(names)]), strict=False))
    for match, at in table.match(line):
        words = match.string[match.end() :].split()
        lacking = len(names) + names.count("timestamp") - len(words)  # a time stamp has two words
        if not begins or not 0 <= lacking <= begins[0]:
            table.problems.append(f"line {at} has {len(words) + 3} columns, but its heading has {len(names) + 3}")
            continue
        operation = words[0] if lacking < begins[0] and words[0].isalpha() else "none"
        for place, (begin, end) in halves:
            half = zip(names[begin:end], words[begin - lacking : end - lacking], strict=True)
            row = Row({name: word for name, word in half if word not in ("N/A", "0.00")})
            row |= {"bytes": match["bytes"], "precision": match["type"], "operation": operation, "place": place}
            row.line = at
            with table.row(at):
                if "algbw" in row and "time" in row:
                    rate = int(row["bytes"]) * scale / number(row["time"])
                    sentence = f"{row['bytes']} B in {row['time']} are not {row['algbw']} GB/s"
                    expect_near(number(row["algbw"]), rate, 0.006 + FITTING * rate, sentence)
                yield row


def _fits_all_reduce(rows: Sequence[Row], ranks: int) -> bool:
    """Returns whether the bus moves 2 (n - 1) / n times the bytes of the last rows, which no operation but an all-reduce does."""
    words = [(row.get("busbw", ""), row.get("algbw", "")) for row in rows[-2:]]
    pairs = [(number(bus), number(alone)) for bus, alone in words if NUMBER.fullmatch(bus) and NUMBER.fullmatch(alone)]
    fits = all(alone and abs(bus * ranks / alone / (2 * ranks - 2) - 1) < 0.01 for bus, alone in pairs if ranks > 2)
    return bool(pairs) and ranks > 2 and fits
