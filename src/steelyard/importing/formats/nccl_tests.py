"""nccl-tests and rccl-tests of all generations: collective operations of GPUs, out of place and in place.

https://github.com/NVIDIA/nccl-tests
"""

import re
from collections.abc import Iterator

from steelyard.importing.message_rows import count_devices, fits_all_reduce, split_places
from steelyard.importing.operations import Meaning, read_rows
from steelyard.importing.text import Text
from steelyard.importing.values import Column, Given, make
from steelyard.model.foreign import ForeignValue

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


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the values of each size; those of a size whose results were wrong are refused."""
    runs = (run for _, part in text.parts_or_whole(r"[\s#]*nThread \d") for run in part.split_tables(HEAD, ENDS))
    for run in runs:
        given = count_devices({found[1]: found[2] for found, _ in run.match(RANK)})
        for head, table in run.parts(HEAD):
            if "#wrong" not in table.lines[0] and table.find(r"Out of bounds values\s*: \d+ FAILED"):
                run.problems.append(f"line {table.first}: the results of this test were wrong")
                continue
            rows = list(split_places(table, LINE))
            before = f"{text.before(run, 'Avg bus bandwidth')} {run.before(table, 'Avg bus bandwidth', 999)}"
            names = re.findall(r"(\w{1,40}?)_(?:perf|test)(?:_mpi)?\b", run.find(r"concluded: \w+") or before)
            unnamed = "all_reduce" if fits_all_reduce(rows, given.get("ranks", 0)) else "collective"
            name = names[-1] if names else unnamed
            meaning = Meaning(f"nccl_tests.{name}", name, note="")
            for row in rows:
                about: Given = {**given, **{n: row.pop(n) for n in ("precision", "operation", "place")}}
                columns = FIRST if head["first"] else COLUMNS
                yield from read_rows(run, [row], meaning, columns, about, message_bytes="bytes")
            for found, _ in table.match(r"[\s#]*Avg bus bandwidth\s*: (?!0 |0$)(\S+)"):
                yield make(f"nccl_tests.{name}", name, "bus_bandwidth", found[1], "GB/s", "mean of all sizes", given)
